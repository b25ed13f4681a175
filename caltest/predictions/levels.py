"""What distribution functions of predictions are at times that are censored, or known up to an interval only."""

from typing import Any, NamedTuple

import numpy as np

from caltest._basics.numerics import FloatArray, generator_of


class Levels(NamedTuple):
    """Ends (n,) of what ``F(T)`` can be, given that the event was at the time, or only that it was not up to then.

    They are equal where it is taken as known. What is between `start` and `stop` is known only to be there, as where
    curves say how probable an interval is, and not what F is within.
    """

    low: FloatArray
    high: FloatArray
    start: FloatArray
    stop: FloatArray

    @property
    def ends(self) -> tuple[FloatArray, FloatArray]:
        """Ends (n,) between which nothing is known."""
        is_known = self.low == self.high
        return np.where(is_known, self.start, self.low), np.where(is_known, self.stop, self.high)

    def drawn(self, rng: Any) -> FloatArray:
        """Uniform numbers (n,) between both ends, and anywhere in an interval that one of them falls into."""
        u, again = generator_of(rng).random((2, self.low.size))
        u = self.low + (self.high - self.low) * u
        inside = (self.low == self.high) | (u < self.stop)
        u[inside] = (self.start + (self.stop - self.start) * again)[inside]
        return np.asarray(u)


def between(low: FloatArray, high: FloatArray) -> Levels:
    """Levels of which nothing but these ends is known."""
    return Levels(low, high, low, low)
