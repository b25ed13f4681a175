"""Proper scores above what they are on average if the predictions are calibrated."""

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import numpy as np

from caltest._basics.numerics import Array, FloatArray
from caltest._loops.pair_sums.redraws import gathered_sums
from caltest._results.calibration_test_result import PValueKind
from caltest._validation import at_least
from caltest.estimators.base import RedrawnEstimator, TextbookTail
from caltest.predictions import Predictions, Sample
from caltest.predictions.classes.finite import Score, outcome_scores

ROUNDING = 1e-13
"""Standard deviations of this size, relative to the scores, are rounding errors."""

LARGEST_KURTOSIS = 0.5
"""Excess kurtosis of the score from which on the normal law is rough: few uncertain outcomes make it vary."""


class ExcessScore(RedrawnEstimator):
    """Mean of ``S(P, Y) - E S(P, Z)``, Z ~ P, for a score S of classes: 0 on average if predictions are calibrated."""

    two_sided = True
    textbook_statistic = "z, standard normal if calibrated"
    textbook_kind: ClassVar[PValueKind] = "asymptotic"

    def check(self, predictions: Predictions) -> None:
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
        p, scores = self.outcome_scores(predictions)
        excess = scores - np.einsum("ik,ik->i", p, scores)[:, None]
        if weights is not None:
            excess *= weights[:, None]
        total = len(predictions) if weights is None else weights.sum()
        return np.asarray(gathered_sums(excess, np.ascontiguousarray(targets)) / total)

    def textbook_tail(self, estimate: float, sample: Sample) -> TextbookTail:
        """Both normal tails of the estimate over its standard deviation given the predictions."""
        from scipy.special import ndtr

        p, scores = self.outcome_scores(sample.predictions)
        centred = scores - np.einsum("ik,ik->i", p, scores)[:, None]
        variances, fourths = (np.einsum("ik,ik->i", p, centred**power) for power in (2, 4))
        variance = float(variances.sum())
        if variance <= ROUNDING**2 * float(np.einsum("ik,ik->", p, np.square(scores))):
            return TextbookTail(0.0, 1.0)
        z = estimate * len(p) / sqrt(variance)
        kurtosis = float((fourths / variance - 3.0 * variances * (variances / variance)).sum()) / variance
        notes: tuple[str, ...] = ()
        if kurtosis > LARGEST_KURTOSIS:
            notes = (
                "only few uncertain outcomes make the score vary, for which the normal law is rough: in simulations it "
                "rejected up to 11 % of calibrated predictions at the 5 % level and 3 % at the 1 % level, and 16 and "
                "12 % where all predictions were nearly equal and rare; "
                f"MonteCarloTest({type(self).__name__}()) is exact",
            )
        return TextbookTail(z, 2.0 * float(ndtr(-abs(z))), notes=notes)


@dataclass(frozen=True)
class ExcessLogScore(ExcessScore):
    """Mean of ``-log p_Y`` minus the entropy of p: positive for overconfident predictions, negative for underconfident.

    Divided by its standard deviation given the predictions it is the score statistic for a temperature of the
    predictions at 1. ``MonteCarloTest(ExcessLogScore())`` is exact, ``LogScoreTest()`` takes the normal law; both are
    two-sided.

    Notes
    -----
    Time O(n k) and O(n) for each redraw. Probabilities of 0 count as 5e-324. ``TypeError`` for other predictions than
    those of classes.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> round(ct.estimators.ExcessLogScore()(p, y), 4)
    -0.5734
    """

    score = "log"
    effect_unit = "nats per observation more than predicted"

    def describe(self, predictions: Predictions) -> str:
        return "mean log score minus the mean entropy"


@dataclass(frozen=True)
class ExcessBrierScore(ExcessScore):
    """Mean of ``|e_Y - p|**2`` minus its expectation ``1 - |p|**2``: positive for overconfident predictions.

    For binary predictions it is twice the numerator of Spiegelhalter's statistic
    ``Z = sum (y - p)(1 - 2p) / sqrt(sum (1 - 2p)**2 p (1 - p))``, divided by n. ``MonteCarloTest(ExcessBrierScore())``
    is exact, ``SpiegelhalterTest()`` takes the normal law; both are two-sided. Blind to errors that do not change the
    mean score, such as those of predictions around 1/2.

    Notes
    -----
    Time O(n k) and O(n) for each redraw. ``TypeError`` for other predictions than those of classes.

    Source: Spiegelhalter 1986, for binary predictions.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> round(ct.estimators.ExcessBrierScore()(p, y), 4)
    -0.2642
    """

    citations = ("spiegelhalter1986",)

    score = "brier"
    effect_unit = "Brier score above its prediction"

    def describe(self, predictions: Predictions) -> str:
        return "mean Brier score minus its expectation"
