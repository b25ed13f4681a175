"""h of predictions with finitely many outcomes between rows and columns of a sample, without large temporaries.

``h_ij = f(d_ij) left_i . right_j`` with the distance d of the points, a kernel f and, for the target part, residuals:
all for two rows at a time, whose lines of distances and products stay in the cache.
"""

from typing import NamedTuple

import numpy as np

from caltest._basics.jit import jit
from caltest._basics.numerics import FloatArray
from caltest._loops.formulas.kernels import write_kernel
from caltest._loops.pair_sums.tiles import CITYBLOCK, SQUARED_EUCLIDEAN, add_absolute, add_products, add_squares, padded
from caltest._loops.stacks import frozen, sum_of_products

CACHED = 2**15
"""Numbers in the columns of a tile, which stay in the cache."""

WIDEST = 512
"""Columns that are taken together at most."""

PAIRS = 2**12
"""Pairs in small blocks that are taken together."""


class Settings(NamedTuple):
    """The kernel of two points: ``f(u)`` as in ``caltest._loops.formulas.kernels``."""

    kind: int
    """What is summed over the coordinates."""
    root: bool
    """Whether the distance is the root of the sum."""
    function: int
    """The kind of f."""
    factor: float
    """Of the distance."""
    square: bool
    """Whether u is a square."""
    shape: float


Parts = tuple[FloatArray, FloatArray, FloatArray]
"""Points (n, d), left and right (n, k)."""

Range = tuple[int, int]
"""Where rows or columns begin and end."""


def finite_sums(parts: Parts, rows: Range, stop: int, settings: Settings) -> tuple[float, float]:
    """Sums of h over the pairs i < j with i in a range of rows and j < stop, and over h_ii for these rows."""
    (points, left, right), sums = parts, np.zeros(2)
    lines = padded(points[slice(*rows)]), padded(left[slice(*rows)])
    _add_sums(settings, (frozen(points), frozen(right)), lines, *rows, stop, _work(points, right, stop - rows[0]), sums)
    return float(sums[0]), float(sums[1])


def finite_tile(parts: Parts, rows: Range, columns: Range, settings: Settings, out: FloatArray) -> None:
    """Write h between rows and columns to ``out`` (r, c)."""
    points, left, right = parts
    lines = padded(points[slice(*rows)]), padded(left[slice(*rows)])
    work = _work(points, right, columns[1] - columns[0])
    _write_tile(settings, (frozen(points), frozen(right)), lines, *columns, work, out)


Vectors = tuple[FloatArray, FloatArray]
"""Points and vectors of observations."""

