import dataclasses
import json
import re

import numpy as np
import pytest
from printed import unfolded

import caltest as ct
from caltest._basics.threads import one_thread
from caltest.risk.pipeline import grouped

RIDGE = (ct.risk.TwoStepRidgeErrorFunction((1e-3, 1e-2, 1e-1)),)
FEW = (ct.risk.DirichletErrorFunction((0.1, 1.0)), *RIDGE)


@pytest.fixture(scope="module")
def digits():
    p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    return p.take(slice(0, 400)), y[:400]


def simulated(n=120, k=3, seed=1):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.5), n)
    return p, ct.Categorical(0.5 * p + 0.5 / k).sample(rng)


def first(n):
    return tuple(one[:n] for one in simulated())


def split(n, seed, n_held_out):
    order = np.random.default_rng(seed).permutation(n)
    return order[n_held_out:], order[:n_held_out]


def test_is_the_mean_over_the_folds():
    """Every step once more, from the public functions."""
    p, y = simulated(100)
    result = ct.estimate_calibration_error(p, y, error_functions=FEW, n_folds=4, held_out=0.3, rng=5)
    tuning, evaluation = split(100, 5, 30)
    folds = np.array_split(np.arange(70), 4)
    singles = [ct.risk.DirichletErrorFunction(h) for h in (0.1, 1.0)]
    singles += [ct.risk.TwoStepRidgeErrorFunction(c) for c in (1e-3, 1e-2, 1e-1)]
    for candidate, function in zip(result.selections[0].candidates, singles, strict=True):
        fitted = [function.fit(p[rest], y[rest]) for rest in (np.delete(tuning, fold) for fold in folds)]
        risks = [one.risk(p[tuning[fold]], y[tuning[fold]]) for one, fold in zip(fitted, folds, strict=True)]
        assert candidate.risk == pytest.approx(np.mean([risk.value for risk in risks]), rel=1e-12)
        standard_error = np.linalg.norm([risk.standard_error for risk in risks]) / 4
        assert candidate.standard_error == pytest.approx(standard_error, rel=1e-12)
        assert candidate.fold_risks == pytest.approx([risk.value for risk in risks], rel=1e-12)
        assert (candidate.fold_squared_errors is None) == (candidate.squared_error is None)
        if candidate.squared_error is not None:
            errors = [one.squared_error(p[evaluation]) for one in fitted]
            assert candidate.fold_squared_errors == pytest.approx(errors, rel=1e-12)
            assert candidate.squared_error == pytest.approx(np.mean(errors), rel=1e-12)
        if candidate is result.selected:
            values = np.mean([one.values(p[evaluation]) for one in fitted], axis=0)
            variance = 3 / 4 * np.sum((errors - np.mean(errors)) ** 2) + values.var(ddof=1) / 30
            assert result.standard_error == pytest.approx(variance**0.5, rel=1e-10)
    selection = result.selections[0]
    assert selection.selected.risk == min(candidate.risk for candidate in selection.candidates)
    assert result.squared_error == selection.squared_error == selection.selected.squared_error
    assert result.error == result.squared_error**0.5
    assert [one.estimator for one in selection.best] == sorted(
        {"Dirichlet density", "two-step ridge, gamma 1"}, key=lambda name: name != selection.selected.estimator
    )
    assert selection.selected.excess == selection.selected.excess_error == 0.0
    assert all(candidate.excess >= 0.0 for candidate in selection.candidates)
    assert (result.n, result.n_tuning, result.n_held_out, result.n_folds) == (100, 70, 30, 4)


def test_excess_has_a_paired_standard_error():
    p, y = simulated(100)
    result = ct.estimate_calibration_error(p, y, error_functions=FEW, n_folds=2, rng=5)
    one, other = result.selected, result.selections[0].best[1]
    assert 0.0 < other.excess_error < np.hypot(one.standard_error, other.standard_error) / 2


@pytest.mark.parametrize("notion", ["canonical", "top_label", "classwise"])
def test_choice_does_not_see_what_is_held_out(digits, notion):
    p, y = digits
    changed = y.copy()
    evaluation = split(400, 3, 80)[1]
    changed[evaluation] = np.random.default_rng(0).permutation(10)[changed[evaluation]]
    estimates = [ct.estimate_calibration_error(p, z, notion, error_functions=RIDGE, rng=3) for z in (y, changed)]
    assert estimates[0].selections == estimates[1].selections
    other = ct.estimate_calibration_error(p, np.roll(y, 1), notion, error_functions=RIDGE, rng=3)
    assert other.selections != estimates[0].selections


