"""Rows of a matrix, of probabilities above all: their sums, their maxima, draws from them."""

import numpy as np

from caltest._basics.jit import jit
from caltest._basics.numerics import Array, FloatArray, IntArray

VERY_FEW_CLASSES = 4
"""Up to so many it is faster to compare all numbers with the probabilities of a class at a time."""

FEW_CLASSES = 32
"""Up to so many cumulative probabilities it is faster to compare with all of them than to halve an interval."""


@jit
def are_distributions(matrix: FloatArray, tolerance: float) -> bool:
    """Whether no value is negative and every row sums to 1 within ``tolerance``; never so with nan or infinity."""
    for i in range(matrix.shape[0]):
        total, lowest = 0.0, 0.0
        for j in range(matrix.shape[1]):
            total += matrix[i, j]
            if matrix[i, j] < lowest:
                lowest = matrix[i, j]
        if lowest < 0.0 or not abs(total - 1.0) <= tolerance:
            return False
    return True


@jit
def maxima(matrix: FloatArray, values: FloatArray, columns: IntArray) -> None:
    """The largest value of each row and its column, the first one among equals."""
    for i in range(matrix.shape[0]):
        best, column = matrix[i, 0], 0
        for j in range(1, matrix.shape[1]):
            if matrix[i, j] > best:
                best, column = matrix[i, j], j
        values[i], columns[i] = best, column


def classes_from_uniforms(cumulative: FloatArray, uniforms: FloatArray, out: Array) -> None:
    """``out[b, i]`` = the first class whose cumulative probability exceeds ``uniforms[b, i] * total``.

    A class of probability zero is never drawn: should rounding push the product up to the total, the
    last class of positive probability is taken.
    """
    if cumulative.shape[1] > VERY_FEW_CLASSES:
        _search(cumulative, uniforms, out)
        return
    thresholds, out[:] = uniforms * cumulative[:, -1], 0
    for probabilities in cumulative[:, :-1].T:
        out += thresholds >= np.where(probabilities < cumulative[:, -1], probabilities, np.inf)


@jit
def _search(cumulative: FloatArray, uniforms: FloatArray, out: Array) -> None:
    n, k = cumulative.shape
    for b in range(uniforms.shape[0]):
        for i in range(n):
            line = cumulative[i]
            total = line[k - 1]
            threshold = uniforms[b, i] * total
            if k <= FEW_CLASSES:
                label = 0
                for c in range(k - 1):
                    label += 1 if line[c] <= threshold and line[c] < total else 0
            else:
                label, above = 0, k - 1
                while label < above:
                    middle = (label + above) // 2
                    if line[middle] <= threshold and line[middle] < total:
                        label = middle + 1
                    else:
                        above = middle
            out[b, i] = label
