"""Sums of Gaussian kernels averaged over normal distributions of vectors, for many redraws of the targets at once.

Everything is in units of the kernel's bandwidths, so that the kernel is exp(-|y - y'|**2 / 2). Targets come as
(c, d, B) arrays, one column a redraw, so that the innermost loops run over the redraws and vectorise.
"""

import numpy as np

from caltest._jit import jit
from caltest._loops.exponential import exp_of_negative
from caltest._types import FloatArray


@jit
def _diagonal_squares(targets: FloatArray, mean: FloatArray, factor: FloatArray, out: FloatArray) -> None:
    """``sum_t (factor[t] (y[t, b] - mean[t]))**2`` for each redraw of a target (d, B), written to ``out`` (B,)."""
    out[:] = 0.0
    for t in range(mean.shape[0]):
        m, f, line = mean[t], factor[t], targets[t]
        for b in range(out.shape[0]):
            x = f * (line[b] - m)
            out[b] += x * x


@jit
def _full_squares(
    targets: FloatArray, mean: FloatArray, factor: FloatArray, differences: FloatArray, out: FloatArray
) -> None:
    """``|factor (y - mean)|**2`` with a lower triangular matrix, for each redraw of a target (d, B)."""
    out[:] = 0.0
    for t in range(mean.shape[0]):
        m, line, difference = mean[t], targets[t], differences[t]
        for b in range(out.shape[0]):
            difference[b] = line[b] - m
    coordinate = differences[-1]
    for t in range(mean.shape[0]):
        f, line = factor[t, 0], differences[0]
        for b in range(out.shape[0]):
            coordinate[b] = f * line[b]
        for s in range(1, t + 1):
            f, line = factor[t, s], differences[s]
            for b in range(out.shape[0]):
                coordinate[b] += f * line[b]
        for b in range(out.shape[0]):
            out[b] += coordinate[b] * coordinate[b]


@jit
def redrawn_expectation_sums(
    tiles: FloatArray, means: FloatArray, factors: FloatArray, heights: FloatArray, targets: FloatArray
) -> FloatArray:
    """``sum_ij tile[i, j] h_i exp(-|F_i (y_j - m_i)|**2 / 2)`` for each tile (L, r, c) and redraw: (L, B).

    Means m (r, d), heights h (r,), and lower triangular matrices F (r, d, d), or (r, 1, d) for diagonals of them.
    """
    n_tiles, n_redraws, d = tiles.shape[0], targets.shape[2], means.shape[1]
    is_full = factors.shape[1] > 1
    sums, lines = np.zeros((n_tiles, n_redraws)), np.empty((n_tiles, n_redraws))
    squares, values, differences = np.empty(n_redraws), np.empty(n_redraws), np.empty((d + 1, n_redraws))
    for i in range(tiles.shape[1]):
        lines[:] = 0.0
        for j in range(tiles.shape[2]):
            if (tiles[:, i, j] == 0.0).all():
                continue
            if is_full:
                _full_squares(targets[j], means[i], factors[i], differences, squares)
            else:
                _diagonal_squares(targets[j], means[i], factors[i, 0], squares)
            for b in range(n_redraws):
                values[b] = exp_of_negative(-0.5 * squares[b])
            for tile in range(n_tiles):
                weight, line = heights[i] * tiles[tile, i, j], lines[tile]
                for b in range(n_redraws):
                    line[b] += weight * values[b]
        sums += lines
    return sums
