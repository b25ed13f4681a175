"""The kernel of what two predictions have in common, which has no bandwidth."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from caltest._basics.numerics import FloatArray
from caltest.kernels.base import Predicted, PredictionKernel
from caltest.kernels.metrics.vector_metrics import TotalVariation


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
