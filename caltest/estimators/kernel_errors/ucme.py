"""Unnormalised calibration mean embedding: the squared witness function at a few test locations."""

from dataclasses import dataclass, field
from math import sqrt

import numpy as np

from caltest._basics.numerics import Array, ArrayLike, FloatArray, check_memory, to_array
from caltest._results.values import EffectSize
from caltest._validation import at_least
from caltest.estimators.kernel_errors.kernel_estimator import KernelEstimator
from caltest.hstatistics.redraws.of_all_families import redrawn_deviation_means
from caltest.hstatistics.sums.pairs import deviations
from caltest.kernels import PairKernel
from caltest.predictions import Predictions, Sample
from caltest.predictions.convert import as_sample


@dataclass(frozen=True, eq=False)
class UCME(KernelEstimator):
    """``J**-1 sum_j (n**-1 sum_i D_ij)**2`` with ``D_ij = k(T_j, (p_i, y_i)) - E k(T_j, (p_i, Z))``.

    Parameters
    ----------
    kernel
        Product of a kernel of predictions and a kernel of targets.
    test_predictions, test_targets
        The J test locations T_j, pairs of a prediction and a target. Choose them without looking at the targets
        that are tested, for example at random or from other data.

    Notes
    -----
    The plug-in estimator: at least 0, biased upwards. ``"median"`` bandwidths come from the tested predictions.
    Time O(n J k), memory O(n J).

    Source: Widmann et al. 2021, Definition C.1 and appendix C.2.

    Raises
    ------
    ValueError, TypeError
        For bad test locations, and at the call for predictions of another family or number of classes.

    Examples
    --------
    >>> import caltest as ct
    >>> kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), bandwidth=1.0), ct.DeltaKernel())
    >>> ucme = ct.UCME(kernel, test_predictions=[[0.5, 0.5]], test_targets=[0])
    >>> round(ucme([[0.1, 0.9], [0.8, 0.2]], [0, 1]), 6)
    2.8e-05
    """

    citations = ("widmann2021",)

    kernel: PairKernel
    test_predictions: ArrayLike = field(repr=False)
    test_targets: ArrayLike = field(repr=False)
    locations: Sample = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        locations = as_sample(self.test_predictions, self.test_targets, prefix="test_", copy=True, pooled=False)
        object.__setattr__(self, "locations", locations)
        object.__setattr__(self, "test_predictions", locations.predictions)
        object.__setattr__(self, "test_targets", to_array(self.test_targets, "test_targets").copy())

    def check(self, predictions: Predictions) -> None:
        at_least(len(predictions), 1, "UCME")
        predictions.check_compatible(self.locations.predictions, "test_predictions")

    def deviations(self, sample: Sample) -> FloatArray:
        """``D``, (n, J): mean 0 under the null hypothesis."""
        number = len(self.locations)
        check_memory(24 * len(sample) * number, "deviations at all locations", (number, "test locations"))
        return deviations(self.kernel, sample, self.locations)

    def estimate(self, sample: Sample) -> float:
        return float(np.mean(self.deviations(sample).mean(axis=0) ** 2))

    def estimates(self, predictions: Predictions, targets: Array) -> FloatArray:
        means = redrawn_deviation_means(self.kernel, predictions, targets, self.locations)
        estimates: FloatArray = np.mean(means**2, axis=1)
        return estimates

    def effect_size(self, estimate: float, predictions: Predictions, mean: float | None) -> EffectSize:
        unit = "root mean square of the witness function at the test locations"
        return EffectSize(sqrt(max(0.0, estimate - (mean or 0.0))), unit)

    def describe(self, predictions: Predictions) -> str:
        return f"UCME, {len(self.locations)} test locations, k = {self.kernel.describe()}"
