"""The sections of an audit, and the question that each of them answers."""

import hashlib
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np
import scipy

from caltest._basics.numerics import IntArray
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.measures import ends_of, judged, matters, percent, points, shares_of
from caltest._results.report import counted, format_pvalue, listed, power_phrase, pvalue_phrase
from caltest._results.tables import sharper
from caltest._validation.groups import Groups
from caltest.auditing.pictures import compared_classes, drawn, pictures_of
from caltest.auditing.repair import of_recalibration
from caltest.auditing.section import LEVEL, MOST, Data, Section
from caltest.estimators.combined.told import told
from caltest.estimators.dependence import TOO_SMALL
from caltest.hstatistics.redraws.within_clusters import Clusters
from caltest.predictions import Sample

SLICES = 12
"""Slices that are shown."""

FEW = 3
"""Names of groups and slices in the reason of a decision."""

NEEDED_POWER = 0.8
"""Probability with which a deviation that matters should be found."""
LEAST_POWER = 0.15
"""Simulated power from which on rows are counted: what a smaller one is above the level is mostly chance."""

DISTINCT = 100
"""Fewer different probabilities than this, among many, look rounded."""


def of_data(data: Data, result: CalibrationTestResult) -> Section:
    """What was checked in the data, and what cannot be checked."""
    sample = data.tested
    facts = {"Predictions": sample.predictions.describe(), "Outcomes": _outcomes(sample)}
    if data.survival is not None:
        laws, times = data.survival
        seen = f"{len(times)} times, of which {times.n_censored} are censored; F(time) is tested"
        facts = {"Predictions": laws.describe(), "Outcomes": seen}
    if data.clusters is not None:
        facts["Clusters"] = data.clusters
    law = sample.predictions.finite
    if law is not None and law.probabilities_differ:
        rows = np.asarray(law.to_array())
        distinct = np.unique(rows.round(12), axis=0).shape[0]
        facts["Different predictions"] = f"{distinct} of {len(sample)}"
        values = np.unique(rows[: 10 * DISTINCT].round(12)).size
        if len(sample) > DISTINCT and values < DISTINCT:
            facts["Rounded"] = f"perhaps: there are only {values} different probabilities"
    facts["Impossible outcomes"] = f"{sample.impossible.size}"
    facts["Order in time"] = "known" if data.order is not None else "not given"
    facts["Not checkable"] = result.assumes
    if notes := dict.fromkeys((*sample.remarks, *result.notes)):
        facts["Notes"] = "; ".join(notes)
    all_rows = f"{len(sample)} of {data.n}" if len(sample) < data.n else f"All {data.n}"
    answer = f"{all_rows} rows with outcomes are used."
    if data.dependent is not None:
        answer = f"{answer[:-1]} by the default test, {len(data.sample)} where rows have to be independent."
    return Section(answer, facts)


def _outcomes(sample: Sample) -> str:
    law, y = sample.predictions.finite, np.asarray(sample.targets)
    if law is None or y.ndim != 1:
        if y.ndim != 1 or not np.issubdtype(y.dtype, np.number):
            return f"{len(sample)}"
        return f"from {y.min():.4g} to {y.max():.4g}, mean {y.mean():.4g}"
    counts = np.bincount(y, minlength=law.n_classes)
    if law.n_classes == 2:
        return f"{law.outcome_in_words(1)} occurs in {counts[1]} of {y.size} rows"
    least, most = int(counts.argmin()), int(counts.argmax())
    if not law.probabilities_differ:
        return f"in {law.n_classes} intervals between quantiles, from {counts[least]} to {counts[most]} rows in each"
    return (
        f"{law.n_classes} classes, from {counts[least]} ({law.outcome_in_words(least)}) to {counts[most]} rows "
        f"({law.outcome_in_words(most)})"
    )


def of_test(data: Data, result: CalibrationTestResult) -> Section:
    """The exact test, which alone decides."""
    p = pvalue_phrase(result.pvalue, otherwise=result.pvalue_otherwise)
    facts = {"Test": f"{result.test}: {result.estimator}", "Null hypothesis": result.hypothesis, "By": result.null}
    rows = [("component", "statistic", "p-value")]
    rows += [(one.name, f"{one.statistic:.3g}", format_pvalue(one.pvalue)) for one in result.components]
    said = "rejected" if result.pvalue <= LEVEL else "not rejected"
    how = "exact for every n" if result.pvalue_kind == "exact" else "approximate"
    how = how if data.dependent is None else "that of random signs of clusters, for many of them"
    if any(TOO_SMALL in note for note in result.notes):
        how += " if rows are independent, which the first check asks"
    answer = (
        f"Calibration is {said} at the 5 % level ({p}). For all rows together this test alone decides; its "
        f"p-value is {how}."
    )
    return Section(answer, facts, tuple(rows))


