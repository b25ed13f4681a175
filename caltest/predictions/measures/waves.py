"""Kernels of a difference summed over points of the line as scalar products of sums of waves."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, pi, sqrt

import numpy as np

from caltest._basics.numerics import FloatArray, ranges, read_only
from caltest._loops.pair_sums import waves
from caltest.kernels.radial import RadialKernel

PERIOD_BEYOND = 9.0
"""A sum of waves repeats the Gaussian function; so far from it, it is below 3e-18."""

LAST_FREQUENCY = 8.6
"""Waves of higher frequencies have weights that sum to 8e-18."""

FADING = 2.2
"""Radians from one point to the next from which on a wave fades, up to twice that."""

IN_CACHE = 2**15
"""Numbers in sums of waves that are added to at once."""


@dataclass(frozen=True, eq=False)
class Waves:
    """A function of the difference of points of an interval as a sum of products of waves.

    A function of period L is ``sum_f c_f cos(f s x)``, s = 2 pi / L, and cos(f s (x - y)) is
    cos(f s x) cos(f s y) + sin(f s x) sin(f s y).
    """

    centre: float
    """Of the interval."""
    step: float
    """The frequency s, in radians."""
    heights: FloatArray
    """The coefficients c_f, (F,)."""

    @property
    def size(self) -> int:
        """Number F of frequencies."""
        return int(self.heights.size)

    def weighted(self, sums: FloatArray) -> FloatArray:
        """Sums of waves (..., 2F) times the coefficients, whose scalar products with others are sums of kernels."""
        return sums * np.tile(self.heights, 2)

    def mixture_sums(self, rows: FloatArray, weights: FloatArray, targets: FloatArray) -> FloatArray:
        """``sum_ij w_ij E k(Z_i, y_bj)`` for sums of waves (r, 2F), weights (r, c) and targets (B, c): (B,)."""
        mixtures = self.weighted(rows).T @ weights
        phases = self._phases(targets)
        out = np.empty(targets.shape[0])
        waves.values_of_waves(np.cos(phases), np.sin(phases), mixtures, np.empty((3, phases.shape[1])), out)
        return out

    def _phases(self, points: FloatArray) -> FloatArray:
        return np.asarray(self.step * (points - self.centre))

    def of(self, points: FloatArray, weights: FloatArray, gaps: FloatArray | float = 0.0) -> FloatArray:
        """Sums of cosines and of sines over points (..., n, m) with weights that broadcast to them, (..., n, 2F).

        Points that stand for all numbers between their neighbours, at distances (..., n, m), have no part in waves that
        are shorter: these cancel between them.
        """
        shape, m = points.shape[:-1], points.shape[-1]
        fades = np.broadcast_to(self.step / FADING * np.asarray(gaps), points.shape).reshape(-1, m).T
        phases, weights = (
            one.reshape(-1, m).T for one in (self._phases(points), np.broadcast_to(weights, points.shape))
        )
        sums = np.empty((phases.shape[1], 2 * self.size))
        for part in ranges(len(sums), max(8, IN_CACHE // self.size)):
            out = np.zeros((2 * self.size, part.stop - part.start))
            some = np.ascontiguousarray(phases[:, part])
            share, fade = (read_only(one[:, part], np.float64) for one in (weights, fades))
            waves.wave_sums(np.cos(some), np.sin(some), share, fade, np.empty((2, out.shape[1])), out)
            sums[part] = out.T
        return sums.reshape(*shape, sums.shape[1])


def gaussian_waves(factor: float, most: float, *points: FloatArray) -> Waves | None:
    """``exp(-(factor (x - y))**2 / 2)`` to 1e-15 for the interval of some points; None for more than ``most`` waves.

    By Poisson's formula ``sum_l g(x + 2 pi l / s)``, g(x) = exp(-x**2 / 2), is ``s / (2 pi)**0.5 sum_f g(f) cos(f x)``
    over all multiples f of s. For a small step s only l = 0 counts, and only few f do.
    """
    low, high = min(float(one.min()) for one in points), max(float(one.max()) for one in points)
    step = max(2.0 * pi / (factor * (high - low) + PERIOD_BEYOND), 1e-300)
    size = int(LAST_FREQUENCY / step) + 1
    if size > most:
        return None
    heights = step * sqrt(2.0 / pi) * np.exp(-0.5 * (step * np.arange(size)) ** 2)
    heights[0] *= 0.5
    return Waves(low / 2.0 + high / 2.0, step * factor, heights)


MOST = 4096
"""Frequencies at most."""

FINER = 16
"""Points at which a kernel is computed, for each of so many frequencies."""

BIAS, NOISE = 1e-6, 1e-8
"""Of the waves that are left out: their share in the mean of h, and in its variance, at most."""

TOLERATED = 10.0
"""So many times these shares are left out where less takes too many waves."""

NEGLIGIBLE = 1e-12
"""A kernel below it is taken as 0 around a period."""

FAR = np.logspace(-3.0, 12.0, 601)
"""Distances in bandwidths at which the reach of a kernel is looked for."""

Power = Callable[[FloatArray], FloatArray]
"""Mean over predictions of ``|E exp(i w Z)|**2`` at frequencies w."""


def reach(kernel: RadialKernel, value: float) -> float:
    """The distance from which on a kernel is at most a value; infinite if it is so nowhere."""
    distances = FAR * kernel.width
    below = kernel.of_distance(distances.copy()) <= value
    return float(distances[np.argmax(below)]) if below[-1] else inf


def radial_waves(kernel: RadialKernel, low: float, high: float, power: Power, most: int) -> Waves | None:
    """The waves of a kernel that predictions on an interval tell apart; None if these are more than ``most``.

    The period is twice the interval, so that no two points are closer around it than within it, or the interval and the
    reach of the kernel, whichever takes less waves: in the middle of the first the series has a kink, which costs
    nothing more if the kernel has one, and the second can be much longer.
    """
    size = max(high - low, 1e-3 * kernel.width)
    periods = 2.0 * size, size + min(reach(kernel, NEGLIGIBLE), 1e3 * size)
    choices = [_series(kernel, low / 2.0 + high / 2.0, period, power, most) for period in periods]
    return min((one for one in choices if one is not None), key=lambda one: one.size, default=None)


def _series(kernel: RadialKernel, centre: float, period: float, power: Power, most: int) -> Waves | None:
    step, n = 2.0 * pi / period, FINER * MOST
    values = kernel.of_distance(np.linspace(0.0, period / 2.0, n + 1))
    # The cosine series of an even function on a circle of 2 n points.
    heights = np.fft.irfft(values)[: n + 1] * 2.0
    heights[0] *= 0.5
    places = np.unique(np.round(np.geomspace(1.0, n, 400)))
    powers = np.interp(np.log(np.arange(1, n + 1)), np.log(places), power(step * places))
    if _needed(np.abs(heights[1:]), powers, TOLERATED) > most:
        return None
    size = min(_needed(np.abs(heights[1:]), powers, 1.0), most)
    return Waves(centre, step, heights[:size])


def _needed(heights: FloatArray, powers: FloatArray, tolerated: float) -> int:
    """How many frequencies, with 0, leave out at most shares of ``sum_f (c_f (1 - P_f))**a``, a = 1 and 2."""
    needed = 1
    for exponent, share in ((1, BIAS), (2, NOISE)):
        left_out = np.cumsum((heights**exponent * powers)[::-1])[::-1]
        total = float(np.sum((heights * (1.0 - powers)) ** exponent))
        needed = max(needed, 1 + int(np.count_nonzero(left_out > tolerated**exponent * share * total)))
    return needed
