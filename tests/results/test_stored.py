"""Results as dictionaries, as JSON, and back."""

import dataclasses
import json
import math

import numpy as np
import pytest
from public import CLASSES

import caltest as ct
from caltest._results.stored import SCHEMA, Stored, plain

P, Y = ct.generators.class_model("M2", n_classes=3).sample(60, rng=1)


def mean_test(predictions, targets, *, rng):
    return ct.MonteCarloTest(ct.estimators.ExcessBrierScore(), 9)(predictions, targets, rng=rng)


def excluded():
    p = np.array(P.probabilities)
    p[3] = [0.0, 0.5, 0.5]
    return ct.calibration_test(p, np.r_[Y[:3], 0, Y[4:]], n_resamples=19, rng=1)


def stream():
    test = ct.SequentialCalibrationTest()
    return test.update([0.5, 0.3, 0.0, 0.4], [1, 0, 1, 0])


def model():
    return ct.generators.class_model("OC", 3)


RESULTS = {
    "default": lambda: ct.calibration_test(P, Y, n_resamples=19, rng=1),
    "excluded": excluded,
    "blocks": lambda: ct.AsymptoticBlockSKCETest(P.default_kernel())(P, Y),
    "degrees": lambda: ct.AsymptoticCMETest(ct.UCME(P.default_kernel(), P.take(slice(0, 2)), [0, 1]))(P, Y),
    "margin": lambda: ct.ToleranceTest(P.default_kernel(), 0.1)(P, Y),
    "difference": lambda: ct.PairedSKCETest()(P, P.at_temperature(2.0), Y),
    "groups": lambda: ct.calibration_by_group(P, Y, np.arange(60) % 3, n_resamples=19, rng=1),
    "stream": lambda: stream().result(),
    "longer stream": lambda: ct.SequentialCalibrationTest().update(P, Y).result(),
    "models": lambda: ct.compare_models({"a": P, "b": P.at_temperature(2.0)}, Y, n_resamples=19, rng=1),
    "classes": lambda: ct.compare_classes(P, Y, estimator=ct.ECE(), n_resamples=19, rng=1),
    "pairs": lambda: ct.compare_pairs({"a": P, "b": P.at_temperature(2.0)}, Y),
    "recalibration": lambda: ct.recalibration.report(
        P, Y, ct.recalibration.TemperatureScaling(), n_resamples=19, rng=1
    ),
    "error": lambda: ct.estimate_calibration_error(P, Y, "top_label", rng=1),
    "errors of classes": lambda: ct.estimate_calibration_error(P, Y, "classwise", rng=1),
    "decomposition": lambda: ct.score_decomposition(*ct.top_label(P, Y)),
    "intervals": lambda: ct.score_decomposition(*ct.top_label(P, Y), confidence_level=0.9, n_resamples=19, rng=1),
    "confidence": lambda: ct.confidence_errors(P, Y),
    "intervals of confidence": lambda: ct.confidence_errors(P, Y, confidence_level=0.9, n_resamples=19, rng=1),
    "Cox": lambda: ct.estimators.cox_calibration(*ct.top_label(P, Y)),
    "noise": lambda: ct.noise_floor(P, ct.ECE(), n_resamples=19, rng=1),
    "power": lambda: ct.power(mean_test, model(), 20, n_simulations=30, alpha=[0.05, 0.2], rng=1),
    "curve": lambda: ct.power_curve({"one": mean_test, "two": mean_test}, model(), [10, 20], n_simulations=20, rng=1),
    "sample size": lambda: ct.sample_size(mean_test, model(), power=0.5, alpha=0.2, n_simulations=30, rng=1),
}


def same(one, other):
    """Whether two values are equal, arrays and not-stored parts included."""
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and one.dtype == other.dtype and np.array_equal(one, other)
    if dataclasses.is_dataclass(one):
        skipped = getattr(one, "not_stored", ())
        names = [field.name for field in dataclasses.fields(one) if field.name not in skipped]
        return type(one) is type(other) and all(same(getattr(one, name), getattr(other, name)) for name in names)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, tuple):
        return isinstance(other, tuple) and len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


def kinds(cls=Stored):
    for kind in cls.__subclasses__():
        yield kind
        yield from kinds(kind)


@pytest.fixture(scope="module")
def results():
    made = {}

    def of(name):
        if name not in made:
            made[name] = RESULTS[name]()
        return made[name]

    return of


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_read_back(name, results):
    result = results(name)
    again = type(result).from_dict(json.loads(json.dumps(result.to_dict(), allow_nan=False)))
    assert same(result, again)
    assert (str(again), repr(again)) == (str(result), repr(result))
    assert again.to_dict() == result.to_dict()
    assert result.to_dict()["caltest"] == ct.__version__
    for method in ("sentence", "bibtex", "to_latex", "to_markdown", "summary"):
        if hasattr(result, method):
            assert getattr(again, method)() == getattr(result, method)()


def test_every_result_with_a_dictionary_is_tested(results):
    public = {kind for kind in CLASSES.values() if hasattr(kind, "to_dict")}
    public = {kind for kind in public | set(kinds()) if not issubclass(kind, ct.recalibration.CalibrationMap)}
    assert public == {type(results(name)) for name in RESULTS}


