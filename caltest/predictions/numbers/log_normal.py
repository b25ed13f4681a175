"""Predicted log-normal distributions of a positive target."""

from typing import Self

import numpy as np
import scipy

from caltest._basics.numerics import Array, ArrayLike, FloatArray
from caltest._validation import positive_number
from caltest.predictions.base import Parameter
from caltest.predictions.numbers.univariate import Univariate, check_positive


class LogNormal(Univariate):
    """n log-normal distributions: the natural logarithm of Z is normal with mean ``log_mean`` and sd ``log_scale``.

    The median of Z is ``exp(log_mean)``, its mean ``exp(log_mean + log_scale**2 / 2)``.

    Expectations and distances come from 32 quantiles of each distribution; see ``Univariate``.

    Parameters
    ----------
    log_mean
        Means of log Z: (n,) array-like or one number for all. (``scipy.stats.lognorm`` has ``scale=exp(log_mean)``.)
    log_scale
        Standard deviations of log Z, above 0: (n,) array-like or one number for all. ``ValueError`` for other
        parameters, and for targets not above 0.

    Notes
    -----
    Targets are compared as they are, not their logarithms; ``Normal(log_mean, log_scale)`` with the logarithms of the
    targets compares those, which weighs relative errors. ``Euclidean()`` and ``Cityblock()`` are distances of
    (log_mean, log_scale).

    Examples
    --------
    >>> import caltest as ct
    >>> ct.LogNormal(log_mean=[0.0, 1.0], log_scale=0.5)
    <LogNormal, n = 2>
    """

    family = "LogNormal"
    parameter_names = ("log_mean", "log_scale")
    inverts_quickly = True
    support = (0.0, np.inf)
    is_open = True
    log_mean = Parameter(0, "Means of the logarithms (..., n).")
    log_scale = Parameter(1, "Standard deviations of the logarithms (..., n).")

    def __init__(self, log_mean: ArrayLike, log_scale: ArrayLike) -> None:
        super().__init__(log_mean, log_scale)

    def _check(self) -> None:
        check_positive(self.log_scale, "log_scale")

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        return np.exp(self.log_mean + self.log_scale * rng.standard_normal(shape))

    def cdf(self, targets: Array) -> FloatArray:
        return np.asarray(scipy.special.ndtr((np.log(np.maximum(targets, 0.0)) - self.log_mean) / self.log_scale))

    def survival(self, targets: Array) -> FloatArray:
        return np.asarray(scipy.special.ndtr((self.log_mean - np.log(np.maximum(targets, 0.0))) / self.log_scale))

    def log_density(self, targets: Array) -> FloatArray:
        return np.asarray(scipy.stats.lognorm.logpdf(targets, self.log_scale, scale=np.exp(self.log_mean)))

    def _quantile(self, level: FloatArray) -> FloatArray:
        return np.asarray(np.exp(self.log_mean + self.log_scale * scipy.special.ndtri(level)))

    def parameter_vectors(self) -> FloatArray:
        return np.stack([self.log_mean, self.log_scale], axis=-1)

    def moments(self) -> tuple[FloatArray, FloatArray]:
        square = np.square(self.log_scale)
        log_mean = self.log_mean + 0.5 * square
        # The logarithm of expm1(square), which can be 0.
        log_square = 2.0 * np.log(self.log_scale) + np.log(scipy.special.exprel(square))
        return np.exp(log_mean), np.exp(2.0 * (log_mean + 0.5 * log_square))

    def moved(self, shift: FloatArray | float, factor: FloatArray | float) -> Self:
        """The logarithms are moved: ``log_mean + log_scale shift`` and ``factor log_scale``."""
        return self._like(self.log_mean + shift * self.log_scale, factor * self.log_scale)

    def at_temperature(self, temperature: float) -> Self:
        """The same ``log_mean`` and sqrt(T) times the ``log_scale`` (with respect to the measure dz / z)."""
        t = positive_number("temperature", temperature)
        return self._tempered(t, self.log_mean, self.log_scale * np.sqrt(t))
