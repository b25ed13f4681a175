"""Sums of residuals on both sides of all thresholds."""

import numpy as np

from caltest._basics.jit import jit
from caltest._basics.numerics import Array, BoolArray, FloatArray, IntArray


@jit
def raise_to_two_sides(p: FloatArray, order: IntArray, ends: BoolArray, labels: Array, largest: FloatArray) -> None:
    """Raise ``largest[b]`` to ``|R_j| + |R_n - R_j|`` for all j at which ``ends`` is true, of labels (B, n).

    ``R_j`` is the sum (k,) of the residuals ``e_y - p`` of the first j + 1 rows in the order.
    """
    n_classes = p.shape[1]
    for b in range(labels.shape[0]):
        total, below = np.zeros(n_classes), np.zeros(n_classes)
        for i in order:
            total -= p[i]
            total[labels[b, i]] += 1.0
        for j in range(order.size):
            i = order[j]
            below -= p[i]
            below[labels[b, i]] += 1.0
            if ends[j]:
                inside, outside = 0.0, 0.0
                for c in range(n_classes):
                    inside += below[c] ** 2
                    outside += (total[c] - below[c]) ** 2
                largest[b] = max(largest[b], np.sqrt(inside) + np.sqrt(outside))
