"""Faults of pairs of classes: one that turns out as the other, or both mistaken for each other."""

from math import log

import numpy as np

from caltest._basics.numerics import FloatArray
from caltest._loops.pair_sums.redraws import tables_by_label
from caltest.predictions.faults.classes.labels import FLOOR, ClassFault, ClassView, Labels, remaining
from caltest.predictions.faults.fault import Fit, Rows, percent, sized


class OfPairs(ClassFault):
    """A fault with a sibling for each pair of chosen classes."""

    weight = 1.0
    range = (0.0, 1.0)
    ordered: bool

    def __init__(self, view: ClassView) -> None:
        super().__init__(view)
        size = view.chosen.size
        pairs = [(a, b) for a in range(size) for b in range(size) if (a != b if self.ordered else a < b)]
        self._pairs = np.array(pairs).reshape(-1, 2)
        self.n_siblings = self.n_rows = len(pairs)

    def _classes(self, sibling: int) -> tuple[int, int]:
        a, b = self.view.chosen[self._pairs[sibling]]
        return int(a), int(b)

    def place(self, sibling: int) -> str:
        a, b = self._classes(sibling)
        return f"{self.view.named(a)}, {self.view.named(b)}"

    def _leaks(self, seen: Labels) -> tuple[FloatArray, FloatArray]:
        """``M_ab - M_aa`` and ``M_ba - M_bb`` of the pairs, (J, B)."""
        a, b = self._pairs.T
        m = seen.sums
        return (m[:, b, a] - m[:, a, a]).T, (m[:, a, b] - m[:, b, b]).T

    def promising(self, seen: Labels) -> FloatArray:
        view, y = self.view, seen.first
        scores = np.empty(self.n_siblings)
        for i in range(self.n_siblings):
            a, b = self._classes(i)
            pa, pb = view.p[:, a], view.p[:, b]
            x = view.weights * (pa if self.ordered else pa - pb)
            difference = 1.0 * (y == b) - (y == a)
            variance = np.square(x) @ (pa + pb - np.square(pb - pa))
            scores[i] = float(x @ (difference - (pb - pa))) / max(float(variance), FLOOR) ** 0.5
        return scores


class Leak(OfPairs):
    """A share t of the probability of class a moves to class b."""

    kind = "leak"
    ordered = True

    def rows(self, seen: Labels) -> FloatArray:
        return self._leaks(seen)[0]

    def log_ratio(self, seen: Labels, sibling: int, t: float) -> float:
        a, b = self._classes(sibling)
        at_b = seen.first == b
        ratios = self.view.p[at_b, a] / seen.probabilities[at_b]
        return float(self.view.weights[at_b] @ np.log1p(t * ratios)) + remaining(float(seen.counts[a]), t)

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        a, b = (self.view.named(c) for c in self._classes(sibling))
        return f"about {sized(fit, lambda t: t, percent)} of what is predicted as {a} turns out as {b}"


class Swap(OfPairs):
    """A share t of the probabilities of classes a and b is exchanged."""

    kind = "swap"
    ordered = False

    def rows(self, seen: Labels) -> FloatArray:
        one, other = self._leaks(seen)
        return one + other

    def log_ratio(self, seen: Labels, sibling: int, t: float) -> float:
        a, b = self._classes(sibling)
        total = 0.0
        for own, other in ((a, b), (b, a)):
            rows = seen.first == own
            ratios = self.view.p[rows, other] / seen.probabilities[rows]
            total += float(self.view.weights[rows] @ np.log1p(t * (ratios - 1.0)))
        return total

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        a, b = (self.view.named(c) for c in self._classes(sibling))
        much = f"about {sized(fit, lambda t: t, percent)}"
        return f"{a} and {b} are confused: {much} of their outcomes are exchanged"


PAIR_SHARE = 0.2
"""Share of leaks and swaps in the likelihood of pairs."""

PAIR_FLOOR = 1e-12
"""Smallest probability there."""

TABLE = 2**20
"""Numbers in the tables of some of the predictions."""


class LikelihoodOfPairs(Rows[Labels]):
    """Logarithm of the sum of the likelihood ratios of all leaks and swaps: one row, which sees rare large errors."""

    rows_name = "likelihood of pairs"
    weight = 1.0
    n_rows = 1

    def __init__(self, view: ClassView) -> None:
        self.view = view

    def rows(self, seen: Labels) -> FloatArray:
        view, size = self.view, self.view.chosen.size
        p = np.maximum(view.p[:, view.chosen], PAIR_FLOOR)
        step = max(1, TABLE // (2 * size * size))
        sums = np.zeros((len(seen.labels), size, size, 2))
        for start in range(0, view.n, step):
            part = slice(start, start + step)
            some = p[part]
            # With the label c and another class a: what leaks from a, and swaps with it, gain.
            ratios = some[:, None, :] / some[:, :, None]
            tables = np.zeros((some.shape[0], size + 1, size, 2))
            tables[:, :-1, :, 0] = np.log1p(PAIR_SHARE * ratios)
            tables[:, :-1, :, 1] = np.log1p(PAIR_SHARE * (ratios - 1.0))
            tables *= view.weights[part, None, None, None]
            labels = np.ascontiguousarray(seen.places[:, part])
            sums += tables_by_label(tables.reshape(some.shape[0], size + 1, -1), labels)[:, :-1].reshape(sums.shape)
        a, b = np.nonzero(~np.eye(size, dtype=bool))
        leaks = sums[:, b, a, 0] + seen.totals.T[:, view.chosen[a]] * log(1.0 - PAIR_SHARE)
        swaps = (sums[:, b, a, 1] + sums[:, a, b, 1])[:, a < b]
        return np.asarray(np.logaddexp.reduce(np.concatenate([leaks, swaps], axis=1), axis=1)[None])
