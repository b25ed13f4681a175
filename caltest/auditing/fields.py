"""What an audit says beside its sections to readers of one field."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from caltest._basics.numerics import Array
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.report import counted, format_pvalue
from caltest.auditing.pictures import drawn
from caltest.auditing.section import LEVEL, Data, Section
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
        facts = {"P-values": found.remarks()[0]}
        pictures, rows = drawn(found.plot, words), tuple(map(tuple, found.table()))
        return Section(f"{answer}.", facts, rows, pictures=pictures, citations=found.citations)

    def decisions() -> Section:
        risks = np.asarray(probability_of_event(data.sample.predictions, "clinical.decision_curve"))
        places = np.unique(np.quantile(risks, [0.5, 0.75, 0.9]).round(2))
        places = places[(places > 0.0) & (places < 1.0)]
        if not places.size:
            raise ValueError("there is no threshold to take, as most risks are 0 or 1 when rounded to 0.01")
        found = clinical.decision_curve(*data.pair, places, n_resamples=99, rng=data.seed)
        words = "decision curve: net benefit of treating by predicted risk, and what recalibration would add"
        return Section(found.verdict(), pictures=drawn(found.plot, words), citations=found.citations)

    def groups() -> Section:
        if isinstance(data.groups, str):
            raise ValueError(data.groups)
        found = clinical.validate_by_group(*data.pair, data.groups)
        pictures = drawn(found.plot, "O:E ratios of groups, with intervals")
        return Section(found.verdict(), pictures=pictures, citations=found.citations)

    parts = {"Measures": measures, "Decisions": decisions}
    return _joined(parts if data.groups is None else parts | {"Groups": groups})


def of_forecasts(data: Data, result: CalibrationTestResult) -> Section:
    """The rank histogram of an ensemble, in the order of time."""
    from caltest.fields import weather

    members = _members(data)
    rows = np.arange(len(data.sample)) if data.order is None else data.order
    found = weather.rank_histogram(members[rows], np.asarray(data.sample.targets)[rows], **data.settings)
    words = "rank histogram of the outcomes, with the band of calibrated ensembles"
    return _of_result(found, "the rank histogram", words, lambda ax: found.plot(axes=[ax]))


def of_posteriors(data: Data, result: CalibrationTestResult) -> Section:
    """Ranks of the true parameters among draws from their posteriors."""
    from caltest.fields import bayesian

    # Pools are sorted, so that some of their members are not like all, and say nothing of chains.
    members, truths = _members(data), np.asarray(data.sample.targets)
    order = np.random.default_rng([data.seed, 1]).random(members.shape[:2]).argsort(axis=1)
    draws = np.take_along_axis(members, order.reshape(*order.shape, *[1] * (members.ndim - 2)), axis=1)
    found = bayesian.simulation_based_calibration(draws, truths, thin=1, **data.settings)
    words = "ranks of the true parameters among the draws, with the band of exact posteriors"
    return _of_result(found, "the ranks of the parameters", words)


def of_survival(data: Data, result: CalibrationTestResult) -> Section:
    """Risks at the median time in groups, D- and A-calibration."""
    from caltest import fields

    if data.survival is None:
        raise TypeError("targets: got no ct.Censored, wanted ct.Censored(time, event)")
    laws, targets = data.survival
    at = min(float(np.median(np.asarray(targets.time))), laws.longest)
    groups = max(2, min(10, int(np.count_nonzero(targets.event)) // 20))

    def in_groups() -> Section:
        found = fields.one_calibration(laws, targets, at, n_groups=groups, **data.settings)
        section = _of_result(found, "the risks in groups", "observed and predicted risks in groups")
        return replace(section, answer=f"At {at:.3g}, the median time: {section.answer[0].lower()}{section.answer[1:]}")

    def in_bins(test: Callable[..., Any], kinds: Sequence[str]) -> Section:
        found = test(laws, targets, **data.settings)
        pvalues = {"exact": found.pvalue, "as published": found.approximate}
        words = ", ".join(f"p {format_pvalue(pvalues[kind])} ({kind})" for kind in kinds)
        section = _of_result(found, found.method, f"{found.method}: shares of times in bins of F(time)")
        return replace(section, answer=words, facts={}, rejected=section.rejected if "exact" in kinds else "")

    return _joined(
        {
            "One-calibration": in_groups,
            "D-calibration": partial(in_bins, fields.d_calibration, ["exact", "as published"]),
            "A-calibration": partial(in_bins, fields.a_calibration, ["as published"]),
        }
    )


def _joined(parts: Mapping[str, Callable[[], Section]]) -> Section:
    """The first part that can be computed, with the answers of the others, or why there is none, as facts.

    ``ValueError`` if there is none.
    """
    found: dict[str, Section] = {}
    facts: dict[str, str] = {}
    for name, make in parts.items():
        try:
            found[name] = make()
            facts[name] = found[name].answer
        except (ValueError, TypeError, MemoryError) as error:
            facts[name] = f"not computed: {error}"
    if not found:
        raise ValueError("; ".join(f"{name} {why}" for name, why in facts.items()))
    first = next(iter(found))
    answer = facts.pop(first)
    pictures = tuple(picture for one in found.values() for picture in one.pictures)
    if first != next(iter(parts)):
        answer = f"{first}: {answer}."
    sources = tuple(key for one in found.values() for key in one.citations)
    return replace(
        found[first], answer=answer, facts={**found[first].facts, **facts}, pictures=pictures, citations=sources
    )


def _members(data: Data) -> Array:
    """Without the outcome, which is one of those that pools have."""
    members = getattr(data.sample.predictions.without(data.sample.targets), "members", None)
    if members is None:
        family = data.sample.predictions.family
        raise TypeError(f"predictions: got {family} predictions, wanted an Ensemble of members or draws")
    return np.asarray(members)


def _of_result(found: Any, looked_at: str, words: str, draw: Callable[..., Any] | None = None) -> Section:
    """The verdict, the table and the picture of a result, and what it looked at if that is rejected."""
    pictures = drawn(found.plot if draw is None else draw, words)
    facts = {"P-values": "; ".join(found.remarks())} if found.remarks() else {}
    why = getattr(found, "why", lambda: None)()
    verdict = found.verdict()
    answer = f"{verdict[0].upper()}{verdict[1:]}{'' if why is None else ': ' + why}."
    rejected = f"by {looked_at}" if found.pvalue <= LEVEL else ""
    rows, sources = tuple(map(tuple, found.table())), found.citations
    return Section(answer, facts, rows, rejected=rejected, pictures=pictures, citations=sources)


FIELDS: dict[str, tuple[str, Make]] = {
    "clinical": ("What do reports of clinical prediction models ask for?", of_clinic),
    "weather": ("What does forecast verification ask for?", of_forecasts),
    "survival": ("What does survival analysis ask for?", of_survival),
    "bayesian": ("Are the draws from the posterior?", of_posteriors),
}
"""Names of the fields, and the question and the answer that each adds."""
