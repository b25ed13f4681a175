"""What a bet against calibration is; and bets on alternatives: other temperatures, shifted means, and the like."""

from abc import ABC, abstractmethod
from typing import Self

import numpy as np

from caltest._basics.types import FloatArray
from caltest.predictions import Predictions, Sample


class Bets(ABC):
    """Some gamblers, who stake their capital on one outcome after the other, at odds that are fair if calibrated.

    The capital of each is multiplied by a factor of mean 1 given the prediction and all that came before, so it is a
    martingale that starts at 1, and so is a weighted mean of capitals.
    """

    weights: FloatArray
    """Of the gamblers, (K,), of sum 1."""

    @abstractmethod
    def log_factors(self, sample: Sample) -> tuple[FloatArray, Self]:
        """Logarithms of the factors (K, b) for the next b observations, and the bets with these in the past.

        Bets do not change, so that an update that is interrupted leaves no trace.
        """

    @abstractmethod
    def describe(self) -> str:
        """On what is bet, in words."""


def log_capital(bets_log: FloatArray, weights: FloatArray) -> FloatArray:
    """``log sum_k w_k exp(L_k)`` for each column of logarithms (K, b), (b,)."""
    logs = bets_log + np.log(weights)[:, None]
    largest = logs.max(axis=0)
    return np.asarray(largest + np.log(np.exp(logs - largest).sum(axis=0)))


class LikelihoodBets(Bets):
    """One gambler for each alternative Q_k of the predictions: factors ``Q_k(Y_t | P_t) / P_t(Y_t)``.

    The mean of their capitals is the likelihood ratio of the distribution that mixes the alternatives in proportion to
    how well they predicted so far.
    """

    def __init__(self, predictions: Predictions) -> None:
        alternatives = predictions.law.alternatives()
        assert alternatives is not None
        self.weights = alternatives.weights

    def describe(self) -> str:
        return f"likelihood ratios of {len(self.weights)} alternatives"

    def log_factors(self, sample: Sample) -> tuple[FloatArray, Self]:
        """``log Q_k(y) / P(y)``; they do not depend on the past."""
        alternatives = sample.predictions.law.alternatives()
        if alternatives is None:
            raise ValueError(
                "predictions: got some without spread after others with one, for which no likelihood ratios are known; "
                'wanted continuous distributions only, or strategy="kernel"'
            )
        return alternatives.log_ratio_terms(np.asarray(sample.targets)), self
