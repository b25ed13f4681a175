"""Distances of distributions in the space of mean embeddings: Hilbertian for every family that knows its kernel."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from caltest._basics.types import FloatArray
from caltest.kernels.base import TargetKernel
from caltest.kernels.gaussian import GaussianKernel
from caltest.kernels.metrics.vector_metrics import Metric

ROUNDING = 1e-13
"""Differences of numbers of size 1 up to this are rounding."""


@dataclass(frozen=True)
class MMD(Metric):
    """Maximum mean discrepancy: ``sqrt(E k(Z, Z~) + E k(Z', Z'~) - 2 E k(Z, Z'))`` with independent copies Z~, Z'~.

    The distance of the mean embeddings of two distributions in the Hilbert space of the kernel k (Gretton et al.
    2012), so functions of it that are kernels on Hilbert spaces are kernels here, for every family. With a narrow
    Gaussian kernel it is proportional to the L2 distance of the densities.

    Parameters
    ----------
    kernel
        Kernel of targets; by default a Gaussian one with the median predicted standard deviation as its bandwidth.

    Raises
    ------
    TypeError
        If the kernel is no kernel of targets.

    Examples
    --------
    >>> import caltest as ct
    >>> metric = ct.kernels.MMD(ct.GaussianKernel(bandwidth=1.0))
    >>> ct.Normal([0.0], [1.0]).distance(metric, ct.Normal([2.0], [1.0])).round(4)
    array([[0.7496]])
    """

    kernel: TargetKernel = field(default_factory=GaussianKernel)

    symbol = "MMD"
    label = "maximum mean discrepancy"
    squared_negative_definite = True

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, TargetKernel):
            raise TypeError(f"kernel: got {self.kernel!r}, wanted a kernel of targets such as GaussianKernel()")

    def resolve(self, predictions: Any) -> Self:
        resolved = self.kernel.resolve_for_targets(predictions)
        return self if resolved == self.kernel else type(self)(resolved)

    def between(self, rows: Any, columns: Any) -> FloatArray:
        rows, columns = rows.prepared(self.kernel), columns.prepared(self.kernel)
        squares: FloatArray = rows.expected_kernel2(self.kernel, columns)
        squares *= -2.0
        squares += rows.self_kernel(self.kernel)[..., :, None]
        squares += columns.self_kernel(self.kernel)[..., None, :]
        squares[squares < ROUNDING * self.kernel.bound] = 0.0
        return np.sqrt(squares, out=squares)

    def rounding(self, predictions: Any) -> float:
        """The root of the rounding error of the kernel's values."""
        return 1e-7 * float(np.sqrt(self.kernel.bound))


def difference_of_means(between: FloatArray, rows: FloatArray, columns: FloatArray) -> FloatArray:
    """``2 between - rows - columns`` for means (..., r, c), (..., r) and (..., c) of distances.

    Written over ``between``; 0 where the difference is not above the rounding of its own terms.
    """
    between *= 2.0
    within = rows[..., :, None] + columns[..., None, :]
    rounding = ROUNDING * (between + within)
    between -= within
    between[between < rounding] = 0.0
    return between


@dataclass(frozen=True)
class EnergyDistance(Metric):
    """``sqrt(2 E |Z - Z'| - E |Z - Z~| - E |Z' - Z'~|)`` with independent copies Z~, Z'~.

    A distance of all distributions with a finite mean that has no bandwidth; its square is negative definite
    (Szekely and Rizzo 2013), so functions of it that are kernels on Hilbert spaces are kernels here. On the real line
    it is ``sqrt(2 int (F - F')**2)`` with the distribution functions F and F'.

    Examples
    --------
    >>> import caltest as ct
    >>> members = ct.Ensemble([[0.0, 1.0], [2.0, 3.0]])
    >>> members.distance(ct.kernels.EnergyDistance(), members).round(4)
    array([[0.    , 1.7321],
           [1.7321, 0.    ]])
    """

    symbol = "energy"
    label = "energy"
    squared_negative_definite = True

    def between(self, rows: Any, columns: Any) -> FloatArray:
        squares: FloatArray = rows.energy_distances(columns)
        return np.sqrt(squares, out=squares)

    def rounding(self, predictions: Any) -> float:
        """None: squares that are rounding are 0."""
        return 0.0
