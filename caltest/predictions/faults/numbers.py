"""Faults of predicted numbers, on the scale of their standard scores z: in place, spread and shape."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from math import exp, expm1, inf, lgamma, log, log1p, pi, sqrt

import numpy as np
import scipy

from caltest._basics.numerics import Array, BoolArray, FloatArray
from caltest.predictions.base import Predictions
from caltest.predictions.faults.fault import (
    Fault,
    Faults,
    Fit,
    OfPatterns,
    Pattern,
    Rows,
    Wave,
    about,
    cosines,
    halves,
    percent,
    ranks,
    sized,
    sized_shift,
    varies,
    waves,
    weights_or_ones,
)
from caltest.predictions.faults.noncentral import centred, log_ratio_of_noncentral
from caltest.predictions.faults.scores import Scores, log_ratio_of_scales
from caltest.predictions.standard_scores import own_units

LEAST_RECIPROCAL = 1e-4
"""Of the degrees of freedom of Student's t, below which it is the normal distribution."""

NEGLIGIBLE = 0.1
"""Standard deviation of noise, in units of another one, that hardly adds to it."""

LEAST_KNOWN = 0.02
"""Share of known scores below which shifts are not looked for any farther."""

NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(101)
NODE_WEIGHTS = NODE_WEIGHTS / NODE_WEIGHTS.sum()


def sinh_arcsinh(z: FloatArray, skew: float, tails: float) -> FloatArray:
    """``log f(z) - log phi(z)`` with f of sinh((arcsinh(Z) + skew) / tails), standardised (Jones and Pewsey 2009)."""
    mean, deviation = _moments(skew, tails)
    v = mean + deviation * z
    w = _arcsinh_of_normal(z, skew, tails)
    x = np.sinh(w)
    densities = np.log(np.cosh(w)) - 0.5 * np.log1p(v * v)
    return np.asarray(0.5 * (z * z - x * x) + densities + log(tails * deviation))


def _arcsinh_of_normal(z: FloatArray, skew: float, tails: float) -> FloatArray:
    """``arcsinh(Z)`` of the same z."""
    mean, deviation = _moments(skew, tails)
    return np.asarray(tails * np.arcsinh(mean + deviation * z) - skew)


