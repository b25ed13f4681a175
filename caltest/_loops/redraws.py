"""Sums over pairs for many redraws of the labels at once: each kernel value is read once for all redraws.

Labels come as (n, B) arrays, one column a redraw, so that the innermost loop runs over the redraws of one pair.
"""

from caltest._jit import jit
from caltest._types import Array, FloatArray


@jit
def add_where_equal(tile: FloatArray, rows: Array, columns: Array, skip_lower: bool, out: FloatArray) -> None:
    """``out[b] += sum_ij tile[i, j] [rows[i, b] == columns[j, b]]``, over i < j only if ``skip_lower``."""
    for i in range(tile.shape[0]):
        row = rows[i]
        for j in range(i + 1 if skip_lower else 0, tile.shape[1]):
            value = tile[i, j]
            column = columns[j]
            for b in range(out.shape[0]):
                out[b] += value if row[b] == column[b] else 0.0


@jit
def add_gram(
    tile: FloatArray, gram: FloatArray, rows: Array, columns: Array, skip_lower: bool, out: FloatArray
) -> None:
    """``out[b] += sum_ij tile[i, j] gram[rows[i, b], columns[j, b]]``, over i < j only if ``skip_lower``."""
    for i in range(tile.shape[0]):
        row = rows[i]
        for j in range(i + 1 if skip_lower else 0, tile.shape[1]):
            value = tile[i, j]
            column = columns[j]
            for b in range(out.shape[0]):
                out[b] += value * gram[row[b], column[b]]