Work = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""Columns that are taken together: their points and vectors, and the distances and products of two rows with them."""


def _work(points: FloatArray, right: FloatArray, n: int) -> Work:
    width = min(max(64, min(WIDEST, CACHED // points.shape[1])), max(n, 1))
    column_points, column_vectors = (np.zeros((-(-one.shape[1] // 4) * 4, width)) for one in (points, right))
    return column_points, column_vectors, np.empty((2, width)), np.empty((2, width))


@jit
def _transpose(vectors: FloatArray, start: int, n: int, columns: FloatArray) -> None:
    """Write n vectors of (n, d) from ``start`` on as columns."""
    for j in range(n):
        for t in range(vectors.shape[1]):
            columns[t, j] = vectors[start + j, t]


@jit
def _write_two(settings: Settings, rows: Vectors, i: int, n: int, work: Work) -> None:
    """Kernel values and products of rows i and i + 1 with n columns."""
    (row_points, row_vectors), (column_points, column_vectors, values, products) = rows, work
    zero = np.int64(0)
    if settings.kind == CITYBLOCK:
        add_absolute(row_points, i, zero, row_points.shape[1], column_points, zero, n, values, zero)
    elif settings.kind == SQUARED_EUCLIDEAN:
        add_squares(row_points, i, zero, row_points.shape[1], column_points, zero, n, values, zero)
    else:
        raise ValueError("unknown kind of sum")
    add_products(row_vectors, i, zero, row_vectors.shape[1], column_vectors, zero, n, products, zero)
    for one in range(2):
        line = values[one, :n]
        if settings.root:
            for j in range(n):
                line[j] = np.sqrt(line[j])
        write_kernel(settings.function, line, settings.factor, settings.square, settings.shape)


@jit
def _add_sums(
    settings: Settings, vectors: Vectors, rows: Vectors, begin: int, end: int, stop: int, work: Work, sums: FloatArray
) -> None:
    columns, others, values, products = work
    for start in range(begin, stop, columns.shape[1]):
        n = min(columns.shape[1], stop - start)
        _transpose(vectors[0], start, n, columns)
        _transpose(vectors[1], start, n, others)
        for i in range(begin, end, 2):
            if i >= start + n:
                break
            _write_two(settings, rows, i - begin, n, work)
            for one in range(2 if i + 1 < end else 1):
                # Where the row itself is among the columns, and from where on its partners are.
                itself = i + one - start
                if 0 <= itself < n:
                    sums[1] += values[one, itself] * products[one, itself]
                first = itself + 1 if itself >= 0 else 0
                sums[0] += sum_of_products(values[one, first:n], products[one, first:n])


@jit
def _write_tile(
    settings: Settings, vectors: Vectors, rows: Vectors, begin: int, stop: int, work: Work, out: FloatArray
) -> None:
    columns, others, values, products = work
    for start in range(begin, stop, columns.shape[1]):
        n = min(columns.shape[1], stop - start)
        _transpose(vectors[0], start, n, columns)
        _transpose(vectors[1], start, n, others)
        for i in range(0, out.shape[0], 2):
            _write_two(settings, rows, i, n, work)
            for one in range(2 if i + 1 < out.shape[0] else 1):
                for j in range(n):
                    out[i + one, start - begin + j] = values[one, j] * products[one, j]


def block_sums(parts: Parts, settings: Settings, block_size: int) -> FloatArray:
    """``sum_{i<j} h_ij`` of each block of consecutive observations, too small for tiles."""
    sums = np.zeros(parts[0].shape[0] // block_size)
    n_pairs = block_size * (block_size - 1) // 2
    together = max(1, min(PAIRS // max(1, n_pairs), sums.size))
    work = np.empty(together * n_pairs), np.empty(together * n_pairs)
    points, left, right = parts
    _write_block_sums(settings, (frozen(points), frozen(left), frozen(right)), block_size, together, work, sums)
    return sums


@jit
def _write_block_sums(
    settings: Settings, parts: Parts, block_size: int, together: int, work: Vectors, sums: FloatArray
) -> None:
    (points, left, right), (values, products) = parts, work
    if settings.kind != CITYBLOCK and settings.kind != SQUARED_EUCLIDEAN:
        raise ValueError("unknown kind of sum")
    n_pairs = block_size * (block_size - 1) // 2
    for start in range(0, sums.shape[0], together):
        stop = start + together if start + together < sums.shape[0] else sums.shape[0]
        pair = 0
        for m in range(start, stop):
            for i in range(m * block_size, (m + 1) * block_size):
                for j in range(i + 1, (m + 1) * block_size):
                    total = product = 0.0
                    if settings.kind == CITYBLOCK:
                        for t in range(points.shape[1]):
                            total += abs(points[i, t] - points[j, t])
                    else:
                        for t in range(points.shape[1]):
                            total += (points[i, t] - points[j, t]) ** 2
                    for t in range(left.shape[1]):
                        product += left[i, t] * right[j, t]
                    values[pair] = np.sqrt(total) if settings.root else total
                    products[pair] = product
                    pair += 1
        write_kernel(settings.function, values[:pair], settings.factor, settings.square, settings.shape)
        for m in range(start, stop):
            for p in range((m - start) * n_pairs, (m - start + 1) * n_pairs):
                sums[m] += values[p] * products[p]
