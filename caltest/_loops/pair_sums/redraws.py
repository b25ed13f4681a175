"""Sums over pairs, and of features by class, for many redraws of the labels at once.

Each kernel value is computed once for all redraws.

A label is a change from the base of its observation, which is the class it has in most redraws, or none. With the
vector d = e_label - e_base, or e_label where there is no base, or 0 where the label is the base, the sums are
``sum_ij tile[i, j] d_i . d_j``. Only changes take time, and of these only pairs that share a class.

Labels come as (B, n) arrays, one row a redraw. Each row of the tile is summed by itself before it is added to the sums
of the tile, which keeps rounding errors small.
"""

from collections.abc import Iterator

import numpy as np

from caltest._basics.jit import jit, jit_sums
from caltest._basics.numerics import Array, FloatArray, IntArray

LANES = 5
"""Kernels that are summed together, as many as the default test has."""

Lists = tuple[Array, Array, Array, int]
"""Columns that change, by class, where the rest of each list begins, where each ends, and by how much a row moves the
first: by 1 in tiles on the diagonal, of which only columns behind the row matter."""

Work = tuple[FloatArray, FloatArray]
"""The numbers of a row, and the sums."""

FOUR = 4
"""Entries of a list that are added side by side, so that additions do not wait for each other."""


def _changes(base: IntArray, labels: Array, start: int, size: int, n_classes: int, on_diagonal: bool) -> Lists:
    """Columns that change, by class, for each redraw.

    List c of a redraw, ``members[b, ends[b, c] : ends[b, c + 1]]``, has the places of the columns that change to class
    c, and ``size`` plus those of the columns that change from it, filled up with 2 size to a multiple of four entries.
    """
    n_redraws = labels.shape[0]
    width = 2 * size + (FOUR - 1) * min(n_classes, 2 * size)
    members = np.full((n_redraws, width), 2 * size, dtype=np.uint16)
    ends = np.zeros((n_redraws, n_classes + 1), dtype=np.int32)
    # Changes from no class at all are counted behind the last class and listed nowhere.
    place, changed = np.empty(n_classes + 1, dtype=np.int64), np.empty(size, dtype=np.uint32)
    _list_changes(base, labels, start, place, changed, members, ends)
    return members, ends[:, :-1].copy(), ends[:, 1:].copy(), int(on_diagonal)


