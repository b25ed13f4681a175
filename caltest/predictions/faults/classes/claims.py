"""Faults of predicted probabilities of two classes: claims that are off, everywhere or in places."""

from functools import cached_property
from math import floor, log, log10, sqrt
from typing import Any

import numpy as np
import scipy

from caltest._basics.numerics import BoolArray, FloatArray, IntArray
from caltest.predictions.faults.classes.frequencies import likely_cause
from caltest.predictions.faults.classes.labels import ClassView, LabelFaults, Labels, OddsFault
from caltest.predictions.faults.classes.several import Frequency, Random, Share, Slope, Temperature
from caltest.predictions.faults.fault import Rows, cosines, half_periods, ranks
from caltest.predictions.faults.words import Fit, about, percents

LEAST_IN_WINDOW = 10
"""Predictions in a window."""

MUCH = log(2.0)
"""Of the logarithm of a factor of odds that has a likely cause."""

N_COSINES = 6
"""Cosines of the ranks of the claims."""

WIDTHS = (1 / 2, 1 / 3, 1 / 4, 1 / 6, 1 / 8, 1 / 12)
"""Shares of the predictions in a window of ranks."""


class BinaryView(ClassView):
    """Claims, the probabilities of class 1, their ranks, and windows of these."""

    def __init__(self, *data: Any, **settings: Any) -> None:
        super().__init__(*data, **settings)
        self.n_observations = self.n if self.sizes is None else self.sizes.sum()
        self.claims = self.p[:, 1]
        self.named_claims = self.origin.p[:, 1]
        self.ranks = ranks(self.named_claims, self.sizes)
        self.cosines = cosines(self.named_claims, N_COSINES, self.sizes)
        self.windows = [
            (float(start), float(start) + width)
            for width in WIDTHS
            for start in np.arange(0.0, 1.0 - 0.9 * width, width / 4)
        ]

    @cached_property
    def inside(self) -> BoolArray:
        """The predictions in each window, (W, n); none if they are less than ten."""
        low, high = np.array(self.windows).T[:, :, None]
        inside = (self.ranks > low) & (self.ranks <= high)
        return np.asarray(inside & (self.n_observations * (high - low) >= LEAST_IN_WINDOW))

    def sums_of_claims(self, seen: Labels) -> FloatArray:
        """Outcomes, alone and times cosines of the ranks of the claims."""
        return np.asarray((np.concatenate([np.ones((1, self.n)), self.cosines]) * self.weights) @ seen.ones.T)

    def sums_in_windows(self, seen: Labels) -> FloatArray:
        """Outcomes in each window, from those between neighbouring ends of windows."""
        windows = np.array(self.windows)
        ends, places = np.unique(windows, return_inverse=True)
        low, high = places.reshape(windows.shape).T
        parts = seen.ones_by_group(np.searchsorted(ends, self.ranks), ends.size + 1)
        totals = np.cumsum(parts, axis=0)
        return np.asarray((totals[high] - totals[low]) * self.inside.any(axis=1, keepdims=True))

    def means(self, seen: Labels, some: BoolArray) -> tuple[float, float, float]:
        """Mean claim and mean outcome of some predictions, and the standard error of the second."""
        w, claims = self.weights[some], self.claims[some]
        error = sqrt(float(np.square(w) @ (claims * (1.0 - claims)))) / w.sum()
        return float(w @ claims / w.sum()), float(w @ seen.first[some] / w.sum()), float(error)

    def between(self, some: BoolArray) -> str:
        """The range of some claims in words."""
        low, high = self.named_claims[some].min(), self.named_claims[some].max()
        if low == high:
            return f"of {claim_in_words(low)}"
        ends = claim_in_words(low), claim_in_words(high)
        return f"from {' to '.join(ends if ends[0] != ends[1] else (about(low, 4), about(high, 4)))}"


def claim_in_words(claim: float) -> str:
    """A probability with two digits, or with those that tell it from 0 and 1."""
    if 0.005 <= claim <= 0.995 or claim in (0.0, 1.0):
        return f"{claim:.2f}"
    if claim < 0.5:
        return f"{claim:.2g}"
    return f"{claim:.{1 - floor(log10(1.0 - claim))}f}".rstrip("0")


class BinaryFaults(LabelFaults):
    """Confidence, random labels, claims too high, low, extreme or even, everywhere, in a window, or in waves."""

    are_sums = True

    view: BinaryView
    view_type = BinaryView

    def _fill(self) -> None:
        view = self.view
        self.kinds = (
            Claims(view),
            TemperatureOfClaims(view),
            Random(view),
            ShareOfClaims(view, 2),
            Window(view, len(view.windows)),
            Wave(view, N_COSINES - 1),
            SlopeOfClaims(view),
        )
        self.compared = (
            Rows("claims", 1 + N_COSINES, view.sums_of_claims, 2.0),
            Rows("windows of claims", len(view.windows), view.sums_in_windows),
        )


