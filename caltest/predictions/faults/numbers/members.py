"""Faults of ensembles of numbers: outliers, outcomes that are larger by a factor, and single members that are off."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import exp, expm1, inf, lgamma, log, log1p, sqrt
from typing import Any

import numpy as np
import scipy

from caltest._basics.calls import kept
from caltest._basics.numerics import FloatArray, evenly_spaced
from caltest.predictions.faults.fault import Fault, Mixed, Scope
from caltest.predictions.faults.maxima import asked_once, best_between, best_of_grid
from caltest.predictions.faults.numbers.errors import Scale, ShiftInUnits
from caltest.predictions.faults.numbers.scores import MEMBERS, SPREADLESS, STEPS, Scores, residuals_among
from caltest.predictions.faults.numbers.shapes import LEAST_OUTLYING, OUTLYING, RARE
from caltest.predictions.faults.patterns import Pattern
from caltest.predictions.faults.values import Others
from caltest.predictions.faults.words import Fit, about, percent, sized_shift

SCALES, BETTER, LEAST_ERROR = tuple(np.exp(np.linspace(-0.4, 1.2, 17)).tolist()), 3.0, 1e-6
"""Scales of all errors that are tried instead of outliers, by how much these have to be more likely, and the smallest
error that has a logarithm of its own."""

OFF, WIDER, BESIDE = 0.15, 1.25, 3.0
"""Standard deviations of the others by which half of the members are off, at least, and the factors of errors of one,
and of how far it is off beside these, from which on it is not like them."""

CLEAR, FEWEST, FEWEST_ROWS, FARTHEST, REACH = 6.0, 4, 100, 100.0, 6.0
"""Standard errors by which a member is off at least, members from which on one is, rows whose number is a penalty, how
far away it counts at most, and standard errors in which its size is looked for."""

BEYOND, SMOOTH, NARROWEST, CELLS, AROUND = 1e-3, 0.9, 1e-3, 1024, 1.0
"""Shares of numbers beyond which a density falls exponentially, its bandwidth beside their spread and the least one,
cells, and the logarithms of factors around their mean that are looked at."""

SURE, INSTEAD_OF_OTHERS = 12.0, 8.0
"""Log likelihood ratio from which on a factor or an amount is clear by itself, and how many times as likely as a shift
in standard deviations an amount has to be: limits are not yet laws."""

MOST_MORE, STEP, SETTLED = 600.0, 0.05, 1e-6
"""Largest difference of log likelihoods, that of logarithms of factors over which one is differentiated, and the step,
in standard deviations, that ends a search."""

SMALLEST = 1e-300
"""Squares and probabilities that are 0 count as this."""


class MemberOutliers(Mixed[Scores]):
    """A share t of the outcomes with errors that are several times as large, by the most likely factor.

    Logarithms of absolute errors have the law of those of members among the others, whatever it is, or this law farther
    up. Named where that explains them better than larger errors of all outcomes do.
    """

    kind = "outliers"
    of_targets = True
    scope: Scope = "shape"
    range = (0.0, 0.5)

    def __init__(self, seen: Scores) -> None:
        found = _outlying(seen)
        self._is_one = LEAST_OUTLYING < found.times < SPREADLESS and found.beside_scales > BETTER
        self.n_choices = sqrt(float(seen.weights.sum()))
        if self._is_one:
            # Compared with scales it has the likelihood of theirs, of Student's t, where that is larger.
            scale = Scale([Pattern(np.ones(seen.errors.size))])
            like = max(scale.log_ratio(seen, 0, log(times)) for times in SCALES)
            self.n_choices *= exp(-min(max(like - found.of_scales, 0.0), MOST_MORE))

    def promising(self, seen: Scores) -> FloatArray:
        return np.array([0.0 if self._is_one else -np.inf])

    def log_ratios(self, seen: Scores, sibling: int) -> FloatArray:
        return _outlying(seen).log_ratios

    def corrected(self, seen: Scores, sibling: int, t: float) -> Others:
        """The outcomes that are more likely none."""
        return Others(np.flatnonzero(_outlying(seen).log_ratios + log(max(t, SMALLEST)) <= log1p(-t)))

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        much = f"about {self.sized(seen, sibling, fit, percent)} of the outcomes are outliers"
        times = about(seen.ratio(log(_outlying(seen).times)))
        return f"{much}, with errors about {times} times as large as predicted"


@dataclass(frozen=True)
class Outlying:
    """Log likelihood ratios (n,) of outliers, how many times as large their errors are, that of scales, and more."""

    log_ratios: FloatArray
    times: float
    of_scales: float
    beside_scales: float


@kept
def _outlying(seen: Scores) -> Outlying:
    """By the EM method."""
    members, own = (np.log(np.maximum(np.abs(one), LEAST_ERROR)) for one in (seen.errors_of_members, seen.errors))
    log_density, w, middle = log_density_of(members), seen.weights, float(members.mean())
    at = log_density(own)
    share, step = RARE, log(OUTLYING)
    for _ in range(STEPS):
        ratios = log_density(own - step) - at
        outlying = w / (1.0 + (1.0 - share) / share * np.exp(-ratios))
        total = max(float(outlying.sum()), SMALLEST)
        share = min(max(total / float(w.sum()), 1e-12), 0.5)
        step = max(log(LEAST_OUTLYING), float(outlying @ own) / total - middle)
    ratios = log_density(own - step) - at
    scales = max(seen.total(log_density(own - log(times)) - at) for times in SCALES)
    gained = seen.total(np.logaddexp(log1p(-share), log(share) + ratios))
    return Outlying(ratios, exp(step), scales, gained - scales)


class MemberFactor(Fault[Scores]):
    """Outcomes of more than 0 that are exp(t) times as large as members.

    Logarithms are shifted then: the likelihood is that of the law that those of members have among the others.
    """

    kind = "factor"
    is_factor = of_targets = True
    range = (-12.0, 12.0)

    def __init__(self, seen: Scores) -> None:
        # Compared with shifts and scales it has the likelihood of theirs, of Student's t; its size has a better one.
        self._share = 1.0
        t, neighbours = best_of_grid(
            log_ratio := asked_once(lambda t: self.log_ratio(seen, 0, t)), *self.bounds(seen, 0)
        )
        t = best_between(log_ratio, t, neighbours)
        # Units are those of few members, so that scores vary more than the likelihood bends.
        log_density, own, units, _ = _logarithms(seen)
        below, at, above = (log_density(own - (t + step) / units) for step in (-STEP, 0.0, STEP))
        information = seen.total(2.0 * at - below - above)
        variance = float(np.square(seen.weights) @ np.square(above - below)) / 4.0
        self._share = min(1.0, information / max(variance, SMALLEST)) if information > 0.0 else 1.0
        self.n_choices = beside_kernel(seen, self._share * log_ratio(t), seen.outcomes * -expm1(-t), t)

    def bounds(self, seen: Scores, sibling: int) -> tuple[float, float]:
        """Around the mean difference of logarithms."""
        _, errors, units, _ = _logarithms(seen)
        middle = seen.total(errors * units) / float(seen.weights.sum())
        return min(middle, 0.0) - AROUND, max(middle, 0.0) + AROUND

    def log_ratio(self, seen: Scores, sibling: int, t: float) -> float:
        log_density, errors, units, own = _logarithms(seen)
        return self._share * seen.total(log_density(errors - t / units) - own)

    def corrected(self, seen: Scores, sibling: int, t: float) -> Scores:
        return _with_outcomes(seen, seen.outcomes * exp(-t))

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        return f"outcomes are {self.sized(seen, sibling, fit)} times as large as members"


def beside_kernel(seen: Scores, gained: float, less: FloatArray | float, log_factor: float) -> float:
    """Choices that bring a log likelihood ratio, if it is clear, to that of Student's t for outcomes that are less.

    Shifts and scales have this one, and faults are compared by it.
    """
    errors = seen.errors - less / seen.units_of_errors
    like = seen.total(seen.log_kernel(errors) - seen.log_kernel(seen.errors) - log_factor)
    return exp(min(max(gained - like, -MOST_MORE), MOST_MORE)) if gained > SURE else 1.0


class MemberAmount(Fault[Scores]):
    """Outcomes that are higher than members by t, in their units.

    Differences to the mean of the members are weighted by the variances of pools with the outcome, lower by t. So they
    are those of any value of the pools, whatever the law of these; the likelihood is that of the normal limit.
    """

    kind = "shift in units"
    of_targets = True
    range = (-inf, inf)

    def __init__(self, seen: Scores) -> None:
        law: Any = seen.law
        members, y = law.without(seen.targets[0]).members, seen.outcomes
        m, mean = int(members.shape[1]), members.mean(axis=1)
        squares, self._t = np.maximum(np.square(members - mean[:, None]).sum(axis=1), SMALLEST), 0.0
        for _ in range(STEPS):
            e = y - mean - self._t
            pools = squares + np.square(e) * m / (m + 1.0)
            w = seen.given_weights / pools
            step = float(w @ e) / float(w.sum())
            self._t += step
            if abs(step) < SETTLED * float(np.sqrt(np.median(squares))):
                break
        # What the sum of w e varies by, and how it falls with t, which weights depend on: means over values of pools.
        variance = float(np.square(seen.given_weights) @ (1.0 / pools)) * (m + 1.0) / m**2
        self._error = sqrt(variance) / (float(w.sum()) * (1.0 - 2.0 / m))
        self.n_choices = INSTEAD_OF_OTHERS * beside_kernel(seen, self.log_ratio(seen, 0, self._t), self._t, 0.0)

    def bounds(self, seen: Scores, sibling: int) -> tuple[float, float]:
        return min(self._t, 0.0) - REACH * self._error, max(self._t, 0.0) + REACH * self._error

    def log_ratio(self, seen: Scores, sibling: int, t: float) -> float:
        return 0.5 * (self._t**2 - (t - self._t) ** 2) / self._error**2

    def corrected(self, seen: Scores, sibling: int, t: float) -> Scores:
        return _with_outcomes(seen, seen.outcomes - t)

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        side = "above" if fit.t > 0.0 else "below"
        return f"outcomes are {side} what was predicted, by {sized_shift(fit)} {ShiftInUnits.unit}"


def _with_outcomes(seen: Scores, y: FloatArray) -> Scores:
    """Other outcomes (n,) among the same members."""
    law: Any = seen.law
    pools = type(law)(np.concatenate([law.without(seen.targets[0]).members, y[:, None]], axis=1))
    return Scores(pools, y[None], seen.given_weights, seen.spread)


Logarithms = tuple[Callable[[FloatArray], FloatArray], FloatArray, FloatArray, FloatArray]


@kept
def _logarithms(seen: Scores) -> Logarithms:
    """The log density of errors of logarithms of members, errors of those of outcomes, their units, and its values."""
    law: Any = seen.law
    logs = Scores(type(law)(np.log(law.members)), np.log(seen.targets[:1]), seen.given_weights, seen.spread)
    log_density = log_density_of(logs.errors_of_members)
    return log_density, logs.errors, logs.units_of_errors, log_density(logs.errors)


def log_density_of(values: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """The logarithm of a smooth density of many numbers (N,), which falls exponentially beyond nearly all of them."""
    low, high = np.quantile(values, (BEYOND, 1.0 - BEYOND))
    width = max(SMOOTH * min(float(values.std()), float(high - low) / 4.0) * values.size**-0.2, NARROWEST)
    edges = np.linspace(low - 4.0 * width, high + 4.0 * width, CELLS + 1)
    cell = float(edges[1] - edges[0])
    counts = np.histogram(values, edges)[0]
    density = scipy.ndimage.gaussian_filter1d(counts.astype(np.float64), width / cell, mode="constant")
    middles = 0.5 * (edges[1:] + edges[:-1])
    inside = (middles >= low - cell) & (middles <= high + cell)
    places, logs = middles[inside], np.log(np.maximum(density[inside], SMALLEST) / (cell * values.size))
    above, below = values[values > places[-1]] - places[-1], places[0] - values[values < places[0]]
    rates = [1.0 / max(float(one.mean()) if one.size else width, SMALLEST) for one in (below, above)]

    def log_density(x: FloatArray) -> FloatArray:
        outside = rates[0] * np.maximum(places[0] - x, 0.0) + rates[1] * np.maximum(x - places[-1], 0.0)
        return np.asarray(np.interp(x, places, logs) - outside)

    return log_density


class OneMember(Fault[Scores]):
    """A member that is not like the others, whose forecast without it, or with it at their mean, outcomes fit better.

    Members say how far it is off, t with a standard error, outcomes whether that is what is wrong with them.
    """

    kind = "member"
    of_targets = True
    # Members alone tell that it is off, so that it is named before spreads and shifts that it brings about.
    scope: Scope = "level"
    range = (-inf, inf)

    def __init__(self, given: FloatArray, place: int, t: float, error: float) -> None:
        """One of the members as they were given, (n, m)."""
        self._given, self._place, self._t, self._error = given, place, t, error
        # Neither its size nor which of the members it is was chosen by outcomes.
        self.n_choices = 1.0 / sqrt(max(len(given), FEWEST_ROWS))

    def place(self, sibling: int) -> str:
        return f"member {self._place}"

    def bounds(self, seen: Scores, sibling: int) -> tuple[float, float]:
        return self._t - REACH * self._error, self._t + REACH * self._error

    @abstractmethod
    def without(self) -> FloatArray:
        """The members without what is wrong."""

    def log_ratio(self, seen: Scores, sibling: int, t: float) -> float:
        known: float | None = vars(self).get("_gained")
        if known is None:
            y = seen.outcomes
            logs = [_log_densities(y, members) for members in (self.without(), self._given)]
            known = vars(self)["_gained"] = seen.total(logs[0] - logs[1])
        return known - 0.5 * ((t - self._t) / self._error) ** 2

    def corrected(self, seen: Scores, sibling: int, t: float) -> Scores:
        law: Any = seen.law
        pools = type(law)(np.concatenate([self.without(), seen.outcomes[:, None]], axis=1))
        return Scores(pools, seen.targets[:1], seen.given_weights, seen.spread)


def _log_densities(y: FloatArray, members: FloatArray) -> FloatArray:
    """Of outcomes (n,) by Student's t of members (n, m)."""
    df = members.shape[1] - 1.0
    units = np.maximum(members.std(axis=1, ddof=1), SMALLEST) * sqrt(1.0 + 1.0 / (df + 1.0))
    constant = lgamma(0.5 * (df + 1.0)) - lgamma(0.5 * df) - 0.5 * log(df)
    errors = (y - members.mean(axis=1)) / units
    return np.asarray(constant - 0.5 * (df + 1.0) * np.log1p(np.square(errors) / df) - np.log(units))


