"""Targets in units of what was predicted for them, for many redraws at once."""

from threading import local
from typing import TYPE_CHECKING

import numpy as np
import scipy

from caltest._basics.numerics import Array, FloatArray

if TYPE_CHECKING:
    from caltest.predictions.base import Predictions

LARGEST_SCORE = 1e140
"""Differences beyond this, in units of a scale, are taken as this: sums of squares of many of them are finite."""

FARTHEST = 1.2e-16
"""Levels this close to 0 or 1 are taken as this where only levels are known: beyond it 1 - u has no digits left."""

UPPER = 1e-3
"""Upper tail probabilities that are computed as such."""

FAR = 30.0
"""Standard deviations from the mean up to which a density is positive that is so everywhere."""

SMALLEST = 5e-324
"""Tail probabilities of 0 are taken as this, the score of which is 38."""


def in_units(differences: FloatArray, scales: FloatArray) -> FloatArray:
    """Differences in units of scales, finite however large they are; 0 where the scale is."""
    ratios = np.divide(differences, scales, out=np.zeros(np.shape(differences)), where=scales > 0.0)
    return np.clip(ratios, -LARGEST_SCORE, LARGEST_SCORE, out=ratios)


def mean_square(scores: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Mean square (B,) of all coordinates of scores (B, n) or (B, n, d): 1 on average if calibrated."""
    squares = np.square(scores)
    if weights is None:
        return np.asarray(squares.reshape(scores.shape[0], -1).mean(axis=1))
    return np.asarray(squares.reshape(*scores.shape[:2], -1).mean(axis=2) @ (weights / weights.sum()))


def own_units(law: "Predictions") -> tuple[FloatArray, FloatArray] | None:
    """Means and standard deviations (n,) of laws that can be moved and stretched without an end of their support.

    Or what these are of normal laws with the same quantiles at 16, 50 and 84 %, if moments are infinite. None for
    normal laws, whose standard scores are in these units, laws with an end, and those that are not continuous.
    """
    if law.normal is not None or not law.is_continuous:
        return None
    mean, deviation = _usual(law)
    with np.errstate(all="ignore"):
        ends = [law.log_density(mean + far * deviation) for far in (-FAR, FAR)]
    return (mean, deviation) if np.isfinite([*ends, deviation]).all() and (deviation > 0.0).all() else None


def spreads(law: "Predictions") -> FloatArray:
    """Standard deviations (n,), or those of normal laws with the same quantiles at 16 and 84 % if these are unknown."""
    return _usual(law)[1].reshape(len(law))


def _usual(law: "Predictions") -> tuple[FloatArray, FloatArray]:
    try:
        mean, variance = law.moments()
    except TypeError:
        low, middle, high = law.quantile(scipy.special.ndtr([[-1.0], [0.0], [1.0]]))
        return middle, 0.5 * (high - low)
    return mean, np.sqrt(variance)


_latest = local()


def scores_of(law: "Predictions", targets: Array) -> FloatArray:
    """The standard scores of targets (B, n) or (B, n, d), not to be changed; a thread keeps the latest ones."""
    if getattr(_latest, "law", None) is not law or _latest.targets is not targets:
        _latest.law, _latest.targets, _latest.scores = law, targets, law.standard_scores(targets)
    kept: FloatArray = _latest.scores
    return kept
