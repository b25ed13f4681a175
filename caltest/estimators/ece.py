"""Expected calibration error from bins."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from caltest._arrays import read_only
from caltest._loops import binned
from caltest._numerics import ranges
from caltest._types import Array, FloatArray, IntArray
from caltest._validation import at_least
from caltest.binning import Binning, UniformBinning
from caltest.estimators.base import Estimator
from caltest.kernels import Euclidean, Metric, SquaredEuclidean, TotalVariation
from caltest.predictions import FinitePredictions, Predictions, QuantileForecast, Sample

TARGETS_AT_ONCE = 64
"""Targets counted together, a cache line of one-byte labels an observation; the estimates do not depend on it."""


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
    Bins weigh n_b/n. Beside the binning: time O(n k) for one estimate, O(n + k times the occupied bins) for each
    further one of the same predictions; memory O(n + k times the occupied bins), and 64 bytes an observation for many.

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

    citations = ("guo2017", "vaicenavicius2019", "widmann2019")

    effect_unit = "binned error above its mean if calibrated"

    binning: Binning = field(default_factory=UniformBinning)
    distance: Metric = field(default_factory=TotalVariation)

    def __post_init__(self) -> None:
        if not isinstance(self.binning, Binning):
            raise TypeError(f"binning: got {self.binning!r}, wanted a binning such as UniformBinning(10)")
        if not isinstance(self.distance, Metric):
            raise TypeError(f"distance: got {self.distance!r}, wanted a distance such as TotalVariation()")

    def check(self, predictions: Predictions) -> None:
        """Raise unless the predictions are of classes."""
        _finite(predictions).take(slice(1)).embedding(self.distance)
        at_least(len(predictions), 1, "ECE")

    def estimate(self, sample: Sample) -> float:
        """The estimate from a checked sample."""
        bins = self._bins(sample.predictions)
        labels = read_only(sample.targets, np.intp)
        total = binned.error(bins.sums, bins.weights, bins.numbers, labels, bins.first, *self._norm())
        return total / len(sample)

    def estimates(self, predictions: Predictions, targets: Array) -> FloatArray:
        """Estimates for many targets (B, n); the bins are computed once."""
        bins = self._bins(predictions)
        order = np.argsort(bins.numbers, kind="stable")
        bounds = np.concatenate([[0], np.cumsum(bins.sizes)])
        totals = np.empty(targets.shape[0])
        for rows in ranges(targets.shape[0], TARGETS_AT_ONCE):
            labels = np.ascontiguousarray(targets[rows].T, dtype=_finite(predictions).label_type)
            totals[rows] = binned.errors(bins.sums, bins.weights, bounds, order, labels, bins.first, *self._norm())
        return totals / len(predictions)

    def _bins(self, predictions: Predictions) -> "_Bins":
        vectors = _finite(predictions).embedding(Euclidean())
        numbers = self.binning.assign(vectors)
        sizes = np.bincount(numbers)
        # The deviations of n_b observations are n_b times those of their means: their squares weigh 1/n_b.
        weights = 1.0 / sizes if isinstance(self.distance, SquaredEuclidean) else np.ones(sizes.size)
        if isinstance(self.distance, TotalVariation) and vectors.shape[1] > 1:
            weights *= 0.5
        return _Bins(
            numbers=numbers,
            sizes=sizes,
            sums=binned.sums_of_bins(read_only(vectors, np.float64), numbers, sizes.size),
            weights=weights,
            first=_finite(predictions).n_classes - vectors.shape[1],
        )

    def _norm(self) -> tuple[bool, bool]:
        """Whether the norm of the distance has squares, and a root."""
        return isinstance(self.distance, (Euclidean, SquaredEuclidean)), isinstance(self.distance, Euclidean)

    def describe(self, predictions: Predictions) -> str:
        """What is estimated, in one line."""
        return f"ECE ({_finite(predictions).notion}), {self.binning.describe()}, {self.distance.label} distance"


class _Bins(NamedTuple):
    """Bins of n predictions: the number of that of each, and sizes, sums of vectors and weights of the norms.

    The vectors of binary predictions are the numbers P(Y = 1): they leave out the ``first`` class, 0.
    """

    numbers: IntArray
    sizes: IntArray
    sums: FloatArray
    weights: FloatArray
    first: int


def _finite(predictions: Predictions) -> FinitePredictions:
    # Quantile forecasts all have the same probabilities, which would fall into a single bin.
    if not isinstance(predictions, FinitePredictions) or isinstance(predictions, QuantileForecast):
        raise TypeError(
            f"predictions: got {predictions.family} predictions, wanted Categorical or Bernoulli ones for ECE"
        )
    return predictions
