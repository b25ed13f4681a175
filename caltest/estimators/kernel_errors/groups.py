"""Kernel errors of observations with weights, given groups or features, and any error in the worst group."""

import re
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from caltest._basics.numerics import Array, ArrayLike, FloatArray, IntArray
from caltest._results.values import EffectSize
from caltest._validation import at_least, observation_weights, same_length
from caltest._validation.columns import refuse_outcomes
from caltest._validation.groups import as_groups
from caltest.estimators.base import Estimator, RedrawnEstimator, an_estimator
from caltest.estimators.combined.features import as_features, cautions_on_features, check_features, factors_of, taken
from caltest.estimators.combined.joint import JointEstimator, standardised
from caltest.estimators.kernel_errors.kernel_estimator import KernelEstimator
from caltest.hstatistics.redraws.of_all_families import factored_pair_sums, redrawn_means
from caltest.kernels import PairKernel
from caltest.predictions import Predictions, Sample
from caltest.predictions.ensembles.own_spread import notes_on_spread, refuse_spread

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
        For weights that are negative, missing or all 0; at the call for another number of predictions, fewer than two
        positive weights, and weights that are made from the outcomes or from the spread of members.

    Notes
    -----
    ``MonteCarloTest(WeightedSKCE(kernel, weights))`` is exact for ``P(Y | P_X, w) = P_X``, with weights that do not
    depend on the targets; what that means is said in ``calibration_test``. Time O(n**2 k), or O(n log n) for binary
    predictions with an exponential kernel; memory O(n k).

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> kernel = p.default_kernel()
    >>> abs(ct.estimators.WeightedSKCE(kernel, [2.0] * 899)(p, y) - ct.SKCE(kernel)(p, y)) < 1e-12
    True
    """

    citations = ("widmann2019",)

    kernel: PairKernel
    weights: ArrayLike = field(repr=False)
    _checks = {"weights": lambda _, weights: observation_weights(weights)}

    def check(self, predictions: Predictions) -> None:
        same_length(len(predictions), len(self.weights), "weights")
        at_least(int(np.count_nonzero(self.weights)), 2, "the SKCE with weights above 0")

    def check_sample(self, sample: Sample) -> None:
        super().check_sample(sample)
        check_weights(self.weights, sample)

    def resolve(self, predictions: Predictions, rng: Any = None) -> Self:
        return super().resolve(predictions.take(np.flatnonzero(self.weights)))

    def for_rows(self, rows: IntArray) -> Self:
        return replace(self, weights=self.weights[rows])

    def estimates(self, predictions: Predictions, targets: Array) -> FloatArray:
        kept = np.flatnonzero(self.weights)
        some, y = predictions.take(kept), np.ascontiguousarray(targets[:, kept])
        return np.asarray(redrawn_means([self.kernel], some, y, self.weights[kept])[0])

    def n_used(self, n: int) -> int:
        return int(np.count_nonzero(self.weights))

    def notes(self, n: int) -> tuple[str, ...]:
        # The median is that of observations with positive weights.
        return super().notes(self.n_used(n))

    def hypothesis(self, predictions: Predictions) -> str:
        return given(predictions.hypothesis, "w")

    @property
    def assumptions(self) -> str:
        return f"{super().assumptions}; {ASSUMED}"

    def describe(self, predictions: Predictions) -> str:
        return self._described("weighted")


def check_weights(weights: FloatArray, sample: Sample) -> None:
    """``ValueError`` for weights that are made from the outcomes, or from the spread of members."""
    refuse_outcomes([("weights", weights)], np.asarray(sample.targets), "{}")
    refuse_spread([("weights", weights)], sample, "{}")


def given(hypothesis: str, what: str) -> str:
    """A hypothesis about the law of outcomes given predictions, given something else too."""
    conditioned = re.sub(r"\| ([^|)]+)\)", rf"| \1, {what})", hypothesis, count=1)
    return conditioned if conditioned != hypothesis else f"{hypothesis}, also given {what}"


class FactoredSKCE(KernelEstimator, RedrawnEstimator):
    """Unbiased SKCE with the kernel times ``sum_r f_ir f_jr`` for the factors f of rows i and j."""

    condition: ClassVar[str]
    """Given which the hypothesis is, beside the predictions."""

    @abstractmethod
    def factors(self, predictions: Predictions) -> FloatArray:
        """(n, R) of the rows."""

    def estimates(self, predictions: Predictions, targets: Array) -> FloatArray:
        n = len(predictions)
        sums = factored_pair_sums(self.kernel, self.factors(predictions), predictions, targets)
        return np.asarray(2.0 * sums / (n * (n - 1)))

    def hypothesis(self, predictions: Predictions) -> str:
        return given(predictions.hypothesis, self.condition)

    def effect_size(self, estimate: float, predictions: Predictions, mean: float | None) -> EffectSize:
        largest = float(np.square(self.factors(predictions)).sum(axis=1).max())
        return super().effect_size(estimate / largest, predictions, mean)


@dataclass(frozen=True, eq=False)
class GroupSKCE(FactoredSKCE):
    """Unbiased SKCE with the kernel ``k_P(p, p') [g = g'] k_Y(y, y')`` of predictions, groups and targets.

    Zero for models that are calibrated given the prediction and the group, ``P(Y | P_X, G) = P_X``: multicalibration. A
    model can be calibrated on the whole and too low for one group, too high for another.

    Parameters
    ----------
    kernel
        Product of a kernel of predictions and a kernel of targets.
    groups
        As in ``GroupCalibrationTest``; for overlapping ones the number that two observations share replaces
        ``[g = g']``.

    Raises
    ------
    ValueError
        For groups with fewer than two members or missing labels; at the call for another number of predictions.

    Notes
    -----
    ``MonteCarloTest(GroupSKCE(kernel, groups))`` is exact. One number for all groups: it finds small errors of many
    groups, ``GroupMaximum`` large errors of few. Time O(n**2 (k + G)), memory O(n (k + G)).

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = [0.5] * 8, [1, 1, 1, 1, 0, 0, 0, 0]
    >>> kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.1), ct.DeltaKernel())
    >>> groups = ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> round(ct.SKCE(kernel)(p, y), 6), round(ct.estimators.GroupSKCE(kernel, groups)(p, y), 6)
    (-0.071429, 0.214286)
    """

    citations = ("widmann2019",)
    condition = "G"

    kernel: PairKernel
    groups: ArrayLike = field(repr=False)
    _checks = {"groups": lambda _, groups: as_groups(groups)}

    def check(self, predictions: Predictions) -> None:
        same_length(len(predictions), self.groups.n, "groups")

    def cautions(self, sample: Sample) -> tuple[str, ...]:
        return *super().cautions(sample), *notes_on_spread(self.groups.codes, sample)

    def factors(self, predictions: Predictions) -> FloatArray:
        return np.asarray(self.groups.factors)

    def describe(self, predictions: Predictions) -> str:
        return f"SKCE (unbiased), k = {self.kernel.describe()} x [g = g'], {len(self.groups)} groups"


@dataclass(frozen=True, eq=False)
class FeatureSKCE(FactoredSKCE):
    """Unbiased SKCE with the kernel ``k_P(p, p') (1 + sum_j k_j(x_j, x'_j)) k_Y(y, y')`` of predictions and features.

    It has mean 0 if the predictions are right given the features too, ``P(Y | P_X, X) = P_X``. Predictions can be
    calibrated and yet too low where a feature is large.

    Parameters
    ----------
    kernel
        Product of a kernel of predictions and a kernel of targets.
    features
        As in ``calibration_test``.

    Raises
    ------
    ValueError
        If no column varies; at the call for another number of predictions, and for columns that are made from the
        outcomes or from the spread of members.

    Notes
    -----
    ``MonteCarloTest(FeatureSKCE(kernel, features))``, or ``MonteCarloTest(SKCE(kernel))(p, y, features=features)``, is
    exact for features that are not made from the outcomes, nor from the spread of the members of ensembles. The kernels
    of features are those of the default test: of numbers and times ``sum_m c_m(r) c_m(r') / m**2`` with six cosines c_m
    of the ranks r, which no outlier or unit changes, of categories ``[x = x']``, missing values a category of their
    own. Each is centred, or it would be mostly constant and ask about the mean error only, and scaled to the root mean
    square 1 over all pairs.

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
    condition = "X"

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
        return *super().cautions(sample), *cautions_on_features(self.features, sample)

    def for_rows(self, rows: IntArray) -> Self:
        return replace(self, features=taken(self.features, rows))

    def factors(self, predictions: Predictions) -> FloatArray:
        return factors_of(self.features, predictions)

    def describe(self, predictions: Predictions) -> str:
        return f"SKCE (unbiased), k = {self.kernel.describe()} x k(x, x') of {len(self.features)} features"


@dataclass(frozen=True, eq=False)
class GroupMaximum(JointEstimator):
    """The largest of the calibration errors of several groups, each in units of its own standard deviation.

    Parameters
    ----------
    estimator
        Estimator of the error of a group, for example ``SKCE(kernel)``, ``Omnibus()`` or ``ExcessLogScore()``.
    groups
        As in ``GroupSKCE``, whose errors it has too, and one for groups that are too small for the estimator.

    Notes
    -----
    Each error, observed or redrawn, is standardised by all the others, so estimators may be biased.
    ``MonteCarloTest(GroupMaximum(estimator, groups))`` is exact for the hypothesis ``P(Y | P_X, G) = P_X``, with any
    groups that do not depend on the targets; ``GroupCalibrationTest`` has p-values for each group too. Time that of
    the estimator for each group.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> odd = {"odd": p.probabilities.argmax(axis=1) % 2 == 1, "sure": p.probabilities.max(axis=1) > 0.9}
    >>> estimator = ct.estimators.GroupMaximum(ct.SKCE(p.default_kernel()), odd)
    >>> ct.MonteCarloTest(estimator, n_resamples=99)(p, y, rng=1).pvalue
    0.01
    """

    citations = ("westfall1993",)

    estimator: Estimator
    groups: ArrayLike = field(repr=False)
    statistic_name = "largest error of a group in units of its standard deviation"
    _checks = {"estimator": an_estimator, "groups": lambda _, groups: as_groups(groups)}

    def check(self, predictions: Predictions) -> None:
        same_length(len(predictions), self.groups.n, "groups")
        self.estimator.check(predictions)
        for name, rows in zip(self.groups.names, self.groups.rows, strict=True):
            try:
                self.estimator.for_rows(rows).check(predictions.take(rows))
            except ValueError as error:
                raise ValueError(f"groups: group {name!r}: {error}") from error

    def resolve(self, predictions: Predictions, rng: Any = None) -> Self:
        return replace(self, estimator=self.estimator.resolve(predictions, rng))

    def reported(self, sample: Sample, values: FloatArray) -> float:
        return self.estimator.estimate(sample)

    def values(self, predictions: Predictions, targets: Array) -> FloatArray:
        parts = []
        for rows in self.groups.rows:
            some, y = predictions.take(rows), np.ascontiguousarray(targets[:, rows])
            estimator = self.estimator.for_rows(rows)
            if isinstance(estimator, JointEstimator):
                parts.append(estimator.values(some, y))
            else:
                parts.append(estimator.estimates(some, y)[None])
        return np.concatenate(parts)

    def estimates_of_groups(self, values: FloatArray) -> FloatArray:
        """The first number of each group, (G, B)."""
        return values[:: len(values) // len(self.groups)]

    def scores(self, values: FloatArray) -> FloatArray:
        """Statistics of the groups in units of their standard deviations, (G, B); signed if errors have a sign."""
        if isinstance(self.estimator, JointEstimator):
            values = np.stack([self.estimator.combined(part) for part in np.split(values, len(self.groups))])
        return standardised(values)

    def sizes_of(self, scores: FloatArray) -> FloatArray:
        """What is compared of standardised statistics."""
        return np.abs(scores) if self.estimator.two_sided else scores

    def combined(self, values: FloatArray) -> FloatArray:
        return np.asarray(self.sizes_of(self.scores(values)).max(axis=0))

    def hypothesis(self, predictions: Predictions) -> str:
        return given(self.estimator.hypothesis(predictions), "G")

    def notes(self, n: int) -> tuple[str, ...]:
        return self.estimator.notes(n)

    def resolved_notes(self) -> tuple[str, ...]:
        return self.estimator.resolved_notes()

    def describe(self, predictions: Predictions) -> str:
        return f"maximum over {len(self.groups)} groups of {self.estimator.describe(predictions)}"
