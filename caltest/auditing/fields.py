"""What an audit says beside its sections to readers of one field."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from caltest._basics.numerics import Array, IntArray
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.report import counted, format_pvalue, in_cell
from caltest._validation.groups import Groups
from caltest.auditing.pictures import drawn
from caltest.auditing.section import LEVEL, WHOLE, Data, Section, in_a_row
from caltest.auditing.sections import Make
from caltest.estimators.classical.base import probability_of_event


def of_clinic(data: Data, result: CalibrationTestResult) -> Section:
    """The measures of TRIPOD+AI, O:E ratios of groups that are given, and the decision curve."""
    from caltest.fields import clinical

    def measures() -> Section:
        found = clinical.validate(*data.pair, **data.settings)
        answer = f"{counted(found.events, 'event')} occurred and {found.expected:.4g} were expected"
        ratio = next((one for one in found.rows if one.name == "O:E ratio"), None)
        if ratio is not None and ratio.interval is not None:
            answer += f", O:E {ratio.value:.3g} ({ratio.interval.low:.3g} to {ratio.interval.high:.3g})"
        words = "calibration curve of the predicted risks, with the band of calibrated models"
        return _of_result(found, words, answer=f"{answer}.")

    def curve(pair: tuple[Any, Any]) -> Any:
        risks = np.asarray(probability_of_event(data.sample.predictions, "clinical.decision_curve"))
        # Two digits of each, so that rare risks have thresholds too.
        places = np.unique([float(f"{place:.2g}") for place in np.quantile(risks, [0.5, 0.75, 0.9])])
        places = places[(places > 0.0) & (places < 1.0)]
        if not places.size:
            raise ValueError("there is no threshold to take, as most risks are 0 or 1 when rounded to two digits")
        return clinical.decision_curve(*pair, places, n_resamples=99, rng=data.seed)

    def decisions() -> Section:
        found = curve(data.pair)
        words = "decision curve: net benefit of treating by predicted risk, and what recalibration would add"
        cells = (f"{place}: {model}, treating all {everyone}" for place, model, everyone, *_ in found.table()[1:])
        benefits = {"Net benefit": f"per 1000, treating from a risk of {'; '.join(cells)}"}
        return replace(_of_result(found, words, answer=found.verdict()), facts=benefits | _notes(found), rows=())

    def decisions_among(rows: IntArray) -> Section:
        part = data.sample.part(rows)
        return Section(curve((part.predictions, part.as_given)).verdict())

    by_group = cache(lambda: clinical.validate_by_group(*data.pair, data.groups))

    def groups() -> Section:
        if isinstance(data.groups, str):
            raise ValueError(data.groups)
        found = by_group()
        cells = [f"{one.name} {in_cell(one.ratio)}" for one in found.rows[:WHOLE]] + ["..."] * (len(found.rows) > WHOLE)
        section = _of_result(found, "O:E ratios of groups, with intervals", answer=found.verdict())
        return replace(section, facts={"O:E ratios": "; ".join(cells)} | _notes(found), rows=())

    parts = {"Measures": measures, "Decisions": decisions, "Groups": groups}
    if data.groups is None:
        del parts["Groups"]
    elif isinstance(data.groups, Groups):
        # A model that helps on the whole can cost benefit in one of them.
        members = dict(zip(data.groups.names, data.groups.rows, strict=True))
        with suppress(ValueError, TypeError):  # The part of the groups says why.
            wrong = by_group().rejected(LEVEL)[:WHOLE]
            parts |= {f"Decisions in {name}": partial(decisions_among, members[name]) for name in wrong}
    return _joined(parts)


def of_forecasts(data: Data, result: CalibrationTestResult) -> Section:
    """The rank histogram of an ensemble, in the order of time, and the parts of its CRPS."""
    from caltest.fields import weather
    from caltest.fields.weather.result import units_of

    members = _members(data)
    rows = np.arange(len(data.sample)) if data.order is None else data.order
    pair = members[rows], np.asarray(data.sample.targets)[rows]

    def ranks() -> Section:
        found = weather.rank_histogram(*pair, **data.settings)
        words = "rank histogram of the outcomes, with the band of calibrated ensembles"
        section = _of_result(found, words, "the rank histogram")
        return replace(section, facts={"Estimates": units_of(found.rows), **section.facts})

    def scores() -> Section:
        found = weather.crps_decomposition(*pair, **data.settings)
        numbers = ", ".join(f"{name} {score:.4g}" for name, score in found.rows[0].scores.items())
        answer = f"{numbers}; p {format_pvalue(found.pvalue)}, of more reliability than by chance"
        words = "reliability of the members by the gaps between them, with the band of calibrated ensembles"
        section = _of_result(found, words, answer=answer)
        return replace(section, facts=_notes(found), rows=())

    return _joined({"Rank histogram": ranks, "CRPS": scores})


def of_posteriors(data: Data, result: CalibrationTestResult) -> Section:
    """Ranks of the true parameters among draws from their posteriors."""
    from caltest.fields import bayesian

    # Pools are sorted, so that some of their members are not like all, and say nothing of chains.
    members, truths = _members(data), np.asarray(data.sample.targets)
    order = np.random.default_rng([data.seed, 1]).random(members.shape[:2]).argsort(axis=1)
    draws = np.take_along_axis(members, order.reshape(*order.shape, *[1] * (members.ndim - 2)), axis=1)
    found = bayesian.simulation_based_calibration(draws, truths, thin=1, **data.settings)
    words = "ranks of the true parameters among the draws, with the band of exact posteriors"
    return _of_result(found, words, "the ranks of the parameters")


def of_survival(data: Data, result: CalibrationTestResult) -> Section:
    """Risks at the median time in groups, D- and A-calibration, whose exact p-values are the same."""
    from caltest import fields

    if data.survival is None:
        raise TypeError("targets: got no ct.Censored, wanted ct.Censored(time, event)")
    laws, targets = data.survival
    at = min(float(np.median(np.asarray(targets.time))), laws.longest)
    groups = max(2, min(10, int(np.count_nonzero(targets.event)) // 20))

    def in_groups() -> Section:
        found = fields.one_calibration(laws, targets, at, n_groups=groups, **data.settings)
        section = _of_result(found, "observed and predicted risks in groups", "the risks in groups")
        facts = {"p-value": _pvalues(found), "O:E ratio": in_cell(found.ratio), **section.facts}
        answer = f"At {at:.3g}, the median time: {section.answer[0].lower()}{section.answer[1:]}"
        return replace(section, answer=answer, facts=facts)

    def in_bins(test: Callable[..., Any], looked_at: str = "") -> Section:
        found = test(laws, targets, **data.settings)
        what = "shares of times" if looked_at else "events, of all rows,"
        words = f"{found.method}: {what} in bins of F(time)"
        return _of_result(found, words, looked_at, answer=f"p {_pvalues(found)}")

    return _joined(
        {
            "One-calibration": in_groups,
            "D-calibration": partial(in_bins, fields.d_calibration, "D-calibration"),
            "A-calibration": partial(in_bins, fields.a_calibration),
        }
    )


LAST = "Estimates", "Remarks", "Notes"
"""Facts that are said once for all parts, at the end."""


def _joined(parts: Mapping[str, Callable[[], Section]]) -> Section:
    """The first part that can be computed, with the answers of the others, or why there is none, as facts.

    ``ValueError`` if there is none.
    """
    found: dict[str, Section] = {}
    answers: dict[str, str] = {}
    for name, make in parts.items():
        try:
            found[name] = make()
            answers[name] = found[name].answer
        except (ValueError, TypeError, MemoryError) as error:
            answers[name] = f"not computed: {error}"
    if not found:
        raise ValueError("; ".join(f"{name} {why}" for name, why in answers.items()))
    first = next(iter(found))
    answer = answers.pop(first) if first == next(iter(parts)) else f"{first}: {answers.pop(first)}."
    facts = {name: text for name, text in found[first].facts.items() if name not in LAST} | answers
    for one in found.values():
        facts |= {name: text for name, text in one.facts.items() if name not in LAST}
    for name in LAST:
        told = [part for one in found.values() for part in one.facts.get(name, "").split("; ") if part]
        facts |= {name: "; ".join(dict.fromkeys(told))} if told else {}
    pictures = tuple(picture for one in found.values() for picture in one.pictures)
    sources = tuple(dict.fromkeys(key for one in found.values() for key in one.citations))
    return replace(found[first], answer=answer, facts=facts, pictures=pictures, citations=sources)


def _members(data: Data) -> Array:
    """Without the outcome, which is one of those that pools have."""
    members = getattr(data.sample.predictions.without(data.sample.targets), "members", None)
    if members is None:
        family = data.sample.predictions.family
        raise TypeError(f"predictions: got {family} predictions, wanted an Ensemble of members or draws")
    return np.asarray(members)


def _of_result(found: Any, words: str, looked_at: str = "", answer: str = "") -> Section:
    """The verdict, or another answer, the table, the picture and the sources of a result.

    And what it looked at if that is rejected, unless this is empty.
    """
    pictures = drawn(found.plot, words)
    remarks = {"Remarks": "; ".join(found.remarks())} if found.remarks() else {}
    why = getattr(found, "why", lambda: None)()
    verdict = found.verdict()
    answer = answer or f"{verdict[0].upper()}{verdict[1:]}{'' if why is None else ': ' + why}."
    rejected = f"by {looked_at}" if looked_at and found.pvalue <= LEVEL else ""
    rows = tuple(map(tuple, found.table()))
    return Section(
        answer, remarks | _notes(found), rows, rejected=rejected, pictures=pictures, citations=found.citations
    )


def _notes(found: Any) -> dict[str, str]:
    return {"Notes": in_a_row(found.notes)} if found.notes else {}


def _pvalues(found: Any) -> str:
    return f"{format_pvalue(found.pvalue)} (exact), {format_pvalue(found.approximate)} (as published)"


FIELDS: dict[str, tuple[str, Make]] = {
    "clinical": ("What do reports of clinical prediction models ask for?", of_clinic),
    "weather": ("What does forecast verification ask for?", of_forecasts),
    "survival": ("What does survival analysis ask for?", of_survival),
    "bayesian": ("Are the draws from the posterior?", of_posteriors),
}
"""Names of the fields, and the question and the answer that each adds."""
