"""What predictions claim beside what happened, and whether the difference matters."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import ceil, log10
from typing import Any, NamedTuple

import numpy as np

from caltest._basics.numerics import FloatArray
from caltest._results.tables import Table
from caltest._results.values import ConfidenceInterval, Entry, is_of_number


@dataclass(frozen=True, repr=False)
class Measure(Entry):
    """A number that the predictions claim, and the one that was observed.

    Attributes
    ----------
    name
        ``"accuracy"``, ``"inside the 80 % interval"``, ``"log loss"``, ...
    claimed
        Its mean for outcomes drawn from the predictions.
    observed
        Its value for the outcomes, or None for a property of the predictions alone.
    interval
        Of frequencies: the 95 % interval of Clopper and Pearson for the mean true probability, which has its level for
        probabilities that differ, too (Hoeffding 1956); in clusters and with weights that of Korn and Graubard.
        Of numbers of events, and of sums of counts, that of Garwood, wider by how much more counts scatter than those
        of Poisson. In ten rows of counts of 2 with ten times that scatter it holds in 92 % of data sets
        (``docs/validity.md``, "Totals and ratios").
    gap
        Of frequencies: an interval for the mean absolute difference of claimed and true probabilities over tenths of
        similar predictions, or over fiftieths where it is clear that errors differ within tenths. Those of all claims
        of a result hold together with 95 %, and so do those of all classes.
    margin
        Gaps up to this are too small to matter.
    event
        What the probabilities are of.
    tenths
        Of frequencies of classes: the same of tenths of similar claims; their intervals hold together with 95 %. They
        are drawn, not stored.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["neural network"]
    >>> accuracy = ct.calibration_test(p, y, rng=1).measures[0]
    >>> accuracy.name, round(accuracy.claimed, 3), round(accuracy.observed, 3)
    ('accuracy', 0.971, 0.962)
    """

    name: str
    claimed: float
    observed: float | None = None
    interval: ConfidenceInterval | None = None
    gap: ConfidenceInterval | None = None
    margin: float | None = None
    event: str = ""
    tenths: "tuple[Measure, ...]" = field(default=(), repr=False, compare=False)

    not_stored = ("tenths",)

    @property
    def is_number(self) -> bool:
        """Whether it is of a number, of events while censored times are observed or the sum of counts.

        What is claimed are predicted cumulative hazards, or means, and the gap is a share of their sum.
        """
        return is_of_number(self.interval)

    def __repr__(self) -> str:
        claimed, observed, _ = cells_of(self)
        off = ""
        if self.gap is not None:
            off = f", {ends_of(self.gap)} {'%' if self.is_number else 'points'} off on average"
        if self.gap is not None and self.margin is not None:
            off += f" (more than {amount(self.margin)} matters)"
        return f"<{self.name}: claimed {claimed}{observed and f', observed {observed}'}{off}>"


@dataclass(frozen=True, repr=False, eq=False)
class Detectable(Entry):
    """What a test of these predictions would say of outcomes that are slightly wrong.

    Attributes
    ----------
    deviation
        How outcomes are wrong, in words.
    pvalues
        Of simulated data sets, (R,).
    weights
        The probability that each stands for among wrong data sets, (R,). For classes and normal scores redraws count,
        too, by how likely they are if predictions are wrong (``docs/validity.md``, "Power that results state").

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["neural network"]
    >>> few = ct.calibration_test(p.take(slice(0, 200)), y[:200], rng=1).detectable
    >>> few.deviation, 0.05 < few.power(0.05) < 0.95
    ('probabilities 2 points too sure on average', True)
    """

    deviation: str
    pvalues: FloatArray
    weights: FloatArray

    def __repr__(self) -> str:
        return f"<{self.deviation}: found in {100 * self.power():.0f} % of such data sets at the 5 % level>"

    def power(self, alpha: float = 0.05) -> float:
        """The probability that the test rejects them at a level.

        It is simulated, and known up to a standard deviation of 2 to 3 points with 999 redraws, and of up to twice as
        many with 199.
        """
        return min(1.0, float(self.weights[self.pvalues <= alpha].sum()))

    def level(self, power: float = 0.8) -> float:
        """The smallest level at which the test rejects them with a probability."""
        order = np.argsort(self.pvalues)
        enough = np.searchsorted(np.cumsum(self.weights[order]), power * (1.0 - 1e-12))
        return float(self.pvalues[order][min(int(enough), order.size - 1)])


class Gap(NamedTuple):
    """A gap that has a margin, and what it is of."""

    gap: ConfidenceInterval
    margin: float
    event: str
    unit: str


def judged(measures: Sequence[Measure]) -> list[Gap]:
    """The gaps that have a margin, with what they are of, probabilities or numbers of events, in words."""
    found = []
    for one in measures:
        if one.gap is not None and one.margin is not None:
            event = one.event if one.is_number else f"probabilities of {one.event}"
            found.append(Gap(one.gap, one.margin, event, "%" if one.is_number else POINTS))
    return found


def matters(measures: Sequence[Measure]) -> bool | None:
    """Whether a gap is larger than its margin: None if the intervals do not tell, or there are none."""
    gaps = judged(measures)
    if any(one.gap.low > one.margin for one in gaps):
        return True
    return False if gaps and all(one.gap.high <= one.margin for one in gaps) else None


def telling(measures: Sequence[Measure]) -> Gap | None:
    """The gap that decides whether an error matters: of those that are alike in that, the largest in margins."""

    def rank(one: Gap) -> tuple[bool, bool, float, float]:
        low, high = one.gap.ends
        return low > one.margin, high > one.margin, (one.gap.estimate or 0.0) / one.margin, high / one.margin

    return max(judged(measures), key=rank, default=None)


def fields_of_size(result: Any) -> dict[str, Any]:
    """Fields of a row: how far what is off, and whether that matters, as impossible outcomes that occurred do."""
    gap, margin, compared, unit = telling(result.measures) or (None, None, "", "")
    is_grave = result.pvalue_otherwise is not None or matters(result.measures)
    return {"gap": gap, "margin": margin, "compared": compared, "unit": unit, "matters": is_grave}


def short(units: Iterable[str]) -> str:
    """The unit of rows, of which some may have none, as the heading of a column has it."""
    return next(filter(None, units)).removeprefix("percentage ")


def widest(measures: Sequence[Measure]) -> str | None:
    """The gap that decides whether an error matters, in words; None if there is none."""
    most = telling(measures)
    return None if most is None else in_words(most)


def in_words(one: Gap) -> str:
    """How far what is how far off, and from where on that matters."""
    gap, margin, event, unit = one
    return f"{event} are {ends_of(gap)} {unit} off on average (more than {amount(margin)} matters)"


POINTS = "percentage points"
"""The unit of differences of probabilities in sentences; tables have points."""


def in_points(difference: float) -> str:
    """How far two probabilities are apart, in words."""
    return f"{points(abs(difference))} {POINTS}"


def points(share: float, more: int = 0) -> str:
    """Percentage points, of two digits below 10, or of some more."""
    if share < LEAST:
        return "0"
    if share >= 0.0995:
        return f"{100.0 * share:.{more}f}" if share < 1e3 else f"{100.0 * share:.3g}"
    return np.format_float_positional(100.0 * share, 2 + more, fractional=False, trim="-")


LEAST = 1e-9
"""A share whose digits are shown."""


def ends_of(gap: ConfidenceInterval) -> str:
    """An interval in percentage points, of as many digits as it takes to tell its ends apart."""
    for more in range(4):
        ends = points(gap.low, more), points(gap.high, more)
        if ends[0] != ends[1] or gap.low == gap.high:
            break
    return " to ".join(ends)


def amount(margin: float, unit: str = "") -> str:
    """A margin in words, of no error at all where an event should never happen."""
    return points(margin) + unit


def percent(share: float, *others: float) -> str:
    """A share, of as many digits as it takes where it, or one of others, is near 0 or 1: ``97.1 %``, ``0.034 %``."""
    share = share if share > NOTHING else 0.0
    own, shared = _digits(share), max(one for one in (1, *map(_digits, (share, *others))) if one <= LONG)
    if own > LONG and share < 0.5:
        return f"{100.0 * share:.2g} %"
    return f"{100.0 * share:.{max(own, min(shared, MOST))}f} %"


NOTHING = 1e-15
"""A share that is said to be 0."""

MOST, LONG = 4, 7
"""Digits that shares have because others beside them need these, and from which on a small share is a power of 10."""


def _digits(share: float) -> int:
    """Digits of a percentage that leave two of how far it is from 0 or 1, at least 1."""
    nearest = min(share, 1.0 - share)
    return 1 if nearest <= 0.0 else max(1, 1 + ceil(-log10(nearest / 0.00995)))


def shares_of(claimed: float, observed: float, interval: ConfidenceInterval) -> list[str]:
    """Cells of a claimed and an observed share, and of its interval."""
    low, high = map(percent, interval)
    return [percent(claimed, observed), percent(observed, claimed), f"{low.removesuffix(' %')} to {high}"]


def events(number: float, digits: int = 4) -> str:
    """An expected number of events, or of claims, of some digits or more: ``310.2``, ``12345``."""
    return f"{number:.{digits}g}" if number < 10**digits else f"{number:.0f}"


def numbers_of(claimed: float, observed: float, interval: ConfidenceInterval) -> list[str]:
    """Cells of an observed and an expected number of events, and of their ratio with its interval."""
    number = f"{observed:.0f}" if observed >= 1e4 or observed == round(observed) else events(observed)
    if not claimed:
        return [number, "0", ""]
    low, high = (f"{end / claimed:.2f}" for end in interval)
    return [number, events(claimed), f"{observed / claimed:.2f} ({low} to {high})"]


def table_of(measures: Sequence[Measure]) -> Table:
    """A line for each measure, below a heading."""
    return [["", "claimed", "observed", "95 % interval"], *([one.name, *cells_of(one)] for one in measures)]


def cells_of(one: Measure) -> list[str]:
    """The claimed and the observed number, and the interval of a frequency."""
    if one.interval is None:
        return [f"{one.claimed:.3g}", "" if one.observed is None else f"{one.observed:.3g}", ""]
    if one.is_number:
        low, high = (events(end, 3) for end in one.interval)
        return [events(one.claimed), f"{one.observed or 0.0:.0f}", f"{low} to {high}"]
    return shares_of(one.claimed, one.observed or 0.0, one.interval)


MISSED = "errors that matter could have been missed"

HIGH = 0.8
"""Power from which on errors are found so often that their absence says something."""


def practical(rejects: bool, measures: Sequence[Measure], power: float | None) -> str:
    """What the decision of a test means in practice, to be added to it; empty if that is not known."""
    answer, most = matters(measures), telling(measures)
    if answer is False:
        return ", but the error is too small to matter" if rejects else ", and errors that matter are ruled out"
    if not rejects and answer:
        return f", but {widest(measures)}"
    if not rejects:
        may_be_there = most is not None if power is None else power < HIGH
        return f", but {MISSED}" if may_be_there else ""
    if answer:
        return ": the error is large enough to matter"
    if most is None:
        return ": the predictions cannot be taken at face value"
    far = amount(most.margin, f" {most.unit.removeprefix('percentage ')}")
    return f"; whether {most.event} are more than {far} off remains open"
