"""The numbers of the omnibus statistic as sums over rows, which parts of the data add."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf
from typing import Any, Generic, TypeVar

import numpy as np

from caltest._basics.numerics import Array, FloatArray, IntArray
from caltest._loops.rows import row_states
from caltest.predictions import Predictions, Sample

KEPT, KEPT_NUMBERS = 2**17, 2**24
"""Observations, and numbers in their predictions, from which what is wrong is found where there are more."""

ROWS_OF_A_PART = 2**40
"""Rows of a part of the data are numbered from a multiple of this on."""

S = TypeVar("S")


class OfRows(ABC, Generic[S]):
    """Sums over rows whose redraws depend on a seed and their numbers only, and the numbers (J, B) of all rows."""

    @property
    @abstractmethod
    def note(self) -> str:
        """What results say of it."""

    @property
    def draws_by_row(self) -> bool:
        """Whether it makes the redraws itself; else it gets them."""
        return True

    @property
    @abstractmethod
    def key(self) -> bytes:
        """Equal where sums can be added."""

    @abstractmethod
    def sums(self, law: Any, observed: Array | None, rows: IntArray, seed: np.uint64, redraws: range) -> S:
        """Those for some redraws of predictions with these numbers among all; redraw -1 are the observed labels."""

    @abstractmethod
    def values(self, sums: S) -> FloatArray:
        """The numbers (J, B) of all components."""

    @property
    def kept_until(self) -> int:
        """Rows of a part at least: fewer are kept until the next ones come."""
        return 1

    def check(self, predictions: Predictions) -> None:
        """Raise for predictions that cannot be redrawn by rows."""

    def reported(self, sums: S, values: FloatArray) -> float:
        """The estimate that is reported, from the sums and the numbers (J, B)."""
        return float(values[0, 0])

    def at_once(self) -> int:
        """Redraws whose sums are kept together."""
        return 2**62

    def drawn(
        self, law: Any, observed: Array | None, n_redraws: int, seed: np.uint64, at_once: float = inf
    ) -> FloatArray:
        """The numbers (J, B) for observed labels, if given, and redraws, in passes over the rows if these are many."""
        rows, start, size = np.arange(len(law)), 0 if observed is None else -1, int(min(self.at_once(), at_once))
        parts = [range(first, min(first + size, n_redraws)) for first in range(start, n_redraws, size)]
        return np.concatenate([self.values(self.sums(law, observed, rows, seed, part)) for part in parts], axis=1)


@dataclass(frozen=True, eq=False)
class PartSums:
    """What parts of the data add, and some of the observations."""

    sums: Any
    kept: Sample
    order: Array
    """Random numbers of the rows that are kept, the smallest ones, in ascending order."""

    @classmethod
    def of(cls, by: OfRows[Any], sample: Sample, n_redraws: int, seed: np.uint64, rows: IntArray) -> "PartSums":
        """Those of a part whose rows have some numbers."""
        sums = by.sums(law_of(sample.predictions), np.asarray(sample.targets), rows, seed, range(-1, n_redraws))
        order = np.empty(rows.size, dtype=np.uint64)
        row_states(seed, rows, order)
        best = np.argsort(order)[: most_kept(sample.predictions)]
        return cls(sums, sample.take(best), order[best])

    def __add__(self, other: "PartSums") -> "PartSums":
        """The sums of both parts, and those of their observations whose random numbers are the smallest."""
        kept, order = self.kept.followed_by(other.kept), np.concatenate([self.order, other.order])
        best = np.argsort(order)[: most_kept(kept.predictions)]
        return PartSums(self.sums + other.sums, kept.take(best), order[best])


def law_of(predictions: Predictions) -> Predictions:
    """As probabilities of classes, if they are that."""
    return predictions if predictions.finite is None else predictions.finite


def most_kept(predictions: Predictions) -> int:
    """Observations from which what is wrong is found."""
    law = predictions.finite
    return min(KEPT, max(1, KEPT_NUMBERS // (1 if law is None else law.n_classes)))
