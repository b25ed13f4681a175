"""Faults of the claims of a class that are off in places: in a window of their ranks, or in waves."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from math import floor, log10, sqrt

import numpy as np
import scipy

from caltest._basics.calls import kept
from caltest._basics.numerics import Array, BoolArray, FloatArray, IntArray
from caltest.predictions.faults import waves
from caltest.predictions.faults.classes.labels import FLOOR, ClassView, Labels, OddsFault
from caltest.predictions.faults.fault import RANK_GROUPS, cosines_of_ranks, ranks, varies
from caltest.predictions.faults.patterns import half_periods
from caltest.predictions.faults.waves import choices, clearest, following
from caltest.predictions.faults.words import Fit, about, percents

LEAST_IN_WINDOW, ROUNDING = 10, 1e-9
"""Predictions in a window, and how much less of them ends of windows that are rounded hold."""

WIDTHS = (1 / 2, 1 / 3, 1 / 4, 1 / 6, 1 / 8, 1 / 12)
"""Shares of the predictions in a window of ranks."""

WINDOWS = np.array(
    [(start, start + width) for width in WIDTHS for start in np.arange(0.0, 1.0 - 0.9 * width, width / 4)]
)
"""Where windows of ranks begin and end, (W, 2)."""

ENDS, _PLACES = np.unique(WINDOWS, return_inverse=True)
FIRST, LAST = _PLACES.reshape(WINDOWS.shape).T
"""Windows as places of their ends among all ends."""

TURNED = 7
"""Half periods of a wave from which on its phase is looked for; one of a slower wave looks like a window."""

APART = 20
"""About as many windows as there are without those that overlap."""


class ClassClaims:
    """Claims of one class, their ranks, and the predictions in windows of these."""

    def __init__(self, view: ClassView, c: int) -> None:
        self.view, self.c = view, c
        self.claims, self.named = view.column(c), view.origin.column(c)
        self.ranks = ranks(self.named, view.sizes)
        n = view.n if view.sizes is None else view.sizes.sum()
        self.groups = np.searchsorted(ENDS, self.ranks)
        """The predictions between neighbouring ends of windows."""
        self._are_enough = n * (WINDOWS[:, 1] - WINDOWS[:, 0]) >= LEAST_IN_WINDOW - ROUNDING

    @cached_property
    def have_some(self) -> BoolArray:
        """Whether there are enough predictions in each window, (W,)."""
        return np.asarray(self._are_enough & (self.in_windows(np.ones((self.view.n, 1)))[:, 0] > 0.0))

    def in_windows(self, values: FloatArray) -> FloatArray:
        """Sums of values (n, B) over the predictions in each window, (W, B)."""
        return sums_in_windows(np.array([np.bincount(self.groups, one, ENDS.size + 1) for one in values.T]).T)

    def ones_in_windows(self, seen: Labels) -> FloatArray:
        """How often label 1 occurs in each window, (W, B)."""
        parts = seen.ones_by_group(self.groups, ENDS.size + 1)
        return sums_in_windows(parts) * self.have_some[:, None]

    def inside(self, window: int) -> BoolArray:
        """The predictions in a window, (n,); none if they are less than ten."""
        low, high = WINDOWS[window]
        return np.asarray((self.ranks > low) & (self.ranks <= high) & self._are_enough[window])

    def errors(self, seen: Labels) -> FloatArray:
        """Weighted differences of outcomes and claims, and their variances, (n, 2)."""
        w, p = self.view.weights, self.claims
        return np.column_stack([w * (self.view.came(seen.first, self.c) - p), np.square(w) * p * (1.0 - p)])

    def means(self, seen: Labels, some: BoolArray) -> tuple[float, float, float]:
        """Mean claim and mean outcome of some predictions, and the standard error of the second."""
        w, claims, came = self.view.weights[some], self.claims[some], self.view.came(seen.first, self.c)[some]
        error = sqrt(float(np.square(w) @ (claims * (1.0 - claims)))) / w.sum()
        return float(w @ claims / w.sum()), float(w @ came / w.sum()), float(error)

    def between(self, some: BoolArray) -> str:
        """The range of some claims in words."""
        low, high = self.named[some].min(), self.named[some].max()
        if low == high:
            return f"of {claim_in_words(low)}"
        ends = claim_in_words(low), claim_in_words(high)
        return f"from {' to '.join(ends if ends[0] != ends[1] else (about(low, 4), about(high, 4)))}"

    @property
    def instead(self) -> str:
        """What stands before a mean claim that is not that of the predictions, by whose claims places are named."""
        return "instead of" if self.view.origin is self.view else "instead of the corrected"

    @property
    def in_words(self) -> str:
        """Of which class claims are, if there are several."""
        return "claims" if self.view.k == 2 else f"claims of {self.view.named(self.c)}"


@kept
def claims_of(view: ClassView, c: int) -> ClassClaims:
    """Those of a class, which the view keeps."""
    return ClassClaims(view, c)


def claim_in_words(claim: float) -> str:
    """A probability with two digits, or with those that tell it from 0 and 1."""
    if 0.005 <= claim <= 0.995 or claim in (0.0, 1.0):
        return f"{claim:.2f}"
    if claim < 0.5:
        return f"{claim:.2g}"
    return f"{claim:.{1 - floor(log10(1.0 - claim))}f}".rstrip("0")


def sums_in_windows(parts: FloatArray) -> FloatArray:
    """Sums in each window, (W, B), from those up to each end and beyond the last, (E + 1, B)."""
    totals = np.cumsum(parts, axis=0)
    return np.asarray(totals[LAST] - totals[FIRST])


class OfClaims(OddsFault):
    """A fault of the odds of some classes, with so many siblings for each."""

    each: int

    def __init__(self, view: ClassView, classes: Sequence[int] | IntArray) -> None:
        super().__init__(view, len(classes) * self.each)
        self.classes = classes

    def class_of(self, sibling: int) -> int:
        return int(self.classes[sibling // self.each])

    def of(self, sibling: int) -> tuple[ClassClaims, int]:
        """The claims concerned, and the number of the sibling among those of their class."""
        return claims_of(self.view, self.class_of(sibling)), sibling % self.each


class Window(OfClaims):
    """Log odds that are larger by t for claims in a window of ranks."""

    kind = "window"
    range = (-8.0, 8.0)
    scope = "places"
    says_what_happened = True
    each = len(WINDOWS)

    def __init__(self, view: ClassView, classes: Sequence[int] | IntArray) -> None:
        super().__init__(view, classes)
        self.n_choices = APART * len(classes)

    def promising(self, seen: Labels) -> FloatArray:
        found = []
        for c in self.classes:
            claims = claims_of(self.view, int(c))
            sums, variances = claims.in_windows(claims.errors(seen)).T
            found.append(np.where(claims.have_some, np.square(sums) / np.maximum(variances, FLOOR), -np.inf))
        return np.concatenate(found)

    def along(self, sibling: int) -> FloatArray:
        claims, window = self.of(sibling)
        return claims.inside(window).astype(np.float64)

    @kept
    def _inside(self, sibling: int) -> tuple[IntArray, FloatArray, FloatArray]:
        """The predictions in the window, their weights, and their claims."""
        claims, window = self.of(sibling)
        rows = np.flatnonzero(claims.inside(window))
        return rows, self.view.weights[rows], claims.claims[rows]

    def log_ratio(self, seen: Labels, sibling: int, t: float) -> float:
        rows, w, p = self._inside(sibling)
        came = self.view.came(seen.first, self.class_of(sibling))[rows]
        return t * float(w @ came) - float(w @ np.log1p(p * np.expm1(t)))

    def place(self, sibling: int) -> str:
        claims, window = self.of(sibling)
        inside = claims.inside(window)
        return f"{claims.in_words} {claims.between(inside)}" if inside.any() else ""

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        claims, window = self.of(sibling)
        inside = claims.inside(window)
        claimed, came, _ = claims.means(seen, inside)
        # Mean outcomes if the log odds are larger by the ends of the interval.
        odds, weights = scipy.special.logit(claims.claims[inside]), self.view.weights[inside]
        ends = [float(np.average(scipy.special.expit(odds + t), weights=weights)) for t in (fit.low, fit.high)]
        rate, instead, low, high = percents(came, claimed, *ends)
        return (
            f"{self.place(sibling)} are too {'low' if fit.t > 0.0 else 'high'}: they come true "
            f"{rate} of the time ({low} to {high}) {claims.instead} {instead}"
        )


class OfWaves(OfClaims):
    """A fault of claims that are too high and too low by turns, along their ranks."""

    range = (-6.0, 6.0)

    @abstractmethod
    def half_periods(self, sibling: int) -> list[BoolArray]:
        """Where the wave has one sign."""

    def place(self, sibling: int) -> str:
        return "" if self.view.k == 2 else self.view.named(self.class_of(sibling))

    def words(self, seen: Labels, sibling: int, fit: Fit) -> str:
        claims, places = self.of(sibling)[0], []
        for some in self.half_periods(sibling):
            claimed, came, error = claims.means(seen, some)
            rates = f" of the time {claims.instead} ".join(percents(came, claimed))
            places.append((abs(came - claimed) / max(error, FLOOR), f"those {claims.between(some)} come true {rates}"))
        said, more = clearest(places)
        return f"{claims.in_words} are off in places{': ' if said else ''}{', '.join(said)}{more}"


class Wave(OfWaves):
    """Log odds that are larger by t times a cosine of the ranks of the claims, of two half periods or more."""

    kind = "wave"
    scope = "places"

    def __init__(self, view: ClassView, classes: Sequence[int] | IntArray, n_cosines: int) -> None:
        self.each = n_cosines - 1
        super().__init__(view, classes)

    def promising(self, seen: Labels) -> FloatArray:
        found = []
        for c in self.classes:
            claims = claims_of(self.view, int(c))
            if varies(claims.named):
                # Of ranks that are rounded, which is enough to choose.
                groups = (claims.ranks * RANK_GROUPS).astype(np.intp)
                errors, variances = (np.bincount(groups, one, RANK_GROUPS) for one in claims.errors(seen).T)
                lines = cosines_of_ranks((np.arange(RANK_GROUPS) + 0.5) / RANK_GROUPS, self.each + 1)[1:]
                found.append(np.square(lines @ errors) / np.maximum(np.square(lines) @ variances, FLOOR))
            else:
                found.append(np.full(self.each, -np.inf))
        return np.concatenate(found)

    @kept
    def along(self, sibling: int) -> FloatArray:
        claims, number = self.of(sibling)
        return np.asarray(sqrt(2.0) * np.cos(np.pi * (number + 2) * claims.ranks))

    def half_periods(self, sibling: int) -> list[BoolArray]:
        claims, number = self.of(sibling)
        return half_periods(claims.ranks, number + 2)


class FollowedWave(OfWaves):
    """The same times the fast wave of the claims of a class, of any phase, that outcomes follow most."""

    kind = "fast wave"
    scope = "wave"
    each = 1

    def __init__(self, view: ClassView, waves: Mapping[int, waves.Wave]) -> None:
        super().__init__(view, list(waves))
        self.waves, self.n_choices = waves, choices(list(waves.values()), view.weights)

    @classmethod
    def following(cls, view: ClassView, classes: Iterable[int], labels: Array) -> "tuple[FollowedWave, ...]":
        """With those that labels (n,) follow in the claims of some classes, if there are some."""
        found = {}
        for c in map(int, classes):
            claims = claims_of(view, c)
            errors = view.weights * (view.came(labels, c) - claims.claims)
            for wave in following(errors[None], claims.named, claims.in_words, TURNED):
                found[c] = wave
        return (cls(view, found),) if found else ()

    def promising(self, seen: Labels) -> FloatArray:
        found = []
        for c, wave in self.waves.items():
            errors, variances = claims_of(self.view, c).errors(seen).T
            found.append(np.square(wave.signs @ errors) / max(float(np.square(wave.signs) @ variances), FLOOR))
        return np.array(found)

    def along(self, sibling: int) -> FloatArray:
        return self.waves[self.class_of(sibling)].signs

    def half_periods(self, sibling: int) -> list[BoolArray]:
        return [some for some, _ in self.waves[self.class_of(sibling)].parts]
