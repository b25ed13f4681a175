"""Faults of predicted numbers, on the scale of their standard scores z."""

from collections.abc import Callable
from math import exp, inf, log, sqrt
from typing import TYPE_CHECKING

import numpy as np

from caltest._basics.types import Array, FloatArray
from caltest.predictions.faults.fault import Fault, Faults, Fit, OfPatterns, weights_or_ones
from caltest.predictions.faults.features import Pattern, cosines, halves, ranks, varies
from caltest.predictions.faults.scores import Scores
from caltest.predictions.faults.shapes import Factor, HeavyTails, LightTails, Outliers, Skew
from caltest.predictions.faults.wording import about, sized, sized_shift

if TYPE_CHECKING:
    from caltest.predictions.base import Predictions


class NumberFaults(Faults):
    """Those of continuous distributions, or with scores that are none of normal ones only shifts and scales.

    Features of the predictions are the mean (or the median where there is no mean) and the variance.
    """

    def __init__(self, predictions: "Predictions", weights: FloatArray | None = None) -> None:
        law = predictions.law
        mean, variance = _location_and_variance(predictions)
        self._law, self.weights, self._spread = law, weights_or_ones(weights, len(law)), variance > 0.0
        one = np.ones((1, len(law)))
        everywhere = np.concatenate([one, cosines(mean, 3), cosines(variance, 2)])
        some = np.concatenate([one, cosines(mean, 1)])
        places = [Pattern(one[0]), *halves(mean, "predicted means"), *halves(variance, "predicted variances")]
        moved, scaled = Shift(places[:1], everywhere * self.weights), Scale(places[:1], everywhere * self.weights)
        members: list[Fault[Scores]] = [moved, scaled]
        # What a pool has in common with its outcome would look like a place.
        if law.pool_size is None:
            if places[1:]:
                members += [Shift(places[1:], kind="local shift"), Scale(places[1:], kind="local scale")]
            if varies(mean):
                members.append(Slope([Pattern(sqrt(3.0) * (2.0 * ranks(mean) - 1.0))]))
        if law.has_normal_scores:
            members += [Skew(some * self.weights), HeavyTails(some * self.weights), LightTails(), Outliers()]
            if getattr(law, "support", (-inf, inf))[0] == 0.0:
                members.append(Factor())
        self.members = tuple(members)

    def seen(self, targets: Array) -> Scores:
        return Scores(self._law, targets, self.weights, self._spread)


def _location_and_variance(predictions: "Predictions") -> tuple[FloatArray, FloatArray]:
    """Means and variances (n,); medians and ones where there are no moments."""
    try:
        mean, variance = predictions.moments()
    except TypeError:
        return predictions.quantile(0.5), np.ones(len(predictions))
    return mean.reshape(len(predictions)), variance


class OfResiduals(OfPatterns[Scores]):
    """A fault of residuals."""

    range = (-inf, inf)

    def own(self, seen: Scores, sibling: int) -> FloatArray:
        """The residuals that it changes, of one coordinate or more, (c, n)."""
        return seen.residuals[None]

    def promising(self, seen: Scores) -> FloatArray:
        """Minus infinity for patterns of none of the observations."""
        return np.array([0.0 if seen.weights @ np.abs(one.signs) > 0.0 else -inf for one in self.patterns])


class Shift(OfResiduals):
    """``z ~ N(t s, 1)`` with the signs s of a pattern: outcomes that are too high or too low."""

    kind = "shift"
    weight = 2.0

    def rows(self, seen: Scores) -> FloatArray:
        """The first Hermite polynomial times features."""
        return by_features(self.features, seen.clipped)

    def bounds(self, seen: Scores, sibling: int) -> tuple[float, float]:
        """Around the mean of the residuals."""
        signs = self.patterns[sibling].signs
        w = seen.weights * signs
        total = max(float(w @ signs), 1e-300)
        most, reach = float(w @ self.own(seen, sibling)[0]) / total, 10.0 / sqrt(total)
        return min(most, 0.0) - reach, max(most, 0.0) + reach

    def log_ratio(self, seen: Scores, sibling: int, t: float) -> float:
        own = self.own(seen, sibling)[0]
        moved = own - t * self.patterns[sibling].signs
        return float(seen.weights @ (seen.log_kernel(moved) - seen.log_kernel(own)))

    def size(self, seen: Scores, sibling: int, t: float) -> float:
        """In predicted standard deviations, with its direction."""
        return seen.unit * self.patterns[sibling].sign * t

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        one = self.patterns[sibling]
        side = one.direction(fit.t, "above", "below")
        rest = one.opposite(f"as much {'below' if side == 'above' else 'above'} it elsewhere")
        much = f"{sized_shift(fit, seen.unit)} predicted standard deviations"
        return f"outcomes are {side} what was predicted{one.where}, by {much}{rest}"


class Slope(Shift):
    """Outcomes that rise more, or less, than the predicted means."""

    kind = "slope"

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        high, low = ("high", "low") if fit.t > 0.0 else ("low", "high")
        much = f"{sized_shift(fit, sqrt(3.0) * seen.unit)} predicted standard deviations"
        ends = f"by {much}, and as much too {low} where they are smallest"
        return f"outcomes are too {high} where predicted means are largest, {ends}"


class Scale(OfResiduals):
    """``z ~ N(0, exp(2 t s))`` with the signs s of a pattern: errors that are too large or too small."""

    kind = "scale"
    weight = 2.0

    def rows(self, seen: Scores) -> FloatArray:
        """The second Hermite polynomial, but for its constant, times features."""
        return by_features(self.features, np.square(seen.clipped))

    def bounds(self, seen: Scores, sibling: int) -> tuple[float, float]:
        """Around the logarithms of the root mean squares of each sign."""
        signs, squares = self.patterns[sibling].signs, np.square(self.own(seen, sibling)).mean(axis=0)
        ends = [0.0]
        for sign in (1.0, -1.0):
            w = seen.weights * (signs == sign)
            if w.any():
                ends.append(sign * 0.5 * log(max(float(w @ squares) / w.sum(), 1e-300)))
        return min(ends) - 1.0, max(ends) + 1.0

    def log_ratio(self, seen: Scores, sibling: int, t: float) -> float:
        own, logs = self.own(seen, sibling), t * self.patterns[sibling].signs
        terms = seen.log_kernel(own * np.exp(-logs)) - seen.log_kernel(own) - logs
        return float(seen.weights @ terms.sum(axis=0))

    def size(self, seen: Scores, sibling: int, t: float) -> float:
        """The ratio of errors to those predicted."""
        return seen.ratio(t * self.patterns[sibling].sign)

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        return scale_in_words(self.patterns[sibling], fit, seen.ratio)


def scale_in_words(pattern: Pattern, fit: Fit, ratio: Callable[[float], float] = exp) -> str:
    """That errors are larger than predicted, or smaller, and where; ``ratio`` is that of errors for a log scale."""
    size = ratio(pattern.sign * fit.t)
    much = f"{sized(fit, lambda t: ratio(pattern.sign * t))} times as large as predicted"
    rest = pattern.opposite(f"{about(ratio(-pattern.sign * fit.t))} times elsewhere")
    return f"predictions are too {'narrow' if size > 1.0 else 'wide'}{pattern.where}: errors are {much}{rest}"


def by_features(features: FloatArray, scores: FloatArray) -> FloatArray:
    """``sum_i f_ji z_bi`` for features (J, n) and scores (B, n), (J, B); of scores (B, n, d) each, (J d, B)."""
    if scores.ndim == 2:
        return np.asarray(features @ scores.T)
    return np.concatenate((features @ scores).transpose(1, 2, 0))
