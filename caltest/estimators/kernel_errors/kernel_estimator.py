"""What estimators of kernel calibration errors share: the kernel, its bandwidth and default, the size of the error."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from math import sqrt
from typing import Any, ClassVar, Self

import numpy as np

from caltest._results.values import EffectSize
from caltest.estimators.base import Estimator
from caltest.hstatistics.tiles import h_bound
from caltest.kernels import PairKernel, PredictionKernel, ProductKernel, TargetKernel
from caltest.kernels.product import a_pair_kernel, a_product_kernel
from caltest.predictions import Predictions
from caltest.predictions.bandwidth import MEDIAN_OF, ZeroBandwidth
from caltest.predictions.base import Unbounded
from caltest.predictions.ensembles.members import of_equal_size


@dataclass(frozen=True)
class FamilyKernel(PairKernel):
    """The kernel of whatever family the predictions have, with bandwidths from them: ``predictions.default_kernel()``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> ct.SKCE(ct.estimators.FamilyKernel())(p, y) == ct.SKCE(p.default_kernel())(p, y) == ct.SKCE()(p, y)
    True
    """

    uses_median = True
    is_product = True
    notes = ()

    @property
    def products(self) -> tuple[ProductKernel, ...]:
        raise ValueError(
            "kernel: got that of the family, which needs predictions, wanted a ProductKernel such as "
            "predictions.default_kernel()"
        )

    def resolve(self, predictions: Predictions) -> Any:
        return default_kernel(predictions)[0]

    def resolve_with_notes(self, predictions: Predictions) -> tuple[ProductKernel, tuple[str, ...]]:
        return default_kernel(predictions)

    def describe(self) -> str:
        return "the kernel of the family"


FAMILY_KERNEL = FamilyKernel()


def a_product_or_none(kernel: Any) -> ProductKernel | None:
    """A single product kernel; None for that of the family."""
    return None if kernel is None or isinstance(kernel, FamilyKernel) else a_product_kernel("kernel", kernel)


class KernelEstimator(Estimator):
    """An estimator made of h for a kernel of pairs of predictions and targets."""

    kernel: PairKernel
    unbiased: bool = True
    _notes: ClassVar[tuple[str, ...]] = ()
    _checks = {"kernel": a_pair_kernel}

    def resolve(self, predictions: Predictions, rng: Any = None) -> Self:
        kernel, notes = self.kernel.resolve_with_notes(predictions)
        return self._with(kernel=kernel, _notes=(*notes, *_scale_notes(predictions)))

    def notes(self, n: int) -> tuple[str, ...]:
        return kernel_notes(self.kernel, n)

    def resolved_notes(self) -> tuple[str, ...]:
        return self._notes

    def effect_size(self, estimate: float, predictions: Predictions, mean: float | None) -> EffectSize:
        """The KCE as a share of its largest value; without the bias, where it is known."""
        bias = 0.0 if self.unbiased or mean is None else mean
        return share_of_bound(estimate - bias, self.kernel, predictions)

    def _name(self, pairs: str) -> str:
        return f"SKCE ({'unbiased' if self.unbiased else 'biased'}, {pairs})"

    def _described(self, pairs: str) -> str:
        return f"{self._name(pairs)}, k = {self.kernel.describe()}"


UNEVEN = 30.0
"""How many times as much one coordinate varies as another one where distances hardly depend on the other one."""


def _scale_notes(predictions: Predictions) -> tuple[str, ...]:
    """Whether vectors have coordinates whose predicted means vary on very different scales."""
    if not predictions.has_scale or getattr(predictions, "dimension", 1) < 2:
        return ()
    scales = predictions.evenly_spaced(MEDIAN_OF).moments()[0].std(axis=0)
    large, small = int(scales.argmax()), int(scales.argmin())
    if not scales[large] > UNEVEN * scales[small] > 0.0:
        return ()
    return (
        f"predicted means of coordinate {small} vary {scales[large] / scales[small]:.2g} times less than those of "
        f"coordinate {large}: kernels of vectors hardly see errors of coordinate {small}; divide each by its scale",
    )


def kernel_notes(kernel: PairKernel, n: int) -> tuple[str, ...]:
    """What readers of an estimate from n observations should know of the kernel."""
    return (*median_notes(kernel, n), *kernel.notes)


def median_notes(kernel: PairKernel, n: int, median_of: int = MEDIAN_OF) -> tuple[str, ...]:
    """A note where the median bandwidth is not that of all pairs."""
    number = min(median_of, MEDIAN_OF)
    is_of_some = kernel.uses_median and n > number
    return (f"the median bandwidth is that of {number} evenly spaced predictions",) if is_of_some else ()


def share_of_largest(squared: float, largest: float, name: str = "KCE") -> EffectSize:
    """The root of an estimated squared error as a share of its largest value; 0 for negative estimates."""
    return EffectSize(min(1.0, sqrt(max(0.0, squared) / largest)), f"{name} as a share of its largest value")


def share_of_bound(squared: float, kernel: PairKernel, predictions: Predictions) -> EffectSize:
    """The root of an estimated squared kernel error as a share of its largest value, or itself where it has none."""
    try:
        return share_of_largest(squared, h_bound(kernel, predictions))
    except Unbounded:
        return EffectSize(sqrt(max(0.0, squared)), "KCE, which has no largest value for such predictions")


def default_kernel(predictions: Predictions, *, identical: float | None = 1.0) -> tuple[ProductKernel, tuple[str, ...]]:
    """The kernel of the family, resolved, and notes where a median is 0.

    ``identical`` is the bandwidth where all predictions are identical, which is of no effect on them; with None that is
    a ``ZeroBandwidth``, for those who will use the kernel for others too.
    """
    kernel, some = predictions.default_kernel(), predictions.of_default_median
    try:
        resolved = kernel.prediction_kernel.resolve(some), kernel.target_kernel.resolve_for_targets(predictions)
        return ProductKernel(*resolved), median_notes(kernel, len(predictions), predictions.default_median_of)
    except ZeroBandwidth:
        of_predictions, notes = _of_predictions(some, kernel.prediction_kernel, identical)
        of_targets, more = _of_targets(predictions, kernel.target_kernel)
        return ProductKernel(of_predictions, of_targets), notes + more


def _of_predictions(
    predictions: Predictions, kernel: PredictionKernel, identical: float | None
) -> tuple[PredictionKernel, tuple[str, ...]]:
    """With the median of the positive distances as the bandwidth, or a number if all are 0."""
    with suppress(ZeroBandwidth):
        return kernel.resolve(predictions), ()
    try:
        distinct = kernel.resolve_distinct(predictions)
    except ZeroBandwidth:
        if identical is None:
            raise
        note = "all predictions are identical, so that every bandwidth gives the same kernel of predictions"
        return kernel.resolve_metric(predictions).with_bandwidth(identical), (note,)
    note = "more than half of the pairs of predictions are identical; the bandwidth is the median of the others"
    return distinct, (note,)


def _of_targets(predictions: Predictions, kernel: TargetKernel) -> tuple[TargetKernel, tuple[str, ...]]:
    """With the median of the positive standard deviations as the bandwidth, or any number if all are 0."""
    try:
        return kernel.resolve_for_targets(predictions), ()
    except ZeroBandwidth:
        deviations = np.sqrt(predictions.law.moments()[1])
    positive = deviations[deviations > 0.0]
    note = "more than half of the targets are predicted with certainty; the bandwidth of targets is that of the others"
    return kernel.with_bandwidth(float(np.median(positive)) if positive.size else 1.0), (note,)


def shared_kernel(kernel: PairKernel | None, predictions: Sequence[Predictions]) -> PairKernel:
    """The kernel, or that of the family, with ``"median"`` bandwidths from the predictions of all models together.

    Ensembles enter these with as many members as the smallest of them has.
    """
    pooled = reduce(lambda one, other: one.followed_by(other), of_equal_size(predictions))
    checked: PairKernel = a_pair_kernel("kernel", FAMILY_KERNEL if kernel is None else kernel)
    return checked.resolve(pooled)
