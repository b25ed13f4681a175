"""The Gaussian kernel."""

from dataclasses import dataclass, field
from math import sqrt
from typing import Self

import numpy as np

from caltest._basics.types import FloatArray
from caltest._loops.formulas.kernels import EXPONENTIAL
from caltest.kernels.metrics.vector_metrics import Euclidean, Metric
from caltest.kernels.radial import Function, RadialKernel


@dataclass(frozen=True)
class GaussianKernel(RadialKernel):
    """``exp(-d**2 / (2 bandwidth**2))`` of a distance d, on predictions or on real targets.

    The factor 1/2 is that of the 2021 paper's software; the 2021 text writes exp(-gamma d**2), so
    ``bandwidth = 1/sqrt(2 gamma)``.

    Parameters
    ----------
    metric
        Distance of two predicted distributions; a kernel of targets uses the absolute difference, so leave the default.
    bandwidth
        Positive number, or ``"median"``: on predictions the median distance of all pairs; on targets the median
        standard deviation of the predicted distributions (the root of the trace of the covariance matrix for vectors).
        Neither depends on the observed targets. For vector targets also one number per dimension.

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

    metric: Metric = field(default_factory=Euclidean)
    formula = "exp(-{d}^2 / (2 {w}^2))"

    @property
    def function(self) -> Function:
        """``exp(-u)``, ``u = (d / (sqrt(2) bandwidth))**2``."""
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

    def _is_positive_definite(self) -> bool:
        return self.metric.squared_negative_definite
