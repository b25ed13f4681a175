"""Weights that are exponential functions of scores, summed by class."""

import numpy as np

from caltest._basics.jit import jit
from caltest._basics.numerics import FloatArray, IntArray
from caltest._loops.formulas.exponential import exp_of_negative
from caltest._loops.stacks import sum_of, sum_of_products

LANES = 8
"""Values that are compared side by side, so that the loop vectorises."""

NEGLIGIBLE = 45.0
"""Weights whose logarithm is smaller by that than the largest are less than 3e-20 of it."""


@jit
def class_shares(scores: FloatArray, scale: float, offsets: FloatArray, bounds: IntArray, shares: FloatArray) -> None:
    """Shares of the classes in the sum of ``exp(scale scores[j, i] - offsets[i])`` over i, for each row j.

    Class c has the columns bounds[c] to bounds[c + 1]. The largest exponent of a row is subtracted first, so
    that its weights are at most 1 and one of them is 1.
    """
    n = scores.shape[1]
    exponents = np.empty(n)
    lanes = np.empty(LANES)
    for j in range(scores.shape[0]):
        for i in range(n):
            exponents[i] = scale * scores[j, i] - offsets[i]
        largest = _largest(exponents, lanes)
        for i in range(n):
            exponents[i] = exp_of_negative(exponents[i] - largest)
        total = 0.0
        for c in range(shares.shape[1]):
            shares[j, c] = sum_of(exponents[bounds[c] : bounds[c + 1]])
            total += shares[j, c]
        for c in range(shares.shape[1]):
            shares[j, c] /= total


@jit
def _largest(values: FloatArray, lanes: FloatArray) -> float:
    full = values.shape[0] // LANES * LANES
    lanes[:] = -np.inf
    for start in range(0, full, LANES):
        for lane in range(LANES):
            value = values[start + lane]
            lanes[lane] = value if value > lanes[lane] else lanes[lane]
    largest = lanes.max()
    for i in range(full, values.shape[0]):
        largest = max(largest, values[i])
    return float(largest)


@jit
def shares_on_line(
    slopes: FloatArray, centres: FloatArray, offsets: FloatArray, peaks: IntArray, counts: FloatArray, ones: FloatArray
) -> FloatArray:
    """``sum_i ones_i w_i / sum_i counts_i w_i`` for each j, with ``log w_i = slopes[j] centres[i] - offsets[i]``.

    These logarithms are concave in the ascending centres, increase before peaks[j] and decrease from there on. Weights
    that are smaller than rounding errors of the sums are left out.
    """
    weights, shares = np.empty(centres.shape[0]), np.empty(slopes.shape[0])
    for j in range(slopes.shape[0]):
        a, last = slopes[j], centres.shape[0] - 1
        left, right = max(peaks[j] - 1, 0), min(peaks[j], last)
        largest = max(a * centres[left] - offsets[left], a * centres[right] - offsets[right])
        start = _outermost(a, centres, offsets, largest - NEGLIGIBLE, left, 0)
        stop = _outermost(a, centres, offsets, largest - NEGLIGIBLE, right, last) + 1
        for i in range(start, stop):
            weights[i] = exp_of_negative(a * centres[i] - offsets[i] - largest)
        part = weights[start:stop]
        shares[j] = sum_of_products(part, ones[start:stop]) / sum_of_products(part, counts[start:stop])
    return shares


@jit
def _outermost(slope: float, centres: FloatArray, offsets: FloatArray, least: float, inside: int, outside: int) -> int:
    """The last place on the way from ``inside`` to ``outside`` where the logarithm is at least ``least``."""
    if slope * centres[outside] - offsets[outside] >= least:
        return outside
    while abs(outside - inside) > 1:
        middle = (inside + outside) // 2
        if slope * centres[middle] - offsets[middle] >= least:
            inside = middle
        else:
            outside = middle
    return inside
