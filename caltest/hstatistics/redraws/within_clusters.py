"""Clusters of observations that may depend on each other, and sums of h over pairs within them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from caltest._basics.numerics import Array, FloatArray, IntArray, effective_number
from caltest.hstatistics.redraws.of_all_families import block_pair_sums
from caltest.kernels import PairKernel
from caltest.predictions import Predictions


@dataclass(frozen=True, eq=False)
class Partition:
    """Which of C parts each of n observations belongs to, (n,)."""

    codes: IntArray
    n_parts: int

    @property
    def sizes(self) -> IntArray:
        """Numbers of members, (C,)."""
        return np.bincount(self.codes, minlength=self.n_parts)

    @property
    def blocks(self) -> tuple[IntArray, IntArray]:
        """Rows of the parts with two members or more, part by part, and the sizes of these parts."""
        order, sizes = np.argsort(self.codes, kind="stable"), self.sizes
        return order[sizes[self.codes[order]] > 1], sizes[sizes > 1]

    @property
    def n_pairs(self) -> int:
        """Number of pairs i < j in the same part."""
        sizes = self.sizes
        return int((sizes * (sizes - 1) // 2).sum())


@dataclass(frozen=True, eq=False)
class Clusters:
    """Observations that share their part of a partition, or of either of two, may depend on each other."""

    partitions: tuple[Partition, ...]

    @classmethod
    def of(cls, partitions: Sequence[Partition]) -> "Clusters":
        """The same clusters by one partition, where the parts of another one are parts of its parts."""
        made = cls(tuple(partitions))
        if len(partitions) == 2:
            first, second = partitions
            cells = made.terms[-1][0].n_parts
            if cells in (first.n_parts, second.n_parts):
                return cls((second if cells == first.n_parts else first,))
        return made

    def __len__(self) -> int:
        return len(self.partitions[0].codes)

    @property
    def are_crossed(self) -> bool:
        """Whether there are two partitions."""
        return len(self.partitions) == 2

    @property
    def n_clusters(self) -> int:
        """Number of clusters, of the partition with the fewest."""
        return min(one.n_parts for one in self.partitions)

    @property
    def n_effective(self) -> float:
        """How many clusters of equal size these are worth: ``n**2 / sum m_c**2`` for sizes m, of the worse labels."""
        return min(effective_number(one.sizes.astype(np.float64)) for one in self.partitions)

    @cached_property
    def terms(self) -> tuple[tuple[Partition, int], ...]:
        """Partitions with signs: pairs that share a part are all within parts, with these signs.

        Those that share both parts of two partitions would count twice.
        """
        if not self.are_crossed:
            return ((self.partitions[0], 1),)
        first, second = self.partitions
        cells, codes = np.unique(first.codes * second.n_parts + second.codes, return_inverse=True)
        return ((first, 1), (second, 1), (Partition(codes, cells.size), -1))

    @property
    def n_pairs_between(self) -> int:
        """Number of pairs i < j that share no cluster."""
        n = len(self)
        return n * (n - 1) // 2 - sum(sign * one.n_pairs for one, sign in self.terms)

    def take(self, rows: IntArray) -> "Clusters":
        """Those of some of the observations."""
        found = (np.unique(one.codes[rows], return_inverse=True) for one in self.partitions)
        return Clusters(tuple(Partition(codes, labels.size) for labels, codes in found))

    def independent_rows(self, order: IntArray) -> IntArray:
        """Rows that share no cluster, ascending: of all rows in this order each one that shares none with those before.

        One row of each cluster, or of as many as are free where there are two partitions.
        """
        kept, rest = [order[:0]], order
        while rest.size:
            is_first = np.ones(rest.size, dtype=np.bool_)
            for one in self.partitions:
                codes = one.codes[rest]
                first = np.full(one.n_parts, rest.size)
                np.minimum.at(first, codes, np.arange(rest.size))
                is_first &= first[codes] == np.arange(rest.size)
            chosen = rest[is_first]
            kept.append(chosen)
            for one in self.partitions:
                is_taken = np.zeros(one.n_parts, dtype=np.bool_)
                is_taken[one.codes[chosen]] = True
                rest = rest[~is_taken[one.codes[rest]]]
        return np.sort(np.concatenate(kept))


def within_pair_sums(kernel: PairKernel, part: Partition, predictions: Predictions, targets: Array) -> FloatArray:
    """``sum_{i<j} h_ij`` over the pairs in the same part, for each of the targets (B, n), (B,)."""
    order, sizes = part.blocks
    if not sizes.size:
        return np.zeros(targets.shape[0])
    return block_pair_sums(kernel, predictions.take(order), np.ascontiguousarray(targets[:, order]), sizes)
