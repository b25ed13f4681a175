"""What an audit decides, why, and what to do next."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from caltest._basics.numerics import IntArray
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.measures import MISSED, matters
from caltest._results.report import listed, power_phrase
from caltest._validation.groups import Groups
from caltest.auditing.audit_result import REFUSE, REPAIR, UNKNOWN, USE, end_of
from caltest.auditing.groups import first_few, grave_in
from caltest.auditing.section import LEVEL, Data, Section
from caltest.auditing.sections import NEEDED_POWER, more_rows_in_words
from caltest.auditing.times import QUARTERS
from caltest.group_test import calibration_by_group
from caltest.predictions import Sample
from caltest.predictions.faults.values import OF_RECORDS


class Decision(NamedTuple):
    """What to do, why, what to do next, and where calibration is rejected, in words."""

    decision: str
    reason: str
    advice: str
    places: Sequence[str]


def decide(
    data: Data,
    result: CalibrationTestResult,
    judged: CalibrationTestResult,
    sections: Mapping[str, Section],
    questions: Sequence[str],
    asked: str | None,
) -> Decision:
    """The decision: that of all rows, made more careful by parts of them and by what a map leaves there.

    1. All rows together: ``decision_of``.
    2. Parts, which are groups, slices and quarters: where the error matters in one, only a map can be advised; where it
       may matter, the predictions are not known to be right.
    3. A map that is advised has to mend these parts, too.

    The reason goes the same way, and ends with what has to be known before it is believed.
    """
    decision, reason = decision_of(judged, sections["recalibration"], questions, data.counted)
    parts = {name: rows for one in sections.values() for name, rows in one.grave.items()}
    unclear = [name for one in sections.values() for name in one.unclear]
    rejects = result.pvalue <= LEVEL
    if decision != REPAIR and parts:
        decision = REFUSE
    elif decision in (USE, UNKNOWN) and unclear:
        together = "for all rows together " * (rejects and decision == USE)
        decision, reason = UNKNOWN, f"{together}{reason}; whether it matters in {first_few(unclear)} cannot be told"
    where = _rejected_in(sections, rejects, decision)
    places, left, uneven = list(where.values()), list[str](), list[str]()
    if where and not rejects:
        reason = _of_parts_alone(reason, places, sections["recalibration"].n_maps if parts else 1)
    elif where:
        reason += f"{end_of(reason)} Calibration is rejected {', and '.join(places)}"
    if decision == REPAIR:
        left, more, uneven = _after_maps(data, sections, parts, where)
        decision, reason = REFUSE if left else REPAIR, reason + more
    is_misread = bool(questions) or (result.finding is not None and result.finding.kind in OF_RECORDS)
    more_rows = None if rejects else more_rows_in_words(judged, *data.counted)
    looked_at = {REFUSE: _special(sections, judged), REPAIR: uneven}.get(decision, unclear)
    advice = _advised(decision, sections["recalibration"], looked_at, more_rows, is_misread)
    if asked is not None:
        advice = (
            f"Find out whether rows depend on each other: if so, audit again with clusters= or lag=. If not: {advice}"
        )
    return Decision(decision, _on_condition(reason, data, asked), f"{advice[0].upper()}{advice[1:]}", places)


def _on_condition(reason: str, data: Data, asked: str | None) -> str:
    """The reason, with which rows it is of, and what has to be known of them before it is believed."""
    if isinstance(data.groups, str):
        reason += f"; the groups that are given were not looked at: {data.groups}"
    if data.clusters is not None:
        reason += f"; {data.clusters}"
    return reason if asked is None else f"{reason}{end_of(reason)} First check whether rows are independent: {asked}"


def _special(sections: Mapping[str, Section], judged: CalibrationTestResult) -> list[str]:
    """Parts in which the error matters, but for all groups, or quarters, if it matters in all rows together, too."""
    is_common = matters(judged.measures) is True
    some = (one.grave for one in sections.values() if not (is_common and one.grave.keys() == one.parts.keys()))
    return [name for grave in some for name in grave]


def _rejected_in(sections: Mapping[str, Section], rejects: bool, decision: str) -> dict[str, str]:
    """Where sections reject calibration, in words; what maps leave only where they are advised."""
    found = {key: one.rejected for key, one in sections.items() if one.rejected}
    if rejects:
        keys = "groups", "slices", "time", *(("recalibration",) if decision == REPAIR else ())
        found = {key: found[key] for key in keys if key in found}
    return found


def _of_parts_alone(reason: str, places: Sequence[str], n_maps: int) -> str:
    """The reason where calibration is rejected in parts of the rows, but not in all of them together."""
    reason = (
        f"calibration is rejected {', and '.join(places)}; each section alone is tested at the 5 % level. "
        f"For all rows together {reason}"
    )
    return reason + (f". Recalibrating each of the {n_maps} groups by itself helps" if n_maps > 1 else "")


def _after_maps(
    data: Data, sections: Mapping[str, Section], parts: Mapping[str, IntArray], where: Mapping[str, str]
) -> tuple[list[str], str, list[str]]:
    """In which of some parts the error still matters after the maps that are advised, and what to add to the reason.

    Also in which of them calibration is rejected after one map for all rows.
    """
    repair = sections["recalibration"]
    mapped, n_maps = repair.mapped, repair.n_maps
    after = "helps, but after it the error still matters in"
    left = [] if mapped is None else grave_in(mapped, parts, data.of_all[1])
    if left:
        maps = "one recalibration of all rows" if n_maps == 1 else "recalibrating each group by itself"
        return left, f"; {maps} {after} {in_need(left) if n_maps == 1 else first_few(left)}", []
    if n_maps > 1:
        why = f"one recalibration of all rows {after} {first_few(repair.left)}"
        why = why if repair.left else "one recalibration of all rows is not enough"
        return [], f"; {why}: recalibrate each of the {n_maps} groups by itself", []
    if mapped is None:
        return [], "", []
    tested = {name: rows for key in ("groups", "time") if key in where for name, rows in sections[key].parts.items()}
    return [], *_after_one_map(mapped, tested, data)


def decision_of(
    result: CalibrationTestResult,
    repair: Section,
    questions: Sequence[str] = (),
    counted: tuple[str, str] = ("about", "rows"),
) -> tuple[str, str]:
    """What to do, and why, from the test, the size of the error and what recalibration gains on held-out data.

    Data that look as if they had been read wrongly are to be looked at first, which recalibration would hide.
    """
    answer, level = matters(result.measures), f"at the {100 * LEVEL:g} % level"
    power = None if result.detectable is None else result.detectable.power(LEVEL)
    if result.pvalue > LEVEL:
        kept = f"calibration is not rejected {level}"
        if questions:
            return UNKNOWN, f"{kept}, but look at the data first: {questions[0]}"
        if answer is False:
            return USE, f"{kept}, and errors that matter are ruled out"
        if power is not None and power >= NEEDED_POWER:
            return USE, f"{kept}, and {power_phrase(result.detectable, LEVEL)}"
        more = more_rows_in_words(result, *counted)
        enough = "" if more is None else f"; {more} would find them in 80 % of such data sets"
        return UNKNOWN, f"{kept}, but {MISSED}{enough}"
    why = result.why(LEVEL)
    said = f"calibration is rejected {level}" + ("" if why is None else f": {why.replace('perhaps: ', 'perhaps ', 1)}")
    if answer is False and result.pvalue_otherwise is None:
        return USE, f"the error is too small to matter, although {said}"
    if questions:
        return REFUSE, f"{said}. First look at how the data were read: {' '.join(questions)}"
    if result.finding is not None and result.finding.kind in OF_RECORDS:
        return REFUSE, f"{said}. First look at how these outcomes were recorded, which no recalibration mends"
    if repair.helps and not repair.rejected:
        return REPAIR, said
    if repair.helps:
        return REFUSE, f"{said}. Recalibration helps, but is not enough: calibration is rejected {repair.rejected}"
    tried = f"by {repair.facts['Tried']} " if "Tried" in repair.facts else ""
    tried += "could not be tried" if repair.gain is None else "did not make held-out rows clearly better"
    if not any(one.gap is not None for one in result.measures):
        judged = "For predictions of this kind there is no margin: judge by its size whether the fault matters"
        return REFUSE, f"{said}. {judged}; recalibration {tried}"
    if result.pvalue_otherwise is not None:
        return REFUSE, f"{said}. That matters however small the error is on average, and recalibration {tried}"
    if answer:
        return REFUSE, f"{said}. The error matters, and recalibration {tried}"
    whole = f"these {'clusters' if counted[1] == 'clusters' else 'rows'} as a whole"
    return UNKNOWN, f"{said}. Whether that matters for {whole} cannot be told, and recalibration {tried}"


def _advised(decision: str, repair: Section, places: Sequence[str], more: str | None, is_misread: bool) -> str:
    """What to do next, and in which parts of the rows: where the error matters, may matter, or is left by one map."""
    again = "then audit the new predictions on other rows"
    if decision == USE:
        return "use the predictions as they are, and audit again when the model or the population changes."
    if is_misread:
        return "look at how the data were read and recorded, and audit again."
    past = {f"the {name}" for name in QUARTERS}
    others, periods = [one for one in places if one not in past], [one for one in places if one in past]
    if decision == REPAIR or (decision == REFUSE and repair.n_maps > 1 and "How" in repair.facts):
        recent = ", recent ones as the error changed with time" if decision == REPAIR and periods else ""
        own = f", and the rows of {first_few(others)} by themselves" if decision == REPAIR and others else ""
        return f"recalibrate ({repair.facts['How']}{recent}){own}, {again}."
    # Most of the time is no time of its own.
    periods = periods if len(periods) <= len(past) / 2 else []
    if decision == REFUSE and (others or periods):
        steps = [f"find out what is different in {first_few([*others, *periods])}"]
        if others:
            steps.append("tell the model of it, or recalibrate these rows by themselves")
        if periods:
            steps.append("recalibrate with recent rows, or refit the model to them")
        return f"{'; '.join(steps)}; {again}."
    if decision == REFUSE:
        another = "" if repair.failed else "try another recalibration, as caltest.recalibration.fit_best does, or "
        return f"{another}refit the model; {again}."
    where = f", above all in {first_few(places)}" if places else ""
    return (
        f"audit again with more rows{where}{'' if more is None else f' ({more})'}; until then rely on them with care."
    )


def _after_one_map(mapped: Sample, parts: Mapping[str, IntArray], data: Data) -> tuple[str, list[str]]:
    """In which of the parts of the rows calibration is rejected after recalibration of all rows, in words too."""
    if not parts:
        return "", []
    groups = Groups(tuple(parts), tuple(np.sort(rows) for rows in parts.values()), len(mapped))
    found = calibration_by_group(mapped.predictions, mapped.as_given, groups, clusters=data.of_all[1], **data.settings)
    left = found.rejected(LEVEL)
    if left:
        return f"; one recalibration of all rows leaves errors in {in_need(left)}", list(left)
    return "; after one recalibration of all rows calibration is rejected in none of these parts", []


def in_need(left: Sequence[str]) -> str:
    """Parts in which one map leaves errors, which need maps of their own if new rows can be in them."""
    past = {f"the {name}" for name in QUARTERS}
    others, quarters = [one for one in left if one not in past], [one for one in left if one in past]
    own = "which needs one of its own" if len(others) == 1 else "which need some of their own"
    return ", and in ".join(
        [*([f"{first_few(others)}, {own}"] if others else []), *([listed(quarters)] if quarters else [])]
    )
