"""Sums of h over tiles for many redraws of class labels, as matrix products of features of the labels.

With a root R of the matrix of the target kernel, ``A = R' R``, an observation with the label y has the feature
``f = R (e_y - p)`` and ``h_ij = K_ij f_i . f_j``. A matrix product of the tile K with the features of many redraws sums
over all pairs. It takes the same time whatever the labels, and less than a list of the changed labels if these are many
and the root has few rows.
"""

import numpy as np

from caltest._loops.redraws import label_features
from caltest._numerics import ranges
from caltest._types import Array, FloatArray
from caltest.htiles import Place
from caltest.predictions import FinitePredictions

AT_ONCE = 512
"""Features of an observation in all redraws that are multiplied together: 1.5 MB for each of three arrays."""

LISTED = 16.0
"""In the time for a pair of listed labels a matrix product takes so many pairs of features."""


def root_of(gram: FloatArray) -> FloatArray:
    """``R`` (s, k) with ``A = R' R`` for a positive semi-definite matrix A (k, k) of rank s."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > 1e-15 * values[-1]
    return np.ascontiguousarray((vectors[:, kept] * np.sqrt(values[kept])).T)


def features_are_faster(predictions: FinitePredictions, rank: int) -> bool:
    """Whether features take less time than lists of the labels that change, with a matrix of this rank."""
    base, probabilities = predictions.bases, predictions.probabilities
    changes = np.where(base >= 0, 1.0 - probabilities.max(axis=-1), 1.0)
    listed = np.where(base >= 0, 2.0, 1.0) * changes
    return rank < LISTED * float(changes.mean() * listed.mean())


def tile_sums_by_features(
    tiles: FloatArray, root: FloatArray, means: FloatArray, labels: Array, place: Place
) -> FloatArray:
    """``sum_ij K_ij f_i . f_j`` over a tile of each of some kernels (L, r, c), for each redraw: (L, B).

    ``means`` are the expectations ``R p``, (n, s), and labels (B, n).
    """
    rows, columns = place
    rank, (n_redraws, _) = root.shape[0], labels.shape
    sums = np.empty((tiles.shape[0], n_redraws))
    for part in ranges(n_redraws, max(1, AT_ONCE // rank)):
        left, right = (_features(root, means[some], labels[part, some]) for some in (rows, columns))
        for one, tile in enumerate(tiles):
            smoothed = tile @ right.reshape(right.shape[0], -1)
            smoothed *= left.reshape(smoothed.shape)
            sums[one, part] = smoothed.reshape(-1, left.shape[2]).sum(axis=0)
    return sums


def _features(root: FloatArray, means: FloatArray, labels: Array) -> FloatArray:
    """``R e_y - R p`` for observations (c,) and redraws (b,) of their labels, (c, s, b)."""
    out = np.empty((*means.shape, labels.shape[0]))
    label_features(root, means, np.ascontiguousarray(labels.T), out)
    return out
