"""The result of a test of several labels."""

from dataclasses import dataclass
from typing import Any

from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.measures import percent, shares_of
from caltest._results.report import LISTED, at_level, first_of, format_pvalue, kind_of, others_of, pvalues_of, undecided
from caltest._results.tables import STANDS_OUT, AdjustedRows, Bar, Grid, Page, Table, entries_of, sharper
from caltest._results.values import ConfidenceInterval, Entry, Finding
from caltest._validation import fraction

NAMED, MOST = 3, 20
"""Labels that the reason names, and rejected ones that a report has a line for."""


@dataclass(frozen=True)
class LabelResult(Entry):
    """What was found for one label. Printing it says how often it occurred, and how often that was claimed.

    Attributes
    ----------
    n
        Number of rows in which it was observed whether the label occurs.
    claimed, observed
        Mean of its probabilities, and share of these rows in which it occurred.
    interval
        95 % interval of Clopper and Pearson for the mean true probability, of this label alone.
    pvalue, adjusted
        As in ``GroupResult``, of labels.
    finding
        What is wrong with the probabilities of the label, if its adjusted p-value is at most 0.05.

    Examples
    --------
    >>> import caltest as ct
    >>> import numpy as np
    >>> p = ct.MultiLabel(np.full((200, 2), 0.3), ["dog", "cat"])
    >>> y = np.stack([np.arange(200) % 10 < 3, np.arange(200) % 10 < 5], axis=1)
    >>> print(ct.calibration_test(p, y, rng=1)["cat"])
    label cat: claimed 30.0 %, observed 50.0 % of 200
    """

    name: str
    n: int
    claimed: float
    observed: float
    interval: ConfidenceInterval
    pvalue: float
    adjusted: float
    finding: Finding | None

    def __str__(self) -> str:
        claimed, observed = (percent(share, self.claimed, self.observed) for share in (self.claimed, self.observed))
        return f"label {self.name}: claimed {claimed}, observed {observed} of {self.n}"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MultiLabelTestResult(AdjustedRows[LabelResult], CalibrationTestResult):
    """What ``calibration_test`` found for several labels: the result of all, and one for each.

    It has the attributes of ``CalibrationTestResult``, those of one number being of the worst label.

    Attributes
    ----------
    labels
        What was found for each label, the smallest adjusted p-value first.
    pvalue
        Of the hypothesis that the probabilities of all labels are calibrated: the smallest adjusted p-value.

    Examples
    --------
    >>> import caltest as ct
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> p = rng.uniform(0.1, 0.4, (500, 3))
    >>> y = rng.random((500, 3)) < p + [0.0, 0.0, 0.2]
    >>> result = ct.calibration_test(ct.MultiLabel(p, ["dog", "cat", "indoors"]), y, rng=1)
    >>> result.verdict()
    'reject calibration at the 5 % level for 1 of 3 labels: indoors'
    >>> print(result.labels[0])
    label indoors: claimed 25.2 %, observed 45.6 % of 500
    """

    labels: tuple[LabelResult, ...]

    _rows = "labels"

    def verdict(self, alpha: float = 0.05) -> str:
        rejected, level = self.rejected(alpha), at_level(alpha)
        if rejected:
            words = first_of(rejected, LISTED, ", ")
            return f"reject calibration {level} for {len(rejected)} of {len(self.labels)} labels: {words}"
        few = undecided(self.pvalue, self.n_resamples, alpha, self.smallest)
        if few or len(self.labels) == 1:
            return few or f"calibration is not rejected {level}"
        return f"calibration of none of {len(self.labels)} labels is rejected {level}"

    def why(self, alpha: float = 0.05) -> str | None:
        rejected = len(self.rejected(alpha))
        found = [str(one) + (f" ({one.finding})" if one.finding else "") for one in self.labels[:rejected]]
        return first_of(found, NAMED, "; ") if found else None

    def bars(self) -> list[Bar]:
        return [
            Bar(one.name, one.observed, one.interval, one.claimed, "claimed", "rate", one.adjusted <= STANDS_OUT)
            for one in self.labels
        ]

    def table(self) -> Table:
        return self._table(len(self.labels))

    def remarks(self) -> list[str]:
        return sharper(self.bars())

    def row_entries(self) -> list[dict[str, Any]]:
        return [{**entries_of(one), "finding": str(one.finding or "")} for one in self.labels]

    def summary(self, alpha: float = 0.05) -> str:
        level = fraction("alpha", alpha)
        rejected = len(self.rejected(level))
        shown = max(LISTED, min(MOST, rejected))
        rest = len(self.labels) - shown
        more = [f"  and {rest} others, whose p-values are not smaller; to_pandas() has all"]
        parts = {
            "Hypothesis": f"the probabilities of every label are calibrated: {self.hypothesis}",
            "Predictions": self.predictions,
            "Assumes": self.assumes,
            "Null": self.null,
            "Estimator": f"for each label {self.estimator}",
            "Reproduce": f"rng={self.seed}",
        }
        return Page(
            self.test,
            {"Verdict": self.verdict(level), "Why": self.why(level)} | pvalues_of(self, kind_of(self)),
            [""],
            Grid(self._table(shown)),
            [*(more if rejected > shown else others_of(self.labels, shown)), *(f"  {one}" for one in self.remarks())],
            [""],
            parts,
            notes=self.notes,
        )

    def _table(self, shown: int) -> Table:
        rows = [["label", "n", "claimed", "observed", "95 % interval", "p-value", "adjusted"]]
        for one in self.labels[:shown]:
            pvalues = [format_pvalue(p, None if p else p) for p in (one.pvalue, one.adjusted)]
            rows.append([one.name, str(one.n), *shares_of(one.claimed, one.observed, one.interval), *pvalues])
        return rows
