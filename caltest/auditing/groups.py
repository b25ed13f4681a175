"""In which groups predictions are wrong, and what is said of any parts of the rows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from caltest._basics.numerics import IntArray
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.group_result import GroupCalibrationTestResult, GroupResult
from caltest._results.measures import matters, numbers_of, shares_of
from caltest._results.report import format_pvalue
from caltest._validation.groups import Groups
from caltest.auditing.section import LEVEL, MOST, Data, Section
from caltest.estimators.combined.findings import told
from caltest.hstatistics.redraws.within_clusters import Clusters
from caltest.predictions import Sample

FEW = 3
"""Names of groups and slices in the reason of a decision."""

FEWEST = 10
"""Rows of the smallest group."""


def of_groups(data: Data, result: CalibrationTestResult) -> Section:
    """Classes, and groups that are given, with p-values adjusted for their number."""
    from caltest.group_test import calibration_by_group

    (sample, clusters, groups), unit = data.of_all, data.counted[1]
    law = sample.predictions.finite
    if isinstance(groups, str):
        raise ValueError(groups)
    # Intervals between quantiles are as probable in all rows.
    if groups is None and law is not None and law.n_classes > 2 and law.probabilities_differ:
        top = law.stored.argmax(axis=1)
        names = tuple(f"predicted: {law.outcome_in_words(c)}" for c in range(law.n_classes))
        groups = Groups.of_masks(names, (top == c for c in range(law.n_classes)), top.size)
    if groups is None:
        raise ValueError("there are no groups; give groups=")
    sizes = [rows.size if clusters is None else clusters.take(rows).n_clusters for rows in groups.rows]
    large = np.array(sizes) >= FEWEST
    if not large.any():
        raise ValueError(f"there is no group of {FEWEST} {unit} or more")
    kept, small = np.flatnonzero(large), [groups.names[g] for g in np.flatnonzero(~large)]
    groups = groups.at(kept)
    found = calibration_by_group(sample.predictions, sample.as_given, groups, clusters=clusters, **data.settings)
    rejected = found.rejected(LEVEL)
    answer = (
        f"Calibration is rejected in {len(rejected) or 'none'} of {len(found.groups)} groups. P-values are adjusted "
        "for their number: the probability that any calibrated group is among the rejected ones is at most 5 %."
    )
    answer += beyond(len(found.groups), "groups")
    answer += f" Groups of fewer than {FEWEST} {unit} are left out: {first_few(small)}." if small else ""
    rows = dict(zip(groups.names, groups.rows, strict=True))
    known = () if data.groups is None else rejected
    grave, unclear = told_of(found, sample, {name: rows[name] for name in known}, clusters)
    # Where the default test rejects too, it is news that some of the groups that were asked about are all right, or
    # that the error is known to matter in some of them only.
    is_news = len(rejected) < len(found.groups) or (bool(grave) and not matters(result.measures))
    told = result.pvalue > LEVEL or (data.groups is not None and is_news)
    where = in_parts(rejected, len(found.groups), "groups") if told else ""
    where += said_to_matter(grave, rejected) if where else ""
    answer += compared(found, "groups", sample)
    grave_rows = {name: rows[name] for name in grave}
    table, sources = rows_of_groups(found, found.groups[:MOST], sample), found.citations
    return Section(
        answer, {}, table, rejected=where, parts=rows, grave=grave_rows, unclear=tuple(unclear), citations=sources
    )


def compared(found: GroupCalibrationTestResult, what: str, sample: Sample) -> str:
    """What is claimed and observed in a table of groups."""
    if not found.compared:
        return ""
    intervals = f"intervals hold for all {what} together"
    if found.are_numbers or _has_one_event(sample):
        counted = found.compared if found.are_numbers else f"events ({found.compared})"
        return (
            f" The ratio is that of observed to expected {counted}; its {intervals}, and p-values are of errors of any "
            "kind."
        )
    return f" Claimed and observed are shares of {found.compared}; {intervals}."


def _has_one_event(sample: Sample) -> bool:
    """Whether predictions are risks of one event, of which the number that is expected is known."""
    law = sample.predictions.finite
    return law is not None and law.n_classes == 2 and law.notion != "top label"


def beyond(number: int, what: str) -> str:
    """How many of them are in no table."""
    return f" The {number - MOST} {what} with the largest p-values are left out of the table." if number > MOST else ""


def rows_of_groups(
    found: GroupCalibrationTestResult, groups: Sequence[GroupResult], sample: Sample
) -> tuple[tuple[str, ...], ...]:
    """A line for each of some groups, below a heading."""
    head: tuple[str, ...] = ("claimed", "observed", "95 % interval") if found.compared else ()
    are_events = bool(found.compared) and not found.are_numbers and _has_one_event(sample)
    if found.are_numbers or are_events:
        head = ("observed", "expected", "ratio (95 %)", *(("risk", "rate") if are_events else ()))
    rows = [("group", "n", *head, "adjusted", "what is wrong")]
    for one in groups:
        why, cells = "" if one.finding is None or one.adjusted > LEVEL else one.finding.words, list[str]()
        if one.claimed is not None and one.observed is not None and one.interval is not None:
            claimed, observed, shares = one.claimed, one.observed, shares_of(one.claimed, one.observed, one.interval)
            if are_events:
                number = replace(one.interval, low=one.n * one.interval.low, high=one.n * one.interval.high)
                cells = [*numbers_of(one.n * claimed, round(one.n * observed), number), *shares[:2]]
            else:
                cells = numbers_of(claimed, observed, one.interval) if found.are_numbers else shares
        rows.append((one.name, str(one.n), *cells, format_pvalue(one.adjusted), why))
    return tuple(rows) if any(row[-1] for row in rows[1:]) else tuple(row[:-1] for row in rows)


def in_parts(rejected: Sequence[str], number: int, what: str) -> str:
    """In how many of the parts calibration is rejected, and in which; empty where there are none."""
    return f"in {len(rejected)} of {number} {what} ({first_few(rejected)})" if rejected else ""


def first_few(names: Sequence[str]) -> str:
    """The first few of some names."""
    return ", ".join(names[:FEW]) + (f" and {len(names) - FEW} more" if len(names) > FEW else "")


def grave_in(sample: Sample, parts: Mapping[str, IntArray], clusters: Clusters | None = None) -> list[str]:
    """Names of the parts of the rows in which the error is known to be large enough to matter."""
    return told_in(sample, parts, clusters)[0]


def told_in(
    sample: Sample, parts: Mapping[str, IntArray], clusters: Clusters | None = None
) -> tuple[list[str], list[str]]:
    """Names of the parts of the rows in which the error is known to matter, and in which that cannot be told."""
    of_parts = {name: (sample.take(rows), clusters and clusters.take(rows)) for name, rows in parts.items()}
    found = {name: matters(told(some, 0.0, clusters=own)["measures"]) for name, (some, own) in of_parts.items()}
    return [name for name, one in found.items() if one], [name for name, one in found.items() if one is None]


def told_of(
    found: GroupCalibrationTestResult, sample: Sample, parts: Mapping[str, IntArray], clusters: Clusters | None = None
) -> tuple[list[str], list[str]]:
    """Names of the parts in which the error is known to matter, and in which it is far off, but by chance perhaps.

    It is known by the intervals of the parts as well, which hold for all of them together.
    """
    known, unclear = told_in(sample, parts, clusters)
    of_names, margin = {one.name: one.apart for one in found.groups}, found.margin
    if margin is None:
        return known, []
    far = {name: apart for name in parts if (apart := of_names[name]) is not None}
    beyond = [name for name, apart in far.items() if max(apart.low, -apart.high) > margin]
    grave = [name for name in parts if name in known or name in beyond]
    open_ones = [name for name in unclear if name in far and name not in grave]
    return grave, [name for name in open_ones if abs(far[name].estimate or 0.0) > margin]


def said_to_matter(grave: Sequence[str], rejected: Sequence[str]) -> str:
    """In which of the rejected parts the error matters, to be added to these."""
    these = "each of them" if list(grave) == list(rejected) and len(grave) > 1 else first_few(grave)
    return f", and the error matters in {these}" if grave else ""
