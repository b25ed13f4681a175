"""Predicted Laplace distributions of a real target."""

from math import log, sqrt
from typing import Self

import numpy as np

from caltest._basics.numerics import Array, FloatArray
from caltest._loops.formulas import laplaces
from caltest._loops.stacks import over_pairs, redraws_last
from caltest._validation import positive_number
from caltest.kernels import LaplacianKernel, TargetKernel
from caltest.predictions.numbers.univariate import ClosedForm, LocationScale


class Laplace(LocationScale):
    """n Laplace distributions ``exp(-|z - m| / s) / (2 s)`` with means m and scales s >= 0; s = 0 predicts a point.

    With the Laplacian target kernel of bandwidth b, at distances x = ``|m - y|`` or ``|m - m'|``::

        E k(Z, y)  = b (b exp(-x / b) - s exp(-x / s)) / (b**2 - s**2)
        E k(Z, Z') = b times the divided difference of t**(3/2) exp(-x / sqrt(t)) at b**2, s**2, s'**2

    (Widmann et al. 2021, appendix D.2, in another form.) Both are computed from sums of positive terms, or the integral
    of a derivative where all scales are within 2 % of each other, to a relative error of 1e-13; the formulas of the
    paper and its software lose all digits where b, s or s' are nearly equal. For other kernels expectations come from
    32 quantiles of each distribution, as for ``Continuous`` ones.

    Parameters
    ----------
    mean
        (n,) array-like, in units of the target.
    scale
        Scales of at least 0, (n,) array-like or one number for all, in units of the target; the standard deviation is
        sqrt(2) s. ``ValueError`` for other parameters.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.Laplace([0.0, 1.0], 0.5)
    <Laplace, n = 2>
    """

    family = "Laplace"
    deviation = sqrt(2.0)
    _default_target_kernel = LaplacianKernel()

    def _noise(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        return rng.laplace(size=shape)

    def _noise_cdf(self, values: FloatArray) -> FloatArray:
        tail = 0.5 * np.exp(-np.abs(values))
        return np.where(values < 0.0, tail, 1.0 - tail)

    def _noise_quantile(self, level: FloatArray) -> FloatArray:
        tail = np.log(2.0 * np.minimum(level, 1.0 - level))
        return np.where(level < 0.5, tail, -tail)

    def _noise_log_density(self, values: FloatArray) -> FloatArray:
        return np.asarray(-np.abs(values) - log(2.0))

    def at_temperature(self, temperature: float) -> Self:
        """The same means and T times the scales (with respect to the Lebesgue measure)."""
        t = positive_number("temperature", temperature)
        return self._tempered(t, self.mean, t * self.scale)

    def _closed_form(self, kernel: TargetKernel) -> ClosedForm[Self] | None:
        form = kernel.exponential
        if form is None or form.linear != 0.0 or form.square != 0.0:
            return None
        width, own = 1.0 / form.rate, (self.mean, self.scale)
        return (
            lambda targets: over_pairs(laplaces.one_sided_tile, own, (targets,), 1, width),
            lambda other: over_pairs(laplaces.two_sided_tile, own, (other.mean, other.scale), 1, width),
        )

    def _expectation_sums(self, kernel: TargetKernel, weights: FloatArray, targets: Array) -> FloatArray:
        form = kernel.exponential
        if form is None or self._closed_form(kernel) is None:
            return super()._expectation_sums(kernel, weights, targets)
        y = redraws_last(targets)[:, 0]
        return laplaces.one_sided_sums(weights, (self.mean, self.scale), y, 1.0 / form.rate)
