"""Squared kernel calibration error in which observations have weights."""

import re
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from caltest._basics.numerics import Array, ArrayLike, FloatArray, IntArray
from caltest._validation import at_least, observation_weights, same_length
from caltest.estimators.base import RedrawnEstimator
from caltest.estimators.kernel_errors.kernel_estimator import KernelEstimator
from caltest.hstatistics.redraws.of_all_families import redrawn_means
from caltest.kernels import PairKernel
from caltest.predictions import Predictions

ASSUMED = "weights w are functions of the predictions, or calibration given both is meant"
"""What tests with weights assume."""


@dataclass(frozen=True, eq=False)
class WeightedSKCE(KernelEstimator, RedrawnEstimator):
    """``sum_{i<j} w_i w_j h_ij / sum_{i<j} w_i w_j``: the unbiased SKCE of observations with weights w.

    For example inverse probabilities of having been sampled, or of being observed. With equal weights it is ``SKCE``;
    a weight of 0 leaves an observation out; only ratios of weights matter.

    Parameters
    ----------
    kernel
        Product of a kernel of predictions and a kernel of targets.
    weights
        (n,) array-like of numbers of at least 0, one for each observation.

    Raises
    ------
    ValueError
        For weights that are negative, missing or all 0; at the call for another number of predictions, or fewer than
        two positive weights.

    Notes
    -----
    Weights are not counts: two observations of weight 1 carry more information than one of weight 2.
    ``MonteCarloTest(WeightedSKCE(kernel, weights))`` is exact if the predictions are calibrated given the weights too,
    ``P(Y | P_X, w) = P_X``, which for weights that are functions of the predictions is calibration itself. Weights that
    depend on more than the predictions can be rejected although ``P(Y | P_X) = P_X``, and weights must not depend on
    the targets. Time O(n**2 k), or O(n log n) for binary predictions with an exponential kernel; memory O(n k).

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> kernel = p.default_kernel()
    >>> abs(ct.estimators.WeightedSKCE(kernel, [2.0] * 899)(p, y) - ct.SKCE(kernel)(p, y)) < 1e-12
    True
    >>> certain = p.probabilities.max(axis=1)
    >>> ct.MonteCarloTest(ct.estimators.WeightedSKCE(kernel, certain), n_resamples=99)(p, y, rng=1).pvalue
    0.01
    """

    citations = ("widmann2019",)

    kernel: PairKernel
    weights: ArrayLike = field(repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "weights", observation_weights(self.weights))

    def check(self, predictions: Predictions) -> None:
        same_length(len(predictions), len(self.weights), "weights")
        at_least(int(np.count_nonzero(self.weights)), 2, "the SKCE with weights above 0")

    def resolve(self, predictions: Predictions, rng: Any = None) -> Self:
        return super().resolve(predictions.take(np.flatnonzero(self.weights)))

    def for_rows(self, rows: IntArray) -> Self:
        return replace(self, weights=self.weights[rows])

    def estimates(self, predictions: Predictions, targets: Array) -> FloatArray:
        kept = np.flatnonzero(self.weights)
        some, y = predictions.take(kept), np.ascontiguousarray(targets[:, kept])
        return np.asarray(redrawn_means([self.kernel], some, y, True, self.weights[kept])[0])

    def n_used(self, n: int) -> int:
        return int(np.count_nonzero(self.weights))

    def notes(self, n: int) -> tuple[str, ...]:
        """Those of the kernel, whose median is that of observations with positive weights."""
        return super().notes(self.n_used(n))

    def hypothesis(self, predictions: Predictions) -> str:
        return given(predictions.hypothesis, "w")

    @property
    def assumptions(self) -> str:
        return f"{super().assumptions}; {ASSUMED}"

    def describe(self, predictions: Predictions) -> str:
        return f"SKCE (unbiased, weighted), k = {self.kernel.describe()}"


def given(hypothesis: str, what: str) -> str:
    """A hypothesis about the law of outcomes given predictions, given something else too."""
    conditioned = re.sub(r"\| ([^|)]+)\)", rf"| \1, {what})", hypothesis, count=1)
    return conditioned if conditioned != hypothesis else f"{hypothesis}, also given {what}"
