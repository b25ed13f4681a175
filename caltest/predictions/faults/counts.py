"""Faults of predicted counts."""

from dataclasses import dataclass
from functools import cached_property, partial
from math import exp
from typing import ClassVar

import numpy as np

from caltest._basics.numerics import Array, FloatArray
from caltest.predictions.counts.law import CountPredictions
from caltest.predictions.faults.fault import (
    Fault,
    Faults,
    Fit,
    Pattern,
    RowsOf,
    about,
    cosines,
    count,
    halves,
    percent,
    sized,
    varies,
    weights_or_ones,
)
from caltest.predictions.faults.scores import CLIPPED

LEAST_ZERO = 1e-6
"""Predicted probabilities of 0 below which zeros have no row."""


class CountView:
    """Means, standard deviations and probabilities of 0 of n predictions, and weights."""

    def __init__(
        self, law: CountPredictions, weights: FloatArray | None, among: CountPredictions | None = None
    ) -> None:
        self.law, self.weights = law, weights_or_ones(weights, len(law))
        self.mean, self.deviation = law.mean, np.sqrt(law.variance)
        with np.errstate(under="ignore"):
            self.zero = np.exp(law.log_probabilities(np.zeros(1))[..., 0])
        means, w = (self.mean, self.weights * self.mean) if among is None else (among.mean, among.mean)
        self.features = np.concatenate([np.ones((1, len(law))), cosines(self.mean, 3, among=means)]) * self.weights
        middle = (w @ _log(means)) / max(float(w.sum()), 1e-300)
        self.log_mean = np.where(self.mean > 0.0, _log(self.mean) - middle, 0.0)


def _log(means: FloatArray) -> FloatArray:
    return np.asarray(np.log(np.where(means > 0.0, means, 1.0)))


@dataclass
class Counts:
    """Counts (B, n)."""

    view: CountView
    targets: Array

    @cached_property
    def differences(self) -> FloatArray:
        """``y - m``, (B, n)."""
        return np.asarray(self.targets - self.view.mean)

    @cached_property
    def residuals(self) -> FloatArray:
        """In predicted standard deviations, for the rows."""
        scale = self.view.deviation
        ratios = np.divide(self.differences, scale, out=np.zeros_like(self.differences), where=scale > 0.0)
        return np.clip(ratios, -CLIPPED, CLIPPED)

    @cached_property
    def is_zero(self) -> FloatArray:
        """1 where the count is 0."""
        return np.asarray(self.targets == 0, dtype=np.float64)

    @cached_property
    def first(self) -> Array:
        """Counts (n,) of the first targets."""
        return np.asarray(self.targets[0].astype(np.int64))

    @cached_property
    def log_probabilities(self) -> FloatArray:
        """Those of the first targets."""
        return self.view.law.log_density(self.first)

    def log_ratio(self, law: CountPredictions | None) -> FloatArray:
        """``log Q(y) / P(y)`` of the first targets, (n,)."""
        assert law is not None
        return law.log_density(self.first) - self.log_probabilities


class CountFaults(Faults):
    """Means, dispersion and zeros."""

    def __init__(
        self, law: CountPredictions, weights: FloatArray | None = None, among: CountPredictions | None = None
    ) -> None:
        self.view = view = CountView(law, weights, among)
        self.weights = view.weights
        everywhere, places = [Pattern(np.ones(len(law)))], halves(view.mean, "predicted means")
        whole = Factor(view, everywhere)
        members: list[Fault[Counts]] = [whole, Spread(view), Narrow(view), Zeros(view), MeanKept(view)]
        if places:
            members.append(Factor(view, places, "local factor"))
        if varies(view.log_mean):
            members.append(Elasticity(view))
        self.members = (*members, RowsOf("skewness", 1, partial(_cubes, view.weights)))

    def seen(self, targets: Array) -> Counts:
        return Counts(self.view, targets)


def _cubes(weights: FloatArray, seen: Counts) -> FloatArray:
    return np.asarray((seen.residuals**3 @ weights)[None])


class CountFault(Fault[Counts]):
    """A fault of the counts of a view, with a likelihood unless the family does not know its other members."""

    of_family: ClassVar[bool] = True

    def __init__(self, view: CountView) -> None:
        self.view = view
        self.has_likelihood = not self.of_family or view.law.with_mean(view.mean) is not None


