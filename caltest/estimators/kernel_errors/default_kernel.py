"""The kernel used when none is named, also where predictions are identical, and one kernel for several models."""

from collections.abc import Sequence
from functools import reduce

import numpy as np

from caltest.estimators.kernel_errors.kernel_estimator import median_notes
from caltest.kernels import PairKernel, PredictionKernel, ProductKernel, TargetKernel
from caltest.kernels.product import check_pair_kernel
from caltest.predictions import Predictions
from caltest.predictions.bandwidth import ZeroBandwidth
from caltest.predictions.ensembles.members import of_equal_size


def default_kernel(predictions: Predictions, *, identical: float | None = 1.0) -> tuple[ProductKernel, tuple[str, ...]]:
    """The kernel of the family, resolved, and notes where a median is 0.

    ``identical`` is the bandwidth where all predictions are identical, which is of no effect on them; with None that is
    a ``ZeroBandwidth``, for those who will use the kernel for others too.
    """
    kernel = predictions.default_kernel()
    try:
        return kernel.resolve(predictions), median_notes(kernel, len(predictions))
    except ZeroBandwidth:
        of_predictions, notes = _of_predictions(predictions, kernel.prediction_kernel, identical)
        of_targets, more = _of_targets(predictions, kernel.target_kernel)
        return ProductKernel(of_predictions, of_targets), notes + more


def _of_predictions(
    predictions: Predictions, kernel: PredictionKernel, identical: float | None
) -> tuple[PredictionKernel, tuple[str, ...]]:
    """With the median of the positive distances as the bandwidth, or a number if all are 0."""
    try:
        return kernel.resolve(predictions), ()
    except ZeroBandwidth:
        pass
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
    if kernel is None:
        return default_kernel(pooled)[0]
    check_pair_kernel(kernel)
    return kernel.resolve(pooled)
