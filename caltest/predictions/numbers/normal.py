"""Predicted normal distributions of a real target."""

from collections.abc import Callable
from functools import partial
from math import log, pi, sqrt
from typing import Self

import numpy as np
import scipy

from caltest._basics.numerics import Array, FloatArray
from caltest._loops.formulas import normals
from caltest._loops.formulas.normal_tails import exponential
from caltest._loops.pair_sums.gaussian import redrawn_expectation_sums
from caltest._loops.stacks import redraws_last
from caltest._validation import positive_number
from caltest.kernels import TargetKernel
from caltest.predictions.numbers.univariate import ClosedForm, LocationScale
from caltest.predictions.outcomes import Index, Traces
from caltest.predictions.reductions.standard_scores import in_units


class Normal(LocationScale):
    """n normal distributions with means m and standard deviations s >= 0; s = 0 is a point prediction.

    With the Gaussian target kernel of bandwidth b (Widmann et al. 2021, appendix D.1)::

        E k(Z, y)  = b / sqrt(b**2 + s**2)         exp(-(m - y)**2  / (2 (b**2 + s**2)))
        E k(Z, Z') = b / sqrt(b**2 + s**2 + s'**2) exp(-(m - m')**2 / (2 (b**2 + s**2 + s'**2)))

    With the Laplacian kernel, where D = Z - y has the mean m - y and the variance v = ``s**2``, and D = Z - Z' the mean
    m - m' and the variance v = ``s**2 + s'**2``, in units of b::

        E exp(-|D|) = exp(-E[D]**2 / (2 v)) (erfcx((v - E[D]) / sqrt(2 v)) + erfcx((v + E[D]) / sqrt(2 v))) / 2

    and with Matern kernels sums of these and their derivatives, written without cancellation
    (``caltest._loops.formulas.normal_tails``). Rational quadratic kernels, and exponential ones of other exponents,
    have no closed form; their expectations come from 32 quantiles of each distribution, as for ``Continuous`` ones.

    Parameters
    ----------
    mean
        (n,) array-like, in units of the target.
    scale
        Standard deviations of at least 0, (n,) array-like or one number for all, in units of the target. ``ValueError``
        for other parameters.

    Examples
    --------
    >>> import caltest as ct
    >>> predicted = ct.Normal([0.0, 1.0, 3.0, 2.0], 0.5)
    >>> predicted
    <Normal, n = 4>
    >>> ct.calibration_test(predicted, [0.3, 0.8, 3.6, 1.9], n_resamples=99, rng=1).pvalue
    0.9
    """

    family = "Normal"
    deviation = 1.0
    has_normal_scores = True
    """All of them have, points too, whose scores are 0."""

    def _noise(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        return rng.standard_normal(shape)

    def _noise_cdf(self, values: FloatArray) -> FloatArray:
        return np.asarray(scipy.special.ndtr(values))

    def _noise_quantile(self, level: FloatArray) -> FloatArray:
        return np.asarray(scipy.special.ndtri(level))

    def _noise_log_density(self, values: FloatArray) -> FloatArray:
        return np.asarray(-0.5 * (np.square(values) + log(2.0 * pi)))

    def at_temperature(self, temperature: float) -> Self:
        """The same means and sqrt(T) times the scales (with respect to the Lebesgue measure)."""
        t = positive_number("temperature", temperature)
        return self._tempered(t, self.mean, np.sqrt(t) * self.scale)

    def _closed_form(self, kernel: TargetKernel) -> ClosedForm[Self] | None:
        """For Gaussian, Laplacian and Matern kernels, in units of their bandwidths."""
        tiles: Callable[..., FloatArray]
        if kernel.gaussian is not None:
            width, tiles = kernel.gaussian.width, normals.scalar
        elif kernel.exponential is not None:
            rate, linear, square = kernel.exponential
            width, tiles = 1.0 / rate, partial(exponential, a=linear, b=square)
        else:
            return None
        return (
            lambda targets: tiles(self.in_units_of(width), (targets / width, np.zeros(targets.shape))),
            lambda other: tiles(self.in_units_of(width), other.in_units_of(width)),
        )

    def _expectation_sums(self, kernel: TargetKernel, weights: FloatArray, targets: Array) -> FloatArray:
        if kernel.gaussian is None:
            return super()._expectation_sums(kernel, weights, targets)
        width = kernel.gaussian.width
        mean, variance = self.in_units_of(width)
        factor, y = 1.0 / np.sqrt(1.0 + variance), redraws_last(targets / width)
        return redrawn_expectation_sums(weights, mean[:, None], factor[:, None, None], factor, y)

    def standard_scores(self, targets: Array) -> FloatArray:
        return in_units(targets - self.mean, self.scale)

    def of_standard_scores(self, scores: FloatArray) -> FloatArray:
        return np.asarray(self.mean + self.scale * scores)

    @property
    def normal(self) -> tuple[FloatArray, FloatArray]:
        return self.mean, self.scale

    def traces(self, kernel: TargetKernel) -> Traces | None:
        """For Gaussian kernels, whose squares are Gaussian functions again."""
        if (gaussian := kernel.gaussian) is None:
            return None
        width, half = gaussian.width, gaussian.with_bandwidth(gaussian.width / sqrt(2.0))

        def traces(rows: Index, columns: Index) -> FloatArray:
            one, two = self.take(rows), self.take(columns)
            tile = np.square(one.expected_kernel2(gaussian, two))
            tile += one.expected_kernel2(half, two)
            tile -= _of_squared_means(one, two, width)
            tile -= _of_squared_means(two, one, width).swapaxes(-1, -2)
            return np.asarray(np.maximum(tile, 0.0, out=tile))

        return traces

    def in_units_of(self, width: float) -> tuple[FloatArray, FloatArray]:
        """Means and variances in units of the bandwidth of a kernel."""
        with np.errstate(over="ignore"):
            return self.mean / width, np.square(self.scale / width)


def _of_squared_means(one: Normal, two: Normal, width: float) -> FloatArray:
    """``E m_i(Z_j)**2``, where m_i**2 is b**2 / c exp(-(y - m)**2 / c) with c = b**2 + s**2, for the bandwidth b."""
    b2, c = width**2, width**2 + np.square(one.scale)[..., None]
    spread = c / 2.0 + np.square(two.scale)[..., None, :]
    squares = np.square(one.mean[..., None] - two.mean[..., None, :]) / (2.0 * spread)
    return np.asarray(b2 / c * np.sqrt(c / (2.0 * spread)) * np.exp(-squares))
