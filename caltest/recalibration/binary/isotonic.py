"""Isotonic recalibration of binary predictions."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from caltest._basics.types import FloatArray, IntArray
from caltest._validation import switch
from caltest.estimators.classical.corp import IsotonicGroups
from caltest.recalibration.base import ProbabilityCalibrator, ProbabilityMap
from caltest.recalibration.binary.bins import StepMap, between
from caltest.recalibration.shared.storage import require, require_increasing, require_range


@dataclass(frozen=True, eq=False, repr=False)
class InterpolatedMap(ProbabilityMap):
    """The line through points (x, value), constant beyond the first and the last."""

    points: FloatArray
    values: FloatArray

    binary: ClassVar[bool] = True

    def _check(self) -> None:
        super()._check()
        require_increasing("points", self.points, -np.inf, np.inf)
        same = self.points.size > 0 and self.values.shape == self.points.shape
        require(same, "values", self.values.shape, f"one for each of at least one of points, {self.points.shape}")
        require_range("values", self.values, 0.0, 1.0)

    def _apply(self, scores: FloatArray) -> FloatArray:
        return np.interp(scores, self.points, self.values)


@dataclass(frozen=True)
class Isotonic(ProbabilityCalibrator):
    """Isotonic regression of binary outcomes: the increasing function with the smallest Brier and log score.

    Equal predictions are averaged, then adjacent violators are pooled to blocks of one value each.

    Parameters
    ----------
    interpolate
        False: constant on each block, with jumps half way between the last prediction of a block and the first of the
        next. True: linear between these, as in scikit-learn. Both agree on the predictions of the fit, and are constant
        beyond them.
    input
        ``"probabilities"`` (n,) or ``"logits"``: log-odds or other real scores (n,).

    Notes
    -----
    Time O(n log n). The first and the last block often have the values 0 and 1 exactly, so that the log score of other
    data can be infinite. Separated labels give a step from 0 to 1, constant predictions a constant.
    Source: Zadrozny and Elkan 2002.

    Examples
    --------
    >>> import caltest as ct
    >>> fitted = ct.recalibration.Isotonic().fit([0.1, 0.3, 0.4, 0.8], [0, 1, 0, 1])
    >>> fitted([0.1, 0.15, 0.35, 0.7]).tolist()
    [0.0, 0.0, 0.5, 1.0]
    """

    interpolate: bool = False

    binary: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "interpolate", switch("interpolate", self.interpolate))

    def _fit(self, scores: FloatArray, labels: IntArray) -> ProbabilityMap:
        groups = IsotonicGroups.of(scores)
        x, values = groups.values, groups.curves(labels[None])[0]
        starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
        if not self.interpolate:
            edges = between(x[starts[1:] - 1], x[starts[1:]])
            return StepMap(self.input, 2, on="input", edges=edges, values=values[starts])
        ends = np.concatenate([starts[1:] - 1, [x.size - 1]])
        kept = np.unique(np.concatenate([starts, ends]))
        return InterpolatedMap(self.input, 2, points=x[kept], values=values[kept])
