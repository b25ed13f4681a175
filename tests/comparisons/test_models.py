import dataclasses
import json
import sys

import numpy as np
import pandas as pd
import pytest
from printed import unfolded
from samples import TV, W2, samples
from statsmodels.stats.multitest import multipletests

import caltest as ct
from caltest.comparisons.samples import notes_of

S = samples(60, 3)
MODELS = {"good": S.p, "worse": S.rng.dirichlet(np.ones(3), 60), "a_b & 50 %": S.rng.dirichlet(np.ones(3), 60)}


@pytest.fixture(scope="module")
def comparison():
    return ct.compare_models(MODELS, S.y, n_resamples=99, rng=1)


def shared(models):
    bandwidth = ct.median_bandwidth(np.concatenate(list(models)), ct.TotalVariation())
    return ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), bandwidth), ct.DeltaKernel())


def test_rows_hold_what_the_parts_say(comparison):
    kernel = shared(MODELS.values())
    for row, p in zip(comparison.rows, MODELS.values(), strict=True):
        (stream,) = np.random.SeedSequence(1).spawn(1)
        assert row.score == np.mean(p.argmax(axis=1) == S.y)
        assert row.estimate == pytest.approx(ct.SKCE(kernel)(p, S.y), rel=1e-10)
        assert tuple(row.interval) == pytest.approx(tuple(ct.skce_interval(p, S.y, kernel)), rel=1e-9)
        assert row.pvalue == ct.OmnibusTest(kernel, 99)(p, S.y, rng=stream).pvalue
        assert (row.noise_floor, row.noise_quantile) == (0.0, None)
    pvalues = [row.pvalue for row in comparison.rows]
    assert [row.pvalue_holm for row in comparison.rows] == list(multipletests(pvalues, method="holm")[1])
    assert [row.pvalue_bh for row in comparison.rows] == list(multipletests(pvalues, method="fdr_bh")[1])
    assert ct.compare_models(MODELS, S.y, n_resamples=99, rng=1) == comparison
    assert comparison["worse"] is comparison.rows[1]
    with pytest.raises(KeyError, match="'good', 'worse'"):
        comparison["best"]


def test_equal_predictions_have_equal_rows_in_any_place(comparison):
    twice = {"first": MODELS["good"], **MODELS}
    table = ct.compare_models(twice, S.y, kernel=shared(MODELS.values()), n_resamples=99, rng=1)
    assert table["first"] == dataclasses.replace(table["good"], name="first")
    turned = ct.compare_models(dict(reversed(MODELS.items())), S.y, n_resamples=99, rng=1)
    assert [turned[name].pvalue for name in MODELS] == [row.pvalue for row in comparison.rows]


def test_sentences_reject_up_to_the_level(comparison):
    rows = [dataclasses.replace(row, pvalue_holm=p) for row, p in zip(comparison.rows, (0.2, 0.05, 0.03), strict=True)]
    some = dataclasses.replace(comparison, rows=tuple(rows))
    assert "rejected for worse (p = 0.05) and a_b & 50 % (p = 0.03) and not for good (p = 0.2)" in some.sentence()
    assert "worse" not in some.sentence().partition(" not for ")[2]
    assert "rejected for a_b & 50 % (p = 0.03) and not for good (p = 0.2) and worse" in some.sentence(0.049)


def test_printed_table(comparison):
    lines = str(comparison).splitlines()
    assert lines[0] == "Comparison of 3 models"
    start = next(i for i, line in enumerate(lines) if line.startswith("  model"))
    table = lines[start : start + 4]
    words = "model accuracy points off p Holm estimate 95 % interval"
    assert table[0].split() == words.split()
    assert [line.split()[0] for line in table] == ["model", "good", "worse", "a_b"]
    assert lines[2].startswith("Verdict        reject calibration at the 5 % level for ")
    assert "Holm: p adjusted for 3 models" in lines
    assert "Reproduce      rng=1" in lines
    assert repr(comparison) == "<comparison of 3 models, n = 60>"


