"""Exponential kernels averaged over normal distributions.

For D normal with mean m and standard deviation s, in units of the bandwidth, the part of the expectation of
``|D|**k exp(-|D|)`` in which D has the sign of m is ``s**k J_k(s - |m| / s) exp(-(m / s)**2 / 2) / sqrt(2 pi)``, and
the other part that with ``s + |m| / s``, where::

    J_k(t) = int_0^inf u**k exp(-u**2 / 2 - t u) du,    J_0(t) = sqrt(pi / 2) exp(t**2 / 2) erfc(t / sqrt(2))

and ``J_{k+1} = k J_{k-1} - t J_k``. For large t that recurrence loses all digits; then the ratios of its terms come
from their continued fraction (Gautschi 1967).
"""

from math import erfc

import numpy as np

from caltest._basics.jit import jit
from caltest._basics.numerics import FloatArray
from caltest._loops.formulas.exponential import exp_of_negative
from caltest._loops.formulas.normals import LARGEST, Moments
from caltest._loops.stacks import over_pairs

ROOT_HALF = 0.7071067811865476
ROOT_HALF_PI = 1.2533141373155003
ROOT_TWO_PI = 2.5066282746310002

LARGE = 4.0
"""Where the continued fraction takes over from the recurrence."""

TERMS = 30
"""Terms of the continued fraction, enough for all digits there and beyond."""

FARTHEST = 1e153
"""Means beyond this, in units of the bandwidth, are taken as this: their squares are finite."""

SMALLEST = 1e-34
"""Variances below this are taken as 0, which changes expectations by less than their rounding."""


@jit
def exponential_mean(x: float, variance: float, a: float, b: float) -> float:
    """``E (1 + a |D| + b D**2) exp(-|D|)`` for D of mean x >= 0."""
    if variance < SMALLEST:
        return (1.0 + x * (a + x * b)) * exp_of_negative(-x)
    x, s = min(x, FARTHEST), np.sqrt(min(variance, LARGEST))
    return _half(x, s, -x / s, a, b) + _half(x, s, x / s, a, b)


@jit
def _half(x: float, s: float, z: float, a: float, b: float) -> float:
    """The part on the side of the mean, z = -x / s, or on the other side, z = x / s."""
    t = s + z
    if t < 0.0:
        exponent = 0.5 * s * s - x
        if exponent < -700.0:
            return 0.0
        zeroth = ROOT_HALF_PI * erfc(t * ROOT_HALF)
        first = s * exp_of_negative(-0.5 * t * t) + (x - s * s) * zeroth
        second = s * s * zeroth + (x - s * s) * first
        return (zeroth + a * first + b * second) * exp_of_negative(exponent) / ROOT_TWO_PI
    if t < LARGE:
        zeroth = ROOT_HALF_PI * np.exp(0.5 * t * t) * erfc(t * ROOT_HALF)
        first = 1.0 - t * zeroth
        second = s * s * (zeroth - t * first)
        first *= s
    else:
        ratio = 0.5 * (np.sqrt(t * t + 4.0 * TERMS + 4.0) - t)
        for k in range(TERMS, 1, -1):
            ratio = k / (t + ratio)
        before = 1.0 / (t + ratio)
        zeroth = 1.0 / (t + before)
        first = s * before * zeroth
        second = s * ratio * first
    part: float = (zeroth + a * first + b * second) * exp_of_negative(-0.5 * z * z) / ROOT_TWO_PI
    return part


@jit
def exponential_tiles(rows: Moments, columns: Moments, a: float, b: float, out: FloatArray) -> None:
    """``exponential_mean`` of differences of normal variables (m, r) and (m, c), to ``out`` (m, r, c)."""
    (row_means, row_variances), (column_means, column_variances) = rows, columns
    for tile in range(out.shape[0]):
        for i in range(out.shape[1]):
            m, v = row_means[tile, i], row_variances[tile, i]
            for j in range(out.shape[2]):
                x = abs(m - column_means[tile, j])
                out[tile, i, j] = exponential_mean(x, v + column_variances[tile, j], a, b)


def exponential(rows: Moments, columns: Moments, a: float, b: float) -> FloatArray:
    """``exponential_tiles`` of means and variances (..., r) and (..., c): (..., r, c)."""
    return over_pairs(exponential_tiles, rows, columns, 1, a, b)
