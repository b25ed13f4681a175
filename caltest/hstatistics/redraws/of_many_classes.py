"""Sums over pairs for many redraws of the labels of many classes, with five kernels of the total variation distance.

With the kernels ``K_ij = exp(-TV_ij / w)`` of five bandwidths w, of which each is half of the one before, and residuals
``e_y - p``::

    sum_{i<j} h_ij = sum_{i<j} K_ij [y_i = y_j] - sum_i R_i[y_i] + sum_{i<j} K_ij p_i . p_j
               R_i = sum_{j != i} K_ij p_j

R is needed only where a row draws a class at least once. Numbers of pairs have single precision, their sums double.
"""

from dataclasses import dataclass

import numpy as np

from caltest._basics.numerics import Array, FloatArray, IntArray, ranges
from caltest._basics.threads import threaded
from caltest._loops.pair_sums.overlaps import BUCKETS, FOUR, add_agreeing, add_smoothed, overlaps, sort_labels
from caltest._loops.statistics.label_sums import list_entries

N_KERNELS = 5
FACTORS = (4.0, 2.0, 1.0, 0.5, 0.25)
"""Bandwidths of the kernels, over that in the middle."""

TILE = 384
"""Rows and columns of a tile: 0.6 MB, which stay in the cache while all redraws use them."""

STRIP = 4
"""Tiles for which the labels of the columns are sorted once."""


@dataclass(frozen=True, eq=False)
class Entries:
    """The classes that each of n rows draws at least once, and for each redraw (n, B) which of them it is."""

    codes: Array
    starts: IntArray
    """Where the entries of a row begin, (n + 1,)."""
    classes: Array
    """Of each entry."""

    @classmethod
    def of(cls, labels: Array, n_classes: int) -> "Entries":
        """Those of labels (B, n)."""
        n_redraws, n = labels.shape
        most = min(n_classes, n_redraws)
        codes = np.empty((n, n_redraws), dtype=np.min_scalar_type(most))
        classes, starts = np.empty(n * most, dtype=np.int32), np.empty(n + 1, dtype=np.intp)
        list_entries(labels, codes, starts, classes, n_classes)
        return cls(codes, starts, classes[: starts[-1]].copy())

    @property
    def rows(self) -> IntArray:
        """The row of each entry."""
        return np.repeat(np.arange(len(self.codes)), np.diff(self.starts))

    def part(self, rows: slice) -> tuple["Entries", slice]:
        """Those of some rows, and which of all they are."""
        some = slice(int(self.starts[rows.start]), int(self.starts[rows.stop]))
        starts = self.starts[rows.start : rows.stop + 1] - some.start
        return Entries(self.codes[rows], starts, self.classes[some]), some

    def __len__(self) -> int:
        return len(self.classes)


def single(p: Array) -> Array:
    """Rows of sum 1 in single precision."""
    rows = np.empty(p.shape, dtype=np.float32)
    np.divide(p, p.sum(axis=1, keepdims=True, dtype=np.float64), out=rows, dtype=np.float64, casting="same_kind")
    return rows


@dataclass(frozen=True, eq=False)
class PairSums:
    """Sums over pairs of n rows: with equal labels, ``constant``, and the ``R`` of all entries."""

    agreeing: FloatArray
    """Sums of the kernels, and the number of pairs, (B, 6)."""
    constants: FloatArray
    """``sum_{i<j} K_ij p_i . p_j``, (5,)."""
    smoothed: Array
    """R of each entry, (E, 5)."""


Strip = tuple[list[slice], slice]
"""Rows of some tiles, and their columns."""


def strips(n: int) -> list[Strip]:
    """Those that cover the pairs i <= j of n rows."""
    parts = list(ranges(n, TILE))
    return [(parts[i : min(i + STRIP, j + 1)], parts[j]) for j in range(len(parts)) for i in range(0, j + 1, STRIP)]


KernelTile = tuple[Array, FloatArray]
"""``exp(-TV / (4 b))`` of the pairs of some rows and columns, 0 for those of a row with itself, and ``constants``."""

Kept = dict[tuple[int, int], KernelTile]
"""By their first row and their first column."""