@jit
def _list_changes(
    base: IntArray, labels: Array, start: int, place: IntArray, changed: Array, members: Array, ends: Array
) -> None:
    size, n_classes = changed.shape[0], ends.shape[1] - 1
    for b in range(labels.shape[0]):
        n_changed = 0
        for j in range(size):
            # Without a branch, which could not be predicted.
            changed[n_changed] = j
            n_changed += 1 if np.int64(labels[b, start + j]) != base[start + j] else 0
        for label in range(n_classes + 1):
            place[label] = 0
        for c in range(n_changed):
            column = start + np.int64(changed[c])
            place[labels[b, column]] += 1
            place[base[column]] += 1
        total = 0
        for label in range(n_classes):
            count = place[label]
            place[label] = total
            total += -(-count // FOUR) * FOUR
            ends[b, label + 1] = total
        for c in range(n_changed):
            at = np.int64(changed[c])
            new, old = np.int64(labels[b, start + at]), base[start + at]
            members[b, place[new]] = at
            place[new] += 1
            if old >= 0:
                members[b, place[old]] = size + at
                place[old] += 1


@jit_sums
def _sum_of_places(line: FloatArray, members: Array, first: int, last: int) -> float:
    """Sum of a line over a list."""
    total = 0.0
    for f in range(first, last):
        total += line[members[f]]
    return total


def equal_sums(
    tiles: FloatArray, base: IntArray, labels: Array, row_start: int, column_start: int, n_classes: int
) -> FloatArray:
    """``sum_ij tile[i, j] d_i . d_j`` for each tile (L, r, c) of up to five kernels and each redraw, (L, B).

    The tiles begin at a row and a column; on the diagonal they are 0 below it. A list is read once for all kernels.
    """
    n_kernels, r, size = tiles.shape
    lanes = 1 if n_kernels == 1 else LANES
    function = _equal_sums_of_one if lanes == 1 else _equal_sums_of_several
    lists = _changes(base, labels, column_start, size, n_classes, row_start == column_start)
    rows = np.ascontiguousarray(labels[:, row_start : row_start + r].T)
    line, sums = np.zeros((2 * size + 1, lanes)), np.zeros((labels.shape[0], lanes))
    function(tiles, base, rows, row_start, lists, np.empty(labels.shape[0], dtype=np.uint32), (line, sums))
    return sums[:, :n_kernels].T


@jit
def _write_row(tiles: FloatArray, i: int, line: FloatArray) -> None:
    """The numbers of a row, their negatives, and a zero, which the places in lists of changes refer to."""
    size = tiles.shape[2]
    for one in range(tiles.shape[0]):
        for j in range(size):
            line[j, one], line[size + j, one] = tiles[one, i, j], -tiles[one, i, j]


@jit
def _find_changes(rows: Array, i: int, old: int, changed: Array) -> int:
    """List the redraws with another label, and return how many; without a branch, which could not be predicted."""
    n_changed = 0
    for b in range(rows.shape[1]):
        changed[n_changed] = b
        n_changed += 1 if np.int64(rows[i, b]) != old else 0
    return n_changed


@jit
def _equal_sums_of_one(
    tiles: FloatArray, base: IntArray, rows: Array, row_start: int, lists: Lists, changed: Array, work: Work
) -> None:
    (members, firsts, ends, step), (line, sums) = lists, work
    flat = line.reshape(line.shape[0])
    for i in range(tiles.shape[1]):
        _write_row(tiles, i, line)
        old = base[row_start + i]
        for c in range(_find_changes(rows, i, old, changed)):
            b = changed[c]
            new = np.uint32(rows[i, b])
            total = _sum_of_places(flat, members[b], firsts[b, new], ends[b, new])
            firsts[b, new] += step
            if old >= 0:
                total -= _sum_of_places(flat, members[b], firsts[b, old], ends[b, old])
                firsts[b, old] += step
            sums[b, 0] += total


@jit
def _equal_sums_of_several(
    tiles: FloatArray, base: IntArray, rows: Array, row_start: int, lists: Lists, changed: Array, work: Work
) -> None:
    """The same with the numbers of five kernels side by side, in a line (2c + 1, 5) and sums (B, 5).

    Five names in place of a loop over kernels, so that totals stay in registers: 1.5 times as fast.
    """
    (members, firsts, ends, step), (line, sums) = lists, work
    for i in range(tiles.shape[1]):
        _write_row(tiles, i, line)
        old = base[row_start + i]
        for c in range(_find_changes(rows, i, old, changed)):
            b = changed[c]
            label, sign = np.int64(rows[i, b]), 1.0
            while label >= 0:
                t0 = t1 = t2 = t3 = t4 = 0.0
                first = firsts[b, np.uint32(label)]
                firsts[b, np.uint32(label)] += step
                for f in range(first // FOUR * FOUR, ends[b, np.uint32(label)], FOUR):
                    i0, i1, i2, i3 = members[b, f], members[b, f + 1], members[b, f + 2], members[b, f + 3]
                    t0 += (line[i0, 0] + line[i1, 0]) + (line[i2, 0] + line[i3, 0])
                    t1 += (line[i0, 1] + line[i1, 1]) + (line[i2, 1] + line[i3, 1])
                    t2 += (line[i0, 2] + line[i1, 2]) + (line[i2, 2] + line[i3, 2])
                    t3 += (line[i0, 3] + line[i1, 3]) + (line[i2, 3] + line[i3, 3])
                    t4 += (line[i0, 4] + line[i1, 4]) + (line[i2, 4] + line[i3, 4])
                sums[b, 0] += sign * t0
                sums[b, 1] += sign * t1
                sums[b, 2] += sign * t2
                sums[b, 3] += sign * t3
                sums[b, 4] += sign * t4
                label, sign = old if sign > 0.0 else np.int64(-1), -1.0


def gram_sums(
    tile: FloatArray, gram: FloatArray, base: IntArray, labels: Array, row_start: int, column_start: int
) -> FloatArray:
    """``sum_ij tile[i, j] d_i' gram d_j`` for each redraw, (B,)."""
    size, sums = tile.shape[1], np.zeros(labels.shape[0])
    lists = _changes(base, labels, column_start, size, gram.shape[0], row_start == column_start)
    _gram_sums(tile[None], gram, base, labels, row_start, lists, (np.zeros((2 * size + 1, 1)), sums))
    return sums


@jit
def _gram_sums(
    tiles: FloatArray, gram: FloatArray, base: IntArray, labels: Array, row_start: int, lists: Lists, work: Work
) -> None:
    (members, firsts, ends, step), (line, sums) = lists, work
    flat = line.reshape(line.shape[0])
    for i in range(tiles.shape[1]):
        _write_row(tiles, i, line)
        old = base[row_start + i]
        for b in range(labels.shape[0]):
            new = np.int64(labels[b, row_start + i])
            if new != old:
                total = 0.0
                for label in range(gram.shape[0]):
                    if ends[b, label] > firsts[b, label]:
                        weight = gram[new, label] - (gram[old, label] if old >= 0 else 0.0)
                        total += weight * _sum_of_places(flat, members[b], firsts[b, label], ends[b, label])
                sums[b] += total
                firsts[b, new] += step
                if old >= 0:
                    firsts[b, old] += step


def table_sums(
    tile: FloatArray, table: FloatArray, labels: Array, row_start: int, column_start: int, skip_lower: bool
) -> FloatArray:
    """``sum_ij tile[i, j] table[label_i, label_j]`` for each redraw, (B,); over i < j only if ``skip_lower``.

    For labels most of which differ from each other: every pair takes one look-up. A tile whose lower half is skipped
    has zeros there.
    """
    sums, columns = np.zeros(labels.shape[0]), np.empty(tile.shape[1], dtype=np.int64)
    _add_from_table(tile, table, labels, row_start, column_start, skip_lower, columns, sums)
    return sums


@jit
def _add_from_table(
    tile: FloatArray,
    table: FloatArray,
    labels: Array,
    row_start: int,
    column_start: int,
    skip_lower: bool,
    columns: IntArray,
    sums: FloatArray,
) -> None:
    size = tile.shape[1]
    whole = size // FOUR * FOUR
    for b in range(labels.shape[0]):
        for j in range(size):
            columns[j] = labels[b, column_start + j]
        for i in range(tile.shape[0]):
            label = np.int64(labels[b, row_start + i])
            s0 = s1 = s2 = s3 = 0.0
            for j in range(i // FOUR * FOUR if skip_lower else 0, whole, FOUR):
                s0 += tile[i, j] * table[label, columns[j]]
                s1 += tile[i, j + 1] * table[label, columns[j + 1]]
                s2 += tile[i, j + 2] * table[label, columns[j + 2]]
                s3 += tile[i, j + 3] * table[label, columns[j + 3]]
            for j in range(whole, size):
                s0 += tile[i, j] * table[label, columns[j]]
            sums[b] += (s0 + s1) + (s2 + s3)


@jit
def label_features(root: FloatArray, means: FloatArray, labels: Array, out: FloatArray) -> None:
    """``out[j, t, b] = root[t, labels[j, b]] - means[j, t]``."""
    for j in range(labels.shape[0]):
        for t in range(root.shape[0]):
            mean = means[j, t]
            for b in range(labels.shape[1]):
                out[j, t, b] = root[t, labels[j, b]] - mean


CACHED = 2**15
"""Numbers that stay in the cache while all redraws use them."""


FEW = 2**18
"""Labels of all redraws whose sums in groups are not worth a compiled loop."""

AT_ONCE = 2**17
"""Labels that are looked for together."""

FEW_LABELS = 5
"""Up to so many, sums are scalar products with the places of each label, which takes no compiled loop."""


def _are_few(values: FloatArray) -> bool:
    """Whether values (n, k, ...) are of few labels, and finite: 0 times infinity is no number."""
    return values.shape[1] <= FEW_LABELS and bool(np.isfinite(values).all())


def _places(labels: Array, n_labels: int) -> Iterator[tuple[slice, int, FloatArray]]:
    """1 where a label occurs: some redraws at a time, whose numbers are written over, and label by label."""
    n_redraws, n = labels.shape
    size = max(1, AT_ONCE // max(1, n))
    where = np.empty((size, n))
    for start in range(0, n_redraws, size):
        part = slice(start, min(start + size, n_redraws))
        for label in range(n_labels):
            yield part, label, np.equal(labels[part], label, out=where[: part.stop - start])


def _by_label(tables: FloatArray, labels: Array) -> FloatArray:
    """``sum_i tables[c, t, i]`` over the observations with the label c, (B, k, T).

    No sum depends on what else is summed, as those of a product of matrices do, by rounding errors.
    """
    sums = np.empty((len(labels), *tables.shape[:2]))
    for part, label, where in _places(labels, len(tables)):
        np.vecdot(where[:, None], tables[label], out=sums[part, label])
    return sums


def gathered_sums(values: FloatArray, labels: Array) -> FloatArray:
    """``sum_i values[i, labels[b, i]]`` for each redraw, (B,)."""
    if _are_few(values):
        return np.asarray(_by_label(values.T[:, None], labels).sum(axis=(1, 2)))
    sums = np.empty(labels.shape[0])
    _write_gathered(values, labels, sums)
    return sums


@jit
def _write_gathered(values: FloatArray, labels: Array, sums: FloatArray) -> None:
    for b in range(labels.shape[0]):
        total = 0.0
        for i in range(labels.shape[1]):
            total += values[i, labels[b, i]]
        sums[b] = total


def gathered_tables(values: FloatArray, labels: Array) -> FloatArray:
    """``sum_i values[i, labels[b, i], t]`` for each redraw and table, (B, T), for tables (n, k, T)."""
    if _are_few(values):
        return np.asarray(tables_by_label(values, labels).sum(axis=1))
    sums = np.zeros((labels.shape[0], 1, values.shape[2]))
    _add_tables(values, labels, np.zeros(values.shape[1], dtype=np.intp), sums)
    return sums[:, 0]


def tables_by_label(values: FloatArray, labels: Array) -> FloatArray:
    """``sum_i values[i, c, t]`` over the observations with the label c, for each redraw, class and table, (B, k, T)."""
    if _are_few(values):
        return _by_label(np.ascontiguousarray(values.transpose(1, 2, 0)), labels)
    sums = np.zeros((labels.shape[0], *values.shape[1:]))
    _add_tables(values, labels, np.arange(values.shape[1]), sums)
    return sums


@jit
def _add_tables(values: FloatArray, labels: Array, groups: IntArray, sums: FloatArray) -> None:
    """Add to ``sums[b, g, t]``, where g is the group of a label, for as many rows at a time as the cache holds."""
    rows = max(1, CACHED // (values.shape[1] * values.shape[2]))
    for begin in range(0, labels.shape[1], rows):
        for b in range(labels.shape[0]):
            for i in range(begin, min(begin + rows, labels.shape[1])):
                label = labels[b, i]
                group = groups[label]
                for t in range(values.shape[2]):
                    sums[b, group, t] += values[i, label, t]


def sums_by_group(values: FloatArray, labels: Array, groups: IntArray, n_groups: int) -> FloatArray:
    """``sum_i values[i, labels[b, i]]`` over the observations of each group, (n_groups, B)."""
    sums = np.zeros((n_groups, labels.shape[0]))
    if _are_few(values) and labels.size <= FEW:
        order = np.argsort(groups, kind="stable")
        present, starts = np.unique(groups[order], return_index=True)
        for part, label, where in _places(labels[:, order], values.shape[1]):
            where *= values[order, label]
            sums[present, part] += np.add.reduceat(where, starts, axis=1).T
    else:
        _add_by_group(values, labels, groups, sums)
    return sums


@jit
def _add_by_group(values: FloatArray, labels: Array, groups: IntArray, sums: FloatArray) -> None:
    for b in range(labels.shape[0]):
        for i in range(labels.shape[1]):
            sums[groups[i], b] += values[i, labels[b, i]]


def features_by_class(features: FloatArray, labels: Array, n_classes: int) -> FloatArray:
    """``sum_i features[i]`` over the observations with each label, (B, n_classes, s), for features (n, s)."""
    if n_classes <= FEW_LABELS and np.isfinite(features).all():
        lines = np.ascontiguousarray(features.T)
        return _by_label(np.broadcast_to(lines, (n_classes, *lines.shape)), labels)
    return changes_by_class(features, np.full(len(features), -1), labels, n_classes)


def counts_by_own_group(groups: Array, labels: Array, weights: FloatArray, n_groups: int) -> FloatArray:
    """Weight of the observations with each label in each group, (B, k, n_groups), which is one for a label, (n, k)."""
    sums = np.zeros((labels.shape[0], groups.shape[1], n_groups))
    _add_to_own_groups(groups, labels, weights, sums)
    return sums


@jit
def _add_to_own_groups(groups: Array, labels: Array, weights: FloatArray, sums: FloatArray) -> None:
    for b in range(labels.shape[0]):
        for i in range(labels.shape[1]):
            label = labels[b, i]
            sums[b, label, groups[i, label]] += weights[i]


ROWS = 512
"""Observations whose features stay in the cache while all redraws use them."""


def changes_by_class(features: FloatArray, base: IntArray, labels: Array, n_classes: int) -> FloatArray:
    """``sum_i (e_label - e_base) features[i]'`` for each redraw, (B, n_classes, s), for features (n, s).

    An observation without a base (-1) adds ``e_label``. Those whose label is their base take next to no time.
    """
    sums = np.zeros((labels.shape[0], n_classes, features.shape[1]), dtype=features.dtype)
    _add_changes(features, base, labels, sums)
    return sums


@jit
def _add_changes(features: FloatArray, base: IntArray, labels: Array, sums: FloatArray) -> None:
    n, size = features.shape
    for begin in range(0, n, ROWS):
        end = begin + ROWS if begin + ROWS < n else n
        for b in range(labels.shape[0]):
            for i in range(begin, end):
                new, old = np.int64(labels[b, i]), base[i]
                if new == old:
                    continue
                for t in range(size):
                    sums[b, new, t] += features[i, t]
                if old >= 0:
                    for t in range(size):
                        sums[b, old, t] -= features[i, t]
