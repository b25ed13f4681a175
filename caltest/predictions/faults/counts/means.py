"""Counts that are larger or smaller than predicted: of other laws of the family."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf, sqrt

import numpy as np

from caltest._basics.numerics import FloatArray
from caltest.predictions.counts.law import CountPredictions
from caltest.predictions.faults.counts.seen import Counts
from caltest.predictions.faults.fault import Fault, Mixed
from caltest.predictions.faults.patterns import OfBends, OfPatterns, promise_of_bends
from caltest.predictions.faults.waves import Wave
from caltest.predictions.faults.words import Fit, about, percent, sized_shift

REACH, LARGEST_PART = 10.0, 0.999
"""Standard errors around a mean difference in which one is looked for, and the share of a mean that it may take."""


class OfLaw(Fault[Counts]):
    """Counts of another law of the family, or of one with the same means."""

    def log_ratio(self, seen: Counts, sibling: int, t: float) -> float:
        return float(seen.view.weights @ seen.log_ratio(self.corrected(seen, sibling, t)))


class Factor(OfLaw, OfPatterns[Counts]):
    """Means that are exp(t s) times as large, with the signs s of a pattern."""

    kind = "factor"
    is_factor = True
    range = (-8.0, 8.0)

    def corrected(self, seen: Counts, sibling: int, t: float) -> CountPredictions | None:
        return seen.view.law.with_mean(seen.view.mean * np.exp(t * self.patterns[sibling].signs))

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        one = self.patterns[sibling]
        rest = one.opposite(f"{about(1.0 / self.size(seen, sibling, fit.t))} times elsewhere")
        much = self.sized(seen, sibling, fit)
        return f"counts are {much} times as large as predicted on average{one.where}{rest}"


class FactorWave(Factor):
    """Means that are too small for some predictions and too large for others, with a wave of the predictions."""

    patterns: Sequence[Wave]
    kind = "wave of factors"
    range = (-2.0, 2.0)

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        w, view, unit = seen.view.weights, seen.view, "times as large as predicted"
        sums = w * seen.differences[0], w * view.mean, w * view.deviation
        where = self.patterns[sibling].in_places(*sums, lambda more: about(1.0 + more), unit)
        return f"counts are off in places{where}"


class Elasticity(Factor):
    """Means ``m (m / mean)**t``: the signs are logarithms of ``m / mean``."""

    kind = "elasticity"
    is_factor, is_slope = False, True
    range = (-2.0, 4.0)

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        more = "more" if fit.t > 0.0 else "less"
        return f"counts rise {more} than predicted: as the power {self.sized(seen, sibling, fit)} of predicted means"


class BentElasticity(OfBends[Counts], Elasticity):
    """Means ``m (m / knot)**t`` above a knot, or below it."""

    kind = "local elasticity"

    def promising(self, seen: Counts) -> FloatArray:
        lines = [replace(one, signs=one.signs * seen.view.deviation) for one in self.patterns]
        return promise_of_bends(lines, seen.residuals[0], seen.view.weights)

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        power = f"as the power {self.sized(seen, sibling, fit)} of predicted means"
        place, more = self.patterns[sibling].where, "more" if fit.t > 0.0 else "less"
        return f"counts rise {more} than predicted{place}: {power}, and as predicted elsewhere"


class Step(Mixed[Counts]):
    """A share t of the counts is larger by 1, or smaller by 1 if it is not 0."""

    kind = "step"
    n_siblings = 2

    def log_ratios(self, seen: Counts, sibling: int) -> FloatArray:
        law, y, own = seen.view.law, seen.first, seen.log_probabilities
        if sibling == 0:
            return np.where(y > 0, law.log_density(np.maximum(y - 1, 0)) - own, -inf)
        ratios = law.log_density(y + 1) - own
        return np.where(y > 0, ratios, np.logaddexp(0.0, ratios))

    def place(self, sibling: int) -> str:
        return ("higher", "lower")[sibling]

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        return (
            f"about {self.sized(seen, sibling, fit, percent)} of the counts are 1 {self.place(sibling)} than predicted"
        )


class Added(OfLaw):
    """Means that are larger by t."""

    kind = "added"
    range = (-inf, inf)
    # Named where they explain counts clearly better than a factor, which more people know.
    n_choices = 16.0

    def bounds(self, seen: Counts, sibling: int) -> tuple[float, float]:
        """Ten standard errors around the mean difference, with positive means."""
        view, w = seen.view, seen.view.weights
        most, reach = float(w @ seen.differences[0]), REACH * sqrt(float(w @ np.square(view.deviation)))
        low, high = ((end(most, 0.0) + side * reach) / w.sum() for end, side in ((min, -1.0), (max, 1.0)))
        return max(low, -LARGEST_PART * float(view.mean.min())), high

    def corrected(self, seen: Counts, sibling: int, t: float) -> CountPredictions | None:
        return seen.view.law.with_mean(seen.view.mean + t)

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        side = "higher" if fit.t > 0.0 else "lower"
        return f"counts are {side} than predicted, by {sized_shift(fit)} on average whatever is predicted"
