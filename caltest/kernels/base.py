"""What a kernel is: a function of two predicted distributions, or of two targets, with a known supremum."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np

from caltest._basics.calls import OwnErrstate
from caltest._basics.numerics import Array, FloatArray
from caltest._validation import positive_number
from caltest.kernels.metrics.vector_metrics import Metric

if TYPE_CHECKING:
    from caltest.kernels.functions import GaussianKernel
    from caltest.kernels.radial import DistanceForm, RadialKernel


class KernelWarning(UserWarning):
    """A kernel that is not positive definite: the tests lose their guarantee to see every miscalibration."""


Distances = dict[Metric, FloatArray]
"""Distances of the predictions in rows and columns that are known already."""

Predicted: TypeAlias = Any
"""Predictions. Of them kernels ask the methods ``distance``, ``median_distance``, ``median_positive_distance``,
``resolve_metric`` and ``target_scale``, and ``weight``."""


class Kernel(OwnErrstate, ABC):
    """What kernels of targets and of predictions have in common."""

    @property
    @abstractmethod
    def bound(self) -> float:
        """Supremum of ``|k|``."""

    @property
    def uses_median(self) -> bool:
        """Whether a setting is computed from all pairs of predictions."""
        return False

    has_bandwidth: ClassVar[bool] = False
    """Whether there is a bandwidth that can be changed."""

    def with_bandwidth(self, bandwidth: float) -> Self:
        """The same kernel with another bandwidth; ``TypeError`` if it has none."""
        raise TypeError(f"kernel: got {self!r}, which has no bandwidth, wanted a kernel of a distance")

    def scaled(self, factor: float) -> Self:
        """The same kernel with a multiple of its bandwidth; ``TypeError`` if it has none."""
        return self.with_bandwidth(factor)


class Exponential(NamedTuple):
    """``exp(-x) (1 + linear x + square x**2)`` with ``x = rate |y - y'|``."""

    rate: float
    linear: float
    square: float


