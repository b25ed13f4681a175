"""Functions of predictions that say where a fault is."""

from dataclasses import dataclass
from math import pi, sqrt

import numpy as np

from caltest._basics.types import FloatArray


def varies(feature: FloatArray) -> bool:
    """Whether a feature (n,) of the predictions is finite and differs by more than rounding."""
    if not np.isfinite(feature).all():
        return False
    return bool(np.ptp(feature) > 1e-12 * np.abs(feature).max())


def ranks(feature: FloatArray) -> FloatArray:
    """Average ranks of a feature (n,), in (0, 1); equal ones share a value."""
    _, places, counts = np.unique(feature, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - counts / 2.0)[places] / feature.size)


def cosines(feature: FloatArray, number: int) -> FloatArray:
    """``sqrt(2) cos(pi j r)`` of the ranks r for j = 1, ..., number, (number, n); 0 if the feature does not vary."""
    if not varies(feature):
        return np.zeros((number, feature.size))
    frequencies = np.arange(1, number + 1)[:, None]
    return np.asarray(sqrt(2.0) * np.cos(pi * frequencies * ranks(feature)))


@dataclass(frozen=True)
class Pattern:
    """Signs (n,), 0 where nothing is changed, and what the predictions of each sign have in common, in words."""

    signs: FloatArray
    above: str = ""
    below: str = ""

    @property
    def where(self) -> str:
        """The place in words, after a space; empty for everywhere."""
        place = self.above or self.below
        return f" {place}" if place else ""

    @property
    def sign(self) -> float:
        """Of the place that is named."""
        return -1.0 if self.below and not self.above else 1.0

    def direction(self, t: float, up: str, down: str) -> str:
        """One of two words, for t at the place that is named."""
        return up if self.sign * t > 0.0 else down

    def opposite(self, words: str) -> str:
        """Words on the rest of the predictions, if these are changed too."""
        return f", and {words}" if self.above and self.below else ""


def halves(feature: FloatArray, name: str) -> list[Pattern]:
    """The upper half against the lower one, each alone: three patterns, or none where the feature does not vary."""
    if not varies(feature):
        return []
    upper = ranks(feature) > 0.5
    if upper.all() or not upper.any():
        return []
    cut = float(feature[~upper].max())
    above, below = f"where {name} are above {cut:.3g}", f"where {name} are at most {cut:.3g}"
    both = Pattern(np.where(upper, 1.0, -1.0), above, below)
    return [both, Pattern(np.where(upper, 1.0, 0.0), above), Pattern(np.where(upper, 0.0, -1.0), "", below)]
