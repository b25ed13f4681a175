"""Counts that vary more or less than predicted."""

from collections.abc import Sequence
from math import exp

import numpy as np

from caltest._basics.numerics import FloatArray
from caltest.predictions.counts.law import CountPredictions
from caltest.predictions.faults.counts.means import OfLaw
from caltest.predictions.faults.counts.seen import Counts, CountView
from caltest.predictions.faults.fault import Fault
from caltest.predictions.faults.patterns import OfPatterns, Pattern
from caltest.predictions.faults.waves import Wave, root_in_words
from caltest.predictions.faults.words import Fit, about

NONE = exp(-12.0)
"""A dispersion that is none."""


class Spread(OfLaw, OfPatterns[Counts]):
    """Larger or smaller dispersion of the predictions of a pattern: negative binomial counts of another size."""

    kind = "dispersion"
    is_factor = True

    def __init__(self, view: CountView, patterns: Sequence[Pattern], kind: str = "") -> None:
        super().__init__(patterns, kind)
        # Of Poisson counts the dispersion can only be larger: its logarithm is t.
        self._dispersion = view.law.dispersion
        self.range = (-12.0, 6.0) if self._dispersion is None else (-5.0, 5.0)

    def _dispersions(self, seen: Counts, t: float) -> FloatArray:
        own = self._dispersion
        return np.full(len(seen.view.mean), exp(t)) if own is None else own * exp(t)

    def corrected(self, seen: Counts, sibling: int, t: float) -> CountPredictions | None:
        own = np.full(len(seen.view.mean), NONE) if self._dispersion is None else self._dispersion
        at = self.patterns[sibling].signs > 0.0
        return seen.view.law.with_dispersion(np.where(at, self._dispersions(seen, t), own))

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        view, one = seen.view, self.patterns[sibling]
        w, where = view.weights * one.signs, one.where
        variance = view.mean + self._dispersions(seen, fit.t) * np.square(view.mean)
        times = about(float(w @ variance / (w @ np.square(view.deviation))))
        much = self.sized(seen, sibling, fit)
        if self._dispersion is None:
            return (
                f"predictions are too narrow{where}: variance = mean + {much} mean^2, {times} times that predicted on "
                "average"
            )
        wrong = "narrow" if fit.t > 0.0 else "wide"
        return (
            f"predictions are too {wrong}{where}: the dispersion is {much} times that predicted, and variances are "
            f"{times} times those predicted on average"
        )


class SpreadWave(OfPatterns[Counts]):
    """Variances that are about 1 + 2 |t| times as large where a wave has the sign of t, and so much smaller elsewhere.

    There counts are of the law of the family with another dispersion, here of ``P exp(-|t| (y - m)**2 / v)``.
    """

    patterns: Sequence[Wave]
    kind = "wave of spreads"
    range = (-2.0, 2.0)

    def log_ratio(self, seen: Counts, sibling: int, t: float) -> float:
        view, first = seen.view, seen.first
        more = (self.patterns[sibling].signs * t > 0.0) & (view.mean > 0.0)
        if t == 0.0:
            return 0.0
        law, m, v = view.law.take(more), view.mean[more], np.square(view.deviation[more])
        wider = law.with_dispersion(((1.0 + 2.0 * abs(t)) * v - m) / np.square(m))
        assert wider is not None
        ratios = -abs(t) * view.squares(first[:, None])[:, 0] - np.log(view.tilted(abs(t))[0])
        ratios[more] = wider.log_density(first[more]) - seen.log_probabilities[more]
        return float(view.weights @ ratios)

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        w, dispersion = seen.view.weights, seen.view.law.dispersion
        kurtosis = 1.0 / np.maximum(np.square(seen.view.deviation), 1e-300)
        deviation = w * np.sqrt(2.0 + kurtosis + (0.0 if dispersion is None else 6.0 * dispersion))
        sums = w * (seen.squares[0] - 1.0), w, deviation
        places = self.patterns[sibling].in_places(*sums, root_in_words, "times as much as predicted")
        return f"counts vary too much and too little in places{places}"


class Narrow(Fault[Counts]):
    """``Q ~ P exp(-t (y - m)**2 / v)``: counts that vary less than predicted."""

    kind = "too wide"
    range = (0.0, 20.0)

    def promising(self, seen: Counts) -> FloatArray:
        """How much smaller the squares are: the likelihood is concave, with its maximum at 0 where they are larger."""
        view = seen.view
        smaller = float(view.weights @ ((view.deviation > 0.0) - view.squares(seen.first[:, None])[:, 0]))
        return np.array([smaller if smaller > 0.0 else -np.inf])

    def log_ratio(self, seen: Counts, sibling: int, t: float) -> float:
        view = seen.view
        squares = view.squares(seen.first[:, None])[:, 0]
        return float(view.weights @ (-t * squares - np.log(view.tilted(t)[0])))

    def size(self, seen: Counts, sibling: int, t: float) -> float:
        norms, squares = seen.view.tilted(t)
        return float(np.average(squares / norms, weights=seen.view.weights))

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        return f"predictions are too wide: variances are {self.sized(seen, sibling, fit)} times those predicted"
