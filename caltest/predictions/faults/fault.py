"""What a fault is: a family of laws with one parameter, of which calibration is one."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from caltest._basics.types import Array, FloatArray
from caltest.predictions.faults.features import Pattern

S = TypeVar("S")


@dataclass(frozen=True)
class Fit:
    """The parameter t of largest likelihood, a 95 % interval of it, and whether the interval ends where t does."""

    t: float
    low: float
    high: float
    is_open_below: bool = False
    is_open_above: bool = False


class Rows(Generic[S]):
    """Sums over the observations that tests compare with redraws.

    ``S`` is what the faults of a family see of targets (B, n).
    """

    rows_name: str = ""
    """What the rows see; by default the kind of the fault."""
    weight: float = 0.0
    """Of the rows among those of all faults; 0 for a fault without rows."""
    n_rows: int = 0

    def rows(self, seen: S) -> FloatArray:
        """Sums (J, B) whose mean and variance are fixed by the predictions if these are calibrated."""
        return np.empty((0, 0))


class RowsOf(Rows[S]):
    """Rows that a function of what is seen returns, and that are of no fault."""

    weight = 1.0

    def __init__(self, rows_name: str, n_rows: int, function: Callable[[S], FloatArray]) -> None:
        self.rows_name, self.n_rows, self._function = rows_name, n_rows, function

    def rows(self, seen: S) -> FloatArray:
        return self._function(seen)


class Fault(Rows[S], ABC):
    """Laws ``Q_t(. | P_i)`` with ``Q_0 = P_i``, of one kind and for each of m siblings: classes, pairs, halves.

    A test needs rows, a finding needs a likelihood and words. Rows can serve several faults of a family, and are those
    of one of them.
    """

    kind: str
    range: tuple[float, float]
    """Smallest and largest t."""
    n_siblings: int = 1
    n_choices: int | None = None
    """How many of the siblings are different ones, for the penalty; by default all."""
    has_likelihood: bool = True

    @abstractmethod
    def log_ratio(self, seen: S, sibling: int, t: float) -> float:
        """``sum_i w_i log(Q_t(y_i | P_i) / P_i(y_i))`` for the first targets."""

    @abstractmethod
    def words(self, seen: S, sibling: int, fit: Fit) -> str:
        """What is wrong and where, with the size and its interval."""

    def place(self, sibling: int) -> str:
        """Where: a class, a coordinate, a half of the predictions; empty for everywhere."""
        return ""

    def size(self, seen: S, sibling: int, t: float) -> float:
        """What is printed for t: a factor, a share, a number of standard deviations."""
        return t

    def bounds(self, seen: S, sibling: int) -> tuple[float, float]:
        """Where the largest likelihood is looked for."""
        return self.range

    def promising(self, seen: S) -> FloatArray | None:
        """A number for each sibling that is large where its likelihood is; None if there are few."""
        return None


class OfPatterns(Fault[S]):
    """A fault with a sibling for each of some patterns of predictions, and with a row for each feature.

    Those of some of the predictions have another kind and no rows.
    """

    def __init__(self, patterns: Sequence[Pattern], features: FloatArray | None = None, kind: str = "") -> None:
        self.patterns, self.n_siblings = patterns, len(patterns)
        self.features = np.empty((0, 0)) if features is None else features
        self.n_rows, self.kind = len(self.features), kind or self.kind
        if features is None:
            self.weight = 0.0

    def place(self, sibling: int) -> str:
        return self.patterns[sibling].where.strip().removeprefix("in ")


class Faults(ABC):
    """The faults of a family, for n predictions and weights (n,) of the observations."""

    members: tuple[Rows[Any], ...]
    weights: FloatArray
    at_once: ClassVar[int] = 2**18
    """Redrawn targets whose rows are computed together by a thread."""

    @abstractmethod
    def seen(self, targets: Array) -> Any:
        """What the faults see of targets (B, n) or (B, n, d)."""

    @property
    def with_rows(self) -> tuple[Rows[Any], ...]:
        """Those that tests use."""
        return tuple(one for one in self.members if one.weight > 0.0)

    def name(self, one: Rows[Any]) -> str:
        """What the rows of one of them see."""
        return one.rows_name or (one.kind if isinstance(one, Fault) else "")

    def rows(self, targets: Array) -> FloatArray:
        """The rows of all faults (J, B), one below the other, for targets (B, n) or (B, n, d)."""
        seen = self.seen(targets)
        return np.concatenate([fault.rows(seen) for fault in self.with_rows])

    @property
    def with_likelihood(self) -> tuple[Fault[Any], ...]:
        """The faults that are named."""
        return tuple(one for one in self.members if isinstance(one, Fault) and one.has_likelihood)


def weights_or_ones(weights: FloatArray | None, n: int) -> FloatArray:
    """Weights of n observations, of which all have 1 if none are given."""
    return np.ones(n) if weights is None else weights
