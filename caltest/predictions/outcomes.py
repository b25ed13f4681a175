"""Outcomes of predictions as labels, where finitely many of them matter."""

from dataclasses import dataclass

import numpy as np

from caltest._types import Array, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Finitely many outcomes of n predictions, and redraws of them."""

    probabilities: FloatArray
    """Of each outcome, (n, k)."""
    gram: FloatArray
    """The target kernel between outcomes, (k, k)."""
    labels: Array
    """Which outcomes were redrawn, (B, n)."""
    base: IntArray
    """The outcome that most redraws of an observation have, (n,), or -1 for none."""

    @property
    def anchors(self) -> FloatArray:
        """``e_base - p``, (n, k), and ``-p`` where there is no base."""
        anchors = -self.probabilities
        rows = np.flatnonzero(self.base >= 0)
        anchors[rows, self.base[rows]] += 1.0
        return anchors
