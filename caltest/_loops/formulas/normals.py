"""Gaussian kernels averaged over normal distributions, tile by tile.

Everything is in units of the kernel's bandwidths, so that the kernel is exp(-|y - y'|**2 / 2), and comes in stacks
(m, ...) of m tiles. Columns are transposed, so that the innermost loops run along contiguous columns and vectorise.
"""

import numpy as np

from caltest._basics.jit import jit
from caltest._basics.numerics import FloatArray
from caltest._loops.formulas.exponential import LOWEST, exp_of_negative
from caltest._loops.stacks import over_pairs

LARGEST = 1e300
"""Variances above this are taken as this: the kernel is 0 to rounding for both."""

FEW = 2**14
"""Pairs of a small tile."""

Moments = tuple[FloatArray, FloatArray]
"""Means, and variances or covariances."""

Components = tuple[FloatArray, FloatArray, FloatArray]
"""Means, variances and weights."""


@jit
def diagonal_tiles(rows: Moments, columns: Moments, squares: FloatArray, out: FloatArray) -> None:
    """``prod_a c_a**-1/2 exp(-(m_a - m'_a)**2 / (2 c_a))`` with ``c = 1 + v + v'``.

    Means and variances of the rows (m, r, d) and columns (m, d, c), to ``out`` (m, r, c). Squares (c,) are work space.
    """
    (row_means, row_variances), (column_means, column_variances) = rows, columns
    for tile in range(out.shape[0]):
        for i in range(out.shape[1]):
            line = out[tile, i]
            # A loop compiles faster than the assignment of a number to an array.
            for j in range(line.shape[0]):
                line[j], squares[j] = 1.0, 0.0
            for a in range(row_means.shape[2]):
                m, v = row_means[tile, i, a], 1.0 + row_variances[tile, i, a]
                n, w = column_means[tile, a], column_variances[tile, a]
                for j in range(line.shape[0]):
                    precision = 1.0 / np.sqrt(min(v + w[j], LARGEST))
                    x = precision * (m - n[j])
                    line[j] *= precision
                    squares[j] += x * x
            for j in range(line.shape[0]):
                line[j] *= exp_of_negative(-0.5 * squares[j])


@jit
def mixture_tiles(rows: Components, columns: Components, out: FloatArray) -> None:
    """``sum_ab w_a w_b`` times ``diagonal_tiles`` of the components, numbers: rows (m, r, a), columns (m, b, c)."""
    (row_means, row_variances, row_weights), (column_means, column_variances, column_weights) = rows, columns
    for tile in range(out.shape[0]):
        for i in range(out.shape[1]):
            line = out[tile, i]
            line[:] = 0.0
            for a in range(row_means.shape[2]):
                m, v = row_means[tile, i, a], 1.0 + row_variances[tile, i, a]
                for b in range(column_means.shape[1]):
                    n, w, weights = column_means[tile, b], column_variances[tile, b], column_weights[tile, b]
                    weight = row_weights[tile, i, a]
                    for j in range(line.shape[0]):
                        precision = 1.0 / np.sqrt(min(v + w[j], LARGEST))
                        x = precision * (m - n[j])
                        line[j] += weight * weights[j] * (precision * exp_of_negative(-0.5 * x * x))


