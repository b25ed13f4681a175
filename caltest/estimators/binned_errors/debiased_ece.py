"""Squared calibration error from bins, without the bias of the frequencies."""

from dataclasses import dataclass, field

import numpy as np

from caltest._basics.numerics import ranges
from caltest._basics.types import Array, FloatArray
from caltest._loops.statistics import binned
from caltest._validation import at_least
from caltest.binning import Binning, QuantileBinning
from caltest.estimators.base import RedrawnEstimator
from caltest.estimators.binned_errors.ece import TARGETS_AT_ONCE, binned_predictions, bins_of, checked_binning
from caltest.predictions import Predictions


@dataclass(frozen=True)
class DebiasedSquaredECE(RedrawnEstimator):
    """``sum_b n_b/n (|c_b - f_b|**2 - sum_c f_bc (1 - f_bc) / (n_b - 1))``: the squared binned error, debiased.

    c_b is the mean prediction and f_b the class frequencies in bin b. The second term is an unbiased estimate of what
    chance adds to the first one, so that the mean is that of the squared errors of the bins: 0 for calibrated
    predictions, up to how they vary within a bin. It can be negative.

    Which error it is depends on the predictions, as for ``ECE``: ``top_label(p, y)``, ``classwise(p, y)``, binary
    predictions (one coordinate, P(Y = 1)), or the whole simplex (all coordinates).

    Parameters
    ----------
    binning
        Default: ``QuantileBinning(15)``.

    Raises
    ------
    TypeError
        For predictions that are not of classes, or settings of another kind.

    Notes
    -----
    Bins of one observation add nothing. Time O(n k) for one estimate and O(n + k times the occupied bins) for each
    further one of the same predictions.

    Source: Kumar, Liang and Ma 2019, definition 5.1, for one coordinate.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> squared = ct.estimators.DebiasedSquaredECE()(*ct.top_label(p, y))
    >>> round(squared, 6), round(ct.ECE(ct.binning.QuantileBinning(15), order=2)(*ct.top_label(p, y)) ** 2, 6)
    (0.038104, 0.039007)
    """

    citations = ("kumar2019",)

    binning: Binning = field(default_factory=QuantileBinning)

    def __post_init__(self) -> None:
        checked_binning(self.binning)

    def check(self, predictions: Predictions) -> None:
        binned_predictions(predictions)
        at_least(len(predictions), 2, "DebiasedSquaredECE")

    def estimates(self, predictions: Predictions, targets: Array) -> FloatArray:
        bins = bins_of(predictions, self.binning)
        order = np.argsort(bins.numbers, kind="stable")
        bounds = np.concatenate([[0], np.cumsum(bins.sizes)])
        totals = np.empty(targets.shape[0])
        for rows in ranges(targets.shape[0], TARGETS_AT_ONCE):
            labels = np.ascontiguousarray(targets[rows].T, dtype=binned_predictions(predictions).label_type)
            totals[rows] = binned.debiased_errors(bins.sums, bounds, order, labels, bins.first)
        return np.asarray(totals / len(predictions))

    def describe(self, predictions: Predictions) -> str:
        return f"debiased squared ECE ({binned_predictions(predictions).notion}), {self.binning.describe()}"
