"""Proper scores above what they are on average if the predictions are calibrated."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from caltest._loops.redraws import gathered_sums
from caltest._types import Array, FloatArray
from caltest._validation import at_least
from caltest.estimators.base import RedrawnEstimator
from caltest.predictions import Predictions
from caltest.predictions.proper_scores import Score, outcome_scores


class ExcessScore(RedrawnEstimator):
    """Mean of ``S(P, Y) - E S(P, Z)``, Z ~ P, for a score S of classes: 0 on average if predictions are calibrated."""

    two_sided = True

    def check(self, predictions: Predictions) -> None:
        """Raise for no predictions, and for families other than classes."""
        at_least(len(predictions), 1, type(self).__name__)
        if predictions.law.finite is None:
            raise TypeError(
                f"predictions: got {predictions.family} predictions, wanted probabilities of classes for "
                f"{type(self).__name__}; for numbers use ResidualMean() and ResidualSpread()"
            )

    score: ClassVar[Score]

    def outcome_scores(self, predictions: Predictions) -> tuple[FloatArray, FloatArray]:
        """Probabilities and scores of all outcomes, (n, k)."""
        assert predictions.law.finite is not None
        p = predictions.law.finite.probabilities
        return p, outcome_scores(p, self.score)

    def estimates(self, predictions: Predictions, targets: Array, weights: FloatArray | None = None) -> FloatArray:
        """Estimates for many targets (B, n); means with weights of the observations."""
        p, scores = self.outcome_scores(predictions)
        excess = scores - np.einsum("ik,ik->i", p, scores)[:, None]
        if weights is not None:
            excess *= weights[:, None]
        total = len(predictions) if weights is None else weights.sum()
        return np.asarray(gathered_sums(excess, np.ascontiguousarray(targets)) / total)


@dataclass(frozen=True)
class ExcessLogScore(ExcessScore):
    """Mean of ``-log p_Y`` minus the entropy of p: positive for overconfident predictions, negative for underconfident.

    Divided by its standard deviation it is the score statistic for a temperature of the predictions at 1.
    ``MonteCarloTest(ExcessLogScore())`` is exact and two-sided.

    Notes
    -----
    Time O(n k) and O(n) for each redraw. Probabilities of 0 count as 5e-324. ``TypeError`` for other predictions than
    those of classes.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["random forest"]
    >>> round(ct.ExcessLogScore()(p, y), 4)
    -0.5734
    """

    score = "log"
    effect_unit = "nats per observation more than predicted"

    def describe(self, predictions: Predictions) -> str:
        """What is estimated, in one line."""
        return "mean log score minus the mean entropy"


@dataclass(frozen=True)
class ExcessBrierScore(ExcessScore):
    """Mean of ``|e_Y - p|**2`` minus its expectation ``1 - |p|**2``: positive for overconfident predictions.

    For binary predictions it is twice the numerator of Spiegelhalter's statistic, divided by n.

    Notes
    -----
    Time O(n k) and O(n) for each redraw. ``TypeError`` for other predictions than those of classes.

    Source: Spiegelhalter 1986, for binary predictions.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["random forest"]
    >>> round(ct.ExcessBrierScore()(p, y), 4)
    -0.2642
    """

    citations = ("spiegelhalter1986",)

    score = "brier"
    effect_unit = "Brier score above its prediction"

    def describe(self, predictions: Predictions) -> str:
        """What is estimated, in one line."""
        return "mean Brier score minus its expectation"
