"""Tail probabilities of weighted sums of chi-squared variables."""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf, isfinite, log, sqrt
from typing import Any, Self

import numpy as np

from caltest._basics.types import FloatArray

BEND = 0.3
"""How fast the path of integration leaves the vertical line: real parts over imaginary parts far out."""

FAR = 40.0
"""Minus the logarithm of the size, relative to the largest, of integrands that are left out."""

MOST_NODES = 2**12

AT_ONCE = 2**20
"""Logarithms that are computed together."""

ComplexArray = np.ndarray[Any, np.dtype[np.complex128]]


@dataclass(frozen=True, eq=False)
class ChiSquaredSum:
    """The law of ``Q = sum_r lambda_r (Z_r**2 - 1)`` with independent standard normal Z_r, of mean 0.

    Attributes
    ----------
    weights
        lambda, (r,), of any sign but 0.
    """

    weights: FloatArray

    @classmethod
    def of(cls, weights: FloatArray) -> Self:
        """The law without its weights of 0."""
        weights = np.asarray(weights, dtype=np.float64)
        return cls(weights[weights != 0.0])

    def times(self, factor: float) -> "ChiSquaredSum":
        """The law of a multiple of Q."""
        return ChiSquaredSum(factor * self.weights)

    @property
    def mean_of_squares(self) -> float:
        """``sum_r lambda_r``, the mean of Q without the ones that are subtracted."""
        return float(np.sum(self.weights))

    @property
    def variance(self) -> float:
        """``2 sum_r lambda_r**2``."""
        return float(2.0 * np.sum(self.weights**2))

    @property
    def limit(self) -> float:
        """The end of the interval from 0 on which the generating function is finite."""
        largest = float(self.weights.max(initial=0.0))
        return 0.5 / largest if largest > 0.0 else inf

    @property
    def supremum(self) -> float:
        """The largest value of Q."""
        return inf if self.weights.max(initial=0.0) > 0.0 else -self.mean_of_squares

    @property
    def infimum(self) -> float:
        """The smallest value of Q."""
        return -inf if self.weights.min(initial=0.0) < 0.0 else -self.mean_of_squares

    def log_generating_function(self, t: float) -> float:
        """``K(t) = log E exp(t Q) = -sum_r (log(1 - 2 lambda_r t) / 2 + lambda_r t)``."""
        return float(-np.sum(0.5 * np.log1p(-2.0 * self.weights * t) + self.weights * t))

    def slope(self, t: float) -> float:
        """``K'(t)``."""
        return float(np.sum(2.0 * self.weights**2 * t / (1.0 - 2.0 * self.weights * t)))

    def curvature(self, t: float) -> float:
        """``K''(t)``."""
        return float(np.sum(2.0 * (self.weights / (1.0 - 2.0 * self.weights * t)) ** 2))

    def at_complex(self, t: ComplexArray) -> ComplexArray:
        """``K(t)`` at complex points (N,), off the real axis."""
        values = np.empty(t.size, dtype=np.complex128)
        size = max(1, AT_ONCE // max(1, self.weights.size))
        for start in range(0, t.size, size):
            part = t[start : start + size, None] * self.weights
            values[start : start + size] = -np.sum(0.5 * np.log(1.0 - 2.0 * part) + part, axis=1)
        return values


def tail_probability(law: ChiSquaredSum, x: float) -> float:
    """``P(Q >= x)`` by numerical inversion of the generating function, to about ten digits at any size.

    A law without weights is a constant, 0.
    """
    if law.weights.size == 0:
        return float(x <= 0.0)
    # In units of the largest weight, the square of which is neither 0 nor infinite.
    unit = float(np.abs(law.weights).max())
    law, x = law.times(1.0 / unit), x / unit
    if x >= law.supremum:
        return 0.0
    if x <= law.infimum:
        return 1.0
    scale = 1.0 / sqrt(law.variance)
    return inverted_tail(law.times(scale), x * scale)


def inverted_tail(law: ChiSquaredSum, x: float) -> float:
    """``P(Q >= x) = 1 / (2 pi i) int exp(K(t) - t x) / t dt`` along a hyperbola that crosses the axis at a saddlepoint.

    The path ``t = a + s (i sinh v + c (cosh v - 1))`` starts at the point a > 0 at which the integrand is smallest on
    the axis, of width s, and bends away from the side on which ``exp(-t x)`` grows. There the integrand vanishes
    faster than exponentially, so the trapezoidal rule converges geometrically, whatever the number of weights, and the
    error is relative: sums of terms no larger than the result. (Imhof 1961 and Davies 1980 integrate along the
    imaginary axis, with an absolute error.)
    """
    a = crossing(lambda t: law.slope(t) - x - 1.0 / t, law.limit)
    width = 1.0 / sqrt(law.curvature(a) + a**-2)
    start = law.log_generating_function(a) - a * x - log(a)
    bend = BEND * float(np.sign(x + law.mean_of_squares))

    def logarithm(v: FloatArray) -> ComplexArray:
        """Of the integrand, relative to that at the crossing."""
        t = a + width * (1j * np.sinh(v) + bend * (np.cosh(v) - 1.0))
        slope = width * (1j * np.cosh(v) + bend * np.sinh(v))
        exponents: ComplexArray = law.at_complex(t) - t * x - np.log(t) + np.log(slope / 1j) - start
        return exponents

    end = 1.0
    while logarithm(np.array([end])).real[0] > -FAR and end < 64.0:
        end += 1.0
    value = _trapezoidal(lambda v: np.exp(logarithm(v)).real, end)
    return min(1.0, max(0.0, exp(start) * value / np.pi))


def _trapezoidal(function: Callable[[FloatArray], FloatArray], end: float) -> float:
    """Integral from 0 to the end of an even analytic function that vanishes there, with ever more nodes."""
    n, last = 32, inf
    total = 0.5 * float(function(np.array([1e-300]))[0]) + float(np.sum(function(end * np.arange(1, n + 1) / n)))
    while n < MOST_NODES:
        value = total * end / n
        if abs(value - last) <= 1e-12 * abs(value):
            break
        last = value
        total += float(np.sum(function(end * (np.arange(n) + 0.5) / n)))
        n *= 2
    return total * end / n


def crossing(function: Callable[[float], float], limit: float) -> float:
    """Where an increasing function that is negative near 0 crosses 0 below the limit."""
    from scipy.optimize import brentq

    if isfinite(limit):
        # In s with t = limit (1 - exp(-s)) the end of the interval is as far away as it can be.
        def point(s: float) -> float:
            return -limit * float(np.expm1(-s))
    else:

        def point(s: float) -> float:
            return s

    low, high = 1.0, 1.0
    while function(point(low)) > 0.0 and low > 1e-300:
        low /= 2.0
    while function(point(high)) < 0.0 and high < (36.0 if isfinite(limit) else 1e300):
        high *= 2.0
    return point(float(brentq(lambda s: function(point(s)), low, high, xtol=1e-300, rtol=1e-12)))
