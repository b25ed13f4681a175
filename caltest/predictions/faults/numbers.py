"""Faults of predicted numbers, on the scale of their standard scores z."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import exp, inf, log, sqrt
from typing import TYPE_CHECKING

import numpy as np

from caltest._basics.types import Array, BoolArray, FloatArray
from caltest.predictions.faults.fault import Fault, Faults, Fit, weights_or_ones
from caltest.predictions.faults.features import Pattern, cosines, halves, ranks, varies
from caltest.predictions.faults.shapes import Factor, HeavyTails, LightTails, Outliers, Skew
from caltest.predictions.faults.wording import about, sized, sized_shift

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

    @property
    def unit(self) -> float:
        """A residual of 1 in predicted standard deviations."""
        return 1.0

    def ratio(self, log_scale: float) -> float:
        """The ratio of errors to those predicted, for a log scale of the residuals."""
        return exp(log_scale)

    def log_kernel(self, residuals: FloatArray) -> FloatArray:
        """Logarithm of their density if calibrated, but for a constant."""
        return -0.5 * np.square(residuals)

    def share_of(self, some: BoolArray) -> float:
        """Share of the weight of some observations (n,)."""
        return float(self.weights @ some / self.weights.sum())


class PoolScores(Scores):
    """Outcomes of ensembles of m members: residuals are differences to the mean of the members.

    In units of the standard error of a forecast, ``s sqrt(1 + 1 / m)``, they have Student's t distribution of m - 1
    degrees of freedom if outcome and members are normal draws; from the score z in the pool of all m + 1 values they
    are ``z sqrt((m - 1) / (m - z**2))``.
    """

    @property
    def m(self) -> int:
        """Members."""
        size = self.law.pool_size
        assert size is not None
        return size - 1

    @cached_property
    def first(self) -> FloatArray:
        z = self.z[0]
        return np.asarray(z * np.sqrt((self.m - 1.0) / np.maximum(self.m - z * z, 1e-12)))

    @property
    def unit(self) -> float:
        return sqrt(1.0 + 1.0 / self.m)

    def ratio(self, log_scale: float) -> float:
        # The variance of the mean of the members is a part of that of the residuals.
        return sqrt(max(0.0, (1.0 + 1.0 / self.m) * exp(2.0 * log_scale) - 1.0 / self.m))

    def log_kernel(self, residuals: FloatArray) -> FloatArray:
        return -0.5 * self.m * np.log1p(np.square(residuals) / (self.m - 1.0))


class NumberFaults(Faults):
    """Those of continuous distributions, or with scores that are none of normal ones only shifts and scales.

    Features of the predictions are the mean (or the median where there is no mean) and the variance.
    """

    def __init__(self, predictions: "Predictions", weights: FloatArray | None = None) -> None:
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
        if law.is_continuous:
            members += [Skew(some * self.weights), HeavyTails(some * self.weights), LightTails(), Outliers()]
            if getattr(law, "support", (-inf, inf))[0] == 0.0:
                members.append(Factor())
        self.members = tuple(members)

    def seen(self, targets: Array) -> Scores:
        kind = Scores if self._law.pool_size is None else PoolScores
        return kind(self._law, targets, self.weights)


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
        """Around the mean of the residuals."""
        signs = self._patterns[sibling].signs
        w = seen.weights * signs
        total = max(float(w @ signs), 1e-300)
        most, reach = float(w @ seen.first) / total, 10.0 / sqrt(total)
        return min(most, 0.0) - reach, max(most, 0.0) + reach

    def log_ratio(self, seen: Scores, sibling: int, t: float) -> float:
        moved = seen.first - t * self._patterns[sibling].signs
        return float(seen.weights @ (seen.log_kernel(moved) - seen.log_kernel(seen.first)))

    def size(self, seen: Scores, sibling: int, t: float) -> float:
        """In predicted standard deviations, with its direction."""
        return seen.unit * self._patterns[sibling].sign * t

    def place(self, sibling: int) -> str:
        return self._patterns[sibling].where.strip()

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        one = self._patterns[sibling]
        side = one.direction(fit.t, "above", "below")
        rest = one.opposite(f"as much {'below' if side == 'above' else 'above'} it elsewhere")
        return f"outcomes are {side} what was predicted{one.where}, by {deviations_in_words(fit, seen.unit)}{rest}"


def deviations_in_words(fit: Fit, unit: float = 1.0) -> str:
    """A shift in predicted standard deviations, of which a score of 1 are some number, without its sign."""
    return f"{sized_shift(fit, unit)} predicted standard deviations"


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
        high, low = ("high", "low") if fit.t > 0.0 else ("low", "high")
        much = f"{sized_shift(fit, sqrt(3.0) * seen.unit)} predicted standard deviations"
        ends = f"by {much}, and as much too {low} where they are smallest"
        return f"outcomes are too {high} where predicted means are largest, {ends}"


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
        scaled = seen.first * np.exp(-t * signs)
        return float(seen.weights @ (seen.log_kernel(scaled) - seen.log_kernel(seen.first) - t * signs))

    def size(self, seen: Scores, sibling: int, t: float) -> float:
        """The ratio of errors to those predicted."""
        return seen.ratio(t * self._patterns[sibling].sign)

    def place(self, sibling: int) -> str:
        return self._patterns[sibling].where.strip()

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        return scale_in_words(self._patterns[sibling], fit, seen.ratio)


def scale_in_words(pattern: Pattern, fit: Fit, ratio: Callable[[float], float] = exp) -> str:
    """That errors are larger than predicted, or smaller, and where; ``ratio`` is that of errors for a log scale."""
    size = ratio(pattern.sign * fit.t)
    much = f"{sized(fit, lambda t: ratio(pattern.sign * t))} times as large as predicted"
    rest = pattern.opposite(f"{about(ratio(-pattern.sign * fit.t))} times elsewhere")
    return f"predictions are too {'narrow' if size > 1.0 else 'wide'}{pattern.where}: errors are {much}{rest}"


class LocalScale(Scale):
    """Errors that are too large in one half of the predictions, or too large in one and too small in the other."""

    kind = "local scale"
    weight = 0.0
