"""Faults of ordered classes, and of intervals between quantiles: on a normal scale behind the classes."""

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property, partial
from itertools import combinations
from math import exp, sqrt
from typing import Any

import numpy as np
import scipy

from caltest._basics.calls import kept
from caltest._basics.numerics import Array, FloatArray
from caltest.predictions.faults.classes.labels import ClassFault, ClassView, LabelFaults, Labels, MixedLabels, remaining
from caltest.predictions.faults.classes.several import ClassFaults, totals
from caltest.predictions.faults.fault import Fault, Products, Rows, cosines, ranks, varies
from caltest.predictions.faults.numbers.errors import bend_in_words, scale_in_words
from caltest.predictions.faults.patterns import OfBends, OfPatterns, Pattern, bends, ends, halves, promise_of_bends
from caltest.predictions.faults.waves import (
    FASTEST,
    WEIGHT_OF_WAVES,
    Wave,
    choices,
    following,
    scales_in_places,
    shifts_in_places,
)
from caltest.predictions.faults.words import Fit, percent, sized_shift
from caltest.predictions.quantile_forecast import QuantileForecast

LARGEST = 8.0
"""Scores behind the first and the last class are at most this large in the middle of their probability."""


Named = dict[str, FloatArray]
"""Features (n,) of predictions by their names."""


class Latent:
    """Normal scores of ordered outcomes, features of the predictions, and halves of these with their names.

    Ranks of features can be those among other predictions.
    """

    def __init__(self, view: ClassView, features: Named, among: Named | None = None) -> None:
        self.view = view
        one = np.ones((1, view.n))
        others = among or {}
        lines = [cosines(feature, FASTEST, among=others.get(name)) for name, feature in features.items()]
        self.features = np.concatenate([one, *(some[:2] for some in lines)]) * view.weights
        self._fast = np.concatenate([some[2:] for some in lines]) * view.weights
        self._named = features
        self.everywhere = [Pattern(one[0])]
        self._places = [
            one for find in (halves, ends) for name, feature in features.items() for one in find(feature, name)
        ]

    @property
    def kinds(self) -> tuple[Fault[Labels], ...]:
        """Shift and scale, everywhere and in halves."""
        kinds = LatentShift(self, self.everywhere), LatentScale(self, self.everywhere)
        if not self._places:
            return kinds
        places, (name, feature) = self._places, next(iter(self._named.items()))
        slopes: tuple[LatentShift, ...] = (LatentSlope(self, feature, name),) if varies(feature) else ()
        if bent := bends(feature, name):
            slopes += (LatentBend(self, bent),)
        return *kinds, LatentShift(self, places, "local shift"), LatentScale(self, places, "local scale"), *slopes

    @property
    def compared(self) -> tuple[Rows[Labels], ...]:
        """Powers of the scores of the outcomes times features."""
        scores, squares, cubes = (partial(self.scores_of, power=power) for power in (1, 2, 3))
        return (
            Products("shift", self.features, scores, 2.0),
            Rows("scale", len(self.features) + 2, self.sums_of_squares, 2.0),
            Products("skewness", self.features[:2], cubes),
            Products("waves of shifts", self._fast, scores, WEIGHT_OF_WAVES),
            Products("waves of scales", self._fast, squares, WEIGHT_OF_WAVES),
        )

    def following(self, targets: Array) -> Sequence[Fault[Labels]]:
        """The waves of the features that scores of targets (n,), and their squares, follow."""
        z, w = self.scores[np.arange(self.view.n), targets], self.view.weights
        terms = np.stack([w * z, w * (np.square(z) - 1.0)])
        found = [some for name, feature in self._named.items() if (some := following(terms, feature, name, 2))]
        kinds: list[Fault[Labels]] = []
        for make, waves in zip((LatentShiftWave, LatentScaleWave), zip(*found, strict=True), strict=False):
            kinds.append(make(self, waves))
            kinds[-1].n_choices = choices(waves, w)
        return kinds

    def scores_of(self, seen: Labels, power: int = 1) -> FloatArray:
        """Powers of the scores of the labels, (B, n)."""
        return np.asarray(self.scores[np.arange(self.view.n), seen.labels] ** power)

    def sums_of_squares(self, seen: Labels) -> FloatArray:
        """Squares of the scores times features, and those on either side."""
        z = self.scores_of(seen)
        squares, w = np.square(z), self.view.weights
        above = (squares * (z > 0.0)) @ w
        return np.concatenate([self.features @ squares.T, above[None], (squares @ w - above)[None]])

    @cached_property
    def edges(self) -> FloatArray:
        """Normal scores of the ends of the classes, (n, k + 1), of which the first and the last are infinite."""
        cumulative = np.cumsum(self.view.p, axis=1)
        from_above = np.cumsum(self.view.p[:, ::-1], axis=1)[:, ::-1]
        below, above = scipy.special.ndtri(cumulative[:, :-1]), -scipy.special.ndtri(from_above[:, 1:])
        inner = np.where(cumulative[:, :-1] <= 0.5, below, above)
        end = np.full((self.view.n, 1), np.inf)
        return np.concatenate([-end, inner, end], axis=1)

    @cached_property
    def scores(self) -> FloatArray:
        """Scores of the classes (n, k), of mean 0 and variance 1 under the predictions."""
        p = self.view.p
        middles = np.clip(scipy.special.ndtri(np.clip(np.cumsum(p, axis=1) - p / 2.0, 0.0, 1.0)), -LARGEST, LARGEST)
        middles -= np.sum(p * middles, axis=1, keepdims=True)
        deviations = np.sqrt(np.sum(p * np.square(middles), axis=1, keepdims=True))
        return np.asarray(np.divide(middles, deviations, out=np.zeros_like(middles), where=deviations > 1e-12))


