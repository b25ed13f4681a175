"""Where a log likelihood of one size is largest, and how far from there it has lost a share.

Likelihoods of faults have one maximum, so that they are looked at uphill.
"""

from collections.abc import Callable
from functools import cache
from math import copysign, isfinite, sqrt

import numpy as np
import scipy

from caltest._basics.numerics import FloatArray

Likelihood = Callable[[float], float]

GRID = 13
UNITS = np.linspace(-1.0, 1.0, GRID)
"""Sizes at which a likelihood is looked at before its maximum is searched, from -1 to 1."""

PRECISION = 1e-4
"""Of the most likely size, as a share of the distance of the neighbours that it lies between."""

STEPS, NEARBY = 12, 0.01
"""Parabolas, of which a few are enough for what is nearly one; and the share of what lies beyond an end of the sizes
where it is looked at."""

DROP, STEEP = 1.9207, 50.0
"""What the log likelihood loses at the ends of an interval of 95 %, half the quantile of chi-squared; and losses
beyond which no more is asked of them when such an end is searched."""


def asked_once(function: Likelihood) -> Likelihood:
    """A function that is far below 0 where it is not finite, and asked once for each number."""

    @cache
    def log_ratio(t: float) -> float:
        value = function(t)
        return value if isfinite(value) else -1e300

    return log_ratio


def best_of_grid(log_ratio: Likelihood, low: float, high: float) -> tuple[float, tuple[float, float]]:
    """The best size of a grid, or where a parabola through it and its neighbours is highest; and these neighbours."""
    grid = _grid(low, high)
    i = _highest(lambda place: log_ratio(float(grid[place])), int(np.argmin(np.abs(grid))))
    low, t, high = (float(grid[j]) for j in (max(i - 1, 0), i, min(i + 1, GRID - 1)))
    top = _top(log_ratio, low, t, high)
    return top if top is not None and log_ratio(top) > log_ratio(t) else t, (low, high)


def _grid(low: float, high: float) -> FloatArray:
    """Sizes between the ends, denser near 0 if that is inside: small faults of many rows are clear, too."""
    if not low < 0.0 < high:
        return np.asarray(low + (high - low) * (1.0 + UNITS) / 2.0)
    return np.asarray(np.where(UNITS < 0.0, -low, high) * UNITS * np.abs(UNITS))


def _highest(height: Callable[[int], float], place: int) -> int:
    """The place of the maximum among those of the grid, reached uphill from one of them."""
    for step in (1, -1):
        while 0 <= place + step < GRID and height(place + step) > height(place):
            place += step
    return place


def _top(log_ratio: Likelihood, low: float, t: float, high: float) -> float | None:
    """Where a parabola through three points is highest, None if it is not between the outer ones."""
    if not low < t < high:
        return None
    value = log_ratio(t)
    rise, fall = (log_ratio(low) - value) / (low - t), (log_ratio(high) - value) / (high - t)
    if not rise > fall:
        return None
    top = t + (rise * (high - t) - fall * (low - t)) / (2.0 * (rise - fall))
    return top if low < top < high else None


def best_between(log_ratio: Likelihood, t: float, neighbours: tuple[float, float]) -> float:
    """The most likely size between neighbours of a good one, to a ten thousandth of their distance.

    By parabolas through the best size and the ends of what may hold a better one, which move in; golden sections where
    these take long.
    """
    low, high = neighbours
    width = PRECISION * (high - low)
    for _ in range(STEPS):
        if high - low <= width:
            return t
        top = _top(log_ratio, low, t, high)
        if top is None or abs(top - t) < width / 3.0:
            # Whether the wider side holds a better one is seen next to the best, or at an end nearby.
            wide = high - t if high - t > t - low else low - t
            top = t + copysign(max(width / 3.0, 0.0 if low < t < high else NEARBY * abs(wide)), wide)
        if log_ratio(top) > log_ratio(t):
            low, t, high = (low, top, t) if top < t else (t, top, high)
        else:
            low, high = (top, high) if top < t else (low, top)
    found = scipy.optimize.minimize_scalar(
        lambda size: -log_ratio(size), bounds=(low, high), method="bounded", options={"xatol": width}
    )
    return max(t, float(found.x), key=log_ratio)


def end_of_interval(log_ratio: Likelihood, t: float, end: float) -> tuple[float, bool]:
    """Where the likelihood has lost ``DROP`` on the way to an end, or the end, and whether it is that.

    The root of what is lost is nearly a line.
    """
    most = log_ratio(t)

    def beyond(size: float) -> float:
        return sqrt(min(max(most - log_ratio(size), 0.0), STEEP)) - sqrt(DROP)

    if beyond(end) <= 0.0:
        return end, True
    found = scipy.optimize.brentq(beyond, t, end, xtol=1e-6 * abs(end - t), rtol=1e-6, disp=False)
    return float(found), False
