"""Faults of forecasts by quantiles."""

from math import exp
from typing import TYPE_CHECKING

import numpy as np

from caltest._basics.types import FloatArray
from caltest.predictions.faults.classes.labels import ClassView, LabelFaults, Labels, remaining
from caltest.predictions.faults.classes.ordered import Latent, LatentScale, faults_of_scores
from caltest.predictions.faults.classes.several import Frequency
from caltest.predictions.faults.fault import Fault, Fit
from caltest.predictions.faults.numbers import scale_in_words
from caltest.predictions.faults.wording import percent, sized

if TYPE_CHECKING:
    from caltest.predictions.quantile_forecast import QuantileForecast


class QuantileFaults(LabelFaults):
    """Shift and scale behind the intervals, everywhere, in halves and on one side, single levels, and coverage."""

    def __init__(self, law: "QuantileForecast", weights: FloatArray | None = None) -> None:
        self.view = view = ClassView(law, weights)
        self.weights = view.weights
        values, levels = law.values, law.levels
        middle = values[:, values.shape[1] // 2]
        with np.errstate(over="ignore"):
            width = values[:, -1] - values[:, 0]
        latent = Latent(view, [("middle quantiles", middle), ("predicted widths", width)])
        coverage = [Coverage(view, levels)] if central_pairs(levels) else []
        sides = OneSide(latent)
        self.members = (Totals(view), *faults_of_scores(latent), sides, Level(view, levels), *coverage)


class Totals(Frequency):
    """Frequencies of the intervals: rows only, as levels say more."""

    has_likelihood = False


class OneSide(LatentScale):
    """Errors above, or below, the median that are larger or smaller than predicted."""

    def __init__(self, latent: Latent) -> None:
        super().__init__(latent, latent.everywhere, "scale of one side")
        self.n_siblings = 2

    def log_ratio(self, seen: Labels, sibling: int, t: float) -> float:
        return self._latent.log_ratio_of_side(seen, 1.0 if sibling == 0 else -1.0, t)

    def size(self, seen: Labels, sibling: int, t: float) -> float:
        """The ratio of errors to those predicted."""
        return exp(t)

    def place(self, sibling: int) -> str:
        return ("above", "below")[sibling]

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        whole = scale_in_words(self.patterns[0], fit)
        return whole.replace(": errors are", f" {self.place(sibling)} the median: errors there are")


class Level(Fault[Labels]):
    """The level of one of the quantiles is larger by t: outcomes next to it are below it instead of above it."""

    kind = "level"
    range = (-1.0, 1.0)

    def __init__(self, view: ClassView, levels: FloatArray) -> None:
        self._view, self._levels, self.n_siblings = view, levels, levels.size
        self._p = np.diff(np.concatenate([[0.0], levels, [1.0]]))

    def bounds(self, seen: Labels, sibling: int) -> tuple[float, float]:
        return -float(self._p[sibling]), float(self._p[sibling + 1])

    def log_ratio(self, seen: Labels, sibling: int, t: float) -> float:
        p, counts = self._p, seen.counts
        below = remaining(float(counts[sibling]), -t / p[sibling])
        return below + remaining(float(counts[sibling + 1]), t / p[sibling + 1])

    def size(self, seen: Labels, sibling: int, t: float) -> float:
        """The share of the outcomes below the quantile."""
        return float(self._levels[sibling] + t)

    def place(self, sibling: int) -> str:
        return f"the {percent(float(self._levels[sibling]))} quantile"

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        share = sized(fit, lambda t: self.size(seen, sibling, t), percent)
        wrong = "high" if fit.t > 0.0 else "low"
        return f"{self.place(sibling)} is too {wrong}: {share} of the outcomes are below it"


class Coverage(Fault[Labels]):
    """``Q ~ P exp(t)`` between two quantiles around the median."""

    kind = "coverage"
    range = (-8.0, 8.0)

    def __init__(self, view: ClassView, levels: FloatArray) -> None:
        self._view, self._levels, self._pairs = view, levels, central_pairs(levels)
        self.n_siblings = len(self._pairs)

    def _nominal(self, sibling: int) -> float:
        low, high = self._pairs[sibling]
        return float(self._levels[high] - self._levels[low])

    def log_ratio(self, seen: Labels, sibling: int, t: float) -> float:
        low, high = self._pairs[sibling]
        w = self._view.weights
        inside = float(w @ ((seen.first > low) & (seen.first <= high)))
        return float(t * inside - w.sum() * np.log1p(self._nominal(sibling) * np.expm1(t)))

    def size(self, seen: Labels, sibling: int, t: float) -> float:
        """The coverage of the interval."""
        nominal = self._nominal(sibling)
        return float(nominal * np.exp(t) / (1.0 + nominal * np.expm1(t)))

    def place(self, sibling: int) -> str:
        low, high = (percent(float(self._levels[j])) for j in self._pairs[sibling])
        return f"the interval from {low} to {high}"

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        covered, nominal = sized(fit, lambda t: self.size(seen, sibling, t), percent), percent(self._nominal(sibling))
        wrong = "wide" if fit.t > 0.0 else "narrow"
        return f"{self.place(sibling)} is too {wrong}: it covers {covered} instead of {nominal}"


def central_pairs(levels: FloatArray) -> list[tuple[int, int]]:
    """Levels l and 1 - l, by their places."""
    n = levels.size
    return [(j, n - 1 - j) for j in range(n // 2) if abs(levels[j] + levels[n - 1 - j] - 1.0) < 1e-9]
