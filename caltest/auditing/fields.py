"""What an audit says beside its sections to readers of one field."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from caltest._basics.numerics import Array
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.report import format_pvalue
from caltest.auditing.pictures import drawn
from caltest.auditing.sections import LEVEL, Data, Make, Section
from caltest.predictions import Ensemble


def of_clinic(data: Data, result: CalibrationTestResult) -> Section:
    """The measures of TRIPOD+AI and the decision curve."""
    from caltest.fields import clinical

    law, y = data.sample.predictions.finite, np.asarray(data.sample.targets)
    found = clinical.validate(*data.pair, **data.settings)
    risks = np.unique(np.quantile(law.probabilities[:, 1], [0.5, 0.75, 0.9]).round(2)) if law is not None else ()
    thresholds = [risk for risk in np.asarray(risks).tolist() if 0.0 < risk < 1.0]
    facts = {"P-values": found.remarks()[0]}
    words = "calibration curve of the predicted risks, with the band of calibrated models"
    pictures = drawn(found.plot, words)
    if thresholds and pictures:
        decisions = clinical.decision_curve(*data.pair, thresholds, n_resamples=99, rng=data.seed)
        facts["Decisions"] = decisions.verdict()
        words = "decision curve: net benefit of treating by predicted risk, and what recalibration would add"
        pictures += drawn(decisions.plot, words)
    ratio = found.row("O:E ratio")
    assert ratio.interval is not None
    answer = (
        f"{int(y.sum())} events occurred and {found.expected:.4g} were expected, O:E {ratio.value:.3g} "
        f"({ratio.interval.low:.3g} to {ratio.interval.high:.3g})."
    )
    return Section(answer, facts, tuple(map(tuple, found.table())), pictures=pictures)


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

    draws, truths = Ensemble(_members(data)), np.asarray(data.sample.targets)
    found = bayesian.simulation_based_calibration(draws, truths, **data.settings)
    words = "ranks of the true parameters among the draws, with the band of exact posteriors"
    return _of_result(found, "the ranks of the parameters", words)


def of_survival(data: Data, result: CalibrationTestResult) -> Section:
    """Risks at the median time in groups, D- and A-calibration."""
    from caltest import fields

    if data.survival is None:
        raise TypeError("targets: got no ct.Censored, wanted ct.Censored(time, event)")
    laws, targets = data.survival
    time = float(np.median(np.asarray(targets.time)))
    at = min(time, laws.longest)
    groups = max(2, min(10, int(np.count_nonzero(targets.event)) // 20))
    observed = fields.one_calibration(laws, targets, at, n_groups=groups, **data.settings)
    section = _of_result(observed, "the risks in groups", "observed and predicted risks in groups")
    for name, test in (("D-calibration", fields.d_calibration), ("A-calibration", fields.a_calibration)):
        found = test(laws, targets, **data.settings)
        exact = f"p {format_pvalue(found.pvalue)} (exact)" if name[0] == "D" else ""
        approximate = f"p {format_pvalue(found.approximate)} (as published)"
        section = replace(section, facts={**section.facts, name: ", ".join(filter(None, (exact, approximate)))})
    return replace(section, answer=f"At {at:.3g}, the median time: {section.answer[0].lower()}{section.answer[1:]}")


def _members(data: Data) -> Array:
    """Without the outcome, which is one of those that pools have."""
    pool, y = data.sample.predictions, np.asarray(data.sample.targets)
    if not hasattr(pool, "members"):
        raise TypeError(f"predictions: got {pool.family} predictions, wanted an Ensemble of members or draws")
    members = np.asarray(pool.members)
    equal = members == y[:, None]
    place = (equal if y.ndim == 1 else equal.all(axis=-1)).argmax(axis=1)
    others = np.arange(members.shape[1]) != place[:, None]
    return np.asarray(members[others].reshape(len(y), -1, *members.shape[2:]))


def _of_result(found: Any, looked_at: str, words: str, draw: Callable[..., Any] | None = None) -> Section:
    """The verdict, the table and the picture of a result, and what it looked at if that is rejected."""
    pictures = drawn(found.plot if draw is None else draw, words)
    facts = {"P-values": "; ".join(found.remarks())} if found.remarks() else {}
    verdict, why = found.verdict(), getattr(found, "why", lambda: None)()
    answer = f"{verdict[0].upper()}{verdict[1:]}{'' if why is None else ': ' + why}."
    rejected = f"by {looked_at}" if found.pvalue <= LEVEL else ""
    return Section(answer, facts, tuple(map(tuple, found.table())), rejected=rejected, pictures=pictures)


FIELDS: dict[str, tuple[str, Make]] = {
    "clinical": ("What do reports of clinical prediction models ask for?", of_clinic),
    "weather": ("What does forecast verification ask for?", of_forecasts),
    "survival": ("What does survival analysis ask for?", of_survival),
    "bayesian": ("Are the draws from the posterior?", of_posteriors),
}
"""Names of the fields, and the question and the answer that each adds."""