class MemberShift(OneMember):
    """A member that is too high by t on average, in the units of the outcomes."""

    def without(self) -> FloatArray:
        members = np.array(self._given)
        members[:, self._place] -= self._t
        return members

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        side = "high" if fit.t > 0.0 else "low"
        return f"member {self._place} is too {side}, by {sized_shift(fit)} on average beside the other members"


class MemberNoise(OneMember):
    """A member with errors among the others that are exp(t) times as large as theirs."""

    is_factor = True

    def without(self) -> FloatArray:
        return np.delete(self._given, self._place, axis=1)

    def words(self, seen: Scores, sibling: int, fit: Fit) -> str:
        far = f"its errors among them are {self.sized(seen, sibling, fit)} times as large as theirs"
        return f"member {self._place} does not go with the others: {far}"


def faults_of_members(given: FloatArray) -> list[OneMember]:
    """Members of some (n, m) that are off the most among the others, if that is clear and most others are not."""
    n, m = given.shape
    if m < FEWEST or (np.diff(given, axis=1) >= 0.0).all():  # Members in ascending order are no models.
        return []
    rows = evenly_spaced(n, max(1, MEMBERS // m))
    residuals = np.clip(residuals_among(given[rows, :, None])[..., 0], -FARTHEST, FARTHEST)
    means, logs = residuals.mean(axis=0), np.log(np.maximum(np.abs(residuals - residuals.mean(axis=0)), LEAST_ERROR))
    # Logarithms of errors have a spread whatever the law of members is; others are off to the other side, by a share.
    sizes, error = logs.mean(axis=0), 1.0 / sqrt(rows.size)
    sizes = sizes - np.median(sizes)
    shifted, noisy = int(np.abs(means).argmax()), int(sizes.argmax())
    off, usual = abs(float(means[shifted])), max(float(np.median(np.abs(means))), OFF)
    found: list[OneMember] = []
    if off > max(BESIDE * usual, CLEAR * error * float(residuals[:, shifted].std())):
        apart = given[:, shifted] - np.delete(given, shifted, axis=1).mean(axis=1)
        found.append(MemberShift(given, shifted, float(apart.mean()), float(apart.std()) / sqrt(n)))
    spread = error * float(logs[:, noisy].std())
    if sizes[noisy] > max(log(WIDER), CLEAR * spread):
        found.append(MemberNoise(given, noisy, float(sizes[noisy]), spread))
    return found
