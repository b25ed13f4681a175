"""A gamma law with two moments of the limit law of the SKCE."""

from dataclasses import dataclass

import numpy as np

from caltest._laws.tails import ChiSquaredSum, satterthwaite_tail
from caltest.estimators import Estimator, UStatistic
from caltest.hstatistics.spectrum import h_square_sums
from caltest.nulls.base import Null, Outcome
from caltest.predictions import Sample


@dataclass(frozen=True)
class GammaNull(Null):
    """``n U + m`` against the gamma law with mean ``m = mean h_ii`` and variance ``2 n / (n - 1) mean h_ij**2``.

    The limit law of ``n V``, with the biased SKCE V, is a sum of weighted chi-squared variables whose sum of weights is
    the mean of the diagonal of h and whose sum of squares is the mean of h**2.

    Notes
    -----
    Asymptotic: a quick look at data, good to a factor of two for p-values above a percent; smaller p-values are too
    small. Time O(n**2 k), memory that of a few tiles, no random numbers.

    Sources: Gretton, Fukumizu, Teo, Song, Schoelkopf and Smola 2008; Satterthwaite 1946.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["random forest"]
    >>> ct.CalibrationTest(ct.SKCE(p.default_kernel()), ct.GammaNull())(p, y).pvalue < 1e-9
    True
    """

    citations = ("gretton2008", "satterthwaite1946")

    pvalue_kind = "asymptotic"
    statistic_name = "n SKCE"

    def check_estimator(self, estimator: Estimator) -> None:
        """Raise unless the estimator is the unbiased SKCE."""
        self._check_unbiased(estimator)

    def outcome(self, estimator: Estimator, sample: Sample, rng: np.random.Generator) -> Outcome:
        """Estimate, n times the estimate, and its upper gamma tail."""
        assert isinstance(estimator, UStatistic)
        n = len(sample)
        pairs, squares, diagonal = h_square_sums(estimator.kernel, sample)
        estimate, mean, variance = pairs / (n * (n - 1)), diagonal / n, 2.0 * squares / (n - 1) ** 2
        if min(mean, variance) <= 0.0:
            return Outcome(estimate, n * estimate, 1.0)
        # A multiple g of a chi-squared variable with d degrees of freedom: mean g d, variance 2 g**2 d.
        scale = variance / (2.0 * mean)
        law = ChiSquaredSum(np.array([scale]), np.array([mean / scale]))
        return Outcome(estimate, n * estimate, satterthwaite_tail(law, n * estimate))

    def notes(self, estimator: Estimator, n: int) -> tuple[str, ...]:
        """A caution for few observations, and one that always applies."""
        few = f"; with only {n} observations up to 8 % of calibrated models are rejected at the 5 % level"
        return (f"a quick look: p-values below a percent are too small{few if n < 100 else ''}",)

    def describe(self) -> str:
        """The null in one line."""
        return "gamma law with two moments of h"
