"""Sums of h over tiles for many redraws of targets that are labels: classes, or counts that matter.

There are three ways. Lists of the labels that differ from their base, the most probable label: time for pairs of
changed labels only. Where many labels change, and the target kernel says only whether labels are equal, comparisons of
the labels of all pairs, for all redraws at once. Or matrix products: with a root R of the matrix of the target kernel,
``A = R' R``, an observation with the label y has the feature ``f = R (e_y - p)`` and ``h_ij = K_ij f_i . f_j``, so that
a product of the tile K with the features of many redraws sums over all pairs. It takes the same time whatever the
labels, and less than the lists if many labels change and the root has few rows.
"""

from dataclasses import replace

import numpy as np

from caltest._basics.numerics import Array, FloatArray, ranges
from caltest._basics.threads import threaded
from caltest._loops.pair_sums import redraws
from caltest._loops.pair_sums.equal_labels import equal_label_sums
from caltest.hstatistics.pair_tiles import Kernels, Places, kernel_tiles, total_of_tiles, upper_kernel_tiles
from caltest.hstatistics.tiles import Place
from caltest.kernels import PredictionKernel
from caltest.predictions import Predictions
from caltest.predictions.outcomes import Outcomes

AT_ONCE = 512
"""Features of an observation in all redraws that are multiplied together: 1.5 MB for each of three arrays."""

LISTED = 16.0
"""In the time for a pair of listed labels a matrix product takes so many pairs of features."""

COMPARED, SEVERAL = 0.4, 3
"""The share of labels that differ from their base, and the number of kernels, from which on comparisons of all pairs
take less time than lists."""

MOST_LABELS = 256
"""Labels up to which a root of the matrix of the target kernel takes no time, and is likely to have few rows."""


def label_pair_sums(kernels: Kernels, predictions: Predictions, outcomes: Outcomes, places: Places) -> FloatArray:
    """``sum_{i<j} h_ij`` over some tiles, for each of the kernels and redraws, (L, B).

    In the fastest way.
    """
    gram, n_labels = outcomes.gram, len(outcomes.gram)
    equal, other = gram[0, 0], gram[0, -1]
    if np.array_equal(gram, np.where(np.eye(n_labels, dtype=np.bool_), equal, other)):
        # Numbers that all labels share are of no effect on residuals, which sum to 0.
        if len(kernels) >= SEVERAL and outcomes.changes.mean() > COMPARED:
            outcomes = replace(outcomes, base=np.full(len(outcomes.base), -1))
        return float(equal - other) * _listed_sums(kernels, predictions, outcomes, None, places)
    if n_labels <= MOST_LABELS and features_are_faster(outcomes, len(root := root_of(gram))):
        return _feature_sums(kernels, predictions, outcomes, root, places)
    return _listed_sums(kernels, predictions, outcomes, gram, places)


