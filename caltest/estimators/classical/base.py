"""What the classical statistics of binary predictions share, and those of probability integral transforms."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from math import sqrt
from typing import Any, ClassVar, Self

import numpy as np
import scipy

from caltest._basics.numerics import Array, FloatArray, generator_apart, ranges
from caltest._basics.threads import threaded
from caltest._results.calibration_test_result import PValueKind
from caltest._results.values import EffectSize
from caltest._validation import at_least
from caltest._validation.labels import said_to_occur
from caltest.estimators.base import RedrawnEstimator, TextbookTail
from caltest.predictions import Predictions
from caltest.predictions.classes.finite import as_classes
from caltest.predictions.reductions.residuals import integral_transforms
from caltest.predictions.reductions.standard_scores import FARTHEST

AT_ONCE = 2**20
"""Outcomes taken together; the estimates do not depend on it."""

NANOSECONDS = 5.0
"""What an outcome takes, at least."""


class BinaryStatistic(RedrawnEstimator):
    """A statistic of probabilities p of class 1 and outcomes 0 or 1.

    Raises
    ------
    TypeError
        For predictions that are not binary: reduce them by ``ct.top_label`` or ``ct.classwise``.
    """

    textbook_kind: ClassVar[PValueKind] = "asymptotic"

    def check(self, predictions: Predictions) -> None:
        at_least(len(predictions), 1, type(self).__name__)
        self.probabilities(predictions)

    def probabilities(self, predictions: Predictions) -> FloatArray:
        """Those of class 1, (n,)."""
        return probability_of_one(predictions, type(self).__name__)

    @abstractmethod
    def statistic_of(self, p: FloatArray) -> Callable[[Array], FloatArray]:
        """The function of outcomes (B, n) with the statistics (B,) as values; what only needs p is computed once."""

    def estimates(self, predictions: Predictions, targets: Array) -> FloatArray:
        return some_at_a_time(self.statistic_of(self.probabilities(predictions)), targets)


def some_at_a_time(function: Callable[[Array], FloatArray], targets: Array) -> FloatArray:
    """Values (B,) of a function of targets (B, n), some rows at a time."""
    parts = list(ranges(targets.shape[0], AT_ONCE // targets.shape[1]))
    work = NANOSECONDS * targets.size
    values = threaded(lambda rows: function(targets[rows]), parts, len(parts), "statistics", work=work)
    return np.concatenate([np.empty(0), *values])


def chi_squared_tail(estimate: float, df: int, note: str) -> TextbookTail:
    """The tail of the chi-squared law, 1 without any degree of freedom, with a note if it is not empty."""
    tail = float(scipy.special.chdtrc(df, estimate)) if df else 1.0
    return TextbookTail(estimate, tail, (float(df),), (note,) if note else ())


def root_per_observation(excess: float, n: int, unit: str) -> EffectSize:
    """The root of what a sum of squares over n observations has above its mean, per observation; 0 below the mean."""
    return EffectSize(sqrt(max(0.0, excess) / n), unit)


def probability_of_one(predictions: Predictions, name: str) -> FloatArray:
    """Probabilities of class 1, (n,), of predictions with two classes; ``TypeError`` for others."""
    classes = as_classes(predictions, f"Bernoulli ones, or probabilities of class 1, for {name}")
    if classes.n_classes > 2:
        raise TypeError(
            f"predictions: got {classes.family} predictions of {classes.n_classes} classes, wanted binary ones for "
            f"{name}; reduce them to their top label with ct.top_label(p, y), or to each class against the rest with "
            "ct.classwise(p, y)"
        )
    p = classes.to_array()
    return p if p.ndim == 1 else np.ascontiguousarray(p[:, 1])


def probability_of_event(predictions: Predictions, name: str) -> FloatArray:
    """``probability_of_one``; ``ValueError`` if names such as yes and no say that class 1 is that nothing occurs."""
    if said_to_occur(predictions._names) == [True, False]:
        yes, no = predictions._names
        raise ValueError(
            f"predictions: got classes {yes} and {no} in this order, of which the second is the event for {name}, "
            f"wanted {no} and {yes}; bring the columns into this order, or pass the probabilities of {yes} alone"
        )
    return probability_of_one(predictions, name)


def name_of_event(predictions: Predictions) -> str:
    """The name of class 1 of two; empty if there are no names."""
    return predictions._names[1] if len(predictions._names) == 2 else ""


@dataclass(frozen=True)
class TransformStatistic(RedrawnEstimator):
    """A statistic of ``u = F(Y)``, at random between ``P(Z < Y)`` and ``P(Z <= Y)`` where F has jumps."""

    _ties: FloatArray | None = field(default=None, init=False, repr=False, compare=False)

    def check(self, predictions: Predictions) -> None:
        at_least(len(predictions), 1, type(self).__name__)
        if not predictions.law.has_jumps:
            predictions.law.check_continuous()
        predictions.law.cdf(np.zeros((0, len(predictions))))

    def uses_random_numbers(self, predictions: Predictions) -> bool:
        return predictions.law.has_jumps

    def resolve(self, predictions: Predictions, rng: Any = None) -> Self:
        if not self.uses_random_numbers(predictions):
            return self
        return self._with(_ties=generator_apart(rng).random(len(predictions)))

    def for_rows(self, rows: Any) -> Self:
        return self if self._ties is None else self._with(_ties=self._ties[rows])

    def transforms(self, predictions: Predictions, targets: Array) -> FloatArray:
        """Transforms of targets (B, n), of the same shape."""
        u = integral_transforms(predictions.law, np.asarray(targets, dtype=np.float64), self._ties)
        return np.clip(u, FARTHEST, 1.0 - FARTHEST)