def normal_between(low: FloatArray, high: FloatArray) -> FloatArray:
    """Standard normal probability of intervals, with its digits in both tails."""
    mirrored = low > 0.0
    a, b = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    return np.asarray(scipy.special.ndtr(b) - scipy.special.ndtr(a))


class OrderedFaults(ClassFaults):
    """Those of classes, and shifts, scales and steps along their order."""

    are_sums = False
    have_order = True

    def _fill(self) -> None:
        super()._fill()
        view = self.view
        among = None if view.among is None else _moments(view.among)
        self._latent = latent = Latent(view, _moments(view.origin), among)
        self.kinds = (*self.kinds, *latent.kinds, Step(view, 3))
        self.compared = (*self.compared, *latent.compared)

    def following(self, targets: Array) -> Sequence[Fault[Any]]:
        return *super().following(targets), *self._latent.following(targets)


def _moments(view: ClassView) -> Named:
    positions = view.law.positions
    mean = view.p @ positions
    deviation = np.sqrt(np.maximum(view.p @ np.square(positions) - mean**2, 0.0))
    return {"expected classes": mean, "predicted standard deviations": deviation}


class OfScores(OfPatterns[Labels], ClassFault):
    """A fault of the scores behind ordered outcomes."""

    def __init__(self, latent: Latent, patterns: Sequence[Pattern], kind: str = "") -> None:
        super().__init__(patterns, kind)
        self.view, self._latent = latent.view, latent

    @abstractmethod
    def moved(self, scores: FloatArray, sibling: int, t: float) -> FloatArray:
        """What is standard normal in the place of scores (n,)."""

    def log_ratio(self, seen: Labels, sibling: int, t: float) -> float:
        rows, latent = np.arange(seen.view.n), self._latent
        low, high = (self.moved(latent.edges[rows, seen.first + end], sibling, t) for end in (0, 1))
        probabilities = np.maximum(normal_between(low, high), 1e-300)
        return float(seen.view.weights @ (np.log(probabilities) - np.log(seen.probabilities)))

    def law(self, seen: Labels, sibling: int, t: float) -> FloatArray:
        edges = np.stack([self.moved(edge, sibling, t) for edge in self._latent.edges.T], axis=1)
        return normal_between(edges[:, :-1], edges[:, 1:])


class LatentShift(OfScores):
    """``F = Phi(Phi^-1(F_c) - t s)`` with the signs s of a pattern: outcomes higher or lower than predicted."""

    kind = "shift"
    range = (-6.0, 6.0)
    unit = "predicted standard deviations"

    def moved(self, scores: FloatArray, sibling: int, t: float) -> FloatArray:
        return scores - t * self.patterns[sibling].signs

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        size = sized_shift(fit, lambda t: self.size(seen, sibling, t))
        much = f"{'' if size.startswith('at ') else 'about '}{size} {self.unit}"
        one = self.patterns[sibling]
        side = one.direction(fit.t, "higher", "lower")
        rest = one.opposite("as much the other way elsewhere")
        return f"outcomes are {side} than predicted{one.where}, by {much}{rest}"


