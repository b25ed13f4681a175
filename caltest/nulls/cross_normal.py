"""Normal approximation for the SKCE of pairs between two halves of the data."""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from caltest._validation import at_least, switch
from caltest.estimators import ClusterCrossSKCE, CrossSKCE, Estimator
from caltest.nulls.base import Null, Outcome, require_finite
from caltest.predictions import Sample

FEW_CLUSTERS = 20
"""Clusters from which on the test rejects at most 6 % of calibrated models at the 5 % level."""


@dataclass(frozen=True)
class CrossNormalNull(Null):
    """``z = sum f_i / sqrt(variance)`` of the terms f_i of the ``CrossSKCE``, with p-value ``Phi(-z)``.

    Given the predictions and the targets of the other half, the n terms are independent with mean 0 under the null
    hypothesis. The variance of their sum is estimated, ``n / (n - 1) sum (f_i - mean)**2``, or known:
    ``sum_i Var w_i(Z_i)`` with Z_i drawn from the predictions.

    Parameters
    ----------
    exact_variance
        Take the known variance. For predictions with finitely many outcomes (``TypeError`` otherwise).

    Raises
    ------
    ValueError
        In a test of fewer than 3 observations, or of terms that do not vary.

    Notes
    -----
    Asymptotic, and too liberal for small n; with the estimated variance also for n = 50 where few targets are
    uncertain. Time O(n**2 k).

    Source: Shekhar, Kim and Ramdas 2022, Theorem 4, for the estimated variance.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["random forest"]
    >>> test = ct.CalibrationTest(ct.CrossSKCE(p.default_kernel()), ct.CrossNormalNull())
    >>> test(p, y).pvalue < 1e-9
    True
    """

    citations = ("shekhar2022",)

    exact_variance: bool = False

    pvalue_kind = "asymptotic"
    statistic_name = "z"
    allows_clusters = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "exact_variance", switch("exact_variance", self.exact_variance))

    def check_estimator(self, estimator: Estimator) -> None:
        """Raise unless the estimator is the SKCE between halves."""
        if not isinstance(estimator, (CrossSKCE, ClusterCrossSKCE)):
            raise self._illegal(estimator, "CrossSKCE(kernel)")
        if self.exact_variance and isinstance(estimator, ClusterCrossSKCE):
            raise self._illegal(estimator, "CrossSKCE(kernel): the variance of clusters is not known, only estimated")

    def check_size(self, estimator: Estimator, n: int) -> None:
        """Raise unless there are two terms."""
        at_least(n, 3, "the variance of the terms of CrossSKCE")

    def outcome(self, estimator: Estimator, sample: Sample, rng: np.random.Generator) -> Outcome:
        """Estimate, z and its upper normal tail."""
        from scipy.special import ndtr

        assert isinstance(estimator, (CrossSKCE, ClusterCrossSKCE))
        if isinstance(estimator, CrossSKCE) and self.exact_variance:
            require_finite(sample, "CrossNormalNull(exact_variance=False) or MonteCarloTest")
            possible = estimator.outcome_terms(sample)
            terms, size = possible.observed, float(np.abs(possible.values).max())
            variance = float(np.vdot(possible.probabilities, possible.values**2))
        else:
            terms = estimator.terms(sample)
            size, variance = float(np.abs(terms).max()), terms.size * float(terms.var(ddof=1))
        if variance <= terms.size * (1e-14 * size) ** 2:
            raise ValueError(
                f"predictions: the {terms.size} terms of the estimate do not vary, so the normal approximation has no "
                "scale; use MonteCarloTest"
            )
        z = float(terms.sum()) / sqrt(variance)
        return Outcome(float(terms.mean()), z, float(ndtr(-z)))

    def notes(self, estimator: Estimator, n: int) -> tuple[str, ...]:
        """A caution for few observations, and where the variance is estimated."""
        if isinstance(estimator, ClusterCrossSKCE):
            n_clusters = estimator.clusters.n_clusters
            few = f"only {n_clusters} clusters: 9 % of calibrated models are rejected at the 5 % level for 10 clusters"
            return (few,) if n_clusters < FEW_CLUSTERS else ()
        if self.exact_variance and n >= 50:
            return ()
        if self.exact_variance:
            few = "up to 9 % of calibrated models are rejected at the 5 % level for n = 16; CrossSKCETest is closer"
            return (f"only {n} observations: with many classes {few}",)
        return (
            "with an estimated variance up to 10 % of calibrated models are rejected at the 5 % level for n = 50, "
            "where few targets are uncertain; confirm with MonteCarloTest or, for classes, CrossSKCETest",
        )

    def describe(self) -> str:
        """The null in one line."""
        return f"normal limit of a mean of terms with {'known' if self.exact_variance else 'estimated'} variance"
