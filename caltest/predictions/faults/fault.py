"""What a fault is: a family of laws with one parameter, of which calibration is one."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from caltest._basics.types import Array, FloatArray

S = TypeVar("S")


@dataclass(frozen=True)
class Fit:
    """The parameter t of largest likelihood, a 95 % interval of it, and whether the interval ends where t does."""

    t: float
    low: float
    high: float
    is_open_below: bool = False
    is_open_above: bool = False


class Fault(ABC, Generic[S]):
    """Laws ``Q_t(. | P_i)`` with ``Q_0 = P_i``, of one kind and for each of m siblings: classes, pairs, halves.

    ``S`` is what the faults of a family see of targets (B, n). A test needs rows, which are sums over observations, a
    finding needs a likelihood and words; a fault can have rows that serve others of its family too.
    """

    kind: ClassVar[str]
    weight: ClassVar[float] = 0.0
    """Of the rows among those of all faults; 0 for a fault without rows."""
    range: ClassVar[tuple[float, float]]
    """Smallest and largest t."""
    n_siblings: int = 1
    n_choices: int | None = None
    """How many of the siblings are different ones, for the penalty; by default all."""
    n_rows: int = 0
    rows_name: ClassVar[str] = ""
    """What the rows see, if they see more than the fault."""
    has_likelihood: bool = True

    def rows(self, seen: S) -> FloatArray:
        """Sums over the observations, (J, B), which the predictions fix but for constants and scales if calibrated."""
        raise NotImplementedError

    @abstractmethod
    def log_ratio(self, seen: S, sibling: int, t: float) -> float:
        """``sum_i w_i log(Q_t(y_i | P_i) / P_i(y_i))`` for targets of one row."""

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


class Rows(Fault[S]):
    """Rows for tests that no single fault describes."""

    has_likelihood = False
    kind = ""
    range = (0.0, 0.0)

    def log_ratio(self, seen: S, sibling: int, t: float) -> float:
        """None."""
        raise NotImplementedError

    def words(self, seen: S, sibling: int, fit: Fit) -> str:
        """None."""
        raise NotImplementedError


class Faults(ABC):
    """The faults of a family, for n predictions and weights (n,) of the observations."""

    members: tuple[Fault[Any], ...]
    weights: FloatArray
    at_once: ClassVar[int] = 2**18
    """Redrawn targets whose rows are computed together by a thread."""

    @abstractmethod
    def seen(self, targets: Array) -> Any:
        """What the faults see of targets (B, n) or (B, n, d)."""

    @property
    def with_rows(self) -> tuple[Fault[Any], ...]:
        """The faults that tests use."""
        return tuple(fault for fault in self.members if fault.weight > 0.0)

    def rows(self, targets: Array) -> FloatArray:
        """The rows of all faults (J, B), one below the other, for targets (B, n) or (B, n, d)."""
        seen = self.seen(targets)
        return np.concatenate([fault.rows(seen) for fault in self.with_rows])

    @property
    def with_likelihood(self) -> tuple[Fault[Any], ...]:
        """The faults that are named."""
        return tuple(fault for fault in self.members if fault.has_likelihood)


def weights_or_ones(weights: FloatArray | None, n: int) -> FloatArray:
    """Weights of n observations, of which all have 1 if none are given."""
    return np.ones(n) if weights is None else weights
