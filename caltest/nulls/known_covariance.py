"""The mean embedding at test locations, with its covariance given the predictions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from caltest._basics.jobs import Stream, in_parts, run, streams
from caltest._basics.numerics import Array, FloatArray
from caltest.estimators import UCME, Estimator
from caltest.hstatistics.redraws.of_all_families import redrawn_deviation_means
from caltest.hstatistics.variances.covariance import deviation_covariance, whitening
from caltest.nulls.base import Resampled, ResamplingNull
from caltest.predictions import Predictions, Sample

TOLERANCE = 1e-8
"""Eigenvalues of the correlations, over the largest one, that count as 0."""


@dataclass(frozen=True)
class KnownCovarianceMonteCarlo(ResamplingNull):
    """``T**2 = s' V**+ s`` of the sum s of the deviations and its covariance V given the predictions, against redraws.

    ``V = sum_i Cov(D_i)`` follows from the predictions alone (``caltest.hstatistics.variances.covariance``), where
    Hotelling's T-squared estimates it from the targets; eigenvalues of its correlations of at most 1e-8 of the largest
    count as 0. ``p = (1 + #{draw >= T**2}) / (1 + B)`` with targets redrawn from the predictions: exact for every n,
    every B and every set of locations that does not depend on the targets, whatever V is, as it is the same for all
    draws.

    Parameters
    ----------
    n_resamples
        Number B >= 1 of redraws (``ValueError`` otherwise).

    Raises
    ------
    ValueError
        In a test in which the deviations do not vary at any location.

    Notes
    -----
    Works for any number of observations and locations, duplicates among them, too. Assumes that the targets are
    independent given the predictions. Time O(n J**2 k) for V and O(n J) for each draw.

    Sources: Widmann et al. 2021, appendix C, for the deviations; Dwass 1957 for the p-value.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> ucme = ct.UCME(p.default_kernel(), test_predictions=p.take(slice(0, 2)), test_targets=[6, 3])
    >>> ct.CalibrationTest(ucme, ct.nulls.KnownCovarianceMonteCarlo(99))(p, y, rng=1).pvalue_kind
    'exact'
    """

    citations = ("dwass1957", "widmann2021")

    n_resamples: int = 999

    pvalue_kind = "exact"
    statistic_name = "T^2 with the covariance of the predictions"
    requires = UCME
    wanted = "UCME(kernel, test_predictions, test_targets)"

    def resample(self, estimator: Estimator, sample: Sample, rng: np.random.Generator) -> Resampled:
        assert isinstance(estimator, UCME)
        predictions = sample.predictions
        auxiliary, draws = rng.spawn(2)
        covariance = deviation_covariance(estimator.kernel, predictions, estimator.locations, auxiliary)
        whitener, largest = whitening(covariance, TOLERANCE), len(predictions) * estimator.kernel.bound**2
        if whitener.shape[1] == 0 or covariance.max() <= 1e-14 * largest:
            raise ValueError(
                "test_predictions: the deviations do not vary at any location: no prediction is close to one, or all "
                "predictions are certain; move the locations, or use MonteCarloTest"
            )
        parts = in_parts(streams(draws, self.n_resamples), 1)
        calls = [(estimator, predictions, sample.targets, part, whitener) for part in parts]
        means, values = zip(*run(_statistics, calls, "redraws"), strict=True)
        observed, first = means[0], values[0][0]
        return float(np.mean(observed**2)), float(first), np.concatenate([part[1:] for part in values])

    def describe(self) -> str:
        return (
            "T^2 of the sum of the deviations with its known covariance, targets redrawn from the predictions, "
            f"{self.n_resamples} draws"
        )


def _statistics(
    estimator: UCME, predictions: Predictions, observed: Array, part: Sequence[Stream], whitener: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean deviations of the observed targets (J,), and T-squared of these and of redraws, (B + 1,)."""
    targets = predictions.with_redraws(observed, part)
    means = redrawn_deviation_means(estimator.kernel, predictions, targets, estimator.locations)
    return means[0], np.sum((len(predictions) * means @ whitener) ** 2, axis=1)
