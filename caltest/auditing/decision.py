"""What an audit decides, why, and what to do next."""

from collections.abc import Mapping, Sequence

import numpy as np

from caltest._basics.numerics import IntArray
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.measures import MISSED, matters
from caltest._results.report import listed, power_phrase
from caltest._validation.groups import Groups
from caltest.auditing.audit_result import REFUSE, REPAIR, UNKNOWN, USE
from caltest.auditing.groups import first_few
from caltest.auditing.section import LEVEL, Data, Section
from caltest.auditing.sections import NEEDED_POWER, more_rows_in_words
from caltest.auditing.times import QUARTERS
from caltest.group_test import calibration_by_group
from caltest.predictions import Sample
from caltest.predictions.faults.values import OF_RECORDS


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


def advised(decision: str, repair: Section, places: Sequence[str], more: str | None, is_misread: bool) -> str:
    """What to do next, and in which parts of the rows: where the error matters, may matter, or is left by one map."""
    again = "then audit the new predictions on other rows"
    if decision == USE:
        return "use the predictions as they are, and audit again when the model or the population changes."
    if is_misread:
        return "look at how the data were read and recorded, and audit again."
    recent = ", recent ones as the error changed with time" if decision == REPAIR and places else ""
    if decision == REPAIR or (decision == REFUSE and repair.n_maps > 1 and "How" in repair.facts):
        return f"recalibrate ({repair.facts['How']}{recent}), {again}."
    if decision == REFUSE and places:
        past = {f"the {name}" for name in QUARTERS}
        others, periods = [one for one in places if one not in past], [one for one in places if one in past]
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


def after_one_map(mapped: Sample, parts: Mapping[str, IntArray], data: Data) -> str:
    """In which of the parts of the rows calibration is rejected after recalibration of all rows, if there are some."""
    if not parts:
        return ""
    groups = Groups(tuple(parts), tuple(np.sort(rows) for rows in parts.values()), len(mapped))
    found = calibration_by_group(mapped.predictions, mapped.as_given, groups, clusters=data.of_all[1], **data.settings)
    left = found.rejected(LEVEL)
    if left:
        return f"; one recalibration of all rows leaves errors in {in_need(left)}"
    return "; after one recalibration of all rows calibration is rejected in none of these parts"


def in_need(left: Sequence[str]) -> str:
    """Parts in which one map leaves errors, which need maps of their own if new rows can be in them."""
    past = {f"the {name}" for name in QUARTERS}
    others, quarters = [one for one in left if one not in past], [one for one in left if one in past]
    own = "which needs one of its own" if len(others) == 1 else "which need some of their own"
    return ", and in ".join(
        [*([f"{first_few(others)}, {own}"] if others else []), *([listed(quarters)] if quarters else [])]
    )
