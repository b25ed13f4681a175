"""Faults of pairs of classes: one that turns out as the other, or both mistaken for each other."""

from math import log

import numpy as np

from caltest._basics.numerics import FloatArray
from caltest.predictions.faults.classes.labels import FLOOR, PAIR_SHARE, ClassFault, ClassView, Labels, Seen, remaining
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

    def _leaks(self, seen: Seen) -> tuple[FloatArray, FloatArray]:
        """``M_ab - M_aa`` and ``M_ba - M_bb`` of the pairs, (J, B)."""
        a, b = self._pairs.T
        m = seen.sums
        return (m[:, b, a] - m[:, a, a]).T, (m[:, a, b] - m[:, b, b]).T

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

    def rows(self, seen: Seen) -> FloatArray:
        return self._leaks(seen)[0]

    def log_ratio(self, seen: Labels, sibling: int, t: float) -> float:
        a, b = self._classes(sibling)
        at_b = seen.first == b
        ratios = self.view.column(a)[at_b] / seen.probabilities[at_b]
        return float(self.view.weights[at_b] @ np.log1p(t * ratios)) + remaining(float(seen.counts[a]), t)

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        a, b = (self.view.named(c) for c in self._classes(sibling))
        return f"about {sized(fit, lambda t: t, percent)} of what is predicted as {a} turns out as {b}"


class Swap(OfPairs):
    """A share t of the probabilities of classes a and b is exchanged."""

    kind = "swap"
    ordered = False

    def rows(self, seen: Seen) -> FloatArray:
        one, other = self._leaks(seen)
        return one + other

    def log_ratio(self, seen: Labels, sibling: int, t: float) -> float:
        a, b = self._classes(sibling)
        total = 0.0
        for own, other in ((a, b), (b, a)):
            rows = seen.first == own
            ratios = self.view.column(other)[rows] / seen.probabilities[rows]
            total += float(self.view.weights[rows] @ np.log1p(t * (ratios - 1.0)))
        return total

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        a, b = (self.view.named(c) for c in self._classes(sibling))
        much = f"about {sized(fit, lambda t: t, percent)}"
        return f"{a} and {b} are confused: {much} of their outcomes are exchanged"


class LikelihoodOfPairs(Rows[Seen]):
    """Logarithm of the sum of the likelihood ratios of all leaks and swaps: one row, which sees rare large errors."""

    rows_name = "likelihood of pairs"
    weight = 1.0
    n_rows = 1

    def __init__(self, view: ClassView) -> None:
        self.view = view

    def rows(self, seen: Seen) -> FloatArray:
        return self._rows(seen.pair_logs, seen.totals)

    @property
    def n_sums(self) -> int:
        return 2 * int(self.view.chosen.size) ** 2 + int(self.view.k)

    def sums(self, seen: Seen) -> FloatArray:
        """What pairs gain, and totals."""
        logs = seen.pair_logs
        return np.concatenate([logs.reshape(len(logs), -1).T, seen.totals])

    def rows_of_sums(self, sums: FloatArray) -> FloatArray:
        size = self.view.chosen.size
        return self._rows(sums[: 2 * size**2].T.reshape(-1, size, size, 2), sums[2 * size**2 :])

    def _rows(self, sums: FloatArray, totals: FloatArray) -> FloatArray:
        view = self.view
        a, b = np.nonzero(~np.eye(view.chosen.size, dtype=bool))
        leaks = sums[:, b, a, 0] + totals.T[:, view.chosen[a]] * log(1.0 - PAIR_SHARE)
        swaps = (sums[:, b, a, 1] + sums[:, a, b, 1])[:, a < b]
        return np.asarray(np.logaddexp.reduce(np.concatenate([leaks, swaps], axis=1), axis=1)[None])