class Factor(CountFault):
    """Means that are exp(t s) times as large, with the signs s of a pattern."""

    kind = "factor"
    weight = 2.0
    rows_name = "means"
    range = (-8.0, 8.0)
    n_rows = 6

    def __init__(self, view: CountView, patterns: list[Pattern], kind: str = "") -> None:
        super().__init__(view)
        self._patterns, self.n_siblings = patterns, len(patterns)
        if kind:
            self.kind, self.weight, self.n_rows = kind, 0.0, 0

    def rows(self, seen: Counts) -> FloatArray:
        """Residuals times features, and differences times the logarithms of the means."""
        view, w = self.view, self.view.weights
        rows = [view.features @ seen.residuals.T, (seen.differences @ w)[None]]
        return np.concatenate([*rows, (seen.differences @ (w * view.log_mean))[None]])

    def log_ratio(self, seen: Counts, sibling: int, t: float) -> float:
        view = self.view
        law = view.law.with_mean(view.mean * np.exp(t * self._patterns[sibling].signs))
        return float(view.weights @ seen.log_ratio(law))

    def size(self, seen: Counts, sibling: int, t: float) -> float:
        """The factor at the place that is named."""
        return exp(self._patterns[sibling].sign * t)

    def place(self, sibling: int) -> str:
        return self._patterns[sibling].where.strip()

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        one = self._patterns[sibling]
        size = self.size(seen, sibling, fit.t)
        much = f"{sized(fit, lambda t: self.size(seen, sibling, t))} times as large as predicted"
        return f"counts are {much} on average{one.where}" + one.opposite(f"{about(1.0 / size)} times elsewhere")


class Elasticity(CountFault):
    """Means ``m (m / mean)**t``."""

    kind = "elasticity"
    range = (-2.0, 4.0)

    def log_ratio(self, seen: Counts, sibling: int, t: float) -> float:
        view = self.view
        return float(view.weights @ seen.log_ratio(view.law.with_mean(view.mean * np.exp(t * view.log_mean))))

    def size(self, seen: Counts, sibling: int, t: float) -> float:
        """The power of the predicted means."""
        return 1.0 + t

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        more = "more" if fit.t > 0.0 else "less"
        power = sized(fit, lambda t: 1.0 + t)
        return f"counts rise {more} than predicted: as the power {power} of predicted means"


class Spread(CountFault):
    """Larger or smaller dispersion: negative binomial counts of another size."""

    kind = "dispersion"
    weight = 2.0
    rows_name = "spreads"
    n_rows = 5

    def __init__(self, view: CountView) -> None:
        super().__init__(view)
        # Of Poisson counts the dispersion can only be larger: its logarithm is t.
        self._dispersion = view.law.dispersion
        self.range = (-12.0, 6.0) if self._dispersion is None else (-5.0, 5.0)

    def rows(self, seen: Counts) -> FloatArray:
        """Squared residuals times features, and squared differences."""
        w = self.view.weights
        squares = np.square(seen.differences) - seen.targets
        return np.concatenate([self.view.features @ np.square(seen.residuals).T, (squares @ w)[None]])

    def _dispersions(self, t: float) -> FloatArray:
        own = self._dispersion
        return np.full(len(self.view.mean), exp(t)) if own is None else own * exp(t)

    def log_ratio(self, seen: Counts, sibling: int, t: float) -> float:
        view = self.view
        return float(view.weights @ seen.log_ratio(view.law.with_dispersion(self._dispersions(t))))

    def size(self, seen: Counts, sibling: int, t: float) -> float:
        """The dispersion, or its ratio to that predicted."""
        return exp(t)

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        view, w = self.view, self.view.weights
        variance = view.mean + self._dispersions(fit.t) * np.square(view.mean)
        times = about(float(w @ variance / (w @ np.square(view.deviation))))
        much = sized(fit, exp)
        if self._dispersion is None:
            return (
                f"predictions are too narrow: variance = mean + {much} mean^2, {times} times that predicted on average"
            )
        wrong = "narrow" if fit.t > 0.0 else "wide"
        return (
            f"predictions are too {wrong}: the dispersion is {much} times that predicted, and variances are {times} "
            "times those predicted on average"
        )