@jit
def full_tiles(rows: Moments, columns: Moments, out: FloatArray) -> None:
    """``|C|**-1/2 exp(-(m - m')' C**-1 (m - m') / 2)`` with ``C = I + S + S'``.

    Means (m, r, d) and (m, d, c), lower triangles of the covariance matrices row by row (m, r, t) and (m, t, c) with
    t = d (d + 1) / 2. The Cholesky factors of all columns are computed at once, with the difference of the means as a
    further row of the matrix.
    """
    (row_means, row_covariances), (column_means, column_covariances) = rows, columns
    d, c = row_means.shape[2], out.shape[2]
    factor = np.empty((row_covariances.shape[2], c))
    difference = np.empty((d, c))
    determinant, square, inverse = np.empty(c), np.empty(c), np.empty(c)
    for tile in range(out.shape[0]):
        for i in range(out.shape[1]):
            _fill(row_covariances[tile, i], column_covariances[tile], d, factor)
            for a in range(d):
                m, n, line = row_means[tile, i, a], column_means[tile, a], difference[a]
                for j in range(c):
                    line[j] = m - n[j]
            determinant[:] = 1.0
            square[:] = 0.0
            for k in range(d):
                pivot, x = factor[_place(k, k)], difference[k]
                for j in range(c):
                    inverse[j] = 1.0 / np.sqrt(pivot[j])
                    determinant[j] *= inverse[j]
                    x[j] *= inverse[j]
                    square[j] += x[j] * x[j]
                for a in range(k + 1, d):
                    below, rest = factor[_place(a, k)], difference[a]
                    for j in range(c):
                        below[j] *= inverse[j]
                        rest[j] -= below[j] * x[j]
                for a in range(k + 1, d):
                    below = factor[_place(a, k)]
                    for b in range(k + 1, a + 1):
                        entry, other = factor[_place(a, b)], factor[_place(b, k)]
                        for j in range(c):
                            entry[j] -= below[j] * other[j]
            line = out[tile, i]
            for j in range(c):
                line[j] = determinant[j] * exp_of_negative(-0.5 * square[j])


@jit
def _place(row: int, column: int) -> int:
    """Where an entry of the lower triangle is."""
    return row * (row + 1) // 2 + column


@jit
def _fill(one: FloatArray, others: FloatArray, d: int, out: FloatArray) -> None:
    """``I + S + S'`` for one S and each of the others."""
    for a in range(d):
        for b in range(a + 1):
            place = _place(a, b)
            value, other, line = one[place] + (1.0 if a == b else 0.0), others[place], out[place]
            for j in range(line.shape[0]):
                line[j] = value + other[j]


def scalar(rows: Moments, columns: Moments) -> FloatArray:
    """``diagonal_tiles`` of means and variances of numbers (..., r) and (..., c): (..., r, c)."""
    (m, v), (n, w) = rows, columns
    return diagonal((m[..., None], v[..., None]), (n[..., None], w[..., None]))


def diagonal(rows: Moments, columns: Moments) -> FloatArray:
    """``diagonal_tiles`` of means and variances (..., r, d) and (..., c, d): (..., r, c)."""
    r, c = rows[0].shape[-2], columns[0].shape[-2]
    if rows[0].shape[-1] == 1 and r * c <= FEW:
        return _of_few_numbers(rows, columns)
    return over_pairs(diagonal_tiles, rows, columns, 2, np.empty(c))


def _of_few_numbers(rows: Moments, columns: Moments) -> FloatArray:
    """``diagonal`` for d = 1 by numpy, which takes less time for a small tile than to compile a loop."""
    m, v, n, w = (values[..., 0] for values in (*rows, *columns))
    precision = 1.0 / np.sqrt(np.minimum(1.0 + v[..., :, None] + w[..., None, :], LARGEST))
    x = precision * (m[..., :, None] - n[..., None, :])
    return np.asarray(precision * np.exp(np.maximum(-0.5 * x * x, LOWEST)))


def mixture(rows: Components, columns: Components) -> FloatArray:
    """``mixture_tiles`` of components (..., r, a) and (..., c, b): (..., r, c)."""
    return over_pairs(mixture_tiles, rows, columns, 2)


def full(rows: Moments, columns: Moments) -> FloatArray:
    """``full_tiles`` of means (..., r, d) and covariances (..., r, d, d) with those of the columns: (..., r, c)."""
    a, b = np.tril_indices(rows[0].shape[-1])
    (m, v), (n, w) = rows, columns
    return over_pairs(full_tiles, (m, v[..., a, b]), (n, w[..., a, b]), 2)
