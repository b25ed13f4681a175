"""O:E ratio, calibration in the large and slope of each centre or group, with p-values adjusted for their number."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from caltest._basics.numerics import Array, ArrayLike, FloatArray, order_of, own_errstate
from caltest._results.report import at_level, decision, format_pvalue, listed, pvalue_phrase
from caltest._results.tables import STANDS_OUT, Bar, Page, Table, named_row
from caltest._results.values import ConfidenceInterval, Stored
from caltest._validation import fraction, same_length
from caltest._validation.columns import refuse_outcomes
from caltest._validation.groups import groups_of_any_size
from caltest.estimators.classical.base import name_of_event, probability_of_event
from caltest.estimators.classical.cox import cox_calibration
from caltest.fields.clinical.event_count import EventCount
from caltest.predictions.convert import as_sample


@dataclass(frozen=True)
class GroupValidation:
    """What was found in one centre or group.

    Attributes
    ----------
    expected
        Sum of the predicted risks.
    ratio, usual
        O:E, and between what it is in calibrated groups.
    in_the_large, slope
        Calibration in the large, infinite without events or without others, and slope; None where they do not exist.
    pvalue, adjusted
        Exact, of the number of events, as if there were no other groups, and adjusted for all of them; the interval of
        O:E excludes 1 where the adjusted one is smaller than what its level leaves.

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
class ValidationByGroup(Stored):
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
    citations = ("calster2019", "clopper1934")

    def __repr__(self) -> str:
        groups = f"{len(self.rows)} group{'' if len(self.rows) == 1 else 's'}"
        return f"<clinical validation of {groups}: {pvalue_phrase(self.pvalue)}, {self.events} events in n = {self.n}>"

    @property
    def pvalue(self) -> float:
        """Of the hypothesis that the number of events is as predicted in all groups: the smallest adjusted one."""
        return min(one.adjusted for one in self.rows)

    def __getitem__(self, name: str) -> GroupValidation:
        """The group of a name; ``KeyError`` if there is none."""
        return named_row(self.rows, name)

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
        """For a paper: the O:E ratios with the most and the fewest events for those expected, and the test."""
        low, high = (end(self.rows, key=lambda one: one.events / one.expected) for end in (min, max))
        ends = (
            f"{one.ratio.estimate:.3g} ({one.ratio.low:.3g} to {one.ratio.high:.3g}; {one.name})" for one in (low, high)
        )
        return (
            f"With {self.events} events in {self.n} cases of {len(self.rows)} groups, O:E ratios were from "
            f"{' to '.join(ends)}, with simultaneous {100 * self.confidence_level:g} % intervals; calibration in the "
            f"large was {decision(self.pvalue, alpha)} in {sum(one.adjusted <= alpha for one in self.rows)} of them "
            f"(exact tests of the number of events, adjusted {pvalue_phrase(self.pvalue)})."
        )

    def bars(self) -> list[Bar]:
        """O:E ratios with their intervals, for ``plots.forest``."""
        return [
            Bar(one.name, one.events / one.expected, one.ratio, 1.0, "if calibrated", "O:E ratio", is_wrong)
            for one in self.rows
            for is_wrong in [one.adjusted <= STANDS_OUT]
        ]

    def table(self) -> Table:
        level = f"{100 * self.confidence_level:g} %"
        header = ["group", "n", "events", "O:E ratio", f"{level} if calibrated", "in the large", "slope"]
        rows = [[*header, "p-value", "adjusted"]]
        for one in self.rows:
            low, high = one.usual
            measures = [_cell(one.ratio), f"{low:.3g} to {high:.3g}", _cell(one.in_the_large), _cell(one.slope)]
            pvalues = [format_pvalue(one.pvalue), format_pvalue(one.adjusted)]
            rows.append([one.name, str(one.n), str(one.events), *measures, *pvalues])
        return rows

    def remarks(self) -> list[str]:
        return [
            f"intervals, in brackets, and ranges hold for all {len(self.rows)} groups together",
            "p-values are exact, of the number of events, and so are intervals of O:E and in the large; adjusted for "
            "all groups (Bonferroni)",
        ]

    def summary(self, alpha: float = 0.05) -> Page:
        found = {"Verdict": self.verdict(alpha), "Event": self.event or None, "Events": f"{self.events} of {self.n}"}
        what = {
            "Null": "the Poisson-binomial law of the number of events in each group",
            "Assumes": "outcomes independent given the risks and the group, and not used to fit the model (were they?)",
        }
        return self._page("Validation of predicted risks by group", found, what, notes=self.notes)


