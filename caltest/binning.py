"""Partitions of predictions into bins, chosen from the predictions alone.

``UniformBinning`` has bins of equal width, ``QuantileBinning`` of equal numbers, ``EdgeBinning`` of your own edges, and
``MedianVarianceBinning`` splits where predictions vary most. One of your own derives from ``Binning``.
"""

import heapq
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from math import inf

import numpy as np

from caltest._basics.arrays import to_array
from caltest._basics.numerics import Array, FloatArray, IntArray
from caltest._validation import Settings, finite_array, instance_of, optional, whole

__all__ = ["Binning", "EdgeBinning", "MedianVarianceBinning", "QuantileBinning", "UniformBinning"]

LARGEST = 2**62
"""Whole numbers up to this are safe to add."""


class Binning(Settings, ABC):
    """A rule that puts points of [0, 1]^d into bins."""

    @abstractmethod
    def assign(self, points: FloatArray) -> IntArray:
        """Number of the bin of each point (n, d), (n,); the bins that occur are numbered 0, 1, ... without gaps."""

    @property
    def ends(self) -> FloatArray | None:
        """The largest numbers of all bins, in ascending order, if bins are the same for all points."""
        return None

    @abstractmethod
    def describe(self) -> str:
        """The rule in a few words."""


a_binning = instance_of(Binning, "a binning such as ct.binning.UniformBinning(10)")


@dataclass(frozen=True)
class _NumberedBinning(Binning):
    """Bins of which the number is given."""

    n_bins: int = 15
    _checks = {"n_bins": whole(1)}


@dataclass(frozen=True)
class UniformBinning(_NumberedBinning):
    """Bins of equal width: (0, 1/b], (1/b, 2/b], ..., with 0 in the first and 1 in the last.

    The bin of a vector is the tuple of the bins of all its coordinates, so the whole simplex is partitioned, into
    up to b**k cells of which few are occupied. Reduce to ``top_label`` for confidence bins. The edges are the numbers
    j/b; the Julia reference takes ceil(b p), which rounds some p = j/b into the next bin (0.28 for b = 25).

    Parameters
    ----------
    n_bins
        Number b >= 1 of bins per coordinate; the 2019 paper uses 10 on the simplex, 15 is common for confidences.

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> ct.binning.UniformBinning(10).assign(np.array([[0.0], [0.1], [0.11], [1.0]])).tolist()
    [0, 0, 1, 2]
    """

    def assign(self, points: FloatArray) -> IntArray:
        """Number of the bin of each point. Time O(n d), and O(n log n) for d > 1."""
        # Rounding is monotone, so the whole part of b p is never below the bin, and above it only at its right edge.
        cells = np.clip(points * self.n_bins, 0, self.n_bins - 1).astype(np.intp)
        cells -= (cells > 0) & (points <= cells / self.n_bins)
        return _number_rows(cells, self.n_bins)

    @property
    def ends(self) -> FloatArray:
        return np.asarray(np.arange(1, self.n_bins + 1) / self.n_bins)

    def describe(self) -> str:
        return f"{self.n_bins} uniform bins"


@dataclass(frozen=True)
class QuantileBinning(_NumberedBinning):
    """Bins of equal numbers of predictions, in each coordinate.

    With x_(1) <= ... <= x_(n) the sorted values, bin j is (x_(ceil(n (j-1)/b)), x_(ceil(n j/b))], the first one
    closed, so that nothing is lost at 0 or 1. Equal values share a bin; bins without values do not occur. The bin
    of a vector is the tuple of the bins of its coordinates.

    Parameters
    ----------
    n_bins
        Number b >= 1 of bins per coordinate.

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> ct.binning.QuantileBinning(2).assign(np.array([[0.0], [0.7], [0.8], [0.9]])).tolist()
    [0, 0, 1, 1]
    """

    def assign(self, points: FloatArray) -> IntArray:
        """Number of the bin of each point. Time O(n d log n)."""
        n = points.shape[0]
        edges = np.sort(points, axis=0)[quantile_ranks(n, self.n_bins) - 1]
        cells = [np.searchsorted(edges[:, j], points[:, j], side="left") for j in range(points.shape[1])]
        return _number_rows(np.stack(cells, axis=1), self.n_bins)

    def describe(self) -> str:
        return f"{self.n_bins} quantile bins"


@dataclass(frozen=True)
class EdgeBinning(Binning):
    """Bins with edges of your own: [e_0, e_1], (e_1, e_2], ..., in each coordinate.

    The bin of a vector is the tuple of the bins of its coordinates.

    Parameters
    ----------
    edges
        At least two increasing numbers, the first at most 0 and the last at least 1, so that nothing is lost.

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> ct.binning.EdgeBinning([0.0, 0.5, 0.9, 1.0]).assign(np.array([[0.0], [0.5], [0.6], [0.95]])).tolist()
    [0, 0, 1, 2]
    """

    edges: Sequence[float]

    def __post_init__(self) -> None:
        values = to_array(self.edges, "edges")
        if values.ndim == 1:
            values = finite_array(values, "edges", "edge")
        if values.ndim != 1 or values.size < 2 or (np.diff(values) <= 0.0).any():
            raise ValueError(f"edges: got {self.edges!r}, wanted at least two increasing numbers")
        if values[0] > 0.0 or values[-1] < 1.0:
            raise ValueError(
                f"edges: got numbers from {values[0]:g} to {values[-1]:g}, wanted the first at most 0 and the last at "
                "least 1, so that every prediction is in a bin"
            )
        object.__setattr__(self, "edges", tuple(values.tolist()))

    def assign(self, points: FloatArray) -> IntArray:
        """Number of the bin of each point. Time O(n d log b)."""
        return _number_rows(np.searchsorted(np.array(self.edges[1:-1]), points, side="left"), len(self.edges) - 1)

    @property
    def ends(self) -> FloatArray:
        return np.array(self.edges[1:])

    def describe(self) -> str:
        return f"bins with the edges {', '.join(f'{edge:g}' for edge in self.edges)}"


