"""The uniform distribution on the unit interval: the law of probability integral transforms."""

from math import pi, sqrt
from typing import Any, Self

import numpy as np
import scipy

from caltest._basics.numerics import Array, ArrayLike, FloatArray, generator_of
from caltest._validation import real_targets, refuse_rows
from caltest.kernels import Euclidean, ExponentialKernel, GaussianKernel, ProductKernel, TargetKernel
from caltest.kernels.base import Exponential
from caltest.predictions.base import Predictions

PANELS, NODES = 24, 14
"""Panels of the quadrature rule, each half as wide as the one before, and nodes in each of them."""


def _graded_rule() -> tuple[FloatArray, FloatArray]:
    """Nodes and weights on the unit interval that resolve a kernel around 0 at every scale down to 2**-PANELS."""
    points, weights = np.polynomial.legendre.leggauss(NODES)
    ends = np.append(0.0, 0.5 ** np.arange(PANELS, -1, -1))
    widths = np.diff(ends)[:, None]
    return (ends[:-1, None] + widths * (points + 1.0) / 2.0).ravel(), (widths * weights / 2.0).ravel()


POINTS, WEIGHTS = _graded_rule()


class StandardUniform(Predictions):
    """n uniform distributions on [0, 1].

    With the integral ``K(x)`` of the kernel from distance 0 to x, ``E k(Z, u) = K(u) + K(1 - u)``, and
    ``E k(Z, Z') = 2 int_0^1 (1 - t) k(t) dt``. K has a closed form for Gaussian, Laplacian and Matern kernels; the
    rest is Gauss quadrature on panels that narrow towards 0: exact to 1e-12 for bandwidths of at least 1e-5.
    """

    family = "uniform"
    known_metrics = "none: all uniform distributions are equal"

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._parameters = (np.empty(shape, dtype=np.bool_),)

    def sample(self, rng: Any = None, size: int | None = None) -> Array:
        return generator_of(rng).random(self.shape if size is None else (size, *self.shape))

    def check_targets(self, targets: ArrayLike, name: str = "targets") -> Array:
        """Numbers in [0, 1] as an (n,) float array."""
        values = real_targets(targets, len(self), name)
        refuse_rows((values < 0.0) | (values > 1.0), values, name, "numbers between 0 and 1")
        return values

    def target_scale(self) -> float:
        return float(1.0 / np.sqrt(12.0))

    def moments(self) -> tuple[FloatArray, FloatArray]:
        return np.full(self.shape, 0.5), np.full(self.shape, 1.0 / 12.0)

    def check_continuous(self) -> None:
        """All of them are."""

    def _quantile(self, level: FloatArray) -> FloatArray:
        return np.broadcast_to(level, np.broadcast_shapes(level.shape, self.shape)).copy()

    def cdf(self, targets: Array) -> FloatArray:
        return np.clip(targets, 0.0, 1.0)

    def log_density(self, targets: Array) -> FloatArray:
        return np.where((targets >= 0.0) & (targets <= 1.0), 0.0, -np.inf)

    def default_kernel(self) -> ProductKernel:
        """A kernel of targets with the bandwidth 1/4; the kernel of predictions is that of equal ones."""
        return ProductKernel(ExponentialKernel(Euclidean(), 1.0), GaussianKernel(bandwidth=0.25))

    def expectation_sums(self, kernel: TargetKernel, weights: FloatArray, targets: Array) -> FloatArray:
        """``sum_ij w_lij E k(Z, y_bj)`` for weights (L, n, c) and targets (B, c): (L, B), one expectation a target."""
        means = self.take([0]).expected_kernel(kernel, targets)[:, 0]
        return np.asarray(weights.sum(axis=1) @ means.T)

    def _expected_kernel(self, kernel: TargetKernel, targets: Array) -> FloatArray:
        means = _integral(kernel, targets) + _integral(kernel, 1.0 - targets)
        batch = np.broadcast_shapes(self.shape[:-1], targets.shape[:-1])
        return np.broadcast_to(means[..., None, :], (*batch, len(self), targets.shape[-1])).copy()

    def _expected_kernel2(self, kernel: TargetKernel, other: Self) -> FloatArray:
        mean = 2.0 * float(WEIGHTS @ ((1.0 - POINTS) * _of_distance(kernel, POINTS)))
        batch = np.broadcast_shapes(self.shape[:-1], other.shape[:-1])
        return np.full((*batch, len(self), len(other)), mean)


def _integral(kernel: TargetKernel, ends: FloatArray) -> FloatArray:
    """Integral of the kernel from distance 0 to each of the ends."""
    if kernel.gaussian is not None:
        width = kernel.gaussian.width
        return np.asarray(width * sqrt(pi / 2.0) * scipy.special.erf(ends / (sqrt(2.0) * width)))
    if kernel.exponential is not None:
        return _integral_of_exponential(kernel.exponential, ends)
    return np.asarray(ends * (_of_distance(kernel, ends[..., None] * POINTS) @ WEIGHTS))


def _integral_of_exponential(kernel: Exponential, ends: FloatArray) -> FloatArray:
    """``(2 - (2 + x) exp(-x)) / rate`` with ``x = rate d`` for the linear factor 1 + x, and alike for others."""
    x = kernel.rate * ends
    linear = kernel.linear + 2.0 * kernel.square
    return np.asarray((-(1.0 + linear) * np.expm1(-x) - x * (linear + kernel.square * x) * np.exp(-x)) / kernel.rate)


def _of_distance(kernel: TargetKernel, distances: FloatArray) -> FloatArray:
    return kernel.target_tile(np.zeros(1), distances.reshape(-1)).reshape(distances.shape)
