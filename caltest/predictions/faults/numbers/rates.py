"""Faults of times of events that depend on the predicted risk, or on the time: rates that are off in places."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, log, log1p, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from caltest._basics.numerics import BoolArray, FloatArray, evenly_spaced
from caltest.predictions.base import Predictions
from caltest.predictions.faults.fault import Fault, OfPatterns, Scope, halves, varies
from caltest.predictions.faults.other_rows import OtherRows
from caltest.predictions.faults.words import Fit, about, instead, percent

if TYPE_CHECKING:
    from caltest.predictions.faults.numbers.intervals import IntervalScores

AMONG = 24
"""Predictions that tell the law of the event of any row."""

CUTS = (0.02, 0.05, 0.08, 0.12, 0.16, 0.2, 0.25, 0.3, 0.4, 0.5, 0.65, 0.8)
"""Shares of the events up to the times before and after which rates are looked at apart."""

ONE_DEVIATION = (0.15865525393145707, 0.5, 0.8413447460685429)
"""Levels of normal quantiles from -1 to 1."""

LEVEL = 0.1
"""Power of what is predicted up to which events do not follow it."""

MIDDLE_IS_OFF = 3.0
"""Standard errors by which rates in the middle differ where that is said beside a power of them."""

LARGEST, SMALLEST = 36.0, 1e-12
"""Cumulative hazards from which on nothing is left up to rounding, and the smallest whose ratio says something."""

CELL, ROUGH = 16, 0.5
"""Intervals of curves that are a cell, where widths of neighbours differ more: log-ratios' standard deviation."""

NEVER = 1e-300
"""The smallest probability."""

Function = Callable[[FloatArray], FloatArray]
"""Of cumulative hazards (n,) that are predicted."""


