"""Targets in units of what was predicted for them, for many redraws at once."""

from typing import TYPE_CHECKING

import numpy as np

from caltest._basics.types import Array, FloatArray

if TYPE_CHECKING:
    from caltest.predictions.base import Predictions

LARGEST_SCORE = 1e140
"""Differences beyond this, in units of a scale, are taken as this: sums of squares of many of them are finite."""

FARTHEST = 1.2e-16
"""Levels this close to 0 or 1 are taken as this where only levels are known: beyond it 1 - u has no digits left."""

UPPER = 1e-3
"""Upper tail probabilities that are computed as such."""

SMALLEST = 5e-324
"""Tail probabilities of 0 are taken as this, the score of which is 38."""


def in_units(differences: FloatArray, scales: FloatArray) -> FloatArray:
    """Differences in units of scales, finite however large they are; 0 where the scale is."""
    ratios = np.divide(differences, scales, out=np.zeros(np.shape(differences)), where=scales > 0.0)
    return np.clip(ratios, -LARGEST_SCORE, LARGEST_SCORE, out=ratios)


def normal_scores(law: "Predictions", targets: Array) -> FloatArray:
    """Normal quantiles of ``F(y)``, in the upper tail from ``1 - F(y)``, which has digits there."""
    from scipy.special import ndtri

    levels = law.cdf(targets)
    z = np.asarray(ndtri(np.maximum(levels, SMALLEST)))
    far = np.nonzero(levels > 1.0 - UPPER)
    z[far] = -ndtri(np.maximum(law.take(far[-1]).survival(targets[far]), SMALLEST))
    return z


def of_normal_scores(law: "Predictions", scores: FloatArray) -> Array:
    """Targets with these normal scores."""
    from scipy.special import ndtr

    return law.quantile(np.clip(ndtr(scores), FARTHEST, 1.0 - FARTHEST))


def mean_square(scores: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Mean square (B,) of all coordinates of scores (B, n) or (B, n, d): 1 on average if calibrated."""
    squares = np.square(scores)
    if weights is None:
        return np.asarray(squares.reshape(scores.shape[0], -1).mean(axis=1))
    return np.asarray(squares.reshape(*scores.shape[:2], -1).mean(axis=2) @ (weights / weights.sum()))
