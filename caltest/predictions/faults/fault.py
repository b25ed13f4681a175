"""What a fault is: a family of laws with one parameter, of which calibration is one."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from math import exp
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from caltest._basics.numerics import Array, FloatArray
from caltest.predictions.faults.places import Pattern
from caltest.predictions.faults.sizes import Fit, about, sized

S = TypeVar("S")


def weights_or_ones(weights: FloatArray | None, n: int) -> FloatArray:
    """Weights of n observations, of which all have 1 if none are given."""
    return np.ones(n) if weights is None else weights


class Rows(Generic[S]):
    """Sums (J, B) whose mean and variance are fixed by the predictions if these are calibrated.

    A function of what is seen returns them; ``weight`` is theirs among those of all rows of a family.
    """

    def __init__(self, name: str, n_rows: int, rows: Callable[[S], FloatArray], weight: float = 1.0) -> None:
        self.name, self.n_rows, self.rows, self.weight = name, n_rows, rows, weight
        self.n_sums = n_rows

    def sums(self, seen: S) -> FloatArray:
        """What the rows are a function of, sums over the observations, (I, B): by default the rows."""
        return self.rows(seen)

    def rows_of_sums(self, sums: FloatArray) -> FloatArray:
        """The rows from the sums of all observations."""
        return sums


class Fault(ABC, Generic[S]):
    """Laws ``Q_t(. | P_i)`` with ``Q_0 = P_i``, of one kind and for each of m siblings: classes, pairs, halves.

    ``S`` is what the faults of a family see of targets (B, n); likelihoods are those of the first of them.
    """

    kind: str
    range: tuple[float, float]
    """Smallest and largest t."""
    n_siblings: int = 1
    n_choices: int | None = None
    """How many of the siblings are different ones, for the penalty; by default all."""
    is_factor: ClassVar[bool] = False
    """Whether t is the logarithm of what is printed."""
    says_what_happened: ClassVar[bool] = False
    """Whether the words have an interval of a rate that was observed, which no second fault changes."""

    @abstractmethod
    def log_ratio(self, seen: S, sibling: int, t: float) -> float:
        """``sum_i w_i log(Q_t(y_i | P_i) / P_i(y_i))``."""

    @abstractmethod
    def words(self, seen: S, sibling: int, fit: Fit) -> str:
        """What is wrong and where, with the size and its interval."""

    def place(self, sibling: int) -> str:
        """Where: a class, a coordinate, a half of the predictions; empty for everywhere."""
        return ""

    def size(self, seen: S, sibling: int, t: float) -> float:
        """What is printed for t: a factor, a share, a number of standard deviations."""
        return exp(t) if self.is_factor else t

    def sized(self, seen: S, sibling: int, fit: Fit, text: Callable[[float, int], str] = about) -> str:
        """The size with its interval in words."""
        return sized(fit, lambda t: self.size(seen, sibling, t), text)

    def bounds(self, seen: S, sibling: int) -> tuple[float, float]:
        """Where the largest likelihood is looked for."""
        return self.range

    def apart(self, seen: S, sibling: int, other: int) -> bool:
        """Whether two siblings are faults of their own, of which one does not look like the other."""
        return False

    def promising(self, seen: S) -> FloatArray | None:
        """A number for each sibling that is large where its likelihood is; None if there are few."""
        return None

    def corrected(self, seen: S, sibling: int, t: float) -> Any:
        """What makes ``Q_t`` the predictions, in the form that the family takes; None where there is none."""
        return None

    def corrected_otherwise(self, seen: S, sibling: int) -> Any:
        """The same for a fault with the same words, after which a second one has to be clear too; None: no such."""
        return None


class OfPatterns(Fault[S]):
    """A fault with a sibling for each of some patterns of predictions; that of some of them is another kind."""

    def __init__(self, patterns: Sequence[Pattern], kind: str = "") -> None:
        self.patterns, self.n_siblings, self.kind = patterns, len(patterns), kind or self.kind

    def size(self, seen: S, sibling: int, t: float) -> float:
        """That of the place that is named."""
        return super().size(seen, sibling, self.patterns[sibling].sign * t)

    def place(self, sibling: int) -> str:
        return self.patterns[sibling].where.strip().removeprefix("in ")


class Faults(ABC):
    """The faults of a family, for n predictions and weights (n,) of the observations."""

    kinds: tuple[Fault[Any], ...]
    """What can be named."""
    compared: tuple[Rows[Any], ...]
    """What tests compare with redraws."""
    weights: FloatArray
    at_once: ClassVar[int] = 2**18
    """Redrawn targets whose rows are computed together by a thread."""

    @abstractmethod
    def seen(self, targets: Array) -> Any:
        """What the faults see of targets (B, n) or (B, n, d)."""

    @abstractmethod
    def after(self, seen: Any, correction: Any) -> tuple["Faults", Any]:
        """The faults of predictions that are corrected as one of these says, and what they see of the first targets."""

    def rows(self, targets: Array) -> FloatArray:
        """All rows (J, B), one below the other, for targets (B, n) or (B, n, d)."""
        seen = self.seen(targets)
        return np.concatenate([one.rows(seen) for one in self.compared])

    def sums(self, targets: Array) -> FloatArray:
        """The sums (I, B) of which all rows are functions."""
        seen = self.seen(targets)
        return np.concatenate([one.sums(seen) for one in self.compared])
