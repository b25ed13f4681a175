"""Families of a real target that have a mean and a scale."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np

from caltest._arrays import to_array
from caltest._types import Array, ArrayLike, BoolArray, FloatArray
from caltest._validation import real_array, same_length
from caltest.kernels import Cityblock, Euclidean, Metric, Wasserstein
from caltest.predictions.base import Predictions, median_standard_deviation, require_family


class LocationScale(Predictions):
    """``Z = mean + scale E`` with noise E of mean 0 whose distribution is that of the family."""

    deviation: float
    """Standard deviation of E."""

    def __init__(self, mean: ArrayLike, scale: ArrayLike) -> None:
        self._mean = real_array(mean, "mean", ndim=1)
        scale = to_array(scale, "scale")
        if scale.ndim == 0:
            scale = np.full(self._mean.shape, scale)
        self._scale = real_array(scale, "scale", ndim=1)
        same_length(self._mean.shape[0], self._scale.shape[0], "scale")
        if (self._scale < 0.0).any():
            i = int(np.argmax(self._scale < 0.0))
            raise ValueError(f"scale: got {self._scale[i]:.6g} at row {i}, wanted scales of at least 0")
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
        """Scales (..., n)."""
        return self._scale

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape (..., n) of the stack."""
        return self._mean.shape

    def take(self, index: Any) -> Self:
        """The predictions at a slice or an integer array of any shape."""
        return self._like(self._mean[index], self._scale[index])

    @abstractmethod
    def _noise(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        """Independent draws of E."""

    @abstractmethod
    def _noise_cdf(self, values: FloatArray) -> FloatArray:
        """``P(E <= x)``."""

    def sample(self, rng: Any = None, size: int | None = None) -> Array:
        """Targets (n,), or (size, n), drawn from the predictions."""
        shape = self.shape if size is None else (size, *self.shape)
        return self._mean + self._scale * self._noise(np.random.default_rng(rng), shape)

    def cdf(self, targets: Array) -> FloatArray:
        """``P(Z <= y)`` for the target y of each prediction, (..., n)."""
        certain = self._scale == 0.0
        z = (targets - self._mean) / np.where(certain, 1.0, self._scale)
        return np.where(certain, z >= 0.0, self._noise_cdf(z))

    def check_continuous(self) -> None:
        """Raise unless all scales are positive."""
        if (self._scale == 0.0).any():
            raise ValueError(
                f"scale: got 0 at row {int(np.argmax(self._scale == 0.0))}, wanted positive scales: outcomes cannot be "
                "measured in units of a scale of 0"
            )

    def standardised(self, targets: Array) -> tuple[Predictions, Array]:
        """The law of E, and ``(y - mean) / scale``."""
        self.check_continuous()
        law = self._like(np.zeros(self.shape), np.ones(self.shape))
        return law, (targets - self._mean) / self._scale

    @abstractmethod
    def _noise_quantile(self, level: FloatArray) -> FloatArray:
        """The inverse of ``_noise_cdf``."""

    def _quantile(self, level: FloatArray) -> FloatArray:
        return self._mean + self._scale * self._noise_quantile(level)

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
        """Raise unless ``other`` is of the same family."""
        require_family(other, type(self), name)

    def embedding(self, metric: Metric) -> FloatArray:
        """Vectors (mean, standard deviation), the distance of which is the 2-Wasserstein distance."""
        if isinstance(metric, (Wasserstein, Euclidean, Cityblock)):
            return np.stack([self._mean, self.deviation * self._scale], axis=-1)
        raise self._no_metric(metric, "Wasserstein(), Euclidean(), Cityblock(), MMD(kernel)")

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Means and variances (..., n)."""
        return self._mean, np.square(self.deviation * self._scale)

    def target_scale(self) -> float:
        """Median of the standard deviations."""
        return median_standard_deviation(self.deviation * self._scale)

    def describe(self, n: int | None = None) -> str:
        """Family and dimensions in a few words."""
        return f"{self.family}, n = {len(self) if n is None else n}"

    def followed_by(self, other: Self) -> Self:
        """These predictions and others, in this order."""
        self.check_compatible(other, "predictions")
        return self._like(np.concatenate([self._mean, other._mean]), np.concatenate([self._scale, other._scale]))
