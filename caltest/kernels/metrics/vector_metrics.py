"""Metrics between predicted distributions, computed from vectors that represent them."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from caltest._basics.numerics import FloatArray
from caltest._loops.pair_sums.tiles import CITYBLOCK, SQUARED_EUCLIDEAN, sum_over_coordinates
from caltest._validation import Settings


class Metric(Settings, ABC):
    """A distance between predicted distributions.

    ``negative_definite`` and ``squared_negative_definite`` say whether the distance d, respectively d**2, is
    negative definite on every Euclidean space. By Schoenberg's theorem these are the cases in which
    exp(-d/bandwidth), respectively exp(-d**2/(2 bandwidth**2)), is positive definite for every bandwidth.
    """

    symbol: ClassVar[str]
    label: ClassVar[str]
    negative_definite: ClassVar[bool] = True
    squared_negative_definite: ClassVar[bool] = False

    def resolve(self, predictions: Any) -> Self:
        """With settings that depend on the predictions replaced by values; warns if it makes no kernels of them."""
        return self

    @abstractmethod
    def between(self, rows: Any, columns: Any) -> FloatArray:
        """Distances (..., r, c) of rows of predictions (..., r) and columns (..., c) of the same family."""

    def vectors_of(self, predictions: Any) -> FloatArray:
        """Vectors (..., n, d) whose distances are the metric; ``TypeError`` if there are none."""
        raise predictions.no_metric(self)

    @abstractmethod
    def rounding(self, predictions: Any) -> float:
        """Distances of these predictions up to this are differences of rounding."""


class VectorMetric(Metric):
    """A distance between vectors; a family of predictions says which vectors represent its members.

    A subclass with ``vectors_of`` compares functions of these vectors. Compiled loops know all such distances.
    """

    scale: ClassVar[float] = 1.0
    """Factor of the sum, where there is no root of it."""
    root: ClassVar[bool] = False
    """Whether the distance is the square root of the sum."""
    vectors: ClassVar[str] = "parameter_vectors"
    """The method by which predictions give the vectors that are compared, or None."""
    of_outcomes: ClassVar[bool] = False
    """Whether the vectors have a coordinate for each outcome, as those of probabilities do."""

    @property
    @abstractmethod
    def kind(self) -> int:
        """What is summed over the coordinates: ``CITYBLOCK`` or ``SQUARED_EUCLIDEAN``."""

    @property
    def has_squares(self) -> bool:
        """Whether squares of the differences of coordinates are summed, not their sizes."""
        return self.kind == SQUARED_EUCLIDEAN

    @property
    def is_norm(self) -> bool:
        """Whether it is a norm of the difference of two vectors."""
        return self.root or not self.has_squares

    def vectors_of(self, predictions: Any) -> FloatArray:
        vectors: FloatArray | None = getattr(predictions, self.vectors)()
        if vectors is None:
            raise predictions.no_metric(self)
        return vectors

    def between(self, rows: Any, columns: Any) -> FloatArray:
        if self.of_outcomes:
            rows, columns = rows.with_common_outcomes(columns)
        return self.tile(rows.embedding(self), columns.embedding(self))

    def rounding(self, predictions: Any) -> float:
        """What renormalising the rows of probabilities can change; that of most predictions, beside outliers."""
        return 1e-12 * float(np.median(np.abs(predictions.embedding(self)).max(axis=-1)))

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
class Cityblock(VectorMetric):
    """Sum of the absolute differences of the coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> ct.kernels.Cityblock().tile(np.array([[0.2, 0.8]]), np.array([[0.5, 0.5]])).round(3)
    array([[0.6]])
    """

    symbol = "L1"
    label = "cityblock"
    kind = CITYBLOCK


@dataclass(frozen=True)
class TotalVariation(VectorMetric):
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
    vectors = "probability_vectors"
    of_outcomes = True


@dataclass(frozen=True)
class Euclidean(VectorMetric):
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
class SquaredEuclidean(VectorMetric):
    """Squared Euclidean distance; a distance for binned errors rather than a metric.

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> ct.kernels.SquaredEuclidean().tile(np.array([[0.0, 3.0]]), np.array([[4.0, 0.0]]))
    array([[25.]])
    """

    symbol = "L2^2"
    label = "squared Euclidean"
    kind = SQUARED_EUCLIDEAN


@dataclass(frozen=True)
class Wasserstein(VectorMetric):
    """2-Wasserstein distance, the cost of moving the mass of one distribution to the other.

    Normal distributions: ``sqrt((m - m')**2 + (s - s')**2)`` with means m and scales s (Widmann et al. 2021,
    appendix D.1), which is the Euclidean distance of the vectors (m, s). On the real line it is always the distance of
    two quantile functions in L2, and therefore Hilbertian; in more dimensions it is so for distributions whose
    covariance matrices commute, and families warn where they do not.

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
    vectors = "transport_vectors"

    def resolve(self, predictions: Any) -> Self:
        predictions.warn_of_transport()
        return self

    def between(self, rows: Any, columns: Any) -> FloatArray:
        known: FloatArray | None = rows.transport_distances(columns)
        return super().between(rows, columns) if known is None else known


@dataclass(frozen=True)
class Wasserstein1(VectorMetric):
    """1-Wasserstein distance on the real line: ``int |F - F'|`` with the distribution functions F and F'.

    The cost of moving the mass of one distribution to the other, in units of the target. For ordered classes it is the
    cityblock distance of the distribution functions at the classes, times the gaps between them, so exp(-d / bandwidth)
    is a kernel; a Gaussian of it need not be one.

    Examples
    --------
    >>> import caltest as ct
    >>> p, q = ct.Ordinal([[1.0, 0.0, 0.0]]), ct.Ordinal([[0.0, 0.5, 0.5]])
    >>> p.distance(ct.kernels.Wasserstein1(), q)
    array([[1.5]])
    """

    symbol = "W1"
    label = "1-Wasserstein"
    kind = CITYBLOCK
    vectors = "cumulative_vectors"
    of_outcomes = True
