"""One order and one word for each thing, in all public calls: data first, then what, then how."""

import dataclasses
import inspect
import re

import numpy as np
import pytest
from public import CLASSES, PUBLIC

import caltest as ct
from caltest._results.values import Stored

DATA = ["models", "predictions", "other_predictions", "targets", "groups", "clusters"]
"""Positional, in this order, before all else."""

HOW = {
    "classes": None,
    "rng": None,
    "progress": False,
    "n_resamples": 999,
    "confidence_level": 0.95,
    "alpha": 0.05,
    "side": "two-sided",
    "resume": None,
}
"""Keywords only in calls with data, and their default."""

ORDER = ["classes", "missing", "n_resamples", "n_simulations", "alpha", "confidence_level", "side", "rng", "progress"]
"""Of keywords in calls with data: what these are first, what is asked of them between, how it is done last."""

NUMBERS = {
    "max_depth": 2,
    "min_variance": 5.0,
    "n_bins": 15,
    "min_size": 10,
    "order": 1.0,
    "temperature": 0.01,
    "block_size": 2,
    "rank": 64,
    "max_degree": 4,
    "selection": 0.95,
    "exponent": 1.0,
    "shape": 1.0,
    "n_simulations": 1000,
    "power": 0.8,
    "n_min": 8,
    "n_max": 100_000,
    "held_out": 0.2,
    "n_folds": 5,
    "max_steps": 100,
    "gamma": 1.0,
    "max_rank": 300,
    "off_diagonal": 100.0,
    "intercept": 100.0,
    "spread": 10.0,
    "clip": 1e-12,
    "n_inducing": 10,
    "max_iterations": 1000,
    "max_classes": 12,
    "max_groups": 12,
    "n_draws": 100,
    "n_classes": 10,
    "concentration": 0.1,
    "strength": 0.0,
    "noise": 1.0,
    "dimension": 1,
    "part": 0,
    "n_groups": 10,
    "oe_width": 0.2,
    "slope_width": 0.3,
    "c_width": 0.1,
    "start": 0,
    "lag": 1,
    "average_run_length": 1000,
    "n_windows": 20,
    "problem": 0,
    "generator": 0,
}
"""The numbers that other settings are by default."""

OTHER_DEFAULTS = {
    ("plots.pit_histogram", "n_bins"): 10,
    ("plots.residual_spread", "n_bins"): 10,
    ("find_slices", "n_bins"): 5,
    ("fields.a_calibration", "n_bins"): 10,
    ("fields.d_calibration", "n_bins"): 10,
    ("fields.weather.exceedances", "n_bins"): 10,
    ("estimators.HosmerLemeshow", "n_bins"): 10,
    ("HosmerLemeshowTest", "n_bins"): 10,
    ("named_tests.BinnedEquivalenceTest", "n_bins"): 10,
    ("MaternKernel", "order"): 1.5,
    ("plots.simplex_map", "min_size"): 5,
    ("recalibration.report", "held_out"): 0.5,
    ("recalibration.multicalibration_report", "held_out"): 0.5,
    ("recalibration.Multicalibration", "n_bins"): 5,
    ("generators.DirichletModel.m2", "strength"): 0.5,
    ("generators.DirichletModel.m3", "strength"): 1.0,
    ("generators.HeteroscedasticSine", "noise"): 0.15,
    ("score_decomposition", "confidence_level"): None,
    ("confidence_errors", "confidence_level"): None,
    ("plots.power_curve", "alpha"): None,
}
"""No interval unless asked for one; all levels of a study."""

OTHER_WORDS = {
    **dict.fromkeys(("labels", "outcomes", "y", "y_true", "observations"), "targets"),
    **dict.fromkeys(("probs", "forecasts", "p"), "predictions"),
    **dict.fromkeys(("distance", "dist"), "metric"),
    **dict.fromkeys(("kind", "which", "method_name"), "statistic"),
    **dict.fromkeys(("draws", "n_draws", "n_redraws", "n_bootstrap", "n_permutations", "repetitions"), "n_resamples"),
    **dict.fromkeys(("seed", "random_state", "generator_seed"), "rng"),
    **dict.fromkeys(("level", "coverage", "confidence"), "confidence_level"),
    **dict.fromkeys(("significance", "size"), "alpha"),
    **dict.fromkeys(("verbose", "show_progress", "progress_bar"), "progress"),
    **dict.fromkeys(("bandwidths", "width", "length_scale"), "bandwidth"),
    **dict.fromkeys(("estimators", "functions"), "estimator, or error_functions"),
    **dict.fromkeys(("blocksize", "b"), "block_size"),
}
"""Words that are not used for parameters, and those that are."""