class LatentShiftWave(LatentShift):
    """Outcomes that are too high for some predictions and too low for others, with a wave of the predictions."""

    kind = "wave of shifts"
    patterns: Sequence[Wave]

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        z = self._latent.scores_of(seen)[0]
        return f"outcomes are off in places{shifts_in_places(self.patterns[sibling], z, seen.view.weights, self.unit)}"


class LatentSlope(LatentShift):
    """Outcomes that rise more, or less, than the ranks of a feature of the predictions."""

    kind = "slope"

    def __init__(self, latent: Latent, feature: FloatArray, name: str) -> None:
        self._name = name
        super().__init__(latent, [Pattern(sqrt(3.0) * (2.0 * ranks(feature) - 1.0))])

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        high, low = ("high", "low") if fit.t > 0.0 else ("low", "high")
        much = f"about {sized_shift(fit, lambda t: sqrt(3.0) * t)} {self.unit}"
        ends = f"by {much}, and as much too {low} where they are smallest"
        return f"outcomes are too {high} where {self._name} are largest, {ends}"


class LatentBend(OfBends[Labels], LatentShift):
    """Outcomes that are too high, or too low, the more the nearer a feature is to an end, from a knot on."""

    kind = "local slope"

    def promising(self, seen: Labels) -> FloatArray:
        return promise_of_bends(self.patterns, self._latent.scores_of(seen)[0], seen.view.weights)

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        much = f"about {sized_shift(fit)} {self.unit}"
        return bend_in_words(fit, much, self.patterns[sibling])


class LatentShiftInUnits(LatentShift):
    """The same by one amount in the units of the outcomes, for deviations (n,) of the predictions."""

    kind = "shift in units"
    unit = "in their units, whatever the predicted width"

    def __init__(self, latent: Latent, deviations: FloatArray) -> None:
        self._unit = float(np.median(deviations))
        super().__init__(latent, [Pattern(self._unit / deviations)])

    def size(self, seen: Labels, sibling: int, t: float) -> float:
        return self._unit * t


class LatentScale(OfScores):
    """``F = Phi(Phi^-1(F_c) exp(-t s))``: errors larger or smaller than predicted."""

    kind = "scale"
    is_factor = True
    range = (-3.0, 3.0)

    def moved(self, scores: FloatArray, sibling: int, t: float) -> FloatArray:
        return np.asarray(scores * np.exp(-t * self.patterns[sibling].signs))

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        return scale_in_words(self.patterns[sibling], fit)


class LatentScaleWave(LatentScale):
    """Errors that are too large for some predictions and too small for others, with a wave of the predictions."""

    kind = "wave of scales"
    range = (-1.0, 1.0)
    patterns: Sequence[Wave]

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        z = self._latent.scores_of(seen)[0]
        where = scales_in_places(self.patterns[sibling], z, seen.view.weights)
        return f"predictions are too narrow or too wide in places{where}"


class Step(MixedLabels):
    """A share t of each class moves to the next one above, or below, or half of it either way; what is last stays."""

    kind = "step"

    @kept
    def _moved(self, sibling: int) -> FloatArray:
        """Probabilities (n, k) if all moves."""
        p = self.view.p
        up, down = np.roll(p, 1, axis=1), np.roll(p, -1, axis=1)
        up[:, 0], down[:, -1] = 0.0, 0.0
        up[:, -1] += p[:, -1]
        down[:, 0] += p[:, 0]
        return np.asarray((up, down, 0.5 * (up + down))[sibling])

    def mixed(self, seen: Labels, sibling: int) -> FloatArray:
        return self._moved(sibling)

    def place(self, sibling: int) -> str:
        return ("higher", "lower", "higher or lower")[sibling]

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        much = f"about {self.sized(seen, sibling, fit, percent)} of the outcomes"
        return f"{much} are one class {self.place(sibling)} than predicted"


class QuantileFaults(LabelFaults):
    """Shift and scale behind the intervals, everywhere, in halves and on one side, single levels, and coverage."""

    def _fill(self) -> None:
        view, law = self.view, self.view.law
        assert isinstance(law, QuantileForecast)
        among = None if view.among is None else _middles_and_widths(view.among.law)
        self._latent = latent = Latent(view, _middles_and_widths(law), among)
        levels = law.levels
        self.kinds = (*latent.kinds, OneSide(latent))
        ends, width = scipy.special.ndtri(levels[[0, -1]]), _middles_and_widths(law)["predicted widths"]
        if ends[1] > ends[0] and (width > 0.0).all() and varies(width):
            self.kinds += (LatentShiftInUnits(latent, width / (ends[1] - ends[0])),)
        if view.origin is view:  # Quantiles that are corrected have other levels, which differ between predictions.
            self.kinds += (Level(levels), *([Coverage(levels)] if levels.size > 1 else []))
        self.compared = (totals(view), *latent.compared)

    def following(self, targets: Array) -> Sequence[Fault[Any]]:
        return self._latent.following(targets)


