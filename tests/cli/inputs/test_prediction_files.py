"""Names of columns, labels of rows, missing outcomes and copies: what is read from tables, and what is kept of them."""

import bz2
import csv
import dataclasses
import gzip
import inspect
import json
import lzma
import re
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from public import PUBLIC

import caltest as ct
from caltest import generators
from caltest.cli import main
from caltest.cli.inputs import prediction_files
from caltest.predictions.inputs.convert import as_sample
from caltest.recalibration import FamilyTemperatureScaling, Platt, TemperatureScaling

N, K = 60, 3
RNG = np.random.default_rng(3)
P = RNG.dirichlet(np.ones(K), N)
Y = ct.Categorical(P).sample(1)
P1, Y1 = P[:, 1], (Y == 1).astype(int)
NAMES = np.array(["eel", "cat", "dog"])
KERNEL = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), bandwidth=0.5), ct.DeltaKernel())
SHUFFLED = RNG.permutation(N)
IDS = np.array([f"case {i}" for i in range(N)])
FRAME = pd.DataFrame(P, columns=NAMES, index=IDS)
LABELS = pd.Series(NAMES[Y], index=IDS)


def pvalue(p, y, **options):
    return ct.calibration_test(p, y, n_resamples=19, rng=0, **options).pvalue


def error(p, y, **options):
    return ct.SKCE(KERNEL)(p, y, **options)


def table(names, cases):
    return pytest.mark.parametrize(names, cases.values(), ids=cases)


# Names of columns.


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_columns_that_targets_name_are_classes(make):
    frame = make({name: P[:, j] for j, name in enumerate(NAMES)})
    assert error(frame, NAMES[Y]) == error(P, Y)
    assert error(frame, list(NAMES[Y])) == error(P, Y)
    assert error(frame, pd.Categorical(NAMES[Y])) == error(P, Y)
    assert error(frame, Y) == error(P, Y)
    assert as_sample(frame, NAMES[Y]).predictions.classes == tuple(NAMES)


def test_columns_in_another_order():
    assert error(FRAME[NAMES[[2, 0, 1]]], LABELS) == error(P[:, [2, 0, 1]], NAMES[Y], classes=NAMES[[2, 0, 1]])
    with pytest.raises(ValueError, match=r"classes: got \['dog', 'eel', 'cat'\], wanted them in the order of the col"):
        error(FRAME, LABELS, classes=["dog", "eel", "cat"])
    with pytest.raises(ValueError, match=r"got \['cat', 'cat', 'dog'\], wanted names that are all different"):
        error(FRAME.set_axis(["cat", "cat", "dog"], axis=1), LABELS)


def test_columns_named_by_numbers():
    frame = pd.DataFrame(P, columns=[7, 3, 5])
    assert error(frame, np.array([7, 3, 5])[Y]) == error(P, Y)
    assert error(frame, np.array([7.0, 3.0, 5.0])[Y]) == error(P, Y)
    assert error(frame.set_axis(["7", "3", "5"], axis=1), np.array([7, 3, 5])[Y]) == error(P, Y)
    assert error(pd.DataFrame(P, columns=[1, 2, 3]), Y + 1) == error(P, Y)
    assert error(pd.DataFrame(P, columns=[4, 5, 6]), Y) == error(P, Y)
    assert error(pd.DataFrame(P[:, :1], columns=["p"]), Y == 0) == error(P[:, 0], Y == 0)


@pytest.mark.parametrize("columns", [[1, 2, 3], [2, 0, 1], ["1", "2", "3"], ["p_1", "p_2", "p_3"]])
def test_labels_that_are_names_as_well_as_places(columns):
    y = np.where(Y == 0, 1, 2)
    with pytest.raises(ValueError, match=r"names of the columns of the predictions .* as well as their places 0\.\.2"):
        error(pd.DataFrame(P, columns=columns), y)
    assert error(pd.DataFrame(P, columns=columns).to_numpy(), y, classes=[1, 2, 3]) == error(P, y - 1)


@pytest.mark.parametrize(("yes", "no"), [(True, False), ("yes", "no"), ("true", "false"), ("Pos", "Neg")])
def test_booleans_that_are_names(yes, no):
    two, wanted = pd.DataFrame({yes: P1, no: 1.0 - P1}), error(np.stack([1.0 - P1, P1], axis=1), Y1)
    assert error(two, Y1 == 1) == pytest.approx(wanted, rel=1e-9)
    in_order = two.iloc[:, ::-1]
    assert error(in_order, Y1) == error(in_order, Y1 == 1) == pytest.approx(wanted, rel=1e-9)
    with pytest.raises(ValueError, match=f"1 can mean {yes} or the second column; wanted these names, or booleans"):
        error(two, Y1)


@pytest.mark.parametrize(("yes", "no"), [("yes", "no"), ("Y", "N"), ("TRUE", "False"), ("positive", "negative")])
def test_words_for_an_event(yes, no):
    words = np.where(Y1 == 1, yes, no)
    assert error(P1, words) == error(P1, Y1)
    fits = [ct.recalibration.Platt().fit(P1, labels)(P1) for labels in (words, Y1)]
    np.testing.assert_array_equal(*fits)
    assert ct.Censored(P1 + 0.1, words).event.tolist() == (Y1 == 1).tolist()
    with pytest.raises(
        ValueError, match=r"targets: got text such as '(dead|alive)', wanted labels 0..1; pass targets =="
    ):
        error(P1, np.where(Y1 == 1, "dead", "alive"))
    with pytest.raises(ValueError, match="targets: got text such as"):
        error(np.stack([P1, 1.0 - P1], axis=1), words)


# Labels of rows.


def test_rows_are_matched_by_an_index_that_both_have():
    shuffled = LABELS.iloc[SHUFFLED]
    result = ct.calibration_test(FRAME, shuffled, n_resamples=19, rng=0)
    assert result.notes == ("predictions and targets were matched by their index, which is in another order",)
    assert result.pvalue == pvalue(P[SHUFFLED], Y[SHUFFLED])
    assert error(FRAME, shuffled) == error(P[SHUFFLED], Y[SHUFFLED])
    assert ct.calibration_test(FRAME, LABELS, n_resamples=19, rng=0).notes == ()


@pytest.mark.parametrize("which", ["predictions", "targets"])
def test_a_shuffled_count_is_warned_about(which):
    p, y = pd.DataFrame(P), pd.Series(Y)
    p, y = (p.iloc[SHUFFLED], y) if which == "predictions" else (p, y.iloc[SHUFFLED])
    with pytest.warns(UserWarning, match="matched by their index.* to match them by position pass to_numpy"):
        assert error(p, y) == pytest.approx(error(P, Y), rel=1e-12)
    assert error(p.to_numpy(), y.to_numpy()) != pytest.approx(error(P, Y), rel=1e-6)


POSITIONS = {
    "other labels": (FRAME, LABELS.set_axis(IDS[SHUFFLED] + "?")),
    "targets without": (FRAME.iloc[SHUFFLED].set_axis(IDS[SHUFFLED]).loc[IDS], LABELS.to_numpy()),
    "predictions without": (pd.DataFrame(P, columns=NAMES).to_numpy(), LABELS),
    "numbers and text": (FRAME, LABELS.reset_index(drop=True)),
    "several levels": (FRAME, LABELS.set_axis(pd.MultiIndex.from_product([range(6), range(10)]))),
}


