"""Sums of Gaussian kernels over pairs for many redraws of real targets at once.

Targets come as (n, B) arrays, one column a redraw, so that the innermost loop runs over the redraws of one pair
and vectorises, which a call of the library's exponential function would prevent.
"""

import numpy as np

from caltest._jit import jit
from caltest._loops.exponential import exp_of_negative
from caltest._types import FloatArray


@jit
def smoothed_gaussian_sums(
    tiles: FloatArray,
    precision: float,
    rows: FloatArray,
    columns: FloatArray,
    row_means: FloatArray,
    row_precisions: FloatArray,
    column_means: FloatArray,
    column_precisions: FloatArray,
    skip_lower: bool,
) -> FloatArray:
    """``sum_ij tile[i, j] (k(y_i, y_j) - E k(Z_i, y_j) - E k(y_i, Z_j))`` for each tile (L, r, c) and redraw, (L, B).

    Over i < j only if ``skip_lower``. With g(x) = exp(-x**2 / 2) the kernel is k(y, y') = g(precision (y - y')), and
    E k(Z, y) = r / precision g(r (m - y)) for Z normal with mean m, where 1 / r**2 is 1 / precision**2 plus the
    variance of Z.
    """
    n_tiles, n_redraws = tiles.shape[0], rows.shape[1]
    sums = np.zeros((n_tiles, n_redraws))
    lines = np.empty((n_tiles, n_redraws))
    values = np.empty(n_redraws)
    for i in range(tiles.shape[1]):
        y, m, r = rows[i], row_means[i], row_precisions[i]
        lines[:] = 0.0
        for j in range(i + 1 if skip_lower else 0, tiles.shape[2]):
            z, n, s = columns[j], column_means[j], column_precisions[j]
            one, two = r / precision, s / precision
            for b in range(n_redraws):
                d, e, f = precision * (y[b] - z[b]), r * (m - z[b]), s * (n - y[b])
                values[b] = (
                    exp_of_negative(-0.5 * d * d)
                    - one * exp_of_negative(-0.5 * e * e)
                    - two * exp_of_negative(-0.5 * f * f)
                )
            for tile in range(n_tiles):
                weight, line = tiles[tile, i, j], lines[tile]
                for b in range(n_redraws):
                    line[b] += weight * values[b]
        sums += lines
    return sums


@jit
def gaussian_tile(
    means: FloatArray,
    scales: FloatArray,
    targets: FloatArray,
    precision: float,
    rows: tuple[int, int],
    columns: tuple[int, int],
    out: FloatArray,
) -> None:
    """Multiply ``out`` (r, c) by the target part of h for normal predictions and a Gaussian kernel of the targets.

    With scales in units of the kernel's width 1 / precision, and g(x) = exp(-x**2 / 2), it is::

        g(y - y') - g((m - y') / c) / c - g((m' - y) / c') / c' + g((m - m') / c'') / c''

    where differences are multiplied by the precision and c**2 = 1 + s**2, c'**2 = 1 + s'**2, c''**2 = 1 + s**2 + s'**2.
    """
    for i in range(rows[1] - rows[0]):
        m, y, s2 = means[rows[0] + i], targets[rows[0] + i], 1.0 + scales[rows[0] + i] ** 2
        one = 1.0 / np.sqrt(s2)
        n, z, t = means[columns[0] : columns[1]], targets[columns[0] : columns[1]], scales[columns[0] : columns[1]]
        line = out[i]
        for j in range(line.shape[0]):
            t2 = t[j] * t[j]
            two, both = 1.0 / np.sqrt(1.0 + t2), 1.0 / np.sqrt(s2 + t2)
            d, e = precision * (y - z[j]), precision * (m - z[j]) * one
            f, g = precision * (n[j] - y) * two, precision * (m - n[j]) * both
            line[j] *= (exp_of_negative(-0.5 * d * d) - one * exp_of_negative(-0.5 * e * e)) - (
                two * exp_of_negative(-0.5 * f * f) - both * exp_of_negative(-0.5 * g * g)
            )