def test_reproducible_and_independent_of_threads(digits):
    first = ct.estimate_calibration_error(*digits, "top_label", rng=7)
    assert ct.estimate_calibration_error(*digits, "top_label", rng=first.seed).to_dict() == first.to_dict()
    with one_thread():
        assert ct.estimate_calibration_error(*digits, "top_label", rng=7).squared_error == first.squared_error
    assert ct.estimate_calibration_error(*digits, "top_label", rng=8).squared_error != first.squared_error
    fresh = ct.estimate_calibration_error(*digits, "top_label", error_functions=RIDGE)
    again = ct.estimate_calibration_error(*digits, "top_label", error_functions=RIDGE, rng=fresh.seed)
    assert again.squared_error == fresh.squared_error


def test_top_label_and_classes_are_binary_problems(digits):
    p, y = digits
    top = ct.estimate_calibration_error(p, y, "top_label", error_functions=RIDGE, rng=1)
    reduced = ct.estimate_calibration_error(*ct.top_label(p, y), error_functions=RIDGE, rng=1)
    assert top.squared_error == reduced.squared_error
    total = ct.estimate_calibration_error(p, y, "classwise", error_functions=RIDGE, rng=1)
    mean = ct.estimate_calibration_error(p, y, "classwise", error_functions=RIDGE, over_classes="mean", rng=1)
    single = [ct.estimate_calibration_error(*one, error_functions=RIDGE, rng=1) for one in ct.classwise(p, y)]
    assert [one.squared_error for one in total.selections] == [one.squared_error for one in single]
    assert len({one.selected.value for one in total.selections}) > 1
    assert total.squared_error == pytest.approx(sum(one.squared_error for one in single), rel=1e-12)
    assert mean.squared_error == pytest.approx(total.squared_error / 10, rel=1e-12)
    assert mean.standard_error == pytest.approx(total.standard_error / 10, rel=1e-12)
    for k in (10, 2):
        with pytest.raises(ValueError, match=rf"selected: got {k} classes; see selections\[c\]"):
            _ = dataclasses.replace(total, selections=total.selections[:k]).selected


def test_default_estimators(digits):
    p, y = digits
    names = [one.estimator for one in ct.estimate_calibration_error(p, y, rng=1).selections[0].best]
    ridges = [f"{kind}, gamma {gamma}" for kind in ("Kronecker ridge", "two-step ridge") for gamma in (1, 4)]
    assert sorted(names) == ["Dirichlet density", *ridges]
    result = ct.estimate_calibration_error(p, y, "top_label", rng=1)
    assert len(result.selections[0].best) == 7
    assert len(result.selections[0].candidates) == 20 + 20 + 20 + 4 * 9
    assert len(result.selections[0].rows(everything=True)) == 98
    assert [len(row) for row in result.table()] == [5, 5]
    assert str(result).count("*") == 1


class Shift(ct.risk.ErrorFunction):
    """Deviations that are the same everywhere."""

    name, parameter = "shift", "size"

    def grid(self, dimension):
        return (0.1, 0.2, 0.3)

    def fit_vectors(self, points, deviations, setting):
        return lambda places: np.full((len(places), 1), setting)


def test_functions_of_ones_own():
    rng = np.random.default_rng(1)
    p = rng.uniform(0.3, 0.7, size=2000)
    result = ct.estimate_calibration_error(p, rng.random(2000) < p - 0.2, error_functions=[Shift()], rng=1)
    assert result.selected.describe() == "shift, size 0.2"
    assert result.squared_error == pytest.approx(0.04, rel=1e-12)
    assert result.standard_error == pytest.approx(0.0, abs=1e-15)


class Own(ct.risk.ErrorFunction):
    """Values that a function gives for fitted deviations and points."""

    name, parameter = "own", "setting"

    def __init__(self, function):
        self.function = function

    def grid(self, dimension):
        return (2.0,)

    def fit_vectors(self, points, deviations, setting):
        return lambda places: self.function(deviations, setting * places)


