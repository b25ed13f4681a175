"""Sums of Gaussian kernels over pairs for many redraws of real targets at once.

Targets come as (n, B) arrays, one column a redraw, so that the innermost loop runs over the redraws of one pair
and vectorises, which a call of the library's exponential function would prevent.
"""

import numpy as np

from caltest._jit import jit
from caltest._types import FloatArray


@jit
def exp_of_negative(x: float) -> float:
    """``exp(x)`` for x <= 0 with an absolute error of a few 1e-16.

    ``exp(t) - 1`` for t = x / 4096 by its Taylor series, then twelve times squared in the form q (q + 2), which
    keeps the error absolute. Below -708, where exp(x) < 1e-307, the value of -708 is taken.
    """
    t = max(x, -708.0) * (1.0 / 4096.0)
    q = 1.0 / 40320.0 + t * (1.0 / 362880.0 + t * (1.0 / 3628800.0))
    q = 1.0 / 120.0 + t * (1.0 / 720.0 + t * (1.0 / 5040.0 + t * q))
    q = t * (1.0 + t * (1.0 / 2.0 + t * (1.0 / 6.0 + t * (1.0 / 24.0 + t * q))))
    for _ in range(12):
        q *= q + 2.0
    return 1.0 + q


@jit
def smoothed_gaussian_sums(
    tile: FloatArray,
    precision: float,
    rows: FloatArray,
    columns: FloatArray,
    row_means: FloatArray,
    row_precisions: FloatArray,
    column_means: FloatArray,
    column_precisions: FloatArray,
    skip_lower: bool,
) -> FloatArray:
    """``sum_ij tile[i, j] (k(y_i, y_j) - E k(Z_i, y_j) - E k(y_i, Z_j))`` for each redraw.

    Over i < j only if ``skip_lower``. With g(x) = exp(-x**2 / 2) the kernel is k(y, y') = g(precision (y - y')), and
    E k(Z, y) = r / precision g(r (m - y)) for Z normal with mean m, where 1 / r**2 is 1 / precision**2 plus the
    variance of Z.
    """
    sums = np.zeros(rows.shape[1])
    for i in range(tile.shape[0]):
        y, m, r = rows[i], row_means[i], row_precisions[i]
        line = np.zeros(rows.shape[1])
        for j in range(i + 1 if skip_lower else 0, tile.shape[1]):
            z, n, s = columns[j], column_means[j], column_precisions[j]
            weight, one, two = tile[i, j], tile[i, j] * (r / precision), tile[i, j] * (s / precision)
            for b in range(line.shape[0]):
                d, e, f = precision * (y[b] - z[b]), r * (m - z[b]), s * (n - y[b])
                line[b] += (
                    weight * exp_of_negative(-0.5 * d * d)
                    - one * exp_of_negative(-0.5 * e * e)
                    - two * exp_of_negative(-0.5 * f * f)
                )
        sums += line
    return sums