@dataclass(frozen=True)
class Risks:
    """What is predicted for n rows and seen of them, on the scale of cumulative hazards ``h = -log S``.

    An event is where `start` and `stop` (n,) are equal, or between them; one that was not seen is after `start`.
    """

    start: FloatArray
    stop: FloatArray
    weights: FloatArray
    middle: float
    """The median time of events."""
    at_middle: FloatArray
    """Cumulative hazards (n,) at that time, as users have them."""
    cuts: FloatArray
    at_cuts: FloatArray
    """Some times (K,), and cumulative hazards (K, n) at these."""
    given: "Given | None"
    """The predictions; None after a correction."""

    @classmethod
    def of(
        cls, law: Predictions, times: FloatArray, ends: tuple[FloatArray, FloatArray], weights: FloatArray
    ) -> "Risks | None":
        """From predictions, times (n,), and the levels between which events are; None without any event."""
        seen = ends[1] < 1.0
        if not seen.any():
            return None
        start, stop = (_hazard(end) for end in ends)
        middle, *cuts = np.quantile(times[seen], (0.5, *CUTS), method="lower").tolist()
        cuts = np.unique(cuts)
        at_cuts = np.stack([_hazard(_levels(law, cut)) for cut in cuts])
        at_middle = _hazard(_levels(law, middle))
        stop = np.where(seen, np.maximum(stop, start), np.inf)
        return cls(start, stop, weights, middle, at_middle, cuts, at_cuts, Given(law, times, seen))

    @cached_property
    def seen(self) -> BoolArray:
        """Where an event was."""
        return np.isfinite(self.stop)

    @cached_property
    def _last(self) -> FloatArray:
        return np.where(self.seen, self.stop, self.start)

    @cached_property
    def expected(self) -> FloatArray:
        """Cumulative hazards (n,) while rows were watched: events that are predicted."""
        return 0.5 * (self.start + self._last)

    def log_ratio(self, changed: Function, log_slope: Function) -> FloatArray:
        """If cumulative hazards are a function of those predicted, with this logarithm of its slope, (n,)."""
        low, high, fall = changed(self.start), changed(self._last), self._last - self.start
        logs = self.start - low
        known, within = self.seen & (fall <= 0.0), self.seen & (fall > 0.0)
        logs[known] += log_slope(self.start)[known]
        fell = np.maximum((high - low)[within], NEVER)
        logs[within] += np.log(np.maximum(-np.expm1(-fell), NEVER)) - np.log(-np.expm1(-fall[within]))
        return logs

    def moved(self, before: FloatArray, after: FloatArray) -> "Risks":
        """With other normal scores (N,) of predictions in place of these, and lines between them."""
        order = np.argsort(before)
        x, y = before[order], after[order]

        def changed(hazards: FloatArray) -> FloatArray:
            z = _scores(hazards)
            beyond = np.minimum(z - x[0], 0.0) + np.maximum(z - x[-1], 0.0)
            return np.asarray(np.minimum(-scipy.special.log_ndtr(-(np.interp(z, x, y) + beyond)), LARGEST))

        return self.after(changed)

    def after(self, changed: Function) -> "Risks":
        """With other cumulative hazards of the predictions."""

        def bounded(hazards: FloatArray) -> FloatArray:
            """No events at any rate are none, and beyond the largest hazards nothing is left."""
            return np.clip(np.nan_to_num(changed(hazards), posinf=LARGEST), 0.0, LARGEST)

        stop = np.where(self.seen, bounded(self._last), np.inf)
        at_cuts = np.stack([bounded(one) for one in self.at_cuts])
        return replace(self, start=bounded(self.start), stop=stop, at_cuts=at_cuts, given=None)

    @property
    def levels(self) -> tuple[FloatArray, FloatArray]:
        """Those between which events are."""
        return -np.expm1(-self.start), np.where(self.seen, -np.expm1(-self._last), 1.0)

    @property
    def uniform(self) -> "Given | None":
        """What is given if it says how likely a time is, or an interval of them."""
        return self.given if self.given is not None and self.given.spans is not None else None

    @cached_property
    def log_risk(self) -> FloatArray:
        """Logarithms of cumulative hazards at the middle, (n,)."""
        return np.log(np.maximum(self.at_middle, SMALLEST))

    @property
    def faults(self) -> "tuple[Fault[IntervalScores], ...]":
        """Those that can be named."""
        kinds: list[Fault[IntervalScores]] = [HazardInTime(self), Early(self)]
        if self.given is not None and (log_times := self.given.log_times) is not None:
            kinds += [TimeFactor(), *([TimePower(*log_times)] if varies(log_times[0]) else [])]
        if varies(self.log_risk):
            name = f"predicted risks up to {about(self.middle, 3)}"
            kinds += [RiskPower(self), LocalHazard(halves(-np.expm1(-self.at_middle), name), "local hazard")]
            if self.given is not None:
                kinds.append(OtherRisks())
        return tuple(kinds)