@table(("p", "y"), POSITIONS)
def test_rows_are_else_matched_by_position(p, y):
    assert error(p, y, **({} if isinstance(p, pd.DataFrame) else {"classes": NAMES})) == error(P, Y)


def test_rows_that_share_some_labels_are_warned_about():
    with pytest.warns(UserWarning, match=f"have {N - 1} of {N} labels of their indices in common"):
        assert error(FRAME, LABELS.set_axis([*IDS[1:], "x"])) == error(P, Y)


def test_labels_of_rows_that_repeat():
    p, y = pd.DataFrame(P, index=np.arange(N) // 2 + 5), pd.Series(Y, index=np.arange(N)[::-1] // 2 + 5)
    with pytest.warns(UserWarning, match="in which labels repeat; they are matched by position"):
        assert error(p, y) == error(P, Y)


def test_several_models_groups_and_parameters_have_the_order_of_the_targets():
    y = LABELS.iloc[SHUFFLED]
    other = pd.DataFrame(RNG.dirichlet(np.ones(K), N), columns=NAMES, index=IDS)
    found = ct.PairedSKCETest(KERNEL)(FRAME, other.iloc[::-1], y)
    assert found.estimate == pytest.approx(ct.PairedSKCETest(KERNEL)(P, other.to_numpy(), Y).estimate, rel=1e-9)
    fit = ct.recalibration.TemperatureScaling().fit
    assert fit(FRAME, y).temperature == pytest.approx(fit(P, Y).temperature, rel=1e-6)
    groups = pd.Series(np.where(np.arange(N) < 20, "a", "b"), index=IDS)
    for given in (groups, pd.get_dummies(groups).astype(bool), {name: groups == name for name in "ab"}):
        grouped = ct.calibration_by_group(FRAME, y, given, kernel=KERNEL, n_resamples=9, rng=0)
        estimates = {group.name: group.estimate for group in grouped.groups}
        assert estimates == pytest.approx({"a": error(P[:20], Y[:20]), "b": error(P[20:], Y[20:])}, rel=1e-9)
    mean, scale = pd.Series(P[:, 0], index=IDS), pd.Series(P[:, 1] + 0.5, index=IDS)
    np.testing.assert_array_equal(ct.Normal(mean, scale.iloc[SHUFFLED]).scale, scale)
    clusters = pd.Series(np.arange(N) // 2, index=IDS)
    p, _ = ct.estimators.one_per_cluster(FRAME, y, clusters, rng=1)
    kept = [int(np.flatnonzero((row == P).all(axis=1))[0]) // 2 for row in p.probabilities]
    assert sorted(kept) == list(range(N // 2))


# Missing outcomes.

LACKING = np.zeros(N, dtype=bool)
LACKING[[0, 7, 8, N - 1]] = True
WITHOUT = {
    "nan": lambda y: np.where(LACKING, np.nan, y),
    "None": lambda y: [None if gone else int(v) for v, gone in zip(y, LACKING, strict=True)],
    "masked": lambda y: np.ma.array(y, mask=LACKING),
    "column of masked": lambda y: np.ma.array(y, mask=LACKING)[:, None],
    "pandas": lambda y: pd.Series(y).mask(LACKING),
    "pandas nullable": lambda y: pd.Series(y, dtype="Int64").mask(LACKING),
    "pandas categories": lambda y: pd.Series(y, dtype="category").mask(LACKING),
    "polars": lambda y: pl.Series([None if gone else int(v) for v, gone in zip(y, LACKING, strict=True)]),
    "NaT": lambda y: [pd.NaT if gone else int(v) for v, gone in zip(y, LACKING, strict=True)],
}


@pytest.mark.every(5)
@table("form", WITHOUT)
def test_missing_outcomes_are_refused_or_dropped(form):
    for p, y in ((P, Y), (ct.Categorical(P), Y), (P1, Y1)):
        with pytest.raises(ValueError, match=r'^targets: got .* missing="drop"'):
            pvalue(p, form(y))
        result = ct.calibration_test(p, form(y), missing="drop", n_resamples=19, rng=0)
        kept = p.take(~LACKING) if isinstance(p, ct.Categorical) else p[~LACKING]
        expected = ct.calibration_test(kept, y[~LACKING], n_resamples=19, rng=0)
        assert (result.n, result.estimate, result.pvalue) == (N - 4, expected.estimate, expected.pvalue)
        (note,) = result.notes
        assert note.startswith("4 of 60 outcomes were missing and left out")
        assert "assumes that whether an outcome is missing does not depend on it, given the prediction" in note


NAMED_WITHOUT = {
    "None": lambda y: np.where(LACKING, None, y),
    "list with nan": lambda y: [float("nan") if gone else str(v) for v, gone in zip(y, LACKING, strict=True)],
    "pandas": lambda y: pd.Series(y).mask(LACKING),
    "pandas strings": lambda y: pd.Series(y, dtype="string").mask(LACKING),
    "polars": lambda y: pl.Series([None if gone else v for v, gone in zip(y, LACKING, strict=True)]),
}


@table("form", NAMED_WITHOUT)
def test_missing_names(form):
    with pytest.raises(ValueError, match='missing="drop"'):
        pvalue(P, form(NAMES[Y]), classes=NAMES)
    assert pvalue(P, form(NAMES[Y]), classes=NAMES, missing="drop") == pvalue(P[~LACKING], Y[~LACKING])
    assert pvalue(pd.DataFrame(P, columns=NAMES), form(NAMES[Y]), missing="drop") == pvalue(P[~LACKING], Y[~LACKING])


def test_missing_booleans_numbers_and_vectors():
    answers = [None if gone else bool(v) for v, gone in zip(Y1, LACKING, strict=True)]
    assert pvalue(P1, answers, missing="drop") == pvalue(P1[~LACKING], Y1[~LACKING])
    x = RNG.normal(size=(N, 2))
    lacking = np.where(LACKING[:, None] & [True, False], np.nan, x)
    normal, vectors = ct.Normal(P1, 1.0), ct.MvNormal(P[:, :2], np.ones((N, 2)))
    assert pvalue(normal, lacking[:, 0], missing="drop") == pvalue(
        normal.take(np.flatnonzero(~LACKING)), x[~LACKING, 0]
    )
    assert pvalue(vectors, lacking, missing="drop") == pvalue(vectors.take(np.flatnonzero(~LACKING)), x[~LACKING])


ELSEWHERE = {
    "groups": lambda p, y: ct.calibration_by_group(p, y, np.arange(len(y)) % 2),
    "stream": lambda p, y: ct.SequentialCalibrationTest().update(p, y),
    "models": lambda p, y: ct.compare_models({"a": p}, y),
    "estimate": lambda p, y: ct.ECE()(p, y),
    "map of an array": lambda p, y: TemperatureScaling().fit(p, y),
    "map of a family": lambda p, y: TemperatureScaling().fit(ct.Categorical(p), y),
    "map of two classes": lambda p, y: Platt().fit(ct.Bernoulli(p[:, 0]), y),
    "map of a distribution": lambda p, y: FamilyTemperatureScaling().fit(ct.Normal(p[:, 0], 1.0), y),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_where_missing_outcomes_cannot_be_dropped_the_error_says_what_to_do(name):
    y = np.tile([0.0, 1.0, np.nan], 4)
    with pytest.raises(
        ValueError, match=r"got nan at row 2 \(4 in all\), .*; leave those rows out of predictions and targets$"
    ):
        ELSEWHERE[name](np.tile([0.2, 0.3, 0.5], (12, 1)), y)


def test_missing_outcomes_elsewhere():
    """Where there is no such option no error names it; predictions and rows of errors stay as they are."""
    with pytest.raises(ValueError, match="got nan at row 0") as caught:
        ct.SKCE(KERNEL)(P, WITHOUT["nan"](Y))
    assert "drop" not in str(caught.value)
    with pytest.raises(ValueError, match="got only missing values"):
        pvalue(P, np.full(N, np.nan), missing="drop")
    with pytest.raises(ValueError, match='missing: got \'keep\', wanted "refuse" or "drop"'):
        pvalue(P, Y, missing="keep")
    with pytest.raises(ValueError, match="targets: got label 9 at row 20"):
        pvalue(P, np.where(np.arange(N) == 20, 9.0, WITHOUT["nan"](Y)), missing="drop")
    with pytest.raises(ValueError, match="probabilities: got nan at row 7"):
        pvalue(np.where(np.arange(N)[:, None] == 7, np.nan, P), WITHOUT["nan"](Y), missing="drop")
    with pytest.raises(ValueError, match="got 59 values, wanted 60"):
        pvalue(P, WITHOUT["nan"](Y)[:-1], missing="drop")


# Columns (n, 1), and numbers that need a family.


@pytest.mark.every(2)
@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame, pl.DataFrame, np.ndarray.tolist])
def test_one_column_is_a_vector(make):
    assert error(P, make(Y[:, None])) == error(P, Y)
    assert error(make(P1[:, None]), make(Y1[:, None])) == error(P1, Y1)
    x, scale = P[:, 0], P[:, 1] + 0.5
    assert pvalue(ct.Normal(make(x[:, None]), make(scale[:, None])), make(P[:, 2:])) == pvalue(
        ct.Normal(x, scale), P[:, 2]
    )
    assert pvalue(ct.Bernoulli(make(P1[:, None])), Y1) == pvalue(P1, Y1)
    groups = np.arange(N) % 2
    assert ct.calibration_by_group(P, Y, make(groups[:, None]), n_resamples=9, rng=0).pvalue == (
        ct.calibration_by_group(P, Y, groups, n_resamples=9, rng=0).pvalue
    )


REAL = {
    "means": (RNG.normal(size=N), RNG.normal(size=N), "Normal"),
    "large means": (RNG.normal(50.0, 9.0, N), RNG.normal(50.0, 9.0, N), "Normal"),
    "counts": (RNG.gamma(9.0, 1.0, N), RNG.poisson(9.0, N), "Poisson"),
    "whole targets": (RNG.normal(50.0, 9.0, N), np.round(RNG.normal(50.0, 9.0, N)), "Normal"),
    "members": (RNG.normal(size=(N, 5)), RNG.normal(size=N), "Ensemble"),
    "members and counts": (RNG.poisson(30.0, (N, 5)), RNG.poisson(30.0, N), "Ensemble"),
    "means in the unit interval": (RNG.random(N), RNG.normal(size=N), "Normal"),
    "vectors": (RNG.normal(size=(N, 2)), RNG.normal(size=(N, 2)), "MvNormal"),
    "members of vectors": (RNG.normal(size=(N, 5, 2)), RNG.normal(size=(N, 2)), "Ensemble"),
}


@table(("p", "y", "family"), REAL)
def test_predicted_numbers_are_to_be_wrapped(p, y, family):
    with pytest.raises(ValueError, match=rf"wrap .*ct\.{family}") as caught:
        pvalue(p, y)
    assert "logits" not in str(caught.value)


# Names of classes everywhere.


def takes_labels(call):
    """Whether a call takes predictions, which can be an array, and labels."""
    try:
        parameters = inspect.signature(call).parameters
    except ValueError:
        return False
    given = [parameters[name] for name in ("targets", "labels") if name in parameters]
    first = parameters.get("predictions") or parameters.get("models")
    return bool(given) and first is not None and first.annotation is not ct.predictions.Predictions


def calls():
    for name, thing in PUBLIC.items():
        if inspect.isfunction(thing):
            yield name, thing
        elif inspect.isclass(thing):
            for method in ("__call__", "fit", "plug_in", "risk", "update"):
                if method in dir(thing) and inspect.isfunction(getattr(thing, method)):
                    yield f"{name}.{method}", getattr(thing, method)


def test_classes_are_taken_by_everything_that_takes_labels():
    found = dict(calls())
    taking = {name for name, call in found.items() if takes_labels(call)}
    assert {"calibration_test", "top_label", "SKCE.__call__", "compare_models", "plots.reliability_diagram"} <= taking
    without = {name for name in taking if "classes" not in inspect.signature(found[name]).parameters}
    # The constructor of the first has them, targets of the others are times, amounts of rain and other numbers.
    without = {name for name in without if not name.startswith("fields.weather.")}
    survival = {
        f"fields.{name}" for name in ("a_calibration", "censored_pit_values", "d_calibration", "one_calibration")
    }
    assert without == {"CalibrationMonitor.update", "SequentialCalibrationTest.update", *survival}


USES = {
    "top_label": lambda p, y, **o: ct.top_label(p, y, **o)[1].tolist(),
    "classwise": lambda p, y, **o: [pair[1].tolist() for pair in ct.classwise(p, y, **o)],
    "estimator": lambda p, y, **o: ct.SKCE(KERNEL)(p, y, **o),
    "test": lambda p, y, **o: ct.MonteCarloTest(ct.ECE(), 19)(p, y, rng=0, **o).pvalue,
    "skce_interval": lambda p, y, **o: ct.skce_interval(p, y, KERNEL, **o),
    "ece_interval": lambda p, y, **o: ct.ece_interval(p, y, ct.ECE(), rng=0, n_resamples=99, **o),
    "binned_error_interval": lambda p, y, **o: ct.binned_error_interval(p, y, **o),
    "distribution_free": lambda p, y, **o: ct.distribution_free_interval(p, y, ct.SKCE(KERNEL), **o),
    "compare_models": lambda p, y, **o: [
        row.pvalue for row in ct.compare_models({"a": p}, y, n_resamples=9, rng=0, **o).rows
    ],
    "compare_pairs": lambda p, y, **o: [row.pvalue for row in ct.compare_pairs({"a": p, "b": P[::-1]}, y, **o).rows],
    "compare_classes": lambda p, y, **o: [
        row.pvalue for row in ct.compare_classes(p, y, n_resamples=9, rng=0, **o).rows
    ],
    "PairedSKCETest": lambda p, y, **o: ct.PairedSKCETest(KERNEL)(p, P[::-1], y, **o).pvalue,
    "groups": lambda p, y, **o: ct.GroupCalibrationTest(KERNEL, 9)(p, y, np.arange(N) % 2, rng=0, **o).pvalue,
    "confidence_errors": lambda p, y, **o: ct.confidence_errors(p, y, **o).accuracy,
    "score_decomposition": lambda p, y, **o: (
        ct.score_decomposition(p, y, binning=ct.binning.UniformBinning(2), **o).miscalibration
    ),
    "one_per_cluster": lambda p, y, **o: ct.ECE()(*ct.estimators.one_per_cluster(p, y, np.arange(N) // 2, rng=0, **o)),
    "estimate": lambda p, y, **o: ct.estimate_calibration_error(p, y, rng=0, n_folds=2, **o).squared_error,
    "recalibration": lambda p, y, **o: ct.recalibration.TemperatureScaling().fit(p, y, **o).temperature,
    "accumulator": lambda p, y, **o: ct.AsymptoticBlockSKCETest(KERNEL).accumulator().update(p, y, **o).result().pvalue,
}


@table("use", USES)
def test_names_of_classes_are_looked_up(use):
    expected = use(P, Y)
    assert use(P, NAMES[Y], classes=NAMES) == expected
    assert use(ct.Categorical(P), NAMES[Y], classes=list(NAMES)) == expected
    if use not in (USES["compare_pairs"], USES["PairedSKCETest"]):  # whose other model is an array
        assert use(FRAME, LABELS) == expected


def test_classes_of_a_comparison_keep_their_names():
    rows = ct.compare_classes(pd.DataFrame(P, columns=NAMES), NAMES[Y], n_resamples=9, rng=0).rows
    assert [row.name for row in rows] == list(NAMES)


# Groups.


def test_groups_keep_their_names():
    for labels in (np.arange(N) % 3, np.arange(N) % 3 + 0.0, np.arange(N) % 3 / 2.0):
        result = ct.calibration_by_group(P, Y, labels, n_resamples=9, rng=0)
        halves = labels.max() == 1.0
        assert {group.name for group in result.groups} == ({"0.0", "0.5", "1.0"} if halves else {"0", "1", "2"})
    half, other = np.arange(N) < 30, np.arange(N) >= 25
    result = ct.calibration_by_group(P, Y, {1: half, "1": other}, n_resamples=9, rng=0)
    assert {group.name: group.n for group in result.groups} == {"1": 30, "'1'": 35}
    for make in (pd.DataFrame, pl.DataFrame):
        masks = make({"young": half, "old": other})
        result = ct.calibration_by_group(P, Y, masks, n_resamples=9, rng=0)
        assert {group.name: group.n for group in result.groups} == {"young": 30, "old": 35}
        assert ct.estimators.GroupSKCE(KERNEL, masks).groups.names == ("young", "old")


# Copies.

MASKS = np.stack([np.arange(N) < 30, np.arange(N) >= 25], axis=1)


def objects():
    """What keeps arrays: how it is made of one, what it says, and the array."""
    yield "GroupSKCE of masks", lambda a: ct.estimators.GroupSKCE(KERNEL, a), lambda o: o(P, Y), MASKS
    yield (
        "GroupSKCE of a frame",
        lambda a: ct.estimators.GroupSKCE(KERNEL, pd.DataFrame(a, copy=False)),
        lambda o: o(P, Y),
        MASKS,
    )
    yield (
        "GroupSKCE of a mapping",
        lambda a: ct.estimators.GroupSKCE(KERNEL, {"a": a[:, 0], "b": a[:, 1]}),
        lambda o: o(P, Y),
        MASKS,
    )
    yield "GroupSKCE of labels", lambda a: ct.estimators.GroupSKCE(KERNEL, a), lambda o: o(P, Y), np.arange(N) % 2
    yield "GroupMaximum", lambda a: ct.estimators.GroupMaximum(ct.SKCE(KERNEL), a), lambda o: o(P, Y), MASKS.copy()
    yield "WeightedSKCE", lambda a: ct.estimators.WeightedSKCE(KERNEL, a), lambda o: o(P, Y), P[:, 0].copy()
    clusters = np.arange(N) // 3
    yield "ClusterSKCE", lambda a: ct.estimators.ClusterSKCE(KERNEL, a), lambda o: o(P, Y), clusters
    yield "UCME, predictions", lambda a: ct.UCME(KERNEL, a, Y[:4]), lambda o: o(P, Y), P[:4].copy()
    yield "UCME, targets", lambda a: ct.UCME(KERNEL, P[:4], a), lambda o: o(P, Y), Y[:4].copy()
    yield "MatrixKernel", ct.kernels.MatrixKernel, lambda o: o.squared_diameter, np.diag([1.0, 2.0, 3.0])
    yield (
        "EdgeBinning",
        ct.binning.EdgeBinning,
        lambda o: o.assign(P1[:, None]).tolist(),
        np.array([0.0, 0.2, 0.7, 1.0]),
    )
    yield "Categorical", ct.Categorical, lambda o: o.sample(0).tolist(), P.copy()
    yield "Ordinal", lambda a: ct.Ordinal(P, positions=a), lambda o: o.positions.tolist(), np.array([0.0, 1.0, 5.0])
    yield "Bernoulli", ct.Bernoulli, lambda o: o.sample(0).tolist(), P1.copy()
    for make in (ct.Normal, ct.Laplace, ct.LogNormal, ct.Gamma, ct.Beta, ct.NegativeBinomial):
        for i in range(2):
            yield (
                f"{make.__name__} {i}",
                lambda a, make=make, i=i: make(*((a, P1) if i == 0 else (P1, a))),
                lambda o: o.sample(0).tolist(),
                P[:, 2].copy(),
            )
    yield "StudentT", lambda a: ct.StudentT(a, P1, P1), lambda o: o.sample(0).tolist(), P[:, 2].copy()
    yield "Poisson", ct.Poisson, lambda o: o.sample(0).tolist(), P1.copy()
    yield "MvNormal, mean", lambda a: ct.MvNormal(a, P + 0.1), lambda o: o.sample(0).tolist(), P.copy()
    yield (
        "MvNormal, covariance",
        lambda a: ct.MvNormal(P[:1], a),
        lambda o: o.sample(0).tolist(),
        np.diag([1.0, 2.0, 3.0])[None],
    )
    yield "MvNormal, scales", lambda a: ct.MvNormal(P, a), lambda o: o.sample(0).tolist(), P + 0.1
    yield "Ensemble", ct.Ensemble, lambda o: o.members.tolist(), P.copy()
    yield "Mixture", lambda a: ct.Mixture([ct.Normal(P1, 1.0)] * 3, a), lambda o: o.sample(0).tolist(), P.copy()
    levels, values = np.array([0.1, 0.5, 0.9]), np.sort(P, axis=1)
    yield (
        "QuantileForecast, values",
        lambda a: ct.QuantileForecast(levels, a),
        lambda o: o.embedding(ct.Wasserstein()).tolist(),
        values,
    )
    yield "QuantileForecast, levels", lambda a: ct.QuantileForecast(a, values), lambda o: o.levels.tolist(), levels
    model = generators.DirichletModel
    for name, size in (("concentration", 3), ("fixed", 3)):
        array = np.full(size, 0.2) + np.arange(size) * 2 / 15
        yield (
            f"DirichletModel, {name}",
            lambda a, name=name: model(n_classes=3, strength=0.5, **{name: a}),
            lambda o: o.sample(9, 0)[1].tolist(),
            array,
        )
    yield (
        "Resampled",
        lambda a: generators.Resampled(a, generators.LabelNoise(0.1)),
        lambda o: o.sample(9, 0)[1].tolist(),
        P.copy(),
    )


@pytest.mark.parametrize(("make", "say", "array"), [one[1:] for one in objects()], ids=[one[0] for one in objects()])
def test_objects_do_not_change_with_the_arrays_they_are_made_of(make, say, array):
    given = array.copy()
    made = make(given)
    before = say(made)
    given[:] = given[::-1].copy() if given.dtype == bool or given.ndim > 1 else np.sort(given)[::-1] / 2 + 1
    assert say(made) == before
    if dataclasses.is_dataclass(made):
        assert say(dataclasses.replace(made)) == before


ANIMALS = ["cat", "dog", "owl"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    return pd.DataFrame(rng.dirichlet(np.ones(3), 40), columns=ANIMALS).assign(animal=rng.choice(ANIMALS, 40))


def saved_by(method, **options):
    return lambda table, path: getattr(table, method)(path, **options)


def packed(module):
    return lambda table, path: path.write_bytes(module.compress(table.to_csv(index=False).encode()))


def packed_by_zstd(table, path):
    pyarrow = pytest.importorskip("pyarrow")
    with pyarrow.CompressedOutputStream(str(path), "zstd") as file:
        file.write(table.to_csv(index=False).encode())


def arrays(table, path):
    columns = {name: table[name].to_numpy(float) for name in ANIMALS}
    np.savez(path, **columns, animal=table["animal"].to_numpy(str))


KINDS_OF_FILES = {
    "a.tsv": saved_by("to_csv", index=False, sep="\t"),
    "a.parquet": saved_by("to_parquet"),
    "a.feather": saved_by("to_feather"),
    "a.jsonl": saved_by("to_json", orient="records", lines=True),
    "a.npz": arrays,
    "a.csv.gz": packed(gzip),
    "a.csv.bz2": packed(bz2),
    "a.csv.xz": packed(lzma),
    "a.csv.zst": packed_by_zstd,
}


def result_of(capsys, *arguments):
    status = main(["test", *map(str, arguments), "--seed", "1", "--json"])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.mark.every(5)
@pytest.mark.parametrize("name", KINDS_OF_FILES)
def test_every_kind_of_file_gives_the_same_result(name, table, tmp_path, capsys):
    table[ANIMALS].to_csv(tmp_path / "p.csv", index=False)
    table["animal"].to_csv(tmp_path / "y.csv", index=False)
    expected = json.loads(result_of(capsys, tmp_path / "p.csv", tmp_path / "y.csv")[1])
    KINDS_OF_FILES[name](table, tmp_path / name)
    status, out, err = result_of(capsys, tmp_path / name, "--outcome-column", "animal")
    assert (status, err) == (0, "")
    got = json.loads(out)
    # Packages write 15 to 17 digits.
    assert got["pvalue"] == expected["pvalue"]
    assert got["estimate"] == pytest.approx(expected["estimate"], rel=1e-9)


@pytest.mark.parametrize("method", ["to_parquet", "to_feather"])
def test_the_index_of_a_table_is_no_prediction(method, table, tmp_path, capsys):
    """Pandas writes one without a name beside the columns, of rows in another order, and reads it as index."""
    some = table.sample(30, random_state=1)
    if method == "to_feather":
        feather = pytest.importorskip("pyarrow.feather")
        feather.write_feather(pytest.importorskip("pyarrow").Table.from_pandas(some), tmp_path / "a.feather")
    else:
        some.to_parquet(tmp_path / "a.parquet")
    _, out, err = result_of(capsys, next(tmp_path.iterdir()), "--outcome-column", "animal")
    assert err == ""
    assert json.loads(out)["pvalue"] == ct.calibration_test(some[ANIMALS], some["animal"], rng=1).pvalue


@pytest.mark.every(3)
@pytest.mark.parametrize("name", ["a.csv.bz2", "a.parquet", "a.jsonl"])
def test_groups_clusters_weights_and_features_are_columns_of_one_file(name, table, tmp_path, capsys):
    """As the calls of Python with these columns; predictions and outcomes are those of the other columns."""
    site, ward = np.arange(len(table)) % 3, np.arange(len(table)) // 2
    weight = np.linspace(0.5, 2.0, len(table)).round(2)
    predictions = ct.Categorical(table[ANIMALS].to_numpy(), classes=ANIMALS)
    expected = {
        "site": ct.calibration_by_group(predictions, table["animal"], site.astype(str), rng=1).pvalue,
        "weight": ct.calibration_test(predictions, table["animal"], weights=weight, rng=1).pvalue,
        "ward": ct.calibration_test(
            predictions, table["animal"], clusters=np.char.add("w", ward.astype(str)), rng=1
        ).pvalue,
    }
    columns = {"site": site.astype(str), "weight": weight, "ward": [f"w{one}" for one in ward]}
    both, kernel = (np.char.add("w", ward.astype(str)), np.arange(len(table)) % 5), predictions.default_kernel()
    KINDS_OF_FILES[name](table.assign(ward=both[0], day=both[1]), tmp_path / name)
    _, out, _ = result_of(capsys, tmp_path / name, "--outcome-column", "animal", "--clusters", "ward, day")
    assert json.loads(out)["pvalue"] == ct.ClusterSKCETest(both, kernel)(predictions, table["animal"], rng=1).pvalue
    for option, column in (("--groups", "site"), ("--weights", "weight"), ("--clusters", "ward")):
        KINDS_OF_FILES[name](table.assign(**{column: columns[column]}), tmp_path / name)
        status, out, err = result_of(capsys, tmp_path / name, "--outcome-column", "animal", option, column)
        assert (status, err) == (0, "")
        assert json.loads(out)["pvalue"] == expected[column]
    features = table.assign(weight=np.where(weight > 1.9, np.nan, weight), site=site.astype(str))
    KINDS_OF_FILES[name](features, tmp_path / name)
    wanted = ct.calibration_test(predictions, table["animal"], features=features[["site", "weight"]], rng=1).pvalue
    for more in ([], ["--columns", ",".join(ANIMALS)]):
        status, out, err = result_of(
            capsys, tmp_path / name, "--outcome-column", "animal", "--features", "site, weight", *more
        )
        assert (status, err, json.loads(out)["pvalue"]) == (0, "", wanted)
    for option in ("--groups", "--weights", "--features"):
        status, _, err = result_of(capsys, tmp_path / name, "--outcome-column", "animal", option, "nothing")
        assert (status, "got no column 'nothing' among" in err) == (2, True)


@pytest.mark.parametrize("in_a_file", [False, True])
def test_groups_can_have_weights(in_a_file, tmp_path, capsys):
    """As in Python, where outcomes are missing and weights are 0 in places."""
    rng = np.random.default_rng(1)
    p, weight = rng.uniform(0.2, 0.8, 90), rng.integers(0, 4, 90)
    site, y = rng.permutation(np.repeat(["north", "south", "west"], 30)), (rng.random(90) < p).astype(float)
    y[[3, 50]] = np.nan
    table = pd.DataFrame({"p": p, "y": y, "site": site, "weight": weight})
    table.drop(columns="weight" if in_a_file else []).to_csv(tmp_path / "a.csv", index=False)
    table["weight"].to_csv(tmp_path / "w.csv", index=False)
    weights = "--weights", tmp_path / "w.csv" if in_a_file else "weight"
    options = "--outcome-column", "y", "--columns", "p", "--groups", "site", "--missing", "drop", "--n-resamples", "99"
    status, out, err = result_of(capsys, tmp_path / "a.csv", *options, *weights)
    assert (status, err) == (0, "")
    seen = np.isfinite(y)
    how = {"weights": weight[seen], "n_resamples": 99, "rng": 1}
    result = ct.calibration_by_group(p[seen], y[seen].astype(int), site[seen], **how)
    found = {one["name"]: (one["n"], one["adjusted"]) for one in json.loads(out)["groups"]}
    assert found == {one.name: (one.n, one.adjusted) for one in result.groups}
    assert sum(n for n, _ in found.values()) == np.count_nonzero(weight[seen]) < 80
    status, _, err = result_of(capsys, tmp_path / "a.csv", *options, *weights, "--clusters", "site")
    assert (status, "--clusters: got it with --weights, wanted one of the two" in err) == (2, True)


def test_text_of_arrays_is_read_as_that_of_tables(table, tmp_path, capsys):
    """Missing outcomes, and names for predictions without any."""
    animals = table["animal"].to_numpy("U6")
    animals[2] = "NA"
    np.save(tmp_path / "y.npy", animals)
    np.save(tmp_path / "p.npy", table[ANIMALS].to_numpy())
    table[ANIMALS].to_csv(tmp_path / "p.csv", index=False)
    _, out, _ = result_of(capsys, tmp_path / "p.csv", tmp_path / "y.npy", "--missing", "drop", "--n-resamples", "9")
    assert json.loads(out)["n"] == len(table) - 1
    status, _, err = result_of(capsys, tmp_path / "p.npy", tmp_path / "y.npy", "--missing", "drop")
    assert status == 2
    assert re.search(r"y.npy, row 0: got names such as '\w+', wanted labels 0..k-1, or predictions in a file", err)


@pytest.mark.parametrize("command", ["test", "audit"])
def test_rows_without_a_cluster_are_refused(command, tmp_path, capsys):
    path = tmp_path / "table.csv"
    lines = [f"{0.05 + 0.9 * i / 20},{i % 2},{'' if i in (3, 7) else i // 2}" for i in range(20)]
    path.write_text("\n".join(["p,y,site", *lines]))
    options = ["--outcome-column", "y", "--columns", "p", "--clusters", "site", "--n-resamples", "19"]
    assert main([command, str(path), *options]) == 2
    said = capsys.readouterr().err
    assert (
        "table.csv, column 'site': --clusters: got 2 rows without one, the first of them row 3 (line 5), wanted" in said
    )


@pytest.mark.parametrize("name", ["a.tsv", "a.parquet", "a.jsonl"])
def test_long_numbers_of_clusters_and_groups_keep_their_digits(name, tmp_path, capsys):
    """Beside fractions."""
    rng = np.random.default_rng(1)
    n, first = 60, 2**53 * 100
    risk, patient = rng.random(n), first + np.arange(n) % 15
    table = pd.DataFrame({"risk": risk, "died": (rng.random(n) < risk).astype(int), "patient": patient})
    KINDS_OF_FILES[name](table, tmp_path / name)
    arguments = (tmp_path / name, "--outcome-column", "died", "--columns", "risk", "--n-resamples", "19")
    _, out, _ = result_of(capsys, *arguments, "--clusters", "patient")
    wanted = ct.calibration_test(risk, table["died"], clusters=patient, n_resamples=19, rng=1)
    assert json.loads(out)["pvalue"] == wanted.pvalue
    _, out, _ = result_of(capsys, *arguments, "--groups", "patient")
    assert {group["name"] for group in json.loads(out)["groups"]} == {str(one) for one in patient}


def test_long_numbers_of_sites_keep_their_digits_where_some_are_missing(tmp_path, capsys):
    rng = np.random.default_rng(1)
    risk, site = rng.random(80), (2**53 + np.arange(80) % 2).astype(str)
    site[::8] = ""
    died = (rng.random(80) < risk).astype(int)
    pd.DataFrame({"risk": risk, "died": died, "site": site}).to_csv(tmp_path / "a.csv", index=False)
    arguments = [str(tmp_path / "a.csv"), "--outcome-column", "died", "--groups", "site", "--seed", "1", "--json"]
    assert main(["audit", *arguments]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in (str(2**53), str(2**53 + 1), "missing"))


@pytest.mark.parametrize("name", ["a.csv.bz2", "a.parquet", "a.jsonl"])
def test_columns_of_predictions_are_named_where_there_are_others(name, table, tmp_path, capsys):
    """In one file, and in two; without their names an error says how to give them."""
    more = table.assign(row=np.arange(len(table)), site=[f"s{one}" for one in range(len(table))])
    KINDS_OF_FILES[name](more, tmp_path / name)
    table["animal"].to_csv(tmp_path / "y.csv", index=False)
    expected = ct.calibration_test(table[ANIMALS], table["animal"], rng=1).pvalue
    for outcomes in (["--outcome-column", "animal"], [tmp_path / "y.csv"]):
        status, out, err = result_of(capsys, tmp_path / name, *outcomes, "--columns", ", ".join(ANIMALS))
        assert (status, err) == (0, "")
        assert json.loads(out)["pvalue"] == expected
    status, _, err = result_of(capsys, tmp_path / name, "--outcome-column", "animal")
    assert (status, "name the columns of predictions with --columns" in err) == (2, True)
    status, _, err = result_of(capsys, tmp_path / name, "--outcome-column", "animal", "--columns", "nothing")
    assert (status, "got no column 'nothing' among" in err) == (2, True)


@pytest.mark.parametrize("name", ["p.parquet", "p.npz"])
def test_predictions_and_outcomes_in_two_files(name, table, tmp_path, capsys):
    if name == "p.npz":
        np.savez(tmp_path / name, table[ANIMALS].to_numpy())
    else:
        table[ANIMALS].to_parquet(tmp_path / name)
    pd.DataFrame({"y": table["animal"].map(ANIMALS.index)}).to_parquet(tmp_path / "y.parquet")
    assert result_of(capsys, tmp_path / name, tmp_path / "y.parquet")[0] == 0


def test_the_name_of_an_array_stands_for_its_columns(table, tmp_path, capsys):
    p, y = table[ANIMALS].to_numpy(), table["animal"].map(ANIMALS.index).to_numpy()
    np.savez(tmp_path / "one.npz", p=p, y=y)
    expected = result_of(capsys, tmp_path / "one.npz", "--outcome-column", "y")
    np.savez(tmp_path / "two.npz", q=np.roll(p, 1, axis=1), p=p, y=y)
    found = result_of(capsys, tmp_path / "two.npz", "--outcome-column", "y", "--columns", "p")
    assert (found[0], found[2]) == (0, "")
    assert json.loads(found[1])["pvalue"] == json.loads(expected[1])["pvalue"]


@pytest.mark.parametrize("columns", [1, 2])
def test_a_first_column_without_a_name_is_an_index(columns, tmp_path, capsys):
    rows = [f"{i},{','.join(['0.5'] * columns)}" for i in (101, 205)]
    (tmp_path / "p.csv").write_text("\n".join([",a,b"[: 2 * columns], *rows, ""]))
    (tmp_path / "y.csv").write_text("y\n0\n1\n")
    status, _, err = result_of(capsys, tmp_path / "p.csv", tmp_path / "y.csv")
    assert status == 2
    assert "the first column has no name and looks like row numbers; save without the index" in err


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("a,b,y\n0.2,0.8,1\n0.3,x,0\n", ["--outcome-column", "y"], "line 3: got 'x' in column 'b'"),
        ("a,b,y\n0.2,0.8,1\n0.3,0.", ["--outcome-column", "y"], "line 3: got 2 cells, wanted 3"),
        ("a,b,y\n0.2,0.8,1\n", ["--outcome-column", "z"], "got no column 'z' among a, b, y"),
        ("a,b,y\n", ["--outcome-column", "y"], "no rows after the header"),
        ('{"a": 1, "y": 1}\n{"a": 1', ["--outcome-column", "y"], "line 2: got text that is no JSON"),
        ('{"a": 1, "y": 1}\n\n{"b": 1}', ["--outcome-column", "y"], "line 3: got b, wanted an object with the names"),
        ('{"a": [1], "y": 1}', ["--outcome-column", "y"], "line 1: got a list or an object as a"),
        ('[{"a": 0.5, "y": 1}]', ["--outcome-column", "y"], "got one list of JSON, wanted JSON lines: an object in"),
        ("a,a,y\n0.2,0.8,1\n", ["--outcome-column", "y"], "a.csv: got 2 columns of predictions named 'a', wanted"),
        ('{"a": "x", "y": 1}', ["--outcome-column", "y"], "line 1: got 'x' in column 'a', wanted a number"),
        (
            '{"a": "90 %", "y": 1}',
            ["--outcome-column", "y"],
            "in column 'a', wanted a number; take the % off and divide by 100",
        ),
    ],
)
def test_errors_name_the_file_and_line(text, arguments, message, tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text(text)
    status, out, err = result_of(capsys, path, *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


HEADINGS = ["name", "no, or so", "yes", "y", "w", "s"]


@pytest.mark.parametrize(
    ("place", "value", "options", "message"),
    [
        (1, "x", [], "a.csv, line 8: got 'x' in column 'no, or so', wanted a number"),
        (1, "", [], "a.csv, line 8: got an empty cell in column 'no, or so', wanted a number"),
        (1, "-0.5", [], "a.csv: got -0.5 at row 4 (line 8), column 'no, or so', wanted probabilities of at least 0"),
        (2, "-1", ["--normal"], "a.csv: scale in column 'yes': got -1 at row 4 (line 8), wanted scales of at least 0"),
        (1, "inf", ["--members"], "a.csv: got inf at row 4 (line 8), column 'no, or so' (1 in all), wanted finite"),
        (3, "inf", ["--normal"], "a.csv: got inf at row 4 (line 8), column 'y' (1 in all), wanted finite numbers"),
        (4, "-1", ["--weights", "w"], "column 'w': weights: got -1 at row 4 (line 8), wanted numbers of at least 0"),
        (4, "x", ["--weights", "w"], "column 'w': weights: got 'x' at row 4 (line 8), wanted real numbers"),
        (
            5,
            "",
            ["--clusters", "s"],
            "column 's': --clusters: got 1 rows without one, the first of them row 4 (line 8)",
        ),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_errors_name_headings_of_columns(kind, place, value, options, message, tmp_path, capsys):
    """And lines where files have some; a row without an outcome before counts, and so do lines of comments."""
    rows = [[f"n{i}", 0.25, 0.75, i % 2, i + 1, i % 3] for i in range(9)]
    rows[1][3], rows[4][place] = "", value
    path = tmp_path / f"a.{kind}"
    if kind == "csv":
        with path.open("w", newline="") as file:
            file.write("# of a study\n\n")
            csv.writer(file).writerows([HEADINGS, *rows])
    elif kind == "jsonl":
        path.write_text("".join(f"\n{json.dumps(dict(zip(HEADINGS, row, strict=True)))}\n" for row in rows))
        message = message.replace("line 8", "line 10")
    else:
        pd.DataFrame(rows, columns=HEADINGS).astype(str).to_parquet(path)
        message = message.replace("line 8:", "row 4:").replace(" (line 8)", "")
    named = ["--columns", '"no, or so", yes', "--missing", "drop"]
    status, _, err = result_of(capsys, path, "--outcome-column", "y", *named, *options)
    assert status == 2
    assert message.replace("csv", kind) in err


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_cells_that_are_no_numbers_are_named_without_outcomes_too(kind, tmp_path, capsys):
    table = pd.DataFrame({"a": ["0.5", "0.5", "oops"], "b": ["0.5"] * 3})
    KINDS_OF_FILES[f"a.{kind}"](table, tmp_path / f"a.{kind}")
    (tmp_path / "y.csv").write_text("y\na\nb\na\n")
    status, _, err = result_of(capsys, tmp_path / f"a.{kind}", tmp_path / "y.csv")
    where = "line 3" if kind == "jsonl" else "row 2"
    assert (status, f"a.{kind}, {where}: got 'oops' in column 'a', wanted a number" in err) == (2, True)


@pytest.mark.parametrize("name", ["a.parquet", "a.feather", "a.npz", "a.csv.gz", "a.csv.bz2", "a.csv.xz", "a.csv.zst"])
def test_damaged_files(name, table, tmp_path, capsys):
    KINDS_OF_FILES[name](table, tmp_path / name)
    data = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(data[: len(data) // 2])
    status, _, err = result_of(capsys, tmp_path / name, "--outcome-column", "animal")
    assert status == 2
    assert err.startswith(f"caltest: error: {tmp_path / name}: got a")


def test_a_library_that_is_not_there(table, tmp_path, capsys, monkeypatch):
    table.to_parquet(tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    status, _, err = result_of(capsys, tmp_path / "a.parquet", "--outcome-column", "animal")
    assert status == 2
    assert "a.parquet: got a file in Parquet or Feather, which needs pyarrow: pip install caltest[files]" in err


def test_outcomes_are_a_file_or_a_column(capsys):
    for arguments in (["p.csv"], ["p.csv", "y.csv", "--outcome-column", "y"]):
        with pytest.raises(SystemExit) as stopped:
            main(["test", *arguments])
        assert stopped.value.code == 2
        assert "wanted OUTCOMES or --outcome-column NAME, one of both" in capsys.readouterr().err


def test_one_column_that_is_named_after_the_event(tmp_path, capsys):
    path = tmp_path / "rain.csv"
    rows = [(0.9, "yes"), (0.2, "no"), (0.6, "yes"), (0.3, "no"), (0.4, "yes")]
    for name, status in (("yes", 0), ("no", 2)):
        path.write_text("\n".join([f"{name},rain", *(f"{p},{word}" for p, word in rows)]) + "\n")
        found, out, _ = result_of(capsys, path, "--outcome-column", "rain")
        assert found == status
    path.write_text("\n".join(["yes,rain", *(f"{p},{word}" for p, word in rows)]) + "\n")
    _, out, _ = result_of(capsys, path, "--outcome-column", "rain", "--format", "json")
    assert json.loads(out)["measures"][0]["observed"] == 0.6


@pytest.mark.parametrize(("rows", "is_told"), [("0.2,0.8\n0.7,0.3\n", True), ("0.2,0.8\n0.7,0.3\n0.4,0.6\n", False)])
def test_a_first_outcome_that_is_taken_for_a_header_is_told(tmp_path, capsys, rows, is_told):
    """As pandas writes 0 over a column without a name, it can be one; or a row of predictions is missing."""
    (tmp_path / "p.csv").write_text(f"cat,dog\n{rows}")
    (tmp_path / "y.csv").write_text("0\n1\n0\n")
    assert main(["test", str(tmp_path / "p.csv"), str(tmp_path / "y.csv"), "--seed", "1"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert ("the first line, 0, was taken for a header, as there is one line more than rows of" in printed) == is_told


@pytest.mark.parametrize(
    ("columns", "words"),
    [("old,died", "got 'died', the column of outcomes"), ("old,old", "got 'old', a column named twice")],
)
def test_columns_of_predictions_are_different_ones(columns, words, tmp_path, capsys):
    path = tmp_path / "risks.csv"
    path.write_text("old,new,died\n" + "0.2,0.3,1\n0.4,0.5,0\n" * 10)
    assert main(["compare", str(path), "--outcome-column", "died", "--columns", columns]) == 2
    assert f"--columns: {words}, wanted different columns of predictions" in capsys.readouterr().err


NORMAL, MEMBERS = ["--outcome-column", "y", "--normal"], ["--outcome-column", "y", "--members"]
ROW = "0.2,0.8,1\n0.6,0.4,0\n" * 5


@pytest.mark.parametrize(
    ("names", "arguments", "wanted"),
    [
        ("y_std,y_mean", NORMAL, "wanted mean and then standard deviation: --columns y_mean,y_std"),
        ("Sigma,mu", NORMAL, "wanted mean and then standard deviation: --columns mu,Sigma"),
        ("mean,variance", NORMAL, "take the square roots of variances"),
        ("mu,sigma2", NORMAL, "take the square roots of variances"),
        ("lower,upper_90", NORMAL, "wanted mean and standard deviation; quantiles are for ct.QuantileForecast"),
        ("q0.1,q0.9", NORMAL, "wanted mean and standard deviation; quantiles are for"),
        ("5%,95 %", MEMBERS, "wanted members; quantiles are for ct.QuantileForecast"),
        ("lo,hi", MEMBERS, "wanted members; quantiles are for"),
    ],
)
def test_columns_are_what_they_are_named_after(names, arguments, wanted, tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text(f"{names},y\n{ROW}")
    status, _, err = result_of(capsys, path, *arguments)
    assert status == 2
    assert f"got the columns {names.replace(',', ', ')}, wanted" in err
    assert wanted in err
    if "--columns" in wanted:
        assert result_of(capsys, path, *arguments, "--columns", wanted.split(" ")[-1])[0] == 0


@pytest.mark.parametrize(
    ("names", "arguments"),
    [("mean,std", NORMAL), ("std_of_mean,sigma", NORMAL), ("y_pred,y_std", NORMAL), ("a,b", MEMBERS)],
)
def test_other_names_are_no_matter(names, arguments, tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text(f"{names},y\n{ROW}")
    assert result_of(capsys, path, *arguments)[0] == 0


@pytest.mark.parametrize("names", ["1,0", "p_1,p_0", "True,False", "pos,neg"])
def test_what_is_advised_about_the_order_of_labels_works(names, tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text(f"{names},y\n{ROW}")
    status, _, err = result_of(capsys, path, "--outcome-column", "y")
    order = ",".join(reversed(names.split(",")))
    assert (status, f"--columns {order}" in err, "classes=" in err) == (2, True, False)
    assert result_of(capsys, path, "--outcome-column", "y", "--columns", order)[0] == 0


def test_names_of_columns_that_have_those_of_labels_in_them(tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text("P(dog),Prob CAT,y\n" + "0.2,0.8,cat\n0.6,0.4,dog\n" * 5)
    status, _, err = result_of(capsys, path, "--outcome-column", "y")
    assert status == 2
    assert "P(dog), Prob CAT; write dog,cat over these columns" in err


@pytest.mark.parametrize("place", [0, 4])
def test_numbers_of_rows_are_no_members(place, tmp_path, capsys):
    ids, members = RNG.permutation(N) + 100, RNG.normal(size=(N, 4))
    table = pd.DataFrame(np.insert(members, place, ids, axis=1), columns=list("abcde"))
    with pytest.raises(ValueError, match=f"another whole number in each row of column {place}, .* numbers the rows"):
        ct.Ensemble(table)
    assert len(ct.Ensemble(np.round(10.0 * table))) == len(ct.Ensemble(table[:9])) + N - 9
    table.assign(y=members[:, 0]).to_csv(tmp_path / "a.csv", index=False)
    status, _, err = result_of(capsys, tmp_path / "a.csv", *MEMBERS)
    assert status == 2
    assert f"of column {'abcde'[place]!r}, and fractions in others, wanted members only; name the members with" in err


def test_columns_beside_the_predictions_are_numbers_with_gaps_or_text(tmp_path):
    path = tmp_path / "columns.csv"
    path.write_text("age,days,site,patient\n1.5,3,a,12345678901234567\n,4,b,\n-2.25,,c,12345678901234568\n")
    sample = as_sample(np.full(3, 0.5), np.array([0, 1, 1]))
    columns = prediction_files.read_columns(path, 3, sample)
    np.testing.assert_array_equal(columns["age"], [1.5, np.nan, -2.25])
    np.testing.assert_array_equal(columns["days"], [3.0, 4.0, np.nan])
    assert columns["site"].tolist() == ["a", "b", "c"]
    assert columns["patient"].tolist() == ["12345678901234567", "", "12345678901234568"]


def test_columns_of_an_array_are_classes_without_names(tmp_path, capsys):
    """Also beside labels in the same archive, whose columns are told apart by the names of the arrays."""
    p = np.random.default_rng(1).dirichlet(np.ones(3), 60).astype(np.float32)
    np.savez(tmp_path / "both.npz", probs=p, labels=np.zeros(60, dtype=np.int32))
    _, out, _ = result_of(capsys, tmp_path / "both.npz", "--outcome-column", "labels")
    assert "all outcomes are class 0: were they read from the right column?" in out
    assert "probs0" not in out
