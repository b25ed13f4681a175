"""Faults of predicted probabilities of several classes."""

from collections.abc import Callable, Sequence
from functools import partial
from math import exp, factorial
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np
import scipy

from caltest._basics.calls import kept
from caltest._basics.numerics import Array, FloatArray, IntArray, normalised
from caltest.predictions.faults.classes.frequencies import Frequencies
from caltest.predictions.faults.classes.labels import (
    FLOOR,
    MOST_CLASSES,
    ClassFault,
    ClassView,
    LabelFaults,
    Labels,
    MixedLabels,
    OddsFault,
    Seen,
)
from caltest.predictions.faults.classes.pairs import Leak, LikelihoodOfPairs, Swap, leaks, swaps
from caltest.predictions.faults.classes.windows import FollowedWave, Wave, Window
from caltest.predictions.faults.fault import RANK_GROUPS, Fault, Rows, Scope, cosines_of_ranks, varies
from caltest.predictions.faults.search import NAMED_TOO
from caltest.predictions.faults.waves import FASTEST, SLOW, WEIGHT_OF_WAVES
from caltest.predictions.faults.words import Fit, instead, percent, percents

INSTEAD_OF_RANDOM = 16.0
"""By how much larger the likelihood of labels of other rows has to be than that of random ones, to be named instead."""

LEAST_ROWS = 20
"""Predictions with the same most probable class from which on these are judged by themselves."""

N_COSINES = 12
"""Cosines of the ranks of the probabilities of a class that are compared apart from faster ones, but for slow ones."""

PLACES = np.arange(RANK_GROUPS)

COSINES = cosines_of_ranks((PLACES + 0.5) / RANK_GROUPS, FASTEST)

