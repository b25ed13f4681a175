"""Kernels that are decreasing functions of a distance: of predicted distributions, or of real targets."""

import warnings
from abc import abstractmethod
from copy import copy
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Self

import numpy as np

from caltest._loops.exponential import exponential, gaussian
from caltest._types import Array, FloatArray
from caltest._validation import positive_number
from caltest.kernels.base import KernelWarning, PredictedDistributions, PredictionKernel, TargetKernel
from caltest.kernels.metrics import Euclidean, Metric

Bandwidth = float | Literal["median"]


def _is_median(bandwidth: object) -> bool:
    return isinstance(bandwidth, str) and bandwidth == "median"


@dataclass(frozen=True)
class RadialKernel(PredictionKernel, TargetKernel):
    """A kernel ``f(d / bandwidth)`` of a distance d, usable on predictions and, if d is Euclidean, on targets."""

    metric: Metric
    bandwidth: Bandwidth = "median"

    formula: ClassVar[str]
    power: ClassVar[int]
    """1 for exp(-x), 2 for exp(-x**2 / 2), with x = d / bandwidth."""

    def __post_init__(self) -> None:
        if not isinstance(self.metric, Metric):
            raise TypeError(
                f"metric: got {self.metric!r}, wanted a metric such as caltest.TotalVariation() "
                "(the bandwidth is given by name: bandwidth=0.5)"
            )
        if not _is_median(self.bandwidth):
            object.__setattr__(self, "bandwidth", positive_number("bandwidth", self.bandwidth, also='or "median"'))
        if not self._is_positive_definite():
            warnings.warn(
                f"{type(self).__name__} of the {self.metric.label} distance is not positive definite in general: "
                "calibration errors can be negative and miscalibration can go unseen. Use ExponentialKernel, "
                "or the Euclidean metric.",
                KernelWarning,
                stacklevel=3,
            )

    @abstractmethod
    def _is_positive_definite(self) -> bool: ...

    @property
    def inverse_width(self) -> float:
        """1 / bandwidth, finite so that its product with the distance 0 is 0."""
        return min(1.0 / self.width, 1e300)

    @abstractmethod
    def of_distance(self, distance: FloatArray) -> FloatArray:
        """Kernel values, written over the contiguous distances."""

    @property
    def bound(self) -> float:
        """Supremum of the kernel, its value at distance 0."""
        return 1.0

    @property
    def uses_median(self) -> bool:
        """Whether the bandwidth is the median distance."""
        return _is_median(self.bandwidth)

    @property
    def width(self) -> float:
        """The bandwidth as a number."""
        if isinstance(self.bandwidth, str):
            raise ValueError(
                'bandwidth: got "median", wanted a number: call resolve(predictions) first, '
                "or use an estimator or test, which does so"
            )
        return self.bandwidth

    def tile(self, rows: PredictedDistributions, columns: PredictedDistributions) -> FloatArray:
        """``k(p, p')`` for all rows and columns, of shape (..., r, c). Cost: that of the distances."""
        return self.of_distance(rows.distance(self.metric, columns))

    def target_tile(self, rows: Array, columns: Array) -> FloatArray:
        """``k(y, y')`` for all rows (..., r) and columns (..., c), of shape (..., r, c)."""
        difference = np.subtract(rows[..., :, None], columns[..., None, :], dtype=np.float64)
        return self.of_distance(np.abs(difference))

    def resolve(self, predictions: PredictedDistributions) -> Self:
        """Replace ``"median"`` by the median distance of all pairs of different predictions."""
        return self.with_bandwidth(predictions.median_distance(self.metric)) if _is_median(self.bandwidth) else self

    def resolve_for_targets(self, predictions: PredictedDistributions) -> Self:
        """Replace ``"median"`` by the median standard deviation of the predicted distributions."""
        return self.with_bandwidth(predictions.target_scale()) if _is_median(self.bandwidth) else self

    def with_bandwidth(self, bandwidth: float) -> Self:
        """The same kernel with another bandwidth, without a second warning if it is not positive definite."""
        changed = copy(self)
        object.__setattr__(changed, "bandwidth", positive_number("bandwidth", bandwidth))
        return changed

    def describe(self) -> str:
        """Formula in one line, for kernels of predictions."""
        return self._describe(self.metric.symbol)

    def describe_for_targets(self) -> str:
        """Formula in one line, for kernels of targets."""
        return self._describe("|y - y'|")

    def _describe(self, distance: str) -> str:
        width = self.bandwidth if isinstance(self.bandwidth, str) else f"{self.bandwidth:.4g}"
        return self.formula.format(d=distance, w=width)


@dataclass(frozen=True)
class ExponentialKernel(RadialKernel):
    """``exp(-d / bandwidth)``, the Laplacian kernel of a metric d (Widmann et al. 2019, section 7).

    Parameters
    ----------
    metric
        Distance of two predicted distributions, e.g. ``TotalVariation()``.
    bandwidth
        Positive number in units of the distance, or ``"median"``: the median distance of all pairs of different
        predictions in the data, of 10 000 evenly spaced ones if there are more (results say so). It never depends
        on the targets, which keeps the tests valid. The median takes O(min(n, 10 000)**2 k) time.

    Raises
    ------
    ValueError
        If the bandwidth is not positive.
    TypeError
        If the metric is not a ``Metric``.

    Examples
    --------
    >>> import caltest as ct
    >>> kernel = ct.ExponentialKernel(ct.TotalVariation(), bandwidth=0.5)
    >>> p, q = ct.Categorical([[0.2, 0.8]]), ct.Categorical([[0.5, 0.5]])
    >>> kernel.tile(p, q).round(4)
    array([[0.5488]])
    """

    formula = "exp(-{d} / {w})"
    power = 1

    def _is_positive_definite(self) -> bool:
        return self.metric.negative_definite

    def of_distance(self, distance: FloatArray) -> FloatArray:
        """Kernel values, written over the contiguous distances."""
        exponential(distance.reshape(-1), self.inverse_width)
        return distance


@dataclass(frozen=True)
class GaussianKernel(RadialKernel):
    """``exp(-d**2 / (2 bandwidth**2))`` of a distance d, on predictions or on real targets.

    The factor 1/2 is that of the 2021 paper's software; the 2021 text writes exp(-gamma d**2), so
    ``bandwidth = 1/sqrt(2 gamma)``.

    Parameters
    ----------
    metric
        Distance of two predicted distributions; a kernel of targets uses the absolute difference, so leave the default.
    bandwidth
        Positive number, or ``"median"``: on predictions the median distance of all pairs; on targets the median
        standard deviation of the predicted distributions. Neither depends on the observed targets.

    Raises
    ------
    ValueError
        If the bandwidth is not positive.
    TypeError
        If the metric is not a ``Metric``.

    Warns
    -----
    KernelWarning
        If the squared distance is not negative definite (total variation, cityblock): the kernel need not be
        positive definite then, except for one-dimensional predictions.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.GaussianKernel(bandwidth=2.0).tile(ct.Normal([0.0], [1.0]), ct.Normal([2.0], [1.0])).round(4)
    array([[0.6065]])
    """

    metric: Metric = field(default_factory=Euclidean)

    formula = "exp(-{d}^2 / (2 {w}^2))"
    power = 2

    def _is_positive_definite(self) -> bool:
        return self.metric.squared_negative_definite

    def of_distance(self, distance: FloatArray) -> FloatArray:
        """Kernel values, written over the contiguous distances."""
        gaussian(distance.reshape(-1), self.inverse_width)
        return distance