def test_markdown_and_latex(comparison):
    *markdown, empty, off, _, smallest, _, apart = comparison.to_markdown().splitlines()
    assert (empty, smallest) == ("", "p = 0.01 (the smallest possible with 99 redraws)")
    assert off == (
        "points off: 95 % interval for how far probabilities of the most probable class are off on average "
        "(more than 2 matters)"
    )
    assert apart == "p-values and intervals come from different tests and can disagree"
    assert markdown[1] == "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    assert len(markdown) == 5
    assert all(line.count("|") == 8 for line in markdown)
    latex = comparison.to_latex().splitlines()
    assert latex[0] == r"\begin{tabular}{lrrrrrr}"
    assert [latex[1], latex[3], latex[7], latex[11]] == [r"\toprule", r"\midrule", r"\bottomrule", r"\end{tabular}"]
    assert latex[8] == rf"\multicolumn{{7}}{{l}}{{{off.replace('%', chr(92) + '%')}}} \\"
    assert latex[6].startswith(r"a\_b \& 50 \% & ")
    assert latex[2].endswith(r"& points off & p & Holm & estimate & 95 \% interval \\")
    bars = ct.compare_models({"a|b\\": S.p}, S.y, n_resamples=9, rng=1)
    assert bars.to_markdown().splitlines()[2].startswith("| a\\|b\\\\ | ")
    assert bars.to_latex().splitlines()[4].startswith(r"a|b\textbackslash{} & ")


def test_dictionary_and_frame(comparison):
    entries = json.loads(json.dumps(comparison.to_dict()))
    assert entries["rows"][0]["pvalue"] == comparison.rows[0].pvalue
    assert entries["rows"][0]["interval"]["low"] == comparison.rows[0].interval.low
    frame = comparison.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.index) == list(MODELS)
    assert frame.loc["worse", "pvalue_bh"] == comparison.rows[1].pvalue_bh


