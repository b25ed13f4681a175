"""h of predictions with finitely many outcomes between rows and columns of a sample, without large temporaries.

``h_ij = f(factor d_ij) left_i . right_j`` with the distance d of the points, a decreasing function f and, for the target
part, residuals: all for two rows at a time, whose lines of distances and products stay in the cache.
"""

import numpy as np

from caltest._jit import jit
from caltest._loops.exponential import exp_of_negative
from caltest._loops.tiles import PRODUCT, _add_four
from caltest._types import FloatArray


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
    rows[:, :d] = vectors[start:stop]
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
def _times_kernel(
    distances: FloatArray, scale: float, root: bool, power: int, factor: float, products: FloatArray
) -> None:
    """Multiply the products by the kernel of the distances."""
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
    """Sum from ``first`` on, in eight parts, which do not wait for each other."""
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    stop = first + (values.shape[0] - first) // 8 * 8
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
    columns: tuple[int, int],
    kind: int,
    scale: float,
    root: bool,
    power: int,
    factor: float,
) -> tuple[float, float]:
    """Sums of h over the pairs i < j of a tile, and over its diagonal.

    ``rows`` and ``columns`` are where the tile begins and ends; they are equal or do not overlap. The other arguments
    are those of ``blocks.block_sums``.
    """
    on_diagonal = rows[0] == columns[0]
    row_points, row_vectors = _padded(points, *rows), _padded(left, *rows)
    column_points, column_vectors = _transposed(points, *columns), _transposed(right, *columns)
    size, last = columns[1] - columns[0], rows[1] - rows[0] - 1
    distances, products = np.empty((2, size)), np.empty((2, size))
    pairs = diagonal = 0.0
    d, e, g, h = distances[0], distances[1], products[0], products[1]
    for i in range(0, last + 1, 2):
        second = min(i + 1, last)
        _add_coordinates_of_two(kind, row_points[i], row_points[second], column_points, d, e)
        _add_coordinates_of_two(PRODUCT, row_vectors[i], row_vectors[second], column_vectors, g, h)
        _times_kernel(d, scale, root, power, factor, g)
        _times_kernel(e, scale, root, power, factor, h)
        if on_diagonal:
            diagonal += g[i] + (h[second] if i < last else 0.0)
        pairs += _sum(g, i + 1 if on_diagonal else 0)
        if i < last:
            pairs += _sum(h, i + 2 if on_diagonal else 0)
    return pairs, diagonal


@jit
def finite_tile(
    points: FloatArray,
    left: FloatArray,
    right: FloatArray,
    rows: tuple[int, int],
    columns: tuple[int, int],
    kind: int,
    scale: float,
    root: bool,
    power: int,
    factor: float,
    out: FloatArray,
) -> None:
    """Write h between the rows and the columns to ``out``; the arguments are those of ``finite_sums``."""
    row_points, row_vectors = _padded(points, *rows), _padded(left, *rows)
    column_points, column_vectors = _transposed(points, *columns), _transposed(right, *columns)
    last = rows[1] - rows[0] - 1
    distances, spare = np.empty((2, out.shape[1])), np.empty(out.shape[1])
    for i in range(0, last + 1, 2):
        second = min(i + 1, last)
        d, e, g, h = distances[0], distances[1], out[i], out[second] if i < last else spare
        _add_coordinates_of_two(kind, row_points[i], row_points[second], column_points, d, e)
        _add_coordinates_of_two(PRODUCT, row_vectors[i], row_vectors[second], column_vectors, g, h)
        _times_kernel(d, scale, root, power, factor, g)
        _times_kernel(e, scale, root, power, factor, h)
