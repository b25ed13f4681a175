"""What tests of forecasts found, by lead time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from caltest._results.report import at_level, format_pvalue, listed, pvalue_phrase
from caltest._results.tables import AdjustedRows, Bar, Grid, Page, Part, Table
from caltest._results.values import ConfidenceInterval, Entry, Stored
from caltest._validation import fraction


@dataclass(frozen=True)
class PartResult(Entry):
    """One way in which forecasts can be wrong at a lead time, such as ``"bias"`` or ``"spread"``.

    Attributes
    ----------
    words
        What the observed sign means.
    estimate, interval
        The size in the unit of ``unit``, and its interval where there is a valid one.
    statistic, df
        Of all dates, and the degrees of freedom of its limit law.
    pvalue, adjusted
        Of this part alone, by redraws, and adjusted for all parts of all lead times.
    approximate
        The p-value of the limit law for many dates; None where dates depend on each other.

    Examples
    --------
    >>> import caltest as ct
    >>> result = ct.fields.weather.rank_histogram([[1.0, 2.0]] * 40, [5.0] * 40, n_resamples=99, rng=1)
    >>> result.rows[0].parts[0].words
    'members too low'
    """

    name: str
    words: str
    estimate: float | None
    interval: ConfidenceInterval | None
    unit: str
    statistic: float
    df: int
    pvalue: float
    adjusted: float
    approximate: float | None


@dataclass(frozen=True)
class LeadResult(Entry):
    """What was found at a lead time.

    Attributes
    ----------
    name
        Of the lead time, empty if there is a single one.
    n, n_dates
        Cases, and dates they are at.
    pvalue, adjusted
        Of all parts together, for this lead time, and adjusted for all of them.
    serial
        Correlation of the ranks of a date and the first one after it that should be independent of it; not part of the
        p-value. None for fewer than two such dates.
    places, observed, expected, lowest, highest
        What the picture shows, and the band that holds all of ``observed`` with 95 % probability if calibrated; empty
        where dates depend on each other.

    Examples
    --------
    >>> import caltest as ct
    >>> result = ct.fields.weather.rank_histogram([[1.0, 2.0]] * 40, [5.0] * 40, n_resamples=99, rng=1)
    >>> [part.name for part in result.rows[0].faults()]
    ['bias', 'spread']
    """

    name: str
    n: int
    n_dates: int
    parts: tuple[PartResult, ...]
    pvalue: float
    adjusted: float
    serial: PartResult | None
    places: tuple[float, ...]
    observed: tuple[float, ...]
    expected: tuple[float, ...]
    lowest: tuple[float, ...]
    highest: tuple[float, ...]
    scores: Mapping[str, float] = field(default_factory=dict, hash=False)

    def faults(self, alpha: float = 0.05) -> tuple[PartResult, ...]:
        """The parts with an adjusted p-value of at most alpha."""
        return tuple(part for part in self.parts if part.adjusted <= alpha)


@dataclass(frozen=True, eq=False, repr=False)
class VerificationResult(AdjustedRows[LeadResult], Stored):
    """Result of a test of forecasts. Printing it gives the verdict and a line for each part of each lead time.

    Attributes
    ----------
    rows
        What was found at each lead time, in their order.
    pvalue
        Of the hypothesis for all lead times: the smallest adjusted p-value.
    pvalue_kind
        ``"exact"``, or ``"bound"`` where it is the smallest of several, times their number, for a horizon or several
        rows (Holm's method).
    smallest
        The smallest p-value that so many redraws can give.
    null, assumes
        How p-values were made, and what they assume.
    axis
        What the picture shows: names of the horizontal and the vertical axis.
    each
        What a row is of.

    Examples
    --------
    >>> import caltest as ct
    >>> result = ct.fields.weather.rank_histogram([[1.0, 2.0]] * 40, [5.0] * 40, n_resamples=99, rng=1)
    >>> result
    <rank histogram: p = 0.01, 40 dates, 2 members>
    """

    test: str
    hypothesis: str
    predictions: str
    n: int
    rows: tuple[LeadResult, ...]
    pvalue: float
    pvalue_kind: str
    smallest: float
    n_resamples: int
    seed: int
    null: str
    assumes: str
    axis: tuple[str, ...]
    each: str = "lead time"
    notes: tuple[str, ...] = ()
    citations: tuple[str, ...] = ()

    picture = "verification"

    def __repr__(self) -> str:
        return f"<{self.test}: {self._phrase}, {self.predictions}>"

    @property
    def _phrase(self) -> str:
        return pvalue_phrase(self.pvalue, self.pvalue_kind == "bound")

    def verdict(self, alpha: float = 0.05) -> str:
        """What the p-values say at a level, in words."""
        level = at_level(alpha)
        if self.rejected(alpha):
            return f"reject calibration {level}{self._where(alpha)}"
        if self.smallest > alpha:
            enough = ceil((self.n_resamples + 1) * self.smallest / alpha - 1e-9)
            return f"undecided {level}: so few redraws cannot reject; take n_resamples={enough} or more"
        return f"calibration is not rejected {level}{f' at any {self.each}' if len(self.rows) > 1 else ''}"

    def _where(self, alpha: float) -> str:
        rejected = self.rejected(alpha)
        if len(self.rows) == 1 or not rejected:
            return ""
        return f" for {len(rejected)} of {len(self.rows)} {self.each}s: {', '.join(rejected)}"

    def why(self, alpha: float = 0.05) -> str | None:
        """The faults in words, if the test rejects; "perhaps" where none of a lead time is clear, but that there is."""
        said = []
        for row in self.rows:
            if row.adjusted <= alpha:
                likeliest = min(row.parts, key=lambda part: part.adjusted).words
                words = listed([part.words for part in row.faults(alpha)] or [f"perhaps {likeliest}"])
                said.append(f"{row.name}: {words}" if row.name else words)
        return "; ".join(said) or None

    def sentence(self, alpha: float = 0.05) -> str:
        level = fraction("alpha", alpha)
        said, why = "was rejected" if self.pvalue <= level else "was not rejected", self.why(level)
        if self.smallest > level:
            said = "could not have been rejected with so few redraws"
        return (
            f"The hypothesis that {self.hypothesis} {said} {at_level(level)}{self._where(level)} ({self.predictions}; "
            f"{self._phrase}, {self.null}){'' if why is None else ': ' + why}."
        )

    def bars(self) -> list[Bar]:
        return [
            Bar(_name(row, part), part.estimate, part.interval, 0.0, "calibrated", part.unit, False)
            for row in self.rows
            for part in row.parts
            if part.estimate is not None
        ]

    def table(self) -> Table:
        header = ["", "cases", "estimate", "95 % interval", "statistic", "df", "p-value", "approximate", "adjusted"]
        return [header, *(_cells(row, part) for row in self.rows for part in row.parts)]

    def row_entries(self) -> list[dict[str, Any]]:
        entries = []
        for row in self.rows:
            for part in (*row.parts, *([row.serial] if row.serial else [])):
                low, high = part.interval or (None, None)
                numbers = {"estimate": part.estimate, "low": low, "high": high, "statistic": part.statistic}
                pvalues = {"pvalue": part.pvalue, "approximate": part.approximate, "adjusted": part.adjusted}
                entries.append({"name": row.name, "part": part.name, "n": row.n, **numbers, **pvalues})
        return entries

    def summary(self, alpha: float = 0.05) -> Page:
        level = fraction("alpha", alpha)
        kind = "upper bound" if self.pvalue_kind == "bound" else "exact"
        kind += f", adjusted for all {self.each}s" * (len(self.rows) > 1)
        what = {
            "Hypothesis": self.hypothesis,
            "Predictions": self.predictions,
            "Assumes": self.assumes,
            "Null": self.null,
            "Estimates": units_of(self.rows) or None,
            "Reproduce": f"rng={self.seed}",
        }
        found = {
            "Verdict": self.verdict(level),
            "Why": self.why(level),
            "p-value": f"{format_pvalue(self.pvalue)} ({kind})",
        }
        scores: list[Part] = [[""], Grid(self._scores())] if any(row.scores for row in self.rows) else []
        return self._page(self.test, found, what, *scores, notes=self.notes)

    def _scores(self) -> Table:
        header = [["", *(row.name for row in self.rows)]] if len(self.rows) > 1 else []
        return header + [[name, *(f"{row.scores[name]:.4g}" for row in self.rows)] for name in self.rows[0].scores]


def units_of(rows: Sequence[LeadResult]) -> str:
    """What estimates of the parts are in."""
    return "; ".join(dict.fromkeys(f"{part.name}: {part.unit}" for row in rows for part in row.parts if part.unit))


def _name(row: LeadResult, part: PartResult) -> str:
    return f"{row.name} {part.name}".strip()


def _cells(row: LeadResult, part: PartResult) -> list[str]:
    estimate = interval = ""
    if part.interval is not None:
        estimate, interval = f"{part.estimate:z.3f}", f"{part.interval.low:z.3f} to {part.interval.high:z.3f}"
    elif part.estimate is not None:
        estimate = f"{part.estimate:.3g}"
    pvalues = ["" if p is None else format_pvalue(p) for p in (part.pvalue, part.approximate, part.adjusted)]
    return [_name(row, part), str(row.n), estimate, interval, f"{part.statistic:.3g}", str(part.df), *pvalues]
