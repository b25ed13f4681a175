"""Sums over rows of numbers that depend on the row and its label, for many redraws of the labels of many classes.

A row draws few of many classes in all redraws together: these are its entries, in the order in which they are drawn
first. Numbers are known for entries, and a redraw is the number of its entry in the row.
"""

from math import log1p

import numpy as np

from caltest._basics.jit import jit
from caltest._basics.numerics import Array, FloatArray, IntArray


def list_entries(labels: Array, codes: Array, starts: IntArray, classes: Array, n_classes: int) -> None:
    """The entries of the rows of labels (B, n), and for each redraw of a row the number of its entry, ``codes`` (n, B).

    Those of row i have the classes ``classes[starts[i] : starts[i + 1]]``; there must be room for min(k, B) a row.
    """
    seen, number = np.full(n_classes, -1), np.empty(n_classes, dtype=np.int64)
    _list_entries(labels, codes, starts, classes, seen, number)


@jit
def _list_entries(
    labels: Array, codes: Array, starts: IntArray, classes: Array, seen: IntArray, number: IntArray
) -> None:
    total = starts[0] = 0
    for i in range(labels.shape[1]):
        for b in range(labels.shape[0]):
            c = np.int64(labels[b, i])
            if seen[c] != i:
                seen[c], number[c] = i, total - starts[i]
                classes[total] = c
                total += 1
            codes[i, b] = number[c]
        starts[i + 1] = total


@jit
def add_by_group(
    codes: Array, starts: IntArray, groups: IntArray, table: FloatArray, begin: int, end: int, sums: FloatArray
) -> None:
    """Add the line (T,) of the table of each row's entry to ``sums`` (G, B, T), for redraws from ``begin`` to ``end``.

    Each group of rows has its own sums; rows of the group -1 are left out.
    """
    for i in range(codes.shape[0]):
        if groups[i] >= 0:
            top = starts[i]
            for b in range(begin, end):
                e = top + np.int64(codes[i, b])
                for t in range(table.shape[1]):
                    sums[groups[i], b, t] += table[e, t]


@jit
def add_by_class(
    codes: Array, starts: IntArray, classes: Array, table: Array, begin: int, end: int, sums: Array
) -> None:
    """The same for each class of the entry by itself, to ``sums`` (k, B, T)."""
    for i in range(codes.shape[0]):
        top = starts[i]
        for b in range(begin, end):
            e = top + np.int64(codes[i, b])
            c = np.int64(classes[e])
            for t in range(table.shape[1]):
                sums[c, b, t] += table[e, t]


@jit
def add_of_chosen(
    codes: Array,
    starts: IntArray,
    places: IntArray,
    p: FloatArray,
    groups: Array,
    n_groups: int,
    share: float,
    begin: int,
    end: int,
    line: FloatArray,
    sums: Array,
) -> None:
    """Add what faults of chosen classes see to ``sums`` (B, S, G + 3 S), where the label of a row is one of these.

    For a label with the place s: 1 in the group of its rank, ``groups`` (n, S), the probabilities p (n, S) of the
    chosen classes, and the logarithms ``log(1 + share p_a / p_s)`` and ``log(1 + share (p_a / p_s - 1))`` for each of
    them. Entries of other classes have the place -1. ``line`` (S, 3 S) is work space.
    """
    size = p.shape[1]
    for i in range(codes.shape[0]):
        top, some = starts[i], False
        for e in range(top, starts[i + 1]):
            s = places[e]
            if s < 0:
                continue
            some = True
            own = p[i, s]
            for a in range(size):
                ratio, place = p[i, a] / own, size + 2 * a
                line[s, a] = p[i, a]
                line[s, place] = log1p(share * ratio)
                line[s, place + 1] = log1p(share * (ratio - 1.0))
        if some:
            for b in range(begin, end):
                s = places[top + np.int64(codes[i, b])]
                if s >= 0:
                    sums[b, s, groups[i, s]] += 1.0
                    for t in range(line.shape[1]):
                        sums[b, s, n_groups + t] += line[s, t]
