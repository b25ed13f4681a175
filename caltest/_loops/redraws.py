"""Sums over pairs for many redraws of the labels at once: each kernel value is read once for all redraws.

Labels come as (n, B) arrays, one column a redraw, so that the innermost loop runs over the redraws of one pair.
Each row of the tile is summed by itself before it is added to the sums of the tile, which keeps rounding errors
small: the sums over all pairs nearly cancel later.
"""

import numpy as np

from caltest._jit import jit
from caltest._types import Array, FloatArray


@jit
def equal_sums(tile: FloatArray, rows: Array, columns: Array, skip_lower: bool) -> FloatArray:
    """``sum_ij tile[i, j] [rows[i, b] == columns[j, b]]`` for each b, over i < j only if ``skip_lower``."""
    sums = np.zeros(rows.shape[1])
    for i in range(tile.shape[0]):
        row = rows[i]
        line = np.zeros(rows.shape[1])
        for j in range(i + 1 if skip_lower else 0, tile.shape[1]):
            value = tile[i, j]
            column = columns[j]
            for b in range(line.shape[0]):
                line[b] += value if row[b] == column[b] else 0.0
        sums += line
    return sums


@jit
def gram_sums(tile: FloatArray, gram: FloatArray, rows: Array, columns: Array, skip_lower: bool) -> FloatArray:
    """``sum_ij tile[i, j] gram[rows[i, b], columns[j, b]]`` for each b, over i < j only if ``skip_lower``."""
    sums = np.zeros(rows.shape[1])
    for i in range(tile.shape[0]):
        row = rows[i]
        line = np.zeros(rows.shape[1])
        for j in range(i + 1 if skip_lower else 0, tile.shape[1]):
            value = tile[i, j]
            column = columns[j]
            for b in range(line.shape[0]):
                line[b] += value * gram[row[b], column[b]]
        sums += line
    return sums