ALLOWED = {
    ("Beta", "b"): "the second shape, as in the literature",
    ("NegativeBinomial", "size"): "a parameter of the distribution",
    ("fields.bayesian.simulation_based_calibration", "draws"): "from posteriors, as the field calls them",
}
RESULTS = {one for name, one in PUBLIC.items() if name.startswith("results.") and inspect.isclass(one)}
MADE_BY_CALLS = RESULTS | {
    *(ct.recalibration.MulticalibrationReport, ct.recalibration.SliceRepair),
    *(ct.recalibration.BestFit, ct.recalibration.RecalibrationReport, ct.recalibration.RecalibrationRow),
    *(ct.recalibration.GPMap, ct.nulls.Outcome, ct.estimators.TextbookTail),
    *(ct.risk.FittedErrorFunction, ct.predictions.Residuals, ct.predictions.Sample),
}
"""Classes with fields instead of settings."""
METHODS = ("__call__", "fit", "update", "plug_in", "risk")
TESTS = {name: one for name, one in CLASSES.items() if name.endswith("Test")}


def parameters(thing):
    try:
        given = inspect.signature(thing).parameters.values()
    except ValueError:  # of warnings and errors
        return []
    return [one for one in given if one.name != "self" and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]


def calls():
    """Public functions, constructors of settings, and the methods that take data."""
    for name, thing in PUBLIC.items():
        if inspect.isfunction(thing) or thing not in MADE_BY_CALLS:
            yield name, thing
        if inspect.isclass(thing):
            for method, function in inspect.getmembers(thing, inspect.isfunction):
                if method in METHODS:
                    yield f"{name}.{method}", function


CALLS = {name: parameters(thing) for name, thing in calls()}
WITH_DATA = {
    name: given
    for name, given in CALLS.items()
    if {"predictions", "models"} & {one.name for one in given}
    and (name.rpartition(".")[2] in METHODS or inspect.isfunction(PUBLIC.get(name)))
}


@pytest.mark.parametrize("name", CALLS)
def test_words(name):
    for one in CALLS[name]:
        if (name, one.name) not in ALLOWED:
            assert one.name not in OTHER_WORDS, f"{name}({one.name}=...): wanted {OTHER_WORDS[one.name]}"


@pytest.mark.parametrize("name", WITH_DATA)
def test_data_come_first(name):
    words = [one.name for one in WITH_DATA[name]]
    data = [word for word in words if word in DATA]
    assert data == sorted(data, key=DATA.index)
    assert words[: len(data)] == data
    for one in WITH_DATA[name]:
        assert one.kind == one.KEYWORD_ONLY or one.name not in HOW, one.name
    usual = [word for word in words if word in ORDER]
    assert usual == sorted(usual, key=ORDER.index)


def calls_and_methods():
    yield from calls()
    for name, thing in PUBLIC.items():
        for method, function in inspect.getmembers(thing, inspect.isroutine) if inspect.isclass(thing) else []:
            if method[0] != "_" and callable(function):
                yield f"{name}.{method}", function


def test_defaults():
    usual = HOW | NUMBERS
    for name, thing in calls_and_methods():
        for one in parameters(thing):
            is_setting = one.default is not one.empty and one.name in HOW and name in CALLS
            if is_setting or type(one.default) in (int, float):
                assert one.default == OTHER_DEFAULTS.get((name, one.name), usual[one.name]), (name, one.name)


def results():
    return sorted((one for one in CLASSES.values() if issubclass(one, Stored)), key=lambda one: one.__name__)


