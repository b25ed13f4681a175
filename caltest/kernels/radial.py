"""Kernels that are decreasing functions of a distance: of predicted distributions, or of real targets."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Self

import numpy as np

from caltest._basics.numerics import Array, FloatArray, warn
from caltest._loops.formulas.kernels import EXPONENTIAL, FUNCTIONS, POLYNOMIALS, RATIONAL
from caltest._loops.pair_sums.tiles import SQUARED_EUCLIDEAN, sum_over_coordinates
from caltest._validation import Settings, instance_of, positive_number
from caltest.kernels.base import Distances, Exponential, KernelWarning, Predicted, PredictionKernel, TargetKernel
from caltest.kernels.metrics.vector_metrics import Euclidean, Metric, VectorMetric

Bandwidth = float | Literal["median"] | tuple[float, ...]


class Function(NamedTuple):
    """``f(u)`` with ``u = (stretch d / bandwidth)**exponent``: f by its kind in ``caltest._loops.formulas.kernels``."""

    kind: int
    stretch: float = 1.0
    exponent: float = 1.0
    shape: float = 0.0

    @property
    def is_compiled(self) -> bool:
        """Whether loops know it: distances and their squares."""
        return self.exponent in (1.0, 2.0)


class DistanceForm(NamedTuple):
    """A kernel of predictions as compiled loops know it: a function of distances of vectors, and 1 / bandwidth."""

    metric: VectorMetric
    function: Function
    inverse_width: float


def _bandwidth(name: str, value: object) -> Bandwidth:
    if isinstance(value, str) and value == "median":
        return "median"
    if isinstance(value, (tuple, list)) or (isinstance(value, np.ndarray) and value.ndim == 1):
        if len(value) == 0:
            raise ValueError(f"{name}: got {value!r}, wanted a positive number, or one for each dimension")
        return tuple(positive_number(name, width) for width in value)
    return positive_number(name, value, also='or "median"')


@dataclass(frozen=True)
class RadialKernel(PredictionKernel, TargetKernel, Settings):
    """A kernel ``f(d / bandwidth)`` of a distance d, usable on predictions and, if d is Euclidean, on targets."""

    metric: Metric = field(default_factory=Euclidean)
    bandwidth: Bandwidth = "median"

    bound = 1.0
    has_bandwidth = True
    of_difference = True
    _checks = {
        "metric": instance_of(
            Metric, "a metric such as caltest.TotalVariation() (the bandwidth is given by name: bandwidth=0.5)"
        ),
        "bandwidth": _bandwidth,
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.function is not None and self.function.kind not in range(len(FUNCTIONS)):
            raise ValueError(
                f"function: got the kind {self.function.kind!r}, wanted EXPONENTIAL, MATERN_3, MATERN_5 or RATIONAL of "
                "caltest._loops.formulas.kernels; for another function write of_distance in its place"
            )
        if not self._is_positive_definite():
            warn(
                f"{type(self).__name__} of the {self.metric.label} distance is not positive definite in general: "
                "calibration errors can be negative and miscalibration can go unseen. Use ExponentialKernel with "
                "exponent 1, or the Euclidean metric.",
                KernelWarning,
            )

    @property
    def function(self) -> Function | None:
        """The kernel as a function that is compiled; None for a kernel with an ``of_distance`` of its own."""
        return None

    @property
    @abstractmethod
    def formula(self) -> str:
        """The formula with {d} for the distance and {w} for the bandwidth."""

    def _is_positive_definite(self) -> bool:
        """Whether the kernel is so for the metric; by default that of a mixture of Gaussian kernels."""
        return self.metric.squared_negative_definite

    @property
    def inverse_width(self) -> float:
        """1 / bandwidth, finite so that its product with the distance 0 is 0."""
        return min(1.0 / self.width, 1e300)

    def of_distance(self, distance: FloatArray) -> FloatArray:
        """Kernel values at distances, a contiguous array that can be written over."""
        function = self.function
        if function is None:
            raise NotImplementedError(
                f"{type(self).__name__}: got neither a function nor an of_distance, wanted one of them in the class"
            )
        factor, square = function.stretch * self.inverse_width, function.exponent == 2.0
        if not function.is_compiled:
            with np.errstate(over="ignore"):
                distance *= factor
                np.power(distance, function.exponent, out=distance)
            factor = 1.0
        FUNCTIONS[function.kind](distance.reshape(-1), factor, square, function.shape)
        return distance

    @property
    def distance_form(self) -> DistanceForm | None:
        function = self.function
        if function is None or not function.is_compiled or not isinstance(self.metric, VectorMetric):
            return None
        return DistanceForm(self.metric, function, self.inverse_width)

    @property
    def uses_median(self) -> bool:
        return self.bandwidth == "median"

    @property
    def width(self) -> float:
        """The bandwidth as a number."""
        if isinstance(self.bandwidth, str):
            raise ValueError(
                'bandwidth: got "median", wanted a number: call resolve(predictions) first, '
                "or use an estimator or test, which does so"
            )
        if isinstance(self.bandwidth, tuple):
            raise ValueError(
                f"bandwidth: got {len(self.bandwidth)} numbers, one per dimension of the targets, wanted one number: "
                "predictions and scalar targets have a single distance"
            )
        return self.bandwidth

    def widths(self, d: int) -> FloatArray:
        """The bandwidths of the dimensions of vector targets, (d,)."""
        if isinstance(self.bandwidth, tuple):
            if len(self.bandwidth) != d:
                raise ValueError(
                    f"bandwidth: got {len(self.bandwidth)} numbers, wanted one, or one for each of {d} dimensions"
                )
            return np.array(self.bandwidth)
        return np.full(d, self.width)

    def tile(self, rows: Predicted, columns: Predicted) -> FloatArray:
        """``k(p, p')`` for all rows and columns, (..., r, c), times their weights. Cost: that of the distances."""
        return self.weighted(self.of_distance(rows.distance(self.metric, columns)), rows, columns)

    def fill(self, out: FloatArray, rows: Predicted, columns: Predicted, distances: Distances) -> None:
        if self.metric not in distances:
            distances[self.metric] = rows.distance(self.metric, columns)
        out[...] = distances[self.metric]
        values = self.of_distance(out)
        if values is not out:
            out[...] = values
        self.weighted(out, rows, columns)

    def weighted(self, tile: FloatArray, rows: Predicted, columns: Predicted) -> FloatArray:
        """A tile times the weights of both sides, in its place."""
        weight = rows.weight * columns.weight
        if weight != 1.0:
            tile *= weight
        return tile

    @property
    def radial(self) -> Self:
        return self

    @property
    def exponential(self) -> Exponential | None:
        function = self.function
        if function is None or function.exponent != 1.0 or function.kind >= RATIONAL:
            return None
        return Exponential(function.stretch / self.width, *POLYNOMIALS[function.kind])

    def target_tile(self, rows: Array, columns: Array) -> FloatArray:
        difference = np.subtract(rows[..., :, None], columns[..., None, :], dtype=np.float64, order="C")
        return self.of_distance(np.abs(difference, out=difference))

    def vector_target_tile(self, rows: Array, columns: Array) -> FloatArray:
        widths = self.widths(rows.shape[-1])
        squares = sum_over_coordinates(SQUARED_EUCLIDEAN, rows / widths, columns / widths)
        function = self.function
        if function is not None and function.exponent == 2.0:
            FUNCTIONS[function.kind](squares.reshape(-1), function.stretch**2, False, function.shape)
            return squares
        return self.with_bandwidth(1.0).of_distance(np.sqrt(squares, out=squares))

    def resolve(self, predictions: Predicted) -> Self:
        """Replace ``"median"`` by the median distance of all pairs of different predictions."""
        resolved = self.resolve_metric(predictions)
        if not self.uses_median:
            return resolved
        return resolved.with_bandwidth(predictions.median_distance(resolved.metric))

    def resolve_metric(self, predictions: Predicted) -> Self:
        metric = predictions.resolve_metric(self.metric)
        return self if metric is self.metric else self._with(metric=metric)

    def resolve_distinct(self, predictions: Predicted) -> Self:
        """Replace the bandwidth by the median distance of the pairs of predictions that differ."""
        resolved = self.resolve_metric(predictions)
        return resolved.with_bandwidth(predictions.median_positive_distance(resolved.metric))

    def resolve_for_targets(self, predictions: Predicted) -> Self:
        """Replace ``"median"`` by the median standard deviation of the predicted distributions."""
        return self.with_bandwidth(predictions.target_scale()) if self.uses_median else self

    def with_bandwidth(self, bandwidth: float) -> Self:
        """The same kernel with another bandwidth, without a second warning if it is not positive definite."""
        return self._with(bandwidth=positive_number("bandwidth", bandwidth))

    def scaled(self, factor: float) -> Self:
        return self.with_bandwidth(factor * self.width)

    def describe(self) -> str:
        return self._describe(self.metric.symbol)

    def describe_for_targets(self) -> str:
        return self._describe("|y - y'|")

    def _describe(self, distance: str) -> str:
        if isinstance(self.bandwidth, tuple):
            width = "(" + ", ".join(f"{width:.4g}" for width in self.bandwidth) + ")"
        else:
            width = self.bandwidth if isinstance(self.bandwidth, str) else f"{self.bandwidth:.4g}"
        return self.formula.format(d=distance, w=width)


@dataclass(frozen=True, eq=False)
class Form:
    """A kernel as ``f(u)``, with f by the number of its kind, and u the norm of ``factors (y - y')`` or its square."""

    kind: int
    factors: FloatArray
    shape: float = 0.0
    root: bool = True

    @property
    def is_exponential(self) -> bool:
        """Whether f is exp(-u) times a polynomial of a distance u, whose degree is the kind."""
        return self.root and self.kind < RATIONAL

    @property
    def is_gaussian(self) -> bool:
        """Whether it is exp(-u) of a square u."""
        return not self.root and self.kind == EXPONENTIAL

    @property
    def settings(self) -> tuple[int, float, bool, FloatArray]:
        """As loops take it."""
        return self.kind, self.shape, self.root, self.factors


def form_of(kernel: TargetKernel, d: int = 1, vectors: bool = False) -> Form | None:
    """A kernel of numbers, or of vectors of d numbers, that is no sum; None if compiled loops do not know it."""
    if not isinstance(kernel, RadialKernel) or kernel.function is None or not kernel.function.is_compiled:
        return None
    function, widths = kernel.function, kernel.widths(d) if vectors else np.array([kernel.width])
    with np.errstate(over="ignore"):
        # Finite numbers, so that their product with the distance 0 is 0.
        factors = np.minimum(function.stretch / widths, 1e300)
    return Form(function.kind, factors, function.shape, function.exponent == 1.0)
