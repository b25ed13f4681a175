"""The algorithm of the Julia reference: bootstrap of the doubly centred h matrix by resampled indices, compiled."""

import numpy as np
from numba import njit

from .vectorised import h_matrix


@njit(cache=True)
def resampled_sums(centred, draws, rng):
    """Sum over i < j of G[r_i, r_j] for indices r_1..r_n drawn with replacement, for each draw."""
    n = centred.shape[0]
    sums = np.zeros(draws)
    for draw in range(draws):
        indices = rng.integers(0, n, n)
        for j in range(n):
            row = centred[indices[j]]
            for i in range(j):
                sums[draw] += row[indices[i]]
    return sums


def bootstrap_test(predictions, labels, draws):
    n = len(labels)

    def call():
        h = h_matrix(predictions, labels)
        estimate = (h.sum() - np.trace(h)) / (n * (n - 1))
        means = h.mean(axis=0)
        centred = h - means[:, None] - means + means.mean()
        larger = np.count_nonzero(2.0 * resampled_sums(centred, draws, np.random.default_rng(1)) / n >= n * estimate)
        return {"estimate": float(estimate), "pvalue": (1 + larger) / (1 + draws), "draws": draws}

    return call