def of_size(data: Data, result: CalibrationTestResult) -> Section:
    """What the predictions claim beside what happened, and how far apart that is."""
    rows: list[tuple[str, ...]] = [("", "claimed", "observed", "95 % interval", "points apart", "margin")]
    lines = result.table()[1:] if result.measures else []
    for one, (name, *cells) in zip(result.measures, lines, strict=True):
        unit = " %" if one.is_number else ""
        gap = "" if one.gap is None else ends_of(one.gap) + unit
        rows.append((name, *cells, gap, "" if one.margin is None else points(one.margin) + unit))
    answers = {
        True: "The error is large enough to matter.",
        False: "The error is too small to matter.",
        None: "These observations do not tell whether the error is large enough to matter.",
    }
    known = any(one.gap is not None for one in result.measures)
    answer = answers[matters(result.measures)] if known else "There is no margin for predictions of this kind."
    if result.pvalue_otherwise is not None:
        answer += " But outcomes that were said to be impossible matter, however small the error is on average."
    facts = {
        "Claimed": "the mean for outcomes drawn from the predictions: what a calibrated model of this size would show",
        "Points apart": "interval for the mean absolute difference of claimed and true probabilities over tenths of "
        "similar predictions (fiftieths where errors clearly differ within tenths), in percentage points; those of all "
        "claims hold together with 95 %, and so do those of all classes",
    }
    if result.effect_size is not None:
        facts["Effect size"] = str(result.effect_size)
    if not known:
        facts = {}
    elif data.survival is not None:
        facts["Claimed"] = "predicted cumulative hazards: the number of events that calibrated models have on average"
        facts["Points apart"] = (
            "the same for differences of claimed and true numbers of events, as a share of all that are claimed, over "
            "tenths of similar predictions; those of all claims hold together with 95 %"
        )
    if result.finding is not None and (not known or data.survival is not None):
        facts["Fault"] = f"{result.finding}{'' if result.pvalue <= LEVEL else ', if there is one'}"
    return Section(answer, facts, tuple(rows) if result.measures else ())


def of_pictures(data: Data, result: CalibrationTestResult) -> Section:
    """Pictures of the data."""
    law, rows = data.sample.predictions.finite, list[tuple[str, ...]]()
    worst: Sequence[int] = ()
    where, answer = "", "Bars and bands of the pictures are exact ranges for calibrated predictions."
    if law is not None and law.n_classes > 2 and law.probabilities_differ:
        y = np.asarray(data.sample.targets)
        worst, alone, adjusted, wrong = compared_classes(law, y, data.n_resamples, data.seed)
        rows = [("class", "claimed", "observed", "p-value", "adjusted", "probabilities are")]
        for c in worst[:MOST]:
            means = percent(float(law.probabilities[:, c].mean())), percent(float(np.mean(y == c)))
            p = format_pvalue(float(alone[c])), format_pvalue(float(adjusted[c]))
            rows.append((law.outcome_in_words(c), *means, *p, wrong[c] if adjusted[c] <= LEVEL else ""))
        rejected = [law.outcome_in_words(c) for c in worst if adjusted[c] <= LEVEL]
        where = _in_parts(rejected, len(worst), "classes") if result.pvalue > LEVEL else ""
        answer += (
            f" Calibration is rejected in {len(rejected) or 'none'} of {len(worst)} classes, by "
            "how often they occur and how that rises with what is claimed; p-values are adjusted for all of them."
        )
        answer += _beyond(len(worst), "classes")
    pictures = pictures_of(data.sample, data.seed, worst)
    if not pictures and not rows:
        missing = find_spec("matplotlib") is None
        raise ValueError("matplotlib is missing (caltest[plots])" if missing else "predictions of this kind have none")
    sources = ("dawid1984",) if law is None else ("broecker2007", "westfall1993") if rows else ("broecker2007",)
    return Section(answer, {}, tuple(rows), rejected=where, pictures=pictures, citations=sources)


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
        f"Calibration is rejected in {len(rejected) or 'none'} of {len(found.groups)} groups; p-values are adjusted "
        "for all of them, so that any calibrated group is rejected with a probability of at most 5 %."
    )
    answer += _beyond(len(found.groups), "groups")
    answer += f" Groups of fewer than {FEWEST} {unit} are left out: {first_few(small)}." if small else ""
    rows = dict(zip(groups.names, groups.rows, strict=True))
    known = () if data.groups is None else rejected
    grave, unclear = _told_in(sample, {name: rows[name] for name in known}, clusters)
    # Where the default test rejects too, it is news that some of the groups that were asked about are all right, or
    # that the error is known to matter in some of them only.
    is_news = len(rejected) < len(found.groups) or (bool(grave) and not matters(result.measures))
    told = result.pvalue > LEVEL or (data.groups is not None and is_news)
    where = _in_parts(rejected, len(found.groups), "groups") if told else ""
    where += _said_to_matter(grave, rejected) if where else ""
    answer += _compared(found, "groups")
    grave_rows = {name: rows[name] for name in grave}
    table, sources = _rows_of(found.groups[:MOST]), found.citations
    unclear = [one.name for one in found.groups if one.name in unclear and _is_far(one, found.margin)]
    return Section(
        answer, {}, table, rejected=where, parts=rows, grave=grave_rows, unclear=tuple(unclear), citations=sources
    )


