"""Finite sums of weighted points: the members of an ensemble, an observed target, or their difference."""

from dataclasses import dataclass

import numpy as np

from caltest._basics.types import FloatArray


@dataclass(frozen=True, eq=False)
class Measures:
    """n measures ``sum_a w_a delta(x_a)`` each, with points x_a of dimension d and the same m weights w_a for all."""

    points: FloatArray
    """(..., n, m, d)."""
    weights: FloatArray
    """(m,)."""

    @property
    def n_points(self) -> int:
        """Number m of points of each."""
        return int(self.points.shape[-2])

    @property
    def dimension(self) -> int:
        """Dimension d of the points."""
        return int(self.points.shape[-1])

    def __sub__(self, other: "Measures") -> "Measures":
        """The differences, one by one."""
        points = np.concatenate([self.points, other.points], axis=-2)
        return Measures(points, np.concatenate([self.weights, -other.weights]))
