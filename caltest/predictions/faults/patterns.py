"""Patterns of predictions that faults change: halves, ends, and lines that begin at a knot."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from caltest._basics.numerics import BoolArray, FloatArray
from caltest.predictions.faults.fault import Fault, S, ranks, varies
from caltest.predictions.faults.words import about, told_apart


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
    cut = float(feature[~upper].max())
    _, said, _ = told_apart(float(feature.min()), cut, float(feature.max()))
    above, below = f"where {name} are above {said}", f"where {name} are at most {said}"
    both = Pattern(np.where(upper, 1.0, -1.0), above, below)
    return [both, Pattern(np.where(upper, 1.0, 0.0), above), Pattern(np.where(upper, 0.0, -1.0), "", below)]


LEAST_TIED = 0.05
"""Share of the predictions that are the largest one, or the smallest, as where they are cut off."""

KNOTS, NEARBY = tuple(np.linspace(0.025, 0.975, 39).tolist()), 6
"""Levels of predictions from which on, or up to which, lines over them can have another slope; and to how many levels
on either side an interval of the slope allows for others."""


def ends(feature: FloatArray, name: str) -> list[Pattern]:
    """Where many predictions have the largest value, and where they have the smallest: at most two patterns."""
    if not varies(feature):
        return []
    found = [(feature == end, word) for end, word in ((feature.max(), "largest"), (feature.min(), "smallest"))]
    return [
        Pattern(np.where(at, 1.0, 0.0), f"where {name} are {about(float(feature[at][0]), 3)}, the {word}")
        for at, word in found
        if at.mean() >= LEAST_TIED
    ]


@dataclass(frozen=True)
class Bend(Pattern):
    """A line over a feature that begins at a knot, and which end of the feature it goes to, in words with the knot."""

    end: str = field(kw_only=True)
    knot: str = field(kw_only=True)


def bends(feature: FloatArray, name: str, line: FloatArray | None = None) -> list[Bend]:
    """Lines over a feature (n,) above each of some knots, and below each: of one that rises with it.

    By default of its ranks, up to 1 at the end.
    """
    if not varies(feature):
        return []
    found, of_ranks = [], line is None
    line = ranks(feature) if line is None else line
    for knot in np.unique(np.quantile(feature, KNOTS, method="lower")).tolist():
        _, said, _ = told_apart(float(feature.min()), knot, float(feature.max()))
        middle = float(line[feature == knot][0])
        above, below = np.maximum(line - middle, 0.0), np.minimum(line - middle, 0.0)
        for signs, end, side in ((above, "largest", "above"), (below, "smallest", "at most")):
            if (signs != 0.0).mean() >= LEAST_TIED:
                signs = np.abs(signs) / np.abs(signs).max() if of_ranks else signs
                found.append(Bend(signs, f"where {name} are {side} {said}", end=f"{name} are {end}", knot=said))
    return found


def promise_of_bends(places: Sequence[Pattern], errors: FloatArray, weights: FloatArray) -> FloatArray:
    """Squares of the scores of errors (n,) of variance 1 along each line, over their variances."""
    lines = np.stack([one.signs for one in places])
    return np.asarray(np.square(lines @ (weights * errors)) / np.maximum(np.square(lines) @ np.square(weights), 1e-300))


def half_periods(r: FloatArray, j: int) -> list[BoolArray]:
    """Where ``cos(pi j r)`` of ranks r (n,) has one sign: it changes at odd multiples of its quarter period."""
    parts = np.floor(r * j + 0.5)
    return [parts == part for part in np.unique(parts)]


class OfPatterns(Fault[S]):
    """A fault with a sibling for each of some patterns of predictions; that of some of them is another kind."""

    def __init__(self, patterns: Sequence[Pattern], kind: str = "") -> None:
        self.patterns, self.n_siblings, self.kind = patterns, len(patterns), kind or self.kind
        is_local = "local " in self.kind or "wave of " in self.kind
        self.scope = "wave" if self.kind.startswith("fast ") else "places" if is_local else "all"

    def size(self, seen: S, sibling: int, t: float) -> float:
        """That of the place that is named."""
        return super().size(seen, sibling, self.patterns[sibling].sign * t)

    def place(self, sibling: int) -> str:
        return self.patterns[sibling].where.strip().removeprefix("in ")


class OfBends(OfPatterns[S]):
    """A fault along lines that begin at a knot."""

    patterns: Sequence[Bend]

    def rivals(self, sibling: int) -> Sequence[int]:
        """Lines to the same end from knots nearby."""
        nearby = range(max(sibling - 2 * NEARBY, 0), min(sibling + 2 * NEARBY + 1, self.n_siblings))
        return [one for one in nearby if self.patterns[one].end == self.patterns[sibling].end]
