"""What statistics of probability integral transforms share."""

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from caltest._numerics import generator_apart
from caltest._types import Array, FloatArray
from caltest._validation import at_least
from caltest.estimators.base import RedrawnEstimator
from caltest.predictions import Predictions
from caltest.predictions.residuals import integral_transforms
from caltest.predictions.standard_scores import FARTHEST


@dataclass(frozen=True)
class TransformStatistic(RedrawnEstimator):
    """A statistic of ``u = F(Y)``, at random between ``P(Z < Y)`` and ``P(Z <= Y)`` where F has jumps."""

    _ties: FloatArray | None = field(default=None, init=False, repr=False, compare=False)

    def check(self, predictions: Predictions) -> None:
        """Raise for no predictions, and unless they are distributions of a number whose F is known."""
        at_least(len(predictions), 1, type(self).__name__)
        if not predictions.law.has_jumps:
            predictions.law.check_continuous()
        predictions.law.cdf(np.zeros((0, len(predictions))))

    def uses_random_numbers(self, predictions: Predictions) -> bool:
        """For the jumps of counts and ensembles."""
        return predictions.law.has_jumps

    def resolve(self, predictions: Predictions, rng: Any = None) -> Self:
        """Draw the numbers v where there are jumps."""
        if not self.uses_random_numbers(predictions):
            return self
        return self._with_ties(generator_apart(rng).random(len(predictions)))

    def for_rows(self, rows: Any) -> Self:
        """The same with the numbers v of these rows."""
        return self if self._ties is None else self._with_ties(self._ties[rows])

    def _with_ties(self, ties: FloatArray) -> Self:
        resolved = replace(self)
        object.__setattr__(resolved, "_ties", ties)
        return resolved

    def transforms(self, predictions: Predictions, targets: Array) -> FloatArray:
        """Transforms of targets (B, n), of the same shape."""
        u = integral_transforms(predictions.law, np.asarray(targets, dtype=np.float64), self._ties)
        return np.clip(u, FARTHEST, 1.0 - FARTHEST)
