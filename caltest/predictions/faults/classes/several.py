"""Faults of predicted probabilities of several classes."""

from functools import cached_property
from math import exp

import numpy as np

from caltest._basics.numerics import FloatArray, IntArray
from caltest._loops.pair_sums.redraws import sums_by_group, tables_by_label
from caltest.predictions.classes.finite import FinitePredictions
from caltest.predictions.faults.classes.labels import FLOOR, ClassFault, ClassView, LabelFaults, Labels, remaining
from caltest.predictions.faults.classes.pairs import Leak, LikelihoodOfPairs, Swap
from caltest.predictions.faults.fault import Fit, cosines, count, percent, sized

LEAST_ROWS = 20
"""Predictions with the same most probable class from which on these are judged by themselves."""


class ClassFaults(LabelFaults):
    """Confidence, frequencies of classes, and pairs of classes that are mistaken for each other."""

    def __init__(self, law: FinitePredictions, weights: FloatArray | None = None) -> None:
        self.view = view = ClassView(law, weights)
        self.weights = view.weights
        self.members = (
            Temperature(view),
            TemperatureOfTop(view),
            Random(view),
            Frequency(view),
            Share(view),
            Slope(view),
            Leak(view),
            Swap(view),
            LikelihoodOfPairs(view),
        )


class Temperature(ClassFault):
    """``Q_c ~ p_c**(1/T)`` with T = exp(t): predictions that are over- or underconfident."""

    kind = "temperature"
    weight = 1.0
    rows_name = "hits"
    range = (-3.0, 3.0)
    n_rows = 4

    @cached_property
    def _features(self) -> FloatArray:
        return np.concatenate([np.ones((1, self.view.n)), cosines(self.view.confidence, 3)]) * self.view.weights

    def rows(self, seen: Labels) -> FloatArray:
        """Whether the most probable class occurs, times features of its probability."""
        return np.asarray(self._features @ seen.hits.T)

    def log_ratio(self, seen: Labels, sibling: int, t: float) -> float:
        return self._log_ratio_of(seen, slice(None), t)

    def _log_ratio_of(self, seen: Labels, rows: slice | IntArray, t: float) -> float:
        logs, w = self.view.logs[rows], self.view.weights[rows]
        powers = logs * exp(-t)
        largest = powers.max(axis=1)
        norms = largest + np.log(np.exp(powers - largest[:, None]).sum(axis=1))
        return float(w @ (np.log(seen.probabilities[rows]) * (exp(-t) - 1.0) - norms))

    def size(self, seen: Labels, sibling: int, t: float) -> float:
        """The temperature."""
        return exp(t)

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        return f"predictions are {self._words_of(seen, slice(None), fit)}"

    def _words_of(self, seen: Labels, rows: slice | IntArray, fit: Fit) -> str:
        view, w = self.view, self.view.weights[rows]
        claimed = float(w @ view.confidence[rows] / w.sum())
        right = float(w @ (seen.first == view.top)[rows] / w.sum())
        return (
            f"{'over' if fit.t > 0.0 else 'under'}confident: outcomes follow them at temperature {sized(fit, exp)}; "
            f"claims of {percent(claimed)} on average come true {percent(right)} of the time"
        )


class TemperatureOfTop(Temperature):
    """The same of predictions with one most probable class."""

    kind = "temperature of a class"
    rows_name = "scores by predicted class"

    def __init__(self, view: ClassView) -> None:
        super().__init__(view)
        self.n_siblings = view.k
        self.n_rows = 2 * view.chosen.size
        self._members = [np.flatnonzero(view.top == c) for c in range(view.k)] if view.k <= view.n else []

    def rows(self, seen: Labels) -> FloatArray:
        """Hits, and log scores, of the predictions of each class."""
        view, size = self.view, self.view.chosen.size
        place = np.searchsorted(view.chosen, view.top)
        # Predictions of classes that are not chosen are counted together, and left out.
        groups = np.where(view.chosen[np.minimum(place, size - 1)] == view.top, place, size)
        hits = (np.arange(view.k) == view.top[:, None]) * view.weights[:, None]
        scores = view.logs * view.weights[:, None]
        return np.concatenate([sums_by_group(table, seen.labels, groups, size + 1)[:size] for table in (hits, scores)])

    def promising(self, seen: Labels) -> FloatArray:
        """Difference of hits and claims in standard errors; small groups are none."""
        view, w = self.view, self.view.weights
        hits = np.bincount(view.top, w * ((seen.first == view.top) - view.confidence), minlength=view.k)
        variances = np.bincount(view.top, w * w * view.confidence * (1.0 - view.confidence), minlength=view.k)
        sizes = np.bincount(view.top, minlength=view.k)
        return np.where(sizes >= LEAST_ROWS, hits**2 / np.maximum(variances, FLOOR), -np.inf)

    def log_ratio(self, seen: Labels, sibling: int, t: float) -> float:
        return self._log_ratio_of(seen, self._members[sibling], t)

    def place(self, sibling: int) -> str:
        return self.view.named(sibling)

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        wrong = self._words_of(seen, self._members[sibling], fit)
        return f"predictions whose most probable class is {self.view.named(sibling).removeprefix('class ')} are {wrong}"


