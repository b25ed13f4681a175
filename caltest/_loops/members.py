"""Sums of functions of a distance over all pairs of points of two groups, for many groups, without arrays of all pairs.

The points of all columns lie side by side, so the innermost loop runs over all of them for one point of a row and
vectorises.
"""

import numpy as np

from caltest._jit import jit
from caltest._loops.exponential import exp_of_negative, logarithm
from caltest._types import FloatArray

EXPONENTIAL, MATERN_3, MATERN_5, GAUSSIAN, RATIONAL, DISTANCE = range(6)
"""``exp(-x)``, ``(1 + x) exp(-x)``, ``(1 + x + x**2 / 3) exp(-x)``, ``exp(-x**2 / 2)``, ``(1 + x**2 / 2s)**-s``, x.

Of the first three the number is the degree of the polynomial, and s is the shape.
"""

CACHED = 2**13
"""Numbers of the columns that stay in the cache."""

FARTHEST = 800.0
"""Beyond it exponential functions are 0; it keeps their polynomials finite."""


@jit
def _add_function(kind: int, shape: float, squares: FloatArray, weight: float, out: FloatArray) -> None:
    """Add ``weight f(x)`` to ``out`` (q,) for the squares x**2."""
    if kind == EXPONENTIAL:
        for q in range(squares.shape[0]):
            out[q] += weight * exp_of_negative(-np.sqrt(squares[q]))
    elif kind == MATERN_3:
        for q in range(squares.shape[0]):
            x = min(np.sqrt(squares[q]), FARTHEST)
            out[q] += weight * ((1.0 + x) * exp_of_negative(-x))
    elif kind == MATERN_5:
        for q in range(squares.shape[0]):
            x = min(np.sqrt(squares[q]), FARTHEST)
            out[q] += weight * ((1.0 + x + x * x / 3.0) * exp_of_negative(-x))
    elif kind == GAUSSIAN:
        for q in range(squares.shape[0]):
            out[q] += weight * exp_of_negative(-0.5 * squares[q])
    elif kind == RATIONAL and shape == 1.0:
        for q in range(squares.shape[0]):
            out[q] += weight / (1.0 + 0.5 * squares[q])
    elif kind == RATIONAL:
        for q in range(squares.shape[0]):
            base = min(1.0 + (0.5 / shape) * squares[q], 1e300)
            out[q] += weight * exp_of_negative(-shape * logarithm(base))
    elif kind == DISTANCE:
        for q in range(squares.shape[0]):
            out[q] += weight * np.sqrt(squares[q])
    else:
        raise ValueError("unknown kind of function")


@jit
def _squares(point: FloatArray, columns: FloatArray, factors: FloatArray, out: FloatArray) -> None:
    """``sum_t (factors[t] (point[t] - columns[t, q]))**2`` for all columns (d, q), written to ``out`` (q,)."""
    a, f, line = point[0], factors[0], columns[0]
    for q in range(out.shape[0]):
        out[q] = (f * (a - line[q])) ** 2
    for t in range(1, point.shape[0]):
        a, f, line = point[t], factors[t], columns[t]
        for q in range(out.shape[0]):
            out[q] += (f * (a - line[q])) ** 2


@jit
def pair_sums(
    kind: int,
    shape: float,
    factors: FloatArray,
    rows: FloatArray,
    row_weights: FloatArray,
    columns: FloatArray,
    column_weights: FloatArray,
    out: FloatArray,
) -> None:
    """Write ``sum_ab u_a v_b f(|factors (x_ia - y_jb)|)`` to ``out`` (B, r, c).

    For rows (B, r, m, d) with weights u (m,), and columns (B, c, m', d) with weights v (m',); ``kind`` and ``shape``
    say which f.
    """
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
            squares, sums = np.empty(k * size), np.empty((k, size))
            total = sums.reshape(k * size)
            for i in range(n_rows):
                total[:] = 0.0
                for a in range(m):
                    _squares(rows[batch, i, a], lines, factors, squares)
                    _add_function(kind, shape, squares, row_weights[a], total)
                for j in range(size):
                    out[batch, i, start + j] = 0.0
                for b in range(k):
                    for j in range(size):
                        out[batch, i, start + j] += column_weights[b] * sums[b, j]


@jit
def _redrawn_squares(y: FloatArray, z: FloatArray, factors: FloatArray, out: FloatArray) -> None:
    """``sum_t (factors[t] (y[t, b] - z[t, b]))**2`` for each redraw of two targets (d, B), written to ``out`` (B,)."""
    f, one, two = factors[0], y[0], z[0]
    for b in range(out.shape[0]):
        out[b] = (f * (one[b] - two[b])) ** 2
    for t in range(1, y.shape[0]):
        f, one, two = factors[t], y[t], z[t]
        for b in range(out.shape[0]):
            out[b] += (f * (one[b] - two[b])) ** 2


@jit
def _add_to_lines(values: FloatArray, weights: FloatArray, lines: FloatArray) -> None:
    """Add the values (B,), times a weight for each tile, to lines (L, B)."""
    for tile in range(lines.shape[0]):
        weight, line = weights[tile], lines[tile]
        for b in range(values.shape[0]):
            line[b] += weight * values[b]


@jit
def redrawn_sums(
    kind: int,
    shape: float,
    factors: FloatArray,
    tiles: FloatArray,
    rows: FloatArray,
    columns: FloatArray,
    skip_lower: bool,
) -> FloatArray:
    """``sum_ij tile[i, j] f(|factors (y_i - z_j)|)`` for each tile (L, r, c) and redraw, (L, B).

    The targets y (r, d, B) and z (c, d, B) have a column for each redraw. Over i < j only if ``skip_lower``.
    """
    n_tiles, n_redraws = tiles.shape[0], rows.shape[2]
    sums, lines = np.zeros((n_tiles, n_redraws)), np.empty((n_tiles, n_redraws))
    squares, values = np.empty(n_redraws), np.empty(n_redraws)
    for i in range(tiles.shape[1]):
        lines[:] = 0.0
        for j in range(i + 1 if skip_lower else 0, tiles.shape[2]):
            _redrawn_squares(rows[i], columns[j], factors, squares)
            if n_tiles == 1:
                _add_function(kind, shape, squares, tiles[0, i, j], lines[0])
                continue
            values[:] = 0.0
            _add_function(kind, shape, squares, 1.0, values)
            _add_to_lines(values, tiles[:, i, j], lines)
        sums += lines
    return sums


@jit
def redrawn_member_sums(
    kind: int, shape: float, factors: FloatArray, tiles: FloatArray, members: FloatArray, columns: FloatArray
) -> FloatArray:
    """``sum_ij tile[i, j] sum_a f(|factors (x_ia - z_j)|)`` for each tile (L, r, c) and redraw, (L, B).

    The points x (r, m, d) are the same for all redraws, the targets z (c, d, B) have a column for each.
    """
    n_tiles, n_redraws = tiles.shape[0], columns.shape[2]
    sums, lines = np.zeros((n_tiles, n_redraws)), np.empty((n_tiles, n_redraws))
    squares, values = np.empty(n_redraws), np.empty(n_redraws)
    for i in range(tiles.shape[1]):
        lines[:] = 0.0
        for j in range(tiles.shape[2]):
            values[:] = 0.0
            if (tiles[:, i, j] == 0.0).all():
                continue
            for a in range(members.shape[1]):
                _squares(members[i, a], columns[j], factors, squares)
                _add_function(kind, shape, squares, 1.0, values)
            _add_to_lines(values, tiles[:, i, j], lines)
        sums += lines
    return sums