def pair_sums(
    p: Array, labels: Array, entries: Entries, bandwidth: float, *, in_threads: bool = True, kept: Kept | None = None
) -> PairSums:
    """Sums for labels (B, n) of predictions p (n, k) over all pairs, with the bandwidth in the middle.

    Not in threads where these have a part of the rows each. Tiles that are kept are used for other labels.
    """
    total = PairSums(np.zeros((len(labels), 6)), np.zeros(N_KERNELS), np.zeros((len(entries), N_KERNELS), np.float32))
    items = strips(len(p))
    parts = {part.start: np.ascontiguousarray(single(p[part]).T) for part in ranges(len(p), TILE)}

    def sums(strip: Strip) -> StripSums:
        return _strip_sums(parts, labels, entries, bandwidth, strip, {} if kept is None else kept)

    made = threaded(sums, items, len(items), "kernel", products=True) if in_threads else map(sums, items)
    for agreeing, constants, smoothed in made:
        total.agreeing[...] += agreeing
        total.constants[...] += constants
        for part, some in smoothed:
            total.smoothed[part] += some
    return total


StripSums = tuple[FloatArray, FloatArray, list[tuple[slice, Array]]]
"""What a strip adds to sums over pairs: R to that of some of the entries."""


def _strip_sums(
    parts: dict[int, Array], labels: Array, entries: Entries, bandwidth: float, strip: Strip, kept: Kept
) -> StripSums:
    """From predictions of the rows of tiles in single precision, transposed (k, r), by the first of these rows."""
    blocks, columns = strip
    right, first = parts[columns.start], columns.start
    k, w = right.shape
    starts = np.empty((len(labels), min(k, BUCKETS) + 1), dtype=np.uint16)
    members = np.empty((len(labels), w + FOUR), dtype=np.uint16)
    sort_labels(labels, first, columns.stop, starts, members)
    agreeing, constants = np.zeros((len(labels), 6)), np.zeros(N_KERNELS)
    of_columns, part = entries.part(columns)
    smoothed = [(part, np.zeros((len(of_columns), N_KERNELS), dtype=np.float32))]
    for rows in blocks:
        is_diagonal, place = rows == columns, (rows.start, first)
        left = parts[rows.start]
        if place not in kept:
            kept[place] = _kernel_tile(left, right, bandwidth, is_diagonal)
        (tile, constant), some = kept[place], np.zeros_like(agreeing)
        constants += constant
        add_agreeing(tile, labels, rows.start, first, starts, members, k, some)
        if is_diagonal:
            # Rows agree with themselves, and all other pairs are there twice.
            some[:, N_KERNELS] -= w
            agreeing += 0.5 * some
            add_smoothed(tile, right, of_columns.starts, of_columns.classes, smoothed[0][1])
            continue
        agreeing += some
        of_rows, part = entries.part(rows)
        smoothed.append((part, np.zeros((len(of_rows), N_KERNELS), dtype=np.float32)))
        add_smoothed(tile, right, of_rows.starts, of_rows.classes, smoothed[-1][1])
        add_smoothed(np.ascontiguousarray(tile.T), left, of_columns.starts, of_columns.classes, smoothed[0][1])
    return agreeing, constants, smoothed


def _kernel_tile(left: Array, right: Array, bandwidth: float, is_diagonal: bool) -> KernelTile:
    n_rows = left.shape[1]
    tile = np.empty((-(-n_rows // FOUR) * FOUR, right.shape[1]), dtype=np.float32)
    overlaps(left.T, right, tile)
    tile = tile[:n_rows]
    tile -= 1.0
    tile *= 0.25 / bandwidth
    np.exp(np.minimum(tile, 0.0, out=tile), out=tile)
    if is_diagonal:
        np.fill_diagonal(tile, 0.0)
    constants, products, power = np.empty(N_KERNELS), left.T @ right, tile.copy()
    for one in range(N_KERNELS):
        constants[one] = np.einsum("ij,ij->i", power, products).sum(dtype=np.float64)
        np.square(power, out=power)
    return tile, constants * (0.5 if is_diagonal else 1.0)
