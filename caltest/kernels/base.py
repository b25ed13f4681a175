"""What a kernel is: a function of two predicted distributions, or of two targets, with a known supremum."""

from abc import ABC, abstractmethod
from typing import Any, Protocol, Self

from caltest._types import Array, FloatArray
from caltest.kernels.metrics import Metric


class KernelWarning(UserWarning):
    """A kernel that is not positive definite: the tests lose their guarantee to see every miscalibration."""


class PredictedDistributions(Protocol):
    """What kernels need to know of predictions."""

    def distance(self, metric: Metric, other: Any) -> FloatArray:
        """Distances (..., r, c) to other predictions of the same family."""

    def median_distance(self, metric: Metric) -> float:
        """Median distance of pairs of predictions."""

    def target_scale(self) -> float:
        """Typical width of the predicted distributions, in units of the targets."""


class Kernel(ABC):
    """What kernels of targets and of predictions have in common."""

    @property
    @abstractmethod
    def bound(self) -> float:
        """Supremum of ``k``; the kernel does not take negative values."""

    @property
    def uses_median(self) -> bool:
        """Whether a setting is computed from all pairs of predictions."""
        return False


class TargetKernel(Kernel):
    """A positive semi-definite function k(y, y') of two targets."""

    @abstractmethod
    def target_tile(self, rows: Array, columns: Array) -> FloatArray:
        """``k(y, y')`` for all rows (..., r) and columns (..., c), of shape (..., r, c)."""

    @abstractmethod
    def resolve_for_targets(self, predictions: PredictedDistributions) -> Self:
        """The same kernel with every setting that depends on the predictions replaced by its value."""

    @abstractmethod
    def describe_for_targets(self) -> str:
        """Formula in one line."""


class PredictionKernel(Kernel):
    """A positive semi-definite function k(p, p') of two predicted distributions."""

    @abstractmethod
    def tile(self, rows: PredictedDistributions, columns: PredictedDistributions) -> FloatArray:
        """``k(p, p')`` for all rows and columns, of shape (..., r, c)."""

    @abstractmethod
    def resolve(self, predictions: PredictedDistributions) -> Self:
        """The same kernel with every setting that depends on the predictions replaced by its value."""

    @abstractmethod
    def describe(self) -> str:
        """Formula in one line."""
