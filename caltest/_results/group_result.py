"""Results of tests of several groups."""

from dataclasses import dataclass

from caltest._results.calibration_test_result import PValueKind
from caltest._results.report import (
    ASSUMPTIONS,
    KINDS,
    at_level,
    format_pvalue,
    in_brackets,
    is_smallest,
    listed,
    pvalue_phrase,
    undecided,
)
from caltest._results.tables import STANDS_OUT, Bar, Page
from caltest._results.values import Finding, Stored
from caltest._validation import fraction


@dataclass(frozen=True)
class GroupResult:
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


@dataclass(frozen=True, eq=False, repr=False)
class GroupCalibrationTestResult(Stored):
    """What a test of several groups found. Printing it gives a table; ``to_dict()`` is ready for JSON.

    Attributes that are not explained here are those of ``CalibrationTestResult``.

    Attributes
    ----------
    groups
        What was found in each group, the smallest adjusted p-value first.
    pvalue
        Of the hypothesis that the predictions are calibrated in all groups: the smallest adjusted p-value.

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

    picture = "forest"

    def __getitem__(self, name: str) -> GroupResult:
        """The group of a name; ``KeyError`` if there is none."""
        return {group.name: group for group in self.groups}[name]

    def bars(self) -> list[Bar]:
        """Errors of groups in units of their standard deviations, for ``plots.forest``."""
        unit = "error in standard deviations if calibrated"
        return [
            Bar(one.name, one.z, None, 0.0, "mean if calibrated", unit, one.adjusted <= STANDS_OUT)
            for one in self.groups
        ]

    def rejected(self, alpha: float = 0.05) -> tuple[str, ...]:
        """Names of the groups with an adjusted p-value of at most alpha."""
        level = fraction("alpha", alpha)
        return tuple(group.name for group in self.groups if group.adjusted <= level)

    def verdict(self, alpha: float = 0.05) -> str:
        """What the p-values say at a level, in words."""
        rejected, level = self.rejected(alpha), at_level(alpha)
        if not rejected:
            kept = f"no evidence against calibration in any group {level}"
            return undecided(self.pvalue, self.n_resamples, alpha) or kept
        return f"reject calibration {level} in {len(rejected)} of {len(self.groups)} groups: {', '.join(rejected)}"

    citations = ("barnard1963", "dwass1957", "phipson2010", "westfall1993")

    def sentence(self, alpha: float = 0.05) -> str:
        """One sentence for a paper: groups, observations, the p-value of all, and the groups that are rejected."""
        rejected = [f'"{name}" ({pvalue_phrase(self[name].adjusted)})' for name in self.rejected(alpha)]
        groups = f": {listed(rejected)}" if rejected else ""
        kind = "exact Monte Carlo p-value"
        if not is_smallest(self.pvalue, self.n_resamples):
            kind += f" from {self.n_resamples} draws"
        return (
            f"The hypothesis that the predictions are calibrated in every one of {len(self.groups)} groups "
            f"({self.hypothesis}) was tested with {self.test} on n = {self.n} observations ({self.estimator}): "
            f"{pvalue_phrase(self.pvalue)}{in_brackets(self.pvalue, self.n_resamples, kind)}, with adjusted "
            f"p-values <= {alpha:g} in {len(rejected)} of {len(self.groups)} groups{groups}."
        )

    def summary(self, alpha: float = 0.05) -> str:
        pvalue = format_pvalue(self.pvalue) + in_brackets(self.pvalue, self.n_resamples, KINDS[self.pvalue_kind])
        found = {"Verdict": self.verdict(alpha), "p-value": pvalue}
        what = {
            "Hypothesis": f"the predictions are calibrated in every group: {self.hypothesis}",
            "Predictions": self.predictions,
            "Assumes": f"{ASSUMPTIONS}; groups that do not depend on them",
            "Null": self.null,
            "Estimator": self.estimator,
            "Reproduce": f"rng={self.seed}",
        }
        return Page(self.test, found, [""], self._table(alpha), [""], what, notes=self.notes)

    def __repr__(self) -> str:
        p = pvalue_phrase(self.pvalue)
        return f"<{self.test}: {p} ({self.pvalue_kind}), {len(self.groups)} groups, n = {self.n}>"

    def _table(self, alpha: float) -> list[str]:
        """A line for each group, with a finding where it is rejected."""
        width = max(5, *(len(group.name) for group in self.groups))
        lines = [f"{'Group':<{width}}{'n':>8}{'estimate':>12}{'z':>8}{'p-value':>10}{'adjusted':>10}"]
        for one in self.groups:
            numbers = f"{one.estimate:>12.4g}{one.z:>z8.2f}{format_pvalue(one.pvalue):>10}"
            why = f"  {one.finding}" if one.adjusted <= alpha and one.finding else ""
            lines.append(f"{one.name:<{width}}{one.n:>8}{numbers}{format_pvalue(one.adjusted):>10}{why}")
        return lines
