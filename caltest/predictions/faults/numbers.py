"""Faults of predicted numbers, on the scale of their standard scores z."""

from dataclasses import dataclass
from functools import cached_property
from math import exp, inf, log, sqrt
from typing import TYPE_CHECKING

import numpy as np

from caltest._basics.types import Array, BoolArray, FloatArray
from caltest.predictions.faults.fault import Fault, Faults, Fit, weights_or_ones
from caltest.predictions.faults.features import Pattern, cosines, halves, ranks, varies
from caltest.predictions.faults.shapes import Factor, HeavyTails, LightTails, Outliers, Skew
from caltest.predictions.faults.wording import about, span

if TYPE_CHECKING:
    from caltest.predictions.base import Predictions

CLIPPED = 6.0
"""Scores of targets are at most this large in rows, so that a few redraws know their spread."""


@dataclass
class Scores:
    """Targets (B, n) on the scale of their standard scores."""

    law: "Predictions"
    targets: Array
    weights: FloatArray

    @cached_property
    def z(self) -> FloatArray:
        """The scores, (B, n)."""
        return self.law.standard_scores(self.targets)

    @cached_property
    def clipped(self) -> FloatArray:
        """Scores for the rows."""
        return np.clip(self.z, -CLIPPED, CLIPPED)

    @cached_property
    def first(self) -> FloatArray:
        """Scores (n,) of the first targets."""
        return np.asarray(self.z[0])

    @cached_property
    def squares(self) -> FloatArray:
        """Their squares."""
        return np.square(self.first)

    @cached_property
    def centred_levels(self) -> FloatArray:
        """``2 F(y) - 1``, (B, n)."""
        from scipy.special import erf

        return np.asarray(erf(self.clipped * sqrt(0.5)))

    @cached_property
    def log_densities(self) -> FloatArray:
        """``log p(y)`` of the first targets."""
        return self.law.log_density(self.targets[0])

    def share_of(self, some: BoolArray) -> float:
        """Share of the weight of some observations (n,)."""
        return float(self.weights @ some / self.weights.sum())


class NumberFaults(Faults):
    """Those of continuous distributions, or with scores that are none of normal ones only shifts and scales.

    Features of the predictions are the mean (or the median where there is no mean) and the variance.
    """

    def __init__(
        self, predictions: "Predictions", weights: FloatArray | None = None, *, has_normal_scores: bool = True
    ) -> None:
        law = predictions.law
        self._law, self.weights = law, weights_or_ones(weights, len(law))
        mean, variance = _location_and_variance(predictions)
        one = np.ones((1, len(law)))
        everywhere = np.concatenate([one, cosines(mean, 3), cosines(variance, 2)])
        some = np.concatenate([one, cosines(mean, 1)])
        places = [Pattern(one[0]), *halves(mean, "predicted means"), *halves(variance, "predicted variances")]
        moved, scaled = Shift(places[:1], everywhere * self.weights), Scale(places[:1], everywhere * self.weights)
        members: list[Fault[Scores]] = [moved, scaled]
        if places[1:]:
            members += [LocalShift(places[1:]), LocalScale(places[1:])]
        if varies(mean):
            members.append(Slope([Pattern(sqrt(3.0) * (2.0 * ranks(mean) - 1.0))]))
        if has_normal_scores:
            members += [Skew(some * self.weights), HeavyTails(some * self.weights), LightTails(), Outliers()]
            if getattr(law, "support", (-inf, inf))[0] == 0.0:
                members.append(Factor())
        self.members = tuple(members)

    def seen(self, targets: Array) -> Scores:
        return Scores(self._law, targets, self.weights)


def _location_and_variance(predictions: "Predictions") -> tuple[FloatArray, FloatArray]:
    """Means and variances (n,), where the first are not finite medians, and the second do not vary."""
    mean, variance = predictions.moments()
    if not np.isfinite(mean).all():
        mean = predictions.quantile(0.5)
    return mean, variance


