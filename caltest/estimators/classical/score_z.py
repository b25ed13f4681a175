"""Excess scores in units of their standard deviations."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from caltest._types import Array, FloatArray
from caltest.estimators.base import RedrawnEstimator
from caltest.estimators.excess_scores import ExcessBrierScore, ExcessLogScore, ExcessScore
from caltest.estimators.textbook import TextbookTail
from caltest.predictions import Predictions, Sample
from caltest.results.effect_size import EffectSize
from caltest.results.result import PValueKind

ROUNDING = 1e-13
"""Standard deviations of this size, relative to the scores, are rounding errors."""

LARGEST_KURTOSIS = 0.5
"""Excess kurtosis of the score from which on the normal law is rough: few uncertain outcomes make it vary."""


class ScoreZ(RedrawnEstimator):
    """``Z = sum_i (S(p_i, Y_i) - E S) / sqrt(sum_i Var S)`` with expectation and variance over Y_i ~ p_i."""

    two_sided = True
    textbook_statistic = "z, standard normal if calibrated"
    textbook_kind: ClassVar[PValueKind] = "asymptotic"

    @property
    @abstractmethod
    def excess(self) -> ExcessScore:
        """The mean of the score above its expectation."""

    def check(self, predictions: Predictions) -> None:
        """Raise for no predictions, and for families other than classes."""
        self.excess.check(predictions)

    def estimates(self, predictions: Predictions, targets: Array) -> FloatArray:
        """Estimates for many targets (B, n)."""
        deviation = self._deviation(predictions)
        if deviation == 0.0:
            return np.zeros(targets.shape[0])
        return self.excess.estimates(predictions, targets) * (len(predictions) / deviation)

    def effect_size(self, estimate: float, predictions: Predictions, mean: float | None) -> EffectSize | None:
        """The score above its expectation, per observation."""
        excess = estimate * self._deviation(predictions) / len(predictions)
        return EffectSize(excess, "score above its expectation, per observation")

    def _central_moment(self, predictions: Predictions, power: int) -> FloatArray:
        """``E (S - E S)**power`` of each score given the prediction, (n,)."""
        p, scores = self.excess.outcome_scores(predictions)
        means = np.einsum("ik,ik->i", p, scores)
        return np.asarray(np.einsum("ik,ik->i", p, (scores - means[:, None]) ** power))

    def _deviation(self, predictions: Predictions) -> float:
        variance = float(self._central_moment(predictions, 2).sum())
        p, scores = self.excess.outcome_scores(predictions)
        squares = float(np.einsum("ik,ik->", p, np.square(scores)))
        return float(np.sqrt(variance)) if variance > ROUNDING**2 * squares else 0.0

    def _kurtosis(self, predictions: Predictions) -> float:
        """Excess kurtosis of the sum of the scores."""
        if self._deviation(predictions) == 0.0:
            return 0.0
        variances = self._central_moment(predictions, 2)
        return float((self._central_moment(predictions, 4) - 3.0 * variances**2).sum() / variances.sum() ** 2)

    def textbook_tail(self, estimate: float, sample: Sample) -> TextbookTail:
        """Both normal tails."""
        from scipy.special import ndtr

        is_rough = self._kurtosis(sample.predictions) > LARGEST_KURTOSIS
        notes = (few_uncertain(type(self).__name__),) if is_rough else ()
        return TextbookTail(estimate, 2.0 * float(ndtr(-abs(estimate))), notes=notes)


@dataclass(frozen=True)
class Spiegelhalter(ScoreZ):
    """``Z = sum (y - p)(1 - 2p) / sqrt(sum (1 - 2p)**2 p (1 - p))``: the Brier score in units of its deviation.

    Positive where predictions are overconfident, negative where they are underconfident. For more than two classes it
    is the same of the multi-class score, ``sum_i (|e_Y - p|**2 - 1 + |p|**2)`` over its standard deviation.

    Raises
    ------
    TypeError
        For other predictions than those of classes.

    Notes
    -----
    ``MonteCarloTest(Spiegelhalter())`` is exact, ``SpiegelhalterTest()`` takes the normal law; both are two-sided. The
    variance is that given the predictions, not an estimate. 0, and the p-value 1, if the score cannot vary: all
    predictions are 0, 1/2 or 1, or uniform over their classes. Blind to errors that do not change the mean score, such
    as those of predictions around 1/2.

    Time O(n k), and O(n) for each redraw.

    Source: Spiegelhalter 1986, for two classes.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["random forest"]
    >>> round(ct.Spiegelhalter()(*ct.top_label(p, y)), 3)
    -9.672
    """

    citations = ("spiegelhalter1986",)

    @property
    def excess(self) -> ExcessScore:
        """The Brier score."""
        return ExcessBrierScore()

    def describe(self, predictions: Predictions) -> str:
        """What is estimated, in one line."""
        return "Brier score above its expectation, in units of its standard deviation"


@dataclass(frozen=True)
class LogScoreZ(ScoreZ):
    """``Z = sum (-log p_Y - H(p)) / sqrt(sum Var(log p_Y))`` with the entropy H(p).

    The score statistic of a temperature of the predictions at 1: positive where they are overconfident, negative where
    they are underconfident. Any number of classes.

    Raises
    ------
    TypeError
        For other predictions than those of classes.

    Notes
    -----
    ``MonteCarloTest(LogScoreZ())`` is exact, ``LogScoreTest()`` takes the normal law; both are two-sided. The variance
    is that given the predictions. 0, and the p-value 1, if the score cannot vary: all predictions are certain or
    uniform over their classes. Probabilities of 0 count as 5e-324.

    Time O(n k), and O(n) for each redraw.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["random forest"]
    >>> round(ct.LogScoreZ()(p, y), 3)
    -15.386
    """

    @property
    def excess(self) -> ExcessScore:
        """The log score."""
        return ExcessLogScore()

    def describe(self, predictions: Predictions) -> str:
        """What is estimated, in one line."""
        return "log score above the entropy, in units of its standard deviation"


def few_uncertain(name: str) -> str:
    """What readers should know where the score is far from normal."""
    return (
        "only few uncertain outcomes make the score vary, for which the normal law is rough: in simulations it "
        "rejected up to 5.5 % of calibrated predictions at the 5 % level and 3 % at the 1 % level, and 16 and 12 % "
        f"where all predictions were nearly equal and rare; MonteCarloTest({name}()) is exact"
    )
