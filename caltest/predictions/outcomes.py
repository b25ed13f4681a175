"""Outcomes of predictions as labels, where finitely many matter, and traces of their covariance operators."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from caltest._basics.numerics import Array, FloatArray, IntArray


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

    def __post_init__(self) -> None:
        k = self.probabilities.shape[-1]
        if self.gram.shape != (k, k):
            raise ValueError(f"target_kernel: got a tile of shape {self.gram.shape} for {k} outcomes, wanted {(k, k)}")

    @cached_property
    def by_row(self) -> Array:
        """The labels of each observation, (n, B)."""
        return np.ascontiguousarray(self.labels.T)

    @property
    def changes(self) -> FloatArray:
        """Probabilities (n,) that a redraw differs from the base."""
        return np.where(self.base >= 0, 1.0 - self.probabilities.max(axis=-1), 1.0)

    @property
    def anchors(self) -> FloatArray:
        """``e_base - p``, (n, k), and ``-p`` where there is no base."""
        anchors = -self.probabilities
        rows = np.flatnonzero(self.base >= 0)
        anchors[rows, self.base[rows]] += 1.0
        return anchors


Index = slice | IntArray


Traces = Callable[[Index, Index], FloatArray]
"""``tr(C_i C_j) = E k(Z, Z')**2 - E m_i(Z')**2 - E m_j(Z)**2 + (E k(Z, Z'))**2`` with ``m_i(y) = E k(Z_i, y)``.

For all rows (..., r) and columns (..., c). They are not negative, which rounding could make of the differences.
"""


def outcome_traces(probabilities: FloatArray, gram: FloatArray) -> Traces:
    """The traces for finitely many outcomes."""
    means = probabilities @ gram
    of_squares, squares = probabilities @ np.square(gram), np.square(means)

    def traces(rows: Index, columns: Index) -> FloatArray:
        others = probabilities[columns].swapaxes(-1, -2)
        tile = np.square(means[rows] @ others)
        tile += of_squares[rows] @ others
        tile -= squares[rows] @ others
        tile -= probabilities[rows] @ squares[columns].swapaxes(-1, -2)
        return np.asarray(np.maximum(tile, 0.0, out=tile))

    return traces


def looked_up(table: FloatArray, places: IntArray) -> FloatArray:
    """Entries ``table[..., i, places[..., j]]`` of a table (..., r, U), (..., r, c)."""
    if table.ndim == 2 and places.ndim == 1:
        return np.take(table, places, axis=1)
    batch = np.broadcast_shapes(table.shape[:-2], places.shape[:-1])
    index = np.broadcast_to(places[..., None, :], (*batch, table.shape[-2], places.shape[-1]))
    return np.take_along_axis(np.broadcast_to(table, (*batch, *table.shape[-2:])), index, axis=-1)
