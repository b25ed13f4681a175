"""Faults of predicted probabilities of two classes: claims that are off, everywhere or in places."""

from collections.abc import Sequence
from functools import cached_property, partial
from math import log
from typing import Any

import numpy as np

from caltest._basics.numerics import Array, FloatArray, IntArray
from caltest._results.measures import in_points
from caltest.predictions.faults.classes.frequencies import likely_cause
from caltest.predictions.faults.classes.labels import ClassView, LabelFaults, Labels, OddsFault
from caltest.predictions.faults.classes.several import Frequency, OtherRows, Random, Share, Slope, Temperature
from caltest.predictions.faults.classes.windows import WINDOWS, ClassClaims, FollowedWave, Wave, Window, claims_of
from caltest.predictions.faults.fault import Fault, Rows, Scope, cosines, varies
from caltest.predictions.faults.patterns import LEAST_TIED
from caltest.predictions.faults.waves import FASTEST, WEIGHT_OF_WAVES
from caltest.predictions.faults.words import Fit, percents

MUCH = log(2.0)
"""Of the logarithm of a factor of odds that has a likely cause."""

RARELY = 0.05
"""Share of rows up to which a rare outcome is the more probable one."""

N_COSINES = 6
"""Cosines of the ranks of the claims that are compared apart from faster ones."""


class BinaryView(ClassView):
    """Claims, the probabilities of class 1."""

    @property
    def event(self) -> ClassClaims:
        """Those claims."""
        return claims_of(self, 1)

    @cached_property
    def claim_features(self) -> FloatArray:
        """What outcomes are multiplied by: 1 and cosines of the ranks of the claims, (25, n)."""
        return np.append(np.ones((1, self.n)), cosines(self.event.named, FASTEST, self.sizes), axis=0) * self.weights

    def sums_of_claims(self, features: slice, seen: Labels) -> FloatArray:
        """Outcomes times some of these."""
        return np.asarray(self.claim_features[features] @ seen.ones.T)

    def sums_in_windows(self, seen: Labels) -> FloatArray:
        """Outcomes in each window."""
        return self.event.ones_in_windows(seen)


def is_rare(view: ClassView) -> bool:
    """Whether one of the two outcomes is hardly ever the more probable one."""
    often = float(view.top.mean())
    return min(often, 1.0 - often) <= RARELY


class BinaryFaults(LabelFaults):
    """Confidence, random labels, claims too high, low, extreme or even, everywhere, in a window, or in waves."""

    are_sums = True

    view: BinaryView
    view_type = BinaryView

    def _fill(self) -> None:
        view, share = self.view, Share(self.view, 2)
        # Named where it explains outcomes clearly better than odds, which for rare events are the same law.
        share.n_choices = 16.0
        self.kinds = (
            Claims(view),
            TemperatureOfClaims(view),
            # Random labels of rare events would be events whatever is claimed, as a share says more plainly.
            OtherRows(view) if is_rare(view.origin) else Random(view),
            share,
            Window(view, [1]),
            Wave(view, [1], N_COSINES),
            SlopeOfClaims(view),
            *((clipped,) if (clipped := Clipped(view)).n_siblings else ()),
        )
        self.compared = (
            Rows("claims", 1 + N_COSINES, partial(view.sums_of_claims, slice(1 + N_COSINES)), 2.0),
            Rows(
                "waves of claims",
                FASTEST - N_COSINES,
                partial(view.sums_of_claims, slice(1 + N_COSINES, None)),
                WEIGHT_OF_WAVES,
            ),
            Rows("windows of claims", len(WINDOWS), view.sums_in_windows),
        )

    def following(self, targets: Array) -> Sequence[Fault[Any]]:
        """The wave of the claims that outcomes follow."""
        return FollowedWave.following(self.view, [1], targets)


class OfEvent(OddsFault):
    """A fault of the odds of class 1."""

    view: BinaryView

    def class_of(self, sibling: int) -> int:
        return 1

    def promising(self, seen: Labels) -> FloatArray:
        return np.zeros(1)


