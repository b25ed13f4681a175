"""Faults of pairs of classes: one that turns out as the other, or both mistaken for each other."""

from math import log

import numpy as np

from caltest._basics.numerics import FloatArray, IntArray, ranges
from caltest.predictions.faults.classes.labels import FLOOR, PAIR_SHARE, ClassFault, ClassView, Labels, Seen, remaining
from caltest.predictions.faults.fault import Rows
from caltest.predictions.faults.words import Fit, percent

COLUMNS = 64
"""Sets of labels whose pairs are compared together."""


def leaks(seen: Seen) -> FloatArray:
    """``M_ab - M_aa`` of the pairs a != b of chosen classes, (J, B)."""
    a, b = pairs_of(seen.view.chosen.size, ordered=True).T
    return _moved(seen.sums, a, b).T


def swaps(seen: Seen) -> FloatArray:
    """The same of both ways together, for a < b."""
    a, b = pairs_of(seen.view.chosen.size, ordered=False).T
    moved = _moved(seen.sums, a, b)
    moved += _moved(seen.sums, b, a)
    return moved.T


def _moved(sums: FloatArray, a: IntArray, b: IntArray) -> FloatArray:
    """``M_ab - M_aa``, (B, J)."""
    moved = sums[:, b, a]
    moved -= sums[:, a, a]
    return moved


def pairs_of(size: int, *, ordered: bool) -> IntArray:
    """Places of different classes, (J, 2)."""
    others = ~np.eye(size, dtype=np.bool_)
    return np.argwhere(others if ordered else np.triu(others))


class OfPairs(ClassFault):
    """A fault with a sibling for each pair of chosen classes."""

    range = (0.0, 1.0)
    ordered: bool

    def __init__(self, view: ClassView) -> None:
        self._pairs = pairs_of(view.chosen.size, ordered=self.ordered)
        super().__init__(view, len(self._pairs))
        self.n_choices = max(1, view.k * (view.k - 1) // (1 if self.ordered else 2))

    def _classes(self, sibling: int) -> tuple[int, int]:
        a, b = self.view.chosen[self._pairs[sibling]]
        return int(a), int(b)

    def apart(self, seen: Labels, sibling: int, other: int) -> bool:
        return set(self._pairs[sibling].tolist()).isdisjoint(self._pairs[other].tolist())

    def place(self, sibling: int) -> str:
        a, b = self._classes(sibling)
        return f"{self.view.named(a)}, {self.view.named(b)}"

    def promising(self, seen: Labels) -> FloatArray:
        """Scores of the shares at 0, in standard errors."""
        p, weights, size = self.view.of_chosen, self.view.weights, self.view.chosen.size
        places = self.view.places[seen.first]
        occurs = 1.0 * (places[:, None] == np.arange(size)) - p
        scores = np.empty((size, size))
        for a in range(size):
            x = weights[:, None] * (p[:, [a]] if self.ordered else p[:, [a]] - p)
            differences = occurs - occurs[:, [a]]
            variances = p[:, [a]] + p - np.square(p - p[:, [a]])
            spread = np.einsum("ib,ib->b", np.square(x), variances)
            scores[a] = np.einsum("ib,ib->b", x, differences) / np.sqrt(np.maximum(spread, FLOOR))
        return np.asarray(scores[tuple(self._pairs.T)])


class Leak(OfPairs):
    """A share t of the probability of class a moves to class b."""

    kind = "leak"
    ordered = True

    def log_ratio(self, seen: Labels, sibling: int, t: float) -> float:
        a, b = self._classes(sibling)
        at_b = seen.first == b
        ratios = self.view.column(a)[at_b] / seen.probabilities[at_b]
        return float(self.view.weights[at_b] @ np.log1p(t * ratios)) + remaining(float(seen.counts[a]), t)

    def law(self, seen: Labels, sibling: int, t: float) -> FloatArray:
        (a, b), p, q = self._classes(sibling), self.view.p, np.array(self.view.p)
        q[:, a], q[:, b] = (1.0 - t) * p[:, a], p[:, b] + t * p[:, a]
        return q

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        a, b = (self.view.named(c) for c in self._classes(sibling))
        return f"about {self.sized(seen, sibling, fit, percent)} of what is predicted as {a} turns out as {b}"


class Swap(OfPairs):
    """A share t of the probabilities of classes a and b is exchanged."""

    kind = "swap"
    ordered = False

    def log_ratio(self, seen: Labels, sibling: int, t: float) -> float:
        a, b = self._classes(sibling)
        total = 0.0
        for own, other in ((a, b), (b, a)):
            rows = seen.first == own
            ratios = self.view.column(other)[rows] / seen.probabilities[rows]
            total += float(self.view.weights[rows] @ np.log1p(t * (ratios - 1.0)))
        return total

    def law(self, seen: Labels, sibling: int, t: float) -> FloatArray:
        (a, b), p, q = self._classes(sibling), self.view.p, np.array(self.view.p)
        q[:, a], q[:, b] = p[:, a] + t * (p[:, b] - p[:, a]), p[:, b] + t * (p[:, a] - p[:, b])
        return q

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        a, b = (self.view.named(c) for c in self._classes(sibling))
        much = f"about {self.sized(seen, sibling, fit, percent)}"
        return f"{a} and {b} are confused: {much} of their outcomes are exchanged"


class LikelihoodOfPairs(Rows[Seen]):
    """Logarithm of the sum of the likelihood ratios of all leaks and swaps: one row, which sees rare large errors."""

    def __init__(self, view: ClassView) -> None:
        super().__init__("likelihood of pairs", 1, self._of)
        self.view, self.n_sums = view, 2 * view.chosen.size**2 + view.k

    def sums(self, seen: Seen) -> FloatArray:
        """What pairs gain, and totals."""
        logs = seen.pair_logs
        return np.concatenate([logs.reshape(len(logs), -1).T, seen.totals])

    def _of(self, seen: Seen) -> FloatArray:
        return self._rows(seen.pair_logs, seen.totals)

    def rows_of_sums(self, sums: FloatArray) -> FloatArray:
        size = self.view.chosen.size
        return self._rows(sums[: 2 * size**2].T.reshape(-1, size, size, 2), sums[2 * size**2 :])

    def _rows(self, sums: FloatArray, totals: FloatArray) -> FloatArray:
        """For 64 sets of labels at a time, because there are many pairs."""
        view, parts = self.view, []
        a, b = pairs_of(view.chosen.size, ordered=True).T
        for part in ranges(len(sums), COLUMNS):
            some = sums[part]
            leaks = some[:, b, a, 0] + totals.T[part, view.chosen[a]] * log(1.0 - PAIR_SHARE)
            swaps = (some[:, b, a, 1] + some[:, a, b, 1])[:, a < b]
            parts.append(np.logaddexp.reduce(np.concatenate([leaks, swaps], axis=1), axis=1))
        return np.concatenate(parts)[None]
