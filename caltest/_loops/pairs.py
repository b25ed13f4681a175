"""h of predictions with finitely many outcomes between rows and columns of a sample, without large temporaries.

``h_ij = f(factor d_ij) left_i . right_j`` with the distance d of the points, a decreasing function f and, for the
target part, residuals: all for two rows at a time, whose lines of distances and products stay in the cache.
"""

import numpy as np

from caltest._jit import jit
from caltest._loops.assignment import assign
from caltest._loops.blocks import Settings, check_settings
from caltest._loops.exponential import exp_of_negative
from caltest._loops.tiles import PRODUCT, _add_four
from caltest._types import FloatArray

CACHED = 2**15
"""Numbers in the columns of a tile, which stay in the cache."""


@jit
def _width(points: FloatArray) -> int:
    """Columns that are taken together."""
    width: int = max(64, min(512, CACHED // points.shape[1]))
    return width


@jit
def _transposed(vectors: FloatArray, start: int, stop: int) -> FloatArray:
    """Vectors start..stop-1 of (n, d) as columns (d, stop - start), with zeros up to a multiple of 4 coordinates."""
    d = vectors.shape[1]
    columns = np.zeros((-(-d // 4) * 4, stop - start))
    for j in range(stop - start):
        for t in range(d):
            columns[t, j] = vectors[start + j, t]
    return columns


@jit
def _padded(vectors: FloatArray, start: int, stop: int) -> FloatArray:
    """Vectors start..stop-1 of (n, d) with zeros up to a multiple of 4 coordinates."""
    d = vectors.shape[1]
    rows = np.zeros((stop - start, -(-d // 4) * 4))
    for i in range(stop - start):
        assign(vectors[start + i], rows[i, :d])
    return rows


@jit
def _add_coordinates_of_two(
    kind: int, a: FloatArray, b: FloatArray, columns: FloatArray, one: FloatArray, two: FloatArray
) -> None:
    """Sums over all coordinates of two rows a and b with the columns."""
    one[:] = 0.0
    two[:] = 0.0
    for t in range(0, a.shape[0], 4):
        _add_four(kind, a[t : t + 4], b[t : t + 4], columns[t : t + 4], one, two)


@jit
def _times_kernel(distances: FloatArray, settings: Settings, products: FloatArray) -> None:
    """Multiply the products by the kernel of the distances."""
    _, scale, root, power, factor = settings
    if root:
        for j in range(distances.shape[0]):
            distances[j] = np.sqrt(distances[j])
    if power == 1:
        for j in range(distances.shape[0]):
            products[j] *= exp_of_negative(-factor * scale * distances[j])
    else:
        for j in range(distances.shape[0]):
            x = factor * scale * distances[j]
            products[j] *= exp_of_negative(-0.5 * x * x)


@jit
def _sum(values: FloatArray, first: int) -> float:
    """Sum from ``first`` on, which may lie beyond the end, in eight parts, which do not wait for each other."""
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    stop = first + max(0, values.shape[0] - first) // 8 * 8
    for j in range(first, stop, 8):
        s0 += values[j]
        s1 += values[j + 1]
        s2 += values[j + 2]
        s3 += values[j + 3]
        s4 += values[j + 4]
        s5 += values[j + 5]
        s6 += values[j + 6]
        s7 += values[j + 7]
    for j in range(stop, values.shape[0]):
        s0 += values[j]
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


@jit
def finite_sums(
    points: FloatArray,
    left: FloatArray,
    right: FloatArray,
    rows: tuple[int, int],
    stop: int,
    settings: Settings,
) -> tuple[float, float]:
    """Sums of h over the pairs i < j with i in a range of rows and j < stop, and over h_ii for these rows.

    ``rows`` is where the range begins and ends; the other arguments are those of ``blocks.block_sums``.
    """
    check_settings(settings)
    kind = settings[0]
    row_points, row_vectors = _padded(points, *rows), _padded(left, *rows)
    last = rows[1] - rows[0] - 1
    width = _width(points)
    pairs = diagonal = 0.0
    for start in range(rows[0], stop, width):
        end = min(start + width, stop)
        column_points, column_vectors = _transposed(points, start, end), _transposed(right, start, end)
        distances, products = np.empty((2, end - start)), np.empty((2, end - start))
        d, e, g, h = distances[0], distances[1], products[0], products[1]
        for i in range(0, last + 1, 2):
            second = min(i + 1, last)
            if rows[0] + i >= end:
                break
            _add_coordinates_of_two(kind, row_points[i], row_points[second], column_points, d, e)
            _add_coordinates_of_two(PRODUCT, row_vectors[i], row_vectors[second], column_vectors, g, h)
            _times_kernel(d, settings, g)
            _times_kernel(e, settings, h)
            # Where the row itself is among the columns, and from where on its partners are.
            itself = rows[0] + i - start
            if itself >= 0:
                diagonal += g[itself]
            pairs += _sum(g, max(0, itself + 1))
            if i < last:
                if 0 <= itself + 1 < end - start:
                    diagonal += h[itself + 1]
                pairs += _sum(h, max(0, itself + 2))
    return pairs, diagonal


@jit
def finite_tile(
    points: FloatArray,
    left: FloatArray,
    right: FloatArray,
    rows: tuple[int, int],
    columns: tuple[int, int],
    settings: Settings,
    out: FloatArray,
) -> None:
    """Write h between rows and columns, given by where they begin and end, to ``out`` (r, c)."""
    check_settings(settings)
    kind = settings[0]
    row_points, row_vectors = _padded(points, *rows), _padded(left, *rows)
    last = rows[1] - rows[0] - 1
    width = _width(points)
    for start in range(columns[0], columns[1], width):
        end = min(start + width, columns[1])
        column_points, column_vectors = _transposed(points, start, end), _transposed(right, start, end)
        distances, products = np.empty((2, end - start)), np.empty((2, end - start))
        d, e, g, h = distances[0], distances[1], products[0], products[1]
        for i in range(0, last + 1, 2):
            second = min(i + 1, last)
            _add_coordinates_of_two(kind, row_points[i], row_points[second], column_points, d, e)
            _add_coordinates_of_two(PRODUCT, row_vectors[i], row_vectors[second], column_vectors, g, h)
            _times_kernel(d, settings, g)
            _times_kernel(e, settings, h)
            assign(h, out[second, start - columns[0] : end - columns[0]])
            assign(g, out[i, start - columns[0] : end - columns[0]])
