"""The distance of mixtures that Widmann et al. 2021 use, which does not make kernels."""

from dataclasses import dataclass, field
from typing import Any, Self

from caltest._basics.types import FloatArray
from caltest._basics.warnings import warn
from caltest.kernels.base import KernelWarning
from caltest.kernels.metrics.vector_metrics import Metric, VectorMetric, Wasserstein


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

    def __post_init__(self) -> None:
        if not isinstance(self.of_components, Metric):
            raise TypeError(f"of_components: got {self.of_components!r}, wanted a metric such as Wasserstein()")

    def resolve(self, predictions: Any) -> Self:
        """The metric itself, with a warning."""
        warn(
            "functions of the mixture Wasserstein distance need not be positive definite, although the paper says so: "
            "calibration errors can be negative and miscalibration can go unseen. Use MMD(kernel).",
            KernelWarning,
        )
        return self

    def between(self, rows: Any, columns: Any) -> FloatArray:
        """Distances (..., r, c) of mixtures; other predictions do not have it."""
        known: FloatArray | None = rows.coupling_distances(self.of_components, columns)
        if known is None:
            raise TypeError(f"metric: got {self!r} for {rows.family} predictions, but it is for Mixture predictions")
        return known

    def rounding(self, predictions: Any) -> float:
        """The root of the rounding error of the squares."""
        return 1e-7 * float(predictions.target_scale())