def _cell(interval: ConfidenceInterval | None) -> str:
    return "" if interval is None else f"{interval.estimate:.3g} ({interval.low:.3g} to {interval.high:.3g})"


@own_errstate
def validate_by_group(
    predictions: ArrayLike,
    targets: ArrayLike,
    groups: ArrayLike,
    *,
    confidence_level: float = 0.95,
    classes: Sequence[Any] | None = None,
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
    of events, whose law is Poisson-binomial if the group is calibrated. Ranges, p-values (twice the smaller tail) and
    intervals are from it, exact for any number of events, without random numbers. Intervals have the a that the same
    test does not reject if true log-odds are a more than those predicted, and the O:E ratios that they give. All are
    adjusted for the number of groups by Bonferroni, so that the interval of O:E excludes 1 where the group is rejected,
    and only there.

    Where log-odds are wrong in another way, the number of events varies more or less than with shifted ones: of 200
    risks Beta(1, 4), 95 % intervals of O:E hold in 95.6 % if they are calibrated, 94.1 % if true log-odds have the
    slope 0.5, 93.3 % if all risks are equal; of risks Beta(0.3, 0.7), of which most are near 0 or 1, in 96.4, 92.0 and
    86.8 %. Risks of 0 and 1 stay; where they leave no room for what happened the p-value is 0, and the interval of O:E
    is that of Clopper and Pearson. Slopes have normal limits; they do not exist where risks are equal, or separate
    events from others. What else may be wrong in a group is what ``calibration_by_group`` tests. Time O(n log(n)**2)
    for n cases in a group.

    Sources: Van Calster et al. 2019; Clopper and Pearson 1934 for intervals by tails of counts.

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
    found, without, number = [], [], len(members)
    impossible: list[str] = []
    for name, cases in zip(members.names, members.rows, strict=True):
        count = EventCount.of(p[cases], y[cases], level, number)
        slope, reason = _slope(p[cases], y[cases], 1.0 - (1.0 - level) / number, level)
        found.append(
            GroupValidation(
                name=name,
                n=cases.size,
                events=int(y[cases].sum()),
                expected=float(p[cases].sum()),
                ratio=count.ratio,
                usual=count.usual,
                in_the_large=count.in_the_large,
                slope=slope,
                pvalue=count.pvalue,
                adjusted=min(1.0, number * count.pvalue),
            )
        )
        without += [f"{name}: {reason}"] if reason else []
        impossible += [f"{name}: {count.note}"] if count.note else []
    notes = (f"no slope in {len(without)} of {len(members)} groups; {without[0]}",) if without else ()
    event = name_of_event(sample.predictions)
    notes = (*sample.notes, *impossible, *notes)
    return ValidationByGroup(tuple(found), y.size, int(y.sum()), level, notes, event)


def _slope(risks: FloatArray, outcomes: Array, each: float, level: float) -> tuple[ConfidenceInterval | None, str]:
    """With its interval at the level of all groups together, or why there is none."""
    if outcomes.min() == outcomes.max():
        return None, "events alone" if outcomes[0] else "no events"
    try:
        found = cox_calibration(risks, outcomes, confidence_level=each)
    except ValueError as reason:
        return None, str(reason)
    return replace(found.slope_interval, confidence_level=level, estimate=found.slope), ""
