"""Multiplier (wild) bootstrap of the SKCE: random signs, or normal factors, of the observations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from caltest._jobs import Stream
from caltest._types import FloatArray
from caltest._validation import one_of
from caltest.estimators import Estimator
from caltest.nulls.bootstrap import WeightedBootstrap, columns_of_streams

Multiplier = Literal["rademacher", "gaussian"]


def draw_signs(generator: np.random.Generator, multipliers: FloatArray) -> None:
    """Fill columns (n, B) with random signs -1 and 1."""
    multipliers[:] = np.where(generator.integers(2, size=multipliers.shape[::-1], dtype=np.int8) == 0, -1.0, 1.0).T


def _normal_numbers(generator: np.random.Generator, multipliers: FloatArray) -> None:
    multipliers[:] = generator.standard_normal(multipliers.shape[::-1]).T


DRAW = {"rademacher": draw_signs, "gaussian": _normal_numbers}

FEW: dict[Multiplier, str] = {
    "rademacher": "up to 9 %, or 7 % for n = 50,",
    "gaussian": "up to 10 %, or 9 % for n = 50,",
}
"""Rejection rates of binary predictions close to 0 and 1, for 16 observations or as many as are named."""


@dataclass(frozen=True)
class MultiplierBootstrap(WeightedBootstrap):
    """Null distribution of ``n U`` for the unbiased SKCE U from independent multipliers e of the observations.

    A draw is ``sum_{i != j} e_i e_j h_ij / (n - 1)``; with all e_i = 1 it is n U. No centring is needed: under the null
    hypothesis the rows of h have mean 0.

    Parameters
    ----------
    n_resamples
        Number B >= 1 of draws (``ValueError`` otherwise); the smallest p-value is 1 / (B + 1).
    multiplier
        ``"rademacher"``: signs -1 and 1; ``"gaussian"``: standard normal numbers (``ValueError`` otherwise).

    Notes
    -----
    p = (1 + #{draw >= n U}) / (1 + B). Asymptotic. With signs it is exact if ``k_Y(Y, .) - E k_Y(Z, .)`` has a law that
    is symmetric about 0 given the prediction, for example for normal predictions with a kernel of targets that is
    linear. It needs no draws of targets, only h.

    Time O(n**2 (k + B)) by matrix products, or O(n B) for binary predictions with an exponential kernel. Memory 64 MB,
    or 1 kB for each of more than 65 000 observations.

    Sources: Dehling and Mikosch 1994; Leucht and Neumann 2013; Chwialkowski, Sejdinovic and Gretton 2014.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["random forest"]
    >>> test = ct.CalibrationTest(ct.SKCE(p.default_kernel()), ct.MultiplierBootstrap(n_resamples=99))
    >>> test(p, y, rng=1).pvalue
    0.01
    """

    citations = ("chwialkowski2014", "leucht2013")

    n_resamples: int = 1000
    multiplier: Multiplier = "rademacher"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("multiplier", self.multiplier, ("rademacher", "gaussian"))

    def weights(self, n: int, part: Sequence[Stream]) -> FloatArray:
        """The multipliers."""
        return columns_of_streams(n, part, DRAW[self.multiplier], "multipliers", work=8.0)

    def values(self, forms: FloatArray, weights: FloatArray, rows: FloatArray, diagonal: FloatArray) -> FloatArray:
        """The formula of the class."""
        return (forms - diagonal @ np.square(weights, out=weights)) / (len(diagonal) - 1)

    def notes(self, estimator: Estimator, n: int) -> tuple[str, ...]:
        """A caution for few observations."""
        if n >= 100:
            return ()
        return (f"only {n} observations: {FEW[self.multiplier]} of calibrated models are rejected at the 5 % level",)

    def describe(self) -> str:
        """The null in one line."""
        factors = "random signs" if self.multiplier == "rademacher" else "normal multipliers"
        return f"multiplier bootstrap with {factors}, {self.n_resamples} draws"
