"""What is predicted of times of events and seen of them: cumulative hazards, and how likely times are."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, log

import numpy as np
import scipy

from caltest._basics.numerics import BoolArray, FloatArray, evenly_spaced, ranges
from caltest.predictions.base import Predictions

AMONG = 24
"""Predictions that tell the law of the event of any row."""

CUTS, TOGETHER = np.linspace(0.02, 0.96, 48), 4
"""Shares of the events up to the times before and after which rates are looked at apart, and of how many neighbours
one is kept: between coarser ones a rate would be that of times on both sides of its change."""

ONE_DEVIATION = (0.15865525393145707, 0.5, 0.8413447460685429)
"""Levels of normal quantiles from -1 to 1."""

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
        """From predictions, times (n,), and the levels between which events are; None without any event.

        And None of members: those of a calibrated ensemble are exchangeable with the outcome, but the share of them
        that is below some time is no probability of an event until then.
        """
        seen = ends[1] < 1.0
        if not seen.any() or (grid_of(law) is None and law.transforms(times, seen) is not None):
            return None
        start, stop = (hazard_of(end) for end in ends)
        middle, *cuts = ends_of_intervals(law, np.quantile(times[seen], (0.5, *CUTS), method="lower")).tolist()
        cuts = np.unique(cuts)
        at_cuts = np.stack([hazard_of(levels_at(law, cut)) for cut in cuts])
        at_middle = hazard_of(levels_at(law, middle))
        stop = np.where(seen, np.maximum(stop, start), np.inf)
        risks = cls(start, stop, weights, middle, at_middle, cuts, at_cuts, Given(law, times, seen))
        clear = np.array([max(risks.promise(cut, after) for after in (False, True)) for cut in range(cuts.size)])
        kept = [part.start + int(clear[part].argmax()) for part in ranges(cuts.size, TOGETHER)]
        return replace(risks, cuts=cuts[kept], at_cuts=at_cuts[kept])

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

    def counts(self, cut: int, after: bool) -> tuple[float, float]:
        """Events up to a cut, or after it, and how many are predicted."""
        w, at = self.weights, self.at_cuts[cut]
        expected = self.expected - np.minimum(self.expected, at) if after else np.minimum(self.expected, at)
        return float(w @ (self.seen & ((self.expected > at) == after))), float(w @ expected)

    def promise(self, cut: int, after: bool) -> float:
        """Log likelihood ratio of the rate that was seen, as of a Poisson number of events."""
        found, expected = self.counts(cut, after)
        return found * log(max(found, NEVER) / max(expected, NEVER)) - found + expected

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
            z = scores_of(hazards)
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

    def stretched(self, t: float) -> "Risks":
        """If times are exp(t) times as long as predicted."""
        given = self.known
        start = hazard_of(given.law.cdf(given.times * exp(-t)))
        at_cuts = np.stack([hazard_of(levels_at(given.law, cut * exp(-t))) for cut in self.cuts])
        return replace(self, start=start, stop=np.where(self.seen, start, np.inf), at_cuts=at_cuts, given=None)

    @property
    def known(self) -> "Given":
        """What is given, where there was no correction."""
        assert self.given is not None
        return self.given

    @property
    def levels(self) -> tuple[FloatArray, FloatArray]:
        """Those between which events are."""
        return -np.expm1(-self.start), np.where(self.seen, -np.expm1(-self._last), 1.0)

    @cached_property
    def log_risk(self) -> FloatArray:
        """Logarithms of cumulative hazards at the middle, (n,)."""
        return np.log(np.maximum(self.at_middle, SMALLEST))


@dataclass(frozen=True)
class Given:
    """Predictions, times (n,) until which rows were watched, and whether an event was seen then."""

    law: Predictions
    times: FloatArray
    seen: BoolArray

    @cached_property
    def log_likelihoods(self) -> FloatArray:
        """Of the times by the predictions of their rows, (n,)."""
        return log_likelihoods_of(self.law, self.times, self.seen)

    @cached_property
    def ratios_of_others(self) -> FloatArray:
        """Log ratios (n,) of the likelihoods of times by the mean of predictions and by those of their own rows."""
        total, places = np.full(len(self.law), -np.inf), evenly_spaced(len(self.law), AMONG)
        for place in places:
            some = self.law.take(np.full(len(self.law), place))
            total = np.logaddexp(total, log_likelihoods_of(some, self.times, self.seen))
        return np.asarray(total - log(places.size) - self.log_likelihoods)

    def log_ratios_of_stretched(self, t: float) -> FloatArray:
        """Log likelihood ratios (n,) if times are exp(t) times as long as predicted."""
        logs = log_likelihoods_of(self.law, self.times * exp(-t), self.seen) - t * self.seen
        return logs - self.log_likelihoods

    @cached_property
    def clock(self) -> tuple[FloatArray, FloatArray] | None:
        """Ends of the intervals of curves, and what they count as; None of other laws, whose times count as they are.

        Curves with steps at times of events have as much in a wide interval as in a narrow one next to it. A law
        without these would explain times better than any of them, whatever is wrong: within cells of several intervals
        it has steps like theirs.
        """
        law, grid = self.law.finite, grid_of(self.law)
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
    def spans(self) -> tuple[FloatArray, FloatArray]:
        """Times (n,), as they count, between which events of curves are, of other laws known ones."""
        if self.clock is None:
            return self.times, self.times
        edges, ticks = self.clock
        interval, ticks = np.searchsorted(edges[1:], self.times, side="left"), np.append(ticks, np.inf)
        low, high = (np.where(self.seen, ticks[interval + j], self.at(self.times)) for j in (0, 1))
        return low, high

    def log_shares(self, end: float) -> FloatArray:
        """Log likelihoods (n,) of times if these are uniform up to an end, where they are before it."""
        (low, high), last = self.spans, float(self.at(end))
        log_widths = 0.0 if self.clock is None else np.log(np.maximum(np.minimum(high - low, last), NEVER))
        return np.where(self.seen, log_widths - log(max(last, NEVER)), log_of(1.0 - low / max(last, NEVER)))

    @cached_property
    def log_times(self) -> tuple[FloatArray, FloatArray] | None:
        """Logarithms of predicted medians and the standard deviation of those of times, (n,); None for other laws."""
        if self.clock is not None:
            return None
        low, middle, high = (self.law.quantile(level) for level in ONE_DEVIATION)
        if not (low > 0.0).all() or not np.isfinite(high).all() or (high <= low).any():
            return None
        return np.log(middle), 0.5 * np.log(high / low)


def log_of(numbers: FloatArray) -> FloatArray:
    """Logarithms, of 0 that of the smallest probability."""
    return np.asarray(np.log(np.maximum(numbers, NEVER)))


def hazard_of(levels: FloatArray) -> FloatArray:
    """Cumulative hazards at levels of distribution functions."""
    return np.minimum(-np.log1p(-np.clip(levels, 0.0, 1.0 - 1e-16)), LARGEST)


def scores_of(hazards: FloatArray) -> FloatArray:
    """Normal scores of levels with some cumulative hazards."""
    return np.asarray(-scipy.special.ndtri_exp(-np.maximum(hazards, NEVER)))


def grid_of(law: Predictions) -> FloatArray | None:
    """Times between which curves say how probable events are; None of other laws."""
    grid: FloatArray | None = getattr(law, "times", None)
    return grid


def ends_of_intervals(law: Predictions, times: FloatArray) -> FloatArray:
    """Where the intervals of curves end that some times are in: within one a curve says nothing of events."""
    grid = grid_of(law)
    return times if grid is None else grid[np.minimum(np.searchsorted(grid, times), grid.size - 1)]


def levels_at(law: Predictions, time: float) -> FloatArray:
    """Predicted probabilities (n,) of an event up to a time, or where the interval of levels ends that it is in."""
    times = np.full(len(law), time)
    found = law.transforms(times, np.ones(len(law), dtype=np.bool_))
    return law.cdf(times) if found is None else found.ends[1]


def log_likelihoods_of(law: Predictions, times: FloatArray, seen: BoolArray) -> FloatArray:
    """Of times (n,) by the predictions of their rows."""
    found = law.transforms(times, seen)
    if found is None:
        return np.where(seen, law.log_density(times), np.maximum(log_of(law.survival(times)), -LARGEST))
    low, high = found.ends
    return np.maximum(log_of(np.where(seen, high - low, 1.0 - low)), -LARGEST)
