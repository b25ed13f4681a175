"""O:E ratio, calibration in the large and slope of each centre or group, with p-values adjusted for their number."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from caltest._basics.arrays import order_of
from caltest._basics.calls import own_errstate
from caltest._basics.numerics import Array, ArrayLike, FloatArray, IntArray, never_falling
from caltest._laws import clopper_pearson, law_of_count, share_up_to, two_sided
from caltest._results.report import at_level, counted, format_pvalue, in_cell, listed, pvalue_phrase
from caltest._results.tables import AdjustedRows, Bar, Page, Table, sharper
from caltest._results.values import CLOPPER_PEARSON, ConfidenceInterval, Entry, Stored
from caltest._validation import fraction, same_length
from caltest._validation.columns import refuse_outcomes
from caltest._validation.groups import groups_of_any_size
from caltest.estimators.classical.base import name_of_event, probability_of_event
from caltest.estimators.classical.cox import cox_calibration
from caltest.fields.clinical.validation import shift
from caltest.predictions.inputs.convert import as_sample


@dataclass(frozen=True)
class GroupValidation(Entry):
    """What was found in one centre or group.

    Attributes
    ----------
    expected
        Sum of the predicted risks.
    ratio, usual
        O:E with an interval for the true ratio, and its range in calibrated groups, beyond which a group is rejected.
    in_the_large, slope
        Calibration in the large, infinite without events or without others, and slope; None where they do not exist.
    pvalue, adjusted
        Exact, of the number of events, as if there were no other groups, and adjusted for all of them.

    Examples
    --------
    >>> from caltest.fields import clinical
    >>> found = clinical.validate_by_group([0.1, 0.4, 0.2, 0.6, 0.3], [0, 1, 0, 0, 1], ["a", "a", "a", "b", "b"])
    >>> [(one.name, one.events, round(one.pvalue, 2)) for one in found.rows]
    [('a', 1, 1.0), ('b', 1, 1.0)]
    """

    name: str
    n: int
    events: int
    expected: float
    ratio: ConfidenceInterval
    usual: tuple[float, float]
    in_the_large: ConfidenceInterval | None
    slope: ConfidenceInterval | None
    pvalue: float
    adjusted: float


@dataclass(frozen=True, eq=False, repr=False)
class ValidationByGroup(AdjustedRows[GroupValidation], Stored):
    """What ``clinical.validate_by_group`` found. Printing it gives a table; ``plot()`` a forest plot of O:E.

    Attributes
    ----------
    rows
        The groups.
    event
        The name of its class, if it has one.
    confidence_level
        With which intervals and ranges hold in all groups together.

    Examples
    --------
    >>> from caltest.fields import clinical
    >>> clinical.validate_by_group([0.1, 0.4, 0.2, 0.6, 0.3], [0, 1, 0, 0, 1], ["a", "a", "a", "b", "b"])
    <clinical validation of 2 groups: p = 1, 2 events in n = 5>
    """

    rows: tuple[GroupValidation, ...]
    n: int
    events: int
    confidence_level: float
    notes: tuple[str, ...] = ()
    event: str = ""

    picture = "forest"
    citations = ("blaker2000", "calster2019", "hoeffding1956", "westfall1997")

    def __repr__(self) -> str:
        groups = counted(len(self.rows), "group")
        return f"<clinical validation of {groups}: {pvalue_phrase(self.pvalue)}, {self.events} events in n = {self.n}>"

    @property
    def pvalue(self) -> float:
        """Of the hypothesis that the number of events is as predicted in all groups: the smallest adjusted one."""
        return min(one.adjusted for one in self.rows)

    def verdict(self, alpha: float = 0.05) -> str:
        """In which groups there are more or fewer events than predicted."""
        level, found = at_level(alpha), [one for one in self.rows if one.adjusted <= alpha]
        if not found:
            return f"calibration in the large is not rejected in any group {level}"
        more, fewer = ([one.name for one in found if (one.events > one.expected) is side] for side in (True, False))
        kinds = ("more", more), ("fewer", fewer)
        said = [f"{kind} events than predicted in {listed(names)}" for kind, names in kinds if names]
        return f"reject calibration {level} in {len(found)} of {len(self.rows)} groups: {', '.join(said)}"

    def sentence(self, alpha: float = 0.05) -> str:
        low, high = (end(self.rows, key=lambda one: one.events / one.expected) for end in (min, max))
        rejected = sum(one.adjusted <= alpha for one in self.rows) or "none"
        ends = (f"{in_cell(one.ratio)[:-1]}; {one.name})" for one in (low, high))
        return (
            f"With {counted(self.events, 'event')} in {self.n} cases of {len(self.rows)} groups, O:E ratios were from "
            f"{' to '.join(ends)}, with simultaneous {100 * self.confidence_level:g} % intervals; calibration in the "
            f"large was rejected {at_level(alpha)} in {rejected} of them (exact tests of the number of events, "
            f"adjusted {pvalue_phrase(self.pvalue)})."
        )

    def bars(self) -> list[Bar]:
        what = "range if calibrated", "O:E ratio"
        values = [one.events / one.expected for one in self.rows]
        return [
            Bar(one.name, value, one.ratio, 1.0, *what, not one.usual[0] <= value <= one.usual[1], one.usual)
            for one, value in zip(self.rows, values, strict=True)
        ]

    def table(self) -> Table:
        level = f"{100 * self.confidence_level:g} %"
        header = ["group", "n", "events", "O:E ratio", f"{level} if calibrated", "in the large", "slope"]
        rows = [[*header, "p-value", "adjusted"]]
        for one in self.rows:
            found = one.ratio, one.in_the_large, one.slope
            ratio, *others = ("" if interval is None else in_cell(interval) for interval in found)
            usual, pvalues = "{:.3g} to {:.3g}".format(*one.usual), map(format_pvalue, (one.pvalue, one.adjusted))
            rows.append([one.name, str(one.n), str(one.events), ratio, usual, *others, *pvalues])
        return rows

    def remarks(self) -> list[str]:
        return [
            f"intervals, in brackets, and ranges hold for all {len(self.rows)} groups together",
            "p-values are exact, of the number of events; adjusted for all groups (Westfall and Wolfinger)",
            f"O:E is out of its range where the adjusted p-value is up to {1.0 - self.confidence_level:.3g}",
            *sharper(self.bars()),
        ]

    def summary(self, alpha: float = 0.05) -> Page:
        found = {"Verdict": self.verdict(alpha), "Event": self.event or None, "Events": f"{self.events} of {self.n}"}
        what = {
            "Null": "the Poisson-binomial law of the number of events in each group",
            "Assumes": "outcomes independent given all risks and groups, not used to fit the model "
            "or to predict others",
        }
        return self._page("Validation of predicted risks by group", found, what, notes=self.notes)


@own_errstate
def validate_by_group(
    predictions: ArrayLike,
    targets: ArrayLike,
    groups: ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    confidence_level: float = 0.95,
) -> ValidationByGroup:
    """O:E ratio, calibration in the large and slope in each centre or group, with exact p-values adjusted for all.

    Parameters
    ----------
    predictions, targets, classes
        As in ``validate``.
    groups
        (n,) labels of centres or other groups; or booleans that say who belongs to which group, which may overlap, as
        in ``calibration_by_group``. Groups may be of one case, and without events.
    confidence_level
        With which the intervals of a measure hold in all groups together, and so do the ranges.

    Raises
    ------
    ValueError
        For bad data or settings, groups that are the outcomes, without a case, or in which all risks are 0.
    TypeError
        For predictions that are not binary.

    Notes
    -----
    O:E and calibration in the large, the a that solves ``sum y = sum expit(a + logit p)``, are functions of the number
    of events, whose law is Poisson-binomial if the group is calibrated. Ranges and p-values are from it, exact for any
    number of events, without random numbers: a p-value is the probability of all numbers whose smaller tail is as
    small. Groups are adjusted for by Holm's method with what p-values can be: the i-th smallest becomes
    ``sum_j P(p-value of group j <= p_i)`` over groups whose p-values are not smaller, which holds whatever their
    dependence. Centres too small to be rejected cost nothing.

    The interval of O:E is that of Clopper and Pearson for the mean true risk, that of calibration in the large has the
    a that give its ends: both hold for any number of events, the second if true log-odds are a more than those
    predicted. They are wider than the range of O:E, beyond which an adjusted p-value is at most one less the level, and
    so can hold 1 (0) where it is. Slopes have normal limits; they do not exist where risks are equal, or separate
    events from others. Levels are divided by the number of groups (Bonferroni). What else may be wrong in a group is
    what ``calibration_by_group`` tests. Time O(n**2) for n cases in a group.

    Sources: Van Calster et al. 2019; Blaker 2000 for p-values; Hoeffding 1956 for intervals of independent events;
    Westfall and Wolfinger 1997 for several discrete p-values.

    Examples
    --------
    >>> import numpy as np
    >>> from caltest.fields import clinical
    >>> rng = np.random.default_rng(1)
    >>> risk, centre = rng.beta(1, 6, 600), np.repeat(["Leiden", "Oslo", "Porto"], 200)
    >>> event = rng.random(600) < np.where(centre == "Oslo", np.minimum(2.0 * risk, 1.0), risk)
    >>> clinical.validate_by_group(risk, event, centre).verdict()
    'reject calibration at the 5 % level in 1 of 3 groups: more events than predicted in Oslo'
    """
    level, sample = fraction("confidence_level", confidence_level), as_sample(predictions, targets, classes)
    p, y = probability_of_event(sample.predictions, "clinical.validate_by_group"), np.asarray(sample.targets)
    members = groups_of_any_size(groups, order_of(targets, predictions))
    same_length(y.size, members.n, "groups")
    refuse_outcomes([("groups", members.codes)], y, "{}")
    for name, rows in zip(members.names, members.rows, strict=True):
        if not p[rows].any():
            got = "without a case" if rows.size == 0 else "in which all risks are 0, so that there is no O:E ratio"
            raise ValueError(f"groups: got {name!r} {got}; leave it out, or merge it with another")
    laws = [law_of_count(p[rows]) for rows in members.rows]
    possible = [two_sided(law) for law in laws]
    pvalues = np.array([one[int(y[rows].sum())] for one, rows in zip(possible, members.rows, strict=True)])
    adjusted = _step_down(pvalues, possible, laws)
    usual = _usual(np.lexsort((pvalues, adjusted)), adjusted, possible, laws, 1.0 - level)
    found, without = [], []
    numbers = zip(usual, pvalues.tolist(), adjusted.tolist(), strict=True)
    for name, cases, of_group in zip(members.names, members.rows, numbers, strict=True):
        row, reason = _row(name, p[cases], y[cases], level, len(members), *of_group)
        found.append(row)
        without += [f"{name}: {reason}"] if reason else []
    notes = (f"no slope in {len(without)} of {len(members)} groups; {without[0]}",) if without else ()
    event = name_of_event(sample.predictions)
    return ValidationByGroup(tuple(found), y.size, int(y.sum()), level, (*sample.notes, *notes), event)


def _row(
    name: str, p: FloatArray, y: Array, level: float, number: int, usual: IntArray, pvalue: float, adjusted: float
) -> tuple[GroupValidation, str]:
    """One of some groups, and why there is no slope, if there is none."""
    each, events, expected = 1.0 - (1.0 - level) / number, int(y.sum()), float(p.sum())
    ends, least, most = clopper_pearson(events, y.size, each), float(usual[0] / expected), float(usual[1] / expected)
    method = f"{CLOPPER_PEARSON}, {counted(number, 'group')} together"
    low, high = (end * y.size / expected for end in ends)
    ratio, in_the_large = ConfidenceInterval(low, high, level, method, events / expected), None
    if ((p > 0.0) & (p < 1.0)).any():
        low, high, value = (shift(p, mean) for mean in (*ends, events / y.size))
        in_the_large = ConfidenceInterval(low, high, level, method, value)
    slope, reason = _slope(p, y, each, level)
    measures = ratio, (least, most), in_the_large, slope
    return GroupValidation(name, y.size, events, expected, *measures, pvalue, adjusted), reason


def _step_down(pvalues: FloatArray, possible: Sequence[FloatArray], laws: Sequence[FloatArray]) -> FloatArray:
    """Adjusted p-values (G,): probabilities, summed over groups that are left, of p-values that are as small."""
    order = np.argsort(pvalues, kind="stable")
    as_small = np.array([share_up_to(pvalues[order], possible[j], laws[j]) for j in order])
    left = np.cumsum(as_small[::-1], axis=0)[::-1].diagonal()
    return np.minimum(never_falling(left, order), 1.0)


def _usual(
    order: IntArray, adjusted: FloatArray, possible: Sequence[FloatArray], laws: Sequence[FloatArray], alpha: float
) -> IntArray:
    """Smallest and largest number of events (G, 2) of groups that ``_step_down`` does not reject, one after the other.

    Those of a rejected group are such that it would not be, if all groups before it are.
    """
    ends, rejected = np.empty((order.size, 2), dtype=np.intp), int(np.count_nonzero(adjusted <= alpha))
    for place, g in enumerate(order):
        if place <= rejected:
            left = order[place:]
            values, masses = (np.concatenate([some[j] for j in left]) for some in (possible, laws))
            kept = values[share_up_to(values, values, masses) > alpha].min()
        inside = np.flatnonzero(possible[g] >= kept)
        ends[g] = inside[0], inside[-1]
    return ends


def _slope(risks: FloatArray, outcomes: Array, each: float, level: float) -> tuple[ConfidenceInterval | None, str]:
    """With its interval at the level of all groups together, or why there is none."""
    if outcomes.min() == outcomes.max():
        return None, "events alone" if outcomes[0] else "no events"
    try:
        found = cox_calibration(risks, outcomes, confidence_level=each)
    except ValueError as reason:
        return None, str(reason)
    return replace(found.slope_interval, confidence_level=level, estimate=found.slope), ""
