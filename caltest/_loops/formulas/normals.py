"""Gaussian kernels averaged over normal distributions, tile by tile.

Everything is in units of the kernel's bandwidths, so that the kernel is exp(-|y - y'|**2 / 2), and comes in stacks
(m, ...) of m tiles. Columns are transposed, so that the innermost loops run along contiguous columns and vectorise.
"""

import numpy as np

from caltest._basics.jit import jit
from caltest._basics.types import FloatArray
from caltest._loops.formulas.exponential import exp_of_negative
from caltest._loops.stacks import stack

LARGEST = 1e300
"""Variances above this are taken as this: the kernel is 0 to rounding for both."""


@jit
def scalar_tiles(
    row_means: FloatArray,
    row_variances: FloatArray,
    column_means: FloatArray,
    column_variances: FloatArray,
    out: FloatArray,
) -> None:
    """``c**-1/2 exp(-(m - m')**2 / (2 c))`` with ``c = 1 + v + v'``: (m, r) and (m, c) to ``out`` (m, r, c)."""
    for tile in range(out.shape[0]):
        n, w = column_means[tile], column_variances[tile]
        for i in range(out.shape[1]):
            m, v = row_means[tile, i], 1.0 + row_variances[tile, i]
            line = out[tile, i]
            for j in range(line.shape[0]):
                precision = 1.0 / np.sqrt(min(v + w[j], LARGEST))
                x = precision * (m - n[j])
                line[j] = precision * exp_of_negative(-0.5 * x * x)


@jit
def mixture_tiles(
    row_means: FloatArray,
    row_variances: FloatArray,
    row_weights: FloatArray,
    column_means: FloatArray,
    column_variances: FloatArray,
    column_weights: FloatArray,
    out: FloatArray,
) -> None:
    """``sum_ab w_a w_b`` times ``scalar_tiles`` of the components: rows (m, r, a), columns (m, b, c)."""
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
def diagonal_tiles(
    row_means: FloatArray,
    row_variances: FloatArray,
    column_means: FloatArray,
    column_variances: FloatArray,
    out: FloatArray,
) -> None:
    """The product of ``scalar_tiles`` over d coordinates: rows (m, r, d), columns (m, d, c)."""
    d = row_means.shape[2]
    determinant, square = np.empty(out.shape[2]), np.empty(out.shape[2])
    for tile in range(out.shape[0]):
        for i in range(out.shape[1]):
            determinant[:] = 1.0
            square[:] = 0.0
            for a in range(d):
                m, v = row_means[tile, i, a], 1.0 + row_variances[tile, i, a]
                n, w = column_means[tile, a], column_variances[tile, a]
                for j in range(square.shape[0]):
                    precision = 1.0 / np.sqrt(min(v + w[j], LARGEST))
                    x = precision * (m - n[j])
                    determinant[j] *= precision
                    square[j] += x * x
            line = out[tile, i]
            for j in range(line.shape[0]):
                line[j] = determinant[j] * exp_of_negative(-0.5 * square[j])


@jit
def full_tiles(
    row_means: FloatArray,
    row_covariances: FloatArray,
    column_means: FloatArray,
    column_covariances: FloatArray,
    out: FloatArray,
) -> None:
    """``|C|**-1/2 exp(-(m - m')' C**-1 (m - m') / 2)`` with ``C = I + S + S'``.

    Means (m, r, d) and (m, d, c), lower triangles of the covariance matrices row by row (m, r, t) and (m, t, c) with
    t = d (d + 1) / 2. The Cholesky factors of all columns are computed at once, with the difference of the means as a
    further row of the matrix.
    """
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


def scalar(rows: tuple[FloatArray, FloatArray], columns: tuple[FloatArray, FloatArray]) -> FloatArray:
    """``scalar_tiles`` of means (..., r) and variances (..., r) with those of the columns: (..., r, c)."""
    batch = np.broadcast_shapes(rows[0].shape[:-1], columns[0].shape[:-1])
    (m, v), (n, w) = ([stack(values, batch, 1) for values in side] for side in (rows, columns))
    out = np.empty((*batch, m.shape[-1], n.shape[-1]))
    scalar_tiles(m, v, n, w, out.reshape(-1, *out.shape[-2:]))
    return out


Components = tuple[FloatArray, FloatArray, FloatArray]
"""Means, variances and weights."""


def mixture(rows: Components, columns: Components) -> FloatArray:
    """``mixture_tiles`` of components (..., r, a) and (..., c, b): (..., r, c)."""
    batch = np.broadcast_shapes(rows[0].shape[:-2], columns[0].shape[:-2])
    m, v, p = (stack(values, batch, 2) for values in rows)
    n, w, q = (stack(values.swapaxes(-1, -2), batch, 2) for values in columns)
    out = np.empty((*batch, m.shape[-2], n.shape[-1]))
    mixture_tiles(m, v, p, n, w, q, out.reshape(-1, *out.shape[-2:]))
    return out


def diagonal(rows: tuple[FloatArray, FloatArray], columns: tuple[FloatArray, FloatArray]) -> FloatArray:
    """``diagonal_tiles`` of means (..., r, d) and variances (..., r, d) with those of the columns: (..., r, c)."""
    batch = np.broadcast_shapes(rows[0].shape[:-2], columns[0].shape[:-2])
    m, v = (stack(values, batch, 2) for values in rows)
    n, w = (stack(values.swapaxes(-1, -2), batch, 2) for values in columns)
    out = np.empty((*batch, m.shape[-2], n.shape[-1]))
    diagonal_tiles(m, v, n, w, out.reshape(-1, *out.shape[-2:]))
    return out


def full(rows: tuple[FloatArray, FloatArray], columns: tuple[FloatArray, FloatArray]) -> FloatArray:
    """``full_tiles`` of means (..., r, d) and covariances (..., r, d, d) with those of the columns: (..., r, c)."""
    batch = np.broadcast_shapes(rows[0].shape[:-2], columns[0].shape[:-2])
    a, b = np.tril_indices(rows[0].shape[-1])
    m, v = stack(rows[0], batch, 2), stack(rows[1][..., a, b], batch, 2)
    n = stack(columns[0].swapaxes(-1, -2), batch, 2)
    w = stack(columns[1][..., a, b].swapaxes(-1, -2), batch, 2)
    out = np.empty((*batch, m.shape[-2], n.shape[-1]))
    full_tiles(m, v, n, w, out.reshape(-1, *out.shape[-2:]))
    return out