def test_vectors_of_ones_own_are_of_every_form():
    """By vectors alone, with a matrix between them, and by all values of h."""
    p, y = simulated(60)
    weights = np.diag([1.0, -2.0, 0.5])
    functions = {
        "vectors": (lambda _, x: x, lambda x: 4.0 * x @ x.T),
        "matrix": (lambda _, x: (x, weights), lambda x: 4.0 * x @ weights @ x.T),
        "values": (lambda _, x: (np.eye(len(x)), np.exp(-x @ x.T)), lambda x: np.exp(-4.0 * x @ x.T)),
    }
    for function, expected in functions.values():
        fitted = Own(function).fit(p[:30], y[:30])
        h, products = expected(p[30:]), (p[30:] - np.eye(3)[y[30:]]) @ (p[30:] - np.eye(3)[y[30:]]).T
        others = ~np.eye(30, dtype=bool)
        assert fitted.matrix(p[30:]) == pytest.approx(h, rel=1e-12)
        assert fitted.risk(p[30:], y[30:]).value == pytest.approx(np.mean((products - h)[others] ** 2), rel=1e-10)
    mean = Own(lambda d, x: np.tile(d.mean(axis=0), (len(x), 1))).fit(p, y)
    assert mean.values(p) == pytest.approx(np.sum(np.mean(p - np.eye(3)[y], axis=0) ** 2), rel=1e-12)


def test_functions_of_ones_own_are_told_what_is_wrong():
    p, y = simulated(60)
    with pytest.raises(ValueError, match=r"fit_vectors: got vectors of shape \(60,\) for 60 points, wanted \(60, r\)"):
        Own(lambda _, x: x[:, 0]).fit(p, y).values(p)

    class Unfinished(ct.risk.ErrorFunction):
        name, parameter = "unfinished", "setting"

        def grid(self, dimension):
            return (1.0,)

    with pytest.raises(NotImplementedError, match="Unfinished: has no fit_vectors"):
        Unfinished().fit(p, y)


def test_names_of_classes(digits):
    p, y = digits
    names = np.array(list("abcdefghij"))
    named = ct.Categorical(p.probabilities, classes=names)
    for notion in ("canonical", "top_label", "classwise"):
        plain = ct.estimate_calibration_error(p, y, notion, error_functions=RIDGE, rng=1)
        assert ct.estimate_calibration_error(named, names[y], notion, error_functions=RIDGE, rng=1).squared_error == (
            plain.squared_error
        )
    selections = ct.estimate_calibration_error(named, names[y], "classwise", error_functions=RIDGE, rng=1).selections
    assert selections[2].problem == "class c against the rest"


def test_result_is_frozen_and_plain(digits):
    result = ct.estimate_calibration_error(*digits, "classwise", error_functions=FEW, rng=1)
    plain = json.loads(json.dumps(result.to_dict()))
    assert plain["squared_error"] == result.squared_error
    assert plain["error"] == result.error
    assert plain["over_classes"] == "sum"
    assert plain["selections"][3]["candidates"][4]["risk"] == result.selections[3].candidates[4].risk
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.squared_error = 0.0
    assert "  class 9 against the" in str(result)
    assert "Squared calibration error, classwise, sum over the classes\n" in unfolded(result)


def test_negative_estimates_have_no_root():
    rng = np.random.default_rng(2)
    p = rng.uniform(size=200)
    results = [
        ct.estimate_calibration_error(
            p, rng.random(200) < p, error_functions=[ct.risk.DebiasedBinnedErrorFunction(10)], rng=seed
        )
        for seed in range(20)
    ]
    negative = [result for result in results if result.squared_error < 0.0]
    assert 0 < len(negative) < 20
    assert negative[0].error is None
    assert "Error          none, since the squared error is negative" in unfolded(negative[0])
    assert any("negative, not to be told from 0" in note for note in negative[0].notes)


def all_numbers(result):
    for one in (one for selection in result.selections for one in selection.candidates):
        yield from (one.risk, one.standard_error, one.excess, one.excess_error, one.squared_error or 0.0)
    yield from (result.squared_error, result.standard_error)


CORNERS = np.eye(3)[np.arange(60) % 3]
DEGENERATE = {
    "one label": (simulated()[0], np.ones(120, dtype=int)),
    "a class that never occurs": (simulated()[0], np.arange(120) % 2),
    "equal predictions": (np.tile([0.2, 0.3, 0.5], (60, 1)), np.arange(60) % 3),
    "uniform predictions": (np.full((60, 4), 0.25), np.arange(60) % 4),
    "certain and right": (CORNERS, np.arange(60) % 3),
    "certain and wrong": (CORNERS, (np.arange(60) + 1) % 3),
    "two different predictions": (np.tile([[1.0, 0.0], [0.5, 0.5]], (30, 1)), np.arange(60) % 2),
    "as few as possible": first(19),
}


