"""What a fault is: laws with one parameter, of which calibration is one."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from math import exp, log, pi, sqrt
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np

from caltest._basics.numerics import Array, FloatArray
from caltest.predictions.faults.words import Fit, about, sized


def varies(feature: FloatArray) -> bool:
    """Whether a feature (n,) of the predictions is finite and differs by more than rounding."""
    if not np.isfinite(feature).all():
        return False
    return bool(np.ptp(feature) > 1e-12 * np.abs(feature).max())


def ranks(feature: FloatArray, sizes: FloatArray | None = None, among: FloatArray | None = None) -> FloatArray:
    """Average ranks of a feature (n,), in (0, 1); equal ones share a value, and each stands for some observations.

    Or ranks among those of other predictions, which do not depend on the rest of the feature.
    """
    if among is not None:
        ordered = np.sort(among)
        below, up_to = (np.searchsorted(ordered, feature, side=side) for side in ("left", "right"))
        return np.asarray((below + up_to) / (2.0 * among.size))
    _, places = np.unique(feature, return_inverse=True)
    counts = np.bincount(places, sizes)
    return np.asarray((np.cumsum(counts) - counts / 2.0)[places] / counts.sum())


def cosines(
    feature: FloatArray, number: int, sizes: FloatArray | None = None, among: FloatArray | None = None
) -> FloatArray:
    """``sqrt(2) cos(pi j r)`` of the ranks r for j = 1, ..., number, (number, n); 0 if the feature does not vary."""
    if not varies(feature if among is None else among):
        return np.zeros((number, feature.size))
    return cosines_of_ranks(ranks(feature, sizes, among), number)


def cosines_of_ranks(r: FloatArray, number: int) -> FloatArray:
    """``sqrt(2) cos(pi j r)`` for j = 1, ..., number, (number, n)."""
    return np.asarray(sqrt(2.0) * np.cos(pi * np.arange(1, number + 1)[:, None] * r))


RANK_GROUPS = 64
"""Groups of equal size into which ranks are rounded where they are those of many features."""

GROUPS = RANK_GROUPS + 1
"""These, and one for features that do not vary."""


def group_edges(features: FloatArray) -> FloatArray:
    """Where the groups of each feature (n, S) end, (S, 63); not finite for one that does not vary."""
    last = -(-np.arange(1, RANK_GROUPS) * len(features) // RANK_GROUPS) - 1
    edges = np.sort(features, axis=0)[last].T
    edges[np.array([not varies(one) for one in features.T], dtype=np.bool_)] = np.nan
    return np.asarray(edges)


def rank_groups(features: FloatArray, edges: FloatArray) -> Array:
    """The group of each feature (n, S), in the middle of those that equal ones have; 64 for one that does not vary."""
    groups = np.full(features.shape, RANK_GROUPS, dtype=np.uint8)
    for s, ends in enumerate(edges):
        if np.isfinite(ends[0]):
            below, up_to = (np.searchsorted(ends, features[:, s], side=side) for side in ("left", "right"))
            groups[:, s] = (below + up_to) // 2
    return groups


S = TypeVar("S")


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


class Products(Rows[S]):
    """Features (J, n) times numbers (B, n) of rows: (J, B); of vectors of numbers, (B, n, d): (J d, B)."""

    def __init__(
        self, name: str, features: FloatArray, numbers: Callable[[S], FloatArray], weight: float = 1.0, d: int = 1
    ) -> None:
        super().__init__(name, len(features) * d, self._products, weight)
        self.features, self.numbers = features, numbers

    def _products(self, seen: S) -> FloatArray:
        numbers = self.numbers(seen)
        if numbers.ndim == 2:
            return np.asarray(self.features @ numbers.T)
        return np.concatenate((self.features @ numbers).transpose(1, 2, 0))


Scope = Literal["level", "all", "places", "wave", "shape"]


class Fault(ABC, Generic[S]):
    """Laws ``Q_t(. | P_i)`` with ``Q_0 = P_i``, of one kind and for each of m siblings: classes, pairs, halves.

    ``S`` is what the faults of a family see of targets (B, n); likelihoods are those of the first of them.
    """

    kind: str
    range: tuple[float, float]
    """Smallest and largest t."""
    n_siblings: int = 1
    n_choices: float | None = None
    """How many of the siblings are different ones, for the penalty; by default all."""
    is_factor: ClassVar[bool] = False
    """Whether t is the logarithm of what is printed."""
    is_slope: ClassVar[bool] = False
    """Whether t is how much more than 1 what is printed is."""
    is_law_at_ends: bool = False
    """Whether the smallest and the largest t stand for all beyond, which are nearly the same law."""
    has_simpler: ClassVar[bool] = False
    """Whether others say the same with fewer numbers, which are tried first where it alone explains the most."""
    scope: Scope = "all"
    """What it changes: how often a rare event happens, for which nobody needs a formula; the level or the spread of all
    predictions, those of some places or of one class; or the shape of their laws only. What changes all is named before
    one in places that explains hardly more, and either before a wave."""
    of_targets: ClassVar[bool] = False
    """Whether only targets as they came have its law, and not residuals that are corrected."""
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
        return exp(t) if self.is_factor else 1.0 + t if self.is_slope else t

    def sized(self, seen: S, sibling: int, fit: Fit, text: Callable[[float, int], str] = about) -> str:
        """The size with its interval in words."""
        return sized(fit, lambda t: self.size(seen, sibling, t), text)

    def bounds(self, seen: S, sibling: int) -> tuple[float, float]:
        """Where the largest likelihood is looked for."""
        return self.range

    def rivals(self, sibling: int) -> Sequence[int]:
        """Siblings whose places differ by a number that is as unknown as the size, of whose interval it is a part."""
        return (sibling,)

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


class Sees:
    """What faults of numbers, vectors and counts see."""

    weights: FloatArray

    def total(self, logs: FloatArray) -> float:
        """The log likelihood ratio of all observations from those (n,) of each."""
        return float(self.weights @ logs)


W = TypeVar("W", bound=Sees)


class Mixed(Fault[W]):
    """``Q_t = (1 - t) P + t R``: a share t of the outcomes is of another law R."""

    range = (0.0, 1.0)

    @abstractmethod
    def log_ratios(self, seen: W, sibling: int) -> FloatArray:
        """``log(R(y_i) / P(y_i))``, (n,)."""

    def log_ratio(self, seen: W, sibling: int, t: float) -> float:
        if t <= 0.0:
            return 0.0
        return seen.total(np.logaddexp(log(max(1.0 - t, 1e-300)), log(t) + self.log_ratios(seen, sibling)))


class Faults(ABC):
    """The faults of a family, for n predictions and weights (n,) of the observations."""

    kinds: tuple[Fault[Any], ...]
    """What can be named."""
    compared: tuple[Rows[Any], ...]
    """What tests compare with redraws."""
    at_once: ClassVar[int] = 2**18
    """Redrawn targets whose rows are computed together by a thread."""

    def __init__(self, n: int, weights: FloatArray | None) -> None:
        self.weights = np.ones(n) if weights is None else weights

    @abstractmethod
    def seen(self, targets: Array) -> Any:
        """What the faults see of targets (B, n) or (B, n, d)."""

    def to_name(self, targets: Array) -> "Faults":
        """The faults that are named in targets (n,) or (n, d)."""
        return self._with_following(targets)

    def _with_following(self, targets: Array) -> "Faults":
        kinds = self.following(targets)
        if not kinds:
            return self
        faults = copy(self)
        faults.kinds = (*self.kinds, *kinds)
        return faults

    def following(self, targets: Array) -> Sequence[Fault[Any]]:
        """Faults whose place targets decide, such as waves of any speed."""
        return ()

    def followed(self, seen: Any) -> "Faults":
        """After a correction: these, and waves that the first targets follow then, where the family looks for them."""
        return self

    def after(self, seen: Any, correction: Any) -> tuple["Faults", Any]:
        """The faults of predictions that are corrected as one of these says, and what they see of the first targets."""
        return self, seen.after(correction)

    def rows(self, targets: Array) -> FloatArray:
        """All rows (J, B), one below the other, for targets (B, n) or (B, n, d)."""
        seen = self.seen(targets)
        return np.concatenate([one.rows(seen) for one in self.compared])

    def sums(self, targets: Array) -> FloatArray:
        """The sums (I, B) of which all rows are functions."""
        seen = self.seen(targets)
        return np.concatenate([one.sums(seen) for one in self.compared])
