"""Normal approximation for estimates that are means of independent terms."""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from caltest._basics.numerics import FloatArray
from caltest._validation import switch
from caltest.estimators import BlockSKCE, Estimator
from caltest.hstatistics.variances.null_variance import has_formula, variance_of_blocks
from caltest.nulls.base import Outcome, SummableNull
from caltest.predictions import Predictions, Sample

FEW_TERMS = 30
"""Below this many terms the tails of a studentised mean are visibly heavier than normal ones."""


@dataclass(frozen=True)
class Moments:
    """Number of terms, their mean, the sum of their squared deviations from it, and the largest absolute value.

    Beside these the sum of their variances given the predictions, 0 where it is not asked for or known.
    """

    n: int
    mean: float
    squares: float
    largest: float
    variances: float = 0.0

    @classmethod
    def of(cls, terms: FloatArray, variances: float) -> "Moments":
        """Moments of some terms."""
        if terms.size == 0:
            return cls(0, 0.0, 0.0, 0.0)
        mean = float(terms.mean())
        return cls(terms.size, mean, float(np.sum((terms - mean) ** 2)), float(np.abs(terms).max()), variances)

    def __add__(self, other: "Moments") -> "Moments":
        """Moments of both sets of terms (Chan, Golub and LeVeque 1983)."""
        n = self.n + other.n
        if n == 0:
            return self
        difference = other.mean - self.mean
        mean = self.mean + difference * other.n / n
        squares = self.squares + other.squares + difference**2 * self.n * other.n / n
        return Moments(n, mean, squares, max(self.largest, other.largest), self.variances + other.variances)


@dataclass(frozen=True)
class NormalNull(SummableNull):
    """``z = mean / sqrt(S / N)`` of N independent terms, with p-value ``Phi(-z)``.

    S is the variance of the terms: estimated, or that given the predictions if they are calibrated, if that is larger.

    Parameters
    ----------
    population_variance
        Divide by N in the sample variance S, as the software of the 2019 paper did, instead of N - 1.
    known_variance
        Whether S is at least the known one. With an estimated one alone, as published, the test rejects up to
        92 % of calibrated predictions of rare events at the 5 % level.

    Raises
    ------
    ValueError
        In a test of fewer than 2 terms, or of terms that are all equal, so that the normal limit has no scale.

    Notes
    -----
    Asymptotic in N: with blocks of 2, 3 and 10 it rejects up to 4 % of calibrated predictions at the 5 % level in
    simulations with rare events, ties and few uncertain rows (1000 data sets each). Small p-values are too small for
    few terms; the result says so below 30. Cost: a few times that of the terms. The variance is known as
    ``caltest.hstatistics.variances.null_variance`` says; it is not for ``Unnormalised`` predictions without a sampler.

    Sources: Widmann et al. 2019, Lemma 3 and Corollary G.1; Widmann et al. 2021, Remark B.1.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> test = ct.CalibrationTest(ct.BlockSKCE(p.default_kernel(), block_size=20), ct.nulls.NormalNull())
    >>> round(test(p, y).statistic, 3)
    2.231
    """

    citations = ("widmann2019", "widmann2021")

    population_variance: bool = False
    known_variance: bool = True

    pvalue_kind = "asymptotic"
    statistic_name = "z"
    uses_random_numbers = True

    def __post_init__(self) -> None:
        for name in ("population_variance", "known_variance"):
            object.__setattr__(self, name, switch(name, getattr(self, name)))

    def draws_for(self, estimator: Estimator, predictions: Predictions) -> bool:
        """Where the variance is asked for and has no formula."""
        assert isinstance(estimator, BlockSKCE)
        return self.known_variance and not has_formula(estimator.kernel, predictions)

    def check_estimator(self, estimator: Estimator) -> None:
        if not isinstance(estimator, BlockSKCE) or not estimator.unbiased:
            raise self._illegal(estimator, "a mean of independent unbiased terms: BlockSKCE(kernel, block_size)")

    def check_size(self, estimator: Estimator, n: int) -> None:
        assert isinstance(estimator, BlockSKCE)
        if estimator.n_terms(n) < 2:
            raise ValueError(
                f"predictions: got {n} observations, which make {estimator.n_terms(n)} of the "
                "independent blocks the estimate averages, wanted at least 2; take a smaller block_size"
            )

    def outcome(self, estimator: Estimator, sample: Sample, rng: np.random.Generator) -> Outcome:
        return self.outcome_of(estimator, self.sums(estimator, sample, rng))

    def sums(self, estimator: Estimator, sample: Sample, rng: np.random.Generator) -> Moments:
        assert isinstance(estimator, BlockSKCE)
        terms, known = estimator.terms(sample), None
        if self.known_variance and terms.size:
            known = variance_of_blocks(estimator.kernel, sample.predictions, estimator.block_size, rng)
        return Moments.of(terms, known or 0.0)

    def check_summable(self, estimator: Estimator) -> None:
        assert isinstance(estimator, BlockSKCE)
        estimator.kernel.check_resolved()

    def outcome_of(self, estimator: Estimator, sums: Moments) -> Outcome:
        from scipy.special import ndtr

        terms, divisor = sums, sums.n if self.population_variance else sums.n - 1
        variance = max(terms.squares / divisor, terms.variances / terms.n)
        # Equal terms leave a variance of the size of their rounding errors.
        if variance <= (1e-14 * terms.largest) ** 2:
            raise ValueError(
                f"predictions: all {terms.n} terms of the estimate equal {terms.mean:.6g}, so the normal "
                "approximation has no scale; use MonteCarloTest"
            )
        standard_error = sqrt(variance / terms.n)
        z = terms.mean / standard_error
        return Outcome(terms.mean, z, float(ndtr(-z)), standard_error=standard_error)

    def notes(self, estimator: Estimator, n: int) -> tuple[str, ...]:
        assert isinstance(estimator, BlockSKCE)
        terms = estimator.n_terms(n)
        rare = "with an estimated variance alone up to 92 % of calibrated predictions of rare events are rejected"
        notes = () if self.known_variance else (rare,)
        if terms >= FEW_TERMS:
            return notes
        return (*notes, f"only {terms} independent blocks: the normal limit is rough, small p-values are too small")

    def describe(self) -> str:
        variance = " (population variance)" if self.population_variance else ""
        known = ", at least the variance given the predictions" if self.known_variance else ""
        return f"normal limit of a mean of independent terms{variance}{known}"
