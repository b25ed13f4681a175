"""What estimators of kernel calibration errors share: the kernel, its bandwidth, its notes, the size of the error."""

from copy import copy
from math import sqrt
from typing import Any, Self

from caltest._results.effect_size import EffectSize, share_of_largest
from caltest.estimators.base import Estimator
from caltest.hstatistics.bound import h_bound
from caltest.kernels import PairKernel
from caltest.kernels.product import check_pair_kernel
from caltest.predictions import Predictions
from caltest.predictions.bandwidth import MEDIAN_OF
from caltest.predictions.base import Unbounded


class KernelEstimator(Estimator):
    """An estimator made of h for a kernel of pairs of predictions and targets."""

    kernel: PairKernel
    unbiased: bool = True

    def __post_init__(self) -> None:
        check_pair_kernel(self.kernel)

    def resolve(self, predictions: Predictions, rng: Any = None) -> Self:
        resolved = copy(self)
        object.__setattr__(resolved, "kernel", self.kernel.resolve(predictions))
        return resolved

    def notes(self, n: int) -> tuple[str, ...]:
        return kernel_notes(self.kernel, n)

    def effect_size(self, estimate: float, predictions: Predictions, mean: float | None) -> EffectSize:
        """The KCE as a share of its largest value; without the bias, where it is known."""
        bias = 0.0 if self.unbiased or mean is None else mean
        return share_of_bound(estimate - bias, self.kernel, predictions)


def kernel_notes(kernel: PairKernel, n: int) -> tuple[str, ...]:
    """What readers of an estimate from n observations should know of the kernel."""
    return (*median_notes(kernel, n), *kernel.notes)


def median_notes(kernel: PairKernel, n: int) -> tuple[str, ...]:
    """A note where the median bandwidth is not that of all pairs."""
    if not kernel.uses_median or n <= MEDIAN_OF:
        return ()
    return (f"the median bandwidth is that of {MEDIAN_OF} evenly spaced predictions",)


def share_of_bound(squared: float, kernel: PairKernel, predictions: Predictions) -> EffectSize:
    """The root of an estimated squared kernel error as a share of its largest value, or itself where it has none."""
    try:
        return share_of_largest(squared, h_bound(kernel, predictions))
    except Unbounded:
        return EffectSize(sqrt(max(0.0, squared)), "KCE, which has no largest value for such predictions")