def _normal(z: FloatArray, tail: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Standard normal scores of numbers with the upper tail of a symmetric law."""
    return np.asarray(-np.sign(z) * scipy.special.ndtri(np.maximum(tail(np.abs(z)), 1e-300)))


@lru_cache(maxsize=256)
def _moments(skew: float, tails: float) -> tuple[float, float]:
    values = np.sinh((np.arcsinh(NODES) + skew) / tails)
    mean = float(NODE_WEIGHTS @ values)
    return mean, sqrt(float(NODE_WEIGHTS @ np.square(values - mean)))


class Skew(Fault[Scores]):
    """Sinh-arcsinh laws with a skew t, standardised."""

    kind = "skew"
    range = (-2.0, 2.0)

    def log_ratio(self, seen: Scores, sibling: int, t: float) -> float:
        return seen.total(sinh_arcsinh(seen.residuals, t, 1.0))

    def corrected(self, seen: Scores, sibling: int, t: float) -> FloatArray:
        return np.asarray(np.sinh(_arcsinh_of_normal(seen.residuals, t, 1.0)))

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        above, below = (percent(seen.share_of(side * seen.residuals > 2.0)) for side in (1.0, -1.0))
        longer = "above" if fit.t > 0.0 else "below"
        if not seen.is_normal:
            shares = f"{above} of the outcomes are in the upper 2.3 % of what was predicted and {below} in the lower"
            return f"errors are skewed, with the longer tail {longer}: {shares} 2.3 %"
        return (
            f"errors are skewed, with the longer tail {longer}: {above} of the outcomes are more than 2 standard "
            f"deviations above and {below} below, instead of 2.3 % each"
        )


def third_moments(features: FloatArray, seen: Scores) -> FloatArray:
    """The third Hermite polynomial of the scores and the third Legendre polynomial of their levels."""
    z, u = seen.clipped, seen.centred_levels
    return np.concatenate([features @ (z * (z * z - 3.0)).T, features @ (u * (5.0 * u * u - 3.0)).T])


def _beyond(seen: Scores, deviations: float) -> str:
    """How many errors are so large, and how many should be, in words."""
    found, expected = percent(seen.share_of(np.abs(seen.residuals) > deviations)), 2.0 * scipy.special.ndtr(-deviations)
    if not seen.is_normal:
        return f"{found} of the outcomes are in the outer {percent(expected)} of what was predicted"
    return f"{found} of them are beyond {deviations:g} standard deviations instead of {percent(expected)}"


class HeavyTails(Fault[Scores]):
    """Student's t of variance 1 with 1 / t degrees of freedom."""

    kind = "heavy tails"
    range = (0.0, 0.49)

    def log_ratio(self, seen: Scores, sibling: int, t: float) -> float:
        if t < LEAST_RECIPROCAL:
            return 0.0
        df = 1.0 / t
        constant = lgamma((df + 1.0) / 2.0) - lgamma(df / 2.0) - 0.5 * log(pi * (df - 2.0)) + 0.5 * log(2.0 * pi)
        logs = constant - 0.5 * (df + 1.0) * np.log1p(seen.squares / (df - 2.0)) + 0.5 * seen.squares
        return seen.total(logs)

    def corrected(self, seen: Scores, sibling: int, t: float) -> FloatArray:
        df = 1.0 / max(t, LEAST_RECIPROCAL)
        return _normal(seen.residuals, lambda z: scipy.special.stdtr(df, -z * sqrt(df / (df - 2.0))))

    def size(self, seen: Scores, sibling: int, t: float) -> float:
        return 1.0 / max(t, LEAST_RECIPROCAL)

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        like = f", like Student's t with {self.sized(seen, sibling, fit)} degrees of freedom"
        return (
            f"errors have heavier tails than predicted at the same spread{like if seen.is_normal else ''}: "
            f"{_beyond(seen, 3.0)}"
        )


def fourth_moments(features: FloatArray, seen: Scores) -> FloatArray:
    """The fourth Hermite polynomial of the scores and the fourth Legendre polynomial of their levels."""
    z2, u2 = np.square(seen.clipped), np.square(seen.centred_levels)
    return np.concatenate([features @ (z2 * (z2 - 6.0)).T, features @ (u2 * (35.0 * u2 - 30.0)).T])


class LightTails(Fault[Scores]):
    """Sinh-arcsinh laws with lighter tails exp(t), standardised."""

    kind = "light tails"
    range = (0.0, 2.0)

    def log_ratio(self, seen: Scores, sibling: int, t: float) -> float:
        return seen.total(sinh_arcsinh(seen.residuals, 0.0, exp(t)))

    def corrected(self, seen: Scores, sibling: int, t: float) -> FloatArray:
        return np.asarray(np.sinh(_arcsinh_of_normal(seen.residuals, 0.0, exp(t))))

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        return f"errors have lighter tails than predicted at the same spread: {_beyond(seen, 2.0)}"


class Outliers(Fault[Scores]):
    """A share t of errors that are several times as large, by the factor that is most likely with its own share.

    The factor is chosen by the outcomes, too, and costs as much as another parameter.
    """

    kind = "outliers"
    range = (0.0, 0.5)

    def __init__(self, total: float) -> None:
        self.n_choices = max(1, int(sqrt(total)))

    def log_ratio(self, seen: Scores, sibling: int, t: float) -> float:
        far = log_ratio_of_scales(seen.squares, seen.outlier_scale)
        return seen.total(np.logaddexp(log(1.0 - t), far + log(t))) if t > 0.0 else 0.0

    def corrected(self, seen: Scores, sibling: int, t: float) -> FloatArray:
        ndtr, scale = scipy.special.ndtr, seen.outlier_scale
        return _normal(seen.residuals, lambda z: (1.0 - t) * ndtr(-z) + t * ndtr(-z / scale))

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        much = f"about {self.sized(seen, sibling, fit, percent)} of the outcomes are outliers"
        return f"{much}, with errors about {about(seen.outlier_scale)} times as large as predicted"


class Factor(Fault[Scores]):
    """Positive outcomes that are all exp(t) times as large."""

    kind = "factor"
    is_factor = True
    range = (-12.0, 12.0)

    def log_ratio(self, seen: Scores, sibling: int, t: float) -> float:
        if seen.corrected is not None:  # Other laws than that of the predictions have no density here.
            return 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = seen.law.log_density(seen.targets[0] * exp(-t)) - t - seen.law.log_density(seen.targets[0])
        return seen.total(np.where(np.isnan(logs), -np.inf, logs))

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        return f"outcomes are {self.sized(seen, sibling, fit)} times as large as predicted"


class NumberFaults(Faults):
    """Those of continuous distributions, or with scores that are none of normal ones only shifts and scales.

    Features of the predictions are the mean (or the median where there is no mean) and the variance, by their ranks
    among all predictions, or among some of them.
    """

    def __init__(
        self, predictions: Predictions, weights: FloatArray | None = None, among: Predictions | None = None
    ) -> None:
        law = predictions.law
        mean, variance = _location_and_variance(predictions)
        self._law, self.weights, self._spread = law, weights_or_ones(weights, len(law)), variance > 0.0
        one = np.ones((1, len(law)))
        means, variances = (None, None) if among is None else _location_and_variance(among)
        features = np.concatenate([one, cosines(mean, 3, among=means), cosines(variance, 2, among=variances)])
        features *= self.weights
        everywhere = [Pattern(one[0])]
        kinds: list[Fault[Scores]] = [Shift(everywhere), Scale(everywhere)]
        compared = [
            Rows("shift", len(features), partial(sums_of_scores, features), 2.0),
            Rows("scale", len(features), partial(sums_of_squares, features), 2.0),
        ]
        # What a pool has in common with its outcome would look like a place.
        if law.pool_size is None:
            if places := [*halves(mean, "predicted means"), *halves(variance, "predicted variances")]:
                kinds += [Shift(places, "local shift"), Scale(places, "local scale")]
            if bent := [*waves(mean, "predicted means", 3), *waves(variance, "predicted variances", 2)]:
                kinds += [ShiftWave(bent, "wave of shifts"), ScaleWave(bent, "wave of scales")]
            deviations = _deviations(law)
            if deviations is not None and varies(deviations):
                kinds += [ShiftInUnits(everywhere, [deviations]), AddedNoise(deviations), SpreadPower(deviations)]
                if places:
                    kinds.append(ShiftInUnits(places, len(places) * [deviations], "local shift in units"))
            if varies(mean):
                kinds.append(Slope(mean) if deviations is None else SlopeInUnits(mean, deviations))
        if law.has_normal_scores:
            kinds += [Skew(), HeavyTails(), LightTails(), Outliers(float(self.weights.sum()))]
            compared.append(Rows("skew", 4, partial(third_moments, features[:2])))
            compared.append(Rows("heavy tails", 4, partial(fourth_moments, features[:2])))
            if getattr(law, "support", (-inf, inf))[0] == 0.0:
                # In words that suit positive outcomes, where a shift of scores is the same.
                kinds.insert(0, Factor())
        self.kinds, self.compared = tuple(kinds), tuple(compared)

    def seen(self, targets: Array) -> Scores:
        return Scores(self._law, targets, self.weights, self._spread)

    def after(self, seen: Scores, correction: FloatArray | Scores) -> tuple[Faults, Scores]:
        return self, seen.after(correction)


def _location_and_variance(predictions: Predictions) -> tuple[FloatArray, FloatArray]:
    """Means and variances (n,); medians and ones where there are no moments."""
    try:
        mean, variance = predictions.moments()
    except TypeError:
        return predictions.quantile(0.5), np.ones(len(predictions))
    return mean.reshape(len(predictions)), variance


def _deviations(law: Predictions) -> FloatArray | None:
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
        lines[self._rows(sibling)] = self.moved(self.own(seen, sibling), sibling, t)
        return seen.with_errors(lines.T.reshape(seen.errors.shape))

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


class Shift(OfErrors):
    """Errors e of which ``e - t s`` has the predicted law, with the signs s of a pattern: too high or too low.

    Those of ensembles are divided by the spread of the members, which is that of their law times a chi variate: they
    have a noncentral t distribution.
    """

    kind = "shift"
    unit = "predicted standard deviations"

    def bounds(self, seen: Scores, sibling: int) -> tuple[float, float]:
        """Around the mean of the errors, which is too close to 0 by the share of those that are not known."""
        signs = self.patterns[sibling].signs
        w = seen.weights * signs
        total = max(float(w @ signs), 1e-300)
        most, reach = float(w @ self.own(seen, sibling)[0]) / total, 10.0 / sqrt(total)
        most /= max(seen.known_share, LEAST_KNOWN)
        return min(most, 0.0) - reach, max(most, 0.0) + reach

    def log_ratio(self, seen: Scores, sibling: int, t: float) -> float:
        if (df := seen.pool_df) is None:
            return seen.total(self.log_of_moved(seen, sibling, t))
        shifts = t * self.patterns[sibling].signs
        return seen.total(log_ratio_of_noncentral(self.own(seen, sibling), shifts, df).sum(axis=0))

    def corrected(self, seen: Scores, sibling: int, t: float) -> FloatArray | Scores | None:
        if (df := seen.pool_df) is None:
            return super().corrected(seen, sibling, t)
        lines = np.array(np.atleast_2d(seen.errors.T))
        lines[self._rows(sibling)] = centred(self.own(seen, sibling), t * self.patterns[sibling].signs, df)
        return lines.T.reshape(seen.errors.shape)

    def _score(self, seen: Scores, signs: FloatArray, coordinate: int) -> float:
        slope, information = seen.slopes(coordinate)
        return float(signs @ slope) ** 2 / max(float(np.square(signs) @ information), 1e-300)

    def moved(self, errors: FloatArray, sibling: int, t: float) -> FloatArray:
        return errors - t * self.patterns[sibling].signs

    def corrected_otherwise(self, seen: Scores, sibling: int) -> FloatArray | None:
        """For a shift in the units of the targets, of which predicted standard deviations are different shares."""
        if seen.residuals.ndim > 1:
            return None
        return seen.shifted_back(self.patterns[sibling].signs, _location_and_variance(seen.law)[0])

    def size(self, seen: Scores, sibling: int, t: float) -> float:
        return seen.moved_by(self.patterns[sibling].sign * t)

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
        much = f"{sized_shift(fit, lambda t: seen.moved_by(sqrt(3.0) * t))} predicted standard deviations"
        ends = f"by {much}, and as much too {low} where they are smallest"
        return f"outcomes are too {high} where predicted means are largest, {ends}"


class SlopeInUnits(Shift):
    """Outcomes that rise 1 + t times as much as the predicted means."""

    kind = "slope"

    def __init__(self, mean: FloatArray, deviations: FloatArray) -> None:
        precision = np.square(np.median(deviations) / deviations)
        super().__init__([Pattern((mean - precision @ mean / precision.sum()) / deviations)])

    def size(self, seen: Scores, sibling: int, t: float) -> float:
        return 1.0 + t

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        more = "more" if fit.t > 0.0 else "less"
        return f"outcomes rise {more} than predicted: {self.sized(seen, sibling, fit)} times as much as predicted means"


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
        return seen.total(self.log_of_moved(seen, sibling, t) - logs)

    def _score(self, seen: Scores, signs: FloatArray, coordinate: int) -> float:
        slope, information = seen.slopes(coordinate)
        terms = seen.errors[:, coordinate] * slope - 1.0
        return float(signs @ terms) ** 2 / max(float(np.square(signs) @ (1.0 + information)), 1e-300)

    def moved(self, errors: FloatArray, sibling: int, t: float) -> FloatArray:
        return np.asarray(errors * np.exp(-t * self.patterns[sibling].signs))

    def size(self, seen: Scores, sibling: int, t: float) -> float:
        return seen.ratio(t * self.patterns[sibling].sign)

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        return scale_in_words(self.patterns[sibling], fit, seen.ratio)


def scale_in_words(pattern: Pattern, fit: Fit, ratio: Callable[[float], float] = exp) -> str:
    """That errors are larger than predicted, or smaller, and where; ``ratio`` is that of errors for a log scale."""
    size = ratio(pattern.sign * fit.t)
    much = f"{sized(fit, lambda t: ratio(pattern.sign * t))} times as large as predicted"
    rest = pattern.opposite(f"{about(ratio(-pattern.sign * fit.t))} times elsewhere")
    return f"predictions are too {'narrow' if size > 1.0 else 'wide'}{pattern.where}: errors are {much}{rest}"


class SpreadPower(Scale):
    """Errors that are ``(s / m)**t`` times as large, for deviations s with the geometric mean m."""

    kind = "power of spreads"
    range = (-3.0, 3.0)

    def __init__(self, deviations: FloatArray) -> None:
        logs = np.log(deviations)
        super().__init__([Pattern(logs - logs.mean())])

    def bounds(self, seen: Scores, sibling: int) -> tuple[float, float]:
        return self.range

    def size(self, seen: Scores, sibling: int, t: float) -> float:
        return 1.0 + t

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        more, power = "more" if fit.t > 0.0 else "less", self.sized(seen, sibling, fit)
        return f"spreads of errors differ {more} than predicted: as the power {power} of predicted standard deviations"


class AddedNoise(Scale):
    """Variances that are larger by one number, that of noise with the standard deviation ``c (exp(t) - 1)``.

    The smallest predicted standard deviation says what c is, so that sizes of noise next to each other differ by about
    as much in whatever is predicted.
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
        def size(some: BoolArray) -> str:
            w = seen.weights[some]
            mean, error = float(w @ seen.errors[some]) / w.sum(), sqrt(float(w @ w)) / w.sum()
            return f"{'+' if mean > 0.0 else ''}{about(seen.moved_by(mean))}" if abs(mean) > 2.0 * error else ""

        places = self.patterns[sibling].in_places(size, "", "predicted standard deviations")
        return f"outcomes are off in places{places}"


class ScaleWave(Scale):
    """Errors that are too large for some predictions and too small for others, with a wave of the predictions."""

    patterns: Sequence[Wave]
    range = (-1.0, 1.0)

    def bounds(self, seen: Scores, sibling: int) -> tuple[float, float]:
        return self.range

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        def size(some: BoolArray) -> str:
            w = seen.weights[some]
            square = float(w @ np.square(seen.errors[some])) / w.sum()
            error = sqrt(2.0 * float(w @ w)) / w.sum()
            return about(sqrt(square)) if abs(square - 1.0) > 2.0 * error else ""

        places = self.patterns[sibling].in_places(size, "errors are ", "times as large as predicted")
        return f"predictions are too narrow or too wide in places{places}"


def sums_of_scores(features: FloatArray, seen: Scores) -> FloatArray:
    """``sum_i f_ji z_bi``, the first Hermite polynomial times features (J, n): (J, B), or (J d, B) for vectors."""
    return _by_features(features, seen.clipped)


def sums_of_squares(features: FloatArray, seen: Scores) -> FloatArray:
    """The same of squares, the second Hermite polynomial but for its constant."""
    return _by_features(features, np.square(seen.clipped))


def _by_features(features: FloatArray, scores: FloatArray) -> FloatArray:
    if scores.ndim == 2:
        return np.asarray(features @ scores.T)
    return np.concatenate((features @ scores).transpose(1, 2, 0))
