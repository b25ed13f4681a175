"""Predicted gamma distributions of a positive target."""

from typing import Self

import numpy as np
import scipy

from caltest._loops.densities import GAMMA
from caltest._types import Array, ArrayLike, FloatArray
from caltest._validation import positive_number
from caltest.predictions.quadrature.laws import Laws, positive_laws, stirling_rest
from caltest.predictions.univariate import Univariate, check_positive, check_shape, quantile_levels, with_length


class Gamma(Univariate):
    """n gamma distributions, with densities proportional to ``z**(shape - 1) exp(-z / scale)`` on the positive numbers.

    The mean is ``shape scale`` and the standard deviation ``sqrt(shape) scale``; with shape 1 they are exponential
    distributions.

    Expectations of Gaussian, Laplacian, exponential, Matern and rational quadratic kernels of targets come from
    quadrature, exact to 1e-10.

    Parameters
    ----------
    shape
        Numbers from 1e-300 to 1e300: (n,) array-like or one number for all.
    scale
        Scales above 0, in units of the target (the inverse of rates): (n,) array-like or one number for all.

    Raises
    ------
    ValueError
        For values that are not finite or not positive, different lengths; for targets below 0.

    Notes
    -----
    The 2-Wasserstein distance is exact between distributions of equal shape, where it is ``sqrt(shape (shape + 1))``
    times the difference of the scales; otherwise it is that of 32 quantiles. ``Euclidean()`` and ``Cityblock()`` are
    distances of (mean, standard deviation).

    Cost: 0.3 to 1.3 ms and 10 to 25 kB for each distribution and kernel of targets, then about 0.3 us for a pair (two
    processors, no narrow distributions or kernels).

    Examples
    --------
    >>> import caltest as ct
    >>> ct.Gamma(shape=[2.0, 5.0], scale=1.5)
    <Gamma, n = 2>
    """

    family = "Gamma"
    parameter_names = ("shape", "scale")
    support = (0.0, np.inf)

    def __init__(self, shape: ArrayLike, scale: ArrayLike) -> None:
        super().__init__(shape, scale)

    def _check(self) -> None:
        check_shape(self.shape_parameter, "shape")
        check_positive(self.scale, "scale")

    @property
    def shape_parameter(self) -> FloatArray:
        """Shapes (..., n)."""
        return self._parameters[0]

    @property
    def scale(self) -> FloatArray:
        """Scales (..., n)."""
        return self._parameters[1]

    @staticmethod
    def laws(*parameters: FloatArray) -> Laws:
        """Densities with parameters (n,), for quadrature."""
        shape, scale = parameters
        log_constant = 0.5 * np.log(shape / (2.0 * np.pi)) - stirling_rest(shape)
        far = scale * scipy.special.gammainccinv(shape, 1e-16)
        return positive_laws(GAMMA, shape * scale, np.sqrt(shape) * scale, far, log_constant, shape, shape)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        return self.scale * rng.standard_gamma(self.shape_parameter, shape)

    def cdf(self, targets: Array) -> FloatArray:
        """``P(Z <= y)`` for the target y of each prediction, (..., n)."""
        return np.asarray(scipy.special.gammainc(self.shape_parameter, np.maximum(targets, 0.0) / self.scale))

    def survival(self, targets: Array) -> FloatArray:
        """``P(Z > y)`` for the target y of each prediction, (..., n)."""
        return np.asarray(scipy.special.gammaincc(self.shape_parameter, np.maximum(targets, 0.0) / self.scale))

    def log_density(self, targets: Array) -> FloatArray:
        """``log p(y)`` for the target y of each prediction, (..., n)."""
        return np.asarray(scipy.stats.gamma.logpdf(targets, self.shape_parameter, scale=self.scale))

    def _quantile(self, level: FloatArray) -> FloatArray:
        return np.asarray(self.scale * scipy.special.gammaincinv(self.shape_parameter, level))

    @staticmethod
    def quantile_vectors(*parameters: FloatArray) -> FloatArray:
        """Quantiles at fixed levels, scaled to the root of the mean square."""
        shape, scale = parameters
        levels, weights = quantile_levels()
        different, place = np.unique(shape, return_inverse=True)
        quantiles = np.sqrt(weights) * scipy.special.gammaincinv(different[:, None], levels)
        vectors = with_length(quantiles, np.sqrt(different * (different + 1.0)))
        return np.asarray(scale[:, None] * vectors[place])

    def _features(self) -> FloatArray:
        mean, variance = self.moments()
        return np.stack([mean, np.sqrt(variance)], axis=-1)

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Means and variances (..., n)."""
        mean = self.shape_parameter * self.scale
        return mean, mean * self.scale

    def at_temperature(self, temperature: float) -> Self:
        """Shape / T and scale T, which keep the mean (with respect to the measure dz / z)."""
        t = positive_number("temperature", temperature)
        return self._tempered(t, self.shape_parameter / t, self.scale * t)
