"""Tensor product of a kernel of predictions and a kernel of targets."""

from dataclasses import dataclass

from caltest.kernels.base import PredictedDistributions, PredictionKernel, TargetKernel
from caltest.kernels.metrics import Euclidean
from caltest.kernels.radial import RadialKernel


@dataclass(frozen=True)
class ProductKernel:
    """``k((p, y), (p', y')) = k_P(p, p') k_Y(y, y')`` (Widmann et al. 2021, section 3.1).

    Parameters
    ----------
    prediction_kernel
        Kernel of two predicted distributions.
    target_kernel
        Kernel of two targets.

    Raises
    ------
    TypeError
        If a factor is not a kernel of that kind, for example when the two are swapped.

    Examples
    --------
    >>> import caltest as ct
    >>> kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), bandwidth=0.5), ct.DeltaKernel())
    >>> print(kernel.describe())
    exp(-TV / 0.5) x [y = y']
    """

    prediction_kernel: PredictionKernel
    target_kernel: TargetKernel

    def __post_init__(self) -> None:
        if not isinstance(self.prediction_kernel, PredictionKernel):
            raise TypeError(
                f"prediction_kernel: got {self.prediction_kernel!r}, wanted a kernel of predictions, "
                "e.g. ExponentialKernel(TotalVariation()); the prediction kernel comes first"
            )
        if not isinstance(self.target_kernel, TargetKernel):
            raise TypeError(
                f"target_kernel: got {self.target_kernel!r}, wanted a kernel of targets, "
                "e.g. DeltaKernel() for classes or GaussianKernel(bandwidth=1.0) for real targets"
            )
        if isinstance(self.target_kernel, RadialKernel) and not isinstance(self.target_kernel.metric, Euclidean):
            raise TypeError(
                f"target_kernel: got a kernel of the {self.target_kernel.metric.label} distance, which compares "
                "predicted distributions; leave out the metric for a kernel of targets"
            )

    @property
    def bound(self) -> float:
        """Supremum of the kernel."""
        return self.prediction_kernel.bound * self.target_kernel.bound

    def resolve(self, predictions: PredictedDistributions) -> "ProductKernel":
        """The same kernel with its ``"median"`` bandwidths replaced by numbers computed from the predictions."""
        return ProductKernel(
            self.prediction_kernel.resolve(predictions), self.target_kernel.resolve_for_targets(predictions)
        )

    def check_resolved(self) -> None:
        """Raise ``ValueError`` if a bandwidth is still ``"median"``."""
        if self.prediction_kernel.uses_median or self.target_kernel.uses_median:
            raise ValueError(
                'bandwidth: got "median", which depends on all predictions, for data that come in chunks; wanted a '
                "number: kernel.resolve(predictions) with some of the predictions, or median_bandwidth of them"
            )

    def describe(self) -> str:
        """Formula in one line."""
        return f"{self.prediction_kernel.describe()} x {self.target_kernel.describe_for_targets()}"


def check_product_kernel(kernel: object) -> None:
    """Raise ``TypeError`` unless ``kernel`` is a ``ProductKernel``."""
    if not isinstance(kernel, ProductKernel):
        raise TypeError(
            f"kernel: got {kernel!r}, wanted a ProductKernel(prediction_kernel, target_kernel), e.g. "
            "ProductKernel(ExponentialKernel(TotalVariation()), DeltaKernel())"
        )
