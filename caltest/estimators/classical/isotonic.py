"""Isotonic regression of outcomes on predictions."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from caltest._basics.types import Array, FloatArray, IntArray
from caltest._loops.statistics.isotonic import pooled_means


@dataclass(frozen=True, eq=False)
class IsotonicGroups:
    """Distinct predictions (m,) in ascending order, their numbers of observations, and which each observation has."""

    values: FloatArray
    sizes: FloatArray
    numbers: IntArray

    @classmethod
    def of(cls, p: FloatArray) -> Self:
        """Groups of equal predictions (n,)."""
        values, numbers = np.unique(p, return_inverse=True)
        return cls(values, np.bincount(numbers).astype(np.float64), numbers)

    def events(self, outcomes: Array) -> FloatArray:
        """How many of the outcomes (B, n) are 1 in each group, (B, m)."""
        return np.stack([np.bincount(self.numbers, one, self.values.size) for one in outcomes])

    def fitted(self, events: FloatArray) -> FloatArray:
        """The increasing functions of the predictions that are closest to the frequencies, at each of them, (B, m).

        They have the smallest Brier score and the smallest log score of all such functions.
        """
        return pooled_means(np.ascontiguousarray(events), self.sizes)

    def curves(self, outcomes: Array) -> FloatArray:
        """``fitted`` for outcomes (B, n)."""
        return self.fitted(self.events(outcomes))
