"""Debiased squared deviations of cells of predictions, for many redraws of the labels."""

import numpy as np

from caltest._jit import jit
from caltest._loops.assignment import assign
from caltest._types import Array, FloatArray, IntArray


@jit
def debiased_squares(
    labels: Array, cells: IntArray, sums: FloatArray, squares: FloatArray, weights: FloatArray, out: FloatArray
) -> None:
    """``out[b] = sum_c weights[c] (|sum_i delta_i|**2 - sum_i |delta_i|**2)`` over i in cell c, for labels (B, n).

    With residuals ``delta_i = e_y - p_i``: ``sums`` (C, k) are those of the predictions of each cell, and ``squares``
    (n, k) has ``|e_y - p_i|**2`` for all outcomes y.
    """
    deviations, own = np.empty_like(sums), np.empty(sums.shape[0])
    for b in range(labels.shape[0]):
        for c in range(sums.shape[0]):
            assign(-sums[c], deviations[c])
        own[:] = 0.0
        for i in range(labels.shape[1]):
            y = labels[b, i]
            deviations[cells[i], y] += 1.0
            own[cells[i]] += squares[i, y]
        total = 0.0
        for c in range(sums.shape[0]):
            square = 0.0
            for j in range(sums.shape[1]):
                square += deviations[c, j] ** 2
            total += weights[c] * (square - own[c])
        out[b] = total
