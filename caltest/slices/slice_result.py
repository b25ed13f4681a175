"""What a search of slices found."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Self

from caltest._basics.numerics import BoolArray
from caltest._results.measures import POINTS, percent
from caltest._results.report import at_level, counted, format_pvalue, is_smallest, listed, pvalue_phrase, undecided
from caltest._results.tables import Bar, Page, Table, sharper
from caltest._results.values import ConfidenceInterval, Entry, Stored
from caltest._validation import fraction, whole_number
from caltest.slices.errors import ABOVE, CENTRAL, SIDE


@dataclass(frozen=True)
class Slice(Entry):
    """A slice, and what is wrong in it.

    Attributes
    ----------
    n, share
        Rows, and their share of all.
    claimed, observed
        Mean probability and frequency of the event. Of sureness how often outcomes are on the side of the claim: the
        event where its claimed probability is above the middle of the slice, no event elsewhere. Of numbers how often
        they are above the predicted median, and of their spread how often in the central 68.3 % of what is predicted.
    interval
        For the difference; intervals of all slices that were searched hold together.
    unit
        Of what these are shares, in words.
    size
        Of numbers the mean of their errors in predicted standard deviations, 0 if right, or of their spread the
        standard deviation of these, 1 if right; else None. No interval for them holds whatever the law of errors is.
    z, direction
        The statistic that is largest, and what it means.
    pvalue
        Adjusted for all slices and directions.
    explains
        How many other slices are no longer rejected when predictions are corrected in this one and those above.
    explained_by
        Which slice explains this one, of ``others``; else empty.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> first = ct.find_slices(p, y, {"confidence": p.probabilities.max(axis=1)}, n_resamples=99, rng=1).rows[0]
    >>> first.direction
    'claims too low'
    """

    name: str
    n: int
    share: float
    claimed: float
    observed: float
    interval: ConfidenceInterval
    unit: str
    size: float | None
    z: float
    direction: str
    pvalue: float
    explains: int
    explained_by: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class SliceSearchResult(Stored):
    """Slices in which predictions are wrong. Printing it gives a ranked table.

    Attributes
    ----------
    rows
        Rejected slices that remain when predictions are corrected in those above; if none is rejected the one with the
        smallest p-value.
    n, n_columns
        Rows, and columns with two bins or more.
    n_slices, n_left_out, n_rejected
        Slices that were searched, those that are too small or have the rows of another one, and those rejected.
    pvalue
        Of the hypothesis that predictions are right in all slices.
    critical
        What the largest statistic of calibrated predictions exceeds with a probability of ``alpha``.
    power
        How far all rows of a slice of median size have to be off in one direction to be found in 80 % of data sets, in
        words; empty where only confidence is searched.
    alpha
        Familywise error rate of what is reported.
    event
        What probabilities are of.
    others
        Rejected slices that those of ``rows`` explain, the smallest p-value first.
    members
        The rows (n,) of a slice by its name; None in results that ``from_dict`` read.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> found = ct.find_slices(p, y, {"confidence": p.probabilities.max(axis=1)}, n_resamples=99, rng=1)
    >>> found, int(found.mask(0).sum()) == found.rows[0].n
    (<search of 6 slices: p = 0.01, 6 rejected, n = 899>, True)
    """

    rows: tuple[Slice, ...]
    n: int
    n_columns: int
    n_slices: int
    n_left_out: int
    n_rejected: int
    pvalue: float
    critical: float
    alpha: float
    event: str
    predictions: str
    n_resamples: int
    seed: int
    power: str = ""
    notes: tuple[str, ...] = ()
    others: tuple[Slice, ...] = ()
    members: Callable[[str], BoolArray] | None = field(default=None, repr=False)

    not_stored = ("members",)
    picture = "forest"
    citations = ("barnard1963", "dwass1957", "phipson2010", "westfall1993")

    def __repr__(self) -> str:
        p = pvalue_phrase(self.pvalue)
        return f"<search of {counted(self.n_slices, 'slice')}: {p}, {self.n_rejected} rejected, n = {self.n}>"

    def bars(self) -> list[Bar]:
        """Differences of what is observed and claimed, for ``plots.forest``."""
        right = 0.0, "no difference", "observed minus claimed"
        return [
            Bar(one.name, one.observed - one.claimed, one.interval, *right, one.pvalue <= self.alpha)
            for one in self.rows
        ]

    def rejected(self, alpha: float | None = None) -> tuple[Slice, ...]:
        """Slices of ``rows`` with an adjusted p-value of at most alpha, by default that of the search."""
        level = self.alpha if alpha is None else fraction("alpha", alpha)
        return tuple(one for one in self.rows if one.pvalue <= level)

    def unpruned(self) -> Self:
        """The same with all rejected slices as rows, the smallest p-value first, for their table, picture and masks."""
        some = [*self.rows, *self.others]
        return replace(self, rows=tuple(sorted(some, key=lambda one: (one.pvalue, -abs(one.z)))), others=())

    def mask(self, i: int) -> BoolArray:
        """Rows of the i-th slice; ``ValueError`` for a result without it, or that was read from a dictionary."""
        if self.members is None:
            raise ValueError("masks: a result that was read from a dictionary has none; search again with rng=seed")
        return self.members(self.rows[whole_number("i", i, 0, len(self.rows) - 1)].name)

    def verdict(self, alpha: float | None = None) -> str:
        """What was found, in words."""
        level = self.alpha if alpha is None else fraction("alpha", alpha)
        said = at_level(level)
        some = self.rejected(level)
        if not some:
            missed = (
                f", but errors below {self.power} could have been missed" if self.power and level == self.alpha else ""
            )
            return undecided(self.pvalue, self.n_resamples, level) or f"no slice is rejected {said}{missed}"
        parts = sum(one.n < self.n for one in some)
        places = ["all rows"] * (parts < len(some)) + [counted(parts, "slice")] * (parts > 0)
        rest = sum(one.explains for one in some) if self.others else 0
        these = counted(rest, "other" if parts else "slice")
        more = f", which explain{'s' if len(some) == 1 else ''} {these}" if rest else ""
        return f"predictions are wrong in {' and '.join(places)} {said}{more}"

    def sentence(self, alpha: float | None = None) -> str:
        """One sentence for a paper: slices, observations, p-value, and the slices that are reported."""
        some = [f'"{one.name}" ({one.direction}, {pvalue_phrase(one.pvalue)})' for one in self.rejected(alpha)]
        return (
            f"Calibration was tested in {counted(self.n_slices, 'slice')} of n = {self.n} observations by the "
            f"step-down maximum over {self.n_resamples} redraws of the outcomes (smallest adjusted "
            f"{pvalue_phrase(self.pvalue)}): "
            f"{listed(some) if some else 'no slice was rejected'}."
        )

    def table(self) -> Table:
        header = ["slice", "n", "claimed", "observed", "difference", "p-value", "what is wrong", "explains"]
        rows = [header, *(_cells(one) for one in self.rows)]
        if not any(one.explains for one in self.rows):
            rows = [row[:-1] for row in rows]
        if not any(by := [one.explained_by for one in self.rows]):
            return rows
        return [[*row, more] for row, more in zip(rows, ("explained by", *by), strict=True)]

    def remarks(self) -> list[str]:
        units = {one.unit for one in self.rows}
        together = f" that hold for all {self.n_slices} slices together" if self.n_slices > 1 else ""
        said = [f"differences in {POINTS}, with intervals{together}"]
        said += [words for unit, words in MEANINGS.items() if unit in units]
        if any(one.explains for one in self.rows):
            said.append("explains: how many other slices are right once predictions are corrected in this one")
        if units & {ABOVE, CENTRAL}:
            said.append("means and sd of errors have no intervals, as none hold for errors of any law")
        return [*said, *sharper(self.bars())]

    def summary(self, alpha: float | None = None) -> Page:
        smallest = " (the smallest possible)" if is_smallest(self.pvalue, self.n_resamples) else ""
        found = {
            "Verdict": self.verdict(alpha),
            "p-value": f"{format_pvalue(self.pvalue)}{smallest}, of all slices together",
        }
        found |= (
            {"Power": f"errors of {self.power}, the median size, are found in 80 % of data sets"} if self.power else {}
        )
        what = {
            "Predictions": self.predictions + (f"; event: {self.event}" if self.event else ""),
            "Searched": f"{counted(self.n_slices, 'slice')} of {counted(self.n_columns, 'column')} "
            f"({self.n_left_out} too small, or equal)",
            "Null": f"outcomes redrawn from the predictions, {self.n_resamples} redraws; step-down maximum",
            "Assumes": "outcomes independent given predictions and features, which are not made from outcomes"
            + " or members" * self.predictions.startswith("Ensemble"),
            "Reproduce": f"rng={self.seed}",
        }
        return self._page("Search of slices", found, what, notes=self.notes)


MEANINGS = {
    SIDE: "claims too sure, or not sure enough: outcomes on the side of the claim, high or low in the slice",
    ABOVE: "outcomes above or below: those above the predicted median; mean of errors in predicted sd",
    CENTRAL: "errors larger or smaller: outcomes in the central 68.3 % of predictions; sd of errors in predicted sd",
}
"""Of units, in words."""


def _cells(one: Slice) -> list[str]:
    low, high, sign = 100.0 * one.interval.low, 100.0 * one.interval.high, "+" if one.unit == ABOVE else ""
    difference = f"{100.0 * (one.observed - one.claimed):+.3g} ({low:+.3g} to {high:+.3g})"
    wrong = one.direction + ("" if one.size is None else f" ({one.size:{sign}.3g} sd)")
    shares = percent(one.claimed), percent(one.observed)
    return [one.name, str(one.n), *shares, difference, format_pvalue(one.pvalue), wrong, str(one.explains)]