@pytest.mark.parametrize("result", results(), ids=lambda one: one.__name__)
def test_results(result):
    """A report, a dictionary, and for tests a decision at a level."""
    offered = set(dir(result)) | {field.name for field in dataclasses.fields(result)}
    assert {"to_dict", "from_dict", "summary"} <= offered
    assert result.__str__ is not object.__str__
    # A comparison has a test of each row.
    is_test = {"test", "pvalue"} <= offered and result is not ct.results.ModelComparison
    if "pvalue" in offered:
        for method in ("sentence", "summary", "verdict"):
            assert [one.name for one in parameters(getattr(result, method))] == ["alpha"], method
    for method in ("sentence", "summary", "verdict"):
        if is_test:
            assert [(one.name, one.default) for one in parameters(getattr(result, method))] == [("alpha", 0.05)]
    assert not is_test or {"pvalue_kind", "n", "hypothesis", "notes", "bibtex"} <= offered


def test_intervals_have_one_spelling():
    """``interval`` at the level of the call, ``intervals`` of several; ``confidence_interval(level)`` at any level."""
    for one in RESULTS - {ct.results.ConfidenceInterval}:
        kinds = {field.name: str(field.type) for field in dataclasses.fields(one)}
        kinds |= {
            name: str(inspect.signature(value.fget).return_annotation)
            for name, value in vars(one).items()
            if isinstance(value, property)
        }
        assert not {"low", "high", "lower", "upper", "ci"} & set(kinds), one
        for name, kind in kinds.items():
            if re.search(r"(^|_)intervals?$", name):
                assert "ConfidenceInterval" in kind, (one, name, kind)


@pytest.mark.parametrize(
    "interval",
    [ct.binned_error_interval, ct.risk.variational_error, ct.skce_interval, ct.risk.squared_error_interval],
    ids=lambda one: one.__name__,
)
def test_numbers_of_intervals_are_plain(interval):
    """So that they are printed as they are made."""
    found = interval(*ct.top_label(P, Y))
    assert {type(one) for one in (*found.ends, found.estimate)} == {float}
    assert eval(repr(found), dict(CLASSES, inf=np.inf)) == found


P, Y = ct.generators.class_model("M2", n_classes=3).sample(60, rng=1)
KERNEL = P.default_kernel()


@pytest.mark.parametrize(
    ("test", "data"),
    [
        (ct.PairedSKCETest(KERNEL), (P, P.at_temperature(2.0), Y)),
        (ct.GroupCalibrationTest(ct.SKCE(KERNEL), 19), (P, Y, np.arange(60) % 2)),
        (ct.SequentialCalibrationTest("kernel", KERNEL), (P, Y)),
        (ct.MonteCarloTest(ct.SKCE(KERNEL), 19), (P, Y)),
    ],
    ids=lambda one: type(one).__name__,
)
def test_tests_are_alike(test, data):
    """They are printed as they are made, changed by ``replace``, and called with the same keywords."""
    again = eval(repr(test), dict(CLASSES))
    assert repr(again) == repr(test)
    assert type(dataclasses.replace(test)) is not None
    first, second = (one(*data, rng=1, classes=None, progress=False) for one in (test, again))
    assert first.to_dict() == second.to_dict()
    assert 0.0 <= first.pvalue <= 1.0
    assert str(first) == first.summary()
    assert first.sentence(0.01) != first.sentence(0.2)
    assert all(key in ct.results.bibtex(test) for key in test.citations)


@pytest.mark.parametrize("name", TESTS)
def test_calls_of_tests(name):
    keywords = [one.name for one in parameters(TESTS[name].__call__) if one.kind == one.KEYWORD_ONLY]
    assert {"classes", "rng", "progress"} <= set(keywords)


def test_tests_show_few_of_the_numbers_they_are_given():
    x, clusters = np.random.default_rng(1).normal(size=900), np.arange(900)
    assert repr(ct.OmnibusTest(features={"x": x})) == "OmnibusTest(features={'x': <ndarray of shape (900,)>})"
    assert repr(ct.ClusterSKCETest(clusters)) == "ClusterSKCETest(<ndarray of shape (900,)>)"
    assert repr(ct.ClusterSKCETest(clusters.tolist())) == "ClusterSKCETest(<list of shape (900,)>)"
    assert repr(ct.ClusterSKCETest([1, 1, 2, 2])) == "ClusterSKCETest([1, 1, 2, 2])"
