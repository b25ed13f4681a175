"""Isotonic regression of outcomes on predictions, and the miscalibration that it finds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from caltest._basics.numerics import Array, FloatArray, IntArray
from caltest._loops.statistics.binned import pooled_means
from caltest._validation import choice
from caltest.estimators.classical.base import BinaryStatistic
from caltest.predictions import Predictions
from caltest.predictions.classes.finite import Score, outcome_scores


@dataclass(frozen=True, eq=False)
class IsotonicGroups:
    """Distinct predictions (m,) in ascending order, their numbers of observations, and which each observation has."""

    values: FloatArray
    sizes: FloatArray
    numbers: IntArray

    @classmethod
    def of(cls, p: FloatArray, most: int | None = None) -> Self:
        """Groups of equal predictions (n,), or so many of neighbours, which have their mean, if there are more."""
        values, numbers = np.unique(p, return_inverse=True)
        if most is not None and values.size > most:
            wider = np.arange(values.size) * most // values.size
            values, numbers = np.bincount(wider, values) / np.bincount(wider), wider[numbers]
        return cls(values, np.bincount(numbers).astype(np.float64), numbers)

    def events(self, outcomes: Array) -> FloatArray:
        """How many of the outcomes (B, n) are 1 in each group, (B, m)."""
        return np.stack([np.bincount(self.numbers, one, self.values.size) for one in outcomes])

    def fitted(self, events: FloatArray) -> FloatArray:
        """The increasing functions of the predictions that are closest to the frequencies, at each of them, (B, m).

        They have the smallest Brier score and the smallest log loss of all such functions.
        """
        return pooled_means(np.ascontiguousarray(events), self.sizes)

    def curves(self, outcomes: Array) -> FloatArray:
        """``fitted`` for outcomes (B, n)."""
        return self.fitted(self.events(outcomes))


@dataclass(frozen=True)
class CORPMiscalibration(BinaryStatistic):
    """``MCB = mean S(p_i, Y_i) - mean S(q_i, Y_i)``: what the score gains by the best increasing recalibration q.

    q is the isotonic regression of the outcomes on the predictions, which pools adjacent violators (PAV) and has the
    smallest score of all increasing functions of p, for both scores. 0 if the predictions are that regression.

    Parameters
    ----------
    score
        ``"brier"`` for (p - Y)**2, ``"log"`` for -log P(Y).

    Notes
    -----
    ``MonteCarloTest(CORPMiscalibration())`` is exact, and nothing has to be chosen. Positive for calibrated predictions
    too, so read it beside its mean under the null. Equal predictions are recalibrated to the same number.
    Probabilities of 0 count as 5e-324 in logarithms. Time O(n log n), and O(n) for each redraw.

    Source: Dimitriadis, Gneiting and Jordan 2021.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> round(ct.estimators.CORPMiscalibration()(*ct.top_label(p, y)), 4)
    0.078
    """

    citations = ("dimitriadis2021",)
    effect_unit = "score gained by recalibration, above its mean"

    score: Score = "brier"
    _checks = {"score": choice(Score)}

    def statistic_of(self, p: FloatArray) -> Callable[[Array], FloatArray]:
        groups = IsotonicGroups.of(p)
        values, sizes = groups.values, groups.sizes

        def of(outcomes: Array) -> FloatArray:
            events = groups.events(outcomes)
            gains = _total(values, events, sizes, self.score) - _total(groups.fitted(events), events, sizes, self.score)
            return gains / p.size

        return of

    def describe(self, predictions: Predictions) -> str:
        name = "Brier" if self.score == "brier" else "log"
        return f"{name} score above that of the isotonic recalibration (CORP miscalibration)"


def _total(p: FloatArray, events: FloatArray, sizes: FloatArray, score: Score) -> FloatArray:
    """Sums (B,) of the scores of groups with events (B, m); ``(p - Y)**2`` is half of the Brier score of classes."""
    scores = outcome_scores(np.stack([1.0 - p, p], axis=-1), score)
    total = np.sum((sizes - events) * scores[..., 0] + events * scores[..., 1], axis=1)
    return np.asarray(0.5 * total if score == "brier" else total)
