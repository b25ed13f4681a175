"""How often each label occurs in each cell of predictions, for observed and redrawn labels."""

import numpy as np

from caltest._basics.jit import jit
from caltest._basics.numerics import Array, FloatArray, IntArray
from caltest._loops.rows import row_state, uniform

REDRAWS = 256
"""Redraws counted together, so that the counts of a cell stay in the cache."""


@jit
def find_cells(p: FloatArray, columns: IntArray, limits: FloatArray, next_nodes: IntArray, cells: IntArray) -> None:
    """The leaf of each row of p in a tree of comparisons ``p[column] <= limit``; leaves are stored as ``-1 - leaf``."""
    for i in range(p.shape[0]):
        node = 0 if columns.shape[0] else -1
        while node >= 0:
            node = next_nodes[node, 0] if p[i, columns[node]] <= limits[node] else next_nodes[node, 1]
        cells[i] = -1 - node


Rows = tuple[FloatArray, Array, FloatArray, FloatArray, IntArray, Array, IntArray]
"""Probabilities (n, k), observed labels (n,), weights (n,), terms (n, k, T) of labels, numbers of the rows (n,), groups
(n, k + 1) of labels and of hits, or none (n, 0), and the labels (n,) that are hits."""


@jit
def add_where(came: FloatArray, line: FloatArray) -> None:
    """Add the weights of a row, which are 0 where another label came."""
    for b in range(line.shape[0]):
        line[b] += came[b]


@jit
def count_labels(
    rows: Rows, seed: np.uint64, first: int, counts: FloatArray, sums: FloatArray, grouped: FloatArray
) -> None:
    """Add to weights of labels ``counts[label, redraw]`` (k, B), to ``sums`` (T, B) and to ``grouped`` (k + 1, G, B).

    The sums are those of the numbers ``terms[row, label, t]`` of the rows' labels, times their weights; those grouped
    are the weights of each label in each of its groups, and of hits. Redraws begin at ``first``, where -1 are the
    observed labels; that of another one is the first class whose cumulative probability exceeds the random number of
    the redraw and of the row, whose ``numbers`` are those in the whole data.
    """
    p, labels, weights, terms, numbers, groups, tops = rows
    has_groups = groups.shape[1] > 0
    (k, n_redraws), n_terms = counts.shape, sums.shape[0]
    observed = 1 if first < 0 else 0
    for row in range(p.shape[0] if observed else 0):
        label = labels[row]
        counts[label, 0] += weights[row]
        for t in range(n_terms):
            sums[t, 0] += weights[row] * terms[row, label, t]
        if has_groups:
            grouped[label, groups[row, label], 0] += weights[row]
            grouped[k, groups[row, k], 0] += weights[row] * (label == tops[row])
    ends, u, inside, came = np.empty(k), np.empty(REDRAWS), np.empty(REDRAWS), np.empty(REDRAWS)
    above = np.empty((k, REDRAWS))
    for start in range(observed, n_redraws, REDRAWS):
        size = min(REDRAWS, n_redraws - start)
        above[:] = 0.0
        for row in range(p.shape[0]):
            total = 0.0
            for c in range(k):
                total += p[row, c]
                ends[c] = total
            state, weight = row_state(seed, numbers[row]), weights[row]
            for b in range(size):
                u[b] = uniform(state, first + start + b) * total
            above[k - 1, 0] += weight
            inside[:size] = weight
            for t in range(n_terms):
                line, base = sums[t, start : start + size], weight * terms[row, 0, t]
                for b in range(size):
                    line[b] += base
            last = 0
            for c in range(k - 1):
                if ends[c] >= total:
                    break
                end, line, last = ends[c], above[c], c + 1
                for b in range(size):
                    value = weight if u[b] >= end else 0.0
                    line[b] += value
                    came[b] = inside[b] - value
                    inside[b] = value
                if has_groups:
                    add_where(came, grouped[c, groups[row, c], start : start + size])
                    if c == tops[row]:
                        add_where(came, grouped[k, groups[row, k], start : start + size])
                for t in range(n_terms):
                    step = terms[row, c + 1, t] - terms[row, c, t]
                    if step != 0.0:
                        line = sums[t, start : start + size]
                        for b in range(size):
                            line[b] += step * inside[b]
            if has_groups:
                add_where(inside, grouped[last, groups[row, last], start : start + size])
                if last == tops[row]:
                    add_where(inside, grouped[k, groups[row, k], start : start + size])
        for b in range(size):
            left = above[k - 1, 0]
            for c in range(k - 1):
                counts[c, start + b] += left - above[c, b]
                left = above[c, b]
            counts[k - 1, start + b] += left


@jit
def count_cells(
    rows: Rows, bounds: IntArray, seed: np.uint64, first: int, counts: FloatArray, sums: FloatArray, grouped: FloatArray
) -> None:
    """``count_labels`` of the rows of several cells, ``bounds[c]`` to ``bounds[c + 1]``: (C, k, B) and (C, T, B)."""
    p, labels, weights, terms, numbers, groups, tops = rows
    for cell in range(bounds.shape[0] - 1):
        some = slice(bounds[cell], bounds[cell + 1])
        own = labels[some] if labels.shape[0] else labels
        of_cell = p[some], own, weights[some], terms[some], numbers[some], groups[some], tops[some]
        count_labels(of_cell, seed, first, counts[cell], sums[cell], grouped)