@dataclass(frozen=True)
class MedianVarianceBinning(Binning):
    """Split at the median of the coordinate with the largest variance, as long as bins stay large enough.

    The bin with the largest variance of a coordinate is split first: at the order statistic floor(n/2) + 1 of that
    coordinate, values below it on one side, the others on the other. A side of less than ``2 min_size`` points is
    not split again, and a bin is not split if a side would have less than ``min_size`` points.

    Two coordinates whose variances agree to 1e-12 count as equal and the one with the larger mean is split, so the
    partition does not depend on the order of two classes; the Julia reference leaves this to rounding.

    Parameters
    ----------
    min_size
        Smallest number of points of a bin.
    max_bins
        Largest number of bins, or None.

    Raises
    ------
    ValueError
        If the settings are not positive whole numbers, or there are fewer points than ``min_size``.

    Notes
    -----
    Source: data-dependent partition of Widmann et al. 2019, appendix J.1.1. The text splits bins of at least 10, whose
    parts have at least 5, ``min_size=5`` here; with it the published means for synthetic classes are reproduced. Those
    of networks for CIFAR-10 are of ``min_size=100``.

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> ct.binning.MedianVarianceBinning(min_size=2).assign(np.array([[0.1], [0.9], [0.2], [0.8]])).tolist()
    [0, 1, 0, 1]
    """

    min_size: int = 10
    max_bins: int | None = None
    _checks = {"min_size": whole(1, inf), "max_bins": optional(whole(1))}

    def assign(self, points: FloatArray) -> IntArray:
        """Number of the bin of each point. Time O(n d log n)."""
        n = points.shape[0]
        if n < self.min_size:
            raise ValueError(
                f"predictions: got {n} observations, wanted at least min_size = {self.min_size} for one bin"
            )
        most = n if self.max_bins is None else self.max_bins
        finished: list[Array] = []
        queue: list[tuple[float, int, int, Array]] = []

        def add(index: Array, order: int) -> None:
            if index.size < 2 * self.min_size:
                finished.append(index)
                return
            members = points[index]
            variance = members.var(axis=0, ddof=1)
            largest = float(variance.max())
            equal = np.flatnonzero(variance >= largest * (1.0 - 1e-12))
            coordinate = int(equal[np.argmax(members.mean(axis=0)[equal])]) if equal.size > 1 else int(equal[0])
            heapq.heappush(queue, (-largest, order, coordinate, index))

        order = count()
        add(np.arange(n), next(order))
        while queue and len(queue) + len(finished) < most:
            _, _, coordinate, index = heapq.heappop(queue)
            values = points[index, coordinate]
            below = values < np.partition(values, index.size // 2)[index.size // 2]
            sides = index[below], index[~below]
            if min(side.size for side in sides) < self.min_size:
                finished.append(index)
                continue
            for side in sides:
                add(side, next(order))
        finished.extend(entry[3] for entry in queue)
        bins = np.empty(n, dtype=np.intp)
        for number, index in enumerate(sorted(finished, key=lambda members: int(members.min()))):
            bins[index] = number
        return bins

    def describe(self) -> str:
        most = "" if self.max_bins is None else f", at most {self.max_bins}"
        return f"median-variance bins of at least {self.min_size}{most}"


def quantile_ranks(n: int, n_bins: int) -> IntArray:
    """``ceil(n j / b)`` for j = 1..b - 1: ranks among n values of the last ones in all of b bins but the last."""
    return -(-n * np.arange(1, n_bins) // n_bins)


def _number_rows(cells: IntArray, n_cells: int) -> IntArray:
    """Number the distinct rows of numbers below ``n_cells`` in their lexicographic order."""
    rows, n_rows = cells[:, 0], n_cells
    for column in cells.T[1:]:
        if n_rows > LARGEST // n_cells:
            rows = np.unique(rows, return_inverse=True)[1]
            n_rows = rows.size
        rows = rows * n_cells + column
        n_rows *= n_cells
    return _number(rows) if n_rows <= 4 * rows.size else np.unique(rows, return_inverse=True)[1]


def _number(values: IntArray) -> IntArray:
    """Replace values by the numbers of the distinct ones, counting: time and memory O(n + largest value)."""
    numbers = np.cumsum(np.bincount(values) > 0) - 1
    # The mode "raise" would work on a copy; nothing is clipped.
    return np.take(numbers, values, out=values, mode="clip")
