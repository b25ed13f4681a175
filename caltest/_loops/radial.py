"""Kernels of real targets as functions of a distance, told apart by an integer and some numbers.

At distances x in units of the bandwidth EXPONENTIAL is ``(1 + a x + b x**2) exp(-c x - d x**2)``, POWER is
``exp(-x**a)``, and RATIONAL is ``(1 + x**2 / (2 a))**-a``.
"""

import numpy as np

from caltest._jit import jit
from caltest._loops.exponential import exp_of_negative, logarithm
from caltest._types import FloatArray

EXPONENTIAL, POWER, RATIONAL = range(3)

FARTHEST = 800.0
"""Beyond it exponential functions are 0; it keeps their polynomials finite."""

LARGEST = 700.0
"""Logarithms above it are those of numbers whose exponential functions are 0."""

Radial = tuple[int, float, float, float, float]
"""Kind, a, b, c, d."""


@jit
def radial_values(kernel: Radial, x: FloatArray, n: int) -> None:
    """Write the kernel over the first n of some distances."""
    kind, a, b, c, d = kernel
    if kind == EXPONENTIAL:
        for q in range(n):
            y = min(x[q], FARTHEST)
            x[q] = (1.0 + y * (a + y * b)) * exp_of_negative(-y * (c + y * d))
    elif kind == POWER:
        for q in range(n):
            x[q] = exp_of_negative(-exp_of_negative(min(a * logarithm(x[q]), LARGEST)))
    elif kind == RATIONAL:
        for q in range(n):
            x[q] = exp_of_negative(-a * logarithm(min(1.0 + x[q] * x[q] * (0.5 / a), 1e300)))
    else:
        raise ValueError("unknown kind of kernel")


@jit
def is_polynomial(kernel: Radial, size: float, gap: float) -> bool:
    """Whether the kernel is a polynomial of degree 15 to rounding on an interval.

    The interval has a size and a distance from the centre of the kernel, in units of the bandwidth; negative if the
    centre is inside.
    """
    kind, a, _, c, _ = kernel
    if kind == RATIONAL:
        place, pole = max(gap, 0.0) + 0.5 * size, np.sqrt(2.0 * a)
        distance = np.hypot(pole, place)
        fits: bool = size <= 0.5 * distance and size <= 1.5 * max(1.0, distance / pole)
        return fits
    if kind == POWER:
        return gap >= 1.5 * size and size <= (1.5 if a > 1.0 else 4.0)
    if c == 0.0:
        return size <= 2.0
    return gap >= 0.0 and size <= (4.0 if a == 0.0 else 3.0)
