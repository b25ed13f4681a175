"""Which alternatives a family has."""

from caltest._types import FloatArray
from caltest.alternatives.base import Alternatives
from caltest.alternatives.classes import ClassAlternatives
from caltest.alternatives.counts import CountAlternatives
from caltest.alternatives.normal import NormalAlternatives
from caltest.hstatistics.scores import is_continuous
from caltest.predictions import FinitePredictions, MvNormal, NegativeBinomial, Poisson, Predictions


def alternatives_for(predictions: Predictions, weights: FloatArray | None = None) -> Alternatives | None:
    """The alternatives for a family, or None if likelihood ratios are not known; weights of the observations."""
    law = predictions.law
    if isinstance(law, FinitePredictions):
        return ClassAlternatives(law, weights)
    if isinstance(law, (Poisson, NegativeBinomial)):
        return CountAlternatives(law, weights)
    if isinstance(law, MvNormal):
        return None if law.is_singular else NormalAlternatives(predictions, law.dimension, weights)
    return NormalAlternatives(predictions, 1, weights) if is_continuous(law) else None
