"""Sums of feature vectors by class for many redraws of the labels at once."""

import numpy as np

from caltest._jit import jit
from caltest._types import Array, FloatArray, IntArray

ROWS = 512
"""Observations whose features stay in the cache while all redraws use them."""


@jit
def changes_by_class(features: FloatArray, base: IntArray, labels: Array, n_classes: int) -> FloatArray:
    """``sum_i (e_label - e_base) features[i]'`` for each redraw, (B, n_classes, s), for features (n, s).

    An observation without a base (-1) adds ``e_label``. Those whose label is their base take next to no time.
    """
    n, size = features.shape
    sums = np.zeros((labels.shape[0], n_classes, size))
    for begin in range(0, n, ROWS):
        for b in range(labels.shape[0]):
            for i in range(begin, min(begin + ROWS, n)):
                new, old = np.int64(labels[b, i]), base[i]
                if new == old:
                    continue
                vector, gains = features[i], sums[b, new]
                for t in range(size):
                    gains[t] += vector[t]
                if old >= 0:
                    losses = sums[b, old]
                    for t in range(size):
                        losses[t] -= vector[t]
    return sums
