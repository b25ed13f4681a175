"""Mondrian forests (Lakshminarayanan, Roy and Teh 2014), which have the same distribution grown in batch and online.

As in scikit-garden, the package of Wenger et al. 2020, blocks are split until their rows are equal, and nodes predict the
shares of labels in them. The paper of 2014 stops at blocks of one label and smooths the shares along the path.
"""

from typing import NamedTuple

import numpy as np
from numba import njit


class Tree(NamedTuple):
    """Nodes: corners of the block of their rows, time and place of the split, children (-1 for none), shares of labels."""

    low: np.ndarray
    high: np.ndarray
    time: np.ndarray
    feature: np.ndarray
    cut: np.ndarray
    children: np.ndarray
    shares: np.ndarray


@njit(cache=True, nogil=True)
def grown(x, y, k, rng):
    """The nodes of a tree for features (n, d) and labels 0..k-1."""
    n, d = x.shape
    low, high, shares = np.zeros((2 * n, d)), np.zeros((2 * n, d)), np.zeros((2 * n, k))
    time, cut = np.full(2 * n, np.inf), np.zeros(2 * n)
    feature, children = np.zeros(2 * n, np.int64), np.full((2 * n, 2), -1)
    blocks, used = [(0, np.arange(n), 0.0)], 1
    while blocks:
        node, rows, before = blocks.pop()
        low[node], high[node] = x[rows[0]], x[rows[0]]
        for i in rows:
            shares[node, y[i]] += 1.0 / len(rows)
            for j in range(d):
                low[node, j], high[node, j] = min(low[node, j], x[i, j]), max(high[node, j], x[i, j])
        edges = np.cumsum(high[node] - low[node])
        if edges[-1] == 0.0:
            continue
        # The first event of a Poisson process, whose rate is the sum of the edges of the block.
        time[node] = before + rng.exponential() / edges[-1]
        feature[node] = j = np.searchsorted(edges, rng.random() * edges[-1], side="right")
        cut[node] = low[node, j] + rng.random() * (high[node, j] - low[node, j])
        beyond = x[rows, j] > cut[node]
        for side in range(2):
            children[node, side] = used
            blocks.append((used, rows[beyond == side], time[node]))
            used += 1
    return low[:used], high[:used], time[:used], feature[:used], cut[:used], children[:used], shares[:used]


@njit(cache=True, nogil=True)
def predicted(tree, x):
    """Probabilities (n, k): means over the nodes at which a point may leave the tree, the last of them a leaf."""
    low, high, time, feature, cut, children, shares = tree
    p = np.zeros((len(x), shares.shape[1]))
    for i in range(len(x)):
        node, stays, before = 0, 1.0, 0.0
        while children[node, 0] >= 0:
            outside = 0.0
            for j in range(x.shape[1]):
                outside += max(x[i, j] - high[node, j], low[node, j] - x[i, j], 0.0)
            leaves = -np.expm1(-(time[node] - before) * outside)
            p[i] += stays * leaves * shares[node]
            stays *= 1.0 - leaves
            before = time[node]
            node = children[node, int(x[i, feature[node]] > cut[node])]
        p[i] += stays * shares[node]
    return p


class MondrianForest:
    """Ten trees, each of all rows."""

    def __init__(self, n_trees=10, rng=1):
        self.n_trees, self.rng = n_trees, rng

    def fit(self, x, y, n_classes=None):
        """Grow new trees."""
        rng = np.random.default_rng(self.rng)
        k = y.max() + 1 if n_classes is None else n_classes
        self.trees = [Tree(*grown(x, y, k, rng)) for _ in range(self.n_trees)]
        return self

    def predict_proba(self, x):
        """The mean of the probabilities of all trees (n, k)."""
        return np.mean([predicted(tree, x) for tree in self.trees], axis=0)
