"""Mean and spread of the terms of an estimate, for data that come in parts."""

from dataclasses import dataclass

import numpy as np

from caltest._types import FloatArray


@dataclass(frozen=True)
class Moments:
    """Number of terms, their mean, the sum of their squared deviations from it, and the largest absolute value."""

    n: int
    mean: float
    squares: float
    largest: float

    @classmethod
    def of(cls, terms: FloatArray) -> "Moments":
        """Moments of some terms."""
        if terms.size == 0:
            return cls(0, 0.0, 0.0, 0.0)
        mean = float(terms.mean())
        return cls(terms.size, mean, float(np.sum((terms - mean) ** 2)), float(np.abs(terms).max()))

    def __add__(self, other: "Moments") -> "Moments":
        """Moments of both sets of terms (Chan, Golub and LeVeque 1983)."""
        n = self.n + other.n
        if n == 0:
            return self
        difference = other.mean - self.mean
        mean = self.mean + difference * other.n / n
        squares = self.squares + other.squares + difference**2 * self.n * other.n / n
        return Moments(n, mean, squares, max(self.largest, other.largest))
