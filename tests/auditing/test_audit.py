import json
import re
import sys
from datetime import date
from html import escape
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from printed import unfolded
from scipy import stats

import caltest as ct
from caltest._basics.calls import without_power
from caltest.auditing.decision import _advised, decision_of, in_need
from caltest.auditing.fields import _members, of_survival
from caltest.auditing.pictures import compared_classes, pictures_of
from caltest.auditing.repair import _changed, _suffices
from caltest.auditing.rows import in_order
from caltest.auditing.section import Section
from caltest.auditing.sections import SECTIONS, more_rows_in_words, rows_needed
from caltest.auditing.times import QUARTERS
from caltest.estimators.kernel_errors.kernel_estimator import shared_kernel
from caltest.predictions.inputs.convert import as_sample
from caltest.recalibration.shared.observed import Observed

DIGITS = ct.datasets.load_digits_predictions()


FOREST = DIGITS["random forest"][0].take(slice(0, 150)), DIGITS["random forest"][1][:150]


@pytest.fixture(scope="module")
def forest():
    return ct.audit(*FOREST, n_resamples=39, rng=1)


@pytest.fixture
def not_written(replications, monkeypatch):
    """Pictures are drawn into axes but not made a text, which takes most of their time."""
    if replications(True, False):
        empty = '<svg viewBox="0 0 1 1"></svg>'
        monkeypatch.setattr(Figure, "savefig", lambda _, out, **__: out.write(empty))


@pytest.fixture
def few_sections(only):
    """Those that the decision is made of, and no others."""
    only("size", "groups", "recalibration", "power", "methods")


def test_the_default_test_alone_decides(forest):
    result = ct.calibration_test(*FOREST, n_resamples=39, rng=1)
    assert str(forest.models[0].result) == str(result)
    assert forest.models[0].decision == "recalibrate"
    assert "temperature 0.1" in forest.models[0].reason


def test_every_section_answers_or_says_why_not(forest):
    sections = forest.models[0].sections
    assert list(sections) == list(SECTIONS)
    assert {name for name, section in sections.items() if section.failed} == {"slices", "time"}
    assert sections["time"].answer == "Not computed: the order in time is not known; give time=."
    assert "Calibration is rejected at the 5 % level (p = 0.025" in sections["test"].answer
    assert sections["size"].rows[1][:3] == ("accuracy", "73.3 %", "98.0 %")
    assert sections["recalibration"].gain > 0.1
    assert "rng=1" in sections["methods"].facts["Reproduce"]
    text = unfolded(forest)
    assert text.index("Decision") < text.index("How large is the error?") < text.index("How was it done?")


def test_it_is_reproduced_by_its_line_and_read_back(forest):
    assert str(ct.audit(*FOREST, n_resamples=39, rng=forest.seed)) == str(forest)
    entries = json.loads(json.dumps(forest.to_dict()))
    assert "svg" not in json.dumps(entries)
    assert str(ct.results.Audit.from_dict(entries)) == str(forest)


def calibrated(n, seed=1):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return p, (rng.random(n) < p).astype(int)


def decision(p, y):
    return ct.audit(p, y, n_resamples=39, rng=1).models[0].decision


@pytest.mark.usefixtures("few_sections")
def test_decisions():
    p, y = calibrated(6_000)
    assert decision(p, y) == "use as it is"
    assert decision(p[:100], y[:100]) == "not enough data to tell"
    wrong = p**2 / (p**2 + (1 - p) ** 2)
    assert decision(wrong[:500], y[:500]) == "recalibrate"


@pytest.mark.usefixtures("few_sections")
def test_an_error_that_is_too_small_to_matter_leaves_the_model_as_it_is():
    rng = np.random.default_rng(1)
    p = np.where(rng.random(4000) < 0.5, 0.01, 0.99) + 0.002 * rng.random(4000)
    y = (rng.random(p.size) < p).astype(int)
    audit = ct.audit(p, np.where(np.arange(p.size) % 100 == 0, 1 - y, y), n_resamples=19, rng=1)
    assert audit.models[0].result.pvalue <= 0.05
    assert audit.models[0].decision == "use as it is"
    assert (audit.passed("reject"), audit.passed("matters")) == (False, True)


@pytest.mark.usefixtures("few_sections")
def test_what_a_map_does_not_repair_is_refused():
    """Predictions that are wrong in a way that no increasing map of them repairs: half of them are swapped."""
    rng = np.random.default_rng(2)
    p = np.tile([[0.6, 0.4, 0.0001], [0.6, 0.0001, 0.4]], (100, 1))
    p /= p.sum(axis=1, keepdims=True)
    y = np.where(rng.random(200) < 0.6, 0, np.where(np.arange(200) % 2 == 0, 2, 1))
    audit = ct.audit(p, y, n_resamples=39, rng=1)
    assert audit.models[0].decision in ("do not use as it is", "recalibrate")
    assert not audit.passed("matters")


def test_reasons_to_refuse_are_errors_that_matter_or_have_no_margin():
    rng = np.random.default_rng(4)
    p = rng.uniform(0.3, 0.7, 1000)
    wrong = ct.calibration_test(p, rng.random(1000) < p - 0.25, n_resamples=19, rng=1)
    assert decision_of(wrong, Section(""))[1].endswith("The error matters, and recalibration could not be tried")
    said = "The error matters, and recalibration did not make held-out rows clearly better"
    assert decision_of(wrong, Section("", gain=0.1))[1].endswith(said)
    assert decision_of(wrong, Section("", gain=0.1, helps=True))[0] == "recalibrate"
    left = decision_of(wrong, Section("", gain=0.1, helps=True, rejected="after it, too"))
    assert left[0] == "do not use as it is"
    assert left[1].endswith("Recalibration helps, but is not enough: calibration is rejected after it, too")
    scenarios = ct.Scenarios(rng.normal(size=(100, 9, 2)))
    narrow = ct.calibration_test(scenarios, 5.0 * rng.normal(size=(100, 2)), n_resamples=19, rng=1)
    assert "For predictions of this kind there is no margin" in decision_of(narrow, Section(""))[1]


@pytest.mark.usefixtures("few_sections")
def test_data_that_were_perhaps_read_wrongly_are_looked_at_before_they_are_recalibrated():
    p, y = calibrated(500, 2)
    model = ct.audit(1.0 - p, y, n_resamples=39, rng=1).models[0]
    assert model.sections["recalibration"].gain > 0.0
    assert model.decision == "do not use as it is"
    assert model.reason.endswith("1 - p would fit the outcomes: are these the probabilities of the other class?")
    report = ct.recalibration.report(1.0 - p, y, ct.recalibration.BetaCalibration(), n_resamples=19, rng=1)
    assert any("1 - p would fit the outcomes" in note for note in report.notes)


@pytest.mark.usefixtures("few_sections")
def test_a_group_that_is_rejected_is_named_where_the_default_test_rejects_nothing():
    p, y = calibrated(1_500, 3)
    groups = np.repeat(["north", "south", "west"], [1200, 150, 150])
    y = np.where((groups == "west") & (np.arange(y.size) % 3 == 0), 1, y)
    audit = ct.audit(p, y, groups=groups, time=np.arange(y.size), n_resamples=39, rng=1)
    model = audit.models[0]
    assert model.result.pvalue > 0.05
    assert model.decision == "do not use as it is"
    assert model.reason.startswith("calibration is rejected in 1 of 3 groups (west)")
    assert ". For all rows together calibration is not rejected" in model.reason
    assert model.reason[1:] in audit.to_html()
    assert "groups" not in ct.audit(p, y, n_resamples=39, rng=1).models[0].reason


def test_a_class_that_is_rejected_is_named_where_the_default_test_rejects_nothing():
    """As a group is; where the default test rejects, it is one of many answers to what is wrong."""
    rng = np.random.default_rng(10)
    p = ct.Categorical(rng.dirichlet(np.ones(4), 150))
    y = p.sample(rng)
    audit = ct.audit(p, y, n_resamples=99, rng=1)["model"]
    assert "Calibration is rejected in 1 of 4 classes" in audit.sections["pictures"].answer
    assert audit.reason.startswith(
        "calibration is rejected in 1 of 4 classes (class 3); each section alone is tested at the 5 % level. "
        "For all rows together calibration is not rejected at the 5 % level"
    )
    wrong = ct.audit(np.roll(p.probabilities, 1, axis=1), y, n_resamples=99, rng=1)["model"]
    assert (wrong.result.pvalue, wrong.sections["pictures"].rejected) == (0.01, "")


def test_several_models_are_columns():
    p, y = calibrated(60)
    models = {"right": p, "sure": p**0.2, "swapped": 1.0 - p}
    audit = ct.audit(models, y, n_resamples=19, rng=1)
    table = audit.table()
    assert table[0] == ("", *models)
    assert [row[0] for row in table[1:4]] == ["decision", "p-value", "class 1"]
    assert [cell == "0.05" for cell in table[2][1:]] == [False, True, True]
    assert audit["sure"].name == "sure"
    with pytest.raises(KeyError, match="got 'best', wanted one of 'right', 'sure', 'swapped'"):
        audit["best"]
    assert repr(audit).startswith("<audit of 3 models: ")


def test_measures_of_several_models_are_matched_by_name(only):
    """One model names class 1, whose frequency is among its measures, before those that both have."""
    only("size")
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(3), 1000)
    wrong = p * [1.0, 0.4, 1.0]
    y = (p.cumsum(axis=1) < rng.random((1000, 1))).sum(axis=1)
    models = {"rare": wrong / wrong.sum(axis=1, keepdims=True), "right": p}
    audit = ct.audit(models, y, n_resamples=39, rng=1)
    assert "class 1" in [one.name for one in audit["rare"].result.measures]
    found = {row[0]: row[2] for row in audit.table()}
    assert "class 1" not in found
    first, *lines = str(audit).splitlines()[2:]
    assert first.split() == list(models)
    assert [line for line in lines if line.startswith("===")] == ["=== rare ===", "=== right ==="]
    right = {row[0]: row[2] for row in audit["right"].result.table()}
    assert found["log loss"].startswith(right["log loss"])


