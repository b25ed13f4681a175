"""Kernels as functions of a distance: their formulas and their constants, which all loops and families share.

A kernel is ``f(u)`` with ``u = c x`` or, for a square, ``u = (c x)**2``, where x is a distance and c a factor. Kinds of
f are EXPONENTIAL ``exp(-u)``, MATERN_3 ``(1 + u) exp(-u)``, MATERN_5 ``(1 + u + u**2 / 3) exp(-u)``, RATIONAL
``(1 + u / shape)**-shape`` and IDENTITY ``u``, the distance itself. Gaussian kernels are exponential ones of squares.
"""

import numpy as np

from caltest._basics.jit import jit
from caltest._basics.numerics import FloatArray
from caltest._loops.formulas.exponential import exp_of_negative, logarithm

EXPONENTIAL, MATERN_3, MATERN_5, RATIONAL, IDENTITY = range(5)
"""Of the first three the number is the degree of a polynomial."""

POLYNOMIALS = (0.0, 0.0), (1.0, 0.0), (1.0, 1.0 / 3.0)
"""Numbers a and b of ``(1 + a u + b u**2) exp(-u)``, by the degree."""

THIRD = POLYNOMIALS[MATERN_5][1]

FARTHEST = 800.0
"""Beyond it exponential functions are 0; it keeps their polynomials finite."""

LARGEST = 1e300
"""What is larger is taken as this, which keeps logarithms finite."""


@jit
def exponential(x: FloatArray, factor: float, square: bool | np.bool_, shape: float) -> None:
    """Write ``exp(-u)`` over distances (n,)."""
    if square:
        for q in range(x.shape[0]):
            y = factor * x[q]
            x[q] = exp_of_negative(-y * y)
    else:
        for q in range(x.shape[0]):
            x[q] = exp_of_negative(-factor * x[q])


@jit
def matern_3(x: FloatArray, factor: float, square: bool | np.bool_, shape: float) -> None:
    """Write ``(1 + u) exp(-u)`` over distances (n,), of which no square is taken."""
    for q in range(x.shape[0]):
        u = factor * x[q]
        u = FARTHEST if u > FARTHEST else u
        x[q] = (1.0 + u) * exp_of_negative(-u)


@jit
def matern_5(x: FloatArray, factor: float, square: bool | np.bool_, shape: float) -> None:
    """Write ``(1 + u + u**2 / 3) exp(-u)`` over distances (n,), of which no square is taken."""
    for q in range(x.shape[0]):
        u = factor * x[q]
        u = FARTHEST if u > FARTHEST else u
        x[q] = (1.0 + u + THIRD * u * u) * exp_of_negative(-u)


@jit
def rational(x: FloatArray, factor: float, square: bool | np.bool_, shape: float) -> None:
    """Write ``(1 + u / shape)**-shape`` over distances (n,)."""
    if shape == 1.0:
        for q in range(x.shape[0]):
            u = factor * x[q]
            x[q] = 1.0 / (1.0 + (u * u if square else u))
    else:
        for q in range(x.shape[0]):
            u = factor * x[q]
            v = (u * u if square else u) / shape
            v = LARGEST if v > LARGEST else v
            # What is rounded away where 1 is added is added to the logarithm, to first order.
            base = 1.0 + v
            x[q] = exp_of_negative(-shape * (logarithm(base) + (v - (base - 1.0)) / base))


FUNCTIONS = exponential, matern_3, matern_5, rational
"""By their kinds, for what is not compiled itself: so only the function that is used is compiled."""


@jit
def write_kernel(kind: int, x: FloatArray, factor: float, square: bool | np.bool_, shape: float) -> None:
    """Write the function of a kind over distances (n,)."""
    if kind == EXPONENTIAL:
        exponential(x, factor, square, shape)
    elif kind == MATERN_3:
        matern_3(x, factor, square, shape)
    elif kind == MATERN_5:
        matern_5(x, factor, square, shape)
    elif kind == RATIONAL:
        rational(x, factor, square, shape)
    elif kind == IDENTITY:
        for q in range(x.shape[0]):
            x[q] *= factor
    else:
        raise ValueError("kind: got a number without a branch in write_kernel, wanted one with a formula there")