@pytest.mark.every(7)
@pytest.mark.parametrize("notion", ["canonical", "top_label", "classwise"])
@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_data_have_finite_estimates(case, notion):
    result = ct.estimate_calibration_error(*DEGENERATE[case], notion, rng=1)
    assert np.isfinite(list(all_numbers(result))).all()


def test_degenerate_data_have_the_right_estimates():
    p, y = DEGENERATE["equal predictions"]
    tuning, _ = split(60, 1, 12)
    frequencies = [np.bincount(y[np.delete(tuning, fold)]) for fold in np.array_split(np.arange(48), 5)]
    expected = np.mean([np.sum((p[0] - one / one.sum()) ** 2) for one in frequencies])
    for function in (ct.risk.TwoStepRidgeErrorFunction(1e-9), ct.risk.DirichletErrorFunction(0.1)):
        result = ct.estimate_calibration_error(p, y, error_functions=[function], rng=1)
        assert result.squared_error == pytest.approx(expected, rel=1e-6)
    for notion in ("canonical", "top_label", "classwise"):
        right = ct.estimate_calibration_error(*DEGENERATE["certain and right"], notion, rng=1)
        assert right.squared_error == pytest.approx(0.0, abs=1e-9)
    wrong = [
        ct.estimate_calibration_error(*DEGENERATE["certain and wrong"], one, rng=1)
        for one in ("canonical", "top_label")
    ]
    assert [one.squared_error for one in wrong] == pytest.approx([2.0, 1.0], abs=1e-6)


def test_notes_on_classes_that_do_not_occur():
    absent = ct.estimate_calibration_error(*DEGENERATE["a class that never occurs"], error_functions=RIDGE, rng=1)
    assert absent.notes[0] == "all classes: 1 of 3 classes never occur"
    single = ct.estimate_calibration_error(*DEGENERATE["one label"], error_functions=RIDGE, rng=1)
    assert single.notes == ("all classes: all outcomes are the same",)
    one = ct.estimate_calibration_error(
        *DEGENERATE["a class that never occurs"], "classwise", error_functions=RIDGE, rng=1
    )
    assert "class 2 against the rest: all outcomes are the same" in one.notes
    assert not any("class 1 against the rest: all outcomes" in note for note in one.notes)
    many = ct.estimate_calibration_error(*simulated(60, 6), "classwise", error_functions=RIDGE, rng=1).notes
    assert len(many) == 1
    assert many[0].startswith("class 0 against the rest, class 1 against the rest, class 2 against the rest and ")
    assert "others: the risk, not two standard errors below that of h = 0" in many[0]
    half = np.float16(simulated()[0])
    rounded = ct.estimate_calibration_error(half, simulated()[1], error_functions=RIDGE, rng=1)
    assert "renormalised" in rounded.notes[0]


def test_note_where_nothing_was_found():
    """Calibrated predictions, and predictions that are far off."""
    rng = np.random.default_rng(3)
    p = rng.uniform(size=300)
    calibrated = ct.estimate_calibration_error(p, rng.random(300) < p, rng=1)
    assert any("does not show that the estimate is better than 0" in note for note in calibrated.notes)
    p = rng.uniform(size=1000)
    wrong = ct.estimate_calibration_error(p, rng.random(1000) < 0.5, rng=1)
    assert wrong.notes == ()
    zero = wrong.selections[0].zero
    assert zero.excess > 2 * zero.excess_error
    plain = [ct.risk.BinnedErrorFunction(1).fit([0.5, 0.5], [0, 1])] * 5
    tuning = split(1000, 1, 200)[0]
    y = rng.random(1000) < 0.5
    again = ct.estimate_calibration_error(p, y, rng=1)
    risks = [h.risk(p[tuning[f]], y[tuning[f]]) for h, f in zip(plain, np.array_split(np.arange(800), 5), strict=True)]
    assert again.selections[0].zero.risk == pytest.approx(np.mean([risk.value for risk in risks]), rel=1e-12)


def test_note_on_landmarks():
    p, y = simulated(200, 10)
    few = ct.estimate_calibration_error(
        p, y, error_functions=[ct.risk.TwoStepRidgeErrorFunction(0.1, max_rank=3)], rng=1
    )
    wanted = "3 landmarks stand for the kernel exp(-1 |x - x'|**2), with errors of k(x, x) below 1"
    assert sum(wanted in note for note in few.notes) == 1


