"""Expected calibration error from bins."""

from dataclasses import dataclass, field

import numpy as np

from caltest._types import Array, FloatArray
from caltest._validation import at_least
from caltest.binning import Binning, UniformBinning
from caltest.estimators.base import Estimator
from caltest.kernels import Euclidean, Metric, TotalVariation
from caltest.predictions import FinitePredictions, Predictions, Sample


@dataclass(frozen=True)
class ECE(Estimator):
    """``sum_b n_b/n d(mean prediction in bin b, class frequencies in bin b)``.

    Which ECE it is depends on the predictions. (n, k) probabilities: canonical, over the whole simplex.
    ``top_label(p, y)``: confidence against accuracy. Binary predictions: P(Y = 1) against the frequency of 1, with
    ``|p - y|`` for the total variation distance (the Julia reference has half of it). ``classwise(p, y)``: one class.

    Parameters
    ----------
    binning
        ``UniformBinning``, ``QuantileBinning`` or ``MedianVarianceBinning``.
    distance
        ``TotalVariation()``, ``Euclidean()``, ``SquaredEuclidean()`` or ``Cityblock()``.

    Notes
    -----
    Biased: positive for calibrated models too, so read it beside its mean under the null (``MonteCarloTest``).
    Bins weigh n_b/n. Time O(n k log n), memory O(n k).

    Source: Widmann et al. 2019, eq. 5 and appendix J.1.1; Guo et al. 2017 for the top label.

    Raises
    ------
    TypeError
        For predictions that are not of classes, or settings of another kind.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = [[0.1, 0.9], [0.2, 0.8], [0.85, 0.15]], [1, 0, 0]
    >>> round(ct.ECE(ct.UniformBinning(2))(p, y), 6)
    0.283333
    >>> round(ct.ECE(ct.UniformBinning(2))(*ct.top_label(p, y)), 6)
    0.183333
    """

    binning: Binning = field(default_factory=UniformBinning)
    distance: Metric = field(default_factory=TotalVariation)

    def __post_init__(self) -> None:
        if not isinstance(self.binning, Binning):
            raise TypeError(f"binning: got {self.binning!r}, wanted a binning such as UniformBinning(10)")
        if not isinstance(self.distance, Metric):
            raise TypeError(f"distance: got {self.distance!r}, wanted a distance such as TotalVariation()")

    def check(self, predictions: Predictions) -> None:
        """Raise unless the predictions are of classes."""
        _finite(predictions).embedding(self.distance)
        at_least(len(predictions), 1, "ECE")

    def estimate(self, sample: Sample) -> float:
        """The estimate from a checked sample."""
        return float(self.estimates(sample.predictions, sample.targets[None])[0])

    def estimates(self, predictions: Predictions, targets: Array) -> FloatArray:
        """Estimates for many targets (B, n); the bins are computed once."""
        finite = _finite(predictions)
        bins = self.binning.assign(finite.embedding(Euclidean()))
        sizes = np.bincount(bins)
        means = finite.averages(bins, sizes.size)
        rows = np.arange(sizes.size)[:, None]
        unit = finite.point_masses(np.arange(finite.n_classes)).embedding(self.distance)
        means_tile = means.take(rows).embedding(self.distance)
        values = np.empty(targets.shape[0])
        for b, y in enumerate(targets):
            counts = np.bincount(bins * finite.n_classes + y, minlength=sizes.size * finite.n_classes)
            frequencies = counts.reshape(sizes.size, 1, finite.n_classes) / sizes[:, None, None]
            distances = self.distance.tile(means_tile, frequencies @ unit)[:, 0, 0]
            values[b] = np.vdot(sizes, distances) / bins.size
        return values

    def describe(self, predictions: Predictions) -> str:
        """What is estimated, in one line."""
        return f"ECE ({_finite(predictions).notion}), {self.binning.describe()}, {self.distance.label} distance"


def _finite(predictions: Predictions) -> FinitePredictions:
    if not isinstance(predictions, FinitePredictions):
        raise TypeError(
            f"predictions: got {predictions.family} predictions, wanted Categorical or Bernoulli ones for ECE"
        )
    return predictions
