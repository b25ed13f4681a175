"""Counts of labels in groups, and their isotonic regression, for many labels at once."""

import numpy as np

from caltest._basics.jit import jit
from caltest._basics.numerics import Array, FloatArray, IntArray


@jit
def class_counts(labels: Array, numbers: IntArray, n_groups: int, n_classes: int) -> FloatArray:
    """How often each class occurs in each group (B, g, k), for labels (B, n) and the numbers of their groups (n,)."""
    counts = np.zeros((labels.shape[0], n_groups, n_classes))
    for b in range(labels.shape[0]):
        for i in range(labels.shape[1]):
            counts[b, numbers[i], labels[b, i]] += 1.0
    return counts


@jit
def pooled_means(sums: FloatArray, sizes: FloatArray) -> FloatArray:
    """The increasing sequences (B, g) closest to ``sums / sizes`` with the weights ``sizes`` (g,), for sums (B, g).

    Pools adjacent violators: a block is joined to the one before it as long as its mean is not larger.
    """
    n_groups = sizes.shape[0]
    means = np.empty_like(sums)
    totals, weights, ends = np.empty(n_groups), np.empty(n_groups), np.empty(n_groups, dtype=np.int64)
    for b in range(sums.shape[0]):
        last = -1
        for g in range(n_groups):
            last += 1
            totals[last], weights[last], ends[last] = sums[b, g], sizes[g], g + 1
            while last > 0 and totals[last - 1] * weights[last] >= totals[last] * weights[last - 1]:
                totals[last - 1] += totals[last]
                weights[last - 1] += weights[last]
                ends[last - 1] = ends[last]
                last -= 1
        start = 0
        for block in range(last + 1):
            for g in range(start, ends[block]):
                means[b, g] = totals[block] / weights[block]
            start = ends[block]
    return means
