"""The result of a test of several groups."""

from dataclasses import dataclass, replace
from typing import Any

from caltest._results.calibration_test_result import PValueKind
from caltest._results.measures import MISSED, numbers_of, shares_of
from caltest._results.report import (
    ASSUMPTIONS,
    at_level,
    format_pvalue,
    in_brackets,
    is_smallest,
    kind_of,
    listed,
    pvalue_phrase,
    undecided,
)
from caltest._results.tables import STANDS_OUT, AdjustedRows, Bar, Grid, Page, Table, entries_of
from caltest._results.values import ConfidenceInterval, Entry, Finding, Stored, is_of_number

SHOWN = 20
"""Groups that a report shows; of more those with the smallest adjusted p-values."""


@dataclass(frozen=True)
class GroupResult(Entry):
    """What was found in one group.

    Attributes
    ----------
    estimate
        Estimated calibration error of its n members.
    z
        The statistic in units of the standard deviation that it has if calibrated, from its mean then.
    pvalue, adjusted
        As if there were no other groups, and adjusted for all of them: if groups with at most alpha are called
        miscalibrated, some calibrated group is among them with probability at most alpha.
    finding
        How outcomes of the group differ from what was predicted, in words.
    claimed, observed
        How often what the result compares is claimed and observed, by weight if there are weights, with an ``interval``
        for the mean true probability; of counts their sums, expected and observed, with an ``interval`` for the true
        expectation; None for predictions of which nothing is compared.
    ratio, apart
        Observed divided by claimed (O:E), with an interval; and how much more is observed than claimed: of counts as a
        share of what is claimed. None where nothing is compared, or claimed.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> first = ct.calibration_by_group(p, y, p.probabilities.argmax(axis=1), n_resamples=99, rng=1).groups[0]
    >>> first.name, first.n, first.pvalue
    ('8', 87, 0.01)
    """

    name: str
    n: int
    estimate: float
    z: float
    pvalue: float
    adjusted: float
    finding: Finding | None
    claimed: float | None = None
    observed: float | None = None
    interval: ConfidenceInterval | None = None

    @property
    def ratio(self) -> ConfidenceInterval | None:
        """Observed divided by claimed."""
        return None if not self.claimed else self._scaled(1.0 / self.claimed)

    @property
    def apart(self) -> ConfidenceInterval | None:
        """Observed less claimed, of counts as a share of what is claimed."""
        if not is_of_number(self.interval):
            return self._scaled(1.0, self.claimed or 0.0)
        return None if not self.claimed else self._scaled(1.0 / self.claimed, 1.0)

    def _scaled(self, factor: float, less: float = 0.0) -> ConfidenceInterval | None:
        if self.interval is None or self.observed is None:
            return None
        low, high, estimate = (factor * one - less for one in (*self.interval.ends, self.observed))
        return replace(self.interval, low=low, high=high, estimate=estimate)