def _compared(found: Any, what: str) -> str:
    """What the shares in a table of groups are of."""
    said = f" Claimed and observed are shares of {found.compared}; intervals hold for all {what} together."
    return said if found.compared else ""


def _beyond(number: int, what: str) -> str:
    """How many of them are in no table."""
    return f" The {number - MOST} {what} with the largest p-values are left out of the table." if number > MOST else ""


def _rows_of(groups: Sequence[Any]) -> tuple[tuple[str, ...], ...]:
    """A line for each group, below a heading."""
    compared = ("claimed", "observed", "95 % interval") if groups[0].interval is not None else ()
    rows = [("group", "n", *compared, "p-value", "adjusted", "what is wrong")]
    for one in groups:
        why = "" if one.finding is None or one.adjusted > LEVEL else one.finding.words
        shares = shares_of(one.claimed, one.observed, one.interval) if compared else ()
        rows.append((one.name, str(one.n), *shares, format_pvalue(one.pvalue), format_pvalue(one.adjusted), why))
    return tuple(rows)


def _in_parts(rejected: Sequence[str], number: int, what: str) -> str:
    """In how many of the parts calibration is rejected, and in which; empty where there are none."""
    return f"in {len(rejected)} of {number} {what} ({first_few(rejected)})" if rejected else ""


def first_few(names: Sequence[str]) -> str:
    """The first few of some names."""
    return ", ".join(names[:FEW]) + (", ..." if len(names) > FEW else "")


def grave_in(sample: Sample, parts: Mapping[str, IntArray], clusters: Clusters | None = None) -> list[str]:
    """Names of the parts of the rows in which the error is known to be large enough to matter."""
    return _told_in(sample, parts, clusters)[0]


def _told_in(
    sample: Sample, parts: Mapping[str, IntArray], clusters: Clusters | None = None
) -> tuple[list[str], list[str]]:
    """Names of the parts of the rows in which the error is known to matter, and in which that cannot be told."""
    of_parts = {name: (sample.take(rows), clusters and clusters.take(rows)) for name, rows in parts.items()}
    found = {name: matters(told(some, 0.0, clusters=own)["measures"]) for name, (some, own) in of_parts.items()}
    return [name for name, one in found.items() if one], [name for name, one in found.items() if one is None]


def _is_far(part: Any, margin: float | None) -> bool:
    """Whether the observed share of a part differs from the claimed one by more than the margin, as it was seen."""
    return margin is not None and part.observed is not None and abs(part.observed - part.claimed) > margin


def _said_to_matter(grave: Sequence[str], rejected: Sequence[str]) -> str:
    """In which of the rejected parts the error matters, to be added to these."""
    these = "each of them" if list(grave) == list(rejected) and len(grave) > 1 else first_few(grave)
    return f", and the error matters in {these}" if grave else ""