def test_pandas_is_optional(comparison, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pandas is missing; pip install pandas"):
        comparison.to_pandas()


def test_other_estimators_kernels_and_tests():
    two = {"good": S.p, "worse": MODELS["worse"]}
    test = ct.MonteCarloTest(ct.ECE(), 99)
    binned = ct.compare_models(two, S.y, estimator=ct.ECE(), test=test, n_resamples=99, rng=1)
    assert binned.rows[0].interval is None
    assert binned.rows[0].estimate == ct.ECE()(S.p, S.y)
    (stream,) = np.random.SeedSequence(1).spawn(1)
    floor = ct.noise_floor(S.p, ct.ECE(), n_resamples=99, rng=stream.spawn(1)[0])
    assert (binned.rows[0].noise_floor, binned.rows[0].noise_quantile) == (floor.mean, floor.quantile)
    assert binned.rows[0].pvalue == test(S.p, S.y, rng=np.random.SeedSequence(1).spawn(1)[0]).pvalue
    assert binned.table()[0] == ["model", "accuracy", "p", "Holm", "estimate", "if calibrated"]
    named = ct.compare_models(two, S.y, kernel=TV, n_resamples=99, rng=1)
    assert named.test.startswith("MonteCarloTest")
    assert named.rows[0].estimate == pytest.approx(ct.SKCE(TV)(S.p, S.y), rel=1e-10)


def test_real_numbers():
    found = ct.compare_models({"a": S.normal}, S.targets, kernel=W2, n_resamples=9, rng=1)
    assert found.score_name == "RMSE"
    mean = S.normal.moments()[0]
    assert found.rows[0].score == pytest.approx(np.sqrt(np.mean((S.targets - mean) ** 2)))


def test_no_interval_where_h_does_not_vary():
    certain = ct.compare_models({"sure": np.eye(3)[S.y], "other": S.p}, S.y, kernel=TV, n_resamples=9, rng=1)
    assert certain.rows[0].interval is None
    assert certain.rows[1].interval is not None
    assert certain.table()[0][-2:] == ["95 % interval", "if calibrated"]
    assert certain.table()[1][-2] == "-"


def test_errors_that_matter_are_told_from_others():
    """Claims 8 points too high, or right, of 2,000 events, and of 100."""
    rng = np.random.default_rng(3)
    p = rng.uniform(0.2, 0.8, 2000)
    y, models = rng.random(p.size) < p, {"far": p + 0.08, "right": p}
    found = ct.compare_models(models, y, n_resamples=199, rng=1)
    for row, q in zip(found.rows, models.values(), strict=True):
        result = ct.OmnibusTest(shared(models.values()).single, 199)(q, y, rng=np.random.SeedSequence(1).spawn(1)[0])
        (frequency,) = [one for one in result.measures if one.gap is not None]
        level = None if result.detectable is None else result.detectable.level()
        assert (row.gap, row.margin, row.found_at) == (frequency.gap, frequency.margin, level)
        assert level is None or result.detectable.power(0.999 * level) < 0.8 <= result.detectable.power(level)
    far, right = found.rows
    assert (far.matters, right.matters, right.found_at is None) == (True, None, False)
    near, ruled_out = dataclasses.replace(far, name="near", matters=False), dataclasses.replace(right, matters=False)
    found = dataclasses.replace(found, rows=(far, near, right))
    assert found.verdict() == (
        "reject calibration at the 5 % level for 2 of 3 models: far, near; large enough to matter: far; too small to "
        "matter: near"
    )
    one = dataclasses.replace(found, rows=(far,))
    assert one.verdict().endswith("for 1 of 1 model: far; the error is large enough to matter")
    one = dataclasses.replace(found, rows=(ruled_out,))
    assert one.verdict().endswith("calibration is not rejected at the 5 % level, and errors that matter are ruled out")
    bar, low, high = found.bars()[0], *found.rows[0].gap
    assert (list(bar.interval), bar.usual, bar.reference) == ([100.0 * low, 100.0 * high], (0.0, 2.0), None)
    assert "(more than 2 matters)" in found.remarks()[0]
    margins = dataclasses.replace(found, rows=(dataclasses.replace(far, margin=3.0 * far.margin), right))
    assert "(more than 2 to 6 matters)" in margins.remarks()[0]
    few = ct.compare_models({"right": p[:100]}, y[:100], n_resamples=199, rng=1)
    assert few.verdict().endswith("is not rejected at the 5 % level, but errors that matter could have been missed")
    known = dataclasses.replace(right, name="known", found_at=0.02)
    two = dataclasses.replace(found, rows=(*few.rows, known))
    assert two.verdict().endswith("but errors that matter could have been missed for right")
    # The first of two is rejected at 2.5 %, of three at 1.7 %, and of one at the level that is asked for.
    three, alone = (dataclasses.replace(found, rows=rows) for rows in ((*two.rows, known), (known,)))
    assert three.verdict().endswith("but errors that matter could have been missed")
    assert alone.verdict().endswith("is not rejected at the 5 % level")
    assert alone.verdict(0.02).endswith("is not rejected at the 2 % level")
    assert alone.verdict(0.01).endswith("at the 1 % level, but errors that matter could have been missed")
    open_ = dataclasses.replace(near, matters=None)
    assert dataclasses.replace(found, rows=(open_,)).verdict().endswith("near; whether the error matters remains open")
    both = dataclasses.replace(found, rows=(far, open_))
    assert both.verdict().endswith("; large enough to matter: far; open: near")


@pytest.mark.usefixtures("without_findings")
def test_classes():
    p = ct.Categorical(S.p, classes=["ant", "bee", "cow"])
    found = ct.compare_classes(p, np.array(["ant", "bee", "cow"])[S.y], n_resamples=99, rng=1)
    assert [row.name for row in found.rows] == ["ant", "bee", "cow"]
    assert [row.score for row in found.rows] == [np.mean(S.y == c) for c in range(3)]
    pooled = S.p.T.ravel()
    kernel = ct.ProductKernel(
        ct.ExponentialKernel(ct.TotalVariation(), ct.median_bandwidth(pooled, ct.TotalVariation())), ct.DeltaKernel()
    )
    assert found.rows[2].estimate == pytest.approx(ct.SKCE(kernel)(S.p[:, 2], S.y == 2), rel=1e-9)
    assert "Comparison of 3 classes" in unfolded(found)
    assert [row.name for row in ct.compare_classes(S.p, S.y, n_resamples=9, rng=1).rows] == ["0", "1", "2"]
    with pytest.raises(TypeError, match="wanted Categorical ones"):
        ct.compare_classes(S.p[:, 0], S.y == 0)


@pytest.mark.parametrize(
    ("models", "error", "message"),
    [
        ({}, ValueError, "models: got none"),
        ([S.p], TypeError, "models: got list, wanted a dictionary"),
        (pd.DataFrame({"a": S.p[:, 0]}), TypeError, r"of a frame with a column for each model pass dict\(frame\)"),
        ({1: S.p}, TypeError, "models: got the name 1, wanted names that are strings"),
        ({"a": S.p, "b": S.p[:59]}, ValueError, r"models\['b'\]: targets: got 60 values, wanted 59"),
        ({"a": S.p, "b": S.normal}, TypeError, r"models\['b'\]: predictions: got Normal"),
        ({"a": S.p, "b": S.p * 2.0}, ValueError, r"models\['b'\]: probabilities: got row"),
        ({"a": S.p[:1]}, ValueError, r"models\['a'\]: targets"),
    ],
)
def test_bad_models(models, error, message):
    with pytest.raises(error, match=message):
        ct.compare_models(models, S.y, n_resamples=9)


@pytest.mark.parametrize("first", [0, 1])
def test_one_column_and_two_columns_are_refused_with_advice(first):
    p = S.p[:, 0]
    models = [("a", p), ("b", np.stack([1.0 - p, p], axis=1))]
    with pytest.raises(TypeError, match=r"two columns of .*, wanted one in all: p\[:, 1\]"):
        ct.compare_models(dict([models[first], models[1 - first]]), S.y == 0, n_resamples=9)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"estimator": "SKCE"}, TypeError, "estimator: got str"),
        ({"test": ct.calibration_test}, TypeError, "test: got function"),
        ({"n_resamples": 0}, ValueError, "n_resamples: got 0"),
        ({"confidence_level": 2}, ValueError, "confidence_level"),
        ({"kernel": 3}, TypeError, "kernel"),
        ({"estimator": ct.estimators.ResidualMean()}, TypeError, "model 'a': predictions: got Categorical"),
    ],
)
def test_bad_settings(options, error, message):
    with pytest.raises(error, match=message):
        ct.compare_models({"a": S.p}, S.y, **({"n_resamples": 9} | options))