STARTS = [(start, size) for size in (16, 8) for start in range(0, RANK_GROUPS - size + 1, size // 2)]
"""Where windows of groups of ranks begin, and how many groups they have."""

OF_GROUPS = {
    "waves": (COSINES[SLOW:N_COSINES], 1.0),
    "windows": (
        np.array([(start <= PLACES) & (start + size > PLACES) for start, size in STARTS], dtype=np.float64),
        1.0,
    ),
    "fast waves": (COSINES[N_COSINES:], WEIGHT_OF_WAVES),
}
"""What the groups of ranks of claims count, (J, 64), beside the slow cosines, and the weight of these rows."""

SHARES = (0.2, 1.0)
"""Of outcomes of classes in another order, at which the likeliest order is looked for."""

MOST_MOVED = 5
"""Classes in another place that are named."""


class ClassFaults(LabelFaults):
    """Confidence, frequencies of classes, and pairs of classes that are mistaken for each other."""

    are_sums = True
    have_order: ClassVar[bool] = False
    """Whether classes have one: a shift along it looks like other shares of all classes."""

    def _fill(self) -> None:
        view, size = self.view, self.view.chosen.size
        self.claimed = np.append(view.chosen, view.k)
        """The classes whose claims can be off in places, the last of which is the most probable one of each row."""
        of_all: list[type[ClassFault]] = [] if view.k > MOST_CLASSES else [Permutation]
        if of_all and not self.have_order:
            of_all += [Neighbours, Frequencies]
        self.kinds = (
            Temperature(view),
            TemperatureOfTop(view, view.k),
            Random(view),
            OtherRows(view, INSTEAD_OF_RANDOM),
            *(kind(view, view.k) for kind in (Frequency, Share, Slope)),
            Leak(view),
            Swap(view),
            Window(view, self.claimed),
            Wave(view, self.claimed, N_COSINES),
            *(kind(view) for kind in of_all),
        )
        if not any(varies(p) for p in view.of_chosen.T):
            # Nothing tells confidence, random labels and pairs from other shares, which are what was seen.
            self.kinds = tuple(one for one in self.kinds if isinstance(one, Frequency | Frequencies))
        n_pairs = size * (size - 1)
        self.compared = (
            Rows("hits", 1 + SLOW, hits),
            Rows("scores by predicted class", 2 * size, attrgetter("top_sums")),
            totals(view),
            Rows("curves", SLOW * size, curves),
            *(Rows(name, len(how) * (size + 1), partial(summed, how), w) for name, (how, w) in OF_GROUPS.items()),
            Rows("leak", n_pairs, leaks),
            Rows("swap", n_pairs // 2, swaps),
            LikelihoodOfPairs(view),
        )

    def following(self, targets: Array) -> Sequence[Fault[Any]]:
        """The waves of claims that outcomes follow."""
        return FollowedWave.following(self.view, self.claimed, targets)


def summed(numbers: FloatArray, seen: Seen, of: slice = slice(None)) -> FloatArray:
    """Sums over the observations of each chosen class, and hits, of numbers (J, 64) of the groups of their ranks."""
    # A product for each redraw, whose rounding does not depend on how many of them are looked at together.
    sums = seen.grouped[:, of, :RANK_GROUPS] @ numbers.T
    return sums.reshape(len(sums), -1).T


def hits(seen: Seen) -> FloatArray:
    """Hits of the most probable class, alone and times slow cosines of the ranks of its probability, (4, B)."""
    return np.concatenate([seen.grouped[:, -1].sum(axis=1)[None], summed(COSINES[:SLOW], seen, slice(-1, None))])


def curves(seen: Seen) -> FloatArray:
    """Slow cosines of the ranks of the probabilities of the chosen classes, (3 S, B)."""
    return summed(COSINES[:SLOW], seen, slice(-1))


def totals(view: ClassView) -> Rows[Seen]:
    """How often the classes occur."""
    return Rows("frequency", view.k, attrgetter("totals"), 2.0)


class Temperature(ClassFault):
    """``Q_c ~ p_c**(1/T)`` with T = exp(t): predictions that are over- or underconfident."""

    kind = "temperature"
    is_factor = True
    range = (-3.0, 3.0)

    def rows_of(self, sibling: int) -> slice | IntArray:
        """The predictions concerned."""
        return slice(None)

    @kept
    def _log_norms(self, sibling: int) -> Callable[[float], float]:
        return self.view.log_norms(self.rows_of(sibling))

    def log_ratio(self, seen: Labels, sibling: int, t: float) -> float:
        rows = self.rows_of(sibling)
        logs = float(self.view.weights[rows] @ np.log(seen.probabilities[rows]))
        return logs * (exp(-t) - 1.0) - self._log_norms(sibling)(t)

    def law(self, seen: Labels, sibling: int, t: float) -> FloatArray:
        rows, q = self.rows_of(sibling), np.array(self.view.p)
        q[rows] = normalised((q[rows] / q[rows].max(axis=1, keepdims=True)) ** exp(-t))
        return q

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        return f"predictions are {self._words_of(seen, sibling, fit)}"

    def _rates(self, seen: Labels, rows: slice | IntArray) -> tuple[float, float]:
        """The mean probability of the most probable class, and how often it occurs."""
        view, w = self.view, self.view.weights[rows]
        return float(w @ view.confidence[rows] / w.sum()), float(w @ (seen.first == view.top)[rows] / w.sum())

    def _words_of(self, seen: Labels, sibling: int, fit: Fit) -> str:
        temperature = self.sized(seen, sibling, fit)
        claims, hits = percents(*self._rates(seen, self.rows_of(sibling)))
        return (
            f"{'over' if fit.t > 0.0 else 'under'}confident: outcomes follow them at temperature {temperature}; "
            f"claims of {claims} on average come true {hits} of the time"
        )


class TemperatureOfTop(Temperature):
    """The same of predictions with one most probable class."""

    kind = "temperature of a class"
    scope = "places"

    def rows_of(self, sibling: int) -> slice | IntArray:
        return np.flatnonzero(self.view.top == sibling)

    def promising(self, seen: Labels) -> FloatArray:
        """Difference of hits and claims in standard errors; groups of less than 20 are none."""
        view, w = self.view, self.view.weights
        hits = np.bincount(view.top, w * ((seen.first == view.top) - view.confidence), minlength=view.k)
        variances = np.bincount(view.top, w * w * view.confidence * (1.0 - view.confidence), minlength=view.k)
        sizes = np.bincount(view.top, minlength=view.k)
        return np.where(sizes >= LEAST_ROWS, hits**2 / np.maximum(variances, FLOOR), -np.inf)

    def apart(self, seen: Labels, sibling: int, other: int) -> bool:
        return True

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        wrong = self._words_of(seen, sibling, fit)
        return f"predictions whose most probable class is {self.view.named(sibling).removeprefix('class ')} are {wrong}"


class Random(MixedLabels):
    """``Q = (1 - t) p + t / k``."""

    kind = "random labels"

    def mixed(self, seen: Labels, sibling: int) -> FloatArray:
        return np.full(self.view.k, 1.0 / self.view.k)

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        share = self.sized(seen, sibling, fit, percent)
        return f"predictions are overconfident, as if about {share} of the labels were random"


class OtherRows(MixedLabels):
    """The same with the mean of all predictions, as where rows are mixed up, or inputs are missing."""

    kind = "other rows"

    def __init__(self, view: ClassView, n_choices: float = 1.0) -> None:
        super().__init__(view)
        self.n_choices = n_choices

    def mixed(self, seen: Labels, sibling: int) -> FloatArray:
        return np.asarray(self.view.expected / self.view.expected.sum())

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        share = self.sized(seen, sibling, fit, percent)
        return f"predictions are overconfident, as if about {share} of them were those of other rows"


class Permutation(MixedLabels):
    """The same with p' of the classes in the order that is most likely for the outcomes."""

    kind = "order"

    def __init__(self, view: ClassView, n_siblings: int = 1) -> None:
        super().__init__(view, n_siblings)
        self.n_choices: float = factorial(view.k)
        self._order: IntArray | None = None

    def promising(self, seen: Labels) -> FloatArray:
        """Not where only some pairs of classes are exchanged, which is another fault."""
        turned, own = self.turned(seen, 0), np.arange(self.view.k)
        moved = np.count_nonzero(turned != own)
        are_pairs = moved <= 2 * (1 + NAMED_TOO) and (turned[turned] == own).all()
        return np.array([-np.inf if are_pairs else 0.0])

    def turned(self, seen: Labels, sibling: int) -> IntArray:
        """What each class (k,) turns out as if it is another one."""
        if self._order is None:
            found = []
            for share in SHARES:
                self._order = self._assigned(seen, share)
                found.append((max(self.log_ratio(seen, sibling, t) for t in SHARES), self._order))
            self._order = max(found, key=lambda one: one[0])[1]
        return self._order

    def _assigned(self, seen: Labels, share: float) -> IntArray:
        """The most likely order of which a share is mixed with the predicted one, by gains of pairs."""
        gains = np.zeros((self.view.k, self.view.k))
        for part in self.view.parts:
            ratios = np.maximum(self.view.rows(part), FLOOR) / seen.probabilities[part, None]
            rows = self.view.weights[part, None] * np.log(np.maximum(1.0 + share * (ratios - 1.0), FLOOR))
            np.add.at(gains, seen.first[part], rows)
        return np.argsort(scipy.optimize.linear_sum_assignment(-gains)[1])

    def mixed(self, seen: Labels, sibling: int) -> FloatArray:
        return np.asarray(self.view.p @ np.eye(self.view.k)[self.turned(seen, sibling)])

    def at_labels(self, seen: Labels, sibling: int) -> FloatArray:
        """From the columns of the classes that turn out as the labels."""
        turned, each = self.turned(seen, sibling), np.arange(self.view.k)
        source = np.full(self.view.k, -1)
        source[turned] = each
        moved = np.where(source[seen.first] >= 0, self.view.at(source[seen.first]), 0.0)
        for a in np.flatnonzero(source[turned] != each):
            moved += np.where(seen.first == turned[a], self.view.column(int(a)), 0.0)
        return moved

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        moved = [(a, b) for a, b in enumerate(self.turned(seen, sibling)) if a != b and seen.counts[b] > 0.0]
        moved.sort(key=lambda pair: pair[1])
        said = [f"what is predicted as {self.view.named(a)} turns out as {self.view.named(b)}" for a, b in moved]
        more = f", and {len(said) - MOST_MOVED} more" if len(said) > MOST_MOVED else ""
        much = f"for about {self.sized(seen, sibling, fit, percent)} of the outcomes"
        return f"classes are in another order than predicted {much}: {', '.join(said[:MOST_MOVED])}{more}"


class Neighbours(Permutation):
    """The same with the next class in place of each, or the one before; the last stays, or the first follows it."""

    def __init__(self, view: ClassView) -> None:
        super().__init__(view, 4)
        self.n_choices = self.n_siblings

    def turned(self, seen: Labels, sibling: int) -> IntArray:
        last, step = self.view.k - 1, 1 if sibling % 2 == 0 else -1
        others = np.arange(self.view.k) + step
        return np.clip(others, 0, last) if sibling < 2 else others % self.view.k

    def promising(self, seen: Labels) -> FloatArray:
        return np.zeros(self.n_siblings)

    def place(self, sibling: int) -> str:
        return ("after", "before")[sibling % 2]

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        a, last = (0, self.view.k - 1) if sibling % 2 == 0 else (self.view.k - 1, 0)
        b = int(self.turned(seen, sibling)[a])
        example = f"what is predicted as {self.view.named(a)} turns out as {self.view.named(b)}, and so on"
        end = f", {self.view.named(last)} {'stays' if sibling < 2 else f'as {self.view.named(a)}'}"
        much = f"about {self.sized(seen, sibling, fit, percent)} of the outcomes"
        return f"{much} are of the class {self.place(sibling)} the one that is predicted: {example}{end}"


class Frequency(OddsFault):
    """``Q_c ~ p_c exp(t)``: a class that occurs more often, or less, than predicted."""

    kind = "frequency"
    is_factor = True
    range = (-12.0, 12.0)

    def apart(self, seen: Labels, sibling: int, other: int) -> bool:
        """Where both occur more often, or less: one alone makes all others err the other way."""
        return bool(seen.excess[sibling] * seen.excess[other] > 0.0)

    def promising(self, seen: Labels) -> FloatArray:
        return np.square(seen.excess)

    def along(self, sibling: int) -> float:
        return 1.0

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        return f"{self.counted(seen, sibling)}: its odds are {self.sized(seen, sibling, fit)} times those predicted"

    def counted(self, seen: Labels, c: int) -> str:
        """That a class occurs more often than predicted, or less, with its counts."""
        view, counts = self.view, seen.counts
        more = "more" if counts[c] > view.expected[c] else "less"
        much = instead(counts[c], view.expected[c], view.weights, " times")
        return f"{view.law.occurrence(c)} {more} often than predicted, {much}"


class Share(MixedLabels):
    """``Q = (1 - t) p + t e_c``."""

    kind = "share"

    def promising(self, seen: Labels) -> FloatArray:
        return seen.excess

    def mixed(self, seen: Labels, sibling: int) -> FloatArray:
        return np.asarray(np.arange(self.view.k) == sibling, dtype=np.float64)

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        much = f"about {self.sized(seen, sibling, fit, percent)} of the outcomes"
        return f"{much} are {self.view.named(sibling)} whatever is predicted"


class Slope(OddsFault):
    """``Q_c ~ p_c exp(t x)`` with the log odds x of p_c around their mean: odds that are too extreme or too even."""

    kind = "slope"
    is_slope = True
    scope: Scope = "places"
    range = (-3.0, 5.0)

    @kept
    def _around(self, c: int) -> tuple[FloatArray, float]:
        """The log odds of a class around their mean, and the mean."""
        p = np.clip(self.view.column(c), 1e-12, 1.0 - 1e-12)
        x = np.log(p) - np.log1p(-p)
        v = self.view.weights * p * (1.0 - p)
        mean = float(v @ x) / float(v.sum())
        return x - mean, mean

    def along(self, sibling: int) -> FloatArray:
        return self._around(self.class_of(sibling))[0]

    def promising(self, seen: Labels) -> FloatArray:
        view = self.view
        scores = np.full(view.k, -np.inf)
        for c in view.chosen:
            x, p = self.along(int(c)) * view.weights, view.column(int(c))
            variance = float(np.square(x) @ (p * (1.0 - p)))
            scores[c] = float(x @ ((seen.first == c) - p)) ** 2 / max(variance, FLOOR)
        return scores

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        return f"probabilities of {self.view.named(sibling)} are {self._stretched(seen, sibling, fit)}"

    def _stretched(self, seen: Labels, sibling: int, fit: Fit) -> str:
        """How far the log odds of a class should be from their mean, at which nothing changes."""
        centre = percent(scipy.special.expit(self._around(self.class_of(sibling))[1]))
        factor = self.sized(seen, sibling, fit)
        wrong = "the wrong way round" if fit.high < -1.0 else "too even" if fit.t > 0.0 else "too extreme"
        return f"{wrong}: their log odds should be {factor} times as far from those of {centre}"