def of_slices(data: Data, result: CalibrationTestResult) -> Section:
    """Parts of the features, and of pairs of them, in which predictions are wrong."""
    from caltest.slices.search import find_slices

    if data.features is None:
        raise ValueError("there are no features; give features=a table")
    found = find_slices(*data.pair, data.features, alpha=LEVEL, **data.settings)
    said = found.verdict()
    number = counted(found.n_slices, "slice") + (" was" if found.n_slices == 1 else " were")
    answer = f"{said[0].upper()}{said[1:]}; {number} searched; the level holds for all together."
    facts = {"Difference": "observed less claimed, in percentage points; all intervals hold together with 95 %"}
    if found.power:
        facts["Power"] = f"errors of {found.power}, the median size, are found in 80 % of data sets"
    apart = sharper(found.bars())
    if apart:
        facts["P-values"] = apart[0]
    if more := [one for one in found.remarks()[1:] if one not in apart]:
        facts["Columns"] = "; ".join(more)
    some = {one: np.flatnonzero(found.mask(i)) for i, one in enumerate(found.rejected(LEVEL)) if one.n < found.n}
    names, margin = [one.name for one in some], max((one.margin for one in judged(result.measures)), default=0.0)
    # Of many slices the worst look worse than they are, but for intervals that hold together.
    far = {one.name: rows for one, rows in some.items() if max(one.interval.low, -one.interval.high) > margin}
    grave = grave_in(data.sample, far)
    where = _in_parts(names, found.n_slices, "slices")
    where += _said_to_matter(grave, names)
    table = tuple(map(tuple, found.table()[: 1 + SLICES]))
    of_all = {name: data.in_all(far[name]) for name in grave}
    unclear = tuple(one.name for one in some if _is_far(one, margin) and one.name not in grave)
    return Section(answer, facts, table, rejected=where, grave=of_all, unclear=unclear, citations=found.citations)


QUARTERS = "first quarter", "second quarter", "third quarter", "last quarter"
"""Parts of the rows in the order of time."""


def of_time(data: Data, result: CalibrationTestResult) -> Section:
    """Evidence as it grows with time, with a valid alarm at any time, and when an error is there that is found."""
    from caltest.group_test import calibration_by_group
    from caltest.sequential.independence import serial_correlation
    from caltest.sequential.sequential_test import SequentialCalibrationTest

    if data.order is None:
        raise ValueError("the order in time is not known; give time=")
    ordered = data.sample.take(data.order)
    found = SequentialCalibrationTest().update(ordered.predictions, ordered.as_given).result()
    first = found.first_rejection(LEVEL)
    answer = (
        "Evidence against calibration never reached the threshold of 20, which calibrated predictions reach at some "
        "time with a probability of at most 5 %."
        if first is None
        else f"The alarm at the 5 % level was after {first} of {counted(found.n, 'observation')} in the order of time "
        f"({data.time_at(first - 1)})."
    )
    facts: dict[str, str] = {}
    serial = serial_correlation(ordered, 1)
    if serial is not None:
        answer += f" Apart from that, {serial.words}."
    rows: tuple[tuple[str, ...], ...] = ()
    quarters: dict[str, IntArray] = {}
    grave: dict[str, IntArray] = {}
    unclear = list[str]()
    alarm = f"in the order of time, after {first} of {counted(found.n, 'observation')}"
    alarm += "" if first is None else f" ({data.time_at(first - 1)})"
    is_new = result.pvalue > LEVEL
    where = "" if first is None or not is_new else alarm
    if (where or not is_new) and len(ordered) >= len(QUARTERS) * FEWEST:
        parts = tuple(np.sort(part) for part in np.array_split(data.order, len(QUARTERS)))
        by_time = calibration_by_group(*data.pair, Groups(QUARTERS, parts, len(ordered)), **data.settings)
        rows = _rows_of(sorted(by_time.groups, key=lambda one: QUARTERS.index(one.name)))
        ends = np.cumsum([0, *(part.size for part in parts)])
        spans = (f"{data.time_at(i)} to {data.time_at(j - 1)}" for i, j in pairwise(ends))
        facts["Quarters"] = "of the rows; " + "; ".join(
            f"{one} {span}" for one, span in zip(QUARTERS, spans, strict=True)
        )
        some = [name for name in QUARTERS if name in by_time.rejected(LEVEL)]
        these = "none" if not some else "all" if len(some) == len(QUARTERS) else f"the {listed(some)}"
        answer += f" Of the quarters in that order calibration is rejected in {these}.{_compared(by_time, 'quarters')}"
        of_names = {name: part for name, part in zip(QUARTERS, parts, strict=True) if name in some}
        known, unclear = _told_in(data.sample, of_names)
        unclear = [f"the {one.name}" for one in by_time.groups if one.name in unclear and _is_far(one, by_time.margin)]
        grave = {f"the {name}": data.in_all(of_names[name]) for name in known}
        quarters = {f"the {name}": data.in_all(part) for name, part in zip(QUARTERS, parts, strict=True)}
        # Quarters are small: that several are rejected and others are not is often chance.
        if not is_new and (len(some) == 1 or (grave and not matters(result.measures))):
            where = f"in {these} {'quarters ' * (these == 'all')}of the rows in the order of time"
        if where and (is_new or len(some) > 1):
            where += _said_to_matter(list(grave), [f"the {name}" for name in some if not is_new])
    pictures, sources = (
        drawn(found.plot, "evidence against calibration after each observation", (6.5, 3.2)),
        found.citations,
    )
    return Section(
        answer,
        facts,
        rows,
        rejected=where,
        parts=quarters,
        grave=grave,
        unclear=tuple(unclear),
        pictures=pictures,
        citations=sources,
    )


