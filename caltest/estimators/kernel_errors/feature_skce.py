"""Kernel calibration errors given features of the observations."""

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from caltest._basics.numerics import Array, FloatArray, IntArray
from caltest._results.values import EffectSize
from caltest._validation import at_least, same_length
from caltest.estimators.base import RedrawnEstimator
from caltest.estimators.combined.features import as_features, cautions_on_features, check_features, factors_of, taken
from caltest.estimators.kernel_errors.groups import given
from caltest.estimators.kernel_errors.kernel_estimator import KernelEstimator
from caltest.hstatistics.redraws.of_all_families import factored_pair_sums
from caltest.kernels import PairKernel
from caltest.predictions import Predictions, Sample


@dataclass(frozen=True, eq=False)
class FeatureSKCE(KernelEstimator, RedrawnEstimator):
    """Unbiased SKCE with the kernel ``k_P(p, p') (1 + sum_j k_j(x_j, x'_j)) k_Y(y, y')`` of predictions and features.

    It has mean 0 if the predictions are right given the features too, ``P(Y | P_X, X) = P_X``. Predictions can be
    calibrated and yet too low where a feature is large.

    Parameters
    ----------
    kernel
        Product of a kernel of predictions and a kernel of targets.
    features
        As in ``calibration_test``.

    Notes
    -----
    ``MonteCarloTest(FeatureSKCE(kernel, features))``, or ``MonteCarloTest(SKCE(kernel))(p, y, features=features)``, is
    exact for features that are not made from the outcomes, nor from the spread of the members of ensembles
    (``ValueError`` for those that are, and if no column varies). The kernels of features are those of the default test:
    of numbers and times ``sum_m c_m(r) c_m(r') / m**2`` with six cosines c_m of the ranks r, which no outlier or unit
    changes, of categories ``[x = x']``, missing values a category of their own. Each is centred, or it would be mostly
    constant and ask about the mean error only, and scaled to the root mean square 1 over all pairs.

    One number for all features: it finds errors that depend on one of them, alone or with the prediction, less well the
    more columns there are, and none that depend on two features together only. ``calibration_test(features=)`` without
    a kernel looks at each feature and pair by itself, and names them. Time O(n**2 (k + R)) for R functions of features,
    O(n B R) for binary predictions with an exponential kernel; memory O(n (k + R)).

    Examples
    --------
    >>> import caltest as ct
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> p, age = rng.uniform(0.2, 0.8, 400), rng.integers(20, 80, 400)
    >>> y = rng.random(400) < p + np.where(age < 50, 0.15, -0.15)
    >>> kernel = ct.Bernoulli(p).default_kernel()
    >>> tests = [ct.SKCE(kernel), ct.estimators.FeatureSKCE(kernel, {"age": age})]
    >>> [ct.MonteCarloTest(one, n_resamples=99)(p, y, rng=1).pvalue <= 0.05 for one in tests]
    [False, True]
    """

    citations = ("widmann2019", "widmann2021")

    kernel: PairKernel
    features: Any = field(repr=False)
    _checks = {"features": lambda _, features: as_features(features)}

    def check(self, predictions: Predictions) -> None:
        at_least(len(predictions), 2, "the unbiased SKCE")
        for one in self.features:
            same_length(len(predictions), len(one.values), f"features[{one.name!r}]")

    def check_sample(self, sample: Sample) -> None:
        super().check_sample(sample)
        check_features(self.features, sample)

    def cautions(self, sample: Sample) -> tuple[str, ...]:
        return cautions_on_features(self.features, sample)

    def for_rows(self, rows: IntArray) -> Self:
        return replace(self, features=taken(self.features, rows))

    def estimates(self, predictions: Predictions, targets: Array) -> FloatArray:
        n = len(predictions)
        sums = factored_pair_sums(self.kernel, factors_of(self.features, predictions), predictions, targets)
        return np.asarray(2.0 * sums / (n * (n - 1)))

    def hypothesis(self, predictions: Predictions) -> str:
        return given(predictions.hypothesis, "X")

    def effect_size(self, estimate: float, predictions: Predictions, mean: float | None) -> EffectSize:
        largest = float(np.square(factors_of(self.features, predictions)).sum(axis=1).max())
        return super().effect_size(estimate / largest, predictions, mean)

    def describe(self, predictions: Predictions) -> str:
        return f"SKCE (unbiased), k = {self.kernel.describe()} x k(x, x') of {len(self.features)} features"