def root_of(gram: FloatArray) -> FloatArray:
    """``R`` (s, k) with ``A = R' R`` for a positive semi-definite matrix A (k, k) of rank s."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > 1e-15 * values[-1]
    return np.ascontiguousarray((vectors[:, kept] * np.sqrt(values[kept])).T)


def features_are_faster(outcomes: Outcomes, rank: int) -> bool:
    """Whether features take less time than lists of the labels that change, with a matrix of this rank."""
    changes = outcomes.changes
    listed = np.where(outcomes.base >= 0, 2.0, 1.0) * changes
    return rank < LISTED * float(changes.mean() * listed.mean())


def _feature_sums(
    kernels: Kernels, predictions: Predictions, outcomes: Outcomes, root: FloatArray, places: Places
) -> FloatArray:
    """Matrix products, for labels that often change."""
    means, labels = outcomes.probabilities @ root.T, outcomes.labels

    def tile_sums(place: Place) -> FloatArray:
        """``sum_ij K_ij f_i . f_j`` for each kernel and redraw, (L, B)."""
        tiles = upper_kernel_tiles(kernels, predictions, place)
        sums = np.empty((len(tiles), len(labels)))
        for part in ranges(len(labels), max(1, AT_ONCE // root.shape[0])):
            left, right = (_features(root, means[some], labels[part, some]) for some in place)
            for one, tile in enumerate(tiles):
                smoothed = tile @ right.reshape(right.shape[0], -1)
                smoothed *= left.reshape(smoothed.shape)
                sums[one, part] = smoothed.reshape(-1, left.shape[2]).sum(axis=0)
        return sums

    return total_of_tiles(tile_sums, places)


def _features(root: FloatArray, means: FloatArray, labels: Array) -> FloatArray:
    """``R e_y - R p`` for observations (c,) and redraws (b,) of their labels, (c, s, b)."""
    out = np.empty((*means.shape, labels.shape[0]))
    redraws.label_features(root, means, np.ascontiguousarray(labels.T), out)
    return out


def _listed_sums(
    kernels: Kernels, predictions: Predictions, outcomes: Outcomes, matrix: FloatArray | None, places: Places
) -> FloatArray:
    """Sums over pairs of redrawn labels that differ from their bases, and without a matrix agree.

    The residual of a redraw is e_y - p = q + d with q = e_m - p, where m is the base: the most probable label if its
    probability exceeds 1/2, else none (e_m = 0). With A the matrix of the target kernel, by default I, K that of the
    predictions and R = K q A over the pairs i != j of the tiles::

        sum_{i<j} h_ij = sum_i R_i . q_i / 2 + sum_i R_i . d_i + sum_{i<j} K_ij d_i' A d_j
    """
    labels, base, anchors = outcomes.labels, outcomes.base, outcomes.anchors

    def tile_sums(place: Place) -> tuple[FloatArray, list[tuple[slice, FloatArray]]]:
        rows, columns = place
        values = kernel_tiles(kernels, predictions, place)
        if rows == columns:
            values[:, np.arange(values.shape[1]), np.arange(values.shape[1])] = 0.0
        # One product of matrices for all kernels.
        across = values.reshape(-1, values.shape[2]) @ anchors[columns]
        smooth = [(rows, across.reshape(*values.shape[:2], -1))]
        if rows != columns:
            smooth.append((columns, (anchors[rows].T @ values).swapaxes(1, 2)))
        return _changed_sums(values, outcomes, matrix, place), smooth

    pairs = np.zeros((len(kernels), labels.shape[0]))
    smoothed = np.zeros((len(kernels), *anchors.shape))
    for sums, smooth in threaded(tile_sums, *places, "redraws", products=True):
        pairs += sums
        for some, part in smooth:
            smoothed[:, some] += part
    if matrix is not None:
        smoothed = smoothed @ matrix
    constants = np.einsum("lik,ik->l", smoothed, anchors) / 2.0
    rows = np.flatnonzero(base >= 0)
    smoothed[:, rows] -= smoothed[:, rows, base[rows]][..., None]
    values = np.ascontiguousarray(smoothed.transpose(1, 2, 0))
    pairs += constants[:, None] + redraws.gathered_tables(values, labels).T
    return pairs


def _changed_sums(tiles: FloatArray, outcomes: Outcomes, matrix: FloatArray | None, place: Place) -> FloatArray:
    """``sum_{i<j} K_ij d_i' A d_j`` over a tile of each of the kernels, (L, B)."""
    rows, columns = place
    begin, base, labels = (rows.start, columns.start), outcomes.base, outcomes.labels
    has_base = bool((base >= 0).any())
    parts, k = list(ranges(len(tiles), redraws.LANES)), outcomes.probabilities.shape[1]
    if matrix is None and len(tiles) >= SEVERAL and not has_base:
        own, others = (outcomes.by_row[some] for some in place)
        return np.concatenate([equal_label_sums(tiles[part], own, others, rows == columns) for part in parts])
    if rows == columns:
        tiles = np.triu(tiles)
    if matrix is None:
        return np.concatenate([redraws.equal_sums(tiles[part], base, labels, *begin, k) for part in parts])
    if has_base:
        return np.stack([redraws.gram_sums(tile, matrix, base, labels, *begin) for tile in tiles])
    return np.stack([redraws.table_sums(tile, matrix, labels, *begin, rows == columns) for tile in tiles])


def label_diagonal_sums(kernel: PredictionKernel, predictions: Predictions, outcomes: Outcomes) -> FloatArray:
    """``sum_i h_ii`` for each of the redraws, (B,)."""
    means = outcomes.probabilities @ outcomes.gram
    centred = np.diag(outcomes.gram) - 2.0 * means
    centred += np.einsum("ik,ik->i", means, outcomes.probabilities)[:, None]
    itself = predictions.take(np.arange(len(predictions))[:, None])
    centred *= kernel.tile(itself, itself)[:, 0]
    return redraws.gathered_sums(centred, outcomes.labels)
