"""What predictions claim that everyone can check: events with stated probabilities, and scores with stated means."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
import scipy

from caltest._basics.numerics import Array, BoolArray, FloatArray, IntArray
from caltest._laws import garwood
from caltest.predictions.faults.fault import ranks, varies

if TYPE_CHECKING:
    from caltest.predictions.base import Predictions

RARE, TINY = 0.2, 1e-9
"""The margin for the rarer of two classes, or a class that is named among more, as a share of its mean predicted
probability if that is smaller; and the least such mean, which is no 0."""

LEVELS, WIDEST = (0.5, 0.8, 0.95), 0.999
"""Central intervals whose coverage is looked at, and the one beyond which outliers are."""

FAR_OFF = {"outliers", "outliers of all", "same value"}
"""Kinds of findings that are of few outcomes, which can be far off."""

POINTS = 0.02
"""Differences of claimed and true probabilities up to which an error is too small to matter."""

SHIFT = 0.04
"""The same for outcomes above the median: 0.0398 is what a shift by 0.1 standard deviations makes of normal ones."""

FEWER = 0.1
"""The same for numbers of events, as a share of the expected one."""

UPPER = 0.975
"""The level of the upper end of intervals of sums of counts."""

SMALLEST = 1e-150
"""The least error or standard deviation whose square is a number; one of smaller ones has no root mean square."""


class Wrong(NamedTuple):
    """Outcomes (B, n) that are wrong by what just matters, and how, in words."""

    deviation: str
    targets: Array
    tilt: tuple[str, int, float] | None = None
    """A component of the omnibus and how many of its numbers, times what, are the log ratio of the probabilities of
    such and of right outcomes, up to a constant; where that is so."""


@dataclass(frozen=True)
class Claim:
    """An event, the probabilities (n,) that predictions give it, and where it occurred, (n,)."""

    name: str
    probability: FloatArray = field(repr=False)
    occurred: BoolArray = field(repr=False)
    order: FloatArray = field(repr=False)
    """Numbers (n,) that are close where predictions are alike."""
    margin: float = POINTS
    event: str = ""
    """What the probabilities are of, if the name does not say it."""
    binned_error: str = ""
    """What the ECE of the probabilities is called, if they have one."""
    rows: IntArray | None = field(default=None, repr=False)
    """Which rows of the predictions these n are, if not all."""
    is_number: ClassVar[bool] = False
    """Whether the probabilities are expected numbers, whose sum has the variance of Poisson times ``scatter``."""
    counted: ClassVar[str] = ""
    """What such numbers are of."""

    @property
    def scatter(self) -> float:
        """The variance of the number of events in units of that of independent ones, or of Poisson; at least 1."""
        return 1.0

    @property
    def rare(self) -> "Claim":
        """The same of an event that may be, or whose complement may be, so rare that less matters."""
        return replace(self, margin=min(self.margin, margin_of_event(self.probability)))

    @property
    def excess(self) -> float:
        """How much more often the event occurred than claimed, as a share of all rows."""
        return float((self.occurred - self.probability).mean())


@dataclass(frozen=True)
class HazardClaim(Claim):
    """Cumulative hazards (n,) of an event while rows are observed, and where it occurred."""

    margin: float = FEWER
    is_number, counted = True, "events"


@dataclass(frozen=True)
class CountClaim(Claim):
    """Predicted means (n,) of counts, and the counts."""

    margin: float = FEWER
    is_number, counted = True, "counts"

    @property
    def squares(self) -> float:
        """``sum (y - r m)**2`` with the ratio r of both sums."""
        observed, claimed = float(self.occurred.sum()), float(self.probability.sum())
        if observed <= 0.0 or claimed <= 0.0:
            return 0.0
        return float(np.square(self.occurred - observed / claimed * self.probability).sum())

    @property
    def rows_worth(self) -> float:
        """How many rows of equal means say as much of the scatter, ``(sum m)**2 / sum m**2``; one if there is none."""
        claimed = float(self.probability.sum())
        return 1.0 / float(np.square(self.probability / claimed).sum()) if claimed > 0.0 else 1.0

    @property
    def scatter(self) -> float:
        """``1 + (s - 1) u / sum y`` with ``s = t sum (y - r m)**2 / ((1 - 1/k) sum y)``, at least 1, of k rows worth.

        The quantile t of Student's law, in units of the normal one, makes up for what few rows say. Where counts happen
        to be few they seem to scatter less, too: for skew ones s - 1 is on average proportional to their sum. So it is
        as large as at the upper end u of the interval of Garwood with the scatter s.
        """
        observed, k = float(self.occurred.sum()), self.rows_worth
        if observed <= 0.0 or k - 1.0 <= TINY:
            return 1.0
        t = float(scipy.special.stdtrit(max(1.0, k - 1.0), UPPER) / scipy.special.ndtri(UPPER))
        s = max(1.0, t * self.squares / ((1.0 - 1.0 / k) * observed))
        return 1.0 + (s - 1.0) * garwood(observed / s, 1.0 / s, 2.0 * UPPER - 1.0)[1] / observed


def scatter_within(parts: Iterable[Claim]) -> float:
    """That of counts in all parts together, each with a ratio of its own, at least 1.

    With ``E (y - m)**2 = s m`` the squares of a part have the mean ``s sum m (1 - sum m**2 / (sum m)**2)``.
    """
    squares, expected = 0.0, 0.0
    for one in parts:
        if isinstance(one, CountClaim):
            left = 1.0 - 1.0 / one.rows_worth
            squares, expected = squares + one.squares, expected + left * float(one.occurred.sum())
    return max(1.0, squares / expected) if expected > 0.0 else 1.0


ENOUGH = 300.0
"""Events that say as much of the scatter of a part as all parts together do."""


def scatter_among(own: float, events: float, common: float) -> float:
    """That of a part, and the less events it has, the more that of all parts where it is larger."""
    return max(own, (events * own + ENOUGH * common) / (events + ENOUGH))


@dataclass(frozen=True)
class Score:
    """The mean of a score that outcomes should have by the predictions, and the one that they have."""

    name: str
    claimed: float
    observed: float | None


Checks = tuple[list[Claim], list[Score]]


def margin_of_event(probability: FloatArray) -> float:
    """A fifth of the mean probability of an event, or of its complement, if that is smaller."""
    mean = float(probability.mean())
    return RARE * max(min(mean, 1.0 - mean), TINY)


def by_spread(spread: FloatArray, middle: FloatArray) -> FloatArray:
    """What predictions are alike in that have intervals of the same width: their middle if all have."""
    return spread if varies(spread) else middle


def of_moments(law: "Predictions", targets: Array) -> list[Score]:
    """Root mean squared error; the root of the mean predicted variance is its claimed value.

    None where variances are infinite, or squares of all numbers are 0 although no number is.
    """
    try:
        mean, variance = law.moments()
    except TypeError:
        return []
    return of_errors(targets - mean, variance, law.is_continuous)


def of_errors(errors: FloatArray, variance: FloatArray, is_continuous: bool, factor: float = 1.0) -> list[Score]:
    """Their root mean square, which is claimed to be that of a multiple of the variances."""
    has_squares = max(float(np.abs(errors).max()), float(np.sqrt(variance.max()))) >= SMALLEST
    if not np.isfinite(variance).all() or (is_continuous and not has_squares):
        return []
    squares = np.square(errors)
    squares = squares if squares.ndim == 1 else squares.sum(axis=-1)
    claimed, deviation = float(np.sqrt(factor * variance.mean())), float(np.sqrt(variance).mean())
    return [
        Score("root mean squared error", claimed, float(np.sqrt(squares.mean()))),
        Score("predicted standard deviation", deviation, None),
    ]


def of_half(feature: FloatArray, side: str, name: str, claims_of: Callable[[IntArray], list[Claim]]) -> list[Claim]:
    """Claims about rows above the median of a feature, as findings have them, or about the others."""
    upper, half = ranks(feature) > 0.5, f"{'large' if side == 'above' else 'small'} {name}"
    rows = np.flatnonzero(upper if side == "above" else ~upper)
    named = [(one, one.event or f"an outcome {one.name}") for one in claims_of(rows)]
    return [replace(one, name=f"{one.name}, {half}", event=f"{event} among {half}", rows=rows) for one, event in named]
