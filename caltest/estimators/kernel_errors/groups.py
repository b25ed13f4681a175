"""Calibration within groups of observations: one kernel for all, and the largest error of a group."""

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from caltest._basics.numerics import Array, ArrayLike, FloatArray
from caltest._results.values import EffectSize
from caltest._validation import same_length
from caltest._validation.groups import as_groups
from caltest.estimators.base import Estimator, RedrawnEstimator
from caltest.estimators.combined.joint import JointEstimator, standardised
from caltest.estimators.kernel_errors.kernel_estimator import KernelEstimator
from caltest.estimators.kernel_errors.weighted import given
from caltest.hstatistics.redraws.of_all_families import factored_pair_sums
from caltest.kernels import PairKernel
from caltest.predictions import Predictions, Sample


@dataclass(frozen=True, eq=False)
class GroupSKCE(KernelEstimator, RedrawnEstimator):
    """Unbiased SKCE with the kernel ``k_P(p, p') [g = g'] k_Y(y, y')`` of predictions, groups and targets.

    Zero for models that are calibrated given the prediction and the group, ``P(Y | P_X, G) = P_X``: multicalibration. A
    model can be calibrated on the whole and too low for one group, too high for another.

    Parameters
    ----------
    kernel
        Product of a kernel of predictions and a kernel of targets.
    groups
        (n,) labels; or booleans (n, G) that say who belongs to which group, or a mapping from names to booleans (n,),
        for groups that may overlap, with the number of groups that two observations share in place of ``[g = g']``.

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

    kernel: PairKernel
    groups: ArrayLike = field(repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "groups", as_groups(self.groups))

    def check(self, predictions: Predictions) -> None:
        same_length(len(predictions), len(self.groups.members), "groups")

    def estimates(self, predictions: Predictions, targets: Array) -> FloatArray:
        n = len(predictions)
        sums = factored_pair_sums(self.kernel, self.groups.factors, predictions, targets)
        return np.asarray(2.0 * sums / (n * (n - 1)))

    def hypothesis(self, predictions: Predictions) -> str:
        return given(predictions.hypothesis, "G")

    def effect_size(self, estimate: float, predictions: Predictions, mean: float | None) -> EffectSize:
        largest = float(self.groups.members.sum(axis=1).max())
        return super().effect_size(estimate / largest, predictions, mean)

    def describe(self, predictions: Predictions) -> str:
        return f"SKCE (unbiased), k = {self.kernel.describe()} x [g = g'], {len(self.groups)} groups"


@dataclass(frozen=True, eq=False)
class GroupMaximum(JointEstimator):
    """The largest of the calibration errors of several groups, each in units of its own standard deviation.

    Parameters
    ----------
    estimator
        Estimator of the error of a group, for example ``SKCE(kernel)``, ``Omnibus()`` or ``ExcessLogScore()``.
    groups
        (n,) labels; or booleans (n, G) that say who belongs to which group, or a mapping from names to booleans (n,),
        for groups that may overlap.

    Raises
    ------
    ValueError
        For groups with fewer than two members or missing labels; at the call for another number of predictions, or
        groups that are too small for the estimator.

    Notes
    -----
    Errors are standardised by mean and standard deviation of their redrawn values, so estimators may be biased.
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

    def __post_init__(self) -> None:
        if not isinstance(self.estimator, Estimator):
            raise TypeError(f"estimator: got {self.estimator!r}, wanted an estimator such as SKCE(kernel)")
        object.__setattr__(self, "groups", as_groups(self.groups))

    def check(self, predictions: Predictions) -> None:
        same_length(len(predictions), len(self.groups.members), "groups")
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
        """Numbers (J, B) of each group, one below the other."""
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