def test_groups_features_time_and_clusters(only):
    only("data", "groups", "slices", "time", "methods")
    rng = np.random.default_rng(3)
    n = 1200
    mean = rng.normal(size=n)
    y = mean + np.where(mean > 0, 2.0, 1.0) * rng.normal(size=n)
    features = {"x": np.where(np.arange(n) % 50, mean, np.nan), "site": rng.choice(["<a>", "b"], n)}
    audit = ct.audit(
        ct.Normal(mean, 1.0), y, features=features, groups={"late": np.arange(n) > 900}, time=np.arange(n)[::-1],
        clusters=np.repeat(np.arange(n // 2), 2), n_resamples=39, rng=1,
    )  # fmt: skip
    sections = audit.models[0].sections
    assert sections["data"].answer == (
        "All 1200 rows with outcomes are used by the default test, 600 where rows have to be independent."
    )
    groups = {row[0] for row in sections["groups"].rows[1:]}
    assert groups == {"late"}
    assert sections["slices"].answer.startswith("Predictions are wrong in ")
    assert sections["slices"].rows[2][0].startswith("x >= ")
    assert sections["time"].answer.startswith("There was an alarm at the 2.5 % level after ")
    assert "groups=groups, clusters=clusters, features=features, time=time" in sections["methods"].facts["Reproduce"]


@pytest.mark.every(5)
@pytest.mark.parametrize(
    ("p", "y"),
    [
        ([0.2, 0.7], [0, 1]),
        (np.full(30, 0.5), np.zeros(30, dtype=int)),
        (np.full((9, 1000), 1e-3), np.arange(9)),
        (ct.Normal(np.zeros(20), 1.0), np.zeros(20)),
        (ct.Ensemble(np.zeros((20, 3))), np.zeros(20)),
        (ct.Poisson(np.full(20, 2.0)), np.full(20, 2)),
        (ct.QuantileForecast([0.1, 0.9], np.tile([-1.0, 1.0], (20, 1))), np.linspace(-2, 2, 20)),
        (ct.MvNormal(np.zeros((20, 2)), np.ones((20, 2))), np.zeros((20, 2))),
        ([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]], [0, 1, 1]),
    ],
    ids=["two", "one class", "1000 classes", "constant", "no spread", "counts", "quantiles", "vectors", "impossible"],
)
@pytest.mark.usefixtures("not_written")
def test_odd_data_stop_no_section(p, y):
    audit = ct.audit(p, y, time=np.arange(len(y)), n_resamples=9, rng=1)
    sections = audit.models[0].sections
    assert not sections["test"].failed
    assert not sections["methods"].failed
    for section in sections.values():
        assert section.failed == section.answer.startswith("Not computed: ")
        assert all(picture.svg.startswith(("<svg", "Not drawn: ")) for picture in section.pictures)
    assert str(audit)


def test_pictures_are_drawn_when_a_page_asks_for_them(monkeypatch):
    p, y = calibrated(60)
    audit = ct.audit(p, y, n_resamples=9, rng=1)

    def fails(*_):
        raise ValueError("<nothing> to draw")

    monkeypatch.setattr("caltest.plots._axes.svg_of", fails)
    assert str(audit)
    assert audit.to_dict()
    assert audit.to_junit()
    assert audit.to_html().count("Not drawn: &lt;nothing&gt; to draw.") == 2


@pytest.mark.usefixtures("few_sections")
def test_recalibration_that_leaves_an_error_names_what_else_there_is():
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(3), 300)
    wrong = p[:, [1, 2, 0]]
    y = (rng.random((300, 1)) > p.cumsum(axis=1)).sum(axis=1)
    left = ct.audit(wrong, y, n_resamples=99, rng=1).models[0].sections["recalibration"]
    assert left.answer.endswith("fit_best compares them) or another model.")
    mended = ct.audit(p**3 / (p**3).sum(axis=1, keepdims=True), y, n_resamples=39, rng=1)
    assert "fit_best" not in mended.models[0].sections["recalibration"].answer


@pytest.mark.usefixtures("few_sections")
def test_another_map_is_tried_where_temperature_scaling_leaves_an_error():
    """Class 1 is too rare in the predictions, which no temperature mends."""
    rng = np.random.default_rng(2)
    logits = 1.5 * rng.normal(size=(1200, 3))
    truth = np.exp(logits + np.array([0.0, 0.9, 0.0]))
    y = (rng.random((1200, 1)) > (truth / truth.sum(axis=1, keepdims=True)).cumsum(axis=1)).sum(axis=1)
    p = np.exp(logits)
    model = ct.audit(p / p.sum(axis=1, keepdims=True), y, n_resamples=99, rng=1).models[0]
    section = model.sections["recalibration"]
    assert section.answer.startswith("Vector scaling lowers the log loss in 5-fold cross-validation by 0.")
    assert "VectorScaling()" in section.facts["How"]
    assert section.facts["Tried too"] == "temperature scaling, p = 0.01 after it"
    assert not section.rejected


@pytest.mark.usefixtures("few_sections", "no_power")
def test_a_map_that_leaves_an_error_is_not_all_the_reason_says():
    """Normal predictions that are too narrow for skewed errors, of which a factor mends the first only."""
    rng = np.random.default_rng(2)
    mean = rng.normal(size=400)
    model = ct.audit(ct.Normal(mean, 0.6), mean + rng.exponential(size=400) - 1.0, n_resamples=99, rng=1).models[0]
    assert model.decision == "do not use as it is"
    said = "on held-out rows after shifting and scaling the distributions, too"
    assert model.reason.endswith(f". Recalibration helps, but is not enough: calibration is rejected {said}")
    assert "QuantileRecalibration" in model.sections["recalibration"].answer


@pytest.mark.usefixtures("few_sections")
def test_an_error_of_one_group_is_said_to_be_one_which_a_map_of_all_rows_leaves():
    p, y = calibrated(1_500, 3)
    groups = np.repeat(["north", "south", "west"], 500)
    wrong = np.where((groups == "west") & (np.arange(y.size) % 3 == 0), 1, y)
    model = ct.audit(p, wrong, groups=groups, n_resamples=39, rng=1).models[0]
    said = (
        "rejected in 1 of 3 groups (west), and the error matters in west; one recalibration of all rows helps, but "
        "after it"
    )
    assert model.reason.endswith(f"{said} the error still matters in west: recalibrate each of the 3 groups by itself")
    assert model.decision == "recalibrate"
    everywhere = ct.audit(p, np.where(np.arange(y.size) % 3 == 0, 1, y), groups=groups, n_resamples=39, rng=1).models[0]
    assert everywhere.decision == "recalibrate"
    assert "still matters" not in everywhere.reason
    assert "groups" not in ct.audit(p, 1 - y, groups=groups, n_resamples=39, rng=1).models[0].reason


ENOUGH = "; after one recalibration of all rows calibration is rejected in none of these parts"


def reason_where_odds_are_higher(seed, east, west, **known):
    """Of an audit of risks whose odds are too low by a factor in each part."""
    rng = np.random.default_rng(seed)
    risk, part = rng.beta(1.5, 8, 1500), rng.choice(["west", "east"], 1500)
    odds = risk / (1.0 - risk) * np.where(part == "west", west, east)
    y = rng.random(1500) < odds / (1.0 + odds)
    model = ct.audit(risk, y, groups=part, n_resamples=99, rng=seed, **known).models[0]
    assert model.decision == "recalibrate"
    return model.reason


