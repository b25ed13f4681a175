"""Where the inducing inputs start: k-means of one-dimensional inputs."""

import numpy as np

from caltest._types import FloatArray

STEPS = 100


def centres(inputs: FloatArray, n_centres: int) -> FloatArray:
    """At most so many centres of k-means of numbers of any shape, started at quantiles of the different numbers.

    Sorted numbers fall into clusters that are intervals, so that a step takes O(M log n) after O(n log n).
    """
    ordered = np.sort(inputs, axis=None)
    different = ordered[np.append(True, np.diff(ordered) > 0.0)]
    if different.size <= n_centres:
        return np.asarray(different)
    found = np.quantile(different, (np.arange(n_centres) + 0.5) / n_centres)
    sums = np.append(0.0, np.cumsum(ordered))
    for _ in range(STEPS):
        inner = np.searchsorted(ordered, (found[1:] + found[:-1]) / 2.0)
        bounds = np.concatenate([[0], inner, [ordered.size]])
        sizes = np.diff(bounds)
        means = np.where(sizes > 0, np.diff(sums[bounds]) / np.maximum(sizes, 1), found)
        if np.array_equal(means, found):
            break
        found = means
    return np.asarray(found)
