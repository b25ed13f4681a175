"""Faults in the place and the size of errors: too high or low, too wide or narrow."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import exp, expm1, inf, log, log1p, sqrt
from typing import Any

import numpy as np

from caltest._basics.numerics import FloatArray, IntArray
from caltest.predictions.base import Predictions
from caltest.predictions.faults.fault import ranks
from caltest.predictions.faults.numbers.noncentral import centred, log_ratio_of_noncentral
from caltest.predictions.faults.numbers.scores import CLIPPED, Scores, slopes_of_scale
from caltest.predictions.faults.patterns import Bend, OfBends, OfPatterns, Pattern, promise_of_bends
from caltest.predictions.faults.waves import SLOW, Wave, choices, following, scales_in_places, shifts_in_places
from caltest.predictions.faults.words import Fit, about, sized, sized_shift, told_apart
from caltest.predictions.reductions.standard_scores import own_units

NEGLIGIBLE = 0.1
"""Standard deviation of noise, in units of another one, that hardly adds to it."""

CLEAR = 6.0
"""Squared standard errors from which on other scales of ensembles are clear whatever the law of these is."""

LEVEL = 0.1
"""Slope of outcomes, as a share of that of predicted means, down to which they are level."""

SPREADLESS = 1000.0
"""Errors that are more times as large as predicted are those of predictions that say nothing about them."""

LEAST_KNOWN = 0.02
"""Share of known scores below which shifts are not looked for any farther."""


def location_and_variance(predictions: Predictions) -> tuple[FloatArray, FloatArray]:
    """Means and variances (n,); medians and ones where there are no moments."""
    try:
        mean, variance = predictions.moments()
    except TypeError:
        return predictions.quantile(0.5), np.ones(len(predictions))
    return mean.reshape(len(predictions)), variance


def deviations_of(law: Predictions) -> FloatArray | None:
    """Units (n,) of the errors, if these are differences of outcomes and means in some units; None otherwise.

    Outcomes that are certain have none, and count as others.
    """
    units = law.normal or own_units(law)
    if units is None or not (units[1] > 0.0).any():
        return None
    return np.where(units[1] > 0.0, units[1], np.median(units[1][units[1] > 0.0]))


class OfErrors(OfPatterns[Scores]):
    """A fault of the errors of all coordinates, or each sibling of those of its own."""

    range = (-inf, inf)

    def __init__(
        self, patterns: Sequence[Pattern], kind: str = "", *, coordinates: Sequence[int] | None = None
    ) -> None:
        super().__init__(patterns, kind)
        self._coordinates = coordinates

    def _rows(self, sibling: int) -> list[int] | slice:
        return slice(None) if self._coordinates is None else [self._coordinates[sibling]]

    def own(self, seen: Scores, sibling: int) -> FloatArray:
        """The errors that it changes, (c, n)."""
        return np.asarray(np.atleast_2d(seen.errors.T)[self._rows(sibling)])

    def log_of_moved(self, seen: Scores, sibling: int, t: float) -> FloatArray:
        """Log ratio of the densities of errors that have been moved, and of those that have not, (n,)."""
        own = self.own(seen, sibling)
        return seen.log_moved(own, self.moved(own, sibling, t), self._rows(sibling))

    @abstractmethod
    def moved(self, errors: FloatArray, sibling: int, t: float) -> FloatArray:
        """What has the law of the errors (c, n) if these have the fault."""

    def corrected(self, seen: Scores, sibling: int, t: float) -> FloatArray | Scores | None:
        lines = np.array(np.atleast_2d(seen.errors.T))
        lines[self._rows(sibling)] = self.moved_back(seen, sibling, t)
        return seen.with_errors(lines.T.reshape(seen.errors.shape))

    def moved_back(self, seen: Scores, sibling: int, t: float) -> FloatArray:
        """Its errors (c, n) without the fault."""
        return self.moved(self.own(seen, sibling), sibling, t)

    def in_coordinate(self, sibling: int) -> str:
        """Which errors it changes, in words after a space; empty for numbers."""
        return "" if self._coordinates is None else f" in coordinate {self._coordinates[sibling]}"

    def apart(self, seen: Scores, sibling: int, other: int) -> bool:
        if self._coordinates is None:
            return False
        a, b = self._coordinates[sibling], self._coordinates[other]
        return a != b and seen.are_independent(a, b)

    def promising(self, seen: Scores) -> FloatArray:
        """Of coordinates squares of their scores over variances; minus infinity for patterns of no observation."""
        places = [seen.weights * one.signs for one in self.patterns]
        if self._coordinates is None:
            return np.array([0.0 if np.abs(w).sum() > 0.0 else -inf for w in places])
        found = zip(places, self._coordinates, strict=True)
        return np.array([self._score(seen, w, t) if np.abs(w).sum() > 0.0 else -inf for w, t in found])

    def _score(self, seen: Scores, signs: FloatArray, coordinate: int) -> float:
        """Of a coordinate, for weights times signs (n,)."""
        raise NotImplementedError

    of_members: Sequence[FloatArray] | None = None
    """Of ensembles, for each pattern the mean (n,) of what all values of a pool add to its sum, as outcomes."""

    def slope(self, residuals: FloatArray, df: float) -> FloatArray:
        """What residuals of ensembles add to the sum for the pattern 1: the derivative of their log likelihood at 0."""
        raise NotImplementedError

    def beside(self, seen: Scores, residuals: FloatArray, places: Sequence[IntArray]) -> None:
        """Compare with residuals (n, m + 1) of all values of pools, for each pattern in the places of some cases."""
        slopes, found = self.slope(residuals, self._df(seen)), zip(self.patterns, places, strict=True)
        self.of_members = [(slopes * one.signs[at]).mean(axis=1) for one, at in found]

    @staticmethod
    def _df(seen: Scores) -> float:
        """Degrees of freedom of the residuals of ensembles."""
        assert seen.pool_df is not None
        return seen.pool_df

    def _beside_members(self, seen: Scores, sibling: int) -> tuple[float, float]:
        """The sum for the outcomes that exceeds what any value of the pools would add, and what these explain of it."""
        assert self.of_members is not None
        total = seen.total(self.slope(self.own(seen, sibling)[0], self._df(seen)) * self.patterns[sibling].signs)
        excess = float(np.clip(total - seen.total(self.of_members[sibling]), min(total, 0.0), max(total, 0.0)))
        return excess, total - excess


class Shift(OfErrors):
    """Errors e of which ``e - t s`` has the predicted law, with the signs s of a pattern: too high or too low.

    Those of ensembles are divided by the spread of the members, which is that of their law times a chi variate: they
    have a noncentral t distribution.
    """

    kind = "shift"
    unit = "predicted standard deviations"

    def bounds(self, seen: Scores, sibling: int) -> tuple[float, float]:
        """Around the mean of the errors, too close to 0 by the share of those not known, taken as 98 % at most."""
        signs = self.patterns[sibling].signs
        w = seen.weights * signs
        total = max(float(w @ signs), 1e-300)
        most, reach = float(w @ self.own(seen, sibling)[0]) / total, 10.0 / sqrt(total)
        most /= max(seen.known_share, LEAST_KNOWN)
        return min(most, 0.0) - reach, max(most, 0.0) + reach

    def log_ratio(self, seen: Scores, sibling: int, t: float) -> float:
        df = seen.pool_df
        if self.of_members is not None and df is not None:
            # Sums of errors, less what they are on average if the outcome is any value of its pool, are nearly normal.
            # Outcomes are not off where only the members are, which are not exchangeable then.
            e, signs = self.own(seen, sibling)[0], self.patterns[sibling].signs
            variance = max(seen.total(np.square(e)) / float(seen.weights.sum()), df / (df - 2.0))
            excess, _ = self._beside_members(seen, sibling)
            return (t * excess - 0.5 * t * t * seen.total(np.square(signs))) / variance
        if df is None:
            return seen.total(self.log_of_moved(seen, sibling, t))
        shifts = t * self.patterns[sibling].signs
        return seen.total(log_ratio_of_noncentral(self.own(seen, sibling), shifts, df).sum(axis=0))

    def slope(self, residuals: FloatArray, df: float) -> FloatArray:
        return residuals

    def moved_back(self, seen: Scores, sibling: int, t: float) -> FloatArray:
        if self.of_members is not None or (df := seen.pool_df) is None:
            return super().moved_back(seen, sibling, t)
        return centred(self.own(seen, sibling), t * self.patterns[sibling].signs, df)

    def _score(self, seen: Scores, signs: FloatArray, coordinate: int) -> float:
        slope, information = seen.slopes(coordinate)
        return float(np.square(signs @ slope)) / max(float(np.square(signs) @ information), 1e-300)

    def moved(self, errors: FloatArray, sibling: int, t: float) -> FloatArray:
        return errors - t * self.patterns[sibling].signs

    def corrected_otherwise(self, seen: Scores, sibling: int) -> FloatArray | None:
        """For a shift in the units of the targets, of which predicted standard deviations are different shares."""
        if seen.residuals.ndim > 1:
            return None
        return seen.shifted_back(self.patterns[sibling].signs, location_and_variance(seen.law)[0])

    def size(self, seen: Scores, sibling: int, t: float) -> float:
        size = super().size(seen, sibling, t)
        return size if self.is_slope else seen.moved_by(size)

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        one = self.patterns[sibling]
        side = one.direction(fit.t, "above", "below")
        rest = one.opposite(f"as much {'below' if side == 'above' else 'above'} it elsewhere")
        much = f"{sized_shift(fit, lambda t: self.size(seen, sibling, t))} {self.unit}"
        return f"outcomes are {side} what was predicted{one.where}, by {much}{rest}"


class ShiftInUnits(Shift):
    """The same by one amount in the units of the outcomes, which predicted standard deviations are different shares of.

    Patterns are divided by the deviations (n,) of each, and t is in units of their median.
    """

    kind = "shift in units"
    unit = "in their units, whatever the predicted standard deviation"

    def __init__(
        self,
        patterns: Sequence[Pattern],
        deviations: Sequence[FloatArray],
        kind: str = "",
        *,
        coordinates: Sequence[int] | None = None,
    ) -> None:
        self._units = [float(np.median(some)) for some in deviations]
        found = zip(patterns, self._units, deviations, strict=True)
        divided = [replace(one, signs=one.signs * unit / some) for one, unit, some in found]
        super().__init__(divided, kind, coordinates=coordinates)

    def corrected_otherwise(self, seen: Scores, sibling: int) -> None:
        """None: it is this that outcomes tell from a shift in standard deviations."""

    def size(self, seen: Scores, sibling: int, t: float) -> float:
        return self._units[sibling] * self.patterns[sibling].sign * t


class Slope(Shift):
    """Outcomes that rise more, or less, than the ranks of the predicted means."""

    kind = "slope"

    def __init__(self, mean: FloatArray) -> None:
        super().__init__([Pattern(sqrt(3.0) * (2.0 * ranks(mean) - 1.0))])

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        high, low = ("high", "low") if fit.t > 0.0 else ("low", "high")
        much = f"{sized_shift(fit, lambda t: seen.moved_by(sqrt(3.0) * t))} {self.unit}"
        ends = f"by {much}, and as much too {low} where they are smallest"
        return f"outcomes are too {high} where predicted means are largest, {ends}"


class SlopeInUnits(Shift):
    """Outcomes that rise 1 + t times as much as the predicted means, or those of some coordinates."""

    kind = "slope"
    is_slope = True

    def __init__(
        self, means: Sequence[FloatArray], deviations: Sequence[FloatArray], coordinates: Sequence[int] | None = None
    ) -> None:
        patterns = []
        for i, (mean, own) in enumerate(zip(means, deviations, strict=True)):
            precision = np.square(np.median(own) / own)
            place = "" if coordinates is None else f"in coordinate {coordinates[i]}"
            patterns.append(Pattern((mean - precision @ mean / precision.sum()) / own, place))
        super().__init__(patterns, coordinates=coordinates)

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        much, where = f"{self.sized(seen, sibling, fit)} times as much as predicted means", self.in_coordinate(sibling)
        if 1.0 + fit.high < 0.0:
            return f"outcomes fall where predicted means rise{where}: they rise {much}"
        more = "more" if fit.t > 0.0 else "less"
        if 1.0 + fit.low < 0.0:
            return f"outcomes do not follow predicted means{where}: they rise {much}"
        return f"outcomes rise {more} than predicted{where}: {much}"


class Bent(OfBends[Scores], Shift):
    """A shift along lines that begin at a knot."""

    kind = "local slope"

    def promising(self, seen: Scores) -> FloatArray:
        return promise_of_bends(self.patterns, np.clip(self.own(seen, 0)[0], -CLIPPED, CLIPPED), seen.weights)


class BentSlope(Bent):
    """Outcomes that rise 1 + t times as much as predicted means above a knot, or below it, and are right elsewhere."""

    is_slope = True

    def __init__(self, places: Sequence[Bend], deviations: FloatArray) -> None:
        super().__init__([replace(one, signs=one.signs / deviations) for one in places])

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        where, much = self.patterns[sibling].where, f"{self.sized(seen, sibling, fit)} times as much as predicted means"
        # Where lines are level a knot that is a little off makes them seem to fall.
        is_level = 1.0 + fit.low < 0.0 and 1.0 + fit.high > -LEVEL
        rise = "do not rise" if is_level else "fall" if 1.0 + fit.t < 0.0 else ""
        rise = rise or f"rise {'more' if fit.t > 0.0 else 'less'} than predicted"
        return f"outcomes {rise}{where}: {much}, and as predicted elsewhere"


class BentRanks(Bent):
    """Outcomes that are too high, or too low, the more the nearer predicted means are to an end, from a knot on."""

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        much = f"{sized_shift(fit, lambda t: self.size(seen, sibling, t))} {self.unit}"
        return bend_in_words(fit, much, self.patterns[sibling])


def bend_in_words(fit: Fit, much: str, place: Bend) -> str:
    """That outcomes are too high or too low at an end, by so much, and less and less up to a knot."""
    side = "high" if fit.t > 0.0 else "low"
    to = "down" if place.end.endswith("largest") else "up"
    return f"outcomes are too {side} where {place.end}, by {much}, and less and less so {to} to {place.knot}"


class Scale(OfErrors):
    """Errors e of which ``exp(-t s) e`` has the predicted law, with the signs s of a pattern: too large or small."""

    kind = "scale"

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
        logs = len(self.own(seen, sibling)) * t * self.patterns[sibling].signs
        log_ratio = seen.total(self.log_of_moved(seen, sibling, t) - logs)
        if seen.pool_df is None:
            return log_ratio
        # Sums of other laws than normal ones vary more than likelihoods of these allow for.
        coordinates = np.arange(np.atleast_2d(seen.errors.T).shape[0])[self._rows(sibling)]
        excess = seen.excess_of_slopes(tuple(coordinates.tolist()))
        if self.of_members is not None:
            return (log_ratio - t * self._beside_members(seen, sibling)[1]) / excess
        return log_ratio / (1.0 if self._is_clear(seen, sibling, excess) else excess)

    def _is_clear(self, seen: Scores, sibling: int, excess: float) -> bool:
        """Whether slopes sum to more than those of calibrated ensembles of such a law hardly ever do."""
        df, signs = self._df(seen), self.patterns[sibling].signs
        total = seen.total(self.slope(self.own(seen, sibling), df).sum(axis=0) * signs)
        usual = 2.0 * df / (df + 3.0) * len(self.own(seen, sibling)) * float(np.square(seen.weights) @ np.square(signs))
        return total * total > CLEAR * excess * usual

    def slope(self, residuals: FloatArray, df: float) -> FloatArray:
        return slopes_of_scale(residuals, df)

    def _score(self, seen: Scores, signs: FloatArray, coordinate: int) -> float:
        slope, information = seen.slopes(coordinate)
        terms = seen.errors[:, coordinate] * slope - 1.0
        return float(np.square(signs @ terms)) / max(float(np.square(signs) @ (1.0 + information)), 1e-300)

    def moved(self, errors: FloatArray, sibling: int, t: float) -> FloatArray:
        return np.asarray(errors * np.exp(-t * self.patterns[sibling].signs))

    def size(self, seen: Scores, sibling: int, t: float) -> float:
        size = super().size(seen, sibling, t)
        return size if self.is_slope else seen.ratio(size)

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        return scale_in_words(self.patterns[sibling], fit, seen.ratio)


def scale_in_words(pattern: Pattern, fit: Fit, ratio: Callable[[float], float] = exp) -> str:
    """That errors are larger than predicted, or smaller, and where; ``ratio`` is that of errors for a log scale."""
    size = ratio(pattern.sign * fit.t)
    if min(ratio(pattern.sign * end) for end in (fit.low, fit.high)) > SPREADLESS:
        many = f"{SPREADLESS:,.0f} times as large as predicted"
        return f"predictions have hardly any spread{pattern.where}: errors are more than {many}"
    if size <= 0.0:
        return (
            f"predictions are too wide{pattern.where}: errors are smaller than chance in the mean of the members alone "
            "would make them"
        )
    much = f"{sized(fit, lambda t: ratio(pattern.sign * t))} times as large as predicted"
    other = ratio(-pattern.sign * fit.t)
    elsewhere = about(other) if about(other) != about(1.0) else told_apart(other, 1.0)[0]
    rest = pattern.opposite(f"{elsewhere} times elsewhere")
    return f"predictions are too {'narrow' if size > 1.0 else 'wide'}{pattern.where}: errors are {much}{rest}"


class Spread(Scale):
    """Errors exp(t) times as large around the predicted means, of laws that are not symmetric and have others so wide.

    Scores of such outcomes are not only wider: they have another mean, too, which is no error of its own.
    """

    def _law(self, seen: Scores, t: float) -> Any:
        return seen.law.moved(0.0, exp(t))

    def log_ratio(self, seen: Scores, sibling: int, t: float) -> float:
        if seen.corrected is not None:
            return super().log_ratio(seen, sibling, t)
        y = seen.targets[0]
        with np.errstate(invalid="ignore"):
            return seen.total_of_densities(self._law(seen, t).log_density(y) - seen.law.log_density(y))

    def moved_back(self, seen: Scores, sibling: int, t: float) -> FloatArray:
        if seen.corrected is not None:
            return super().moved_back(seen, sibling, t)
        return np.asarray(self._law(seen, t).standard_scores(seen.targets))

    def size(self, seen: Scores, sibling: int, t: float) -> float:
        """The ratio of standard deviations."""
        if seen.corrected is not None:
            return super().size(seen, sibling, t)
        before, after = (float(seen.weights @ law.moments()[1]) for law in (seen.law, self._law(seen, t)))
        return sqrt(after / before)

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        return scale_in_words(self.patterns[sibling], fit, lambda t: self.size(seen, sibling, t))


class SpreadPower(Scale):
    """Errors that are ``(s / m)**t`` times as large, for deviations s with the geometric mean m."""

    kind = "power of spreads"
    is_slope = True
    range = (-3.0, 3.0)

    def __init__(self, deviations: FloatArray) -> None:
        logs = np.log(deviations)
        super().__init__([Pattern(logs - logs.mean())])

    def bounds(self, seen: Scores, sibling: int) -> tuple[float, float]:
        return self.range

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        more, power = "more" if fit.t > 0.0 else "less", self.sized(seen, sibling, fit)
        return f"spreads of errors differ {more} than predicted: as the power {power} of predicted standard deviations"


class AddedNoise(Scale):
    """Variances that are larger by one number, that of noise with the standard deviation ``c (exp(t) - 1)``.

    A tenth of the smallest predicted standard deviation is c, noise that hardly adds to it, so that sizes of noise next
    to each other differ by about as much in whatever is predicted.
    """

    kind = "added noise"
    range = (0.0, inf)

    def __init__(self, deviations: FloatArray) -> None:
        super().__init__([Pattern(np.ones(deviations.size))])
        self._deviations, self._unit = deviations, NEGLIGIBLE * float(deviations.min())

    def bounds(self, seen: Scores, sibling: int) -> tuple[float, float]:
        """Up to the largest error."""
        return 0.0, log1p(float((np.abs(seen.errors) * self._deviations).max()) / self._unit) + 1.0

    def log_ratio(self, seen: Scores, sibling: int, t: float) -> float:
        return seen.total(self.log_of_moved(seen, sibling, t) - np.log(self._factors(t)))

    def moved(self, errors: FloatArray, sibling: int, t: float) -> FloatArray:
        return errors / self._factors(t)

    def _factors(self, t: float) -> FloatArray:
        return np.sqrt(1.0 + np.square(self.noise(t) / self._deviations))

    def noise(self, t: float) -> float:
        """Its standard deviation."""
        return self._unit * expm1(t)

    def size(self, seen: Scores, sibling: int, t: float) -> float:
        return self.noise(t)

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        much = f"a standard deviation of {self.sized(seen, sibling, fit)}, in their units"
        return f"predictions are too narrow: outcomes vary as if noise with {much}, were added to what was predicted"


class ShiftWave(Shift):
    """Outcomes that are too high for some predictions and too low for others, with a wave of the predictions."""

    patterns: Sequence[Wave]

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        own, wave = self.own(seen, sibling)[0], self.patterns[sibling]
        where = shifts_in_places(wave, own, seen.weights, self.unit, seen.moved_by)
        return f"outcomes are off in places{self.in_coordinate(sibling)}{where}"


class ScaleWave(Scale):
    """Errors that are too large for some predictions and too small for others, with a wave of the predictions."""

    patterns: Sequence[Wave]
    range = (-1.0, 1.0)

    def bounds(self, seen: Scores, sibling: int) -> tuple[float, float]:
        return self.range

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        where = scales_in_places(self.patterns[sibling], self.own(seen, sibling)[0], seen.weights)
        return f"predictions are too narrow or too wide in places{self.in_coordinate(sibling)}{where}"


def following_waves(
    seen: Scores, features: Sequence[tuple[FloatArray, str]], first: int, *, of_vectors: bool = False
) -> list[Any]:
    """Waves of shifts and of scales over features that errors follow most, of vectors over that of each coordinate."""
    w, lines = seen.weights, np.clip(np.atleast_2d(seen.errors.T), -CLIPPED, CLIPPED)
    terms = np.stack([w * lines, w * (np.square(lines) - 1.0)], axis=1)
    found = [(t, following(terms[t * of_vectors], *one, first)) for t, one in enumerate(features)]
    of, patterns = [t for t, some in found if some], [some for _, some in found if some]
    prefix, kinds = "fast wave" if first > SLOW else "wave", []
    for make, name, some in zip(
        (ShiftWave, ScaleWave), ("shifts", "scales"), zip(*patterns, strict=True), strict=False
    ):
        kinds.append(make(some, f"{prefix} of {name}", coordinates=of if of_vectors else None))
        kinds[-1].n_choices = choices(some, w)
    return kinds
