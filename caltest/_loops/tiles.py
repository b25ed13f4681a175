"""Sums over the coordinates of all pairs of a row and a column: distances and scalar products.

The columns come transposed, so the innermost loop runs along contiguous columns and vectorises. Two rows and four
coordinates are taken at a time, so that a loaded number is used more than once, and coordinates in groups whose columns
stay in the cache. Each sum is taken over the coordinates in the same order whatever the shape of the tile.
"""

import numpy as np

from caltest._jit import jit
from caltest._types import FloatArray

CITYBLOCK, SQUARED_EUCLIDEAN, PRODUCT = 0, 1, 2
"""``|a - b|``, ``(a - b)**2`` and ``a b``."""

GROUP = 64


def sum_over_coordinates(kind: int, rows: FloatArray, columns: FloatArray) -> FloatArray:
    """``sum_t f(rows[..., i, t], columns[..., j, t])``, of shape (..., r, c); ``kind`` says which f."""
    batch = np.broadcast_shapes(rows.shape[:-2], columns.shape[:-2])
    r, c, d = rows.shape[-2], columns.shape[-2], rows.shape[-1]
    padded = -(-d // 4) * 4
    left = np.zeros((*batch, r, padded))
    left[..., :d] = rows
    right = np.zeros((*batch, padded, c))
    right[..., :d, :] = columns.swapaxes(-1, -2)
    out = np.zeros((*batch, r, c))
    _add_coordinates(kind, left.reshape(-1, r, padded), right.reshape(-1, padded, c), out.reshape(-1, r, c))
    return out


@jit
def _add_coordinates(kind: int, rows: FloatArray, columns: FloatArray, out: FloatArray) -> None:
    """Add the sums to ``out`` (m, r, c) for rows (m, r, d) and columns (m, d, c), d a multiple of 4."""
    last = rows.shape[1] - 1
    spare = np.empty(out.shape[2])
    for m in range(rows.shape[0]):
        for start in range(0, rows.shape[2], GROUP):
            for i in range(0, rows.shape[1], 2):
                second = min(i + 1, last)
                one, two = out[m, i], out[m, second] if i < last else spare
                for t in range(start, min(start + GROUP, rows.shape[2]), 4):
                    _add_four(kind, rows[m, i, t : t + 4], rows[m, second, t : t + 4], columns[m, t : t + 4], one, two)


@jit
def _add_four(kind: int, a: FloatArray, b: FloatArray, columns: FloatArray, one: FloatArray, two: FloatArray) -> None:
    """Four coordinates of two rows a and b."""
    a0, a1, a2, a3 = a[0], a[1], a[2], a[3]
    b0, b1, b2, b3 = b[0], b[1], b[2], b[3]
    c0, c1, c2, c3 = columns[0], columns[1], columns[2], columns[3]
    if kind == CITYBLOCK:
        for j in range(one.shape[0]):
            v0, v1, v2, v3 = c0[j], c1[j], c2[j], c3[j]
            one[j] += (abs(a0 - v0) + abs(a1 - v1)) + (abs(a2 - v2) + abs(a3 - v3))
            two[j] += (abs(b0 - v0) + abs(b1 - v1)) + (abs(b2 - v2) + abs(b3 - v3))
    elif kind == SQUARED_EUCLIDEAN:
        for j in range(one.shape[0]):
            v0, v1, v2, v3 = c0[j], c1[j], c2[j], c3[j]
            one[j] += ((a0 - v0) ** 2 + (a1 - v1) ** 2) + ((a2 - v2) ** 2 + (a3 - v3) ** 2)
            two[j] += ((b0 - v0) ** 2 + (b1 - v1) ** 2) + ((b2 - v2) ** 2 + (b3 - v3) ** 2)
    elif kind == PRODUCT:
        for j in range(one.shape[0]):
            v0, v1, v2, v3 = c0[j], c1[j], c2[j], c3[j]
            one[j] += (a0 * v0 + a1 * v1) + (a2 * v2 + a3 * v3)
            two[j] += (b0 * v0 + b1 * v1) + (b2 * v2 + b3 * v3)
    else:
        raise ValueError("unknown kind of sum")
