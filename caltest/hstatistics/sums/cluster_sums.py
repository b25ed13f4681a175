"""Sums of h over the pairs of observations in the same cluster, and in different ones."""

from dataclasses import dataclass

import numpy as np

from caltest._basics.types import Array, FloatArray, IntArray
from caltest.hstatistics.pair_tiles import Places, tile_size, upper_tiles
from caltest.hstatistics.redraws.of_all_families import pair_sums, redrawn_means
from caltest.hstatistics.tiles import Place
from caltest.kernels import PairKernel
from caltest.predictions import Predictions


@dataclass(frozen=True, eq=False)
class Clusters:
    """Clusters of n observations.

    Attributes
    ----------
    codes
        Which cluster 0..C-1 each observation belongs to, (n,).
    n_clusters
        Number C.
    """

    codes: IntArray
    n_clusters: int

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def sizes(self) -> IntArray:
        """Numbers of members, (C,)."""
        return np.bincount(self.codes, minlength=self.n_clusters)

    @property
    def n_pairs_between(self) -> int:
        """Number of pairs i < j in different clusters."""
        n, sizes = len(self), self.sizes
        return n * (n - 1) // 2 - int((sizes * (sizes - 1) // 2).sum())


def within_pair_sums(kernel: PairKernel, clusters: Clusters, predictions: Predictions, targets: Array) -> FloatArray:
    """``sum_{i<j} h_ij`` over the pairs in the same cluster, for each of the targets (B, n), (B,)."""
    order = np.argsort(clusters.codes, kind="stable")
    sorted_predictions, sorted_targets = predictions.take(order), np.ascontiguousarray(targets[:, order])
    places = tiles_of_clusters(clusters.sizes, tile_size(predictions))
    return np.asarray(
        np.sum([pair_sums([one], sorted_predictions, sorted_targets, places)[0] for one in kernel.products], axis=0)
    )


def between_pair_sums(kernel: PairKernel, clusters: Clusters, predictions: Predictions, targets: Array) -> FloatArray:
    """``sum_{i<j} h_ij`` over the pairs in different clusters, for each of the targets (B, n), (B,)."""
    n = len(predictions)
    total = redrawn_means([kernel], predictions, targets, True)[0] * (n * (n - 1) / 2.0)
    return np.asarray(total - within_pair_sums(kernel, clusters, predictions, targets))


def tiles_of_clusters(sizes: IntArray, tile: int) -> Places:
    """Tiles that cover the pairs within clusters that follow each other."""
    places: list[Place] = []
    for stop, size in zip(np.cumsum(sizes).tolist(), sizes.tolist(), strict=True):
        start = stop - size
        places += [
            (slice(start + rows.start, start + rows.stop), slice(start + columns.start, start + columns.stop))
            for rows, columns in upper_tiles(size, tile)
        ]
    return places, len(places)
