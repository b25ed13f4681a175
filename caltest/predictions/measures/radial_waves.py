"""Waves of any kernel that is a function of a distance, as many as smooth distributions can tell apart."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, pi

import numpy as np

from caltest._basics.types import FloatArray
from caltest.kernels.radial import RadialKernel
from caltest.predictions.measures.waves import Waves

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


@dataclass(frozen=True, eq=False)
class RadialWaves(Waves):
    """A kernel of a distance on an interval, as the Fourier series of its even periodic continuation."""

    coefficients: FloatArray

    def heights(self) -> FloatArray:
        return self.coefficients


def reach(kernel: RadialKernel, value: float) -> float:
    """The distance from which on a kernel is at most a value; infinite if it is so nowhere."""
    distances = FAR * kernel.width
    below = kernel.of_distance(distances.copy()) <= value
    return float(distances[np.argmax(below)]) if below[-1] else inf


def radial_waves(kernel: RadialKernel, low: float, high: float, power: Power, most: int) -> RadialWaves | None:
    """The waves of a kernel that predictions on an interval tell apart; None if these are more than ``most``.

    The period is twice the interval, so that no two points are closer around it than within it, or the interval and the
    reach of the kernel, whichever takes less waves: in the middle of the first the series has a kink, which costs
    nothing more if the kernel has one, and the second can be much longer.
    """
    size = max(high - low, 1e-3 * kernel.width)
    periods = 2.0 * size, size + min(reach(kernel, NEGLIGIBLE), 1e3 * size)
    choices = [_series(kernel, low / 2.0 + high / 2.0, period, power, most) for period in periods]
    return min((one for one in choices if one is not None), key=lambda one: one.size, default=None)


def _series(kernel: RadialKernel, centre: float, period: float, power: Power, most: int) -> RadialWaves | None:
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
    return RadialWaves(centre, step, size, heights[:size])


def _needed(heights: FloatArray, powers: FloatArray, tolerated: float) -> int:
    """How many frequencies, with 0, leave out at most shares of ``sum_f (c_f (1 - P_f))**a``, a = 1 and 2."""
    needed = 1
    for exponent, share in ((1, BIAS), (2, NOISE)):
        left_out = np.cumsum((heights**exponent * powers)[::-1])[::-1]
        total = float(np.sum((heights * (1.0 - powers)) ** exponent))
        needed = max(needed, 1 + int(np.count_nonzero(left_out > tolerated**exponent * share * total)))
    return needed
