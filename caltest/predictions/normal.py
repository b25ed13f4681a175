"""Predicted normal distributions of a real target."""

from typing import Self

import numpy as np
from scipy.special import ndtr, ndtri

from caltest._loops import normals
from caltest._types import Array, FloatArray
from caltest._validation import positive_number
from caltest.kernels import ExponentialKernel, GaussianKernel, ProductKernel, TargetKernel, Wasserstein
from caltest.predictions.location_scale import LocationScale


class Normal(LocationScale):
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
    deviation = 1.0

    def _noise(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        return rng.standard_normal(shape)

    def _noise_cdf(self, values: FloatArray) -> FloatArray:
        return np.asarray(ndtr(values))

    def _noise_quantile(self, level: FloatArray) -> FloatArray:
        return np.asarray(ndtri(level))

    def at_temperature(self, temperature: float) -> Self:
        """The same means and sqrt(T) times the scales (with respect to the Lebesgue measure)."""
        return self._like(self._mean, np.sqrt(positive_number("temperature", temperature)) * self._scale)

    def _expected_kernel(self, kernel: TargetKernel, targets: Array) -> FloatArray:
        width = self._width(kernel)
        return normals.scalar(self.in_units_of(width), (targets / width, np.zeros(targets.shape)))

    def _expected_kernel2(self, kernel: TargetKernel, other: Self) -> FloatArray:
        width = self._width(kernel)
        return normals.scalar(self.in_units_of(width), other.in_units_of(width))

    def in_units_of(self, width: float) -> tuple[FloatArray, FloatArray]:
        """Means and variances in units of the bandwidth of a kernel."""
        with np.errstate(over="ignore"):
            return self._mean / width, np.square(self._scale / width)

    def _width(self, kernel: TargetKernel) -> float:
        if isinstance(kernel, GaussianKernel):
            return kernel.width
        raise self._no_closed_form(kernel, "GaussianKernel(bandwidth=...)")

    def default_kernel(self) -> ProductKernel:
        """``exp(-W2 / median) x Gaussian`` with the median predicted scale as the bandwidth of the targets."""
        return ProductKernel(ExponentialKernel(Wasserstein(), "median"), GaussianKernel(bandwidth="median"))
