"""Where faults can be: signs and cosines over predictions, and these in words."""

from collections.abc import Callable
from dataclasses import dataclass
from math import pi, sqrt

import numpy as np

from caltest._basics.numerics import BoolArray, FloatArray


def varies(feature: FloatArray) -> bool:
    """Whether a feature (n,) of the predictions is finite and differs by more than rounding."""
    if not np.isfinite(feature).all():
        return False
    return bool(np.ptp(feature) > 1e-12 * np.abs(feature).max())


def ranks(feature: FloatArray, sizes: FloatArray | None = None, among: FloatArray | None = None) -> FloatArray:
    """Average ranks of a feature (n,), in (0, 1); equal ones share a value, and each stands for some observations.

    Or ranks among those of other predictions, which do not depend on the rest of the feature.
    """
    if among is not None:
        ordered = np.sort(among)
        below, up_to = (np.searchsorted(ordered, feature, side=side) for side in ("left", "right"))
        return np.asarray((below + up_to) / (2.0 * among.size))
    _, places = np.unique(feature, return_inverse=True)
    counts = np.bincount(places, sizes)
    return np.asarray((np.cumsum(counts) - counts / 2.0)[places] / counts.sum())


def cosines(
    feature: FloatArray, number: int, sizes: FloatArray | None = None, among: FloatArray | None = None
) -> FloatArray:
    """``sqrt(2) cos(pi j r)`` of the ranks r for j = 1, ..., number, (number, n); 0 if the feature does not vary."""
    if not varies(feature if among is None else among):
        return np.zeros((number, feature.size))
    return cosines_of_ranks(ranks(feature, sizes, among), number)


def cosines_of_ranks(r: FloatArray, number: int) -> FloatArray:
    """``sqrt(2) cos(pi j r)`` for j = 1, ..., number, (number, n)."""
    return np.asarray(sqrt(2.0) * np.cos(pi * np.arange(1, number + 1)[:, None] * r))


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


def half_periods(r: FloatArray, j: int) -> list[BoolArray]:
    """Where ``cos(pi j r)`` of ranks r (n,) has one sign: it changes at odd multiples of its quarter period."""
    parts = np.floor(r * j + 0.5)
    return [parts == part for part in np.unique(parts)]


@dataclass(frozen=True)
class Wave(Pattern):
    """A cosine of the ranks of a feature, which is named, and the predictions of each half period with their range."""

    parts: tuple[tuple[BoolArray, str], ...] = ()

    def in_places(self, sizes: Callable[[BoolArray], str], before: str, unit: str) -> str:
        """Words of the sizes of the half periods that have some, with their place; the first has words beside it."""
        found = [(size, where) for some, where in self.parts if (size := sizes(some))]
        said = [f"{size} where they are {where}" for size, where in found[1:]]
        said[:0] = [f"{before}{size} {unit} where {self.above} are {where}" for size, where in found[:1]]
        return f": {', '.join(said)}" if said else ""


def waves(feature: FloatArray, name: str, number: int) -> list[Wave]:
    """Cosines of j = 2, ..., number half periods, which halves of the predictions do not show."""
    if not varies(feature):
        return []
    r, found = ranks(feature), []
    for j, signs in enumerate(cosines_of_ranks(r, number)[1:], start=2):
        parts = [(some, f"from {feature[some].min():.3g} to {feature[some].max():.3g}") for some in half_periods(r, j)]
        found.append(Wave(signs, name, parts=tuple(parts)))
    return found
