"""Sums over pairs of points on a line with the kernel exp(-|x - x'|), a product along the line: one pass is enough."""

import numpy as np

from caltest._basics.jit import jit
from caltest._basics.types import FloatArray


def sums_to_the_left(decays: FloatArray, weights: FloatArray) -> FloatArray:
    """``sum_{j < i} exp(-(x_i - x_j)) weights[j]`` for sorted points, of the shape (n, m) of the weights.

    ``decays[i]`` is exp(-(x_i - x_{i-1})), so that the sum of a point is that of the point before it, with the weight
    of that point, times the decay.
    """
    sums = np.zeros(weights.shape)
    _sum_to_the_left(decays, weights, sums)
    return sums


@jit
def _sum_to_the_left(decays: FloatArray, weights: FloatArray, sums: FloatArray) -> None:
    for i in range(1, weights.shape[0]):
        for b in range(weights.shape[1]):
            sums[i, b] = decays[i] * (sums[i - 1, b] + weights[i - 1, b])
