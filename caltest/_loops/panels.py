"""Functions on half-lines as trees of Legendre polynomials on nested panels.

A tree is about the interval [0, 2**e]. Every node stands for a panel, the two halves of which are the panels of its
children, and holds the coefficients of the best polynomial of degree 15 there; on the panels of leaves that polynomial
is the function to rounding. Nodes come in the order root, left subtree, right subtree: the left child of a node is the
next one, and ``skip`` says which node comes after its subtree, so that a leaf is a node whose ``skip`` is the next one.

All trees are cut at the same places, whatever they hold. The integral of a product of two functions is therefore a
sum of scalar products, over the panels on which one of the two is a polynomial: of the other one only the part of
degree 15 matters there, as Legendre polynomials are orthogonal (the multiwavelets of Alpert 1993).
"""

import numpy as np
from numpy.polynomial import legendre

from caltest._jit import jit
from caltest._types import FloatArray, IntArray

ORDER = 16
"""Coefficients of a polynomial."""


def _normalised(x: FloatArray) -> FloatArray:
    """Legendre polynomials, orthonormal on [0, 1], at points of that interval: (ORDER, ...)."""
    values = legendre.legvander(2.0 * x - 1.0, ORDER - 1)
    return np.moveaxis(values * np.sqrt(2.0 * np.arange(ORDER) + 1.0), -1, 0)


NODES = np.ascontiguousarray((1.0 + legendre.leggauss(ORDER)[0]) / 2.0)
"""Nodes of the Gauss-Legendre rule on [0, 1]."""

WEIGHTS = legendre.leggauss(ORDER)[1] / 2.0

VALUES = np.ascontiguousarray(_normalised(NODES).T)
"""Values at the nodes from coefficients."""

COEFFICIENTS = np.ascontiguousarray(_normalised(NODES) * WEIGHTS)
"""Coefficients from values at the nodes."""

ENDS = np.ascontiguousarray(_normalised(np.array([0.0, 1.0])).T)
"""The polynomials at the ends of the interval."""

HALVES = np.ascontiguousarray(_normalised(NODES / 2.0) @ (_normalised(NODES) * WEIGHTS).T)
"""The polynomials of a panel in terms of those of its left half, a triangular matrix."""

POWERS = np.ascontiguousarray(
    np.stack([np.pad(legendre.leg2poly(np.eye(ORDER)[k]), (0, ORDER - 1 - k)) for k in range(ORDER)], axis=1)
    * np.sqrt(2.0 * np.arange(ORDER) + 1.0)
)
"""Coefficients of powers of 2 x - 1 from coefficients of the polynomials."""


_k = np.arange(ORDER - 1.0)
SLOPES = np.sqrt((2.0 * _k + 1.0) * (2.0 * _k + 3.0)) / (_k + 1.0)
PREVIOUS = _k[1:] / (_k[1:] + 1.0) * np.sqrt((2.0 * _k[1:] + 3.0) / (2.0 * _k[1:] - 1.0))
"""Numbers a, b of ``phi_{k+1}(x) = a_k (2 x - 1) phi_k(x) - b_k phi_{k-1}(x)``, b from k = 1 on."""


@jit
def dot(a: FloatArray, b: FloatArray) -> float:
    """Scalar product of two vectors of length ORDER."""
    one = two = three = four = 0.0
    for k in range(0, ORDER, 4):
        one += a[k] * b[k]
        two += a[k + 1] * b[k + 1]
        three += a[k + 2] * b[k + 2]
        four += a[k + 3] * b[k + 3]
    total: float = (one + two) + (three + four)
    return total


@jit
def times(matrix: FloatArray, vector: FloatArray, out: FloatArray) -> None:
    """A matrix times a vector, to ``out``."""
    for i in range(ORDER):
        out[i] = dot(matrix[i], vector)


@jit
def polynomial(coefficients: FloatArray, x: float) -> float:
    """A polynomial in powers of x."""
    total: float = coefficients[ORDER - 1]
    for k in range(ORDER - 2, -1, -1):
        total = total * x + coefficients[k]
    return total


@jit
def value(coefficients: FloatArray, u: float) -> float:
    """A sum of the polynomials at the point (1 + u) / 2, by the rule of Clenshaw."""
    one, two = coefficients[ORDER - 1], 0.0
    for k in range(ORDER - 2, -1, -1):
        new = coefficients[k] + SLOPES[k] * u * one
        if k < ORDER - 2:
            new -= PREVIOUS[k] * two
        one, two = new, one
    total: float = one
    return total


@jit
def lift(coefficients: FloatArray, skip: IntArray, first: int, last: int, weight: float) -> None:
    """Fill in ``skip`` of the nodes of a tree, which is 0 for those with children, and their coefficients.

    ``weight`` is 1 for functions whose coefficients are integrals over the panel, 1/2 for means.
    """
    for node in range(last - 1, first - 1, -1):
        if skip[node] == 0:
            left = node + 1
            right = skip[left]
            skip[node] = skip[right]
            raise_from(coefficients[left], coefficients[right], weight, coefficients[node])


@jit
def raise_from(left: FloatArray, right: FloatArray, weight: float, out: FloatArray) -> None:
    """Coefficients on a panel from those on its halves."""
    sign = 1.0
    for k in range(ORDER):
        total, other = 0.0, sign
        for i in range(k + 1):
            total += HALVES[k, i] * (left[i] + other * right[i])
            other = -other
        out[k] = weight * total
        sign = -sign


@jit
def inner_product(
    means: FloatArray,
    means_skip: IntArray,
    a: int,
    a_exponent: int,
    integrals: FloatArray,
    integrals_skip: IntArray,
    b: int,
    b_exponent: int,
) -> float:
    """Integral of the product of two functions, given by the roots of their trees and the sizes of their intervals.

    The coefficients of one function are means over the panels, those of the other one integrals. Outside of their
    intervals both are 0.
    """
    while a_exponent > b_exponent and means_skip[a] > a + 1:
        a += 1
        a_exponent -= 1
    while b_exponent > a_exponent and integrals_skip[b] > b + 1:
        b += 1
        b_exponent -= 1
    if a_exponent > b_exponent:
        return dot(means[a], _on_larger(integrals[b], a_exponent - b_exponent, 1.0))
    if b_exponent > a_exponent:
        return dot(_on_larger(means[a], b_exponent - a_exponent, 0.5), integrals[b])
    end, total = means_skip[a], 0.0
    while a < end:
        if means_skip[a] == a + 1 or integrals_skip[b] == b + 1:
            if integrals[b, 0] != 0.0:
                total += dot(means[a], integrals[b])
            a, b = means_skip[a], integrals_skip[b]
        else:
            a += 1
            b += 1
    return total


@jit
def _on_larger(coefficients: FloatArray, doublings: int, weight: float) -> FloatArray:
    """Coefficients on an interval 2**doublings as large, in the rest of which the function is 0."""
    now, then, nothing = coefficients.copy(), np.empty(ORDER), np.zeros(ORDER)
    for _ in range(doublings):
        raise_from(now, nothing, weight, then)
        now, then = then, now
    return now
