"""Waves of the ranks of a feature, which errors can follow."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from math import pi, sqrt
from typing import TypeVar

import numpy as np

from caltest._basics.numerics import Array, BoolArray, FloatArray
from caltest.predictions.faults.fault import cosines_of_ranks, ranks, varies
from caltest.predictions.faults.patterns import Pattern, half_periods
from caltest.predictions.faults.words import about, told_apart

SLOW, FASTEST = 3, 24
"""Half periods of waves over the ranks of a feature: up to these all are rows beside a line, and the fastest ones."""

WEIGHT_OF_WAVES = 0.5
"""That of rows of fast waves."""

ROWS_OF_A_PERIOD = 20.0
"""Observations of a period at least, so that a wave is no single outcome."""

PLACES_OF_RANKS = 512
"""Groups of ranks among which phases of waves are looked for."""

CLEAR, PLACES = 2.0, 4
"""Standard errors that a half period of a wave is off at least to be named, and how many neighbours are."""

T = TypeVar("T")


def clearest(places: Sequence[tuple[float, T]]) -> tuple[list[T], str]:
    """What is said of the neighbours that are off most clearly, by so many standard errors, and words for the others.

    They stand next to each other, so that these change their sign as the wave does.
    """
    clear = [one for one in places if one[0] > CLEAR]
    starts = range(max(1, len(clear) - PLACES + 1))
    first = max(starts, key=lambda start: sum(z for z, _ in clear[start : start + PLACES]))
    named = [said for _, said in clear[first : first + PLACES]]
    left = len(clear) - len(named)
    return named, f", and so on in {left} other place{'s' if left > 1 else ''}" if left else ""


@dataclass(frozen=True)
class Wave(Pattern):
    """A cosine of the ranks of a feature, which is named, and in how many half periods they are."""

    feature: FloatArray = field(kw_only=True)
    periods: FloatArray = field(kw_only=True)

    @cached_property
    def parts(self) -> list[tuple[BoolArray, str]]:
        """The predictions of each half period with the range of the feature; of most waves nobody asks for them."""
        return [(some, _from_to(self.feature[some])) for some in half_periods(self.periods, 1)]

    def in_places(
        self,
        excess: FloatArray,
        expected: FloatArray,
        deviation: FloatArray,
        text: Callable[[float], str],
        unit: str,
        before: str = "",
    ) -> str:
        """Words of what sums of half periods exceed what is expected by, as a share of it, with their place.

        Excess, expected value and standard deviation are those of each prediction, (n,). The first has words beside it.
        """
        places = []
        for some, where in self.parts:
            more, error = float(excess[some].sum()), float(np.linalg.norm(deviation[some]))
            size = text(more / max(float(expected[some].sum()), 1e-300))
            places.append((abs(more) / max(error, 1e-300), (size, where)))
        found, others = clearest(places)
        said = [f"{size} where they are {where}" for size, where in found[1:]]
        said[:0] = [f"{before}{size} {unit} where {self.above} are {where}" for size, where in found[:1]]
        return f": {', '.join(said)}{others}" if said else ""


def shifts_in_places(
    wave: Wave, errors: FloatArray, weights: FloatArray, unit: str, moved_by: Callable[[float], float] = float
) -> str:
    """Words of the means of errors (n,), in some unit, in the places of a wave."""

    def text(mean: float) -> str:
        return f"{'+' if mean > 0.0 else ''}{about(moved_by(mean))}"

    return wave.in_places(weights * errors, weights, weights, text, unit)


def scales_in_places(wave: Wave, errors: FloatArray, weights: FloatArray) -> str:
    """Words of the root mean squares of standardised errors (n,) in the places of a wave."""
    excess, unit = weights * (np.square(errors) - 1.0), "times as large as predicted"
    return wave.in_places(excess, weights, sqrt(2.0) * weights, root_in_words, unit, "errors are ")


def root_in_words(excess: float) -> str:
    """The root of a mean square that exceeds 1 by so much."""
    return about(sqrt(max(1.0 + excess, 0.0)))


def waves(feature: FloatArray, name: str, number: int) -> list[Wave]:
    """Cosines of j = 2, ..., number half periods, which halves of the predictions do not show."""
    if not varies(feature):
        return []
    r = ranks(feature)
    lines = enumerate(cosines_of_ranks(r, number)[1:], start=2)
    return [Wave(signs, name, feature=feature, periods=r * j) for j, signs in lines]


def following(errors: FloatArray, feature: FloatArray, name: str, first: int) -> list[Wave]:
    """For each row of weighted errors (q, n) the wave of first to 24 half periods, of any phase, that it follows most.

    None where the feature does not vary, and of so few observations that a period would have less than 20, or so many
    that are equal that half a period would have no others.
    """
    most = int(np.unique(feature, return_counts=True)[1].max())
    last = min(FASTEST, int(2.0 * feature.size / ROWS_OF_A_PERIOD), feature.size // most)
    if not varies(feature) or last < first:
        return []
    r = ranks(feature)
    # Of ranks in groups that are small beside the shortest half period, which is enough to choose.
    groups = (r * PLACES_OF_RANKS).astype(np.intp)
    by_group = np.array([np.bincount(groups, one, PLACES_OF_RANKS) for one in errors])
    sums = _all_speeds()[first - 1 : last] @ by_group.T
    found = []
    for best, own in zip(np.abs(sums).argmax(axis=0), sums.T, strict=True):
        angle = pi * (first + best) * r - np.angle(own[best])
        found.append(Wave(sqrt(2.0) * np.cos(angle), name, feature=feature, periods=angle / pi))
    return found


@cache
def _all_speeds() -> Array:
    """``exp(i pi j r)`` for the ranks r in the middle of the groups and j = 1, ..., 24."""
    middles = (np.arange(PLACES_OF_RANKS) + 0.5) / PLACES_OF_RANKS
    return np.asarray(np.exp(1j * pi * np.outer(np.arange(1, FASTEST + 1), middles)))


def choices(waves: Sequence[Wave], weights: FloatArray) -> float:
    """How many waves there are to choose from, where a phase costs as much as another parameter."""
    return len(waves) * FASTEST * sqrt(max(float(weights.sum()), 1.0))


def _from_to(feature: FloatArray) -> str:
    """The range of a feature in words."""
    if np.ptp(feature) == 0.0:
        return about(float(feature[0]), 3)
    return "from {} to {}".format(*told_apart(float(feature.min()), float(feature.max())))
