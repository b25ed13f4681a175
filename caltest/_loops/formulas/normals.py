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

FEW = 2**15
"""Pairs of a small tile, such as all rows and their landmarks."""

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
            # Loops and places compile faster than parts of arrays and assignments to them.
            for j in range(out.shape[2]):
                out[tile, i, j], squares[j] = 1.0, 0.0
            for a in range(row_means.shape[2]):
                m, v = row_means[tile, i, a], 1.0 + row_variances[tile, i, a]
                for j in range(out.shape[2]):
                    precision = 1.0 / np.sqrt(min(v + column_variances[tile, a, j], LARGEST))
                    x = precision * (m - column_means[tile, a, j])
                    out[tile, i, j] *= precision
                    squares[j] += x * x
            for j in range(out.shape[2]):
                out[tile, i, j] *= exp_of_negative(-0.5 * squares[j])


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
def full_tiles(rows: Moments, columns: Moments, factor: FloatArray, work: FloatArray, out: FloatArray) -> None:
    """``|C|**-1/2 exp(-(m - m')' C**-1 (m - m') / 2)`` with ``C = I + S + S'``.

    Means (m, r, d) and (m, d, c), lower triangles of the covariance matrices row by row (m, r, t) and (m, t, c) with
    t = d (d + 1) / 2. The Cholesky factors (t, c) of all columns are computed at once, with the difference of the means
    as a further row of the matrix. Beside the factors ``work`` (d + 3, c) has room for these, and for determinants,
    squares and inverse pivots.
    """
    (row_means, row_covariances), (column_means, column_covariances) = rows, columns
    d, c = row_means.shape[2], out.shape[2]
    determinant, square, inverse = d, d + 1, d + 2
    for tile in range(out.shape[0]):
        for i in range(out.shape[1]):
            for a in range(d):
                m = row_means[tile, i, a]
                for j in range(c):
                    work[a, j] = m - column_means[tile, a, j]
                for b in range(a + 1):
                    place = _place(a, b)
                    value = row_covariances[tile, i, place] + (1.0 if a == b else 0.0)
                    for j in range(c):
                        factor[place, j] = value + column_covariances[tile, place, j]
            for j in range(c):
                work[determinant, j], work[square, j] = 1.0, 0.0
            for k in range(d):
                pivot = _place(k, k)
                for j in range(c):
                    scale = 1.0 / np.sqrt(factor[pivot, j])
                    x = work[k, j] * scale
                    work[inverse, j], work[k, j] = scale, x
                    work[determinant, j] *= scale
                    work[square, j] += x * x
                for a in range(k + 1, d):
                    below = _place(a, k)
                    for j in range(c):
                        factor[below, j] *= work[inverse, j]
                        work[a, j] -= factor[below, j] * work[k, j]
                for a in range(k + 1, d):
                    below = _place(a, k)
                    for b in range(k + 1, a + 1):
                        entry, other = _place(a, b), _place(b, k)
                        for j in range(c):
                            factor[entry, j] -= factor[below, j] * factor[other, j]
            for j in range(c):
                out[tile, i, j] = work[determinant, j] * exp_of_negative(-0.5 * work[square, j])


@jit
def _place(row: int, column: int) -> int:
    """Where an entry of the lower triangle is."""
    return row * (row + 1) // 2 + column


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
    d, c = rows[0].shape[-1], columns[0].shape[-2]
    a, b = np.tril_indices(d)
    (m, v), (n, w) = rows, columns
    work = np.empty((a.size, c)), np.empty((d + 3, c))
    return over_pairs(full_tiles, (m, v[..., a, b]), (n, w[..., a, b]), 2, *work)
