"""Isotonic regression of outcomes on predictions."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from caltest._types import Array, FloatArray, IntArray


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
        """How many outcomes (n,) are 1 in each group, (m,)."""
        return np.bincount(self.numbers, outcomes, self.values.size).astype(np.float64)

    def fitted(self, events: FloatArray) -> FloatArray:
        """The increasing function of the predictions that is closest to the frequencies, at each of them, (m,).

        Pools adjacent violators. It has the smallest Brier score and the smallest log score of all such functions.
        """
        from scipy.optimize import isotonic_regression

        return np.asarray(np.clip(isotonic_regression(events / self.sizes, weights=self.sizes).x, 0.0, 1.0))