@dataclass(frozen=True, eq=False, repr=False)
class GroupCalibrationTestResult(AdjustedRows[GroupResult], Stored):
    """What a test of several groups found. Printing it gives a table; ``to_dict()`` is ready for JSON.

    Attributes that are not explained here are those of ``CalibrationTestResult``.

    Attributes
    ----------
    groups
        What was found in each group, the smallest adjusted p-value first.
    pvalue
        Of the hypothesis that the predictions are calibrated in all groups: the smallest adjusted p-value.
    compared
        The event of which groups have a claimed and an observed share: of numbers, that they are above the median, or
        inside of an interval where that is clearly more off in a group. The intervals, of Clopper and Pearson, or in
        clusters and with weights of Korn and Graubard, hold for all groups together with 95 %. Counts themselves are
        compared, with intervals of Garwood, wider by how much more counts scatter than those of Poisson: those of the
        group, or, the fewer events it has, of all groups. So are events of censored times with predicted hazards while
        rows are observed.
    margin
        Differences up to this are too small to matter; of counts as a share of those expected.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> sure = {"sure": p.probabilities.max(axis=1) > 0.8, "not sure": p.probabilities.max(axis=1) < 0.5}
    >>> result = ct.calibration_by_group(p, y, sure, n_resamples=99, rng=1)
    >>> result
    <GroupCalibrationTest: p = 0.01 (exact), 2 groups, n = 899>
    >>> result["not sure"].adjusted
    0.01
    >>> result.sentence()[-67:]
    '0.05 in 2 of 2 groups: "not sure" (p = 0.01) and "sure" (p = 0.01).'
    """

    test: str
    hypothesis: str
    predictions: str
    estimator: str
    null: str
    n: int
    groups: tuple[GroupResult, ...]
    pvalue: float
    pvalue_kind: PValueKind
    n_resamples: int
    seed: int
    notes: tuple[str, ...] = ()
    assumes: str = ASSUMPTIONS
    compared: str = ""
    margin: float | None = None

    picture = "forest"
    _rows = "groups"

    @property
    def are_numbers(self) -> bool:
        """Whether sums of counts or events are compared, and not shares."""
        return any(is_of_number(one.interval) for one in self.groups)

    def bars(self) -> list[Bar]:
        """How far observed shares are from those claimed; or errors, where nothing is compared."""
        if not self.compared:
            unit = "error in standard deviations if calibrated"
            return [
                Bar(one.name, one.z, None, 0.0, "mean if calibrated", unit, one.adjusted <= STANDS_OUT)
                for one in self.groups
            ]
        what, unit = "as claimed", f"{self.compared}: percentage points above the share claimed"
        if self.are_numbers:
            what, unit = "as expected", f"{self.compared}: per cent above the number expected"
        bars = []
        for one in self.groups:
            off, *ends = (0.0,) if one.apart is None else (one.apart.estimate or 0.0, *one.apart)
            bars.append(
                Bar(one.name, 100.0 * off, [100.0 * end for end in ends], 0.0, what, unit, one.adjusted <= STANDS_OUT)
            )
        return bars

    def verdict(self, alpha: float = 0.05) -> str:
        """What the p-values say at a level, in words."""
        rejected, level = self.rejected(alpha), at_level(alpha)
        if not rejected:
            kept = f"calibration is not rejected in any group {level}"
            ends = [abs(end) for one in self.groups for end in one.apart or ()]
            if self.margin is not None and max(ends, default=0.0) > self.margin:
                kept += f", but {MISSED}"
            return undecided(self.pvalue, self.n_resamples, alpha) or kept
        names = ", ".join(rejected[:SHOWN]) + ", ..." * (len(rejected) > SHOWN)
        return f"reject calibration {level} in {len(rejected)} of {len(self.groups)} groups: {names}"

    citations = ("barnard1963", "dwass1957", "phipson2010", "westfall1993")

    def sentence(self, alpha: float = 0.05) -> str:
        """One sentence for a paper: groups, observations, the p-value of all, and the groups that are rejected."""
        rejected = [f'"{name}" ({pvalue_phrase(self[name].adjusted)})' for name in self.rejected(alpha)]
        groups = f": {listed(rejected)}" if rejected else ""
        kind = "exact Monte Carlo p-value" if self.pvalue_kind == "exact" else f"p-value by {self.pvalue_kind}"
        if not is_smallest(self.pvalue, self.n_resamples):
            kind += f" from {self.n_resamples} redraws"
        return (
            f"The hypothesis that the predictions are calibrated in every one of {len(self.groups)} groups "
            f"({self.hypothesis}) was tested with {self.test} on n = {self.n} observations ({self.estimator}): "
            f"{pvalue_phrase(self.pvalue)}{in_brackets(self.pvalue, self.n_resamples, kind)}, with adjusted "
            f"p-values <= {alpha:g} in {len(rejected)} of {len(self.groups)} groups{groups}."
        )

    def summary(self, alpha: float = 0.05) -> str:
        pvalue = format_pvalue(self.pvalue) + in_brackets(self.pvalue, self.n_resamples, kind_of(self))
        found = {"Verdict": self.verdict(alpha), "p-value": pvalue}
        what = {
            "Hypothesis": f"the predictions are calibrated in every group: {self.hypothesis}",
            "Predictions": self.predictions,
            "Assumes": f"{self.assumes}; groups that do not depend on them",
            "Null": self.null,
            "Estimator": self.estimator,
            "Reproduce": f"rng={self.seed}",
        }
        rest = len(self.groups) - SHOWN
        more = [f"  and {rest} others, whose p-values are not smaller; to_pandas() has all"] if rest > 1 else []
        shown = self._table(alpha)[: 1 + SHOWN if more else None]
        if self.compared:
            what_of = "sums" if self.are_numbers else "shares"
            claimed = "expected" if self.are_numbers else "claimed"
            more.append(f"{claimed}, observed: {what_of} of {self.compared}; intervals hold for all groups together")
        return Page(self.test, found, [""], Grid(shown), [*more, ""], what, notes=self.notes)

    def __repr__(self) -> str:
        p = pvalue_phrase(self.pvalue)
        return f"<{self.test}: {p} ({self.pvalue_kind}), {len(self.groups)} groups, n = {self.n}>"

    def table(self) -> Table:
        return self._table(STANDS_OUT)

    def row_entries(self) -> list[dict[str, Any]]:
        return [{**entries_of(one), "finding": str(one.finding or "")} for one in self.groups]

    def _table(self, alpha: float) -> Table:
        size = ["claimed", "observed", "95 % interval"] if self.compared else ["estimate", "z"]
        size = ["observed", "expected", "ratio (95 %)"] if self.are_numbers else size
        rows = [["group", "n", *size, "adjusted p", "what is wrong"]]
        for one in self.groups:
            why = str(one.finding or "") if one.adjusted <= alpha else ""
            cells = [f"{one.estimate:.4g}", f"{one.z:z.2f}"]
            if one.claimed is not None and one.observed is not None and one.interval is not None:
                cells = (numbers_of if self.are_numbers else shares_of)(one.claimed, one.observed, one.interval)
            rows.append([one.name, str(one.n), *cells, format_pvalue(one.adjusted), why])
        return rows
