"""Targets in units of what was predicted for them, for many redraws at once."""

import numpy as np

from caltest._types import Array, FloatArray
from caltest.predictions import FinitePredictions, MvNormal, Normal, Predictions

FARTHEST = 1.2e-16
"""Levels this close to 0 or 1 are taken as this: beyond it 1 - u has no digits left."""


def scores_of(predictions: Predictions, targets: Array) -> FloatArray:
    """Scores of targets (B, n) or (B, n, d), of the same shape: of mean 0 and variance 1, as far as possible.

    Normal predictions: ``(y - m) / s``, and ``S**-1/2 (y - m)`` for vectors. Other continuous distributions of numbers:
    the normal quantile of ``F(y)``. All others: differences to the mean, in units of the standard deviation, for
    vectors of that of a coordinate on average. Predictions without spread have the score 0.
    """
    law = predictions.law
    if isinstance(law, Normal):
        return _ratio(targets - law.mean, law.scale)
    if isinstance(law, MvNormal) and not law.is_singular:
        return law.standardised(targets)[1]
    if is_continuous(law):
        from scipy.special import ndtri

        return np.asarray(ndtri(np.clip(law.cdf(targets), FARTHEST, 1.0 - FARTHEST)))
    mean, variance = law.moments()
    if targets.ndim == 3:
        return _ratio(targets - mean, np.sqrt(variance / mean.shape[-1])[:, None])
    return _ratio(targets - mean, np.sqrt(variance))


def are_normal(predictions: Predictions) -> bool:
    """Whether scores are standard normal given calibrated predictions."""
    law = predictions.law
    return isinstance(law, Normal) or (isinstance(law, MvNormal) and not law.is_singular) or is_continuous(law)


def has_scores(predictions: Predictions) -> bool:
    """Whether targets are numbers or vectors; classes have none."""
    return not isinstance(predictions.law, FinitePredictions)


def is_continuous(law: Predictions) -> bool:
    """Whether all predictions are continuous distributions of a number, with a distribution function."""
    try:
        law.check_continuous()
        law.cdf(np.zeros((0, len(law))))
    except (TypeError, ValueError):
        return False
    return True


def _ratio(differences: FloatArray, scale: FloatArray) -> FloatArray:
    return np.divide(differences, scale, out=np.zeros(np.shape(differences)), where=scale > 0.0)