def of_power(data: Data, result: CalibrationTestResult) -> Section:
    """What the test would have found, and how many rows it takes."""
    known = result.detectable
    if known is None and result.pvalue > LEVEL and matters(result.measures) is None:
        size = "; the intervals in the answer on the size of the error say how large it can be"
        raise ValueError(f"there is no simulation for these predictions{size if result.measures else ''}")
    if known is None:
        why = "calibration is rejected" if result.pvalue <= LEVEL else "the intervals answer the question without it"
        return Section(f"Nothing was simulated, because {why}.")
    answer = str(power_phrase(known, LEVEL))
    answer = answer[0].upper() + answer[1:]
    more = more_rows_in_words(result, *data.counted)
    return Section(answer + ("." if more is None else f"; finding them in 80 % takes {more}."))


def more_rows_in_words(result: CalibrationTestResult, about: str, unit: str) -> str | None:
    """How many rows, of two digits, find a deviation that matters; None if these are enough or that is not known."""
    if result.detectable is None:
        return None
    power = result.detectable.power(LEVEL)
    if 0.0 < power < LEAST_POWER:
        return f"many times as many {unit}" if about == "about" else None
    n = rows_needed(result.n, power, LEVEL, NEEDED_POWER)
    if n is None or n <= result.n:
        return None
    step: int = 10 ** max(0, len(str(n)) - 2)
    return f"{about} {-(-n // step) * step} {unit}"


def of_methods(data: Data, result: CalibrationTestResult) -> Section:
    """How it was done, for a paper, and how to do it again."""
    from caltest import __version__

    versions = f"caltest {__version__}, numpy {np.__version__}, scipy {scipy.__version__}"
    versions += f", Python {sys.version_info.major}.{sys.version_info.minor}"
    extra = "".join(f", {one}" for one in data.names)
    facts = {
        "Versions": versions,
        "Digest of the data": digest(data),
        "Reproduce": f"caltest.audit(predictions, targets{extra}, n_resamples={data.n_resamples}, rng={data.seed})",
    }
    return Section(result.sentence(), facts)


def digest(data: Data) -> str:
    """SHA-256 of the rows that are looked at as they are stored, and of what is known of them, the first 16 digits."""
    state = hashlib.sha256()
    arrays: list[tuple[str, Any]] = [("", data.tested.targets)]
    arrays += [("", one) for one in data.tested.predictions._parameters if isinstance(one, np.ndarray)]
    arrays += [] if data.dependent is None else [("clusters", data.dependent[1].partitions[0].codes)]
    if isinstance(data.groups, Groups):
        arrays += zip(data.groups.names, data.groups.rows, strict=True)
    arrays += [(str(name), column) for name, column in (data.features or {}).items()]
    arrays += [] if data.order is None else [("time", data.order)]
    for name, values in arrays:
        array = np.asarray(values)
        array = array.astype(str) if array.dtype == object else array
        state.update((name + str((array.dtype.str, array.shape))).encode())
        state.update(np.ascontiguousarray(array).tobytes())
    return state.hexdigest()[:16]


FEWEST = 10
"""Rows of the smallest group."""

Make = Callable[[Data, CalibrationTestResult], Section]

SECTIONS: dict[str, tuple[str, Make]] = {
    "data": ("What are the data?", of_data),
    "test": ("Is there evidence against calibration?", of_test),
    "size": ("How large is the error?", of_size),
    "pictures": ("What does it look like?", of_pictures),
    "groups": ("Who is affected?", of_groups),
    "slices": ("Where is it wrong?", of_slices),
    "time": ("Did it change with time?", of_time),
    "recalibration": ("What would recalibration give?", of_recalibration),
    "power": ("What could have been missed?", of_power),
    "methods": ("How was it done?", of_methods),
}
"""Names of the sections, their questions, and what answers them, in their order."""


def rows_needed(n: int, power: float, alpha: float, wanted: float) -> int | None:
    """How many rows like n others take to find with a wanted probability what these find with a power.

    From ``power = Phi(d sqrt(n) - z)`` with the normal quantile z of the level; None where a power is 0 or 1.
    """
    from scipy.special import ndtri

    z = float(-ndtri(alpha))
    found = float(ndtri(power)) + z
    if not 0.0 < power < 1.0 or found <= 0.0:
        return None
    return ceil(n * ((float(ndtri(wanted)) + z) / found) ** 2)
