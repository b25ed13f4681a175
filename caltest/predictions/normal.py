"""Predicted normal distributions of a real target."""

from typing import Any, Self

import numpy as np
from scipy.special import ndtr

from caltest._arrays import to_array
from caltest._loops import normals
from caltest._types import Array, ArrayLike, BoolArray, FloatArray
from caltest._validation import positive_number, real_array, same_length
from caltest.kernels import (
    Cityblock,
    Euclidean,
    ExponentialKernel,
    GaussianKernel,
    Metric,
    ProductKernel,
    TargetKernel,
    Wasserstein,
)
from caltest.predictions.base import Predictions, median_standard_deviation, require_family


class Normal(Predictions):
    """n normal distributions with means m and standard deviations s >= 0; s = 0 is a point prediction.

    With the Gaussian target kernel of bandwidth b (Widmann et al. 2021, appendix D.1)::

        E k(Z, y)  = b / sqrt(b**2 + s**2)         exp(-(m - y)**2  / (2 (b**2 + s**2)))
        E k(Z, Z') = b / sqrt(b**2 + s**2 + s'**2) exp(-(m - m')**2 / (2 (b**2 + s**2 + s'**2)))

    Parameters
    ----------
    mean
        (n,) array-like, in units of the target.
    scale
        Standard deviations, (n,) array-like or one number for all, in units of the target.

    Raises
    ------
    ValueError
        For values that are not finite, negative scales, different lengths.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.Normal([0.0, 1.0], 0.5)
    <Normal, n = 2>
    """

    family = "Normal"

    def __init__(self, mean: ArrayLike, scale: ArrayLike) -> None:
        self._mean = real_array(mean, "mean", ndim=1)
        scale = to_array(scale, "scale")
        if scale.ndim == 0:
            scale = np.full(self._mean.shape, scale)
        self._scale = real_array(scale, "scale", ndim=1)
        same_length(self._mean.shape[0], self._scale.shape[0], "scale")
        if (self._scale < 0.0).any():
            i = int(np.argmax(self._scale < 0.0))
            raise ValueError(f"scale: got {self._scale[i]:.6g} at row {i}, wanted standard deviations of at least 0")
        self._mean.flags.writeable = self._scale.flags.writeable = False

    def _like(self, mean: FloatArray, scale: FloatArray) -> Self:
        new = object.__new__(type(self))
        new._mean, new._scale = mean, scale
        return new

    @property
    def mean(self) -> FloatArray:
        """Means (..., n)."""
        return self._mean

    @property
    def scale(self) -> FloatArray:
        """Standard deviations (..., n)."""
        return self._scale

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape (..., n) of the stack."""
        return self._mean.shape

    def take(self, index: Any) -> Self:
        """The predictions at a slice or an integer array of any shape."""
        return self._like(self._mean[index], self._scale[index])

    def sample(self, rng: Any = None, size: int | None = None) -> Array:
        """Targets (n,), or (size, n), drawn from the predictions."""
        shape = self.shape if size is None else (size, *self.shape)
        return self._mean + self._scale * np.random.default_rng(rng).standard_normal(shape)

    def check_targets(self, targets: ArrayLike, name: str = "targets") -> Array:
        """Real targets as an (n,) float array."""
        values = real_array(targets, name, ndim=1)
        same_length(len(self), values.shape[0], name)
        return values

    def impossible(self, targets: Array) -> BoolArray:
        """Which of the targets differ from a point prediction by more than rounding."""
        missed: BoolArray = (self._scale == 0.0) & ~np.isclose(targets, self._mean, rtol=1e-9, atol=0.0)
        return missed

    def check_compatible(self, other: Predictions, name: str) -> None:
        """Raise unless ``other`` is normal too."""
        require_family(other, Normal, name)

    def embedding(self, metric: Metric) -> FloatArray:
        """Vectors (m, s)."""
        if isinstance(metric, (Wasserstein, Euclidean, Cityblock)):
            return np.stack([self._mean, self._scale], axis=-1)
        raise self._no_metric(metric, "Wasserstein(), Euclidean(), Cityblock()")

    def target_scale(self) -> float:
        """Median of the standard deviations."""
        return median_standard_deviation(self._scale)

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Means and variances (..., n)."""
        return self._mean, np.square(self._scale)

    def cdf(self, targets: Array) -> FloatArray:
        """``P(Z <= y)`` for the target y of each prediction, (..., n)."""
        certain = self._scale == 0.0
        z = (targets - self._mean) / np.where(certain, 1.0, self._scale)
        return np.where(certain, z >= 0.0, ndtr(z))

    def at_temperature(self, temperature: float) -> Self:
        """The same means and sqrt(T) times the scales (with respect to the Lebesgue measure)."""
        return self._like(self._mean, np.sqrt(positive_number("temperature", temperature)) * self._scale)

    def _expected_kernel(self, kernel: TargetKernel, targets: Array) -> FloatArray:
        width = self._width(kernel)
        return normals.scalar(self._in_units_of(width), (targets / width, np.zeros(targets.shape)))

    def _expected_kernel2(self, kernel: TargetKernel, other: Self) -> FloatArray:
        width = self._width(kernel)
        return normals.scalar(self._in_units_of(width), other._in_units_of(width))

    def _in_units_of(self, width: float) -> tuple[FloatArray, FloatArray]:
        with np.errstate(over="ignore"):
            return self._mean / width, np.square(self._scale / width)

    def _width(self, kernel: TargetKernel) -> float:
        if isinstance(kernel, GaussianKernel):
            return kernel.width
        raise self._no_closed_form(kernel, "GaussianKernel(bandwidth=...)")

    def default_kernel(self) -> ProductKernel:
        """``exp(-W2 / median) x Gaussian`` with the median predicted scale as the bandwidth of the targets."""
        return ProductKernel(ExponentialKernel(Wasserstein(), "median"), GaussianKernel(bandwidth="median"))

    def describe(self, n: int | None = None) -> str:
        """Family and dimensions in a few words."""
        return f"Normal, n = {len(self) if n is None else n}"

    def followed_by(self, other: Self) -> Self:
        """These predictions and others, in this order."""
        self.check_compatible(other, "predictions")
        return self._like(np.concatenate([self._mean, other._mean]), np.concatenate([self._scale, other._scale]))