@dataclass(frozen=True)
class Given:
    """Predictions, times (n,) until which rows were watched, and whether an event was seen then."""

    law: Predictions
    times: FloatArray
    seen: BoolArray

    @cached_property
    def log_likelihoods(self) -> FloatArray:
        """Of the times by the predictions of their rows, (n,)."""
        return _log_likelihoods(self.law, self.times, self.seen)

    @cached_property
    def ratios_of_others(self) -> FloatArray:
        """Log ratios (n,) of the likelihoods of times by the mean of predictions and by those of their own rows."""
        total, places = np.full(len(self.law), -np.inf), evenly_spaced(len(self.law), AMONG)
        for place in places:
            some = self.law.take(np.full(len(self.law), place))
            total = np.logaddexp(total, _log_likelihoods(some, self.times, self.seen))
        return np.asarray(total - log(places.size) - self.log_likelihoods)

    @cached_property
    def is_known(self) -> bool:
        """Whether predictions say how likely any time is, as curves and members do not."""
        return self.law.take([0]).transforms(self.times[:1], self.seen[:1]) is None

    @cached_property
    def clock(self) -> tuple[FloatArray, FloatArray] | None:
        """Ends of the intervals of curves, and what they count as; None of other laws, whose times count as they are.

        Curves with steps at times of events have as much in a wide interval as in a narrow one next to it. A law
        without these would explain times better than any of them, whatever is wrong: within cells of several intervals
        it has steps like theirs.
        """
        law, grid = self.law.finite, getattr(self.law, "times", None)
        if law is None or grid is None:
            return None
        edges, levels = np.append(0.0, grid), np.append(0.0, np.cumsum(law.probabilities.mean(axis=0))[: grid.size])
        ratios = np.diff(np.log(np.diff(edges)))
        cells = np.append(np.arange(0, grid.size, CELL if ratios.size and ratios.std() > ROUGH else 1), grid.size)
        first = np.minimum(np.arange(edges.size) // cells[1], cells.size - 2)
        low, high = cells[first], cells[first + 1]
        risen, whole = levels - levels[low], levels[high] - levels[low]
        share = np.where(whole > 0.0, risen / np.maximum(whole, NEVER), 0.0)
        return edges, edges[low] + share * (edges[high] - edges[low])

    def at(self, times: FloatArray | float) -> FloatArray:
        """What times count as."""
        return np.asarray(times if self.clock is None else np.interp(times, *self.clock), dtype=np.float64)

    @cached_property
    def spans(self) -> tuple[FloatArray, FloatArray] | None:
        """Times (n,), as they count, between which events of curves are, of other laws known ones; None of members."""
        if self.clock is None:
            return (self.times, self.times) if self.is_known else None
        edges, ticks = self.clock
        interval, ticks = np.searchsorted(edges[1:], self.times, side="left"), np.append(ticks, np.inf)
        low, high = (np.where(self.seen, ticks[interval + j], self.at(self.times)) for j in (0, 1))
        return low, high

    def log_shares(self, end: float) -> FloatArray:
        """Log likelihoods (n,) of times if these are uniform up to an end, where they are before it."""
        assert self.spans is not None
        (low, high), last = self.spans, float(self.at(end))
        log_widths = 0.0 if self.is_known else np.log(np.maximum(np.minimum(high - low, last), NEVER))
        return np.where(self.seen, log_widths - log(max(last, NEVER)), _log(1.0 - low / max(last, NEVER)))

    @cached_property
    def log_times(self) -> tuple[FloatArray, FloatArray] | None:
        """Logarithms of predicted medians and the standard deviation of those of times, (n,); None for other laws."""
        if not self.is_known:
            return None
        low, middle, high = (self.law.quantile(level) for level in ONE_DEVIATION)
        if not (low > 0.0).all() or not np.isfinite(high).all() or (high <= low).any():
            return None
        return np.log(middle), 0.5 * np.log(high / low)


def _log(numbers: FloatArray) -> FloatArray:
    return np.asarray(np.log(np.maximum(numbers, NEVER)))


def _hazard(levels: FloatArray) -> FloatArray:
    return np.minimum(-np.log1p(-np.clip(levels, 0.0, 1.0 - 1e-16)), LARGEST)


def _levels(law: Predictions, time: float) -> FloatArray:
    """Predicted probabilities (n,) of an event up to a time."""
    times = np.full(len(law), time)
    found = law.transforms(times, np.ones(len(law), dtype=np.bool_))
    return law.cdf(times) if found is None else 0.5 * (found.low + found.high)


def _log_likelihoods(law: Predictions, times: FloatArray, seen: BoolArray) -> FloatArray:
    found = law.transforms(times, seen)
    if found is None:
        return np.where(seen, law.log_density(times), np.maximum(_log(law.survival(times)), -LARGEST))
    low, high = found.ends
    return np.maximum(_log(np.where(seen, high - low, 1.0 - low)), -LARGEST)


def risks_of(seen: "IntervalScores") -> Risks:
    """What is predicted for each row."""
    assert seen.risks is not None
    return seen.risks


class OfRates(Fault["IntervalScores"]):
    """Cumulative hazards that are functions of those predicted."""

    @abstractmethod
    def changed(self, risks: Risks, sibling: int, t: float) -> Function:
        """The function."""

    @abstractmethod
    def log_slope(self, risks: Risks, sibling: int, t: float) -> Function:
        """The logarithm of its derivative."""

    def log_ratio(self, seen: "IntervalScores", sibling: int, t: float) -> float:
        risks = risks_of(seen)
        return float(
            risks.weights @ risks.log_ratio(self.changed(risks, sibling, t), self.log_slope(risks, sibling, t))
        )

    def corrected(self, seen: "IntervalScores", sibling: int, t: float) -> Risks:
        risks = risks_of(seen)
        return risks.after(self.changed(risks, sibling, t))


class LocalHazard(OfRates, OfPatterns["IntervalScores"]):
    """Events at exp(t s) times the predicted rate, with the signs s of a pattern."""

    kind = "local hazard"
    is_factor = True
    range = (-7.0, 7.0)

    def changed(self, risks: Risks, sibling: int, t: float) -> Function:
        factors = np.exp(t * self.patterns[sibling].signs)
        return lambda h: h * factors

    def log_slope(self, risks: Risks, sibling: int, t: float) -> Function:
        return lambda h: t * self.patterns[sibling].signs

    def words(self, seen: "IntervalScores", sibling: int, fit: Fit) -> str:
        one = self.patterns[sibling]
        rest = one.opposite(f"{about(1.0 / self.size(seen, sibling, fit.t))} times elsewhere")
        return f"events come at {self.sized(seen, sibling, fit)} times the predicted rate{one.where}{rest}"


class RiskPower(OfRates):
    """Rates that are ``exp(a + t x)`` times as large, for logarithms x of predicted cumulative hazards.

    The level a is that with as many events as were seen, and costs as much as another parameter.
    """

    kind = "slope"
    scope: Scope = "places"
    range = (-4.0, 4.0)

    def __init__(self, risks: Risks) -> None:
        self.n_choices = sqrt(float(risks.weights.sum()))

    def _logs(self, risks: Risks, t: float) -> FloatArray:
        """Logarithms of the factors of rates, (n,)."""
        logs = t * risks.log_risk
        w, largest = risks.weights, float(logs.max())
        predicted = float(w @ (risks.expected * np.exp(logs - largest)))
        return logs - largest + log(max(float(w @ risks.seen), NEVER) / max(predicted, NEVER))

    def changed(self, risks: Risks, sibling: int, t: float) -> Function:
        factors = np.exp(self._logs(risks, t))
        return lambda h: h * factors

    def log_slope(self, risks: Risks, sibling: int, t: float) -> Function:
        logs = self._logs(risks, t)
        return lambda h: logs

    def size(self, seen: "IntervalScores", sibling: int, t: float) -> float:
        return 1.0 + t

    def words(self, seen: "IntervalScores", sibling: int, fit: Fit) -> str:
        risks = risks_of(seen)
        power = f"rates of events differ as the power {self.sized(seen, sibling, fit)} of those predicted"
        level, events = float(np.median(self._logs(risks, fit.t))), float(risks.weights @ risks.seen)
        if abs(level) > MIDDLE_IS_OFF / sqrt(max(events, 1.0)):
            power += f", and are {about(exp(level))} times as high in the middle"
        return f"{_wrong(fit, 'predicted risks')}: {power}"


def _wrong(fit: Fit, predicted: str) -> str:
    """What is wrong where outcomes differ as the power 1 + t of what is predicted."""
    if 1.0 + fit.high < 0.0 and 1.0 + fit.t < -LEVEL:
        return f"{predicted} are the wrong way round"
    if 1.0 + fit.low < 0.0 or 1.0 + fit.t < LEVEL:
        return f"events do not follow {predicted}"
    return f"{predicted} are too {'even' if fit.t > 0.0 else 'extreme'}"


class TimeFactor(Fault["IntervalScores"]):
    """Times that are exp(t) times as long as predicted."""

    kind = "factor"
    is_factor = True
    range = (-7.0, 7.0)
    # A ratio of rates, which is the same of exponential laws, goes before it.
    n_choices = 1.2

    def log_ratio(self, seen: "IntervalScores", sibling: int, t: float) -> float:
        risks = risks_of(seen)
        given = risks.given
        assert given is not None
        logs = _log_likelihoods(given.law, given.times * exp(-t), given.seen) - t * given.seen
        return float(risks.weights @ (logs - given.log_likelihoods))

    def corrected(self, seen: "IntervalScores", sibling: int, t: float) -> Risks:
        risks = risks_of(seen)
        given = risks.given
        assert given is not None
        start = _hazard(given.law.cdf(given.times * exp(-t)))
        at_cuts = np.stack([_hazard(_levels(given.law, cut * exp(-t))) for cut in risks.cuts])
        return replace(risks, start=start, stop=np.where(risks.seen, start, np.inf), at_cuts=at_cuts, given=None)

    def words(self, seen: "IntervalScores", sibling: int, fit: Fit) -> str:
        return f"times of events are {self.sized(seen, sibling, fit)} times as long as predicted"


class TimePower(OfRates):
    """Times whose logarithms differ 1 + t times as much as those of predicted medians."""

    kind = "slope"
    range = (-4.0, 4.0)

    def __init__(self, medians: FloatArray, deviations: FloatArray) -> None:
        precision = np.square(1.0 / deviations)
        self._line = (medians - precision @ medians / precision.sum()) / deviations

    def changed(self, risks: Risks, sibling: int, t: float) -> Function:
        return lambda h: np.minimum(-scipy.special.log_ndtr(t * self._line - _scores(h)), LARGEST)

    def log_slope(self, risks: Risks, sibling: int, t: float) -> Function:
        def log_slope(h: FloatArray) -> FloatArray:
            z, moves = _scores(h), t * self._line
            return np.asarray(moves * (z - 0.5 * moves) + self.changed(risks, sibling, t)(h) - h)

        return log_slope

    def size(self, seen: "IntervalScores", sibling: int, t: float) -> float:
        return 1.0 + t

    def words(self, seen: "IntervalScores", sibling: int, fit: Fit) -> str:
        power = f"times of events differ as the power {self.sized(seen, sibling, fit)} of those predicted"
        return f"{_wrong(fit, 'predicted times')}: {power}"


def _scores(hazards: FloatArray) -> FloatArray:
    """Normal scores of levels with some cumulative hazards."""
    return np.asarray(-scipy.special.ndtri_exp(-np.maximum(hazards, NEVER)))


class HazardInTime(OfRates):
    """Events at exp(t) times the predicted rate up to a time, or after it."""

    kind = "hazard in time"
    is_factor = True
    scope: Scope = "places"
    range = (-7.0, 7.0)

    def __init__(self, risks: Risks) -> None:
        self._cuts, self.n_siblings = risks.cuts, 2 * len(risks.cuts)

    def changed(self, risks: Risks, sibling: int, t: float) -> Function:
        cut = risks.at_cuts[sibling // 2]
        before, after = (1.0, exp(t)) if sibling % 2 else (exp(t), 1.0)
        return lambda h: before * np.minimum(h, cut) + after * np.maximum(h - cut, 0.0)

    def log_slope(self, risks: Risks, sibling: int, t: float) -> Function:
        return lambda h: t * ((h > risks.at_cuts[sibling // 2]) == bool(sibling % 2))

    def _counts(self, risks: Risks, sibling: int) -> tuple[float, float]:
        """Events up to the time, or after it, and how many are predicted."""
        cut, h = risks.at_cuts[sibling // 2], risks.expected
        w, before = risks.weights, np.minimum(h, cut)
        if sibling % 2:
            return float(w @ (risks.seen & (h > cut))), float(w @ (h - before))
        return float(w @ (risks.seen & (h <= cut))), float(w @ before)

    def promising(self, seen: "IntervalScores") -> FloatArray:
        counts = (self._counts(risks_of(seen), sibling) for sibling in range(self.n_siblings))
        return np.array([(found - expected) ** 2 / max(expected, 1.0) for found, expected in counts])

    def place(self, sibling: int) -> str:
        return f"{'after' if sibling % 2 else 'up to'} {about(float(self._cuts[sibling // 2]), 3)}"

    def words(self, seen: "IntervalScores", sibling: int, fit: Fit) -> str:
        risks = risks_of(seen)
        counted = instead(*self._counts(risks, sibling), risks.weights)
        much = f"{self.sized(seen, sibling, fit)} times the predicted rate"
        return f"events come at {much} {self.place(sibling)}: {counted}"


class Early(Fault["IntervalScores"]):
    """A share t of the rows has the event up to some time, at any time before it.

    Of curves, and after a correction, with the law that is predicted up to then.
    """

    kind = "early"
    scope: Scope = "places"
    range = (0.0, 1.0)

    def __init__(self, risks: Risks) -> None:
        self._cuts, self.n_siblings = risks.cuts, len(risks.cuts)

    def log_ratio(self, seen: "IntervalScores", sibling: int, t: float) -> float:
        if t <= 0.0:
            return 0.0
        risks = risks_of(seen)
        others, before = log1p(-min(t, 1.0 - 1e-16)), risks.expected <= risks.at_cuts[sibling]
        logs = np.where(before, np.logaddexp(others, log(t) + self._gained(risks, sibling)), others)
        return float(risks.weights @ logs)

    def _counts(self, risks: Risks, sibling: int) -> tuple[float, float]:
        """Events up to the time, and how many are predicted while rows were watched."""
        cut, h, w = risks.at_cuts[sibling], risks.expected, risks.weights
        return float(w @ (risks.seen & (h <= cut))), float(w @ -np.expm1(-np.minimum(h, cut)))

    def promising(self, seen: "IntervalScores") -> FloatArray:
        """The likelihood of the share by which there are too many."""
        risks = risks_of(seen)
        counts, n = [self._counts(risks, k) for k in range(self.n_siblings)], float(risks.weights.sum())
        shares = [(found - expected) / n for found, expected in counts]
        return np.array([self.log_ratio(seen, k, t) if t > 0.0 else -np.inf for k, t in enumerate(shares)])

    def _gained(self, risks: Risks, sibling: int) -> FloatArray:
        """Log likelihood ratios (n,) of rows that were watched up to some part of the time."""
        if (given := risks.uniform) is not None:
            return given.log_shares(float(self._cuts[sibling])) - given.log_likelihoods
        left = _log(1.0 - self._levels(risks, sibling, risks.expected)) + risks.expected
        return np.where(risks.seen, -_log(-np.expm1(-risks.at_cuts[sibling])), left)

    def _levels(self, risks: Risks, sibling: int, hazards: FloatArray) -> FloatArray:
        """Of such events where others have some cumulative hazards (n,)."""
        every = np.maximum(-np.expm1(-risks.at_cuts[sibling]), NEVER)
        return np.asarray(np.minimum(-np.expm1(-hazards) / every, 1.0))

    def corrected(self, seen: "IntervalScores", sibling: int, t: float) -> Risks:
        risks = risks_of(seen)

        def mixed(hazards: FloatArray, levels: FloatArray) -> FloatArray:
            return _hazard((1.0 - t) * -np.expm1(-hazards) + t * levels)

        if (given := risks.uniform) is None:
            return risks.after(lambda h: mixed(h, self._levels(risks, sibling, h)))
        end, cuts = float(given.at(self._cuts[sibling])), zip(risks.at_cuts, given.at(risks.cuts), strict=True)
        assert given.spans is not None
        at_cuts = np.stack([mixed(h, np.full(h.size, min(cut / end, 1.0))) for h, cut in cuts])
        hazards = risks.start, np.where(risks.seen, risks.stop, 0.0)
        start, stop = (mixed(h, np.minimum(at / end, 1.0)) for h, at in zip(hazards, given.spans, strict=True))
        return replace(risks, start=start, stop=np.where(risks.seen, stop, np.inf), at_cuts=at_cuts, given=None)

    def place(self, sibling: int) -> str:
        return f"up to {about(float(self._cuts[sibling]), 3)}"

    def words(self, seen: "IntervalScores", sibling: int, fit: Fit) -> str:
        much = f"about {self.sized(seen, sibling, fit, percent)} of the rows have the event {self.place(sibling)}"
        risks = risks_of(seen)
        counted = instead(*self._counts(risks, sibling), risks.weights)
        return f"{much} whatever is predicted: {counted} events are up to then"


class OtherRisks(OtherRows):
    """Times that are those of other rows."""

    def log_ratio(self, seen: Any, sibling: int, t: float) -> float:
        if t <= 0.0:
            return 0.0
        risks = risks_of(seen)
        assert risks.given is not None
        return float(risks.weights @ np.logaddexp(log1p(-t), log(t) + risks.given.ratios_of_others))
