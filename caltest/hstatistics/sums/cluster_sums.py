"""Sums of h over the pairs of observations in the same cluster, and in different ones."""

from dataclasses import dataclass

import numpy as np

from caltest._basics.numerics import Array, FloatArray, IntArray
from caltest.hstatistics.pair_tiles import tile_size, tiles_of_blocks
from caltest.hstatistics.redraws.of_all_families import pair_sums
from caltest.kernels import PairKernel
from caltest.predictions import Predictions


@dataclass(frozen=True, eq=False)
class Clusters:
    """Which of C clusters each of n observations belongs to, (n,)."""

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
    sizes, tile = clusters.sizes, tile_size(predictions)
    return kernel.sum_of(
        lambda one: pair_sums([one], sorted_predictions, sorted_targets, tiles_of_blocks(sizes, tile))[0]
    )
