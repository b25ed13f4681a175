"""Pearson type III approximation with the moments of the SKCE given the predictions."""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from caltest._laws import pearson3_tail
from caltest._validation import whole_number
from caltest.estimators import SKCE, Estimator
from caltest.hstatistics.variances.moments import standard_deviation, third_moment
from caltest.nulls.base import Null, Outcome
from caltest.nulls.monte_carlo import ConditionalMonteCarlo
from caltest.predictions import Sample

UNCERTAIN = 10.0
"""Half the sum of ``1 - sum_k p_k**2``, for two classes the sum of p (1 - p), from which on results have no caution."""


@dataclass(frozen=True)
class PearsonNull(Null):
    """Unbiased SKCE in units of its standard deviation given the predictions, with a Pearson type III distribution.

    If the predictions are calibrated, the SKCE has mean 0 given them, and a variance and a skewness g that are known
    without sampling (``caltest.hstatistics.variances.moments``). The statistic ``z = SKCE / sd`` is compared with the
    shifted Gamma distribution of mean 0, variance 1 and skewness g: with ``a = 4 / g**2`` the p-value is ``Q(a, a + z
    sqrt(a))``, where Q is the regularised upper incomplete gamma function, and never below the probability of the
    observed labels. It needs no redraws and so has no smallest value.

    Parameters
    ----------
    n_resamples
        Redraws that estimate the skewness where it has no closed form: other kernels of targets than Delta, other
        families than classes; and the variance where that has none.

    Notes
    -----
    An approximation: the ratio of p-value to tail probability is between 0.5 and 1.1 for p-values of at least 1e-4, 100
    predictions and 10 classes, and can be far smaller for two classes and few predictions. At the 5 % level it rejects
    up to 10 % of calibrated predictions in simulations with rare events, ties and few uncertain rows, where results
    have a note. Assumes that the targets are independent given the predictions. For classes and the Delta kernel time
    O(n**2 k), memory O(n**2).

    Source: the moment formulas are derived in ``caltest.hstatistics.variances.moments``; fits of this type go back to
    Kazi-Aoual et al. 1995 for permutation tests.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> result = ct.PearsonSKCETest(p.default_kernel())(p, y)
    >>> round(result.statistic, 1), result.pvalue < 1e-10
    (16.6, True)
    """

    citations = ("kaziaoual1995",)

    n_resamples: int = 999

    pvalue_kind = "asymptotic"
    statistic_name = "estimate / standard deviation if calibrated"
    uses_random_numbers = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_resamples", whole_number("n_resamples", self.n_resamples, 2))

    def check_estimator(self, estimator: Estimator) -> None:
        """Raise unless the estimator is an unbiased SKCE with a product kernel."""
        if not (isinstance(estimator, SKCE) and estimator.unbiased and estimator.kernel.single is not None):
            raise self._illegal(estimator, "the unbiased SKCE of a ProductKernel")

    def outcome(self, estimator: Estimator, sample: Sample, rng: np.random.Generator) -> Outcome:
        assert isinstance(estimator, SKCE)
        kernel, auxiliary = estimator.kernel.single, rng.spawn(1)[0]
        assert kernel is not None
        deviation = standard_deviation(kernel, sample.predictions)
        cube = None if deviation is None else third_moment(kernel, sample.predictions, auxiliary)
        estimate = estimator.estimate(sample)
        if deviation is None or cube is None:
            _, _, draws = ConditionalMonteCarlo(self.n_resamples).resample(estimator, sample, rng)
            square = float(np.mean(np.square(draws)))
            deviation = sqrt(square) if deviation is None else deviation
            cube = float(np.mean(draws**3)) * (deviation**2 / square) ** 1.5 if square > 0.0 else 0.0
        if deviation == 0.0:
            raise ValueError(
                "predictions: got predictions that leave nothing to chance, so that the SKCE has variance 0 if they "
                "are calibrated; MonteCarloTest has a p-value for them"
            )
        z = estimate / deviation
        pvalue = max(pearson3_tail(z, cube / deviation**3), probability_of(sample))
        return Outcome(estimate, z, pvalue, notes=_notes(sample))

    def describe(self) -> str:
        return "Pearson type III with the variance and the skewness given the predictions"


def _notes(sample: Sample) -> tuple[str, ...]:
    """A caution where few outcomes of classes are uncertain."""
    law = sample.predictions.law.finite
    if law is None:
        return ()
    uncertain = float((1.0 - np.square(law.probabilities).sum(axis=-1)).sum()) / 2.0
    if uncertain >= UNCERTAIN:
        return ()
    return (
        f"half the sum of 1 - sum_k p_k**2 is only {uncertain:.2g}, for which the Pearson type III law is rough: in "
        "simulations it rejected up to 10 % of calibrated predictions at the 5 % level; MonteCarloTest is exact",
    )


def probability_of(sample: Sample) -> float:
    """Predicted probability of all outcomes together, 0 for continuous ones: no p-value of a statistic is smaller."""
    law = sample.predictions.law.finite
    if law is None:
        return 0.0
    with np.errstate(under="ignore"):
        return float(np.exp(law.log_density(sample.targets).sum()))
