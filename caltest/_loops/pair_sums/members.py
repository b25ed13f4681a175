"""Sums of functions of a distance over all pairs of points of two groups, for many groups, without arrays of all pairs.

The points of all columns lie side by side, so the innermost loop runs over all of them for one point of a row and
vectorises.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from caltest._basics.jit import jit
from caltest._basics.numerics import FloatArray
from caltest._loops.formulas.kernels import (
    EXPONENTIAL,
    IDENTITY,
    MATERN_3,
    MATERN_5,
    RATIONAL,
    exponential,
    matern_3,
    matern_5,
    rational,
    write_kernel,
)
from caltest._loops.stacks import Two, add_weighted, frozen, is_used

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


def pair_sums(settings: Settings, row_points: Weighted, column_points: Weighted, out: FloatArray) -> None:
    """Write ``sum_ab u_a v_b f(|factors (x_ia - y_jb)|)`` to ``out`` (B, r, c).

    For rows (B, r, m, d) with weights u (m,), and columns (B, c, m', d) with weights v (m',).
    """
    rows, columns = ((frozen(points), frozen(weights)) for points, weights in (row_points, column_points))
    (k, d), n_columns = columns[0].shape[2:], columns[0].shape[1]
    width = min(n_columns, max(1, CACHED // (k * (d + 2))))
    work = np.empty((d, k * width)), np.empty(k * width), np.empty(k * width)
    _write_pair_sums(settings, rows, columns, width, work, out)


@jit
def _write_pair_sums(
    settings: Settings,
    row_points: Weighted,
    column_points: Weighted,
    width: int,
    work: tuple[FloatArray, FloatArray, FloatArray],
    out: FloatArray,
) -> None:
    (rows, row_weights), (columns, column_weights), (lines, values, sums) = row_points, column_points, work
    n_rows, m, d = rows.shape[1:]
    n_columns, k = columns.shape[1:3]
    for batch in range(rows.shape[0]):
        for start in range(0, n_columns, width):
            size = min(width, n_columns - start)
            for t in range(d):
                for b in range(k):
                    for j in range(size):
                        lines[t, b * size + j] = columns[batch, start + j, b, t]
            for i in range(n_rows):
                for q in range(k * size):
                    sums[q] = 0.0
                for a in range(m):
                    _write_values(settings, rows[batch, i, a], lines, values[: k * size])
                    _add(row_weights[a], values[: k * size], sums)
                for j in range(size):
                    out[batch, i, start + j] = 0.0
                for b in range(k):
                    for j in range(size):
                        out[batch, i, start + j] += column_weights[b] * sums[b * size + j]


def _adder(kind: int) -> Callable[..., None]:
    """A loop for one kind of function: only those that are used are compiled."""

    @jit
    def add_redrawn(
        settings: Settings, tiles: FloatArray, points: Two, skip_lower: bool, square: bool, work: Two
    ) -> None:
        """``square`` is False: with a constant the function becomes a part of this loop, which is slower then."""
        (_, shape, root, factors), (rows, columns), (values, sums) = settings, points, work
        n_redraws = sums.shape[1]
        for i in range(tiles.shape[1]):
            for j in range(i + 1 if skip_lower else 0, tiles.shape[2]):
                for t in range(rows.shape[1]):
                    c = factors[t]
                    if t == 0:
                        for b in range(n_redraws):
                            d = c * (rows[i, t, b] - columns[j, t, b])
                            values[b] = d * d
                    else:
                        for b in range(n_redraws):
                            d = c * (rows[i, t, b] - columns[j, t, b])
                            values[b] += d * d
                if root:
                    for b in range(n_redraws):
                        values[b] = np.sqrt(values[b])
                if kind == EXPONENTIAL:
                    exponential(values, 1.0, square, shape)
                elif kind == MATERN_3:
                    matern_3(values, 1.0, square, shape)
                elif kind == MATERN_5:
                    matern_5(values, 1.0, square, shape)
                elif kind == RATIONAL:
                    rational(values, 1.0, square, shape)
                add_weighted(tiles, i, j, values, sums)

    return add_redrawn


ADDERS = {kind: _adder(kind) for kind in (EXPONENTIAL, MATERN_3, MATERN_5, RATIONAL, IDENTITY)}


def redrawn_sums(
    settings: Settings, tiles: FloatArray, rows: FloatArray, columns: FloatArray, skip_lower: bool
) -> FloatArray:
    """``sum_ij tile[i, j] f(|factors (y_i - z_j)|)`` for each tile (L, r, c) and redraw, (L, B).

    The targets y (r, d, B) and z (c, d, B) have a column for each redraw. Over i < j only if ``skip_lower``.
    """
    if settings[0] not in ADDERS:
        raise ValueError("kind: got a number without a branch in add_redrawn, wanted one with a formula there")
    n_tiles, n_redraws = tiles.shape[0], rows.shape[2]
    sums = np.zeros((n_tiles, n_redraws))
    # An array that is made here needs no compiled code.
    values = np.empty(n_redraws)
    points = frozen(rows), frozen(columns)
    ADDERS[settings[0]](settings, frozen(tiles), points, skip_lower, False, (values, sums))
    return sums


def redrawn_member_sums(settings: Settings, tiles: FloatArray, members: FloatArray, columns: FloatArray) -> FloatArray:
    """``sum_ij tile[i, j] sum_a f(|factors (x_ia - z_j)|)`` for each tile (L, r, c) and redraw, (L, B).

    The points x (r, m, d) are the same for all redraws, the targets z (c, d, B) have a column for each.
    """
    n_tiles, n_redraws = tiles.shape[0], columns.shape[2]
    sums = np.zeros((n_tiles, n_redraws))
    work = np.empty(n_redraws), np.empty(n_redraws)
    _add_redrawn_members(settings, frozen(tiles), frozen(members), frozen(columns), work, sums)
    return sums


@jit
def _add_redrawn_members(
    settings: Settings, tiles: FloatArray, members: FloatArray, columns: FloatArray, work: Two, sums: FloatArray
) -> None:
    values, sum_of_members = work
    for i in range(tiles.shape[1]):
        for j in range(tiles.shape[2]):
            if not is_used(tiles, i, j):
                continue
            for b in range(values.shape[0]):
                sum_of_members[b] = 0.0
            for a in range(members.shape[1]):
                _write_values(settings, members[i, a], columns[j], values)
                _add(1.0, values, sum_of_members)
            add_weighted(tiles, i, j, sum_of_members, sums)
