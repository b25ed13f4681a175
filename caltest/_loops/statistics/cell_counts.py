"""How often each label occurs in each cell of predictions, for observed and redrawn labels."""

import numpy as np

from caltest._basics.jit import jit
from caltest._basics.numerics import Array, FloatArray, IntArray
from caltest._loops.uniforms import row_state, uniform

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


@jit
def count_labels(
    p: FloatArray,
    labels: Array,
    weights: FloatArray,
    rows: IntArray,
    numbers: IntArray,
    seed: np.uint64,
    first: int,
    counts: FloatArray,
) -> None:
    """Add the weights of some rows of a cell to ``counts[label, redraw]`` (k, B), of redraws from ``first`` on.

    The first redraw, -1, are the observed labels. That of another one is the first class whose cumulative probability
    exceeds the random number of the redraw and of the row, whose ``numbers`` are those in the whole data.
    """
    k, n_redraws = counts.shape[0], counts.shape[1]
    ends, u = np.empty(k), np.empty(REDRAWS)
    above = np.empty((k, REDRAWS))
    observed = 1 if first < 0 else 0
    if observed:
        for row in rows:
            counts[labels[row], 0] += weights[row]
    for start in range(observed, n_redraws, REDRAWS):
        size = min(REDRAWS, n_redraws - start)
        above[:] = 0.0
        for row in rows:
            total = 0.0
            for c in range(k):
                total += p[row, c]
                ends[c] = total
            state, weight = row_state(seed, numbers[row]), weights[row]
            for b in range(size):
                u[b] = uniform(state, first + start + b) * total
            for c in range(k - 1):
                end, line = ends[c], above[c]
                if end < total:
                    for b in range(size):
                        line[b] += weight if u[b] >= end else 0.0
            above[k - 1, 0] += weight
        for b in range(size):
            before = above[k - 1, 0]
            for c in range(k - 1):
                counts[c, start + b] += before - above[c, b]
                before = above[c, b]
            counts[k - 1, start + b] += before
