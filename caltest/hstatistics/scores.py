"""Targets in units of what was predicted for them, for many redraws at once."""

from math import sqrt

import numpy as np

from caltest._types import Array, FloatArray
from caltest.predictions import FinitePredictions, MvNormal, Normal, Pool, Predictions, Sample, Scenarios
from caltest.predictions.base import LARGEST_SCORE, in_units

FARTHEST = 1.2e-16
"""Levels this close to 0 or 1 are taken as this where only levels are known: beyond it 1 - u has no digits left."""

UPPER = 1e-3
"""Upper tail probabilities that are computed as such."""

SMALLEST = 5e-324
"""Tail probabilities of 0 are taken as this, the score of which is 38."""


def scores_of(predictions: Predictions, targets: Array) -> FloatArray:
    """Scores of targets (B, n) or (B, n, d), of the same shape: of mean 0 and variance 1, as far as possible.

    Normal predictions: ``(y - m) / s``, and ``S**-1/2 (y - m)`` for vectors. Other continuous distributions of numbers:
    the normal quantile of ``F(y)``. All others: differences to the mean, in units of the standard deviation, for
    vectors of that of a coordinate on average. Predictions without spread have the score 0.
    """
    law = predictions.law
    if isinstance(law, Normal):
        return in_units(targets - law.mean, law.scale)
    if isinstance(law, MvNormal) and not law.is_singular:
        return np.clip(law.standardised(targets)[1], -LARGEST_SCORE, LARGEST_SCORE)
    if is_continuous(law):
        return _normal_scores(law, targets)
    mean, variance = law.moments()
    if targets.ndim == 3:
        return in_units(targets - mean, np.sqrt(variance / mean.shape[-1])[:, None])
    return in_units(targets - mean, np.sqrt(variance))


def mean_square(scores: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Mean square (B,) of all coordinates of scores (B, n) or (B, n, d): 1 on average if calibrated."""
    squares = np.square(scores)
    if weights is None:
        return np.asarray(squares.reshape(scores.shape[0], -1).mean(axis=1))
    return np.asarray(squares.reshape(*scores.shape[:2], -1).mean(axis=2) @ (weights / weights.sum()))


def share_of_members(predictions: Predictions, squares: FloatArray) -> FloatArray:
    """The variance of ensembles as a share of that of their pools with outcomes whose scores have mean squares (B,).

    A pool of m members and an outcome of score z has, without the outcome, ``(m - z**2) / (m - 1)`` times its variance,
    both with their unbiased divisors: 1 on average if calibrated. 1 for all other predictions.
    """
    if not (isinstance(predictions.law, Pool) and has_spread(predictions)):
        return np.ones_like(squares)
    m = predictions.law.n_members - 1
    # Outcomes so far away that the difference is rounding count as nearer.
    return np.maximum(m - squares, FARTHEST) / (m - 1)


def has_spread(predictions: Predictions) -> bool:
    """Whether residuals can be too large or too small: both of two scenarios are equally far from their mean."""
    return not (isinstance(predictions.law, Scenarios) and predictions.law.n_members <= 2)


def in_predicted_units(sample: Sample) -> float:
    """A mean score of 1 in predicted standard deviations, which are those of the members for ensembles."""
    squares = mean_square(scores_of(sample.predictions, np.asarray(sample.targets)[None]))
    share = float(share_of_members(sample.predictions, squares)[0])
    return sqrt(sample.predictions.law.weight / share)


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


def _normal_scores(law: Predictions, targets: Array) -> FloatArray:
    """Normal quantiles of ``F(y)``, in the upper tail from ``1 - F(y)``, which has digits there."""
    from scipy.special import ndtri

    levels = law.cdf(targets)
    z = np.asarray(ndtri(np.maximum(levels, SMALLEST)))
    far = np.nonzero(levels > 1.0 - UPPER)
    z[far] = -ndtri(np.maximum(law.take(far[-1]).survival(targets[far]), SMALLEST))
    return z
