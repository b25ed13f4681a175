"""Limit laws of quadratic statistics of empirical distribution functions: Cramer-von Mises, Anderson-Darling."""

from math import pi

import numpy as np

from caltest._basics.types import FloatArray

INTERVALS: FloatArray = np.arange(1.0, 61.0)
"""Numbers k of the intervals of the sum, enough for all digits down to the smallest statistics that are not certain."""

NODES = np.cos(pi * (np.arange(256) + 0.5) / 256)
"""Of the Gauss-Chebyshev rule on [-1, 1]: integrands have roots at both ends."""


def cramer_von_mises_tail(x: float) -> float:
    """``P(sum_j C_j / (pi j)**2 >= x)`` with independent chi-squared C_j of 1 degree of freedom."""
    if x < 1e-3:
        return 1.0
    t, widths = _nodes((pi * (2.0 * INTERVALS - 1.0)) ** 2, (pi * 2.0 * INTERVALS) ** 2)
    return _tail(x, t, widths / np.abs(np.sin(np.sqrt(t)) / np.sqrt(t)))


def anderson_darling_tail(x: float) -> float:
    """``P(sum_j C_j / (j (j + 1)) >= x)`` with independent chi-squared C_j of 1 degree of freedom."""
    if x < 0.03:
        return 1.0
    t, widths = _nodes((2.0 * INTERVALS - 1.0) * 2.0 * INTERVALS, 2.0 * INTERVALS * (2.0 * INTERVALS + 1.0))
    return _tail(x, t, widths / np.abs(np.cos(pi / 2.0 * np.sqrt(1.0 + 4.0 * t)) / (pi * t)))


def _nodes(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Nodes t (K, N) between the ends (K,) of intervals, and ``(t - low) (high - t)``."""
    t = (low + high)[:, None] / 2.0 + (high - low)[:, None] / 2.0 * NODES
    return t, (t - low[:, None]) * (high[:, None] - t)


def _tail(x: float, t: FloatArray, ratios: FloatArray) -> float:
    """``1/pi sum_k (-1)**(k + 1) int exp(-t x / 2) / (t sqrt|D(t)|) dt`` with ``D(t) = prod_j (1 - t w_j)``.

    The formula of Smirnov (1937) for the weights w_1 > w_2 > ... of the sum, with the k-th integral from 1/w_{2k-1} to
    1/w_{2k}; nothing cancels in the tail, which keeps its digits at any size. ``ratios`` are
    ``(t - low) (high - t) / |D(t)|``.
    """
    with np.errstate(under="ignore"):
        terms = np.mean(np.exp(-0.5 * x * t) / t * np.sqrt(ratios), axis=1)
    return min(1.0, max(0.0, float(terms[::2].sum() - terms[1::2].sum())))
