"""Sums over pairs for many redraws of the labels at once: each kernel value is computed once for all redraws.

A label is a change from the base of its observation, which is the class it has in most redraws, or none. With the
vector d = e_label - e_base, or e_label where there is no base, or 0 where the label is the base, the sums are
``sum_ij tile[i, j] d_i . d_j``. Only changes take time, and of these only pairs that share a class.

Labels come as (B, n) arrays, one row a redraw. Each row of the tile is summed by itself before it is added to the sums
of the tile, which keeps rounding errors small.
"""

import numpy as np

from caltest._jit import jit
from caltest._types import Array, FloatArray, IntArray

LANES = 4
"""Kernels that are summed together."""

FOUR = 4
"""Entries of a list that are added side by side, so that additions do not wait for each other."""


@jit
def _find_changes(labels: Array, bases: IntArray, changed: Array) -> int:
    """List where labels differ from bases, and return how often; without a branch, which could not be predicted."""
    n_changed = 0
    for j in range(labels.shape[0]):
        changed[n_changed] = j
        n_changed += 1 if np.int64(labels[j]) != bases[j] else 0
    return n_changed


@jit
def _list_changes(base: IntArray, labels: Array, start: int, size: int, n_classes: int) -> tuple[Array, Array]:
    """Columns that change, by class, for each redraw; and where each list ends.

    List c of a redraw, ``members[b, ends[b, c] : ends[b, c + 1]]``, has the places of the columns that change to class
    c, and ``size`` plus those of the columns that change from it, filled up with 2 size to a multiple of four entries.
    """
    n_redraws = labels.shape[0]
    members = np.full((n_redraws, 2 * size + (FOUR - 1) * min(n_classes, 2 * size)), 2 * size, dtype=np.uint16)
    ends = np.zeros((n_redraws, n_classes + 1), dtype=np.int32)
    bases, changed = base[start : start + size], np.empty(size, dtype=np.uint32)
    # Changes from no class at all are counted behind the last class and listed nowhere.
    place = np.empty(n_classes + 1, dtype=np.int64)
    for b in range(n_redraws):
        line = labels[b, start : start + size]
        n_changed = _find_changes(line, bases, changed)
        place[:] = 0
        for c in range(n_changed):
            j = changed[c]
            place[line[j]] += 1
            place[bases[j]] += 1
        total = 0
        for label in range(n_classes):
            count = place[label]
            place[label] = total
            total += -(-count // FOUR) * FOUR
            ends[b, label + 1] = total
        for c in range(n_changed):
            j = changed[c]
            new, old = np.int64(line[j]), bases[j]
            members[b, place[new]] = j
            place[new] += 1
            if old >= 0:
                members[b, place[old]] = size + j
                place[old] += 1
    return members, ends


@jit
def _with_negatives(values: FloatArray, out: FloatArray) -> None:
    """Numbers, their negatives, and a zero, which the places in lists of changes refer to."""
    size = values.shape[0]
    for j in range(size):
        out[j] = values[j]
        out[size + j] = -values[j]
    out[2 * size] = 0.0


@jit
def _sum_of_places(line: FloatArray, members: Array, first: int, last: int) -> float:
    """Sum of a line over a list."""
    s0 = s1 = s2 = s3 = 0.0
    for f in range(first, last, FOUR):
        s0 += line[members[f]]
        s1 += line[members[f + 1]]
        s2 += line[members[f + 2]]
        s3 += line[members[f + 3]]
    return (s0 + s1) + (s2 + s3)


@jit
def equal_sums(
    tile: FloatArray, base: IntArray, labels: Array, row_start: int, column_start: int, n_classes: int
) -> FloatArray:
    """``sum_ij tile[i, j] d_i . d_j`` for each redraw, (B,), where the tile (r, c) begins at a row and a column."""
    n_redraws, size = labels.shape[0], tile.shape[1]
    members, ends = _list_changes(base, labels, column_start, size, n_classes)
    rows = np.ascontiguousarray(labels[:, row_start : row_start + tile.shape[0]].T)
    sums, bases = np.zeros(n_redraws), np.empty(n_redraws, dtype=base.dtype)
    changed = np.empty(n_redraws, dtype=np.uint32)
    line = np.empty(2 * size + 1)
    for i in range(tile.shape[0]):
        _with_negatives(tile[i], line)
        old = base[row_start + i]
        bases[:] = old
        for c in range(_find_changes(rows[i], bases, changed)):
            b = changed[c]
            new = np.uint32(rows[i, b])
            total = _sum_of_places(line, members[b], ends[b, new], ends[b, new + np.uint32(1)])
            if old >= 0:
                total -= _sum_of_places(line, members[b], ends[b, old], ends[b, old + 1])
            sums[b] += total
    return sums


@jit
def _add_lanes(line: FloatArray, members: Array, first: int, last: int, sign: float, sums: FloatArray) -> None:
    """Add the sums of four lines, side by side in an array (c, 4), over a list."""
    a0 = a1 = a2 = a3 = 0.0
    for f in range(first, last):
        values = line[members[f]]
        a0 += values[0]
        a1 += values[1]
        a2 += values[2]
        a3 += values[3]
    sums[0] += sign * a0
    sums[1] += sign * a1
    sums[2] += sign * a2
    sums[3] += sign * a3


@jit
def equal_sums_of_kernels(
    tiles: FloatArray, base: IntArray, labels: Array, row_start: int, column_start: int, n_classes: int
) -> FloatArray:
    """``equal_sums`` of up to four kernels (L, r, c) at once, (B, 4): a list is read once for all."""
    n_redraws, size = labels.shape[0], tiles.shape[2]
    members, ends = _list_changes(base, labels, column_start, size, n_classes)
    rows = np.ascontiguousarray(labels[:, row_start : row_start + tiles.shape[1]].T)
    sums, bases = np.zeros((n_redraws, LANES)), np.empty(n_redraws, dtype=base.dtype)
    changed = np.empty(n_redraws, dtype=np.uint32)
    line = np.zeros((2 * size + 1, LANES))
    for i in range(tiles.shape[1]):
        for one in range(tiles.shape[0]):
            _with_negatives(tiles[one, i], line[:, one])
        old = base[row_start + i]
        bases[:] = old
        for c in range(_find_changes(rows[i], bases, changed)):
            b = changed[c]
            new = np.uint32(rows[i, b])
            _add_lanes(line, members[b], ends[b, new], ends[b, new + np.uint32(1)], 1.0, sums[b])
            if old >= 0:
                _add_lanes(line, members[b], ends[b, old], ends[b, old + 1], -1.0, sums[b])
    return sums


@jit
def gram_sums(
    tile: FloatArray, gram: FloatArray, base: IntArray, labels: Array, row_start: int, column_start: int
) -> FloatArray:
    """``sum_ij tile[i, j] d_i' gram d_j`` for each redraw, (B,)."""
    n_redraws, n_classes, size = labels.shape[0], gram.shape[0], tile.shape[1]
    members, ends = _list_changes(base, labels, column_start, size, n_classes)
    sums = np.zeros(n_redraws)
    line = np.empty(2 * size + 1)
    for i in range(tile.shape[0]):
        _with_negatives(tile[i], line)
        old = base[row_start + i]
        for b in range(n_redraws):
            new = np.int64(labels[b, row_start + i])
            if new != old:
                total = 0.0
                for label in range(n_classes):
                    if ends[b, label + 1] > ends[b, label]:
                        weight = gram[new, label] - (gram[old, label] if old >= 0 else 0.0)
                        total += weight * _sum_of_places(line, members[b], ends[b, label], ends[b, label + 1])
                sums[b] += total
    return sums


@jit
def table_sums(
    tile: FloatArray, table: FloatArray, labels: Array, row_start: int, column_start: int, skip_lower: bool
) -> FloatArray:
    """``sum_ij tile[i, j] table[label_i, label_j]`` for each redraw, (B,); over i < j only if ``skip_lower``.

    For labels most of which differ from each other: every pair takes one look-up. A tile whose lower half is skipped
    has zeros there.
    """
    n_redraws, size = labels.shape[0], tile.shape[1]
    sums, columns = np.zeros(n_redraws), np.empty(size, dtype=np.int64)
    whole = size // FOUR * FOUR
    for b in range(n_redraws):
        for j in range(size):
            columns[j] = labels[b, column_start + j]
        for i in range(tile.shape[0]):
            line, weights = table[labels[b, row_start + i]], tile[i]
            s0 = s1 = s2 = s3 = 0.0
            for j in range(i // FOUR * FOUR if skip_lower else 0, whole, FOUR):
                s0 += weights[j] * line[columns[j]]
                s1 += weights[j + 1] * line[columns[j + 1]]
                s2 += weights[j + 2] * line[columns[j + 2]]
                s3 += weights[j + 3] * line[columns[j + 3]]
            for j in range(whole, size):
                s0 += weights[j] * line[columns[j]]
            sums[b] += (s0 + s1) + (s2 + s3)
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


@jit
def label_features(root: FloatArray, means: FloatArray, labels: Array, out: FloatArray) -> None:
    """``out[j, t, b] = root[t, labels[j, b]] - means[j, t]``."""
    for j in range(labels.shape[0]):
        for t in range(root.shape[0]):
            values, mean, line = root[t], means[j, t], out[j, t]
            for b in range(labels.shape[1]):
                line[b] = values[labels[j, b]] - mean


@jit
def gathered_tables(values: FloatArray, labels: Array) -> FloatArray:
    """``sum_i values[i, labels[b, i], t]`` for each redraw and table, (B, T), for tables (n, k, T)."""
    sums = np.zeros((labels.shape[0], values.shape[2]))
    for b in range(labels.shape[0]):
        line = sums[b]
        for i in range(labels.shape[1]):
            row = values[i, labels[b, i]]
            for t in range(line.shape[0]):
                line[t] += row[t]
    return sums


@jit
def tables_by_label(values: FloatArray, labels: Array) -> FloatArray:
    """``sum_i values[i, c, t]`` over the observations with the label c, for each redraw, class and table, (B, k, T)."""
    sums = np.zeros((labels.shape[0], values.shape[1], values.shape[2]))
    for b in range(labels.shape[0]):
        for i in range(labels.shape[1]):
            label = labels[b, i]
            line, row = sums[b, label], values[i, label]
            for t in range(line.shape[0]):
                line[t] += row[t]
    return sums
