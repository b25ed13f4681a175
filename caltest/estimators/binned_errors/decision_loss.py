"""What decisions lose by predictions that are not calibrated, at most."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from caltest._basics.numerics import Array, FloatArray
from caltest._validation import whole
from caltest.estimators.classical.base import BinaryStatistic, some_at_a_time
from caltest.predictions import Predictions


@dataclass(frozen=True)
class CalibrationDecisionLoss(BinaryStatistic):
    """Calibration decision loss (CDL) in soft bins: what decisions gain by recalibration, at most.

    Each prediction p is at the two multiples of ``1/M`` around it, in shares that make p their mean. At ``g_j = j/M``
    there is then a share ``w_j`` of the observations, in a share ``q_j`` of which class 1 occurs. Who decides between
    two actions, one of which is better if class 1 has a probability above t, loses ::

        r(t) = sum_j w_j |q_j - t| 1{t is between g_j and q_j}

    times the difference of the payoffs. The estimate is the largest loss over all decisions, between any number of
    actions, whose payoffs lie between 0 and 1: twice the value at 1/2 of the least concave function above r. It is a
    number between 0 and 1 in units of the payoffs, and at most twice the binned error ``sum_j w_j |q_j - g_j|``.

    Parameters
    ----------
    n_bins
        The number M of steps between 0 and 1.

    Raises
    ------
    ValueError
        For a number of steps below 1.

    Notes
    -----
    Of decisions between two actions ``r`` of ``fields.clinical.decision_curve`` is the loss at one threshold; here the
    worst thresholds are taken, one below and one above 1/2, of which decisions between three actions have both. Soft
    bins make it continuous in the predictions. Biased: positive for calibrated models too, see ``result.effect_size``.
    ``MonteCarloTest(CalibrationDecisionLoss())`` is exact. Time O(n + M**2) for each redraw, memory O(n M).

    Source: Hu and Wu 2024, where each prediction is a bin of its own. That soft bins make such a loss one that can be
    estimated from few observations is shown by Bairaktari et al. 2026; the bins here are not theirs.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> round(ct.estimators.CalibrationDecisionLoss()(*ct.top_label(p, y)), 3)
    0.143
    """

    citations = ("hu2024", "bairaktari2026")
    biased_error = "loss of decisions"

    n_bins: int = 15
    _checks = {"n_bins": whole(1)}

    def statistic_of(self, p: FloatArray) -> Callable[[Array], FloatArray]:
        grid = np.arange(self.n_bins + 1) / self.n_bins
        shares = np.maximum(0.0, 1.0 - np.abs(p[:, None] * self.n_bins - np.arange(self.n_bins + 1)))
        sizes = shares.sum(axis=0)
        shares, grid, sizes = shares[:, sizes > 0.0], grid[sizes > 0.0], sizes[sizes > 0.0]

        def of(outcomes: Array) -> FloatArray:
            return largest_loss(grid, outcomes @ shares / sizes, sizes / p.size)

        return lambda outcomes: some_at_a_time(of, outcomes)

    def describe(self, predictions: Predictions) -> str:
        return f"calibration decision loss, {self.n_bins} soft bins"


def largest_loss(predicted: FloatArray, observed: FloatArray, shares: FloatArray) -> FloatArray:
    """The CDL (B,) of predictions (m,) with shares (m,) of the observations and observed frequencies (B, m).

    Between predictions, frequencies and 1/2 the loss is linear in the threshold, and at a prediction it jumps.
    """
    ends = np.broadcast_to(np.concatenate([[0.0, 0.5, 1.0], predicted]), (len(observed), 3 + predicted.size))
    t = np.concatenate([ends, ends, observed], axis=1)
    gaps = (observed[:, None] - t[:, :, None]) * shares
    before = np.arange(t.shape[1])[:, None] < ends.shape[1]
    at, of = t[:, :, None], predicted
    is_above = np.where(before, of < at, of <= at)
    r = np.where(is_above, np.maximum(gaps, 0.0), np.maximum(-gaps, 0.0)).sum(axis=2)
    # Lines from each threshold up to 1/2 to each one above it.
    s, u = np.minimum(t, 0.5)[:, :, None], np.maximum(t, 0.5)[:, None]
    left, right = np.where(t <= 0.5, r, 0.0)[:, :, None], np.where(t >= 0.5, r, 0.0)[:, None]
    width = u - s
    line = np.where(width > 0.0, left * (u - 0.5) + right * (0.5 - s), np.maximum(left, right))
    return np.asarray(2.0 * (line / np.where(width > 0.0, width, 1.0)).max(axis=(1, 2)))
