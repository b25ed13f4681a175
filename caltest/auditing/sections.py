"""The sections of an audit, and the question that each of them answers."""

import hashlib
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from math import ceil
from typing import Any

import numpy as np
import scipy

from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.measures import ends_of, matters, percent, points
from caltest._results.report import format_pvalue, power_phrase, pvalue_phrase
from caltest._validation.groups import Groups
from caltest.auditing.groups import beyond, in_parts, of_groups
from caltest.auditing.pictures import compared_classes, pictures_of
from caltest.auditing.repair import of_recalibration
from caltest.auditing.section import LEVEL, MOST, Data, Section, in_a_row
from caltest.auditing.slices import of_slices
from caltest.auditing.times import of_time
from caltest.predictions import Sample

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
        facts["Clusters" if data.lag == 1 else "Lag"] = data.clusters
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
    facts["Assumed"] = result.assumes
    if notes := dict.fromkeys((*sample.remarks, *result.notes)):
        facts["Notes"] = in_a_row(notes)
    all_rows = f"{len(sample)} of {data.n}" if len(sample) < data.n else f"All {data.n}"
    answer = f"{all_rows} rows with outcomes are used."
    if data.are_some:
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
    how = {"exact": "exact for every n", "bound": "an upper bound, valid for every n"}.get(
        result.pvalue_kind, "approximate"
    )
    how = how if data.dependent is None else "that of random signs of clusters, for many of them"
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
        "Claimed": "what calibrated predictions like these would show on average",
        "Points apart": "how far claimed and true probabilities are apart on average, in percentage points, as an "
        "interval: predictions are put into ten bins of similar ones (fifty where errors clearly differ within these) "
        "and the differences of the bins are averaged, without their signs. The intervals of all claims hold together "
        "with 95 %, and so do those of all classes",
        "Margin": "differences up to this are too small to matter",
    }
    if result.effect_size is not None:
        facts["Effect size"] = str(result.effect_size)
    if not known:
        facts = {}
    elif data.survival is not None:
        facts["Claimed"] = "the number of events that calibrated predictions like these would have on average"
        facts["Points apart"] = (
            "how far claimed and true numbers of events are apart in ten bins of similar predictions, without their "
            "signs, in per cent of all that are claimed. The intervals of all claims hold together with 95 %"
        )
    elif any(one.is_number for one in result.measures):
        facts["Points apart"] += ". What has a % sign, the sum of counts, is in per cent of what is expected"
    if any(one.name.startswith("CRPS") for one in result.measures):
        facts["Scores"] = "the CRPS, errors and standard deviations are in the unit of the outcomes"
    if result.finding is not None and (not known or data.survival is not None):
        facts["Fault"] = f"{result.finding}{'' if result.pvalue <= LEVEL else ', if there is one'}"
    return Section(answer, facts, tuple(rows) if result.measures else ())


def of_pictures(data: Data, result: CalibrationTestResult) -> Section:
    """Pictures of the data."""
    law, rows = data.sample.predictions.finite, list[tuple[str, ...]]()
    worst: Sequence[int] = ()
    where, answer = "", "Bars and bands show how far chance alone moves calibrated predictions."
    if law is not None and law.n_classes > 2 and law.probabilities_differ:
        y = np.asarray(data.sample.targets)
        worst, alone, adjusted, wrong = compared_classes(law, y, data.n_resamples, data.seed)
        rows = [("class", "claimed", "observed", "p-value", "adjusted", "probabilities are")]
        for c in worst[:MOST]:
            means = percent(float(law.probabilities[:, c].mean())), percent(float(np.mean(y == c)))
            p = format_pvalue(float(alone[c])), format_pvalue(float(adjusted[c]))
            rows.append((law.outcome_in_words(c), *means, *p, wrong[c] if adjusted[c] <= LEVEL else ""))
        rejected = [law.outcome_in_words(c) for c in worst if adjusted[c] <= LEVEL]
        where = in_parts(rejected, len(worst), "classes") if result.pvalue > LEVEL else ""
        answer += (
            f" Calibration is rejected in {len(rejected) or 'none'} of {len(worst)} classes, by "
            "how often they occur and how that rises with what is claimed; p-values are adjusted for all of them."
        )
        answer += beyond(len(worst), "classes")
    pictures = pictures_of(data.sample, data.seed, worst)
    if not pictures and not rows:
        missing = find_spec("matplotlib") is None
        raise ValueError("matplotlib is missing (caltest[plots])" if missing else "predictions of this kind have none")
    sources = ("dawid1984",) if law is None else ("broecker2007", "westfall1993") if rows else ("broecker2007",)
    return Section(answer, {}, tuple(rows), rejected=where, pictures=pictures, citations=sources)


def of_power(data: Data, result: CalibrationTestResult) -> Section:
    """What the test would have found, and how many rows it takes."""
    known = result.detectable
    if known is None and result.pvalue > LEVEL and matters(result.measures) is None:
        size = "; the intervals in the answer on the size of the error say how large it can be"
        raise ValueError(f"there is no simulation for these predictions{size if result.measures else ''}")
    if known is None:
        if result.pvalue <= LEVEL:
            return Section("Nothing was simulated, because calibration is rejected.")
        if matters(result.measures):
            return Section("Nothing was simulated, because the size of the error is known to matter.")
        return Section("Nothing that matters in all rows together: the intervals of the size of the error rule it out.")
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
    arrays += [] if data.lag == 1 else [("lag", data.lag)]
    for name, values in arrays:
        array = np.asarray(values)
        array = array.astype(str) if array.dtype == object else array
        state.update((name + str((array.dtype.str, array.shape))).encode())
        state.update(np.ascontiguousarray(array).tobytes())
    return state.hexdigest()[:16]


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
