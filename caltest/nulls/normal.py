"""Normal approximation for estimates that are means of independent terms."""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from caltest._validation import switch
from caltest.estimators import Estimator, MeanOfTerms, Moments
from caltest.nulls.base import Outcome, SummableNull
from caltest.predictions import Sample

FEW_TERMS = 30
"""Below this many terms the tails of a studentised mean are visibly heavier than normal ones."""


@dataclass(frozen=True)
class NormalNull(SummableNull):
    """``z = mean / sqrt(S / N)`` of N independent terms, with p-value ``Phi(-z)``.

    Parameters
    ----------
    population_variance
        Divide by N in the sample variance S, as the software of the 2019 paper did, instead of N - 1.

    Raises
    ------
    ValueError
        In a test of fewer than 2 terms, or of terms that are all equal, so that the normal limit has no scale.

    Notes
    -----
    Asymptotic in N: too liberal for few terms (the result says so below 30) and unreliable for rare classes.
    Cost: that of the terms.

    Sources: Widmann et al. 2019, Lemma 3 and Corollary G.1; Widmann et al. 2021, Remark B.1.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["random forest"]
    >>> test = ct.CalibrationTest(ct.BlockSKCE(p.default_kernel(), block_size=20), ct.NormalNull())
    >>> round(test(p, y).statistic, 3)
    5.283
    """

    citations = ("widmann2019", "widmann2021")

    population_variance: bool = False

    pvalue_kind = "asymptotic"
    statistic_name = "z"

    def __post_init__(self) -> None:
        object.__setattr__(self, "population_variance", switch("population_variance", self.population_variance))

    def check_estimator(self, estimator: Estimator) -> None:
        """Raise unless the estimator is a mean of unbiased terms."""
        if not isinstance(estimator, MeanOfTerms) or not estimator.unbiased:
            raise self._illegal(estimator, "a mean of independent unbiased terms: BlockSKCE(kernel, block_size)")

    def check_size(self, estimator: Estimator, n: int) -> None:
        """Raise unless there are two terms."""
        assert isinstance(estimator, MeanOfTerms)
        if estimator.n_terms(n) < 2:
            raise ValueError(
                f"predictions: got {n} observations, which make {estimator.n_terms(n)} of the "
                "independent blocks the estimate averages, wanted at least 2; take a smaller block_size"
            )

    def outcome(self, estimator: Estimator, sample: Sample, rng: np.random.Generator) -> Outcome:
        """Estimate, z and its upper normal tail."""
        return self.outcome_of(estimator, self.sums(estimator, sample, rng))

    def sums(self, estimator: Estimator, sample: Sample, rng: np.random.Generator) -> Moments:
        """Moments of the terms of a part of the data."""
        assert isinstance(estimator, MeanOfTerms)
        return Moments.of(estimator.terms(sample))

    def outcome_of(self, estimator: Estimator, sums: Moments) -> Outcome:
        """Estimate, z and its upper normal tail from the moments of all terms."""
        from scipy.special import ndtr

        variance = sums.squares / (sums.n if self.population_variance else sums.n - 1)
        # Equal terms leave a variance of the size of their rounding errors.
        if variance <= (1e-14 * sums.largest) ** 2:
            raise ValueError(
                f"predictions: all {sums.n} terms of the estimate equal {sums.mean:.6g}, so the normal "
                "approximation has no scale; use MonteCarloTest"
            )
        standard_error = sqrt(variance / sums.n)
        z = sums.mean / standard_error
        return Outcome(sums.mean, z, float(ndtr(-z)), standard_error=standard_error)

    def notes(self, estimator: Estimator, n: int) -> tuple[str, ...]:
        """A caution where there are few terms."""
        assert isinstance(estimator, MeanOfTerms)
        terms = estimator.n_terms(n)
        if terms >= FEW_TERMS:
            return ()
        return (f"only {terms} independent blocks: the normal limit is rough, small p-values are too small",)

    def describe(self) -> str:
        """The null in one line."""
        return "normal limit of a mean of independent terms" + (
            " (population variance)" if self.population_variance else ""
        )
