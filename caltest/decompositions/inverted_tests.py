"""Intervals from Monte Carlo tests along lines of probabilities."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from caltest._basics.types import FloatArray

COARSE = (0.0, 0.1, 0.25, 0.5, 1.0)
"""Places on each line where outcomes are redrawn."""

ROUNDS = 2
"""How often they are redrawn at the ends found so far."""

FINE = 33
"""Places on each line at which the quantity is computed."""

TOLERANCE = 1e-10
"""Of ties between the estimate and redraws."""


@dataclass(frozen=True, eq=False)
class Polyline:
    """Lines between arrays of probabilities of one shape, one after the other; place t + u is u from corner t."""

    corners: tuple[FloatArray, ...]

    @property
    def length(self) -> float:
        """The last place."""
        return float(len(self.corners) - 1)

    def at(self, place: float) -> FloatArray:
        """The probabilities there."""
        t = min(int(place), len(self.corners) - 2)
        return np.asarray(self.corners[t] + (place - t) * (self.corners[t + 1] - self.corners[t]))


class Ends(NamedTuple):
    """Ends of an interval, and the value of which redraws are as often above the estimate as below."""

    low: float
    high: float
    middle: float


def inverted(
    line: Polyline,
    value: Callable[[FloatArray], float],
    draws: Callable[[FloatArray], FloatArray],
    estimate: float,
    level: float,
) -> Ends:
    """The values on a line along which a quantity grows that two-sided tests with this estimate do not reject.

    ``draws(law)`` are estimates from outcomes redrawn from the law of a place, where the quantity is ``value(law)``.
    How far their quantiles are from it is interpolated between the places at which they were redrawn, which come to
    include the ends. An estimate that is smaller than chance gives at the start of the line counts as the median there,
    as else it would reject all values, and one that is larger than at its end likewise.
    """
    tails = np.array([(1.0 - level) / 2.0, 0.5, (1.0 + level) / 2.0])
    fine = np.unique(np.concatenate([t + np.linspace(0.0, 1.0, FINE) for t in range(int(line.length))]))
    values = np.array([value(line.at(t)) for t in fine])
    found: dict[float, FloatArray] = {}

    def redraw(place: float) -> FloatArray:
        if place not in found:
            law = line.at(place)
            found[place] = _quantiles(draws(law), tails) - value(law)
        return found[place]

    largest = max(estimate, values[0] + redraw(0.0)[1])
    for place in (t + step for t in range(int(line.length)) for step in COARSE):
        if values[fine <= place].max() + redraw(place)[0] > largest + TOLERANCE:
            break
    smallest = min(estimate, values[-1] + found[line.length][1]) if line.length in found else estimate
    low, middle, high = _places(fine, values, found, smallest, estimate, largest)
    for _ in range(ROUNDS):
        for place in (low, middle, high):
            redraw(place)
        low, middle, high = _places(fine, values, found, smallest, estimate, largest)
    inside = np.interp([low, high, middle, *fine[(fine > low) & (fine < high)]], fine, values)
    return Ends(float(inside.min()), float(inside.max()), float(inside[2]))


def _quantiles(draws: FloatArray, tails: FloatArray) -> FloatArray:
    """Quantiles that are draws, none of them inside the one asked for."""
    low, middle, high = (float(tail) for tail in tails)
    below = np.quantile(draws, low, method="lower")
    above = np.quantile(draws, high, method="higher")
    return np.array([below, np.quantile(draws, middle), above])


def _places(
    fine: FloatArray,
    values: FloatArray,
    found: dict[float, FloatArray],
    smallest: float,
    estimate: float,
    largest: float,
) -> tuple[float, float, float]:
    """The first place of which redraws reach up to an estimate, one of which it is the median, and the last."""
    places = np.array(sorted(found))
    reached = fine[fine <= places[-1]]
    below, median, above = (np.interp(reached, places, [found[t][side] for t in places]) for side in range(3))
    at = values[: reached.size]
    first = _crossing(reached, at + above - smallest + TOLERANCE)
    last = -_crossing(-reached[::-1], (largest + TOLERANCE - at - below)[::-1])
    last = max(first, last)
    return first, min(last, max(first, _crossing(reached, at + median - estimate))), last


def _crossing(places: FloatArray, margins: FloatArray) -> float:
    """The first place at which a margin is not negative; the last place if there is none."""
    enough = np.flatnonzero(margins >= 0.0)
    i = int(enough[0]) if enough.size else places.size - 1
    if i == 0 or not enough.size:
        return float(places[i])
    return float(places[i - 1] + (places[i] - places[i - 1]) * margins[i - 1] / (margins[i - 1] - margins[i]))
