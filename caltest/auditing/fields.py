"""What an audit says beside its sections to readers of one field."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from caltest._basics.numerics import Array
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.report import format_pvalue
from caltest.auditing.pictures import Picture, drawn
from caltest.auditing.sections import Data, Make, Section
from caltest.predictions import Ensemble


def of_clinic(data: Data, result: CalibrationTestResult) -> Section:
    """The measures of TRIPOD+AI and the decision curve."""
    from caltest.fields import clinical

    predictions, y = data.sample.predictions, np.asarray(data.sample.targets)
    law = predictions.finite
    found = clinical.validate(predictions, data.sample.as_given, n_resamples=data.n_resamples, rng=data.seed)
    risks = np.unique(np.quantile(law.probabilities[:, 1], [0.5, 0.75, 0.9]).round(2)) if law is not None else ()
    thresholds = [risk for risk in np.asarray(risks).tolist() if 0.0 < risk < 1.0]
    pictures: list[Picture] = []
    facts = {"P-values": found.remarks()[0]}
    try:
        words = "calibration curve of the predicted risks, with the band of calibrated models"
        pictures.append(drawn(lambda ax: found.plot(ax=ax), words))
        if thresholds:
            decisions = clinical.decision_curve(
                predictions, data.sample.as_given, thresholds, n_resamples=99, rng=data.seed
            )
            facts["Decisions"] = decisions.verdict()
            drawing = "decision curve: net benefit of treating by predicted risk, and what recalibration would add"
            pictures.append(drawn(lambda ax: decisions.plot(ax=ax), drawing))
    except ImportError:
        pass
    ratio = found.row("O:E ratio")
    assert ratio.interval is not None
    answer = (
        f"{int(y.sum())} events occurred and {found.expected:.4g} were expected, O:E {ratio.value:.3g} "
        f"({ratio.interval.low:.3g} to {ratio.interval.high:.3g})."
    )
    return Section(answer, facts, rows=tuple(map(tuple, found.table())), pictures=tuple(pictures))


def of_forecasts(data: Data, result: CalibrationTestResult) -> Section:
    """The rank histogram of an ensemble, in the order of time."""
    from caltest.fields import weather

    members = _members(data)
    rows = np.arange(len(data.sample)) if data.order is None else data.order
    found = weather.rank_histogram(
        members[rows], np.asarray(data.sample.targets)[rows], n_resamples=data.n_resamples, rng=data.seed
    )
    return _of_result(found, "rank histogram of the outcomes, with the band of calibrated ensembles", "axes")


def of_posteriors(data: Data, result: CalibrationTestResult) -> Section:
    """Ranks of the true parameters among draws from their posteriors."""
    from caltest.fields import bayesian

    draws, truths = Ensemble(_members(data)), np.asarray(data.sample.targets)
    found = bayesian.simulation_based_calibration(draws, truths, n_resamples=data.n_resamples, rng=data.seed)
    return _of_result(found, "ranks of the true parameters among the draws, with the band of exact posteriors")


def of_survival(data: Data, result: CalibrationTestResult) -> Section:
    """Risks at the median time in groups, D- and A-calibration."""
    from caltest import fields

    if data.survival is None:
        raise TypeError("targets: got no ct.Censored, wanted ct.Censored(time, event)")
    laws, targets = data.survival
    time = float(np.median(np.asarray(targets.time)))
    settings = {"n_resamples": data.n_resamples, "rng": data.seed}
    at = min(time, laws.longest)
    groups = max(2, min(10, int(np.count_nonzero(targets.event)) // 20))
    section = _of_result(
        fields.one_calibration(laws, targets, at, n_groups=groups, **settings), "observed and predicted risks in groups"
    )
    for name, test in (("D-calibration", fields.d_calibration), ("A-calibration", fields.a_calibration)):
        found = test(laws, targets, **settings)
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


def _of_result(found: Any, words: str, place: str = "ax") -> Section:
    """The verdict, the table and the picture of a result."""
    pictures: tuple[Picture, ...] = ()
    with suppress(ImportError):
        pictures = (drawn(lambda ax: found.plot(**{place: [ax] if place == "axes" else ax}), words),)
    facts = {"P-values": "; ".join(found.remarks())} if found.remarks() else {}
    verdict, why = found.verdict(), getattr(found, "why", lambda: None)()
    answer = f"{verdict[0].upper()}{verdict[1:]}{'' if why is None else ': ' + why}."
    return Section(answer, facts, tuple(map(tuple, found.table())), pictures=pictures)


FIELDS: dict[str, tuple[str, Make]] = {
    "clinical": ("What do reports of clinical prediction models ask for?", of_clinic),
    "weather": ("What does forecast verification ask for?", of_forecasts),
    "survival": ("What does survival analysis ask for?", of_survival),
    "bayesian": ("Are the draws from the posterior?", of_posteriors),
}
"""Names of the fields, and the question and the answer that each adds."""