BAD = {
    "too few": (
        lambda: (*(one[:18] for one in simulated()),),
        {},
        "got 18 observations, wanted at least 19 for three in",
    ),
    "too few, folds": (lambda: first(30), {"n_folds": 10}, "got 30 ... wanted at least 37"),
    "notion": (simulated, {"notion": "top label"}, 'notion: got \'top label\', wanted "canonical", "top_label"'),
    "over_classes": (simulated, {"over_classes": "max"}, 'over_classes: got \'max\', wanted "sum" or "mean"'),
    "n_folds": (simulated, {"n_folds": 1}, "n_folds: got 1, wanted a whole number of at least 2"),
    "held_out": (simulated, {"held_out": 1.0}, "held_out: got 1.0, wanted a number between 0 and 1"),
    "progress": (simulated, {"progress": 1}, "progress: got 1, wanted True or False"),
    "no estimators": (simulated, {"error_functions": []}, "error_functions: got none, wanted at least one"),
    "missing": (lambda: ([np.nan] * 30, [0, 1] * 15), {}, "got nan at row 0"),
    "lengths": (lambda: (simulated()[0], [0, 1]), {}, "targets: got 2 values, wanted 120"),
}
BAD_KINDS = {
    "binary": (
        lambda: (np.full(60, 0.5), [0, 1] * 30),
        {"notion": "top_label"},
        "got 'top_label' for binary predictions",
    ),
    "estimators": (
        simulated,
        {"error_functions": [ct.ECE()]},
        "error_functions: got ECE ... wanted functions such as ct.risk.TwoStep",
    ),
    "a class": (simulated, {"error_functions": [ct.ECE]}, "error_functions: got <class ... wanted functions"),
    "bins": (
        simulated,
        {"error_functions": [ct.risk.BinnedErrorFunction()]},
        "got probabilities of 3 ... use ct.top_label",
    ),
    "normal": (lambda: (ct.Normal(np.zeros(60), np.ones(60)), np.zeros(60)), {}, "got Normal ... wanted Categ"),
}


def check(case, kind):
    make, options, message = case
    pattern = ".*".join(re.escape(part) for part in message.split(" ... "))
    with pytest.raises(kind, match=pattern):
        ct.estimate_calibration_error(*make(), **options)


@pytest.mark.parametrize("case", BAD)
def test_bad_values(case):
    check(BAD[case], ValueError)


@pytest.mark.parametrize("case", BAD_KINDS)
def test_bad_kinds(case):
    check(BAD_KINDS[case], TypeError)


def test_a_canonical_error_below_that_of_the_top_label_is_named(digits):
    """With ten classes less is found than in one dimension, which contradicts itself; most data are not like that."""

    def errors(p, y, rng):
        notions = ("canonical", "top_label")
        return (ct.estimate_calibration_error(p, y, notion, error_functions=RIDGE, rng=rng) for notion in notions)

    found, top = errors(*ct.datasets.load_digits_predictions()["neural network"], 1)
    assert found.squared_error < top.squared_error
    assert f"top label, which is estimated as {top.squared_error:.4g}" in found.notes[-1]
    other, top = errors(*digits, 2)
    assert other.squared_error > top.squared_error
    assert not any("contradicts" in note for note in other.notes)


def test_the_function_chosen_for_each_class_is_a_line():
    """It ends with risk, standard error and squared error."""
    p, y = simulated()
    named = ct.Categorical(p, classes=["a", "quite long", "c"])
    result = ct.estimate_calibration_error(named, np.array(named.classes)[y], "classwise", error_functions=RIDGE, rng=1)
    for row, one in zip(result.table()[1:], result.selections, strict=True):
        name, selected, *numbers = row
        assert (name, selected) == (one.problem, one.selected.describe())
        found = one.selected.risk, one.selected.standard_error, one.squared_error
        assert [float(number) for number in numbers] == pytest.approx(found, rel=5e-3)


@pytest.mark.parametrize(("n", "named"), [(3, "0, 1, 2"), (4, "0, 1, 2 and 1 other"), (5, "0, 1, 2 and 2 others")])
def test_problems_of_one_note_are_named_together(n, named):
    assert grouped([(str(i), "few events") for i in range(n)]) == [f"{named}: few events"]