class Claims(OfEvent, Frequency):
    """Odds that are exp(t) times as large as claimed; of rare events temperatures are nearly the same law."""

    def __init__(self, view: BinaryView) -> None:
        super().__init__(view)
        self.scope = "level" if is_rare(view) else "all"

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        claimed, came, _ = self.view.event.means(seen, np.ones(self.view.n, dtype=np.bool_))
        side = "low" if came > claimed else "high"
        odds = f"odds times {self.sized(seen, sibling, fit)}"
        is_much = min(abs(fit.low), abs(fit.high)) > MUCH and fit.low * fit.high > 0.0
        cause = likely_cause(self.view.law) if is_much else ""
        by = in_points(came - claimed)
        return f"{self.counted(seen, 1)}: claims are too {side} by {by} on average ({odds}){cause}"


class TemperatureOfClaims(Temperature):
    """That of claims, of which those of an event that is hardly ever the more probable outcome are about the event."""

    view: BinaryView

    def _rates(self, seen: Labels, rows: slice | IntArray) -> tuple[float, float]:
        view, w = self.view, self.view.weights[rows]
        if view.law.take(slice(0, 1)).to_array().ndim > 1 or view.top.mean() > RARELY:
            return super()._rates(seen, rows)
        return float(w @ view.column(1)[rows] / w.sum()), float(w @ (seen.first == 1)[rows] / w.sum())


class Clipped(OfEvent):
    """Odds exp(t) times as far out as those of the largest claim, of the smallest, or of both, which many rows have."""

    kind = "clipped"
    is_factor = True
    range = (0.0, 8.0)

    def __init__(self, view: BinaryView) -> None:
        super().__init__(view)
        named = view.event.named
        largest, smallest = named == named.max(), named == named.min()
        ends = [(1.0, largest), (-1.0, smallest)] if varies(named) else []
        self._ends = [(sign, at) for sign, at in ends if at.mean() >= LEAST_TIED]
        self._groups = [self._ends[k : k + 1] for k in range(len(self._ends))]
        self._groups += [self._ends] if len(self._ends) > 1 else []
        self.n_siblings = len(self._groups)

    def promising(self, seen: Labels) -> FloatArray:
        return np.zeros(self.n_siblings)

    def along(self, sibling: int) -> FloatArray:
        return np.asarray(sum(sign * at for sign, at in self._groups[sibling]), dtype=np.float64)

    def place(self, sibling: int) -> str:
        return f"claims {' and '.join(self.view.event.between(at) for _, at in reversed(self._groups[sibling]))}"

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        event, ends, rates = self.view.event, list[str](), list[str]()
        for sign, at in reversed(self._groups[sibling]):
            claimed, came = percents(*event.means(seen, at)[:2])
            end, side = ("largest", "low") if sign > 0.0 else ("smallest", "high")
            ends.append(f"{event.between(at)}, the {end}, {'' if ends else 'are '}too {side}")
            rates.append(f"{came} of the time {event.instead} {claimed}")
        much = f"odds {self.sized(seen, sibling, fit)} times as far out"
        return f"claims {' and '.join(ends)}, as if cut off there: they come true {', and '.join(rates)} ({much})"


class SlopeOfClaims(OfEvent, Slope):
    """Log odds that are 1 + t times as far from their mean, which for rare events is not that of even odds."""

    scope: Scope = "all"
    # Named where it explains outcomes clearly better than a temperature, which more people know.
    n_choices = 8

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        above = self.along(sibling) > 0.0
        (more, came), (less, rarely) = (percents(*self.view.event.means(seen, some)[:2]) for some in (above, ~above))
        return (
            f"claims are {self._stretched(seen, sibling, fit)}; claims above that are {more} on average and come true "
            f"{came} of the time, those below it are {less} and come true {rarely}"
        )