class Narrow(CountFault):
    """``Q ~ P exp(-t (y - m)**2 / v)``: counts that vary less than predicted."""

    kind = "too wide"
    of_family = False
    range = (0.0, 20.0)

    def log_ratio(self, seen: Counts, sibling: int, t: float) -> float:
        view = self.view
        squares = self._squares(seen.first)
        return float(view.weights @ (-t * squares - np.log(self._norms(t)[0])))

    def _squares(self, counts: Array) -> FloatArray:
        v = np.square(self.view.deviation)
        return np.divide(np.square(counts - self.view.mean), v, out=np.zeros(len(v)), where=v > 0.0)

    @cached_property
    def _table(self) -> tuple[FloatArray, FloatArray]:
        """Probabilities of the counts of the window, and their squared residuals, (n, U)."""
        law, v = self.view.law, np.square(self.view.deviation)[:, None]
        first, stop = law.window
        squares = np.square(np.arange(first, stop) - self.view.mean[:, None])
        return law.probability_vectors(), np.divide(squares, v, out=np.zeros_like(squares), where=v > 0.0)

    def _norms(self, t: float) -> tuple[FloatArray, FloatArray]:
        """Sums of the tilted probabilities, and of them times the squared residuals, (n,)."""
        p, squares = self._table
        tilted = p * np.exp(-t * squares)
        return np.maximum(tilted.sum(axis=1), 1e-300), (tilted * squares).sum(axis=1)

    def size(self, seen: Counts, sibling: int, t: float) -> float:
        """The variance in units of that predicted."""
        norms, squares = self._norms(t)
        return float(np.average(squares / norms, weights=self.view.weights))

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        ratio = f"{sized(fit, lambda t: self.size(seen, 0, t))} times those predicted"
        return f"predictions are too wide: variances are {ratio}"


class Zeros(CountFault):
    """``Q = (1 - t) P + t 1{0}``: zeros that come from elsewhere."""

    kind = "zeros"
    of_family = False
    weight = 1.0
    range = (0.0, 1.0)
    n_rows = 5

    def rows(self, seen: Counts) -> FloatArray:
        """Zeros, in units of their standard deviation times features, and their number."""
        view = self.view
        scale = np.sqrt(view.zero * (1.0 - view.zero))
        per_scale = np.divide(1.0, scale, out=np.zeros_like(scale), where=(view.zero > LEAST_ZERO) & (scale > 0.0))
        zeros = seen.is_zero
        return np.concatenate([(view.features * per_scale) @ (zeros - view.zero).T, (zeros @ view.weights)[None]])

    def log_ratio(self, seen: Counts, sibling: int, t: float) -> float:
        return self._mixed(seen, t, np.zeros(len(seen.first)))

    def _mixed(self, seen: Counts, t: float, log_ratios: FloatArray) -> float:
        """Of counts that are 0 with probability t, and else follow a law with some log likelihood ratios."""
        logs = np.log1p(-t) + log_ratios
        zero = seen.is_zero[0] > 0.0
        logs[zero] = np.logaddexp(logs[zero], np.log(t) - seen.log_probabilities[zero])
        return float(self.view.weights @ logs)

    def words(self, seen: Counts, sibling: int, fit: Fit) -> str:
        view = self.view
        found, expected = float(seen.is_zero[0] @ view.weights), float(view.zero @ view.weights)
        much = f"about {sized(fit, lambda t: t, percent)} of the counts are 0 whatever is predicted"
        return f"there are too many zeros: {count(found)} instead of {count(expected)}; {much}{self._rest(fit.t)}"

    def _rest(self, t: float) -> str:
        return ""


class MeanKept(Zeros):
    """The same with a mean m / (1 - t) of the others, so that the mean is as predicted."""

    kind = "zeros, mean kept"
    of_family = True
    weight = 0.0
    range = (0.0, 0.99)
    n_rows = 0

    def log_ratio(self, seen: Counts, sibling: int, t: float) -> float:
        law = self.view.law.with_mean(self.view.mean / (1.0 - t))
        return self._mixed(seen, t, seen.log_ratio(law))

    def _rest(self, t: float) -> str:
        return f", and the others {about(1.0 / (1.0 - t))} times as large"