def test_what_is_printed_lies_in_the_interval():
    """Unbiased estimates can be below 0; the error, and the interval for it, cannot."""
    p = np.random.default_rng(2).random(80)
    y = (np.arange(80) % 2 == 0).astype(int)
    found = ct.compare_models({"a": np.full(80, 0.5) + 1e-3 * p, "b": p}, y, kernel=TV, n_resamples=9, rng=1)
    row = found.rows[0]
    assert row.estimate < 0.0 == row.shown == row.interval.low
    assert "estimate: 0 where the unbiased estimate is negative" in unfolded(found)
    assert found.table()[1][4] == "0"
    positive = ct.compare_models({"b": p}, y, kernel=TV, n_resamples=9, rng=1)
    # Two ways to the same number, of which one comes with the interval, differ by rounding.
    rounded = dataclasses.replace(positive.rows[0], estimate=np.nextafter(positive.rows[0].shown, 1.0))
    assert "negative" not in unfolded(dataclasses.replace(positive, rows=(rounded,)))
    assert all(one.interval.low <= one.shown <= one.interval.high for one in found.rows)


def test_the_interval_can_hold_what_is_rejected(comparison):
    interval = dataclasses.replace(comparison.rows[0].interval, low=0.0)
    row = dataclasses.replace(comparison.rows[0], interval=interval, pvalue_holm=0.01)
    found = dataclasses.replace(comparison, rows=(row,))
    assert "p-values and intervals come from different tests" in unfolded(found)


def test_notes_are_said_once_or_with_the_names():
    one, other = ("few rows",), ("ties", "few rows")
    assert notes_of({"a": one, "b": one}) == ("few rows",)
    assert notes_of({"a": one, "b": other}) == ("few rows", "b: ties")
    assert notes_of({"a": one, "b": other, "c": ("ties",)}) == ("a, b: few rows", "b, c: ties")
    assert notes_of({"a": ("ties", "ties"), "b": one}) == ("a: ties", "b: few rows")


def test_one_model_is_not_called_models():
    predictions, labels = ct.datasets.load_digits_predictions()["random forest"]
    one = ct.compare_models({"forest": predictions}, labels, n_resamples=9, rng=1)
    assert str(one).startswith("Comparison of 1 model\n")
    assert "adjusted for 1 model\n" in str(one)


def test_three_observations_have_an_interval():
    three = ct.compare_models({"a": S.p[:3], "b": MODELS["worse"][:3]}, S.y[:3], kernel=TV, n_resamples=9, rng=1)
    assert three.rows[0].interval is not None
    two = ct.compare_models({"a": S.p[:2], "b": MODELS["worse"][:2]}, S.y[:2], kernel=TV, n_resamples=9, rng=1)
    assert two.rows[0].interval is None


def test_small_scores_keep_their_digits():
    y = 1e-7 * np.random.default_rng(1).normal(size=60)
    found = ct.compare_models({"a": ct.Normal(np.zeros(60), 1e-7)}, y, n_resamples=19, rng=1)
    assert float(found.table()[1][1]) == pytest.approx(found.rows[0].score, rel=1e-2)


def test_models_of_several_families_are_told_what_to_take():
    y = np.random.default_rng(1).normal(size=40)
    models = {"a": ct.Normal(np.zeros(40), 1.0), "b": ct.Ensemble(np.random.default_rng(2).normal(size=(40, 9)))}
    with pytest.raises(TypeError, match=r"models\['b'\].*take draws, ct.Ensemble\(p.to_ensemble\(100, rng=1\).members"):
        ct.compare_models(models, y)
    models["a"] = ct.Ensemble(models["a"].to_ensemble(100, rng=1).members)
    assert len(ct.compare_models(models, y, n_resamples=9, rng=1).rows) == 2


def test_one_redraw_is_enough_for_a_comparison():
    assert {row.pvalue for row in ct.compare_models(MODELS, S.y, n_resamples=1, rng=1).rows} <= {0.5, 1.0}
    with pytest.raises(ValueError, match="n_resamples: got 0"):
        ct.compare_models(MODELS, S.y, n_resamples=0, rng=1)
