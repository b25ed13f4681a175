"""Sums of Gaussian kernels over pairs for many redraws of real targets at once.

Targets come as (n, B) arrays, one column a redraw, so that the innermost loop runs over the redraws of one pair
and vectorises, which a call of the library's exponential function would prevent.
"""

import numpy as np

from caltest._jit import jit
from caltest._loops.exponential import exp_of_negative
from caltest._types import FloatArray


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
    means_and_precisions = row_means, row_precisions, column_means, column_precisions
    sums, lines = np.zeros((tiles.shape[0], rows.shape[1])), np.empty((tiles.shape[0], rows.shape[1]))
    _add_smoothed(tiles, precision, rows, columns, *means_and_precisions, skip_lower, lines, lines[0].copy(), sums)
    return sums


@jit
def _add_smoothed(
    tiles: FloatArray,
    precision: float,
    rows: FloatArray,
    columns: FloatArray,
    row_means: FloatArray,
    row_precisions: FloatArray,
    column_means: FloatArray,
    column_precisions: FloatArray,
    skip_lower: bool,
    lines: FloatArray,
    values: FloatArray,
    sums: FloatArray,
) -> None:
    n_tiles, n_redraws = sums.shape
    for i in range(tiles.shape[1]):
        m, r = row_means[i], row_precisions[i]
        for tile in range(n_tiles):
            for b in range(n_redraws):
                lines[tile, b] = 0.0
        for j in range(i + 1 if skip_lower else 0, tiles.shape[2]):
            n, s = column_means[j], column_precisions[j]
            one, two = r / precision, s / precision
            for b in range(n_redraws):
                y, z = rows[i, b], columns[j, b]
                d, e, f = precision * (y - z), r * (m - z), s * (n - y)
                values[b] = (
                    exp_of_negative(-0.5 * d * d)
                    - one * exp_of_negative(-0.5 * e * e)
                    - two * exp_of_negative(-0.5 * f * f)
                )
            for tile in range(n_tiles):
                weight = tiles[tile, i, j]
                for b in range(n_redraws):
                    lines[tile, b] += weight * values[b]
        for tile in range(n_tiles):
            for b in range(n_redraws):
                sums[tile, b] += lines[tile, b]


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