class TargetKernel(Kernel):
    """A positive semi-definite function k(y, y') of two targets; sums and multiples are kernels too."""

    @abstractmethod
    def target_tile(self, rows: Array, columns: Array) -> FloatArray:
        """``k(y, y')`` for all rows (..., r) and columns (..., c) of scalar targets, of shape (..., r, c)."""

    def vector_target_tile(self, rows: Array, columns: Array) -> FloatArray:
        """``k(y, y')`` for rows (..., r, d) and columns (..., c, d) of vectors, (..., r, c)."""
        raise TypeError(
            f"target_kernel: got {self!r} for targets that are vectors, wanted a function of their distance, "
            "e.g. GaussianKernel(bandwidth=1.0)"
        )

    @property
    def squared_diameter(self) -> float:
        """Supremum of ``k(y, y) - 2 k(y, y') + k(y', y')``, the squared distance of two targets' features.

        As a prediction is a mixture of targets it bounds the target part of h. Twice the supremum of a kernel that
        takes no negative values.
        """
        return 2.0 * self.bound

    of_classes: ClassVar[bool] = False
    """Whether targets have to be numbers of classes."""
    is_identity: ClassVar[bool] = False
    """Whether it is 1 for equal targets and 0 for others."""

    def check_classes(self, n_classes: int, names: list[str]) -> None:
        """Raise ``ValueError`` if the kernel is for another number of classes, or for these in another order."""

    @property
    def of_difference(self) -> bool:
        """Whether it is a function of the difference of two numbers."""
        return self.is_identity

    @property
    def gaussian(self) -> "GaussianKernel | None":
        """The kernel, if it is a Gaussian function of the difference of two targets."""
        return None

    @property
    def radial(self) -> "RadialKernel | None":
        """The kernel, if it is a decreasing function of the distance of two targets."""
        return None

    @property
    def exponential(self) -> "Exponential | None":
        """The kernel as a function of the distance of two numbers, if it is exp(-x) times a polynomial."""
        return None

    def derivatives(self, squares: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """``f(u)``, ``f'(u)`` and ``f''(u)`` of a kernel ``f(|y - y'|**2)`` at squared distances u."""
        raise TypeError(
            f"target_kernel: got {self!r} for Unnormalised predictions, wanted GaussianKernel or "
            "RationalQuadraticKernel with one bandwidth, which are differentiable"
        )

    @property
    def gaussian_terms(self) -> "tuple[tuple[float, GaussianKernel], ...] | None":
        """The kernel as a sum of multiples of Gaussian functions, if it is one."""
        terms = tuple((weight, term.gaussian) for weight, term in self.weighted_terms if term.gaussian is not None)
        return terms if len(terms) == len(self.weighted_terms) else None

    @property
    def weighted_terms(self) -> "tuple[tuple[float, TargetKernel], ...]":
        """The kernel as a sum of multiples of kernels that are no sums."""
        return ((1.0, self),)

    @abstractmethod
    def resolve_for_targets(self, predictions: Predicted) -> Self:
        """The same kernel with every setting that depends on the predictions replaced by its value."""

    @abstractmethod
    def describe_for_targets(self) -> str:
        """Formula in one line."""

    def __add__(self, other: "TargetKernel") -> "SumKernel":
        return SumKernel.of(self, other)

    def __mul__(self, factor: float) -> "SumKernel":
        return SumKernel(((factor, self),))

    __rmul__ = __mul__


@dataclass(frozen=True)
class SumKernel(TargetKernel):
    """``sum_i w_i k_i(y, y')`` with positive weights: kernels that look at several scales at once.

    Made by adding kernels of targets and multiplying them by positive numbers.

    Parameters
    ----------
    weighted
        Pairs (weight, kernel of targets); those of sums are taken apart.

    Examples
    --------
    >>> import caltest as ct
    >>> kernel = ct.GaussianKernel(bandwidth=0.5) + 2.0 * ct.GaussianKernel(bandwidth=3.0)
    >>> print(kernel.describe_for_targets(), kernel.bound)
    exp(-|y - y'|^2 / (2 0.5^2)) + 2 exp(-|y - y'|^2 / (2 3^2)) 3.0
    """

    weighted: tuple[tuple[float, TargetKernel], ...]

    def __post_init__(self) -> None:
        if not isinstance(self.weighted, (tuple, list)) or not self.weighted:
            raise ValueError(f"weighted: got {self.weighted!r}, wanted pairs (weight, kernel of targets)")
        for pair in self.weighted:
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise ValueError(f"weighted: got {pair!r} among the terms, wanted pairs (weight, kernel of targets)")
            if not isinstance(pair[1], TargetKernel):
                raise TypeError(f"target_kernel: got {pair[1]!r} in a sum, wanted a kernel of targets")
        weighted = ((positive_number("weight", weight), kernel) for weight, kernel in self.weighted)
        terms = tuple((weight * inner, term) for weight, kernel in weighted for inner, term in kernel.weighted_terms)
        object.__setattr__(self, "weighted", terms)

    @classmethod
    def of(cls, *kernels: TargetKernel) -> "SumKernel":
        """The sum of kernels, some of which can be sums."""
        return cls(tuple((1.0, kernel) for kernel in kernels))

    @property
    def weighted_terms(self) -> tuple[tuple[float, TargetKernel], ...]:
        return self.weighted

    @property
    def bound(self) -> float:
        """Sum of the bounds, which is the supremum for kernels that are largest at y = y'."""
        return sum(weight * kernel.bound for weight, kernel in self.weighted)

    @property
    def squared_diameter(self) -> float:
        return sum(weight * kernel.squared_diameter for weight, kernel in self.weighted)

    def target_tile(self, rows: Array, columns: Array) -> FloatArray:
        tiles = [weight * kernel.target_tile(rows, columns) for weight, kernel in self.weighted]
        return np.asarray(np.sum(tiles, axis=0))

    def vector_target_tile(self, rows: Array, columns: Array) -> FloatArray:
        tiles = [weight * kernel.vector_target_tile(rows, columns) for weight, kernel in self.weighted]
        return np.asarray(np.sum(tiles, axis=0))

    def resolve_for_targets(self, predictions: Predicted) -> Self:
        terms = ((weight, kernel.resolve_for_targets(predictions)) for weight, kernel in self.weighted)
        return type(self)(tuple(terms))

    @property
    def uses_median(self) -> bool:
        return any(kernel.uses_median for _, kernel in self.weighted)

    def describe_for_targets(self) -> str:
        parts = []
        for weight, kernel in self.weighted:
            factor = "" if weight == 1.0 else f"{weight:.4g} "
            parts.append(factor + kernel.describe_for_targets())
        return " + ".join(parts)


class PredictionKernel(Kernel):
    """A positive semi-definite function k(p, p') of two predicted distributions."""

    @property
    def distance_form(self) -> "DistanceForm | None":
        """The kernel as a function of a distance of vectors, if compiled loops know it."""
        return None

    @abstractmethod
    def tile(self, rows: Predicted, columns: Predicted) -> FloatArray:
        """``k(p, p')`` for all rows and columns, of shape (..., r, c), times the weights of both."""

    def fill(self, out: FloatArray, rows: Predicted, columns: Predicted, distances: Distances) -> None:
        """Write ``tile`` into an array (r, c); distances that are known are not computed again."""
        tile = self.tile(rows, columns)
        if tile.shape != out.shape:
            raise ValueError(f"{type(self).__name__}.tile: got an array of shape {tile.shape}, wanted {out.shape}")
        out[...] = tile

    def resolve_metric(self, predictions: Predicted) -> Self:
        """The same kernel with the settings of its metric that depend on the predictions replaced by their values."""
        return self

    def resolve_distinct(self, predictions: Predicted) -> Self:
        """``resolve`` with medians over the pairs of predictions that differ."""
        return self.resolve(predictions)

    @abstractmethod
    def resolve(self, predictions: Predicted) -> Self:
        """The same kernel with every setting that depends on the predictions replaced by its value."""

    @abstractmethod
    def describe(self) -> str:
        """Formula in one line."""
