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
