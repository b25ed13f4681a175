"""Cumulative differences of outcomes and predictions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from caltest._basics.numerics import Array, FloatArray
from caltest._laws import absolute_maximum_tail, range_tail
from caltest._results.values import EffectSize
from caltest._validation import choice
from caltest.estimators.base import TextbookTail
from caltest.estimators.classical.base import BinaryStatistic
from caltest.predictions import Predictions, Sample

Kind = Literal["MAD", "R"]

INFORMATION = 50.0
"""Sums of p (1 - p) below which steps are so large that the walk is not much like a Brownian motion."""

MEANS = {"MAD": float(np.sqrt(np.pi / 2.0)), "R": float(np.sqrt(8.0 / np.pi))}
"""Of the largest absolute value and of the range of a Brownian motion on the unit interval."""


@dataclass(frozen=True)
class ECCE(BinaryStatistic):
    """Largest of the cumulative differences of outcomes and predictions, or their range, without any bins.

    ``C_k = sum_{i <= k} (y_(i) - p_(i)) / sqrt(sum_i p_i (1 - p_i))`` with observations in the order of their
    predictions, and C_0 = 0: ``max_k |C_k|`` or ``max_k C_k - min_k C_k``. The slope of C between two predictions is
    the miscalibration between them.

    Parameters
    ----------
    statistic
        ``"MAD"`` for the maximum absolute deviation, ``"R"`` for the range. Equal predictions have no order, so only
        the differences before and after all of them count.

    Notes
    -----
    ``MonteCarloTest(ECCE())`` is exact. ``ECCETest()`` takes the law of the maximum or the range of a Brownian motion,
    the limit for many different predictions with uncertain outcomes; with few of them it mostly rejects too rarely,
    since the largest value of a walk in steps is below that of the motion, and its results have a note. 0, with the
    p-value 1, if all predictions are certain.

    Time O(n log n), and O(n) for each redraw. The range times ``sqrt(sum_i p_i (1 - p_i)) / n`` is the cutoff
    calibration error, the largest ``|mean of (y - p) 1{a < p <= b}|``.

    Sources: Arrieta-Ibarra, Gujral, Tannen, Tygert and Xu 2022 for the statistics; Feller 1951 for the range;
    Rossellini et al. 2025 for the cutoff calibration error.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> round(ct.estimators.ECCE("R")(*ct.top_label(p, y)), 3)
    17.831
    """

    citations = ("arrieta2022", "feller1951")

    statistic: Kind = "MAD"
    _checks = {"statistic": choice(Kind)}

    def statistic_of(self, p: FloatArray) -> Callable[[Array], FloatArray]:
        order = np.argsort(p, kind="stable")
        ordered, deviation = p[order], _deviation(p)
        last = np.flatnonzero(np.append(np.diff(ordered) > 0.0, True))
        if deviation == 0.0:
            return lambda outcomes: np.zeros(outcomes.shape[0])

        def of(outcomes: Array) -> FloatArray:
            sums = np.cumsum(outcomes[:, order] - ordered, axis=1)[:, last]
            high, low = np.maximum(sums.max(axis=1), 0.0), np.minimum(sums.min(axis=1), 0.0)
            largest = high - low if self.statistic == "R" else np.maximum(high, -low)
            return np.asarray(largest / deviation)

        return of

    @property
    def textbook_statistic(self) -> str:
        """What the statistic is, and its law."""
        what = "range" if self.statistic == "R" else "largest absolute value"
        return f"{what}, that of a Brownian motion if calibrated"

    def textbook_tail(self, estimate: float, sample: Sample) -> TextbookTail:
        """The tail of the maximum or of the range of a Brownian motion."""
        p = self.probabilities(sample.predictions)
        information = float(np.sum(p * (1.0 - p)))
        tail = range_tail if self.statistic == "R" else absolute_maximum_tail
        rates = "1.7 to 4.5 %" if self.statistic == "R" else "3.0 to 4.6 %"
        note = (
            f"the sum of p (1 - p) is only {information:.2g}, for which the law of a Brownian motion is rough: in "
            f"simulations it rejected {rates} of calibrated predictions at the 5 % level, and 14 % where all were "
            f'nearly equal and rare; MonteCarloTest(ECCE("{self.statistic}")) is exact'
        )
        return TextbookTail(estimate, tail(estimate), notes=(note,) if information < INFORMATION else ())

    def effect_size(self, estimate: float, predictions: Predictions, mean: float | None) -> EffectSize:
        """The largest surplus or lack of events in a range of predictions, per observation, above that of chance."""
        p = self.probabilities(predictions)
        largest = (estimate - (MEANS[self.statistic] if mean is None else mean)) * _deviation(p) / p.size
        return EffectSize(largest, "largest cumulative difference per observation, above its mean if calibrated")

    def describe(self, predictions: Predictions) -> str:
        what = "range" if self.statistic == "R" else "maximum absolute deviation"
        return f"cumulative differences of outcomes and predictions, {what} (ECCE-{self.statistic})"


def _deviation(p: FloatArray) -> float:
    """Of the number of events."""
    return float(np.sqrt(np.sum(p * (1.0 - p))))
