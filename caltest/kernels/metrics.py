"""Metrics between predicted distributions, computed from vectors that represent them."""

from abc import ABC
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from caltest._loops.tiles import CITYBLOCK, SQUARED_EUCLIDEAN, sum_over_coordinates
from caltest._types import FloatArray


class Metric(ABC):
    """A distance between vectors; a family of predictions says which vectors represent its members.

    ``negative_definite`` and ``squared_negative_definite`` say whether the distance d, respectively d**2, is
    negative definite on every Euclidean space. By Schoenberg's theorem these are the cases in which
    exp(-d/bandwidth), respectively exp(-d**2/(2 bandwidth**2)), is positive definite for every bandwidth.
    """

    symbol: ClassVar[str]
    label: ClassVar[str]
    kind: ClassVar[int]
    """What is summed over the coordinates."""
    scale: ClassVar[float] = 1.0
    """Factor of the sum."""
    root: ClassVar[bool] = False
    """Whether the distance is the square root of the sum."""
    negative_definite: ClassVar[bool] = True
    squared_negative_definite: ClassVar[bool] = False

    def tile(self, rows: FloatArray, columns: FloatArray) -> FloatArray:
        """Distances between all rows (..., r, d) and columns (..., c, d), of shape (..., r, c). Cost O(r c d)."""
        if rows.shape[-1] != columns.shape[-1]:
            raise ValueError(
                f"columns: got vectors of length {columns.shape[-1]}, wanted {rows.shape[-1]} as in the rows"
            )
        tile = sum_over_coordinates(self.kind, rows, columns)
        if self.root:
            return np.sqrt(tile, out=tile)
        if self.scale != 1.0:
            tile *= self.scale
        return tile


@dataclass(frozen=True)
class Cityblock(Metric):
    """Sum of the absolute differences of the coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> ct.Cityblock().tile(np.array([[0.2, 0.8]]), np.array([[0.5, 0.5]])).round(3)
    array([[0.6]])
    """

    symbol = "L1"
    label = "cityblock"
    kind = CITYBLOCK


@dataclass(frozen=True)
class TotalVariation(Metric):
    """Total variation distance of distributions on finitely many outcomes: half the sum of absolute differences.

    For two Bernoulli distributions it is ``|p - q|``, exactly as for the vectors (1 - p, p) and (1 - q, q).
    The Julia reference returns half of that when Bernoulli predictions are given as numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> ct.TotalVariation().tile(np.array([[0.2, 0.8]]), np.array([[0.5, 0.5]])).round(3)
    array([[0.3]])
    """

    symbol = "TV"
    label = "total variation"
    kind = CITYBLOCK
    scale = 0.5


@dataclass(frozen=True)
class Euclidean(Metric):
    """Euclidean distance of the vectors that represent the distributions.

    Probability vectors for classes, the probability p for binary predictions, (mean, scale) for normal ones.

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> ct.Euclidean().tile(np.array([[0.0, 3.0]]), np.array([[4.0, 0.0]]))
    array([[5.]])
    """

    symbol = "L2"
    label = "Euclidean"
    kind = SQUARED_EUCLIDEAN
    root = True
    squared_negative_definite = True


@dataclass(frozen=True)
class SquaredEuclidean(Metric):
    """Squared Euclidean distance; a distance for binned errors rather than a metric.

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> ct.SquaredEuclidean().tile(np.array([[0.0, 3.0]]), np.array([[4.0, 0.0]]))
    array([[25.]])
    """

    symbol = "L2^2"
    label = "squared Euclidean"
    kind = SQUARED_EUCLIDEAN


@dataclass(frozen=True)
class Wasserstein(Metric):
    """2-Wasserstein distance of distributions on the real line.

    Normal distributions: ``sqrt((m - m')**2 + (s - s')**2)`` with means m and scales s (Widmann et al. 2021,
    appendix D.1), which is the Euclidean distance of the vectors (m, s) and therefore Hilbertian.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.Normal([0.0], [1.0]).distance(ct.Wasserstein(), ct.Normal([3.0], [5.0]))
    array([[5.]])
    """

    symbol = "W2"
    label = "2-Wasserstein"
    kind = SQUARED_EUCLIDEAN
    root = True
    squared_negative_definite = True
