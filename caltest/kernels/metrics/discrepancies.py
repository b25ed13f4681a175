"""Distances that are not of vectors: of mean embeddings, which are Hilbertian, and of mixtures, which is not."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from caltest._basics.numerics import FloatArray, check_finite, warn
from caltest._loops.transport import transport_costs
from caltest._validation import instance_of
from caltest.kernels.base import KernelWarning, TargetKernel
from caltest.kernels.functions import GaussianKernel
from caltest.kernels.metrics.vector_metrics import Metric, VectorMetric, Wasserstein

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
    _checks = {"kernel": instance_of(TargetKernel, "a kernel of targets such as GaussianKernel()")}

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
    """``2 between - rows - columns`` for means (..., r, c), (..., r) and (..., c), 0 where it is rounding; in place."""
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


@dataclass(frozen=True)
class MixtureWasserstein(Metric):
    """``sqrt(min_T sum_ab T_ab d(P_a, P'_b)**2)`` over couplings T of the weights of two mixtures.

    The cheapest way to turn the components of one mixture into those of the other (Delon and Desolneux 2020), with the
    2-Wasserstein distance d of components by default. Widmann et al. 2021, appendix D.3, say that functions of it are
    kernels, because each coupling gives a Hilbertian distance; but the best coupling depends on the pair. The six
    mixtures of two equally likely N(m, s**2) with m in {0, 1} and s in {1, 2} are a counterexample: their matrix
    exp(-d**2 / 2) has the eigenvalue -0.07. ``MMD(kernel)`` is a distance of mixtures that makes kernels.

    Parameters
    ----------
    of_components
        Distance of two components.

    Notes
    -----
    Cost: a transport problem for each pair, about 60 microseconds for ten components.

    Warns
    -----
    KernelWarning
        When a test or estimator uses it.

    Examples
    --------
    >>> import caltest as ct
    >>> two = ct.Mixture([ct.Normal([0.0, 3.0], 1.0), ct.Normal([4.0, 7.0], 1.0)])
    >>> two.distance(ct.kernels.MixtureWasserstein(), two).round(6)
    array([[0., 3.],
           [3., 0.]])
    """

    of_components: VectorMetric = field(default_factory=Wasserstein)

    symbol = "MW2"
    label = "mixture Wasserstein"
    _checks = {"of_components": instance_of(Metric, "a metric such as Wasserstein()")}

    def resolve(self, predictions: Any) -> Self:
        warn(
            "functions of the mixture Wasserstein distance need not be positive definite, although the paper says so: "
            "calibration errors can be negative and miscalibration can go unseen. Use MMD(kernel).",
            KernelWarning,
        )
        return self

    def between(self, rows: Any, columns: Any) -> FloatArray:
        if not hasattr(rows, "components"):
            raise TypeError(f"metric: got {self!r} for {rows.family} predictions, but it is for Mixture predictions")

        def squares(a: Any) -> FloatArray:
            return np.stack([np.square(a.distance(self.of_components, b)) for b in columns.components], axis=-1)

        costs = np.stack([squares(a) for a in rows.components], axis=-2)
        check_finite(float(costs.max()))
        return np.sqrt(transport_costs(rows.weights, columns.weights, costs))

    def rounding(self, predictions: Any) -> float:
        """The root of the rounding error of the squares."""
        return 1e-7 * float(predictions.target_scale())
