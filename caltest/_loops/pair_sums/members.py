"""Sums of functions of a distance over all pairs of points of two groups, for many groups, without arrays of all pairs.

The points of all columns lie side by side, so the innermost loop runs over all of them for one point of a row and
vectorises.
"""

from typing import TypeAlias

import numpy as np

from caltest._basics.jit import jit
from caltest._basics.numerics import FloatArray
from caltest._loops.formulas.kernels import write_kernel

CACHED = 2**13
"""Numbers of the columns that stay in the cache."""

Settings: TypeAlias = tuple[int, float, bool, FloatArray]
"""Kind of f and its shape, as in ``kernels``; whether u is a root of squares; and factors (d,) of differences."""

Weighted: TypeAlias = tuple[FloatArray, FloatArray]
"""Points and their weights."""


@jit
def _add(weight: float, values: FloatArray, out: FloatArray) -> None:
    for q in range(values.shape[0]):
        out[q] += weight * values[q]


@jit
def _write_values(settings: Settings, point: FloatArray, columns: FloatArray, out: FloatArray) -> None:
    """``f(u)`` of a point (d,) and all columns (d, q), written to ``out`` (q,)."""
    (kind, shape, root, factors), last = settings, point.shape[0] - 1
    for t in range(last + 1):
        a, c, line = point[t], factors[t], columns[t]
        if t == 0:
            for q in range(out.shape[0]):
                out[q] = (c * (a - line[q])) ** 2
        elif t < last or not root:
            for q in range(out.shape[0]):
                out[q] += (c * (a - line[q])) ** 2
        else:
            for q in range(out.shape[0]):
                out[q] = np.sqrt(out[q] + (c * (a - line[q])) ** 2)
    if root and last == 0:
        for q in range(out.shape[0]):
            out[q] = np.sqrt(out[q])
    write_kernel(kind, out, 1.0, np.bool_(False), shape)


@jit
def pair_sums(settings: Settings, row_points: Weighted, column_points: Weighted, out: FloatArray) -> None:
    """Write ``sum_ab u_a v_b f(|factors (x_ia - y_jb)|)`` to ``out`` (B, r, c).

    For rows (B, r, m, d) with weights u (m,), and columns (B, c, m', d) with weights v (m',).
    """
    (rows, row_weights), (columns, column_weights) = row_points, column_points
    n_rows, m, d = rows.shape[1:]
    n_columns, k = columns.shape[1:3]
    width = max(1, CACHED // (k * (d + 2)))
    for batch in range(rows.shape[0]):
        for start in range(0, n_columns, width):
            size = min(width, n_columns - start)
            side_by_side = np.empty((d, k, size))
            for t in range(d):
                for b in range(k):
                    for j in range(size):
                        side_by_side[t, b, j] = columns[batch, start + j, b, t]
            lines = side_by_side.reshape(d, k * size)
            values, sums = np.empty(k * size), np.empty((k, size))
            total = sums.reshape(k * size)
            for i in range(n_rows):
                total[:] = 0.0
                for a in range(m):
                    _write_values(settings, rows[batch, i, a], lines, values)
                    _add(row_weights[a], values, total)
                for j in range(size):
                    out[batch, i, start + j] = 0.0
                for b in range(k):
                    for j in range(size):
                        out[batch, i, start + j] += column_weights[b] * sums[b, j]


@jit
def _write_redrawn_values(settings: Settings, y: FloatArray, z: FloatArray, out: FloatArray) -> None:
    """``f(u)`` of two targets (d, B) for each redraw, written to ``out`` (B,)."""
    kind, shape, root, factors = settings
    for t in range(y.shape[0]):
        c, one, two = factors[t], y[t], z[t]
        if t == 0:
            for b in range(out.shape[0]):
                out[b] = (c * (one[b] - two[b])) ** 2
        else:
            for b in range(out.shape[0]):
                out[b] += (c * (one[b] - two[b])) ** 2
    if root:
        for b in range(out.shape[0]):
            out[b] = np.sqrt(out[b])
    write_kernel(kind, out, 1.0, np.bool_(False), shape)


@jit
def redrawn_sums(
    settings: Settings, tiles: FloatArray, rows: FloatArray, columns: FloatArray, skip_lower: bool
) -> FloatArray:
    """``sum_ij tile[i, j] f(|factors (y_i - z_j)|)`` for each tile (L, r, c) and redraw, (L, B).

    The targets y (r, d, B) and z (c, d, B) have a column for each redraw. Over i < j only if ``skip_lower``.
    """
    n_tiles, n_redraws = tiles.shape[0], rows.shape[2]
    sums, lines = np.zeros((n_tiles, n_redraws)), np.empty((n_tiles, n_redraws))
    values = np.empty(n_redraws)
    for i in range(tiles.shape[1]):
        lines[:] = 0.0
        for j in range(i + 1 if skip_lower else 0, tiles.shape[2]):
            _write_redrawn_values(settings, rows[i], columns[j], values)
            for tile in range(n_tiles):
                _add(tiles[tile, i, j], values, lines[tile])
        sums += lines
    return sums


@jit
def redrawn_member_sums(settings: Settings, tiles: FloatArray, members: FloatArray, columns: FloatArray) -> FloatArray:
    """``sum_ij tile[i, j] sum_a f(|factors (x_ia - z_j)|)`` for each tile (L, r, c) and redraw, (L, B).

    The points x (r, m, d) are the same for all redraws, the targets z (c, d, B) have a column for each.
    """
    n_tiles, n_redraws = tiles.shape[0], columns.shape[2]
    sums, lines = np.zeros((n_tiles, n_redraws)), np.empty((n_tiles, n_redraws))
    values, sum_of_members = np.empty(n_redraws), np.empty(n_redraws)
    for i in range(tiles.shape[1]):
        lines[:] = 0.0
        for j in range(tiles.shape[2]):
            sum_of_members[:] = 0.0
            if (tiles[:, i, j] == 0.0).all():
                continue
            for a in range(members.shape[1]):
                _write_values(settings, members[i, a], columns[j], values)
                _add(1.0, values, sum_of_members)
            for tile in range(n_tiles):
                _add(tiles[tile, i, j], sum_of_members, lines[tile])
        sums += lines
    return sums
