"""Functions of a distance: Gaussian, exponential, Laplacian, Matern, rational quadratic and overlap kernels."""

from dataclasses import dataclass, field
from math import sqrt
from typing import Any, Self

import numpy as np

from caltest._basics.numerics import FloatArray
from caltest._loops.formulas.kernels import EXPONENTIAL, MATERN_3, MATERN_5, RATIONAL
from caltest._validation import positive_number, real_number
from caltest.kernels.base import Predicted, PredictionKernel
from caltest.kernels.metrics.vector_metrics import Euclidean, Metric, TotalVariation
from caltest.kernels.radial import Bandwidth, Function, RadialKernel


@dataclass(frozen=True)
class GaussianKernel(RadialKernel):
    """``exp(-d**2 / (2 bandwidth**2))`` of a distance d, on predictions or on real targets.

    The factor 1/2 is that of the 2021 paper's software; the 2021 text writes exp(-gamma d**2), so
    ``bandwidth = 1/sqrt(2 gamma)``.

    Parameters
    ----------
    metric
        Distance of two predicted distributions, e.g. ``TotalVariation()``; a kernel of targets uses the Euclidean
        distance, so leave the default.
    bandwidth
        Positive number in units of the distance, or ``"median"``: on predictions the median distance of all pairs of
        different predictions, of 10 000 evenly spaced ones if there are more (results say so), in time
        O(min(n, 10 000)**2 k); on targets the median standard deviation of the predicted distributions (the root of the
        trace of the covariance matrix for vectors). Neither depends on the observed targets, which keeps tests valid.
        For vector targets also one number per dimension. ``ValueError`` for others.

    Warns
    -----
    KernelWarning
        If the squared distance is not negative definite (total variation, cityblock): the kernel need not be
        positive definite then, except for one-dimensional predictions.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.GaussianKernel(bandwidth=2.0).tile(ct.Normal([0.0], [1.0]), ct.Normal([2.0], [1.0])).round(4)
    array([[0.6065]])
    """

    formula = "exp(-{d}^2 / (2 {w}^2))"

    @property
    def function(self) -> Function:
        return Function(EXPONENTIAL, sqrt(0.5), 2.0)

    @property
    def gaussian(self) -> Self:
        return self

    def derivatives(self, squares: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """``exp(-r u)`` with ``r = 1 / (2 bandwidth**2)``, and its derivatives."""
        if isinstance(self.bandwidth, tuple):
            return super().derivatives(squares)
        rate = 0.5 / self.width**2
        value = np.exp(-rate * squares)
        return value, -rate * value, rate**2 * value


def _exponent(name: str, value: Any) -> float:
    exponent = positive_number(name, value)
    if exponent > 2.0:
        raise ValueError(f"{name}: got {exponent:g}, wanted at most 2: beyond it is no kernel for any metric")
    return exponent


@dataclass(frozen=True)
class ExponentialKernel(RadialKernel):
    """``exp(-(d / bandwidth)**exponent)`` of a distance d, on predictions or on real targets.

    With exponent 1 it is the Laplacian kernel of the 2019 paper (section 7); the 2021 paper allows 0 < exponent <= 2
    for distances in a Hilbert space (eq. D.1; there lambda is ``bandwidth**-exponent``).

    Parameters
    ----------
    metric, bandwidth
        As in ``GaussianKernel``.
    exponent
        0 < exponent <= 2.

    Raises
    ------
    ValueError
        If the bandwidth is not positive, or the exponent not in (0, 2].

    Warns
    -----
    KernelWarning
        For an exponent above 1 and a metric that is not that of a Hilbert space (total variation, cityblock).

    Examples
    --------
    >>> import caltest as ct
    >>> kernel = ct.ExponentialKernel(ct.TotalVariation(), bandwidth=0.5)
    >>> p, q = ct.Categorical([[0.2, 0.8]]), ct.Categorical([[0.5, 0.5]])
    >>> kernel.tile(p, q).round(4)
    array([[0.5488]])
    """

    exponent: float = 1.0
    _checks = {"exponent": _exponent}

    @property
    def function(self) -> Function:
        return Function(EXPONENTIAL, exponent=self.exponent)

    @property
    def gaussian(self) -> GaussianKernel | None:
        """A Gaussian kernel for the exponent 2."""
        if self.exponent != 2.0:
            return None
        if isinstance(self.bandwidth, tuple):
            return GaussianKernel(bandwidth=tuple(width / sqrt(2.0) for width in self.bandwidth))
        return GaussianKernel(bandwidth=self.width / sqrt(2.0))

    @property
    def formula(self) -> str:
        return "exp(-{d} / {w})" if self.exponent == 1.0 else f"exp(-({{d}} / {{w}})^{self.exponent:.4g})"

    def _is_positive_definite(self) -> bool:
        # A power below 1 of a negative definite function is negative definite too.
        return self.metric.squared_negative_definite or (self.metric.negative_definite and self.exponent <= 1.0)


@dataclass(frozen=True)
class LaplacianKernel(ExponentialKernel):
    """``exp(-|y - y'| / bandwidth)``: ``ExponentialKernel`` of the Euclidean distance, under its name for targets.

    The Laplace distribution has closed forms with it (Widmann et al. 2021, appendix D.2; there gamma is
    1 / bandwidth).

    Parameters
    ----------
    bandwidth
        Positive number, ``"median"``, or for vector targets one number per dimension.

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> ct.LaplacianKernel(bandwidth=2.0).target_tile(np.array([0.0]), np.array([2.0])).round(4)
    array([[0.3679]])
    """

    metric: Metric = field(default_factory=Euclidean, init=False, repr=False)
    bandwidth: Bandwidth = "median"
    exponent: float = field(default=1.0, init=False, repr=False)


def _order(name: str, value: Any) -> Any:
    if real_number(value) not in (1.5, 2.5):
        raise ValueError(f"{name}: got {value!r}, wanted 1.5 or 2.5 (ExponentialKernel has order 0.5)")
    return value


@dataclass(frozen=True)
class MaternKernel(RadialKernel):
    """Matern kernel of order 3/2 or 5/2 of a distance d, on predictions or on real targets.

    With ``x = sqrt(2 order) d / bandwidth``: ``(1 + x) exp(-x)`` and ``(1 + x + x**2 / 3) exp(-x)``. Order 1/2 is
    ``ExponentialKernel``; the limit of infinite order is ``GaussianKernel`` (Rasmussen and Williams 2006, eq. 4.17).
    It is a mixture of Gaussian kernels, so it is positive definite wherever these are.

    Parameters
    ----------
    metric, bandwidth
        As in ``GaussianKernel``.
    order
        1.5 or 2.5.

    Examples
    --------
    >>> import caltest as ct
    >>> kernel = ct.MaternKernel(bandwidth=1.0, order=1.5)
    >>> kernel.tile(ct.Normal([0.0], [1.0]), ct.Normal([1.0], [1.0])).round(4)
    array([[0.4834]])
    """

    order: float = 1.5
    _checks = {"order": _order}

    @property
    def function(self) -> Function:
        return Function(MATERN_3 if self.order == 1.5 else MATERN_5, sqrt(2.0 * self.order))

    @property
    def formula(self) -> str:
        return "Matern(" + f"{self.order:g}" + ", {d} / {w})"


@dataclass(frozen=True)
class RationalQuadraticKernel(RadialKernel):
    """``(1 + d**2 / (2 shape bandwidth**2))**-shape`` of a distance d, on predictions or on real targets.

    A mixture of Gaussian kernels of bandwidths that are Gamma distributed (Rasmussen and Williams 2006, eq. 4.19); it
    sees differences on many scales. For a large shape it is ``GaussianKernel``.

    Parameters
    ----------
    metric, bandwidth
        As in ``GaussianKernel``.
    shape
        Positive number.

    Examples
    --------
    >>> import caltest as ct
    >>> kernel = ct.kernels.RationalQuadraticKernel(bandwidth=1.0, shape=1.0)
    >>> kernel.tile(ct.Normal([0.0], [1.0]), ct.Normal([2.0], [1.0])).round(4)
    array([[0.3333]])
    """

    shape: float = 1.0
    _checks = {"shape": positive_number}

    def derivatives(self, squares: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """``(1 + r u / shape)**-shape`` with ``r = 1 / (2 bandwidth**2)``, and its derivatives."""
        if isinstance(self.bandwidth, tuple):
            return super().derivatives(squares)
        rate = 0.5 / self.width**2
        base = 1.0 + rate * squares / self.shape
        value = base**-self.shape
        return value, -rate * value / base, rate**2 * (1.0 + 1.0 / self.shape) * value / base**2

    @property
    def function(self) -> Function:
        return Function(RATIONAL, sqrt(0.5), 2.0, self.shape)

    @property
    def formula(self) -> str:
        a = f"{self.shape:.4g}"
        return "(1 + {d}^2 / (2 " + a + " {w}^2))^-" + a


@dataclass(frozen=True)
class OverlapKernel(PredictionKernel):
    """``1 - TV(p, p') = sum_k min(p_k, p'_k)``: the probability that two predictions have in common.

    Positive semi-definite, as ``min(a, b) = int 1{t <= a} 1{t <= b} dt``. For probabilities p of an event it is
    ``1 - |p - p'|``, and the biased ``SKCE`` with it and ``DeltaKernel`` is twice the average over thresholds t of
    ``(sum_{p_i <= t} e_i / n)**2 + (sum_{p_i > t} e_i / n)**2`` with ``e = y - p``: a binned error of two bins,
    averaged over where they meet. It sees shifts and wrong confidence, and little of errors that change their sign
    within short distances.

    Notes
    -----
    For the families that know the total variation distance: those of classes. Time O(n**2 k).

    Source: Hartline, Hu and Wu 2025 for the average of two bins.

    Examples
    --------
    >>> import caltest as ct
    >>> kernel = ct.kernels.OverlapKernel()
    >>> kernel.tile(ct.Categorical([[0.2, 0.8]]), ct.Categorical([[0.5, 0.5]])).round(4)
    array([[0.7]])
    """

    bound = 1.0

    def tile(self, rows: Predicted, columns: Predicted) -> FloatArray:
        return np.asarray(1.0 - rows.distance(TotalVariation(), columns))

    def resolve(self, predictions: Predicted) -> Self:
        return self

    def describe(self) -> str:
        return "1 - TV"
