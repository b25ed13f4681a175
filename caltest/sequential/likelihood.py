"""Bets on alternatives: other temperatures, shifted means, and the like."""

from typing import Self

import numpy as np

from caltest._types import FloatArray
from caltest.predictions import Predictions, Sample
from caltest.sequential.bets import Bets


class LikelihoodBets(Bets):
    """One gambler for each alternative Q_k of the predictions: factors ``Q_k(Y_t | P_t) / P_t(Y_t)``.

    The mean of their capitals is the likelihood ratio of the distribution that mixes the alternatives in proportion to
    how well they predicted so far.
    """

    def __init__(self, predictions: Predictions) -> None:
        alternatives = predictions.law.alternatives()
        assert alternatives is not None
        self.weights = np.exp(alternatives.log_weights)
        self.findings = tuple(member.finding for member in alternatives.members)

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
