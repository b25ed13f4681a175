"""Sums of several kernels over pairs with equal labels, for many redraws, by comparing the labels of all of them.

For labels that mostly differ between redraws: the time does not depend on them. Where few change, lists of these take
less (``redraws.equal_sums``).
"""

import numpy as np

from caltest._basics.jit import jit
from caltest._basics.numerics import Array, FloatArray
from caltest._loops.pair_sums.redraws import FOUR, LANES


def equal_label_sums(tiles: FloatArray, rows: Array, columns: Array, on_diagonal: bool) -> FloatArray:
    """``sum_ij tile[i, j] [y_i = y_j]`` for each tile (L, r, c) of up to five kernels and each redraw, (L, B).

    Labels are those of the rows (r, B) and the columns (c, B); of tiles on the diagonal what is above it counts.
    """
    n_kernels, n_redraws = len(tiles), rows.shape[1]
    if n_kernels < LANES:
        tiles = np.concatenate([tiles, np.zeros((LANES - n_kernels, *tiles.shape[1:]))])
    line = np.zeros((LANES, tiles.shape[2] + FOUR))
    of_row, sums = np.zeros((2, LANES, n_redraws))
    _add_equal(tiles, rows, columns, on_diagonal, line, of_row, sums)
    return sums[:n_kernels]


@jit
def _entries(line: FloatArray, j: int) -> tuple[float, float, float, float]:
    return line[j], line[j + 1], line[j + 2], line[j + 3]


@jit
def _with(total: float, equal: tuple[bool, bool, bool, bool], k: tuple[float, float, float, float]) -> float:
    """A sum and those of four numbers that count."""
    total = total + k[0] if equal[0] else total
    total = total + k[1] if equal[1] else total
    total = total + k[2] if equal[2] else total
    return total + k[3] if equal[3] else total


@jit
def _add_equal(
    tiles: FloatArray,
    rows: Array,
    columns: Array,
    on_diagonal: bool,
    line: FloatArray,
    of_row: FloatArray,
    sums: FloatArray,
) -> None:
    n_columns, n_redraws = columns.shape
    last = n_columns - 1
    s0, s1, s2, s3, s4 = of_row[0], of_row[1], of_row[2], of_row[3], of_row[4]
    for i in range(rows.shape[0]):
        own, first = rows[i], i + 1 if on_diagonal else 0
        # Behind the end of the line are zeros, as there are before the first entry that counts.
        for one in range(LANES):
            for j in range(n_columns):
                line[one, j] = tiles[one, i, j] if j >= first else 0.0
        for b in range(n_redraws):
            s0[b] = s1[b] = s2[b] = s3[b] = s4[b] = 0.0
        for j in range(first // FOUR * FOUR, n_columns, FOUR):
            y0, y1, y2, y3 = columns[j], columns[min(j + 1, last)], columns[min(j + 2, last)], columns[min(j + 3, last)]
            k0, k1, k2 = _entries(line[0], j), _entries(line[1], j), _entries(line[2], j)
            k3, k4 = _entries(line[3], j), _entries(line[4], j)
            for b in range(n_redraws):
                equal = own[b] == y0[b], own[b] == y1[b], own[b] == y2[b], own[b] == y3[b]
                s0[b] = _with(s0[b], equal, k0)
                s1[b] = _with(s1[b], equal, k1)
                s2[b] = _with(s2[b], equal, k2)
                s3[b] = _with(s3[b], equal, k3)
                s4[b] = _with(s4[b], equal, k4)
        for b in range(n_redraws):
            sums[0, b] += s0[b]
            sums[1, b] += s1[b]
            sums[2, b] += s2[b]
            sums[3, b] += s3[b]
            sums[4, b] += s4[b]
