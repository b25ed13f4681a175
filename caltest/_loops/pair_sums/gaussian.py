"""Sums of Gaussian kernels over pairs for many redraws of targets, numbers or vectors, at once.

Targets come as (n, B) arrays, one column a redraw, so that the innermost loop runs over the redraws of one pair
and vectorises, which a call of the library's exponential function would prevent.
"""

import numpy as np

from caltest._basics.jit import jit
from caltest._basics.numerics import FloatArray
from caltest._loops.formulas.exponential import exp_of_negative
from caltest._loops.formulas.kernels import exponential
from caltest._loops.stacks import Two, add_weighted, frozen, is_used

Side = tuple[FloatArray, FloatArray, FloatArray]
"""Targets (r, B) of rows or columns, and the means and precisions (r,) of their smoothed predictions."""

Range = tuple[int, int]
"""Where rows or columns begin and end."""


@jit
def gaussian_tile(vectors: Side, precision: float, rows: Range, columns: Range, out: FloatArray) -> None:
    """Multiply ``out`` (r, c) by the target part of h for normal predictions and a Gaussian kernel of the targets.

    Vectors are means, scales and targets (n,). With scales in units of the kernel's width 1 / precision, and
    g(x) = exp(-x**2 / 2), it is::

        g(y - y') - g((m - y') / c) / c - g((m' - y) / c') / c' + g((m - m') / c'') / c''

    where differences are multiplied by the precision and c**2 = 1 + s**2, c'**2 = 1 + s'**2, c''**2 = 1 + s**2 + s'**2.
    """
    means, scales, targets = vectors
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


def redrawn_expectation_sums(
    tiles: FloatArray, means: FloatArray, factors: FloatArray, heights: FloatArray, targets: FloatArray
) -> FloatArray:
    """``sum_ij tile[i, j] h_i exp(-|F_i (y_j - m_i)|**2 / 2)`` for each tile (L, r, c) and redraw: (L, B).

    Means m (r, d), heights h (r,), and lower triangular matrices F (r, d, d), or (r, 1, d) for diagonals of them.
    """
    n_tiles, n_redraws = tiles.shape[0], targets.shape[2]
    sums = np.zeros((n_tiles, n_redraws))
    work = np.empty(n_redraws), np.empty(n_redraws)
    law = frozen(means), frozen(factors)
    _add_expectations(frozen(tiles * heights[:, None]), law, frozen(targets), False, work, sums)
    return sums


@jit
def _add_expectations(
    tiles: FloatArray, law: Two, targets: FloatArray, square: bool, work: Two, sums: FloatArray
) -> None:
    """``square`` is False: with a constant ``exponential`` becomes a part of this loop, which is slower then."""
    (means, factors), (values, coordinate) = law, work
    n_redraws = sums.shape[1]
    is_full = factors.shape[1] > 1
    for i in range(tiles.shape[1]):
        for j in range(tiles.shape[2]):
            if not is_used(tiles, i, j):
                continue
            for b in range(n_redraws):
                values[b] = 0.0
            for t in range(means.shape[1]):
                m, f = means[i, t], factors[i, t if is_full else 0, t]
                if not is_full or t == 0:
                    for b in range(n_redraws):
                        x = f * (targets[j, t, b] - m)
                        values[b] += x * x
                    continue
                for b in range(n_redraws):
                    coordinate[b] = f * (targets[j, t, b] - m)
                for s in range(t):
                    m, f = means[i, s], factors[i, t, s]
                    for b in range(n_redraws):
                        coordinate[b] += f * (targets[j, s, b] - m)
                for b in range(n_redraws):
                    values[b] += coordinate[b] * coordinate[b]
            exponential(values, 0.5, square, 1.0)
            add_weighted(tiles, i, j, values, sums)
