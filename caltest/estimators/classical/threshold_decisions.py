"""How far two-action decisions by a threshold of one probability misjudge their losses."""

from dataclasses import dataclass

import numpy as np

from caltest._basics.arrays import read_only
from caltest._basics.numerics import Array, BoolArray, FloatArray, IntArray
from caltest._loops.statistics.binned import raise_to_two_sides
from caltest._validation import at_least
from caltest.estimators.base import RedrawnEstimator
from caltest.estimators.binned_errors.ece import binned_predictions
from caltest.estimators.classical.base import some_at_a_time
from caltest.predictions import Predictions


@dataclass(frozen=True)
class ThresholdDecisionError(RedrawnEstimator):
    """Largest error of predicted losses, over decisions between two actions by a threshold of one class's probability.

    Who takes one action where ``p_ic > t`` and another where it is not, with losses ``l(a, y)`` of each action that are
    vectors of Euclidean length 1 or less, predicts the mean loss from the probabilities and then has the one of the
    outcomes. The estimate is the largest difference of these over losses, classes c and thresholds t::

        max_{c, t}  |sum_{i: p_ic > t} (e_{Y_i} - p_i)| / n  +  |sum_{i: p_ic <= t} (e_{Y_i} - p_i)| / n

    with Euclidean norms of vectors of k numbers. The losses of each action point along the sum of its residuals.

    Raises
    ------
    TypeError
        For predictions that are not of classes.

    Notes
    -----
    For two classes this is the decision calibration error of the source for two actions, ``sqrt(2)`` times ``|y - p|``
    summed up on both sides of the worst threshold. For more classes it is at most that error: the source has all half
    spaces ``w' p > t``, of which the worst is hard to find and which its software looks for by gradients of a
    relaxation; here ``w`` is the unit vector of a class. Decisions between more actions are not looked at.

    Biased: positive for calibrated models too, see ``result.effect_size``. ``MonteCarloTest(ThresholdDecisionError())``
    is exact. Time O(n k**2) for each redraw: 0.2 s for 50 000 predictions of 10 classes.

    Source: Zhao et al. 2021, on decision calibration for a bounded number of actions.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> round(ct.estimators.ThresholdDecisionError()(p, y), 3)
    0.077
    """

    citations = ("zhao2021",)
    biased_error = "error of predicted losses"

    def check(self, predictions: Predictions) -> None:
        at_least(len(predictions), 1, type(self).__name__)
        binned_predictions(predictions)

    def estimates(self, predictions: Predictions, targets: Array) -> FloatArray:
        p = read_only(binned_predictions(predictions).probabilities, np.float64)
        # A threshold of one of two probabilities is one of the other.
        cuts = [_cuts(column) for column in (p.T if p.shape[1] > 2 else p.T[1:])]

        def largest(labels: Array) -> FloatArray:
            sums = np.zeros(len(labels))
            for order, ends in cuts:
                raise_to_two_sides(p, order, ends, read_only(labels, np.intp), sums)
            return sums / len(p)

        return some_at_a_time(largest, np.asarray(targets))

    def describe(self, predictions: Predictions) -> str:
        return "largest error of the losses of two-action decisions by a threshold"


def _cuts(p: FloatArray) -> tuple[IntArray, BoolArray]:
    """The order of the numbers, and which are the last ones of their value in it."""
    order = np.argsort(p, kind="stable")
    return order, np.append(np.diff(p[order]) > 0.0, True)
