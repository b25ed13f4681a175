"""Densities of families on the real line, told apart by an integer.

Points are given by their distance from an end: upwards from 0, or downwards from an origin, which is 1 for
distributions on the unit interval and 0 for those on the real line. This keeps all digits of points next to 1. They are
given by their distance from the centre of the law too, which keeps those of points next to a centre far from 0.
"""

import numpy as np

from caltest._jit import jit
from caltest._types import FloatArray

NORMAL, STUDENT_T, LAPLACE, LOG_NORMAL, GAMMA, BETA = range(6)

CENTRE, SPREAD, FIRST, SECOND, LOG_FACTOR, ABOVE = range(6)
"""A law is a row of six numbers: a point where much of the mass is, the size of the peak there, up to two parameters,
the logarithm of the constant factor, and for beta distributions 1 minus the centre."""


@jit
def density(kind: int, law: FloatArray, x: float, offset: float, downwards: bool) -> float:
    """Density at the distance x > 0 from an end and ``offset`` from the centre, counted in the same direction."""
    if kind == NORMAL:
        z = offset / law[SPREAD]
        exponent = -0.5 * z * z
    elif kind == STUDENT_T:
        z = offset / law[SPREAD]
        exponent = -0.5 * (law[FIRST] + 1.0) * np.log1p(z * z / law[FIRST])
    elif kind == LAPLACE:
        exponent = -abs(offset) / law[SPREAD]
    elif kind == LOG_NORMAL:
        d = offset / law[CENTRE]
        z = (np.log1p(d) if abs(d) < 0.5 else np.log(x / law[CENTRE])) / law[FIRST]
        exponent = -0.5 * z * z - np.log(x)
    elif kind == GAMMA:
        exponent = law[FIRST] * log_less_linear(x, offset, law[CENTRE]) - np.log(x)
    elif kind == BETA:
        here, there = (law[ABOVE], law[CENTRE]) if downwards else (law[CENTRE], law[ABOVE])
        a, b = (law[SECOND], law[FIRST]) if downwards else (law[FIRST], law[SECOND])
        exponent = a * log_less_linear(x, offset, here) + b * log_less_linear(1.0 - x, -offset, there)
        exponent -= np.log(x) + np.log1p(-x)
    else:
        raise ValueError("unknown kind of density")
    value: float = np.exp(exponent + law[LOG_FACTOR])
    return value


@jit
def log_less_linear(x: float, offset: float, centre: float) -> float:
    """``log(x / c) - d`` for x = c + offset and d = offset / c, without cancellation next to the centre c.

    With r = d / (2 + d) it is ``2 artanh(r) - d = 2 (r**3 / 3 + r**5 / 5 + ...) - r d``.
    """
    d = offset / centre
    if abs(d) > 0.3:
        logarithm: float = np.log(x / centre) - d
        return logarithm
    r = d / (2.0 + d)
    s = r * r
    series = 1.0 / 11.0 + s * (1.0 / 13.0 + s * (1.0 / 15.0 + s * (1.0 / 17.0 + s * (1.0 / 19.0))))
    series = 1.0 / 3.0 + s * (1.0 / 5.0 + s * (1.0 / 7.0 + s * (1.0 / 9.0 + s * series)))
    return r * (2.0 * s * series - d)
