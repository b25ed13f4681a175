"""Faults of times of events that depend on the predicted risk, or on the time: rates that are off in places."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from math import exp, log, log1p, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from caltest._basics.numerics import FloatArray
from caltest.predictions.faults.fault import Fault, Scope, varies
from caltest.predictions.faults.numbers.risks import CUTS, LARGEST, NEVER, Function, Risks, hazard_of, log_of, scores_of
from caltest.predictions.faults.other_rows import OtherRows
from caltest.predictions.faults.patterns import OfPatterns, halves
from caltest.predictions.faults.words import Fit, about, instead, percent

if TYPE_CHECKING:
    from caltest.predictions.faults.numbers.intervals import IntervalScores

LEVEL = 0.1
"""Power of what is predicted up to which events do not follow it."""

MIDDLE_IS_OFF = 3.0
"""Standard errors by which rates in the middle differ where that is said beside a power of them."""


class OfRates(Fault["IntervalScores"]):
    """Cumulative hazards that are functions of those predicted."""

    @abstractmethod
    def changed(self, risks: Risks, sibling: int, t: float) -> Function:
        """The function."""

    @abstractmethod
    def log_slope(self, risks: Risks, sibling: int, t: float) -> Function:
        """The logarithm of its derivative."""

    def log_ratio(self, seen: "IntervalScores", sibling: int, t: float) -> float:
        risks = seen.of_rows
        return float(
            risks.weights @ risks.log_ratio(self.changed(risks, sibling, t), self.log_slope(risks, sibling, t))
        )

    def corrected(self, seen: "IntervalScores", sibling: int, t: float) -> Risks:
        risks = seen.of_rows
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
    is_slope = True
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

    def words(self, seen: "IntervalScores", sibling: int, fit: Fit) -> str:
        risks = seen.of_rows
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
        return float(seen.of_rows.weights @ seen.of_rows.known.log_ratios_of_stretched(t))

    def corrected(self, seen: "IntervalScores", sibling: int, t: float) -> Risks:
        return seen.of_rows.stretched(t)

    def words(self, seen: "IntervalScores", sibling: int, fit: Fit) -> str:
        return f"times of events are {self.sized(seen, sibling, fit)} times as long as predicted"


class TimePower(OfRates):
    """Times whose logarithms differ 1 + t times as much as those of predicted medians."""

    kind = "slope"
    is_slope = True
    range = (-4.0, 4.0)

    def __init__(self, medians: FloatArray, deviations: FloatArray) -> None:
        precision = np.square(1.0 / deviations)
        self._line = (medians - precision @ medians / precision.sum()) / deviations

    def changed(self, risks: Risks, sibling: int, t: float) -> Function:
        return lambda h: np.minimum(-scipy.special.log_ndtr(t * self._line - scores_of(h)), LARGEST)

    def log_slope(self, risks: Risks, sibling: int, t: float) -> Function:
        def log_slope(h: FloatArray) -> FloatArray:
            z, moves = scores_of(h), t * self._line
            return np.asarray(moves * (z - 0.5 * moves) + self.changed(risks, sibling, t)(h) - h)

        return log_slope

    def words(self, seen: "IntervalScores", sibling: int, fit: Fit) -> str:
        power = f"times of events differ as the power {self.sized(seen, sibling, fit)} of those predicted"
        return f"{_wrong(fit, 'predicted times')}: {power}"


class HazardInTime(OfRates):
    """Events at exp(t) times the predicted rate up to a time, or after it."""

    kind = "hazard in time"
    is_factor = True
    scope: Scope = "places"
    range = (-7.0, 7.0)

    def __init__(self, risks: Risks) -> None:
        self._cuts, self.n_siblings, self.n_choices = risks.cuts, 2 * len(risks.cuts), 2.0 * CUTS.size

    def changed(self, risks: Risks, sibling: int, t: float) -> Function:
        cut = risks.at_cuts[sibling // 2]
        before, after = (1.0, exp(t)) if sibling % 2 else (exp(t), 1.0)
        return lambda h: before * np.minimum(h, cut) + after * np.maximum(h - cut, 0.0)

    def log_slope(self, risks: Risks, sibling: int, t: float) -> Function:
        return lambda h: t * ((h > risks.at_cuts[sibling // 2]) == bool(sibling % 2))

    def promising(self, seen: "IntervalScores") -> FloatArray:
        risks = seen.of_rows
        return np.array([risks.promise(sibling // 2, sibling % 2 == 1) for sibling in range(self.n_siblings)])

    def rivals(self, sibling: int) -> Sequence[int]:
        return range(max(sibling - 2, sibling % 2), min(sibling + 3, self.n_siblings), 2)

    def place(self, sibling: int) -> str:
        return f"{'after' if sibling % 2 else 'up to'} {about(float(self._cuts[sibling // 2]), 3)}"

    def words(self, seen: "IntervalScores", sibling: int, fit: Fit) -> str:
        risks = seen.of_rows
        counted = instead(*risks.counts(sibling // 2, sibling % 2 == 1), risks.weights)
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
        self._cuts, self.n_siblings, self.n_choices = risks.cuts, len(risks.cuts), float(CUTS.size)

    def log_ratio(self, seen: "IntervalScores", sibling: int, t: float) -> float:
        if t <= 0.0:
            return 0.0
        risks = seen.of_rows
        others, before = log1p(-min(t, 1.0 - 1e-16)), risks.expected <= risks.at_cuts[sibling]
        logs = np.where(before, np.logaddexp(others, log(t) + self._gained(risks, sibling)), others)
        return float(risks.weights @ logs)

    def _counts(self, risks: Risks, sibling: int) -> tuple[float, float]:
        """Events up to the time, and how many are predicted while rows were watched."""
        cut, h, w = risks.at_cuts[sibling], risks.expected, risks.weights
        return float(w @ (risks.seen & (h <= cut))), float(w @ -np.expm1(-np.minimum(h, cut)))

    def promising(self, seen: "IntervalScores") -> FloatArray:
        """The likelihood of the share by which there are too many."""
        risks = seen.of_rows
        counts, n = [self._counts(risks, k) for k in range(self.n_siblings)], float(risks.weights.sum())
        shares = [(found - expected) / n for found, expected in counts]
        return np.array([self.log_ratio(seen, k, t) if t > 0.0 else -np.inf for k, t in enumerate(shares)])

    def _gained(self, risks: Risks, sibling: int) -> FloatArray:
        """Log likelihood ratios (n,) of rows that were watched up to some part of the time."""
        if (given := risks.given) is not None:
            return given.log_shares(float(self._cuts[sibling])) - given.log_likelihoods
        left = log_of(1.0 - self._levels(risks, sibling, risks.expected)) + risks.expected
        return np.where(risks.seen, -log_of(-np.expm1(-risks.at_cuts[sibling])), left)

    def _levels(self, risks: Risks, sibling: int, hazards: FloatArray) -> FloatArray:
        """Of such events where others have some cumulative hazards (n,)."""
        every = np.maximum(-np.expm1(-risks.at_cuts[sibling]), NEVER)
        return np.asarray(np.minimum(-np.expm1(-hazards) / every, 1.0))

    def corrected(self, seen: "IntervalScores", sibling: int, t: float) -> Risks:
        risks = seen.of_rows

        def mixed(hazards: FloatArray, levels: FloatArray) -> FloatArray:
            return hazard_of((1.0 - t) * -np.expm1(-hazards) + t * levels)

        if (given := risks.given) is None:
            return risks.after(lambda h: mixed(h, self._levels(risks, sibling, h)))
        end, cuts = float(given.at(self._cuts[sibling])), zip(risks.at_cuts, given.at(risks.cuts), strict=True)
        at_cuts = np.stack([mixed(h, np.full(h.size, min(cut / end, 1.0))) for h, cut in cuts])
        hazards = risks.start, np.where(risks.seen, risks.stop, 0.0)
        start, stop = (mixed(h, np.minimum(at / end, 1.0)) for h, at in zip(hazards, given.spans, strict=True))
        return replace(risks, start=start, stop=np.where(risks.seen, stop, np.inf), at_cuts=at_cuts, given=None)

    def place(self, sibling: int) -> str:
        return f"up to {about(float(self._cuts[sibling]), 3)}"

    def words(self, seen: "IntervalScores", sibling: int, fit: Fit) -> str:
        much = f"about {self.sized(seen, sibling, fit, percent)} of the rows have the event {self.place(sibling)}"
        risks = seen.of_rows
        counted = instead(*self._counts(risks, sibling), risks.weights)
        return f"{much} whatever is predicted: {counted} events are up to then"


class OtherRisks(OtherRows):
    """Times that are those of other rows."""

    of_targets = False

    def log_ratio(self, seen: Any, sibling: int, t: float) -> float:
        if t <= 0.0:
            return 0.0
        risks = seen.of_rows
        return float(risks.weights @ np.logaddexp(log1p(-t), log(t) + risks.known.ratios_of_others))


def faults_of_events(risks: Risks) -> "tuple[Fault[IntervalScores], ...]":
    """Those that can be named."""
    kinds: list[Fault[IntervalScores]] = [HazardInTime(risks), Early(risks)]
    if risks.given is not None and (log_times := risks.given.log_times) is not None:
        kinds += [TimeFactor(), *([TimePower(*log_times)] if varies(log_times[0]) else [])]
    if varies(risks.log_risk):
        name = f"predicted risks up to {about(risks.middle, 3)}"
        kinds += [RiskPower(risks), LocalHazard(halves(-np.expm1(-risks.at_middle), name), "local hazard")]
        if risks.given is not None:
            kinds.append(OtherRisks())
    return tuple(kinds)