class Random(ClassFault):
    """``Q = (1 - t) p + t / k``."""

    kind = "random labels"
    range = (0.0, 1.0)

    def log_ratio(self, seen: Labels, sibling: int, t: float) -> float:
        return float(self.view.weights @ np.log1p(t * (1.0 / (self.view.k * seen.probabilities) - 1.0)))

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        return f"about {sized(fit, lambda t: t, percent)} of the labels are random"


class OfEachClass(ClassFault):
    """A fault with a sibling for each class."""

    def __init__(self, view: ClassView) -> None:
        super().__init__(view)
        self.n_siblings = view.k

    def place(self, sibling: int) -> str:
        return self.view.named(sibling)

    def _scores(self, seen: Labels) -> FloatArray:
        """How much more often each class occurs than predicted, in standard errors."""
        variances = np.square(self.view.weights) @ (self.view.p * (1.0 - self.view.p))
        return np.asarray((seen.counts - self.view.expected) / np.sqrt(np.maximum(variances, FLOOR)))


class Frequency(OfEachClass):
    """``Q_c ~ p_c exp(t)``: a class that occurs more often, or less, than predicted."""

    kind = "frequency"
    weight = 2.0
    range = (-12.0, 12.0)

    def __init__(self, view: ClassView) -> None:
        super().__init__(view)
        self.n_rows = view.k

    def rows(self, seen: Labels) -> FloatArray:
        """Totals of the classes."""
        return seen.totals

    def promising(self, seen: Labels) -> FloatArray:
        return np.square(self._scores(seen))

    def log_ratio(self, seen: Labels, sibling: int, t: float) -> float:
        norms = np.log1p(self.view.p[:, sibling] * np.expm1(t))
        return float(t * seen.counts[sibling] - self.view.weights @ norms)

    def size(self, seen: Labels, sibling: int, t: float) -> float:
        """The ratio of odds."""
        return exp(t)

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        return f"{self.counted(seen, sibling)}: its odds are {sized(fit, exp)} times those predicted"

    def counted(self, seen: Labels, c: int) -> str:
        """That a class occurs more often than predicted, or less, with its counts."""
        view, counts = self.view, seen.counts
        more = "more" if counts[c] > view.expected[c] else "less"
        if (view.weights == 1.0).all():
            much = f"{count(counts[c])} times instead of {count(view.expected[c])}"
        else:
            total = view.weights.sum()
            much = f"{percent(counts[c] / total)} of the weight instead of {percent(view.expected[c] / total)}"
        return f"{view.law.occurrence(c)} {more} often than predicted, {much}"


class Share(OfEachClass):
    """``Q = (1 - t) p + t e_c``."""

    kind = "share"
    range = (0.0, 1.0)

    def promising(self, seen: Labels) -> FloatArray:
        return self._scores(seen)

    def log_ratio(self, seen: Labels, sibling: int, t: float) -> float:
        own = seen.first == sibling
        w, p = self.view.weights[own], seen.probabilities[own]
        others = float(self.view.weights.sum() - w.sum())
        return float(w @ np.log1p(t * (1.0 / p - 1.0))) + remaining(others, t)

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        much = f"about {sized(fit, lambda t: t, percent)} of the outcomes"
        return f"{much} are {self.view.named(sibling)} whatever is predicted"


class Slope(OfEachClass):
    """``Q_c ~ p_c exp(t x)`` with the log odds x of p_c around their mean: odds that are too extreme or too even."""

    kind = "slope"
    weight = 1.0
    rows_name = "curves"
    range = (-1.5, 5.0)

    def __init__(self, view: ClassView) -> None:
        super().__init__(view)
        self.n_rows = 3 * view.chosen.size

    def rows(self, seen: Labels) -> FloatArray:
        """Outcomes of each class times cosines of the ranks of their probabilities."""
        return tables_by_label(self._tables, seen.places)[:, :-1].reshape(len(seen.labels), -1).T

    @cached_property
    def _tables(self) -> FloatArray:
        view = self.view
        tables = np.zeros((view.n, view.chosen.size + 1, 3))
        for place, c in enumerate(view.chosen):
            tables[:, place] = (cosines(view.p[:, c], 3) * view.weights).T
        return tables

    def _log_odds(self, c: int) -> FloatArray:
        p = np.clip(self.view.p[:, c], 1e-12, 1.0 - 1e-12)
        x = np.log(p) - np.log1p(-p)
        v = self.view.weights * p * (1.0 - p)
        return np.asarray(x - (v @ x) / v.sum())

    def promising(self, seen: Labels) -> FloatArray:
        view = self.view
        scores = np.full(view.k, -np.inf)
        for c in view.chosen:
            x, p = self._log_odds(int(c)) * view.weights, view.p[:, c]
            variance = float(np.square(x) @ (p * (1.0 - p)))
            scores[c] = float(x @ ((seen.first == c) - p)) ** 2 / max(variance, FLOOR)
        return scores

    def log_ratio(self, seen: Labels, sibling: int, t: float) -> float:
        x, w = self._log_odds(sibling), self.view.weights
        own = seen.first == sibling
        return float(t * (w[own] @ x[own]) - w @ np.log1p(self.view.p[:, sibling] * np.expm1(t * x)))

    def size(self, seen: Labels, sibling: int, t: float) -> float:
        """The factor of log odds."""
        return 1.0 + t

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        wrong = "too even" if fit.t > 0.0 else "too extreme"
        factor = sized(fit, lambda t: 1.0 + t)
        return (
            f"probabilities of {self.view.named(sibling)} are {wrong}: their log odds should be multiplied by {factor}"
        )
