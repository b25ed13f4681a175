"""Sums over the coordinates of all pairs of a row and a column: distances and scalar products.

The columns come transposed, so the innermost loop runs along contiguous columns and vectorises. Two rows and four
coordinates are taken at a time, so that a loaded number is used more than once, and coordinates in groups whose columns
stay in the cache. Each sum is taken over the coordinates in the same order whatever the shape of the tile.
"""

from collections.abc import Callable
from math import prod

import numpy as np

from caltest._basics.jit import jit
from caltest._basics.numerics import FloatArray

CITYBLOCK, SQUARED_EUCLIDEAN, PRODUCT = 0, 1, 2
"""``|a - b|``, ``(a - b)**2`` and ``a b``."""

GROUP = 64

FEW = 2**17
"""Differences of coordinates up to which a compiled loop is not worth it."""

FEWEST, TILE = 3, 2**18
"""Neither are those of probabilities of so few classes in one tile, after which other loops take most of the time."""

LINES = 64
"""Rows at a time without a compiled loop, so that numbers stay in the cache."""


def padded(vectors: FloatArray) -> FloatArray:
    """A copy of vectors (..., n, d) with zeros up to an even number of them and a multiple of 4 coordinates."""
    *batch, n, d = vectors.shape
    out = np.zeros((*batch, n + n % 2, -(-d // 4) * 4))
    out[..., :n, :d] = vectors
    return out


def sum_over_coordinates(kind: int, rows: FloatArray, columns: FloatArray) -> FloatArray:
    """``sum_t f(rows[..., i, t], columns[..., j, t])``, of shape (..., r, c); ``kind`` says which f."""
    if kind not in (CITYBLOCK, SQUARED_EUCLIDEAN, PRODUCT):
        raise ValueError("unknown kind of sum")
    batch = np.broadcast_shapes(rows.shape[:-2], columns.shape[:-2])
    r, c, d = rows.shape[-2], columns.shape[-2], rows.shape[-1]
    pairs = prod(batch) * r * c
    are_few = kind == CITYBLOCK and d <= FEWEST and pairs < TILE
    if d == 1 or d * pairs <= FEW or are_few:
        return _coordinate_by_coordinate(kind, rows, columns, (*batch, r, c))
    left = padded(np.broadcast_to(rows, (*batch, r, d)))
    right = np.zeros((*batch, left.shape[-1], c))
    right[..., :d, :] = columns.swapaxes(-1, -2)
    # The row that is added to an odd number of rows is written where the next tile begins, or to a last line.
    out = np.empty((prod(batch) * r + 1, c))
    WRITERS[kind](left.reshape(-1, left.shape[-1]), right.reshape(-1, c), r, left.shape[-2], out)
    return out[:-1].reshape(*batch, r, c)


def _coordinate_by_coordinate(kind: int, rows: FloatArray, columns: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    sums = np.empty(shape)
    for start in range(0, shape[-2], LINES):
        part = slice(start, start + LINES)
        total = sums[..., part, :]
        term = np.empty(total.shape)
        for t in range(rows.shape[-1]):
            left, right, out = rows[..., part, None, t], columns[..., None, :, t], term if t else total
            if kind == PRODUCT:
                np.multiply(left, right, out=out)
            else:
                np.subtract(left, right, out=out)
                (np.abs if kind == CITYBLOCK else np.square)(out, out=out)
            if t:
                total += term
    return sums


def _adder(kind: int) -> Callable[..., None]:
    """A loop for one kind of sum: only those that are used are compiled."""

    @jit
    def add_two(
        rows: FloatArray, i: int, start: int, stop: int, columns: FloatArray, top: int, n: int, out: FloatArray, p: int
    ) -> None:
        """Add sums over coordinates start..stop-1 of rows i and i + 1 with n columns to lines p and p + 1 of ``out``.

        Coordinate t of the columns is ``columns[top + t]``. The lines are cleared before the coordinate 0.
        """
        if start == 0:
            for j in range(n):
                out[p, j] = 0.0
                out[p + 1, j] = 0.0
        for t in range(start, stop, 4):
            a0, a1, a2, a3 = rows[i, t], rows[i, t + 1], rows[i, t + 2], rows[i, t + 3]
            b0, b1, b2, b3 = rows[i + 1, t], rows[i + 1, t + 1], rows[i + 1, t + 2], rows[i + 1, t + 3]
            k = top + t
            for j in range(n):
                v0, v1, v2, v3 = columns[k, j], columns[k + 1, j], columns[k + 2, j], columns[k + 3, j]
                if kind == PRODUCT:
                    out[p, j] += (a0 * v0 + a1 * v1) + (a2 * v2 + a3 * v3)
                    out[p + 1, j] += (b0 * v0 + b1 * v1) + (b2 * v2 + b3 * v3)
                else:
                    c0, c1, c2, c3 = a0 - v0, a1 - v1, a2 - v2, a3 - v3
                    d0, d1, d2, d3 = b0 - v0, b1 - v1, b2 - v2, b3 - v3
                    if kind == CITYBLOCK:
                        out[p, j] += (abs(c0) + abs(c1)) + (abs(c2) + abs(c3))
                        out[p + 1, j] += (abs(d0) + abs(d1)) + (abs(d2) + abs(d3))
                    else:
                        out[p, j] += (c0 * c0 + c1 * c1) + (c2 * c2 + c3 * c3)
                        out[p + 1, j] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3)

    return add_two


add_absolute, add_squares, add_products = (_adder(kind) for kind in (CITYBLOCK, SQUARED_EUCLIDEAN, PRODUCT))


def _writer(kind: int) -> Callable[..., None]:
    @jit
    def write_sums(rows: FloatArray, columns: FloatArray, r: int, size: int, out: FloatArray) -> None:
        """Sums of tiles one below the other: rows (m size, d), columns (m d, c), to ``out`` (m r + 1, c)."""
        d, n = rows.shape[1], columns.shape[1]
        for m in range(rows.shape[0] // size):
            for start in range(0, d, GROUP):
                stop = start + GROUP if start + GROUP < d else d
                for i in range(0, r, 2):
                    if kind == CITYBLOCK:
                        add_absolute(rows, m * size + i, start, stop, columns, m * d, n, out, m * r + i)
                    elif kind == SQUARED_EUCLIDEAN:
                        add_squares(rows, m * size + i, start, stop, columns, m * d, n, out, m * r + i)
                    else:
                        add_products(rows, m * size + i, start, stop, columns, m * d, n, out, m * r + i)

    return write_sums


WRITERS = tuple(_writer(kind) for kind in (CITYBLOCK, SQUARED_EUCLIDEAN, PRODUCT))
