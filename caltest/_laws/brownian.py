"""Tails of functionals of Brownian motion on the unit interval."""

import numpy as np

from caltest._basics.types import Array, FloatArray

CERTAIN_ABOVE_0, CERTAIN_RANGE = 0.15, 0.3
"""The largest absolute value, and the range, are larger than this with a probability that differs from 1 by < 1e-16."""

TERMS = 200


def absolute_maximum_tail(x: float) -> float:
    """``P(sup |W(t)| >= x) = 4 sum_{k >= 0} (-1)**k Phi(-(2 k + 1) x)``, by reflection at both sides.

    Terms get smaller, so that nothing cancels in the tail; the usual series in ``exp(-pi**2 / (8 x**2))`` is that of
    one minus this probability.
    """
    if x <= CERTAIN_ABOVE_0:
        return 1.0
    k = np.arange(TERMS)
    return _probability(4.0 * (-1.0) ** k * _upper((2.0 * k + 1.0) * x))


def range_tail(x: float) -> float:
    """``P(sup W(t) - inf W(t) >= x) = 8 sum_{k >= 1} (-1)**(k - 1) k Phi(-k x)`` (Feller 1951)."""
    if x <= CERTAIN_RANGE:
        return 1.0
    k = np.arange(1, TERMS + 1)
    return _probability(8.0 * (-1.0) ** (k - 1) * k * _upper(k * x))


def _upper(z: Array) -> FloatArray:
    from scipy.special import ndtr

    return np.asarray(ndtr(-z))


def _probability(terms: Array) -> float:
    return min(1.0, max(0.0, float(np.sum(terms))))