@pytest.mark.usefixtures("no_power")
def test_whether_one_map_is_enough_for_all_groups_is_tested(only):
    only("groups", "time", "recalibration")
    assert ENOUGH in reason_where_odds_are_higher(0, 1.2, 2.0)
    left = "; one recalibration of all rows leaves errors in west, east, which need some of their own"
    assert left in reason_where_odds_are_higher(1, 1.2, 2.0)
    assert (
        "one recalibration of all rows is not enough: recalibrate each of the 2 groups by itself"
        in reason_where_odds_are_higher(3, 1.1, 1.9)
    )
    of_clusters = reason_where_odds_are_higher(1, 1.2, 2.0, clusters=np.arange(1500) // 2)
    assert "one recalibration of all rows" in of_clusters


@pytest.mark.usefixtures("no_power")
def test_errors_found_in_some_quarters_by_chance_are_not_said_to_differ(only):
    only("groups", "time", "recalibration")
    said = [reason_where_odds_are_higher(seed, 1.4, 1.4, time=np.arange(1500)) for seed in (2, 3, 4, 6)]
    assert all("one recalibration of all rows" not in one or ENOUGH in one for one in said)
    assert any("quarter" in one and ENOUGH in one for one in said)


@pytest.mark.usefixtures("no_power")
@pytest.mark.parametrize("known", ["groups", "features"])
def test_an_error_that_a_map_leaves_in_clusters_is_said_too(known, only):
    """Of groups all rows are looked at, of slices one of each cluster."""
    only("size", known.replace("features", "slices"), "recalibration")
    p, y = calibrated(900, 3)
    clusters = np.arange(y.size) // 3
    part = np.repeat(["north", "south", "west"], y.size // 3)
    wrong = np.where((part == "west") & (np.arange(y.size) % 5 < 2), 1, y)
    given = {"groups": part} if known == "groups" else {"features": {"part": part}}
    model = ct.audit(p, wrong, clusters=clusters, n_resamples=39, rng=1, **given).models[0]
    name = {"groups": "west", "features": "part = west"}[known]
    # Groups, which each row is in, can have maps of their own.
    advice = {"groups": ": recalibrate each of the 3 groups by itself", "features": ", which needs one of its own"}[
        known
    ]
    assert (
        f"one recalibration of all rows helps, but after it the error still matters in {name}{advice}" in model.reason
    )
    assert model.decision == {"groups": "recalibrate", "features": "do not use as it is"}[known]
    everywhere = np.where(np.arange(y.size) % 5 < 2, 1, y)
    model = ct.audit(p, everywhere, clusters=clusters, n_resamples=39, rng=1, **given).models[0]
    assert model.decision == "recalibrate"
    assert "still matters" not in model.reason


def test_an_error_that_came_late_is_found_in_the_last_quarter():
    p, y = calibrated(1_200, 5)
    days = np.arange(y.size)[::-1]
    late = ct.audit(p, np.where(days >= 900, 1 - y, y), time=days, n_resamples=39, rng=1)["model"].sections["time"]
    assert late.answer.endswith(
        " Of the quarters of the rows in that order calibration is rejected in the last quarter at the 2.5 % level. "
        "The ratio is that of observed to expected events (class 1); its intervals hold for all quarters together, and "
        "p-values are of errors of any kind."
    )
    assert [row[:2] for row in late.rows[1:]] == [
        (f"{one} quarter", "300") for one in ("first", "second", "third", "last")
    ]
    assert "claims are the wrong way round" in late.rows[4][-1]
    right = ct.audit(p, y, time=days, n_resamples=39, rng=1).models[0].sections["time"]
    assert [row[0] for row in right.rows[1:]] == [row[0] for row in late.rows[1:]]
    assert (right.rejected, right.grave, right.unclear) == ("", {}, ())


def test_a_late_error_is_found_although_neither_all_rows_nor_an_alarm_show_it(only):
    """Probabilities of default of three years, the last quarter of which had 1.6 times as many."""
    only("size", "time", "power")
    rng = np.random.default_rng(1)
    pd = rng.choice([0.002, 0.005, 0.012, 0.03, 0.08, 0.2], 16_000, p=[0.2, 0.3, 0.25, 0.15, 0.07, 0.03])
    default = rng.random(16_000) < pd * np.where(np.arange(16_000) >= 12_000, 1.6, 1.0)
    model = ct.audit(pd, default, time=np.arange(16_000), n_resamples=99, rng=1)["model"]
    section = model.sections["time"]
    assert model.result.pvalue > 0.05
    assert section.answer.startswith("There was no alarm")
    assert "calibration is rejected in the last quarter of the rows in the order of time" in model.reason
    assert model.decision == "do not use as it is"


def test_a_model_that_is_wrong_for_a_small_group_is_not_to_be_used(only):
    """The error of all rows is too small to be found, and that of 1 % of them is large."""
    only("size", "groups", "power")
    p, y = calibrated(15_000, 5)
    groups = np.where(np.arange(y.size) < 150, "rare", "usual")
    y = np.where((groups == "rare") & (np.arange(y.size) % 3 == 0), 1, y)
    alone, told = (ct.audit(p, y, groups=one, n_resamples=39, rng=1) for one in (None, groups))
    assert alone.models[0].decision == "use as it is"
    assert told.models[0].result.pvalue > 0.05
    assert told.models[0].decision == "do not use as it is"
    assert "rejected in 1 of 2 groups (rare), and the error matters in rare" in told.models[0].reason
    assert [one.passed(fail_on) for one in (alone, told) for fail_on in ("reject", "matters")] == [True] * 2 + [
        False
    ] * 2
    assert told.passed("never")
    assert 'failures="1"' in told.to_junit()


@pytest.fixture
def no_power():
    """What tests could have found takes most of their time, and says nothing of what they have found."""
    with without_power():
        yield


def in_threes(rng, n, change):
    """Probabilities of three classes, and labels whose most probable class is right; others are changed."""
    top, s = rng.uniform(0.5, 0.8, n), rng.uniform(0.1, 0.9, n)
    p, truth = (np.stack([top, (1.0 - top) * one, (1.0 - top) * (1.0 - one)], axis=1) for one in (s, change(s)))
    return p, ct.Categorical(truth).sample(rng)


@pytest.mark.usefixtures("few_sections", "no_power")
@pytest.mark.parametrize("size", [1, 4])
def test_an_error_of_classes_that_are_not_the_most_probable_matters_in_a_group(size):
    rng, groups = np.random.default_rng(3), np.where(np.arange(1_000) % 10 == 0, "small", "large")
    p, y = in_threes(rng, 1_000, lambda s: np.where(groups == "small", 0.2 * s, s))
    clusters = {} if size == 1 else {"clusters": np.arange(1_000) // size}
    model = ct.audit(p, y, groups=groups, n_resamples=39, rng=1, **clusters).models[0]
    assert model.decision == "do not use as it is"
    assert "rejected in 1 of 2 groups (small), and the error matters in small" in model.reason


def test_a_map_that_leaves_an_error_of_classes_that_are_not_the_most_probable_is_not_enough():
    """The most probable class is claimed rightly."""
    p, y = in_threes(np.random.default_rng(3), 20_000, lambda s: 0.6 * s)
    finding = ct.calibration_test(p[:400], y[:400], n_resamples=19, rng=1).finding
    for left, enough in ((None, True), (finding, False)):
        after = SimpleNamespace(pvalue=0.01, pvalue_otherwise=None, finding=left)
        assert _suffices(SimpleNamespace(samples=(None, as_sample(p, y)), after=after)) == enough


@pytest.mark.usefixtures("few_sections")
def test_recalibration_is_advised_where_it_helps_by_more_than_chance(replications):
    """After a map that mends what a map can mend, what is left of an error is no reason for another one."""
    rng = np.random.default_rng(3)
    advised, sets = 0, replications(10, 40)
    for _ in range(sets):
        p = rng.uniform(0.05, 0.95, 600)
        bump = 0.35 * np.sin(12 * np.pi * p) * np.minimum(p, 1 - p)
        section = ct.audit(p, rng.random(600) < p + bump, n_resamples=19, rng=rng).models[0].sections["recalibration"]
        assert not section.helps or section.gain > 0.0
        assert ("How" in section.facts) == section.helps
        advised += section.helps
    assert advised <= 0.3 * sets


@pytest.mark.usefixtures("few_sections")
def test_calibrated_predictions_that_are_rejected_by_chance_are_not_recalibrated():
    """On one half of the rows a map that is fitted to the other half is better by more than a standard error."""
    for seed in (12, 400):
        p, y = calibrated(150, seed)
        model = ct.audit(p, y, n_resamples=39, rng=1).models[0]
        assert model.result.pvalue <= 0.05
        assert model.decision != "recalibrate"


@pytest.mark.usefixtures("few_sections")
@pytest.mark.parametrize("k", [2, 3])
def test_overconfident_predictions_are_recalibrated(k):
    rng = np.random.default_rng(5)
    logits = rng.normal(0, 1.5, (800, k))
    p, wrong = (np.exp(one) / np.exp(one).sum(axis=1, keepdims=True) for one in (logits, 1.8 * logits))
    y = (rng.random((800, 1)) > p.cumsum(axis=1)).sum(axis=1)
    model = ct.audit(wrong, y, n_resamples=39, rng=1).models[0]
    assert model.decision == "recalibrate"
    assert " in 5-fold cross-validation by 0." in model.sections["recalibration"].answer


@pytest.mark.parametrize(
    ("gain", "words"),
    [
        (np.inf, "makes 1 impossible outcome possible in 5-fold cross-validation"),
        (-np.inf, "makes 1 possible outcome impossible in 5-fold cross-validation"),
        (np.nan, "leaves the log loss infinite in 5-fold cross-validation, because impossible outcomes stay"),
    ],
)
def test_infinite_gains_are_said_in_words(gain, words):
    gains = np.r_[np.zeros(9), gain]
    assert _changed(float(gains.mean()), gains, "log loss").startswith(words)


def test_the_reason_names_wrong_slices_and_quarters_of_ensembles():
    rng = np.random.default_rng(1)
    x, members = rng.random(600), rng.normal(size=(600, 10))
    y = np.where(x > 0.7, 2.5, 1.0) * rng.normal(size=600)
    model = ct.audit(ct.Ensemble(members), y, features={"x": x}, n_resamples=39, rng=1).models[0]
    assert model.decision == "do not use as it is"
    assert re.search(r"\. Calibration is rejected in \d of \d+ slices \(x (>=|in) ", model.reason)
    late = np.where(np.arange(600) >= 450, 2.5, 1.0) * rng.normal(size=600)
    model = ct.audit(ct.Ensemble(members), late, time=np.arange(600), n_resamples=39, rng=1).models[0]
    assert model.reason.endswith("Calibration is rejected in the last quarter of the rows in the order of time")


@pytest.mark.usefixtures("few_sections")
def test_the_reason_says_where_an_error_matters_that_is_in_all_groups():
    """Zeros that are too many matter by the intervals of one group only."""
    rng = np.random.default_rng(7)
    mean = rng.gamma(3.0, 1.0, 800)
    y = np.where(rng.random(800) < 0.12, 0, rng.poisson(mean))
    model = ct.audit(ct.Poisson(mean), y, groups=np.where(mean > 3, "high", "low"), n_resamples=99, rng=1).models[0]
    assert model.decision == "do not use as it is"
    assert "Recalibration helps, but is not enough" in model.reason
    assert model.reason.endswith("rejected in 2 of 2 groups (high, low), and the error matters in high")


@pytest.mark.parametrize("known", ["features", "time"])
def test_an_error_that_matters_in_slices_or_quarters_of_the_time_is_a_reason_not_to_use(known):
    """Claims that are too low as often as they are too high, which all rows together do not show."""
    rng = np.random.default_rng(3)
    n = 2_000
    p, first, second = 0.3 + 0.4 * rng.random(n), rng.random(n) < 0.5, rng.random(n) < 0.5
    wrong = np.where(first == second, 0.15, -0.15) if known == "features" else np.linspace(-0.25, 0.25, n)
    y = (rng.random(n) < p + wrong).astype(int)
    given = {"features": {"first": first, "second": second}, "time": np.arange(n)}[known]
    model = ct.audit(p, y, n_resamples=99, rng=1, **{known: given}).models[0]
    assert model.result.pvalue > 0.05
    assert model.decision == "do not use as it is"
    assert model.reason.startswith("calibration is rejected in ")
    assert ", and the error matters in " in model.reason
    assert not ct.audit(p, y, n_resamples=99, rng=1, **{known: given}).passed("matters")


def test_a_slice_that_is_rejected_by_chance_is_no_reason_not_to_use():
    """The worst of many slices of right predictions looks far off, but not by an interval that holds for all."""
    rng = np.random.default_rng([13, 5])
    p = rng.beta(1.5, 2.5, 1000)
    y = (rng.random(1000) < p).astype(int)
    features = {f"x{j}": rng.normal(size=1000) for j in range(4)}
    model = ct.audit(p, y, features=features, n_resamples=99, rng=13).models[0]
    assert model.sections["slices"].rejected.startswith("in 1 of ")
    assert "matters" not in model.sections["slices"].rejected
    assert model.decision == "not enough data to tell"


@pytest.mark.usefixtures("few_sections")
def test_predicted_labels_are_asked_about():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 200)
    labels = np.where(rng.random(200) < 0.9, y, 1 - y)
    model = ct.audit(labels, y, n_resamples=39, rng=1).models[0]
    assert model.decision == "do not use as it is"
    assert model.reason.endswith("all predictions are 0 or 1: are they labels, of predict in place of predict_proba?")


@pytest.mark.usefixtures("few_sections")
def test_an_error_that_is_left_is_seen_with_few_redraws():
    """Skewed errors, which a larger spread makes less wrong; the smallest p-value of 39 redraws is 0.025."""
    rng = np.random.default_rng(4)
    mean = rng.normal(size=500)
    model = ct.audit(ct.Normal(mean, 1.0), mean + 2.0 * rng.exponential(size=500), n_resamples=39, rng=1).models[0]
    assert "Recalibration helps, but is not enough" in model.reason


@pytest.mark.usefixtures("few_sections")
@pytest.mark.parametrize("seed", [1, 2, 16])
def test_a_map_that_is_enough_is_not_rejected_for_the_errors_of_its_fit(seed):
    """A constant, which its share of events mends: that of other rows is off in each part, but not in all together."""
    y = (np.random.default_rng(seed).random(500) < 0.37).astype(int)
    model = ct.audit(np.full(500, 0.28), y, n_resamples=99, rng=1).models[0]
    assert model.decision == "recalibrate"
    assert float(model.sections["recalibration"].rows[-1][-1]) > 0.9


@pytest.mark.usefixtures("few_sections")
def test_a_map_that_does_not_help_is_named():
    rng = np.random.default_rng(4)
    mean = rng.normal(size=500)
    errors = np.where(rng.random(500) < 0.5, 1.0, -1.0) * np.sqrt(0.9) + np.sqrt(0.1) * rng.normal(size=500)
    model = ct.audit(ct.Normal(mean, 1.0), mean + errors, n_resamples=39, rng=1).models[0]
    said = "recalibration by shifting and scaling the distributions did not make held-out rows clearly better"
    assert model.reason.endswith(said)
    assert "QuantileRecalibration corrects other shapes too" in model.sections["recalibration"].answer


def test_clusters_are_counted_as_what_is_looked_at():
    p, y = calibrated(900, 1)
    clusters = np.maximum(np.arange(900), 500) // 4
    model = ct.audit(p, y, clusters=clusters, n_resamples=39, rng=1).models[0]
    said = "only one row of each of 100 clusters is used (100 of 900 rows), so that rows are independent"
    assert model.reason.endswith(f"; {said}")
    assert model.sections["data"].facts["Clusters"] == said
    assert "; many times as many clusters would find them" in model.reason
    assert model.sections["power"].answer.endswith("takes many times as many clusters.")


def test_all_rows_of_many_clusters_are_tested(only, monkeypatch):
    """As by the call; what takes rows as independent has one of each, whose power is a lower bound."""
    only("test", "size", "groups", "power", "methods")
    monkeypatch.setattr("caltest.auditing.sections.LEAST_POWER", 0.0)
    p, y = calibrated(900, 1)
    clusters = np.arange(900) // 9
    model = ct.audit(p, y, clusters=clusters, groups=np.arange(900) % 2, n_resamples=39, rng=1).models[0]
    wanted = ct.calibration_test(p, y, clusters=clusters, n_resamples=39, rng=1)
    assert (model.result.pvalue, model.result.n) == (wanted.pvalue, 900)
    assert "error are of all 900 rows in 100 clusters" in model.reason
    wanted = ct.calibration_by_group(p, y, np.arange(900) % 2, clusters=clusters, n_resamples=39, rng=1)
    assert [row[-1] for row in model.sections["groups"].rows[1:]] == [f"{one.adjusted:.3g}" for one in wanted.groups]
    assert "random signs of clusters" in model.sections["test"].answer
    assert re.search(r"; at most \d+ clusters would find them", model.reason)
    assert re.search(r"takes at most \d+ clusters\.", model.sections["power"].answer)
    other = ct.audit(p, y, clusters=clusters[::-1] // 2, n_resamples=9, rng=1).models[0]
    digests = {one.sections["methods"].facts["Digest of the data"] for one in (model, other)}
    assert len(digests) == 2


def test_the_digest_and_the_line_are_of_all_that_is_given(only):
    only("methods")
    p = np.random.default_rng(1).dirichlet(np.ones(3), 90)
    y, names = np.array(["ant", "bee", "cat"])[np.arange(90) % 3], ["ant", "bee", "cat"]
    some = {"groups": np.arange(90) % 2, "features": {"x": np.arange(90.0)}, "time": np.arange(90)}
    more = {"groups": np.arange(90) % 5, "features": {"x": np.arange(90.0) ** 2}, "time": np.arange(90)[::-1]}
    digests = set()
    for given in ({}, *({name: value} for one in (some, more) for name, value in one.items())):
        facts = ct.audit(p, y, classes=names, n_resamples=9, rng=1, **given).models[0].sections["methods"].facts
        digests.add(facts["Digest of the data"])
        assert all(f"{name}={name}" in facts["Reproduce"] for name in (*given, "classes"))
    assert len(digests) == 7
    assert (
        "classes="
        not in ct.audit(p, np.arange(90) % 3, n_resamples=9, rng=1)["model"].sections["methods"].facts["Reproduce"]
    )


def test_an_impossible_outcome_matters_and_is_no_tiny_pvalue():
    rng = np.random.default_rng(1)
    p = rng.uniform(0.1, 0.9, 300)
    p[0] = 0.0
    audit = ct.audit(p, np.concatenate([[1], rng.random(299) < p[1:]]).astype(int), n_resamples=99, rng=1)
    assert "That matters however small the error is on average" in audit.models[0].reason
    assert "said to be impossible matter" in audit.models[0].sections["size"].answer
    assert audit.table()[2] == ("p-value", "0 (impossible)")


def test_pictures_have_names_of_classes():
    p = np.random.default_rng(1).dirichlet(np.ones(3), 60)
    names = ["fair", "good", "very bad"]
    audit = ct.audit(p, np.repeat(names, 20), classes=names, n_resamples=9, rng=1)
    pictures = audit.models[0].sections["pictures"].pictures
    axes = {one.alternative: Figure().add_subplot() for one in pictures}
    for one in pictures:
        one.draw(ax=axes[one.alternative], n_resamples=39)
    of_fair = axes["reliability diagram of class fair"]
    assert of_fair.get_xlabel() == "predicted probability, class fair against the rest"
    assert "reliability diagram of class 'very bad'" in axes
    triangle = next(ax for words, ax in axes.items() if words.startswith("map"))
    assert [text.get_text() for text in triangle.texts] == names


@pytest.mark.usefixtures("not_written")
def test_sections_of_a_field(only):
    only("size", "pictures", "methods")
    p, y = calibrated(300)
    audit = ct.audit(p, y, field="clinical", n_resamples=39, rng=1)
    assert list(audit.models[0].sections)[-2:] == ["clinical", "methods"]
    assert len(audit.models[0].sections["pictures"].pictures) == 2
    section = audit.models[0].sections["clinical"]
    assert section.answer.startswith(f"{int(y.sum())} events occurred")
    assert section.rows[1][0] == "O:E ratio"
    assert [picture.svg[:4] for picture in section.pictures] == ["<svg", "<svg"]
    assert 'field="clinical", n_resamples=39' in audit.models[0].sections["methods"].facts["Reproduce"]
    assert "What do reports of clinical prediction models ask for?" in unfolded(audit)
    assert "decision curve" in audit.to_html()
    assert ct.results.Audit.from_dict(audit.to_dict()).models[0].sections["clinical"].rows == section.rows
    only("size", "methods")
    p, y = np.full((6, 3), 1 / 3), np.arange(6) % 3
    assert ct.audit(p, y, field="clinical", n_resamples=9, rng=1).models[0].sections["clinical"].failed
    rng = np.random.default_rng(1)
    members, truths = rng.normal(size=(60, 9)), 2.0 * rng.normal(size=60)
    for field, words in (("weather", "rank histogram"), ("bayesian", "ranks of the true parameters")):
        section = ct.audit(ct.Ensemble(members), truths, field=field, n_resamples=39, rng=1).models[0].sections[field]
        assert words in section.pictures[0].alternative
        assert section.pictures[0].svg.startswith("<svg")
        assert "narrow" in unfolded(section) or "too close" in unfolded(section)
        assert (
            section.rejected
            == {"weather": "by the rank histogram", "bayesian": "by the ranks of the parameters"}[field]
        )
    right = ct.audit(
        ct.Ensemble(rng.normal(size=(60, 99, 2))), rng.normal(size=(60, 2)), field="bayesian", n_resamples=99, rng=1
    )
    section = right.models[0].sections["bayesian"]
    assert (section.failed, section.rejected) == (False, "")  # Draws of sorted pools would be too low.
    assert (
        ct.audit(np.full(9, 0.5), np.arange(9) % 2, field="weather", n_resamples=9).models[0].sections["weather"].failed
    )
    with pytest.raises(ValueError, match="field: got 'x', wanted"):
        ct.audit(p, y, field="x")


@pytest.mark.parametrize("shape", [(5, 4), (5, 4, 3)])
def test_members_without_the_outcome(shape):
    """The first coordinate of vectors is the same for all."""
    members = np.arange(np.prod(shape)).reshape(shape) * (np.arange(shape[-1]) > 0 if len(shape) > 2 else 1.0)
    place = np.array([0, 3, 1, 2, 3])
    wanted = np.stack([np.delete(row, at, axis=0) for row, at in zip(members, place, strict=True)])
    sample = as_sample(ct.Ensemble(wanted), members[np.arange(5), place])
    assert sample.predictions.members.shape == shape
    np.testing.assert_array_equal(_members(SimpleNamespace(sample=sample)), wanted)


@pytest.mark.parametrize(("events", "groups"), [(0, 2), (59, 2), (60, 3), (199, 9), (220, 10)])
def test_groups_of_risks_have_20_events_or_more(events, groups, monkeypatch):
    asked = []
    monkeypatch.setattr(ct.fields, "one_calibration", lambda *_, n_groups: asked.append(n_groups) or 1 / 0)
    times = ct.Censored(np.arange(1.0, 221.0), np.arange(220) < events)
    with pytest.raises(ZeroDivisionError):
        of_survival(SimpleNamespace(survival=(SimpleNamespace(longest=9.0), times), settings={}), None)
    assert asked == [groups]


def test_censored_times_that_look_misread_are_to_be_looked_at_first():
    rng = np.random.default_rng(3)
    scale = np.exp(rng.normal(6.5, 0.6, 300))
    time, end = scale * rng.exponential(size=300), rng.uniform(300.0, 600.0, 300)
    for unit, flags, words in (
        (30.44, time <= end, "First look at how the data were read: times multiplied by 30.44"),
        (1.0, time > end, "First look at how the data were read: times would fit the predictions if events were"),
    ):
        found = ct.audit(
            ct.Gamma(np.ones(300), scale), ct.Censored(np.minimum(time, end) / unit, flags), n_resamples=39, rng=1
        )
        assert (found.models[0].decision, words in found.models[0].reason) == ("do not use as it is", True)


@pytest.mark.parametrize(("n", "decision"), [(2500, "use as it is"), (100, "not enough data to tell")])
def test_censored_times_that_are_enough(n, decision):
    rng = np.random.default_rng(1)
    time, end = rng.exponential(size=n), rng.exponential(6.0, n)
    audit = ct.audit(ct.Gamma(np.ones(n), 1.0), ct.Censored(np.minimum(time, end), time <= end), n_resamples=99, rng=1)
    one = audit.models[0]
    assert (one.decision, one.result.pvalue > 0.05) == (decision, True)
    assert one.sections["power"].answer.startswith("Events at 0.9 times the predicted rate would be found in ")


@pytest.mark.parametrize(("form", "slow"), [("curves", 1.0), ("ensemble", 2.0), ("laws", 2.0), ("laws", 1.0)])
def test_censored_times_have_a_margin(form, slow):
    """Twice as many events as there are matter; the right number does not."""
    rng = np.random.default_rng(4)
    time, end = rng.exponential(slow, 900), rng.exponential(2.0, 900)
    targets, laws = ct.Censored(np.minimum(time, end), time <= end), ct.Gamma(np.ones(900), 1.0)
    if form == "ensemble":
        laws = ct.Ensemble(rng.exponential(1.0, (900, 15)))
    if form == "curves":
        grid = np.linspace(0.1, 5.0, 60)
        laws = ct.predictions.SurvivalCurve(grid, 1.0 - laws.cdf(grid[:, None]).T)
    audit = ct.audit(laws, targets, n_resamples=39, rng=1).models[0]
    assert ("The error matters" in audit.reason) == (slow > 1.0)
    heading, whole, *_ = audit.sections["size"].rows
    assert (heading[-2:], whole[0], whole[-1]) == (("points apart", "margin"), "events while observed", "10 %")
    # Those beyond all members are known to be there only.
    assert int(whole[2]) == (411 if form == "ensemble" else targets.event.sum())
    if slow > 1.0:
        assert re.search(r"events .* are \d+ to \d+ % off on average \(more than 10 matters\)", unfolded(audit.result))


def test_censored_times():
    """The audit is that of the integral transforms, with the section that survival analysis asks for."""
    rng = np.random.default_rng(1)
    rate, end = rng.uniform(0.2, 1.0, 300), rng.exponential(4.0, 300)
    time = rng.exponential(1.0 / rate)
    times, grid = ct.Censored(np.minimum(time, end), time <= end), np.linspace(0.2, 6.0, 30)
    curves = ct.predictions.SurvivalCurve(grid, np.exp(-1.6 * rate[:, None] * grid))
    audit = ct.audit(curves, times, clusters=np.arange(300) // 2, n_resamples=39, rng=1)
    sections = audit.models[0].sections
    assert "150 times, of which" in sections["data"].facts["Outcomes"]
    assert sections["size"].facts["Fault"].startswith("events come at 0.58 (0.5 to 0.67) times the predicted rate")
    assert sections["survival"].answer.startswith("At ")
    assert {"D-calibration", "A-calibration"} <= set(sections["survival"].facts)
    assert "there is no map of predicted times that are censored" in sections["recalibration"].answer
    assert "the answer on the size of the error" not in sections["power"].answer
    assert not sections["pictures"].failed
    assert all(picture.svg.startswith("<svg") for picture in sections["survival"].pictures)
    assert sections["survival"].pictures
    assert 'field="survival"' in sections["methods"].facts["Reproduce"] or "survival" in unfolded(audit)
    assert ct.audit([0.2, 0.4], [0, 1], field="survival", n_resamples=9).models[0].sections["survival"].failed


def test_parts_of_a_field_stand_without_the_others(monkeypatch):
    """The first one that can be computed leads; if none can, all reasons are said."""
    rng = np.random.default_rng(1)
    laws, times = ct.LogNormal(np.zeros(60), 1.0), rng.exponential(1.0, 60) + 0.1
    alike = ct.audit(laws, ct.Censored(times, np.arange(60) % 3 > 0), n_resamples=19, rng=1)
    section = alike.models[0].sections["survival"]
    assert section.answer.startswith("D-calibration: p ")
    assert "all risks are the same" in section.facts["One-calibration"]
    assert len(section.rows) == 11
    found = [(section.facts["A-calibration"], ct.fields.a_calibration), (section.answer, ct.fields.d_calibration)]
    for words, test in found:
        one = test(laws, ct.Censored(times, np.arange(60) % 3 > 0), n_resamples=19, rng=1)
        assert f"p {one.pvalue:.3g} (exact), {one.approximate:.3g} (as published)" in words
    long = ct.audit(laws, ct.Censored(times * 1e4, np.zeros(60)), n_resamples=19, rng=1).models[0]
    assert long.sections["survival"].rejected == "by D-calibration"
    few = ct.audit(ct.LogNormal(np.zeros(8), 1.0), ct.Censored(0.2 * times[:8], np.zeros(8)), n_resamples=19, rng=1)
    section = few.models[0].sections["survival"]
    assert "wanted at least 5; take calibration_test" in section.facts["A-calibration"]
    assert not section.failed
    fails = {name: lambda *_, **__: exec("raise ValueError('no')") for name in ("d_calibration", "a_calibration")}
    for name, failing in fails.items():
        monkeypatch.setattr(ct.fields, name, failing)
    section = ct.audit(laws, ct.Censored(times, np.zeros(60)), n_resamples=19, rng=1).models[0].sections["survival"]
    assert section.failed
    assert all(f"{name}-calibration not computed: " in section.answer for name in ("One", "D", "A"))


def test_sections_of_a_field_say_what_their_results_do():
    """Sources, notes, both p-values, O:E of all and of each group, benefits at thresholds that rare risks have."""
    rng = np.random.default_rng(3)
    p = rng.beta(1, 99, 300)
    y, groups = np.arange(300) % 150 == 0, np.arange(300) < 100
    model = ct.audit(p, y, groups, field="clinical", n_resamples=39, rng=1)["model"]
    facts, sources = model.sections["clinical"].facts, model.sections["methods"].facts["Sources"]
    assert "no intervals of ICI, E50, E90 and Emax: 2 with the event" in facts["Notes"]
    assert "no intervals of losses" in facts["Notes"]
    assert re.fullmatch(
        r"per 1000, treating from a risk of 0\.75 %: [-.\d]+ \(.*\), treating all -0\.8; 1\.4 %: .*",
        facts["Net benefit"],
    )
    assert re.fullmatch(r"False [.\d]+ \(.*\); True [.\d]+ \(.*\)", facts["O:E ratios"])
    for name in ("Cox (1958)", "Vickers and Elkin (2006)", "Hoeffding (1956)", "Westfall and Wolfinger (1997)"):
        assert name in sources
    time, end = rng.exponential(size=200), rng.exponential(size=200)
    law = ct.Gamma(np.ones(200), np.linspace(0.8, 1.2, 200))
    model = ct.audit(law, ct.Censored(np.minimum(time, end), time <= end), n_resamples=39, rng=1)["model"]
    facts, sources = model.sections["survival"].facts, model.sections["methods"].facts["Sources"]
    assert re.fullmatch(r"[.\d]+ \(exact\), [.\d]+ \(as published\)", facts["p-value"])
    assert re.fullmatch(r"[.\d]+ \([.\d]+ to [.\d]+\)", facts["O:E ratio"])
    for name in ("Demler, Paynter and Cook (2015)", "Haider", "Akritas (1988)"):
        assert name in sources
    states = np.cumsum(rng.normal(size=300))
    members = ct.Ensemble(states[:, None] + rng.normal(size=(300, 9)))
    walk = states + np.repeat(rng.normal(size=60), 5)
    model = ct.audit(members, walk, time=np.arange(300), field="weather", n_resamples=99, rng=1)["model"]
    facts, sources = model.sections["weather"].facts, model.sections["methods"].facts["Sources"]
    assert "ranks of dates that should be independent are correlated" in facts["Notes"]
    assert all(f"{name} " in facts["CRPS"] for name in ("fair CRPS", "reliability", "uncertainty"))
    assert facts["CRPS"].endswith("p 0.01, of more reliability than by chance")
    assert facts["Notes"].count("persistent rain") == 1
    assert "mean rank of the outcome as a share" in facts["Estimates"]
    assert all(name in sources for name in ("Hamill (2001)", "Hersbach (2000)"))
    draws = ct.Ensemble(rng.normal(size=(60, 9)))
    model = ct.audit(draws, rng.normal(size=60), field="bayesian", n_resamples=39, rng=1)["model"]
    assert "only 9 draws of each simulation" in model.sections["bayesian"].facts["Notes"]
    assert "Talts" in model.sections["methods"].facts["Sources"]


def test_what_decisions_cost_is_said_of_each_hospital_with_other_numbers_of_events():
    rng = np.random.default_rng(1)
    p, site = rng.beta(1.0, 3.0, 900), np.repeat(["A", "B", "C"], 300)
    y = rng.random(900) < np.where(site == "B", np.minimum(1.8 * p, 0.98), p)
    facts = ct.audit(p, y, site, field="clinical", n_resamples=39, rng=1)["model"].sections["clinical"].facts
    assert [name for name in facts if name.startswith("Decisions")] == ["Decisions", "Decisions in B"]
    places = [float(cell) / 100 for cell in re.findall(r"([\d.]+) %", facts["Decisions"].split(";")[0])]
    of_b = ct.fields.clinical.decision_curve(p[site == "B"], y[site == "B"], places, n_resamples=99, rng=1)
    assert facts["Decisions in B"] == of_b.verdict()


def test_clinical_groups_and_risks_without_odds():
    p, y = calibrated(200)
    y = np.where(np.arange(200) < 100, 0, y)
    section = ct.audit(p, y, np.arange(200) < 100, field="clinical", n_resamples=19, rng=1)["model"].sections[
        "clinical"
    ]
    assert section.facts["Groups"] == (
        "reject calibration at the 5 % level in 1 of 2 groups: fewer events than predicted in True"
    )
    assert len(section.pictures) == 3
    section = ct.audit(np.zeros(60), np.zeros(60), field="clinical", n_resamples=19)["model"].sections["clinical"]
    assert section.answer == "0 events occurred and 0 were expected."
    assert "there is no threshold to take" in section.facts["Decisions"]


def test_bad_input():
    p, y = calibrated(50)
    for wrong, message in (
        ({"features": {"x": np.arange(9)}}, r"features\['x'\]"),
        ({"groups": {"a": np.ones(9, dtype=bool)}}, "groups"),
        ({"time": np.arange(9)}, "time"),
        ({"time": np.where(np.arange(50) == 7, np.nan, 1.0)}, "missing time at row 7"),
        ({"time": [None] * 50}, "missing time at row 0"),
        (
            {"time": ["31/1/2026", "1/2/2026"] * 25},
            "time: got text such as '31/1/2026', wanted numbers, dates, or text",
        ),
        ({"time": [1, "a"] * 25}, "time: got text such as 'a'"),
        ({"time": np.ones(50)}, "time: got 1.0 for all rows"),
        ({"clusters": np.arange(9)}, "clusters"),
        ({"n_resamples": 0}, "n_resamples"),
    ):
        with pytest.raises(ValueError, match=message):
            ct.audit(p, y, **wrong)
    for time, error in ((3, ValueError), ([1j, 2.0] * 25, TypeError)):
        with pytest.raises(error, match="time: got"):
            ct.audit(p, y, time=np.array(time, dtype=object))
    with pytest.raises(ValueError, match="empty dictionary"):
        ct.audit({}, y)


def test_times_are_put_in_order_whatever_they_are():
    """Unsorted, tied, as text of any ISO form; rows of the same time stay in their order."""
    days = np.array([3, 1, 2, 1, 10])
    wanted = [1, 3, 2, 0, 4]
    for time in (
        days,
        [date(2026, 1, one) for one in days.tolist()],
        [f"2026-{one:02}" for one in days],
        [f"2026-01-{one:02}T12:00{zone}" for one, zone in zip(days, ("Z", "+00:00") * 3, strict=False)],
        pd.period_range("2026-01-01", periods=10)[days - 1],
    ):
        assert in_order(np.asarray(time), 5).tolist() == wanted


def test_kernel_errors_before_and_after_a_map_are_of_some_of_many_rows(monkeypatch):
    rng = np.random.default_rng(1)
    mean = rng.normal(size=200)
    data = ct.Normal(mean, 1.0), mean + 1.5 * rng.normal(size=200)
    whole = ct.audit(*data, n_resamples=19, rng=1).models[0].sections["recalibration"]
    assert "SKCE" not in whole.facts
    monkeypatch.setattr(sys.modules["caltest.recalibration.report"], "ALL_PAIRS", 100)
    some = ct.audit(*data, n_resamples=19, rng=1).models[0].sections["recalibration"]
    assert some.facts["SKCE"] == "of 100 rows, evenly spaced among all"
    kernel = shared_kernel(None, [data[0], some.mapped.predictions])
    expected = ct.SKCE(kernel).estimate(as_sample(*data).take(np.arange(100) * 2))
    rows = {row[0]: row[1:] for row in some.rows}
    assert float(rows.pop("SKCE")[0]) == pytest.approx(expected, rel=1e-2)
    assert rows == {row[0]: row[1:] for row in whole.rows if row[0] != "SKCE"}


def test_names_cannot_break_or_inject():
    """Control characters are written as Python writes them, in text and page, and markup is text."""
    p, y = calibrated(60)
    evil = "<script>alert(1)</script> $\\frac{a}{b}$ \x1b[31mred \u202egnp"
    groups = np.array([evil, "b\x07"])[np.arange(60) % 2]
    law = ct.Categorical(np.stack([1 - p, p], axis=1), classes=[evil, "other\x1b[1m"])
    audit = ct.audit({evil: law}, np.array(law.classes)[y], groups=groups, title=evil, n_resamples=9, rng=1)
    for text in (str(audit), audit.to_html(), audit.to_junit(), str(audit.models[0].result)):
        assert not {"\x1b", "\x07", "\u202e"} & set(text)
        assert "\\x1b[31mred" in text or text == str(audit.models[0].result)
    assert "<script>alert" not in audit.to_html()


@pytest.mark.parametrize(
    ("groups", "why"),
    [
        (np.arange(60), "there is no group of 10 clusters or more"),
        (np.stack([np.arange(60), np.arange(60)], axis=1), "wanted booleans that say who belongs to the group"),
    ],
)
def test_groups_that_are_none_stop_no_other_section(groups, why):
    p, y = calibrated(60)
    model = ct.audit(p, y, groups=groups, clusters=np.arange(60), n_resamples=9, rng=1).models[0]
    assert model.sections["groups"].failed
    assert why in model.sections["groups"].answer
    assert ("were not looked at" in model.reason) == ("booleans" in why)
    assert not model.sections["size"].failed


@pytest.mark.usefixtures("few_sections")
@pytest.mark.parametrize("missing", [None, np.nan, " "])
def test_rows_without_a_group_leave_the_decision_to_the_others(missing):
    """They are a group of their own, and those that are too small are named."""
    rng = np.random.default_rng(1)
    sites = rng.choice(["a", "b"], 2000).astype(object)
    p = rng.uniform(0.2, 0.6, 2000)
    y = (rng.random(2000) < p + 0.15 * (sites == "b") - 0.15 * (sites == "a")).astype(int)
    whole = ct.audit(p, y, groups=sites, n_resamples=99, rng=1).models[0]
    sites[:20], sites[30] = missing, "tiny"
    model = ct.audit(p, y, groups=sites, n_resamples=99, rng=1).models[0]
    assert model.decision == whole.decision
    assert "error matters in" in model.reason
    assert {row[0] for row in model.sections["groups"].rows[1:]} == {"a", "b", "missing"}
    assert "Groups of fewer than 10 rows are left out: tiny." in model.sections["groups"].answer


def test_sections_agree_with_each_other(monkeypatch):
    """Brier scores are those of the event everywhere, and what is not known is not called answered."""
    monkeypatch.setattr("caltest.auditing.sections.LEAST_POWER", 0.0)
    rng = np.random.default_rng(1)
    risk = rng.beta(1, 9, 600)
    one = ct.audit(risk, (rng.random(600) < 1.8 * risk).astype(int), n_resamples=39, rng=1).models[0]
    brier = {row[0]: row[2] for row in one.sections["size"].rows}["Brier score"]
    assert float(one.sections["recalibration"].rows[2][1]) == pytest.approx(float(brier), rel=0.3)
    assert "BetaCalibration().fit(predictions, targets)" in one.sections["recalibration"].facts["How"]
    events = (np.random.default_rng(2).random(150) < risk[:150]).astype(int)
    few = ct.audit(risk[:150], events, n_resamples=39, rng=1).models[0]
    rows = few.reason.split("about ")[1].split(" rows")[0]
    assert f"takes about {rows} rows" in few.sections["power"].answer
    assert set(rows[2:]) <= {"0"}
    draws = np.random.default_rng(3).normal(size=(80, 6))
    members = ct.audit(ct.Ensemble(draws[:, 1:]), draws[:, 0], n_resamples=39, rng=1).models[0]
    assert "could have been missed" in members.reason
    assert members.sections["power"].failed
    assert "raises the fair CRPS in 5-fold" in members.sections["recalibration"].answer


def test_rows_needed_are_those_of_a_test_of_a_mean():
    """A z-test of the 5 % level with power .5 at n needs ((.8416 + 1.6449) / 1.6449)^2 n for .8."""
    assert rows_needed(1000, 0.5, 0.05, 0.8) == pytest.approx(1000 * (2.4865 / 1.6449) ** 2, rel=1e-3)
    assert rows_needed(1000, 0.0, 0.05, 0.8) is None
    assert rows_needed(1000, 0.01, 0.05, 0.8) is None


@pytest.mark.parametrize(
    ("found", "said"),
    [(0, None), (24, "many times as many rows"), (59, "many times as many rows"), (80, "about 1300 rows")],
)
def test_no_rows_are_counted_where_the_power_is_mostly_chance(found, said):
    """Of 400 sets 24 are found, 4 more than of calibrated ones: the number of rows was 100 times n, or 5 times."""
    pvalues = np.sort(np.where(np.arange(400) < found, 0.01, 0.5))
    result = SimpleNamespace(n=133, detectable=ct.results.Detectable("", pvalues, np.full(400, 1 / 400)))
    assert more_rows_in_words(result, "about", "rows") == said
    assert found > 59 or more_rows_in_words(result, "at most", "clusters") is None


def test_quantile_forecasts_are_audited():
    rng = np.random.default_rng(1)
    middle = rng.normal(size=200)
    forecasts = ct.QuantileForecast([0.1, 0.5, 0.9], middle[:, None] + np.array([-1.28, 0.0, 1.28]))
    model = ct.audit(forecasts, middle + 2.0 * rng.normal(size=200), n_resamples=39, rng=1).models[0]
    assert "lowers the quantile loss in 5-fold" in model.sections["recalibration"].answer
    assert model.decision == "recalibrate"
    assert model.sections["data"].answer == "All 200 rows with outcomes are used."
    assert model.sections["data"].facts["Outcomes"].startswith("in 4 intervals between quantiles, from ")
    assert model.sections["groups"].answer == "Not computed: there are no groups; give groups=."
    (picture,) = model.sections["pictures"].pictures
    assert "up to each quantile" in picture.alternative
    assert "<svg" in picture.svg


def test_the_first_four_coordinates_and_the_four_worst_classes_have_pictures():
    vectors = as_sample(ct.MvNormal(np.zeros((9, 6)), 1.0), np.zeros((9, 6)))
    assert [one.alternative.split(", ")[0][-12:] for one in pictures_of(vectors, 1)] == [
        f"coordinate {t}" for t in range(4)
    ]
    classes = as_sample(np.full((9, 6), 1.0 / 6.0), np.arange(9) % 6)
    assert [one.alternative for one in pictures_of(classes, 1, [5, 0, 3, 1, 2, 4])[2:]] == [
        f"reliability diagram of class {c}" for c in (5, 0, 3, 1)
    ]


def test_numbers_and_coordinates_of_vectors_have_pictures():
    rng = np.random.default_rng(1)
    mean = rng.normal(size=(60, 2))
    of_numbers = pictures_of(as_sample(ct.Normal(mean[:, 0], 1.0), mean[:, 1]), 1)
    assert [one.alternative[:9] for one in of_numbers] == ["histogram", "coverage "]
    for predictions in (ct.MvNormal(mean, np.ones(60)), ct.Ensemble(mean[:, None] + rng.normal(size=(60, 8, 2)))):
        audit = ct.audit(predictions, mean + rng.normal(size=(60, 2)), n_resamples=19, rng=1)
        pictures = audit.models[0].sections["pictures"].pictures
        assert [re.search(r"coordinate \d", one.alternative)[0] for one in pictures] == ["coordinate 0", "coordinate 1"]
        assert all("<svg" in one.svg for one in pictures)


@pytest.mark.parametrize("family", ["counts", "vectors"])
def test_no_map_is_named_that_does_not_take_the_predictions(family):
    rng = np.random.default_rng(1)
    if family == "counts":
        rates = rng.uniform(1.0, 20.0, 600)
        data = ct.Poisson(rates), np.where(rng.random(600) < 0.25, 0, rng.poisson(rates))
    else:
        data = ct.MvNormal(np.zeros((600, 2)), np.ones((600, 2))), rng.normal(size=(600, 1)) @ [[1.0, 3.0]]
    section = ct.audit(*data, n_resamples=99, rng=1).models[0].sections["recalibration"]
    assert section.answer.endswith("What is left needs another model.")


def test_units_of_ensembles_are_asked_about():
    rng = np.random.default_rng(4)
    flow = np.exp(1.0 + 0.5 * rng.normal(size=(60, 1))) * np.exp(0.2 * rng.normal(size=(60, 6)))
    audit = ct.audit(ct.Ensemble(flow[:, :5]), flow[:, 5] / 1000.0, n_resamples=19, rng=1)
    asked = "outcomes multiplied by 1000 or so would fit the predictions: are both in the same unit?"
    assert audit.models[0].sections["data"].facts["Notes"] == asked


RNG = np.random.default_rng(8)
MEANS, PROBABILITIES = RNG.normal(50.0, 20.0, 80), RNG.dirichlet(np.ones(3), 80)
LABELS = np.array([RNG.choice(3, p=row) for row in PROBABILITIES])
FAMILIES = {
    "quantiles": (ct.QuantileForecast([0.1, 0.5, 0.9], MEANS[:, None] + [-1.3, 0.0, 1.3]), MEANS + RNG.normal(size=80)),
    "curves": (
        ct.predictions.SurvivalCurve([1.0, 2.0, 9.0], np.exp(-np.array([[0.2, 0.4, 1.8]] * 80))),
        RNG.exponential(5.0, 80),
    ),
    "names that are places of others": (ct.Categorical(PROBABILITIES, classes=[2, 0, 1]), np.array([2, 0, 1])[LABELS]),
    "ordered": (ct.Ordinal(PROBABILITIES, classes=[2, 5, 9]), np.array([2, 5, 9])[LABELS]),
}


@pytest.mark.usefixtures("few_sections")
@pytest.mark.parametrize(("p", "y"), FAMILIES.values(), ids=FAMILIES)
def test_the_test_of_an_audit_is_that_of_its_data(p, y):
    wanted = ct.calibration_test(p, y, n_resamples=19, rng=1)
    assert ct.audit(p, y, n_resamples=19, rng=1).models[0].result.statistic == pytest.approx(wanted.statistic)


@pytest.mark.parametrize(("p", "y"), FAMILIES.values(), ids=FAMILIES)
def test_what_is_kept_of_clusters_are_rows_of_the_data(p, y):
    some, kept = ct.estimators.one_per_cluster(p, y, np.arange(80) // 2, rng=1)
    pairs = y.reshape(40, 2)
    assert ((kept == pairs[:, 0]) | (kept == pairs[:, 1])).all()
    assert ct.SequentialCalibrationTest()(some, kept).n == 40


@pytest.mark.parametrize(("n", "said"), [(51, 51), (100, 100), (101, 110), (1234, 1300), (99_001, 100_000)])
def test_numbers_of_rows_have_two_digits(n, said, monkeypatch):
    monkeypatch.setattr("caltest.auditing.sections.rows_needed", lambda *_: n)
    result = SimpleNamespace(n=50, detectable=SimpleNamespace(power=lambda _: 0.5))
    assert more_rows_in_words(result, "about", "rows") == f"about {said} rows"
    assert more_rows_in_words(SimpleNamespace(n=n, detectable=result.detectable), "about", "rows") is None


def test_maps_of_clusters_are_fitted_to_other_clusters():
    """Copies of rows say no more than the rows: the gain of a map has nearly the error that it has of these alone."""
    rng = np.random.default_rng(5)
    p = rng.uniform(0.2, 0.8, 600)
    y = (rng.random(600) < p - 0.15).astype(int)
    copies = {"clusters": np.repeat(np.arange(600), 4), "n_resamples": 39, "rng": 1}
    model = ct.audit(np.repeat(p, 4), np.repeat(y, 4), **copies).models[0]
    alone = ct.audit(p, y, n_resamples=39, rng=1).models[0]
    found, wanted = (one.sections["recalibration"] for one in (model, alone))
    assert found.gain == pytest.approx(wanted.gain, abs=0.01)
    errors = [float(re.search(r"standard error ([\d.]+)", one.answer)[1]) for one in (found, wanted)]
    assert errors[0] == pytest.approx(errors[1], rel=0.2)
    assert model.decision == alone.decision == "recalibrate"


def shifted_normals(rng, mean):
    return ct.Normal(mean, 1.0), mean + 0.4 + rng.normal(size=mean.size)


def overdispersed_counts(rng, mean):
    rates = np.exp(1.0 + 0.5 * mean)
    return ct.Poisson(rates), rng.poisson(rates * rng.gamma(2.0, 0.5, mean.size))


def shifted_ensembles(rng, mean):
    return ct.Ensemble(mean[:, None] + rng.normal(size=(mean.size, 20))), mean - 0.5 + rng.normal(size=mean.size)


@pytest.mark.usefixtures("few_sections")
@pytest.mark.parametrize("make", [shifted_normals, overdispersed_counts, shifted_ensembles])
def test_a_shift_and_a_factor_are_what_the_audit_advises(make):
    rng = np.random.default_rng(3)
    model = ct.audit(*make(rng, rng.normal(size=400)), n_resamples=99, rng=1).models[0]
    section = model.sections["recalibration"]
    assert model.decision == "recalibrate"
    assert section.facts["How"].startswith("caltest.recalibration.ShiftAndScale().fit(predictions, targets)")
    assert float(section.rows[-1][2]) > 0.05


def one_class_too_extreme(n, k, rng):
    """Probabilities, and labels of which class 3 alone has odds that are half as far from even as predicted."""
    p = rng.dirichlet(np.full(k, 0.5), n).clip(1e-6)
    p /= p.sum(axis=1, keepdims=True)
    own = p[:, 3] ** 0.4
    own *= p[:, 3].mean() / own.mean()
    others = np.delete(p, 3, axis=1)
    others *= ((1.0 - own) / others.sum(axis=1))[:, None]
    return p, ct.Categorical(np.insert(others, 3, own, axis=1)).sample(rng)


def test_classes_that_occur_as_often_as_claimed_are_found_by_their_slope():
    p, y = one_class_too_extreme(4000, 6, np.random.default_rng(1))
    found = compared_classes(ct.Categorical(p), y, 99, 1)
    assert found.worst[0] == 3
    assert found.adjusted[3] == 0.01
    assert found.words[3] == "too extreme"
    assert abs((y == 3).mean() - p[:, 3].mean()) < 0.015


@pytest.mark.usefixtures("no_power")
def test_classes_have_a_table_beside_groups_and_the_worst_have_pictures(only):
    only("pictures", "groups")
    p, y = one_class_too_extreme(2000, 16, np.random.default_rng(1))
    section = ct.audit(p, y, np.arange(2000) % 2, n_resamples=39, rng=1).models[0].sections["pictures"]
    assert section.rows[0] == ("class", "claimed", "observed", "p-value", "adjusted", "probabilities are")
    assert (section.rows[1][0], section.rows[1][-1], len(section.rows)) == ("class 3", "too extreme", 17)
    assert section.answer.endswith("adjusted for all of them.")
    assert section.pictures[2].alternative == "reliability diagram of class 3"


@pytest.mark.usefixtures("no_power")
def test_many_groups_are_all_in_the_files_and_the_first_in_view(only):
    only("groups")
    rng = np.random.default_rng(1)
    p, part = rng.random(900), np.array([f"<b>{i}" for i in range(30)])[np.arange(900) % 30]
    audit = ct.audit(p, rng.random(900) < p, groups=part, n_resamples=39, rng=1)
    names = [f"<b>{i}" for i in range(30)]
    section = audit.models[0].sections["groups"]
    assert sorted(row[0] for row in section.rows[1:]) == sorted(names)
    assert [len(section.first_rows), len(section.other_rows)] == [13, 19]
    assert "  and 18 others, in the .html and .json files" in str(audit)
    page = audit.to_html()
    shown, folded = page.split("<summary>18 others</summary>")
    assert all(f"{escape(row[0])}</th>" in shown for row in section.first_rows[1:])
    assert all(f"{escape(row[0])}</th>" in folded for row in section.other_rows[1:])


@pytest.mark.statistical
def test_calibrated_classes_are_rejected_with_the_level():
    rng, number = np.random.default_rng(1), 200
    laws = (ct.Categorical(rng.dirichlet(np.full(6, 0.4), 100)) for _ in range(number))
    smallest = [compared_classes(law, law.sample(rng), 39, i).adjusted.min() for i, law in enumerate(laws)]
    assert sum(one <= 0.05 for one in smallest) <= stats.binom.ppf(0.999, number, 0.05)


def test_an_impossible_class_and_constant_predictions_have_p_values():
    p = np.tile([0.5, 0.5, 0.0], (30, 1))
    found = compared_classes(ct.Categorical(p), np.arange(30) % 2, 39, 1)
    assert found.adjusted[2] == 1.0
    assert compared_classes(ct.Categorical(p), np.arange(30) % 3, 39, 1).adjusted[2] == 0.025


@pytest.mark.usefixtures("no_power")
def test_models_beside_each_other_have_what_is_claimed_in_brackets_or_alone(only):
    only("size")
    law = ct.Normal(np.random.default_rng(1).normal(size=100), 0.5)
    rows = ct.audit({"a": law, "b": law}, law.sample(1), n_resamples=39).table()
    table = {name: cells for name, *cells in rows}
    assert table["predicted standard deviation"] == ["0.5", "0.5"]
    assert all("(claimed 80.0 %)" in cell for cell in table["inside the 80 % interval"])


def test_the_table_of_recalibration_has_no_empty_lines():
    found = ct.audit(np.linspace(0.1, 0.9, 60), np.arange(60) % 2, n_resamples=19, rng=1)
    rows = found["model"].sections["recalibration"].rows
    assert [row[0] for row in rows][-2:] == ["SKCE", "p"]
    assert not [row for row in rows if set(row[1:]) == {"-"}]


def test_the_paragraph_on_methods_says_in_which_parts_calibration_is_rejected():
    """Not only what the test of all rows says, which does not reject."""
    rng = np.random.default_rng(1)
    p, rows = rng.uniform(0.2, 0.8, 600), np.arange(600)
    shift = np.where(rows % 3 == 0, 0.25, -0.12)
    y = rng.random(600) < p + shift
    found = ct.audit(p, y, groups=np.array(["north", "south", "west"])[rows % 3], n_resamples=199, rng=1)["model"]
    quiet = ct.audit(p, rng.random(600) < p, groups=rows % 3, n_resamples=199, rng=1)["model"]
    answer = found.sections["methods"].answer
    assert "Calibration was rejected in" in answer
    assert "north" in answer.split("Calibration was rejected in")[1]
    assert quiet.result.pvalue > 0.05
    assert "Calibration was rejected" not in quiet.sections["methods"].answer


def test_groups_get_maps_of_their_own_where_one_map_leaves_errors():
    rng, rows = np.random.default_rng(1), np.arange(400)
    season, centre = np.array(["winter", "spring", "summer", "autumn"])[rows // 30 % 4], rng.normal(5.0, 2.0, 400)
    forecast = ct.Ensemble(centre[:, None] + rng.normal(size=(400, 20)) / 1.4)
    for shift in (1.0, 0.0):
        outcomes = centre + rng.normal(size=400) + shift * (season == "winter")
        found = ct.audit(forecast, outcomes, groups=season, n_resamples=99, rng=1)["model"]
        repair = found.sections["recalibration"]
        assert found.decision == "recalibrate"
        said = "after it the error still matters in winter: recalibrate each of the 4 groups by itself"
        assert (said in found.reason) == (shift > 0.0)
        assert ("in each of the 4 groups" in repair.answer) == (shift > 0.0)
        assert ("the rows of each group" in repair.facts["How"]) == (shift > 0.0)


@pytest.mark.usefixtures("without_findings")
def test_maps_of_groups_are_those_of_their_rows_alone():
    rng = np.random.default_rng(2)
    p, groups = rng.uniform(0.1, 0.9, 200), np.arange(200) % 2
    y = (rng.random(200) < np.where(groups == 1, p**2, p)).astype(int)
    observed = Observed.of(p, y, "probabilities")
    folds, method = rng.integers(0, 4, 200), ct.recalibration.BetaCalibration()
    found = observed.in_folds(method, folds, groups).predictions
    for group in range(2):
        rows = np.flatnonzero(groups == group)
        alone = observed.take(rows).in_folds(method, folds[rows]).predictions
        np.testing.assert_allclose(found.take(rows).probability, alone.probability, rtol=1e-12)


def test_an_error_of_one_group_that_may_matter_is_not_used_as_it_is():
    """Of all rows it is too small to be found; of counts a tenth of their number is what matters."""
    rng = np.random.default_rng(3)
    region, mean = np.repeat(["east", "south", "north", "west"], 2_400), rng.gamma(4.0, 0.03, 9_600)
    y = rng.poisson(mean * np.where(region == "east", 1.33, 1.0))
    model = ct.audit(ct.Poisson(mean), y, region, n_resamples=99, rng=1)["model"]
    assert model.decision == "do not use as it is"
    assert "the error matters in east" in model.reason
    head, first = model.sections["groups"].rows[:2]
    assert head == ("group", "n", "observed", "expected", "ratio (95 %)", "adjusted", "what is wrong")
    observed, expected = y[region == "east"].sum(), mean[region == "east"].sum()
    assert first[:4] == ("east", "2400", str(observed), f"{expected:.4g}")
    assert first[4].startswith(f"{observed / expected:.2f} (1.")
    slightly = rng.poisson(mean * np.where(region == "east", 1.17, 1.0))
    unclear = ct.audit(ct.Poisson(mean), slightly, region, n_resamples=99, rng=1)["model"]
    assert unclear.decision == "not enough data to tell"
    assert "whether it matters in east cannot be told" in unclear.reason
    assert unclear.sections["groups"].unclear == ("east",)
    right = ct.audit(ct.Poisson(mean), rng.poisson(mean), region, n_resamples=99, rng=1)["model"]
    assert (right.decision, right.sections["groups"].unclear) == ("use as it is", ())


def test_groups_in_all_of_which_the_error_matters_as_in_all_rows_are_not_different(only):
    only("size", "groups")
    p, y = calibrated(4_000)
    group, rng = np.arange(4_000) % 2, np.random.default_rng(3)
    wrong = p**3 / (p**3 + (1 - p) ** 3)
    everywhere = ct.audit(wrong, y, groups=group, n_resamples=39, rng=1)["model"]
    assert everywhere.sections["groups"].grave.keys() == {"0", "1"}
    assert everywhere.decision == "do not use as it is"
    assert everywhere.advice.startswith("Try another recalibration, as caltest.recalibration.fit_best does, or refit")
    # Errors that cancel in all rows together are those of groups.
    opposite = (rng.random(4_000) < p + np.where(group == 1, 0.7, -0.7) * p * (1.0 - p)).astype(int)
    apart = ct.audit(p, opposite, groups=group, n_resamples=39, rng=1)["model"]
    assert len(apart.sections["groups"].grave) == 2
    assert apart.advice.startswith("Find out what is different in")


def test_what_to_do_next_is_said_of_each_decision(only):
    only("size", "groups", "time", "recalibration", "power")
    p, y = calibrated(2_000)
    group, wrong = np.arange(2_000) % 4, p**2 / (p**2 + (1 - p) ** 2)
    bad = np.where((group == 1) & (np.arange(2_000) % 3 == 0), 1, y)
    late = np.where((np.arange(2_000) >= 1_500) & (np.arange(2_000) % 3 == 0), 1, y)

    def advice(p, y, **more):
        model = ct.audit(p, y, n_resamples=39, rng=1, **more)["model"]
        return model.decision, model.advice

    assert advice(*calibrated(6_000)) == (
        "use as it is",
        "Use the predictions as they are, and audit again when the model or the population changes.",
    )
    decided, said = advice(p[:100], y[:100])
    assert decided == "not enough data to tell"
    assert said.startswith("Audit again with more rows (")
    decided, said = advice(wrong[:500], y[:500])
    assert decided == "recalibrate"
    assert said.startswith(
        "Recalibrate (caltest.recalibration.BetaCalibration().fit(predictions, targets), on rows kept"
    )
    decided, said = advice(p, bad, groups={"one": group == 1, "other": group == 2})
    assert decided == "do not use as it is"
    assert said.startswith("Find out what is different in one; tell the model of it, or recalibrate these rows by")
    decided, said = advice(p, late, time=np.arange(2_000))
    assert decided == "do not use as it is"
    assert said.startswith("Find out what is different in the last quarter; recalibrate with recent rows, or refit")
    audit = ct.audit(p, y, n_resamples=39, rng=1)
    assert re.search("What to do +Use the predictions as they are", unfolded(audit))
    assert "What to do:</b> Use the predictions as they are" in audit.to_html()


def test_an_error_that_the_interval_of_its_group_shows_matters(only):
    """Also where the gap of tenths, which is wider, does not tell."""
    only("size", "groups")
    rng = np.random.default_rng(5)
    region, mean = rng.choice(["east", "north", "south", "west"], 8_000), 0.6 * rng.gamma(5.0, 0.05, 8_000)
    claims = rng.poisson(mean * np.where(region == "east", 1.28, 1.0))
    sections = ct.audit(ct.Poisson(mean), claims, region, n_resamples=99, rng=1)["model"].sections
    assert "the sum of counts, is in per cent of what is expected" in sections["size"].facts["Points apart"]
    section = sections["groups"]
    (low,) = re.findall(r"\((.*?) to", section.rows[1][4])
    assert float(low) > 1.1
    assert list(section.grave) == ["east"]


def test_events_of_groups_are_observed_and_expected(only):
    only("groups")
    p, y = calibrated(600, 3)
    ward = np.arange(600) % 3
    section = ct.audit(p, y, ward, n_resamples=39, rng=1)["model"].sections["groups"]
    events = "observed", "expected", "ratio (95 %)"
    assert section.rows[0] == ("group", "n", *events, "risk", "rate", "adjusted")
    for row in section.rows[1:]:
        inside = ward == int(row[0])
        assert row[2:4] == (str(y[inside].sum()), f"{p[inside].sum():.4g}")
        assert row[4].startswith(f"{y[inside].sum() / p[inside].sum():.2f} (")
    assert "The ratio is that of observed to expected events (class 1)" in section.answer


@pytest.mark.parametrize("kind", ["dates", "years", "text"])
def test_alarms_and_quarters_have_the_times_that_are_given(kind):
    p, y = calibrated(1_200, 5)
    days = np.datetime64("2021-01-01") + np.arange(1_200)
    wrong = np.where(np.arange(1_200) >= 900, 1 - y, y)
    time = {"dates": days, "years": 2010 + np.arange(1_200) // 100, "text": days.astype(str)}[kind]
    shuffled = np.random.default_rng(1).permutation(1_200)
    if kind == "years":
        shuffled = np.sort(shuffled)
    section = ct.audit(p[shuffled], wrong[shuffled], time=time[shuffled], n_resamples=39, rng=1)["model"].sections[
        "time"
    ]
    first = int(re.search(r"after (\d+) of", section.answer)[1])
    assert f"in the order of time (at time {time[first - 1]})." in section.answer
    assert f"second quarter {time[300]} to {time[599]}; third" in section.facts["Quarters"]


@pytest.mark.usefixtures("not_written")
def test_nothing_of_what_looks_dependent_is_called_exact_without_a_condition():
    """In any section, nor in the report of the test."""
    z = np.random.default_rng(1).normal(size=700)
    for i in range(1, 700):
        z[i] = 0.6 * z[i - 1] + 0.8 * z[i]
    model = ct.audit(ct.Normal(np.zeros(700), 1.0), z, time=np.arange(700), n_resamples=39, rng=1)["model"]
    assert "First check whether rows are independent" in model.reason
    for name, section in model.sections.items():
        told = " This holds if rows are independent, which is doubtful here: see the decision." in section.answer
        assert told == (name != "data" and not section.failed), name
        assert not any("exact" in one.alternative for one in section.pictures)
    assert "exact if rows are independent" in unfolded(model.result)
    z = np.random.default_rng(1).normal(size=700)
    right = ct.audit(ct.Normal(np.zeros(700), 1.0), z, n_resamples=39, rng=1)["model"]
    assert right.sections["test"].answer.endswith("its p-value is exact for every n.")
    assert "exact: size at most alpha for every n" in unfolded(right.result)


def test_years_that_are_bad_as_a_whole_are_asked_about():
    rng = np.random.default_rng(4)
    year, pd = np.repeat(2010 + np.arange(10), 500), rng.choice([0.02, 0.1], 5_000)
    bad = stats.norm.ppf(pd) + 0.4 * rng.normal(size=10)[year - 2010]
    default = rng.random(5_000) < stats.norm.cdf(bad)
    model = ct.audit(pd, default, time=year, n_resamples=39, rng=1)["model"]
    assert "First check whether rows are independent: errors of rows of the same time are alike" in model.reason
    independent = ct.audit(pd, rng.random(5_000) < pd, time=year, n_resamples=39, rng=1)["model"]
    assert "First check" not in independent.reason


def test_wards_of_which_many_are_wrong_as_a_whole_are_asked_about(only):
    only("data")
    rng = np.random.default_rng(4)
    ward, risk = np.repeat(np.arange(20), 200), rng.choice([0.05, 0.2], 4_000)
    bad = stats.norm.ppf(risk) + 0.4 * rng.normal(size=20)[ward]
    event = rng.random(4_000) < stats.norm.cdf(bad)
    model = ct.audit(risk, event, ward, n_resamples=39, rng=1)["model"]
    assert "First check whether rows are independent: errors of rows of the same group are alike" in model.reason
    masks = {str(one): ward == one for one in range(20)} | {"all": ward >= 0}
    for known, outcomes in ((ward, rng.random(4_000) < risk), (masks, event)):
        assert "First check" not in ct.audit(risk, outcomes, known, n_resamples=39, rng=1)["model"].reason


def overlapping(n, lag, rng):
    """Right forecasts of the next few days, made every day, and their outcomes."""
    sums = np.convolve(rng.normal(size=n + lag - 1), np.ones(lag), "valid")
    return ct.Normal(np.linspace(-1.0, 1.0, n), np.full(n, np.sqrt(lag))), np.linspace(-1.0, 1.0, n) + sums


def test_forecasts_that_overlap_are_tested_with_a_lag(only):
    only("data", "test", "time", "power")
    rng, n, lag = np.random.default_rng(3), 400, 4
    forecast, y = overlapping(n, lag, rng)
    place = rng.permutation(n)
    shuffled = forecast.take(np.argsort(place)), y[np.argsort(place)]
    found = [
        ct.audit(*pair, time=time, lag=lag, n_resamples=39, rng=1)["model"]
        for pair, time in (((forecast, y), np.arange(n)), (shuffled, np.argsort(place)))
    ]
    wanted = ct.calibration_test(forecast, y, lag=lag, n_resamples=39, rng=1)
    assert {one.result.pvalue for one in found} == {wanted.pvalue}
    sections = found[0].sections
    assert "of all 400 rows, of which those fewer than 4 apart" in sections["data"].facts["Lag"]
    assert "the other sections use every 4th row (100 rows)" in found[0].reason
    assert sections["test"].answer.endswith("its p-value is an upper bound, valid for every n.")
    assert "of 100 observations" in sections["time"].answer or "There was no alarm" in sections["time"].answer
    alone = ct.audit(forecast, y, time=np.arange(n), n_resamples=39, rng=1)["model"]
    assert "First check whether rows are independent" in alone.reason
    assert "First check" not in found[0].reason


def test_a_lag_needs_times_of_its_own_and_enough_rows():
    p, y = calibrated(60)
    with pytest.raises(ValueError, match="lag: got one without time"):
        ct.audit(p, y, lag=2)
    with pytest.raises(TypeError, match="lag: got one with clusters"):
        ct.audit(p, y, lag=2, time=np.arange(60), clusters=np.arange(60) // 2)
    with pytest.raises(ValueError, match="lag: got one where rows have the same time"):
        ct.audit(p, y, lag=2, time=np.arange(60) // 2)
    with pytest.raises(ValueError, match="lag: got 4 for 60 rows, wanted 20 rows at least"):
        ct.audit(p, y, lag=4, time=np.arange(60))


def test_rows_in_the_order_of_time_are_asked_about_however_they_are_given(only):
    only("data")
    forecast, y = overlapping(400, 4, np.random.default_rng(3))
    place = np.random.default_rng(1).permutation(400)
    model = ct.audit(forecast.take(place), y[place], time=place, n_resamples=39, rng=1)["model"]
    assert "First check whether rows are independent: errors of rows that follow each other are alike" in model.reason


def test_parts_of_the_past_need_no_maps():
    assert in_need(["law", "math"]) == "law, math, which need some of their own"
    assert in_need(["the third quarter"]) == "the third quarter"
    assert in_need(["law", "the first quarter", "the last quarter"]) == (
        "law, which needs one of its own, and in the first quarter and the last quarter"
    )
    assert in_need(["first quarter"]) == "first quarter, which needs one of its own"


def test_audits_of_few_clusters_are_refused():
    p, y = calibrated(400)
    with pytest.raises(ValueError, match=r"clusters: got 8 of 400 rows, wanted 20 at least, .* take all rows"):
        ct.audit(p, y, clusters=np.arange(400) % 8)


def test_margins_of_rare_counts_and_amounts_are_shares_of_them():
    mean = np.full(200, 0.1)
    claims, _ = ct.Poisson(mean).claims(np.zeros(200, dtype=int))
    assert [one.name for one in claims[-2:]] == ["above the median", "total count"]
    assert [one.margin for one in claims[-2:]] == pytest.approx([0.2 * (1.0 - np.exp(-0.1)), 0.1])
    dry = np.zeros((50, 10))
    dry[:, :2] = 1.0
    sample = as_sample(ct.Ensemble(dry), np.zeros(50))
    claims, _ = sample.predictions.claims(sample.targets)
    assert claims[-1].margin == pytest.approx(min(0.04, 0.2 * float(claims[-1].probability.mean())))
    assert ct.Normal(np.zeros(3), 1.0).claims(np.zeros(3))[0][-1].margin == 0.04


@pytest.mark.parametrize("seen", [0, 1])
def test_counts_that_are_hardly_ever_above_zero(seen):
    """A map that makes them small needs no dispersion, and none is made of outcomes that are all the same."""
    mean = np.random.default_rng(1).gamma(2.0, 1.0, 100)
    model = ct.audit(ct.Poisson(mean), (np.arange(100) == 5).astype(int) * seen, n_resamples=39, rng=1).models[0]
    section = model.sections["recalibration"]
    if seen:
        assert "lowers the log loss" in section.answer
    else:
        assert "all outcomes are 0, which every map would make certain" in section.answer
        assert "all outcomes are 0: were they read from the right column?" in model.reason
    (total,) = [row for row in model.sections["size"].rows if row[0] == "total count"]
    assert total[1:3] == (f"{mean.sum():.4g}", str(seen))


def test_counts_of_mean_zero_have_no_ratio():
    """Nothing can be said in per cent of nothing, and no share of it can be found."""
    model = ct.audit(ct.Poisson(np.zeros(100)), np.zeros(100, dtype=int), n_resamples=39, rng=1).models[0]
    assert model.decision == "not enough data to tell"
    assert "total count" not in str(model.result)
    assert "expected counts are" not in str(model.result)
    assert model.result.detectable is None
    assert ct.calibration_test(np.zeros(100), np.zeros(100, dtype=int), n_resamples=9, rng=1).measures[0].margin < 1e-9


def test_margins_of_certain_events_are_nothing():
    found = ct.calibration_test(np.ones(100), np.ones(100, dtype=int), n_resamples=9, rng=1)
    assert "0 to 4.9 percentage points off on average (more than 0 matters)" in unfolded(found)


def test_a_stretch_of_rows_that_a_group_explains_is_no_question_of_reading():
    """Files are sorted by groups: lead times, sites or models follow each other in them."""
    rng = np.random.default_rng(2)
    mean, lead = rng.normal(size=900), np.repeat([1, 3, 7], 300)
    y = mean + np.where(lead == 1, 3.0, 1.0) * rng.normal(size=900)
    asked = ct.audit(ct.Normal(mean, 1.0), y, n_resamples=39, rng=1).models[0]
    assert "First look at how the data were read: rows up to about" in asked.reason
    told = ct.audit(ct.Normal(mean, 1.0), y, groups=lead, n_resamples=39, rng=1).models[0]
    assert "First look" not in told.reason
    assert "recalibrate these rows by themselves" in told.advice or "recalibrate" in told.decision
    other = ct.audit(ct.Normal(mean, 1.0), y, groups=np.arange(900) % 2, n_resamples=39, rng=1).models[0]
    assert "First look at how the data were read: rows up to about" in other.reason


def test_groups_in_which_one_map_leaves_errors_are_advised_a_map_of_their_own():
    repair = Section("", {"How": "Platt().fit(predictions, targets)"})
    advice = _advised("recalibrate", repair, ["north", "the last quarter"], None, False)
    assert advice == (
        "recalibrate (Platt().fit(predictions, targets), recent ones as the error changed with time), and the rows of "
        "north by themselves, then audit the new predictions on other rows."
    )
    rng = np.random.default_rng(2)
    p, site, old = rng.beta(2, 3, 1200), rng.choice(["a", "b", "c"], 1200), rng.random(1200) < 0.4
    y = rng.random(1200) < np.clip(p + 0.15 * (site == "b"), 0, 1)
    found = ct.audit(p, y.astype(int), groups={"site": site, "old": old}, n_resamples=199, rng=1).models[0]
    assert found.reason.endswith("one recalibration of all rows leaves errors in site = b, which needs one of its own")
    assert "on rows kept for it), and the rows of site = b by themselves, then audit" in found.advice


def test_quarters_that_are_most_of_the_time_are_no_different_ones():
    places = [f"the {name}" for name in QUARTERS]
    failed = Section("", failed=True)
    assert _advised("do not use as it is", failed, places[:2], None, False).startswith("find out what is different")
    assert _advised("do not use as it is", failed, places[:3], None, False).startswith("refit the model")
    assert "in a;" in _advised("do not use as it is", failed, ["a", *places[:3]], None, False)


def test_groups_that_are_left_out_are_counted():
    p, y = calibrated(600, 3)
    groups = np.r_[np.repeat(np.arange(6), 5), np.repeat([10, 11], 285)].astype(str)
    section = ct.audit(p, y, groups, n_resamples=9, rng=1).models[0].sections["groups"]
    assert "are left out: 0, 1, 2 and 3 more." in section.answer


def test_what_intervals_rule_out_was_not_missed():
    rng = np.random.default_rng(1)
    p = rng.uniform(0.01, 0.03, 60_000)
    model = ct.audit(p, (rng.random(60_000) < p).astype(int), n_resamples=19, rng=1).models[0]
    assert model.sections["power"].answer.startswith("Nothing that matters in all rows together")