def test_arrays_cannot_be_written_to(results):
    again = ct.results.SequentialTestResult.from_dict(results("stream").to_dict())
    with pytest.raises(ValueError, match="read-only"):
        again.history[0] = 1.0


def test_numbers_of_numpy_and_infinite_ones():
    values = {"a": np.float32(0.5), "b": [np.int64(3), math.inf, -math.inf], "c": np.array([[1.0, math.inf]])}
    assert plain(values) == {"a": 0.5, "b": [3, "inf", "-inf"], "c": [[1.0, "inf"]]}
    interval = ct.results.ConfidenceInterval(np.float64(0.25), math.inf, 0.9, "some method")
    row = ct.compare_models({"a": P}, Y, n_resamples=9, rng=1)
    row = dataclasses.replace(row, rows=(dataclasses.replace(row.rows[0], interval=interval),))
    again = type(row).from_dict(json.loads(json.dumps(row.to_dict(), allow_nan=False)))
    assert again.rows[0].interval == ct.results.ConfidenceInterval(0.25, math.inf, 0.9, "some method")


def test_a_power_study_that_was_read_back_goes_on(results):
    earlier = results("power")
    again = type(earlier).from_dict(json.loads(json.dumps(earlier.to_dict())))
    more = ct.power(mean_test, model(), 20, n_simulations=40, alpha=[0.05, 0.2], resume=again)
    assert np.array_equal(more.pvalues[:30], earlier.pvalues)
    assert more.n_simulations == 40


def test_a_report_that_was_read_back_has_no_data_to_draw(results):
    from caltest.plots import recalibration_report

    again = type(results("recalibration")).from_dict(results("recalibration").to_dict())
    assert (again.map, again.samples) == (None, None)
    with pytest.raises(ValueError, match="report: got one that was read back, without data"):
        recalibration_report(again)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ([1, 2], TypeError, r"entries: got list, wanted the dictionary of CalibrationTestResult.to_dict\(\)"),
        ({}, ValueError, "entries: got the result None, wanted 'CalibrationTestResult'"),
    ],
)
def test_other_dictionaries_are_refused(given, error, message):
    with pytest.raises(error, match=message):
        ct.results.CalibrationTestResult.from_dict(given)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"schema": SCHEMA + 1, "caltest": "9.1.0"},
            "got schema 2 of caltest 9.1.0, wanted 1; read it with that version",
        ),
        ({"result": "PowerResult"}, "entries: got the result 'PowerResult'"),
        ({"pvalue": "small"}, "pvalue: got 'small', wanted a number"),
        ({"pvalue": math.nan}, "pvalue: got nan, wanted a number"),
        ({"pvalue": True}, "pvalue: got True, wanted a number"),
        ({"n": 3.5}, "n: got 3.5, wanted a whole number"),
        ({"n": None}, "n: got None, wanted a whole number"),
        ({"test": 3}, "test: got 3, wanted a string"),
        ({"pvalue_kind": "sure"}, "pvalue_kind: got 'sure', wanted one of 'exact', 'bound'"),
        ({"notes": "one"}, "notes: got 'one', wanted a list"),
        ({"components": [{"name": "x"}]}, r"components\[0\]: got .* wanted statistic, pvalue"),
        ({"null_distribution": {"mean": 1.0}}, "null_distribution: got .* wanted a list"),
        ({"null_distribution": [1.0, "x"]}, r"null_distribution\[1\]: got 'x', wanted a number"),
        ({"effect_size": [1]}, r"effect_size: got \[1\], wanted a dictionary"),
    ],
)
def test_changed_entries_are_refused(changes, message, results):
    with pytest.raises(ValueError, match=message):
        ct.results.CalibrationTestResult.from_dict(results("default").to_dict() | changes)


@pytest.mark.parametrize("name", RESULTS)
def test_missing_entries_are_named(name, results):
    whole = results(name).to_dict()
    for field in dataclasses.fields(results(name)):
        if field.name in whole:
            less = {key: value for key, value in whole.items() if key != field.name}
            with pytest.raises(ValueError, match=f"entries: got no {field.name}, wanted all that"):
                type(results(name)).from_dict(less)


def test_cells_of_a_power_curve_have_their_places(results):
    whole = results("curve").to_dict()
    del whole["cells"][1]["position"]
    with pytest.raises(ValueError, match=r"cells.position: got None, wanted a whole number"):
        ct.results.PowerCurve.from_dict(whole)


def test_the_command_line_prints_what_can_be_read_back(tmp_path, capsys):
    from caltest.cli import main

    np.save(tmp_path / "p.npy", P.probabilities)
    np.save(tmp_path / "y.npy", Y)
    main(["test", str(tmp_path / "p.npy"), str(tmp_path / "y.npy"), "--seed", "1", "--json"])
    again = ct.results.CalibrationTestResult.from_dict(json.loads(capsys.readouterr().out))
    assert str(again) == str(ct.calibration_test(P, Y, rng=1))
