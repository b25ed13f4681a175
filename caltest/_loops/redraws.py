"""Sums over pairs for many redraws of the labels at once: each kernel value is computed once for all redraws.

A label is a change from the base of its observation, which is the class it has in most redraws, or none. With the
vector d = e_label - e_base, or e_label where there is no base, or 0 where the label is the base, the sums are
``sum_ij tile[i, j] d_i . d_j``. Only changes take time, and of these only pairs that share a class.

Labels come as (B, n) arrays, one row a redraw. A tile's columns are listed by class, first those that change to it, then
those that change from it. Each row of the tile is summed by itself before it is added to the sums of the tile, which
keeps rounding errors small.
"""

import numpy as np

from caltest._jit import jit
from caltest._types import Array, FloatArray, IntArray

LANES = 8
"""Kernels that are summed together."""


@jit
def _list_changes(base: IntArray, labels: Array, start: int, size: int, n_classes: int) -> tuple[Array, Array]:
    """Columns that change, sorted by class and sign, for each redraw; and where each list ends.

    List 2 c of a redraw are the columns that change to class c, list 2 c + 1 those that change from it; list l is
    ``members[b, ends[b, l] : ends[b, l + 1]]``.
    """
    n_redraws = labels.shape[0]
    members = np.empty((n_redraws, 2 * size), dtype=np.uint16)
    ends = np.zeros((n_redraws, 2 * n_classes + 1), dtype=np.uint16)
    place = np.empty(2 * n_classes, dtype=np.int64)
    for b in range(n_redraws):
        counts = ends[b, 1:]
        for j in range(size):
            new, old = np.int64(labels[b, start + j]), base[start + j]
            if new != old:
                counts[2 * new] += 1
                if old >= 0:
                    counts[2 * old + 1] += 1
        total = 0
        for one in range(2 * n_classes):
            place[one] = total
            total += np.int64(counts[one])
            counts[one] = total
        for j in range(size):
            new, old = np.int64(labels[b, start + j]), base[start + j]
            if new != old:
                members[b, place[2 * new]] = j
                place[2 * new] += 1
                if old >= 0:
                    members[b, place[2 * old + 1]] = j
                    place[2 * old + 1] += 1
    return members, ends


@jit
def _signed_sum(line: FloatArray, members: Array, ends: Array, label: int) -> float:
    """Sum of a line over the columns that change to a class, minus that over those that change from it."""
    total = 0.0
    for f in range(ends[2 * label], ends[2 * label + 1]):
        total += line[members[f]]
    for f in range(ends[2 * label + 1], ends[2 * label + 2]):
        total -= line[members[f]]
    return total


@jit
def equal_sums(
    tile: FloatArray, base: IntArray, labels: Array, row_start: int, column_start: int, n_classes: int
) -> FloatArray:
    """``sum_ij tile[i, j] d_i . d_j`` for each redraw, (B,), where the tile (r, c) begins at a row and a column."""
    n_redraws = labels.shape[0]
    members, ends = _list_changes(base, labels, column_start, tile.shape[1], n_classes)
    rows = np.ascontiguousarray(labels[:, row_start : row_start + tile.shape[0]].T)
    sums = np.zeros(n_redraws)
    for i in range(tile.shape[0]):
        line, old = tile[i], base[row_start + i]
        for b in range(n_redraws):
            new = np.int64(rows[i, b])
            if new != old:
                total = _signed_sum(line, members[b], ends[b], new)
                if old >= 0:
                    total -= _signed_sum(line, members[b], ends[b], old)
                sums[b] += total
    return sums


@jit
def _add_lanes(line: FloatArray, members: Array, first: int, last: int, sign: float, sums: FloatArray) -> None:
    """Add the sums of eight lines, side by side in an array (c, 8), over some columns."""
    a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = 0.0
    for f in range(first, last):
        values = line[members[f]]
        a0 += values[0]
        a1 += values[1]
        a2 += values[2]
        a3 += values[3]
        a4 += values[4]
        a5 += values[5]
        a6 += values[6]
        a7 += values[7]
    sums[0] += sign * a0
    sums[1] += sign * a1
    sums[2] += sign * a2
    sums[3] += sign * a3
    sums[4] += sign * a4
    sums[5] += sign * a5
    sums[6] += sign * a6
    sums[7] += sign * a7


@jit
def equal_sums_of_kernels(
    tiles: FloatArray, base: IntArray, labels: Array, row_start: int, column_start: int, n_classes: int
) -> FloatArray:
    """``equal_sums`` of up to eight kernels (L, r, c) at once, (B, 8): a list of columns is read once for all."""
    n_redraws = labels.shape[0]
    members, ends = _list_changes(base, labels, column_start, tiles.shape[2], n_classes)
    rows = np.ascontiguousarray(labels[:, row_start : row_start + tiles.shape[1]].T)
    sums = np.zeros((n_redraws, LANES))
    line = np.zeros((tiles.shape[2], LANES))
    for i in range(tiles.shape[1]):
        for one in range(tiles.shape[0]):
            for j in range(tiles.shape[2]):
                line[j, one] = tiles[one, i, j]
        old = base[row_start + i]
        for b in range(n_redraws):
            new = np.int64(rows[i, b])
            if new != old:
                ends_b, members_b = ends[b], members[b]
                _add_lanes(line, members_b, ends_b[2 * new], ends_b[2 * new + 1], 1.0, sums[b])
                _add_lanes(line, members_b, ends_b[2 * new + 1], ends_b[2 * new + 2], -1.0, sums[b])
                if old >= 0:
                    _add_lanes(line, members_b, ends_b[2 * old], ends_b[2 * old + 1], -1.0, sums[b])
                    _add_lanes(line, members_b, ends_b[2 * old + 1], ends_b[2 * old + 2], 1.0, sums[b])
    return sums


@jit
def gram_sums(
    tile: FloatArray, gram: FloatArray, base: IntArray, labels: Array, row_start: int, column_start: int
) -> FloatArray:
    """``sum_ij tile[i, j] d_i' gram d_j`` for each redraw, (B,)."""
    n_redraws, n_classes = labels.shape[0], gram.shape[0]
    members, ends = _list_changes(base, labels, column_start, tile.shape[1], n_classes)
    sums = np.zeros(n_redraws)
    for b in range(n_redraws):
        for i in range(tile.shape[0]):
            new, old = np.int64(labels[b, row_start + i]), base[row_start + i]
            if new != old:
                total = 0.0
                for label in range(n_classes):
                    if ends[b, 2 * label + 2] > ends[b, 2 * label]:
                        weight = gram[new, label] - (gram[old, label] if old >= 0 else 0.0)
                        total += weight * _signed_sum(tile[i], members[b], ends[b], label)
                sums[b] += total
    return sums


@jit
def gathered_sums(values: FloatArray, labels: Array) -> FloatArray:
    """``sum_i values[i, labels[b, i]]`` for each redraw, (B,)."""
    sums = np.zeros(labels.shape[0])
    for b in range(labels.shape[0]):
        total = 0.0
        for i in range(labels.shape[1]):
            total += values[i, labels[b, i]]
        sums[b] = total
    return sums