class OfClaims(OddsFault):
    """A fault of the odds of class 1."""

    view: BinaryView

    def class_of(self, sibling: int) -> int:
        return 1

    def place(self, sibling: int) -> str:
        return ""


class Claims(OfClaims, Frequency):
    """Odds that are exp(t) times as large as claimed."""

    def promising(self, seen: Labels) -> FloatArray:
        return np.zeros(1)

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        claimed, came, _ = self.view.means(seen, np.ones(self.view.n, dtype=np.bool_))
        side = "low" if came > claimed else "high"
        odds = f"odds times {self.sized(seen, sibling, fit)}"
        is_much = min(abs(fit.low), abs(fit.high)) > MUCH and fit.low * fit.high > 0.0
        cause = likely_cause(self.view.law) if is_much else ""
        by = about(abs(came - claimed))
        return f"{self.counted(seen, 1)}: claims are too {side} by {by} on average ({odds}){cause}"


class TemperatureOfClaims(Temperature):
    """That of claims, of which those of an event that is never the more probable outcome are about the event."""

    view: BinaryView

    def _rates(self, seen: Labels, rows: slice | IntArray) -> tuple[float, float]:
        claimed, right = super()._rates(seen, rows)
        are_of_event = self.view.law.take(slice(0, 1)).to_array().ndim == 1 and not self.view.top.any()
        return (1.0 - claimed, 1.0 - right) if are_of_event else (claimed, right)


class ShareOfClaims(Share):
    """Outcomes that are one of the two whatever is claimed, as of events that are not always seen."""

    # Named where they explain outcomes clearly better than odds, which for rare events are the same law.
    n_choices = 16


class SlopeOfClaims(OfClaims, Slope):
    """Log odds that are 1 + t times as far from their mean, which for rare events is not that of even odds."""

    # Named where it explains outcomes clearly better than a temperature, which more people know.
    n_choices = 8

    def promising(self, seen: Labels) -> FloatArray:
        return np.zeros(1)

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        above = self.along(sibling) > 0.0
        (more, came), (less, rarely) = (percents(*self.view.means(seen, some)[:2]) for some in (above, ~above))
        return (
            f"claims are {self._stretched(seen, sibling, fit)}; claims above that are {more} on average and come true "
            f"{came} of the time, those below it are {less} and come true {rarely}"
        )


class Window(OfClaims):
    """Log odds that are larger by t for claims in a window of ranks."""

    kind = "window"
    range = (-8.0, 8.0)
    # About as many windows as there are without those that overlap.
    n_choices = 20
    says_what_happened = True

    def promising(self, seen: Labels) -> FloatArray:
        view = self.view
        sums = view.inside @ (view.weights * (seen.first - view.claims))
        variances = view.inside @ (np.square(view.weights) * view.claims * (1.0 - view.claims))
        return np.where(view.inside.any(axis=1), np.square(sums) / np.maximum(variances, 1e-300), -np.inf)

    def along(self, sibling: int) -> FloatArray:
        return np.asarray(self.view.inside[sibling], dtype=np.float64)

    def place(self, sibling: int) -> str:
        inside = self.view.inside[sibling]
        return f"claims {self.view.between(inside)}" if inside.any() else ""

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        view, inside = self.view, self.view.inside[sibling]
        claimed, came, _ = view.means(seen, inside)
        # Mean outcomes if the log odds are larger by the ends of the interval.
        odds, weights = scipy.special.logit(view.claims[inside]), view.weights[inside]
        ends = [float(np.average(scipy.special.expit(odds + t), weights=weights)) for t in (fit.low, fit.high)]
        rate, instead, low, high = percents(came, claimed, *ends)
        return (
            f"{self.place(sibling)} are too {'low' if fit.t > 0.0 else 'high'}: they come true "
            f"{rate} of the time ({low} to {high}) instead of {instead}"
        )


class Wave(OfClaims):
    """Log odds that are larger by t times a cosine of the ranks of the claims, of two half periods or more."""

    kind = "wave"
    range = (-6.0, 6.0)

    def along(self, sibling: int) -> FloatArray:
        return np.asarray(self.view.cosines[sibling + 1])

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        view = self.view
        places = []
        for some in half_periods(view.ranks, sibling + 2):
            claimed, came, error = view.means(seen, some)
            if abs(came - claimed) > 2.0 * error:
                rates = " of the time instead of ".join(percents(came, claimed))
                places.append(f"those {view.between(some)} come true {rates}")
        return f"claims are off in places{': ' if places else ''}{', '.join(places)}"
