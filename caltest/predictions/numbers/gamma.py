"""Predicted gamma distributions of a positive target."""

from typing import Self

import numpy as np
import scipy

from caltest._basics.numerics import Array, ArrayLike, FloatArray
from caltest._validation import positive_number
from caltest.predictions.base import Parameter
from caltest.predictions.numbers.univariate import Univariate, check_positive, check_shape, of_distinct


class Gamma(Univariate):
    """n gamma distributions, with densities proportional to ``z**(shape - 1) exp(-z / scale)`` on the positive numbers.

    The mean is ``shape scale`` and the standard deviation ``sqrt(shape) scale``; with shape 1 they are exponential
    distributions.

    Expectations of kernels of targets come from 32 quantiles of each distribution; see ``Continuous``.

    Parameters
    ----------
    shape
        Numbers from 1e-300 to 1e300: (n,) array-like or one number for all.
    scale
        Scales above 0, in units of the target (the inverse of rates): (n,) array-like or one number for all.
        ``ValueError`` for other parameters, and for targets below 0.

    Notes
    -----
    The 2-Wasserstein distance is exact between distributions of equal shape, where it is ``sqrt(shape (shape + 1))``
    times the difference of the scales; otherwise it is that of 32 quantiles. ``Euclidean()`` and ``Cityblock()`` are
    distances of (mean, standard deviation).

    Examples
    --------
    >>> import caltest as ct
    >>> ct.Gamma(shape=[2.0, 5.0], scale=1.5)
    <Gamma, n = 2>
    """

    family = "Gamma"
    parameter_names = ("shape", "scale")
    support = (0.0, np.inf)
    largest_shift = 20.0
    spread_keeps_mean = True
    shape_parameter = Parameter(0, "Shapes (..., n).")
    scale = Parameter(1, "Scales (..., n).")

    def __init__(self, shape: ArrayLike, scale: ArrayLike) -> None:
        super().__init__(shape, scale)

    def _check(self) -> None:
        check_shape(self.shape_parameter, "shape")
        check_positive(self.scale, "scale")

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        return self.scale * rng.standard_gamma(self.shape_parameter, shape)

    def cdf(self, targets: Array) -> FloatArray:
        return np.asarray(scipy.special.gammainc(self.shape_parameter, np.maximum(targets, 0.0) / self.scale))

    def survival(self, targets: Array) -> FloatArray:
        return np.asarray(scipy.special.gammaincc(self.shape_parameter, np.maximum(targets, 0.0) / self.scale))

    def log_density(self, targets: Array) -> FloatArray:
        return np.asarray(scipy.stats.gamma.logpdf(targets, self.shape_parameter, scale=self.scale))

    def _quantile(self, level: FloatArray) -> FloatArray:
        return np.asarray(self.scale * of_distinct(scipy.special.gammaincinv, level, self.shape_parameter))

    def moments(self) -> tuple[FloatArray, FloatArray]:
        mean = self.shape_parameter * self.scale
        return mean, mean * self.scale

    def moved(self, shift: FloatArray | float, factor: FloatArray | float) -> Self:
        """The mean times ``exp(shift)``, and the standard deviation times the factor too."""
        square = np.square(factor)
        return self._like(self.shape_parameter / square, self.scale * square * np.exp(shift))

    def at_temperature(self, temperature: float) -> Self:
        """Shape / T and scale T, which keep the mean (with respect to the measure dz / z)."""
        t = positive_number("temperature", temperature)
        return self._tempered(t, self.shape_parameter / t, self.scale * t)