def _middles_and_widths(law: Any) -> Named:
    values = law.values
    with np.errstate(over="ignore"):
        width = values[:, -1] - values[:, 0]
    return {"middle quantiles": values[:, values.shape[1] // 2], "predicted widths": width}


class OneSide(LatentScale):
    """Errors above, or below, the median that are larger or smaller than predicted."""

    def __init__(self, latent: Latent) -> None:
        super().__init__(latent, 2 * latent.everywhere, "scale of one side")

    def moved(self, scores: FloatArray, sibling: int, t: float) -> FloatArray:
        side = 1.0 if sibling == 0 else -1.0
        return np.where(side * scores > 0.0, scores * exp(-t), scores)

    def place(self, sibling: int) -> str:
        return ("above", "below")[sibling]

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        whole = scale_in_words(self.patterns[0], fit)
        return whole.replace(": errors are", f" {self.place(sibling)} the median: errors there are")


class Level(Fault[Labels]):
    """The level of one of the quantiles is larger by t: outcomes next to it are below it instead of above it."""

    kind = "level"
    scope = "places"
    range = (-1.0, 1.0)

    def __init__(self, levels: FloatArray) -> None:
        self._levels, self.n_siblings = levels, levels.size
        self._p = np.diff(np.concatenate([[0.0], levels, [1.0]]))

    def bounds(self, seen: Labels, sibling: int) -> tuple[float, float]:
        return -float(self._p[sibling]), float(self._p[sibling + 1])

    def log_ratio(self, seen: Labels, sibling: int, t: float) -> float:
        p, counts = self._p, seen.counts
        below = remaining(float(counts[sibling]), -t / p[sibling])
        return below + remaining(float(counts[sibling + 1]), t / p[sibling + 1])

    def size(self, seen: Labels, sibling: int, t: float) -> float:
        return float(self._levels[sibling] + t)

    def place(self, sibling: int) -> str:
        return f"the {percent(float(self._levels[sibling]))} quantile"

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        share = self.sized(seen, sibling, fit, percent)
        wrong = "high" if fit.t > 0.0 else "low"
        return f"{self.place(sibling)} is too {wrong}: {share} of the outcomes are below it"


class Coverage(Fault[Labels]):
    """``Q ~ P exp(t)`` between two quantiles: of the levels l and 1 - l, or any two if not all have such another."""

    kind = "coverage"
    scope = "places"
    range = (-8.0, 8.0)

    def __init__(self, levels: FloatArray) -> None:
        n, mirrored = levels.size, np.allclose(levels, 1.0 - levels[::-1], rtol=0.0, atol=1e-9)
        self._levels, self._pairs = levels, list(combinations(range(n), 2))
        if mirrored:
            self._pairs = [(j, n - 1 - j) for j in range(n // 2)]
        self.n_siblings = len(self._pairs)

    def _nominal(self, sibling: int) -> float:
        low, high = self._pairs[sibling]
        return float(self._levels[high] - self._levels[low])

    def log_ratio(self, seen: Labels, sibling: int, t: float) -> float:
        low, high = self._pairs[sibling]
        inside, whole = float(seen.counts[low + 1 : high + 1].sum()), float(seen.counts.sum())
        return float(t * inside - whole * np.log1p(self._nominal(sibling) * np.expm1(t)))

    def size(self, seen: Labels, sibling: int, t: float) -> float:
        nominal = self._nominal(sibling)
        return float(nominal * np.exp(t) / (1.0 + nominal * np.expm1(t)))

    def place(self, sibling: int) -> str:
        low, high = (percent(float(self._levels[j])) for j in self._pairs[sibling])
        return f"the interval from {low} to {high}"

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        covered, nominal = self.sized(seen, sibling, fit, percent), percent(self._nominal(sibling))
        wrong = "wide" if fit.t > 0.0 else "narrow"
        return f"{self.place(sibling)} is too {wrong}: it covers {covered} instead of {nominal}"
