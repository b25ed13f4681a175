"""How p-values are printed, and what is said beside them."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
from printed import unfolded
from samples import TV, samples
from statsmodels.stats.multitest import multipletests

import caltest as ct
from caltest._results.calibration_test_result import ComponentResult
from caltest._results.report import (
    _table_of,
    benjamini_hochberg,
    first_of,
    format_pvalue,
    holm,
    is_smallest,
    listed,
    once,
    power_phrase,
    pvalue_phrase,
    undecided,
)
from caltest.cli import main
from caltest.fields import clinical

S = samples(40, 3)


def test_lists():
    assert [listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])] == ["a", "a and b", "a, b and c"]


def test_first_of_lists():
    assert [first_of("abcde"[:n], 3, ", ") for n in (2, 3, 4, 5)] == [
        "a, b",
        "a, b, c",
        "a, b, c, and 1 other",
        "a, b, c, and 2 others",
    ]


@pytest.mark.parametrize(
    ("power", "words"), [(0.4, "40 %"), (0.7975, "79 %"), (0.8, "80 %"), (0.99, "99 %"), (0.995, "more than 99 %")]
)
def test_power_in_words(power, words):
    detectable = SimpleNamespace(power=lambda alpha: power, deviation="a slope of 2")
    assert power_phrase(detectable, 0.05) == f"a slope of 2 would be found in {words} of such data sets"


@pytest.mark.parametrize(("n_resamples", "has_deviation"), [(1, False), (2, True)])
def test_deviations_of_few_redraws(n_resamples, has_deviation):
    result = ct.MonteCarloTest(ct.ECE(), n_resamples)(S.p, S.y, rng=1)
    deviation = f", standard deviation {result.null_distribution.std(ddof=1):.3g}" if has_deviation else ""
    assert f"If calibrated  mean {result.null_distribution.mean():.3g}{deviation}, 95 % quantile" in unfolded(result)


def test_sentence_of_an_exact_test():
    result = ct.MonteCarloTest(ct.ECE(), 99)(S.p, S.y, rng=1)
    assert result.sentence() == (
        "The hypothesis that the predictions are calibrated (P(Y | P_X) = P_X) was rejected at the 5 % level for "
        "n = 40 observations, p = 0.01 (the smallest possible with 99 redraws; exact Monte Carlo p-value; "
        f"MonteCarloTest: {result.estimator}; estimate = {result.estimate:.3g}, statistic = {result.statistic:.3g}, "
        "the estimate)."
    )


def test_sentences_have_a_decision_at_a_level():
    result = ct.MonteCarloTest(ct.ECE(), 99)(S.p, S.y, rng=1)
    assert " was rejected at the 1 % level for " in result.sentence(0.01)
    assert " could not have been rejected at the 0.5 % level with so few redraws for " in result.sentence(0.005)
    kept = ct.calibration_test(S.p, ct.Categorical(S.p).sample(1), n_resamples=99, rng=1)
    assert kept.pvalue > 0.05
    assert " was not rejected at the 5 % level for " in kept.sentence()
    with pytest.raises(ValueError, match="alpha: got 2, wanted"):
        result.sentence(2)


def test_sentences_of_the_default_test_say_last_what_the_decision_means():
    rng = np.random.default_rng(1)
    p = rng.random(600)

    def said(y):
        result = ct.calibration_test(p, y, rng=1)
        meaning = result.verdict().split(" level", 1)[1]
        assert meaning
        assert result.sentence().endswith(f"{meaning.replace(': ', '; ', 1)}.")
        return meaning

    assert said(rng.random(600) < p**2) == ": the error is large enough to matter"
    assert said(rng.random(600) < p) == ", but errors that matter could have been missed"
    undecided = ct.calibration_test(p, rng.random(600) < p**2, n_resamples=9, rng=1).sentence()
    assert "could not have been rejected" in undecided
    assert "matter" not in undecided


def test_sentences_of_other_kinds():
    bound = ct.DistributionFreeSKCETest(ct.SKCE(TV))(S.p, S.y).sentence()
    assert "p <= 1 (upper" in bound
    assert "(upper bound of the p-value for every n; DistributionFreeSKCETest: SKCE" in bound
    blocks = ct.AsymptoticBlockSKCETest(TV, 3)(S.p, S.y).sentence()
    assert "n = 40 observations (39 used)" in blocks
    assert "(asymptotic p-value; AsymptoticBlockSKCETest: " in blocks
    assert "(p-value by resampling from 19 redraws; " in ct.AsymptoticSKCETest(TV, 19)(S.p, S.y, rng=1).sentence()
    margin = ct.EquivalenceTest(0.5, TV)(S.p, S.y).sentence()
    assert "the calibration error is at least the margin (KCE >= 0.5)" in margin
    paired = ct.PairedSKCETest(TV)(S.p, S.p[::-1], S.y).sentence()
    assert "both models have the same calibration error (KCE(A) = KCE(B)) was not rejected" in paired


def test_sentence_of_a_comparison():
    good, bad = (
        ct.generators.class_model("M1", 3).sample(100, rng=1),
        ct.generators.class_model("M1", 3).sample(100, rng=2),
    )
    found = ct.compare_models({"good": good[0], "bad": bad[0]}, good[1], n_resamples=99, rng=1)
    assert found.sentence().endswith(
        "at the 5 % level, with p-values adjusted by Holm's method, calibration was rejected for bad "
        f"({pvalue_phrase(found['bad'].pvalue_holm)}) and not for good ({pvalue_phrase(found['good'].pvalue_holm)})."
    )
    one = ct.compare_models({"good": good[0]}, good[1], n_resamples=99, rng=1)
    assert "calibration was not rejected for good (p = " in one.sentence()
    with pytest.raises(ValueError, match="alpha"):
        one.sentence(5)


def test_sentences_of_groups_streams_and_estimates():
    p, y = ct.datasets.load_digits_predictions()["random forest"]
    top = p.probabilities.max(axis=1)
    groups = {"sure": top > 0.8, "not sure": top < 0.5}
    by_group = ct.calibration_by_group(p, y, groups, n_resamples=99, rng=1)
    assert by_group.sentence().startswith("The hypothesis that the predictions are calibrated in every one of 2 groups")
    assert (
        "p = 0.01 (the smallest possible with 99 redraws; exact Monte Carlo p-value), with adjusted p-values <= 0.05 in"
        in (by_group.sentence())
    )
    calibrated = ct.calibration_by_group(p, p.sample(1), groups, n_resamples=99, rng=1)
    assert calibrated.sentence().endswith("in 0 of 2 groups.")
    assert "westfall1993" in by_group.bibtex()
    stream = ct.SequentialCalibrationTest().update(p, y).result()
    assert (
        f"and first reached 20 after {stream.first_rejection(0.05)} observations; p <= 3.09e-109 (upper"
        in stream.sentence()
    )
    quiet = ct.SequentialCalibrationTest().update(p, p.sample(1)).result()
    assert "after all and never reached 20; p " in quiet.sentence()
    assert "shafer2021" in stream.bibtex()
    estimate = ct.estimate_calibration_error(p, y, "top_label", rng=1)
    assert f"was estimated as {estimate.squared_error:.3g} (standard error" in estimate.sentence()
    assert estimate.selected.describe() in estimate.sentence()
    for text in (estimate.sentence(), unfolded(estimate)):
        assert "without the bias of the estimator and of its choice)" in text
    assert "Interval       that of risk.squared_error_interval," in str(estimate)
    assert "gruber2025" in estimate.bibtex()


NAMES = ["ant", "bee", "cow"]
EXCLUDED = "an outcome occurred to which probability 0 was given (row 17: class ant)"


@pytest.fixture(scope="module")
def excluded():
    """Calibrated predictions, of which one was rounded to 0 for what occurred."""
    p = np.random.default_rng(5).dirichlet(np.ones(3), 60)
    p[17] = [0.0, 0.25, 0.75]
    y = ct.Categorical(p).sample(2)
    y[17] = 0
    return ct.Categorical(p, classes=NAMES), np.array(NAMES)[y]


@pytest.fixture(scope="module")
def wrong():
    p = np.random.default_rng(6).dirichlet(np.ones(3), 80)
    return ct.Categorical(p), np.argmin(p, axis=1)


@pytest.mark.parametrize(
    ("pvalue", "text"),
    [
        (0.05, "p = 0.05"),
        (0.0504, "p = 0.0504"),
        (0.0009, "p = 0.0009"),
        (0.0001, "p = 0.0001"),
        (3.21e-7, "p = 3.21e-07"),
        (0.0, "p < 1e-300"),
        (1e-310, "p < 1e-300"),
        (0.9995, "p > 0.999"),
        (0.99961, "p > 0.999"),
        (1.0, "p = 1"),
    ],
)
def test_no_pvalue_is_rounded_to_0_or_1(pvalue, text):
    assert pvalue_phrase(pvalue) == text
    assert text.endswith(format_pvalue(pvalue))


def test_bounds_and_rules():
    assert pvalue_phrase(0.0424, is_bound=True) == "p <= 0.0424"
    assert pvalue_phrase(0.0, is_bound=True) == "p < 1e-300"
    assert pvalue_phrase(0.9997, is_bound=True) == "p <= 1"
    assert pvalue_phrase(0.0, otherwise=0.3) == "p = 0, an impossible outcome"


@pytest.mark.parametrize("n_resamples", [1, 9, 48, 99, 199, 999, 9999])
def test_smallest_possible(n_resamples):
    smallest = (1 + 0) / (1 + n_resamples)
    assert is_smallest(smallest, n_resamples)
    assert not is_smallest(2 * smallest, n_resamples)
    assert not is_smallest(smallest, None)


@pytest.mark.parametrize(("alpha", "enough"), [(0.05, 19), (0.001, 999), (0.03, 33), (1e-6, 999_999)])
def test_a_level_that_no_pvalue_can_reach(alpha, enough):
    words = undecided(0.1, 9, alpha)
    assert f"take n_resamples={enough} or more" in words
    assert 1 / (1 + enough) <= alpha < 1 / enough
    assert undecided(0.2, 9, alpha) is None
    assert undecided(0.1, 9, 0.1) is None
    assert undecided(0.1, None, alpha) is None


def test_the_smallest_pvalue_says_so_in_the_report_and_the_sentence(wrong):
    result = ct.calibration_test(*wrong, n_resamples=99, rng=1)
    assert "p-value        0.01 (the smallest possible with 99 redraws; exact: size at" in unfolded(result)
    assert (
        "p = 0.01 (the smallest possible with 99 redraws; exact Monte Carlo p-value; OmnibusTest" in result.sentence()
    )
    assert result.verdict(0.001).startswith("undecided at the 0.1 % level: p-values of 99 redraws are 0.01 or more")
    larger = ct.calibration_test(wrong[0], wrong[0].sample(1), n_resamples=99, rng=1)
    assert larger.pvalue > 0.01
    assert "smallest possible" not in unfolded(larger) + larger.sentence()
    assert "from 99 redraws" in larger.sentence()


def test_no_smallest_pvalue_without_redraws(wrong):
    result = ct.PearsonSKCETest(wrong[0].default_kernel())(*wrong)
    assert "smallest possible" not in unfolded(result) + result.sentence()


def test_an_excluded_outcome_is_named_and_the_pvalue_without_the_rule_is_given(excluded):
    result = ct.calibration_test(*excluded, n_resamples=99, rng=1)
    assert result.pvalue == 0.0
    assert result.finding.words == EXCLUDED
    rest = np.delete(np.arange(60), 17)
    # The bandwidth is that of all rows.
    kernel = excluded[0].default_kernel().resolve(excluded[0])
    others = ct.OmnibusTest(kernel, 99)(excluded[0].take(rest), excluded[1][rest], rng=1)
    assert result.pvalue_otherwise == others.pvalue > 0.05
    weights = np.random.default_rng(1).random(60)
    weighted = ct.calibration_test(*excluded, n_resamples=99, weights=weights, rng=1)
    others = ct.OmnibusTest(kernel, 99, weights[rest])(excluded[0].take(rest), excluded[1][rest], rng=1)
    assert weighted.pvalue_otherwise == others.pvalue
    lines = str(result).splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("p-value"))
    assert lines[at] == "p-value        0 (an outcome occurred to which probability 0 was given)"
    assert lines[at + 1].startswith(f"Other rows     {result.pvalue_otherwise:.3g} (")
    assert f"Why            {EXCLUDED}" in unfolded(result)
    assert any("if they were rounded, pass them with all digits" in note for note in result.notes)
    assert "p = 0, because an outcome occurred to which probability 0 was given; the other rows: p = 0." in (
        result.sentence()
    )
    assert repr(result) == "<OmnibusTest: p = 0, an impossible outcome (exact), n = 60>"


def test_labels_in_the_place_of_probabilities_are_said():
    y = np.arange(40) % 2
    labels = np.where(np.arange(40) < 3, 1 - y, y)
    for predictions in (labels, np.eye(2)[labels]):
        result = ct.calibration_test(predictions, y, n_resamples=9, rng=1)
        note, asked, *_ = result.notes
        assert asked == "all predictions are 0 or 1: are they labels, of predict in place of predict_proba?"
        assert f"First check    {asked}" in unfolded(result)
        assert note.endswith("calibrated predictions exclude that, whatever the p-value says")


def test_several_excluded_outcomes():
    p = np.tile([0.0, 0.5, 0.5], (9, 1))
    p[:, 1] += np.arange(9) / 100
    p[:, 2] -= np.arange(9) / 100
    result = ct.calibration_test(p, [0, 1, 0, 0, 2, 0, 0, 1, 0], n_resamples=9, rng=1)
    assert result.finding.words.startswith(
        "6 outcomes occurred to which probability 0 was given "
        "(row 0: class 0; row 2: class 0; row 3: class 0; row 5: class 0; row 6: class 0; ...)"
    )


def test_excluded_outcomes_of_other_families():
    points = ct.calibration_test(ct.Normal([0.0, 1.0, 2.0], [1.0, 0.0, 1.0]), [0.1, 1.5, 2.2], n_resamples=9, rng=1)
    assert "(row 1: 1.5)" in points.finding.words
    vectors = ct.calibration_test(
        ct.MvNormal(np.eye(3, 6), np.tile([1.0, 1, 1, 1, 1, 0], (3, 1))), np.ones((3, 6)), n_resamples=9, rng=1
    )
    assert "(row 0: (1, 1, 1, 1, 1, ...); row 1:" in vectors.finding.words
    top = ct.calibration_test(*ct.top_label([[1.0, 0.0], [0.7, 0.3], [0.6, 0.4]], [1, 0, 0]), n_resamples=9, rng=1)
    assert "(row 0: the top label is wrong)" in top.finding.words


def test_laws_of_textbooks_have_the_rule_too():
    result = ct.SpiegelhalterTest()([0.0, 0.3, 0.6, 0.2], [1, 0, 1, 0])
    assert (result.pvalue, result.finding.words) == (0.0, EXCLUDED.replace("17: class ant", "0: class 1"))
    assert 0.0 < result.pvalue_otherwise < 1.0
    assert result.pvalue_otherwise == ct.SpiegelhalterTest()([0.3, 0.6, 0.2], [0, 1, 0]).pvalue
    assert "Other rows" in unfolded(result)


def test_the_other_rows_say_whether_they_are_wrong_too(wrong):
    """What was found in them stands beside the row, if their p-value is small."""
    p, y = wrong[0].probabilities.copy(), wrong[1].copy()
    p[3], y[3] = [0.0, 0.5, 0.5], 0
    rest = np.delete(np.arange(80), 3)
    result = ct.calibration_test(p, y, n_resamples=99, rng=1)
    others = ct.calibration_test(p[rest], y[rest], n_resamples=99, rng=1)
    assert result.pvalue_otherwise == others.pvalue == 0.01
    assert (
        result.finding.words
        == f"{EXCLUDED.replace('17: class ant', '3: class 0')}; the other rows: {others.finding.words}"
    )
    assert "component (all rows)" in unfolded(result)


@pytest.mark.parametrize("possible", [0, 1])
def test_other_rows_that_are_too_few(possible):
    p, y = np.eye(3)[[0, 1, 2]], np.array([1, 2, 0])
    y[:possible] = 0
    result = ct.calibration_test(p, y, n_resamples=9, rng=1)
    assert (result.pvalue, result.pvalue_otherwise) == (0.0, 1.0)
    assert f"other rows: {possible}, too few for the test, so that their p-value is 1" in result.notes


def test_an_outcome_that_is_no_scenario_is_excluded():
    scenarios = ct.Scenarios(np.random.default_rng(1).normal(size=(30, 5)))
    y = scenarios.sample(2)
    kept, rest = ct.calibration_test(scenarios, y, n_resamples=99, rng=1), np.delete(np.arange(30), 3)
    assert kept.pvalue > 0.05
    assert kept.pvalue_otherwise is None
    others = ct.calibration_test(scenarios.take(rest), y[rest], n_resamples=99, rng=1).pvalue
    y[3] = 0.5
    result = ct.calibration_test(scenarios, y, n_resamples=99, rng=1)
    assert (result.pvalue, result.pvalue_otherwise) == (0.0, others)
    assert result.finding.words == EXCLUDED.replace("17: class ant", "3: 0.5")
    kernel = ct.MonteCarloTest(ct.SKCE(scenarios.default_kernel()), 9)(scenarios, y, rng=1)
    assert kernel.pvalue > 0.0
    assert "1 of 30 outcomes had predicted probability 0 (row 3)" in kernel.notes[0]


def test_a_pvalue_below_all_numbers_is_not_0():
    result = ct.SpiegelhalterTest()(np.linspace(0.8, 0.9, 6000), np.zeros(6000, dtype=int))
    assert result.pvalue == 0.0
    assert "p-value        < 1e-300 (from the limit distribution" in unfolded(result)
    assert ", p < 1e-300 (asymptotic p-value; SpiegelhalterTest" in result.sentence()


def tables(comparison):
    return re.sub(r"\n {2,}", " ", str(comparison)), comparison.to_markdown(), comparison.to_latex()


def test_tables_explain_0_and_the_smallest(excluded, wrong):
    y = np.array([NAMES.index(name) for name in excluded[1]])
    bad = ct.Categorical(np.eye(3)[(y + 1) % 3] * 0.7 + 0.1)
    models = {"a < b": ct.Categorical(excluded[0].probabilities), "bad_one": bad}
    comparison = ct.compare_models(models, y, n_resamples=99, rng=1)
    otherwise = comparison["a < b"].pvalue_otherwise
    assert otherwise == ct.compare_models(models, y, n_resamples=99, rng=1)["a < b"].pvalue_otherwise
    for text in tables(comparison):
        assert f"the other rows: p = {otherwise:.3g}" in text
        assert "p = 0.01 (the smallest possible with 99 redraws)" in text
    assert r"a \textless{} b" in comparison.to_latex()
    assert r"\multicolumn{7}{l}{p = 0.01 (the smallest possible with 99 redraws)} \\" in comparison.to_latex()
    assert comparison.to_pandas().loc["a < b", "pvalue_otherwise"] == otherwise


def test_a_0_says_why_in_every_table():
    rng = np.random.default_rng(1)
    p = np.concatenate([[0.0], rng.uniform(0.1, 0.9, 99)])
    y = np.concatenate([[1], rng.random(99) < p[1:]]).astype(int)
    labels = ct.calibration_test(ct.MultiLabel(np.stack([p, 1.0 - p], axis=1)), np.stack([y, 1 - y], axis=1), rng=1)
    assert labels.table()[1][-2:] == ["0 (impossible)", "0 (impossible)"]
    assert "Note: p = 0 for label 0, label 1, because" in unfolded(labels)
    assert ct.SpiegelhalterTest()(p, y).table()[1][-1] == "0 (impossible)"
    assert ct.SequentialCalibrationTest().update(p, y).result().table()[1][-2] == "0 (impossible)"
    assert ct.compare_models({"a": p}, y, n_resamples=19, rng=1).table()[1][3:5] == ["0 (impossible)"] * 2
    validated = clinical.validate(p, y, n_resamples=19, rng=1)
    assert "p-value        0 (impossible); of the calibration curve" in unfolded(validated)
    assert "p = 0, an impossible outcome)" in validated.sentence()
    assert "p = 0, an impossible outcome," in repr(validated)


def test_findings_only_where_the_level_is_reached(wrong):
    p, y = wrong
    result = ct.calibration_test(p, y, n_resamples=99, rng=1)
    assert (result.pvalue, result.why(0.01), result.why(0.005)) == (0.01, result.finding.words, None)
    assert "Why" in unfolded(result.summary(0.01))
    assert "Why" not in unfolded(result.summary(0.005))
    assert "at the 0.5 % level" in unfolded(result.summary(0.005))
    groups = ct.calibration_by_group(p, y, np.arange(80) % 2, n_resamples=99, rng=1)
    words = groups.groups[0].finding.words.split()
    assert set(words) <= set(groups.summary(0.02).split())
    assert not set(words) <= set(groups.summary(0.005).split())
    assert groups.table()[1][-1] == groups.groups[0].finding.words
    assert "undecided at the 0.5 % level" in unfolded(groups.summary(0.005))
    table = ct.compare_models({"one": p, "two": p}, y, n_resamples=99, rng=1)
    assert "  one: " in unfolded(table.summary(0.02))
    assert "  one: " not in unfolded(table.summary(0.015))
    stream = ct.SequentialCalibrationTest("likelihood").update([0.8] * 7, [0] * 7).result()
    assert 1e-4 < stream.pvalue < 0.05
    assert f"Why            {stream.finding.words}" in unfolded(stream.summary(0.05))
    assert "Why" not in unfolded(stream.summary(1e-4))
    assert stream.verdict(1e-4) in unfolded(stream.summary(1e-4))
    p, y = ct.datasets.load_digits_predictions()["random forest"]
    method = ct.recalibration.TemperatureScaling()
    report = ct.recalibration.report(p.take(slice(0, 200)), y[:200], method, n_resamples=99, rng=1)
    assert "  before: predictions are" in unfolded(report.summary(0.01))
    assert "  before: predictions are" not in unfolded(report.summary(0.009))


@pytest.mark.parametrize("bad", [0.0, 1.0, -1, 5, "5 %", float("nan")])
def test_bad_levels(wrong, bad):
    result = ct.calibration_test(*wrong, n_resamples=9, rng=1)
    for call in (result.summary, result.why, result.verdict):
        with pytest.raises((ValueError, TypeError), match="alpha"):
            call(bad)


def test_a_stream_keeps_the_pvalue_before_the_excluded_outcome():
    test = ct.SequentialCalibrationTest().update([0.5, 0.2, 0.0, 0.4], [1, 1, 1, 0])
    result = test.result()
    before = ct.SequentialCalibrationTest().update([0.5, 0.2], [1, 1]).result().pvalue
    assert (result.pvalue, result.pvalue_otherwise) == (0.0, pytest.approx(before))
    assert result.finding.words == EXCLUDED.replace("17: class ant", "2: class 1")
    assert (
        f"p-value        0 (an outcome occurred to which probability 0 was given), and {before:.3g} before"
        in unfolded(result)
    )
    assert f"p = 0, because an outcome occurred to which probability 0 was given, and p <= {before:.3g}" in (
        result.sentence()
    )
    assert ct.SequentialCalibrationTest().update([0.5], [1]).result().pvalue_otherwise is None


@pytest.fixture
def files(tmp_path, wrong):
    p, y = wrong
    paths = tmp_path / "p.csv", tmp_path / "y.csv"
    np.savetxt(paths[0], p.probabilities, delimiter=",", header="a,b,c", comments="", fmt="%.17g")
    paths[1].write_text("label\n" + "\n".join("abc"[label] for label in y))
    return [str(path) for path in paths]


@pytest.mark.parametrize("form", ["table", "json", "markdown", "latex"])
def test_command_line_says_why_only_at_its_level(files, form, capsys):
    command = ["test", *files, "--test", "spiegelhalter", "--seed", "1", "--format", form]
    command[4] = "ece-top-label"
    assert main([*command, "--alpha", "0.0001"]) == 0
    quiet = capsys.readouterr().out
    assert "undecided at the 0.01" in quiet
    if form == "json":
        assert json.loads(quiet)["alpha"] == 0.0001
        assert json.loads(quiet)["why"] is None
    else:
        assert "hy " not in quiet
        assert "(the smallest possible with 999 redraws; exact" in quiet


def test_command_line_gives_reasons_at_its_level(files, capsys):
    for form in ("table", "json", "markdown", "latex"):
        for alpha, said in (("0.5", True), ("0.0005", False)):
            main(["test", *files, "--seed", "1", "--format", form, "--alpha", alpha])
            out = capsys.readouterr().out
            if form == "json":
                entries = json.loads(out)
                assert (entries["why"] == entries["finding"]["words"]) == said
            else:
                assert ("hy " in out) == said


def test_command_line_compares_at_its_level(files, tmp_path, capsys):
    other = tmp_path / "q.csv"
    other.write_text((tmp_path / "p.csv").read_text())
    command = ["compare", files[0], str(other), files[1], "--n-resamples", "99", "--seed", "1", "--alpha"]
    main([*command, "0.02"])
    assert "  q: " in capsys.readouterr().out
    main([*command, "0.015"])
    assert "  q: " not in capsys.readouterr().out
    main([*command, "0.015", "--format", "latex"])
    assert "smallest possible with 99 redraws" in capsys.readouterr().out


@pytest.mark.parametrize("m", [1, 2, 3, 20])
def test_adjusted_pvalues_are_those_of_statsmodels(m):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        pvalues = rng.choice([rng.random(m), rng.integers(1, 6, m) / 5, rng.random(m) ** 6])
        assert holm(pvalues) == list(multipletests(pvalues, method="holm")[1])
        assert benjamini_hochberg(pvalues) == list(multipletests(pvalues, method="fdr_bh")[1])


@pytest.mark.parametrize(("n", "rest"), [(6, None), (7, "and 1 other with"), (8, "and 2 others with")])
def test_components_that_are_not_shown_are_counted(n, rest):
    components = [ComponentResult(f"c{i}", 1.0, 0.5) for i in range(n)]
    *_, others = _table_of(components, False)
    assert (others == []) if rest is None else (rest in others[0])


def test_one_redraw_is_one():
    assert "p-values of 1 redraw are 0.5 or more" in undecided(0.5, 1, 0.05)
    assert "p-values of 9 redraws are 0.1 or more" in undecided(0.1, 9, 0.05)


def test_pvalues_in_clusters_are_for_many_of_these():
    labels = np.random.default_rng(1).integers(0, 2, 40)
    result = ct.ClusterSKCETest(np.arange(40) // 4, n_resamples=19)(np.full(40, 0.5), labels, rng=1)
    assert "(approximate, by resampling: for many rows, or clusters)" in " ".join(str(result).split())


def test_sentences_repeat_what_has_to_be_checked_first():
    rng = np.random.default_rng(1)
    errors = np.zeros(300)
    for i in range(1, 300):
        errors[i] = 0.8 * errors[i - 1] + 0.6 * rng.normal()
    mean = rng.normal(size=300)
    result = ct.calibration_test(ct.Normal(mean, 1.0), mean + errors, n_resamples=99, rng=1)
    asked = [note for note in result.notes if note.endswith("?")]
    assert asked
    assert result.sentence().endswith(f" First check: {' '.join(asked)}")
    right = ct.calibration_test(ct.Normal(mean, 1.0), mean + rng.normal(size=300), n_resamples=99, rng=1)
    assert "First check" not in right.sentence()


def test_of_notes_that_differ_in_a_number_the_largest_is_kept():
    notes = ["off by 9e-06", "rounded", "off by 1e-05", "off by 2e-06", "rounded", "of 3 rows 12 are off", "of 3 rows"]
    assert once(*notes) == ("off by 1e-05", "rounded", "of 3 rows 12 are off", "of 3 rows")
    assert once() == ()


def test_chunks_of_rounded_rows_have_one_note():
    p = np.random.default_rng(1).dirichlet(np.ones(3), 60)
    p[::20] *= np.array([1.00002, 1.00005, 1.00003])[:, None]
    y, whole = np.zeros(60, dtype=int), ct.Categorical(p)
    assert len(whole.notes) == 1
    accumulator, sequential = ct.LogScoreTest().accumulator(), ct.SequentialCalibrationTest()
    for start in (0, 20, 40):
        accumulator.update(p[start : start + 20], y[start : start + 20])
        sequential.update(p[start : start + 20], y[start : start + 20])
    joined = ct.Categorical(p[:20]).followed_by(ct.Categorical(p[20:]))
    assert joined.notes == whole.notes
    for result in (accumulator.result(), sequential.result()):
        assert [note for note in result.notes if "renormalised" in note] == list(whole.notes)
