"""Multiplier (wild) bootstrap of the SKCE: random signs, or normal factors, of the observations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from caltest._jobs import Stream, run
from caltest._threads import threaded
from caltest._types import FloatArray
from caltest.estimators import Estimator, UStatistic
from caltest.hstatistics.pairs import h_diagonal, weighted_sums
from caltest.kernels import PairKernel
from caltest.nulls.base import ResamplingNull
from caltest.nulls.bootstrap import passes
from caltest.predictions import Sample

Multiplier = Literal["rademacher", "gaussian"]

FEW: dict[Multiplier, str] = {"rademacher": "up to 10 %", "gaussian": "up to 10 %, or 7 % for n = 50,"}
"""Rejection rates of binary predictions close to 0 and 1, for 16 observations or as many as are named."""


@dataclass(frozen=True)
class MultiplierBootstrap(ResamplingNull):
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

    n_resamples: int = 1000
    multiplier: Multiplier = "rademacher"

    pvalue_kind = "resampling"
    statistic_name = "n SKCE"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.multiplier not in ("rademacher", "gaussian"):
            raise ValueError(f'multiplier: got {self.multiplier!r}, wanted "rademacher" or "gaussian"')

    def check_estimator(self, estimator: Estimator) -> None:
        """Raise unless the estimator is the unbiased SKCE."""
        self._check_unbiased(estimator)

    def resample(
        self, estimator: Estimator, sample: Sample, rng: np.random.Generator
    ) -> tuple[float, float, FloatArray]:
        """The estimate, n times the estimate, and its draws."""
        assert isinstance(estimator, UStatistic)
        n, kernel = len(sample), estimator.kernel
        diagonal = h_diagonal(kernel, sample)
        parts = passes(n, rng, self.n_resamples)
        results = run(_draws, [(kernel, sample, diagonal, self.multiplier, part) for part in parts], "bootstrap")
        estimate = (results[0][1] - float(diagonal.sum())) / (n * (n - 1))
        return estimate, n * estimate, np.concatenate([draws for draws, _ in results])

    def notes(self, estimator: Estimator, n: int) -> tuple[str, ...]:
        """A caution for few observations."""
        if n >= (50 if self.multiplier == "rademacher" else 100):
            return ()
        return (f"only {n} observations: {FEW[self.multiplier]} of calibrated models are rejected at the 5 % level",)

    def describe(self) -> str:
        """The null in one line."""
        factors = "random signs" if self.multiplier == "rademacher" else "normal multipliers"
        return f"multiplier bootstrap with {factors}, {self.n_resamples} draws"


def _draws(
    kernel: PairKernel, sample: Sample, diagonal: FloatArray, multiplier: Multiplier, part: Sequence[Stream]
) -> tuple[FloatArray, float]:
    """Draws of the statistic, and the sum of h over all pairs."""
    multipliers = _multipliers(len(sample), multiplier, part)
    forms, rows = weighted_sums(kernel, sample, multipliers)
    squares = np.square(multipliers, out=multipliers)
    return (forms - diagonal @ squares) / (len(sample) - 1), float(rows.sum())


def _multipliers(n: int, multiplier: Multiplier, part: Sequence[Stream]) -> FloatArray:
    """Multipliers (n, B)."""
    ends = np.cumsum([size for _, size in part])
    multipliers = np.empty((n, ends[-1]))

    def fill(i: int) -> None:
        generator, size = part[i]
        if multiplier == "gaussian":
            values = generator.standard_normal((size, n))
        else:
            values = np.where(generator.integers(2, size=(size, n), dtype=np.int8) == 0, -1.0, 1.0)
        multipliers[:, ends[i] - size : ends[i]] = values.T

    for _ in threaded(fill, range(len(part)), len(part), "multipliers", work=8.0 * multipliers.size):
        pass
    return multipliers
