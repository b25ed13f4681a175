"""Families of a real target that have a mean and a scale."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from caltest._basics.numerics import Array, ArrayLike, BoolArray, FloatArray, in_one_order
from caltest._validation import real_array, refuse_rows, same_length
from caltest.predictions.base import Parameter, Predictions, median_standard_deviation
from caltest.predictions.measures.law_sums import LawSums
from caltest.predictions.numbers.univariate import Univariate


class LocationScale(Univariate):
    """``Z = mean + scale E`` with noise E of mean 0 whose distribution is that of the family."""

    parameter_names = ("mean", "scale")
    inverts_quickly = True
    deviation: ClassVar[float]
    """Standard deviation of E."""
    mean = Parameter(0, "Means (..., n).")
    scale = Parameter(1, "Scales (..., n).")

    def __init__(self, mean: ArrayLike, scale: ArrayLike) -> None:
        means, scales = in_one_order((mean, scale), ("mean", "scale"))
        mean, scale = real_array(means, "mean", ndim=1), scales.array("scale")
        scale = real_array(np.full(mean.shape, scale) if scale.ndim == 0 else scale, "scale", ndim=1)
        same_length(mean.shape[0], scale.shape[0], "scale")
        refuse_rows(scale < 0.0, scale, "scale", "scales of at least 0")
        super().__init__(mean, scale)

    @abstractmethod
    def _noise(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        """Independent draws of E."""

    @abstractmethod
    def _noise_cdf(self, values: FloatArray) -> FloatArray:
        """``P(E <= x)``."""

    @abstractmethod
    def _noise_quantile(self, level: FloatArray) -> FloatArray:
        """The inverse of ``_noise_cdf``."""

    @abstractmethod
    def _noise_log_density(self, values: FloatArray) -> FloatArray:
        """Logarithm of the density of E."""

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        return self.mean + self.scale * self._noise(rng, shape)

    def cdf(self, targets: Array) -> FloatArray:
        certain = self.scale == 0.0
        z = (targets - self.mean) / np.where(certain, 1.0, self.scale)
        return np.where(certain, z >= 0.0, self._noise_cdf(z))

    def survival(self, targets: Array) -> FloatArray:
        """``P(Z > y)`` for the target y of each prediction, (..., n), as E is symmetric."""
        certain = self.scale == 0.0
        z = (targets - self.mean) / np.where(certain, 1.0, self.scale)
        return np.where(certain, z < 0.0, self._noise_cdf(-z))

    def _quantile(self, level: FloatArray) -> FloatArray:
        return np.asarray(self.mean + self.scale * self._noise_quantile(level))

    def log_density(self, targets: Array) -> FloatArray:
        self.check_continuous()
        return self._noise_log_density((targets - self.mean) / self.scale) - np.log(self.scale)

    def check_continuous(self) -> None:
        if (self.scale == 0.0).any():
            raise ValueError(
                f"scale: got 0 at row {int(np.argmax(self.scale == 0.0))}, wanted positive scales: outcomes cannot be "
                "measured in units of a scale of 0; leave such rows out, or use calibration_test, which takes them"
            )

    def standardised(self, targets: Array) -> tuple[Predictions, Array]:
        self.check_continuous()
        law = self._like(np.zeros(self.shape), np.ones(self.shape))
        return law, (targets - self.mean) / self.scale

    def impossible(self, targets: Array) -> BoolArray:
        """Which of the targets differ from a point prediction by more than rounding."""
        missed: BoolArray = (self.scale == 0.0) & ~np.isclose(targets, self.mean, rtol=1e-9, atol=0.0)
        return missed

    def quantile_vectors(self, sums: LawSums) -> FloatArray:
        """Vectors (mean, standard deviation), the distance of which is the 2-Wasserstein distance."""
        return self.parameter_vectors()

    def parameter_vectors(self) -> FloatArray:
        return np.stack([self.mean, self.deviation * self.scale], axis=-1)

    def moments(self) -> tuple[FloatArray, FloatArray]:
        return self.mean, np.square(self.deviation * self.scale)

    def target_scale(self) -> float:
        """Median of the standard deviations, without squares that overflow."""
        return median_standard_deviation(self.deviation * self.scale)