class _Moved(Fault[Scores]):
    """``z ~ N(t s, 1)`` with the signs s of a pattern."""

    def __init__(self, patterns: list[Pattern], features: FloatArray | None = None) -> None:
        self._patterns, self._features, self.n_siblings = patterns, features, len(patterns)
        self.n_rows = 0 if features is None else len(features)

    kind = "shift"
    range = (-inf, inf)

    def bounds(self, seen: Scores, sibling: int) -> tuple[float, float]:
        """Around the mean of the scores, the most likely t."""
        signs = self._patterns[sibling].signs
        w = seen.weights * signs
        most = float(w @ seen.first / max(float(w @ signs), 1e-300))
        reach = 10.0 / sqrt(max(float(w @ signs), 1e-300))
        return most - reach, most + reach

    def log_ratio(self, seen: Scores, sibling: int, t: float) -> float:
        s = t * self._patterns[sibling].signs
        return float(seen.weights @ (s * seen.first - 0.5 * s * s))

    def place(self, sibling: int) -> str:
        return self._patterns[sibling].where.strip()

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        one = self._patterns[sibling]
        side = one.direction(fit.t, "above", "below")
        rest = one.opposite(f"as much {'below' if side == 'above' else 'above'} it elsewhere")
        return f"outcomes are {side} what was predicted{one.where}, by {_deviations(fit)}{rest}"


def _deviations(fit: Fit) -> str:
    return f"{about(abs(fit.t))} predicted standard deviations ({span(fit, lambda t: t, signed=True)})"


class Shift(_Moved):
    """All outcomes too high or too low."""

    weight = 2.0

    def rows(self, seen: Scores) -> FloatArray:
        """The first Hermite polynomial times features."""
        assert self._features is not None
        return self._features @ seen.clipped.T


class LocalShift(_Moved):
    """Outcomes too high in one half of the predictions."""

    kind = "local shift"


class Slope(_Moved):
    """Outcomes that rise more, or less, than the predicted means."""

    kind = "slope"

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        ends = about(sqrt(3.0) * abs(fit.t))
        high, low = ("high", "low") if fit.t > 0.0 else ("low", "high")
        return (
            f"outcomes are too {high} where predicted means are largest, by {ends} predicted standard deviations "
            f"({span(fit, lambda t: sqrt(3.0) * t, signed=True)}), and as much too {low} where they are smallest"
        )


class Scale(Fault[Scores]):
    """``z ~ N(0, exp(2 t s))`` with the signs s of a pattern: errors that are too large or too small."""

    kind = "scale"
    weight = 2.0
    range = (-inf, inf)

    def __init__(self, patterns: list[Pattern], features: FloatArray | None = None) -> None:
        self._patterns, self._features, self.n_siblings = patterns, features, len(patterns)
        self.n_rows = 0 if features is None else len(features)

    def rows(self, seen: Scores) -> FloatArray:
        """The second Hermite polynomial, but for its constant, times features."""
        assert self._features is not None
        return self._features @ np.square(seen.clipped).T

    def bounds(self, seen: Scores, sibling: int) -> tuple[float, float]:
        """Around the logarithms of the root mean squares of each sign."""
        signs = self._patterns[sibling].signs
        ends = []
        for sign in (1.0, -1.0):
            w = seen.weights * (signs == sign)
            if w.any():
                ends.append(sign * 0.5 * log(max(float(w @ seen.squares) / w.sum(), 1e-300)))
        return min(ends) - 1.0, max(ends) + 1.0

    def log_ratio(self, seen: Scores, sibling: int, t: float) -> float:
        signs = self._patterns[sibling].signs
        with np.errstate(over="ignore"):
            shrunk = 0.5 * seen.squares * -np.expm1(-2.0 * t * signs)
        return float(seen.weights @ (shrunk - t * signs))

    def size(self, sibling: int, t: float) -> float:
        """The ratio of errors to those predicted."""
        return exp(t * self._patterns[sibling].sign)

    def place(self, sibling: int) -> str:
        return self._patterns[sibling].where.strip()

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        return scale_in_words(self._patterns[sibling], fit)


def scale_in_words(pattern: Pattern, fit: Fit) -> str:
    """That errors are larger than predicted, or smaller, and where."""
    size = exp(pattern.sign * fit.t)
    much = f"{about(size)} times as large as predicted ({span(fit, lambda t: exp(pattern.sign * t))})"
    rest = pattern.opposite(f"{about(1.0 / size)} times elsewhere")
    return f"predictions are too {'narrow' if size > 1.0 else 'wide'}{pattern.where}: errors are {much}{rest}"


class LocalScale(Scale):
    """Errors that are too large in one half of the predictions, or too large in one and too small in the other."""

    kind = "local scale"
    weight = 0.0
