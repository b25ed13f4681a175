"""Names that users give, in everything that results print, store and draw."""

import dataclasses
import inspect
import json
import re
from functools import cache

import numpy as np
import pandas as pd
import pytest

import caltest as ct
from caltest._results.values import Entry, Stored, stored_fields

NAMES = [
    "<script>alert(1)</script>\x1b[31mred",
    "a|b\n# *new* `line`\t_x_ \u202egnp\x00",
    "[c](javascript:d) \\input{e} $f_1$ & \x07 &copy; \x9b1m",
]
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]")
N = 120
DRAWS = np.random.default_rng(3)
LAW = ct.Categorical(DRAWS.dirichlet(np.ones(3), N), classes=NAMES)
CODES = DRAWS.integers(0, 3, N)
LABELS, GROUPS = np.array(NAMES)[CODES], np.array(NAMES)[np.arange(N) % 3]
X = DRAWS.normal(size=(N, 8, 2))
RISK, EVENT = LAW.probabilities[:, 0], CODES == 0
FEATURES = {NAMES[0]: GROUPS, NAMES[1]: X[:, 0, 0]}
MODELS = {NAMES[0]: LAW, NAMES[1]: LAW.at_temperature(2.0)}
QUICK = {"n_resamples": 19, "rng": 1}


def excluded():
    p = np.array(LAW.probabilities)
    p[3, CODES[3]] = 0.0
    return ct.calibration_test(ct.Categorical(p / p.sum(axis=1, keepdims=True), classes=NAMES), LABELS, **QUICK)


def log_score(predictions, targets, *, rng):
    return ct.MonteCarloTest(ct.estimators.ExcessLogScore(), 9)(predictions, targets, rng=rng)


RESULTS = {
    "classes": lambda: ct.calibration_test(LAW, LABELS, **QUICK),
    "ordered classes": lambda: ct.calibration_test(ct.Ordinal(LAW.probabilities, classes=NAMES), LABELS, **QUICK),
    "two classes": lambda: ct.calibration_test(
        ct.Categorical(np.stack([RISK, 1.0 - RISK], axis=1), classes=NAMES[1:]), np.array(NAMES)[1 + EVENT], **QUICK
    ),
    "impossible": excluded,
    "labels": lambda: ct.calibration_test(ct.MultiLabel(LAW.probabilities, NAMES), np.eye(3)[CODES[::-1]], **QUICK),
    "groups": lambda: ct.calibration_by_group(LAW, LABELS, GROUPS, **QUICK),
    "slices": lambda: ct.find_slices(RISK, EVENT, FEATURES, min_variance=0.1, **QUICK),
    "models": lambda: ct.compare_models(MODELS, LABELS, **QUICK),
    "every class": lambda: ct.compare_classes(LAW, LABELS, estimator=ct.ECE(), **QUICK),
    "pairs": lambda: ct.compare_pairs(MODELS, LABELS),
    "audit": lambda: ct.audit(MODELS, LABELS, groups=GROUPS, features=FEATURES, title=NAMES[1], **QUICK),
    "recalibration": lambda: ct.recalibration.report(LAW, LABELS, ct.recalibration.TemperatureScaling(), **QUICK),
    "multicalibration": lambda: ct.recalibration.multicalibration_report(RISK, EVENT, FEATURES, **QUICK),
    "stream": lambda: ct.SequentialCalibrationTest().update(LAW, LABELS).result(),
    "monitor": lambda: ct.CalibrationMonitor(20)(LAW, LABELS),
    "errors": lambda: ct.estimate_calibration_error(LAW, LABELS, "classwise", rng=1),
    "centres": lambda: ct.fields.clinical.validate_by_group(RISK, EVENT, GROUPS),
    "powers": lambda: ct.power_curve(
        dict.fromkeys(NAMES[:2], log_score), ct.generators.class_model("OC", 3), [10], n_simulations=5, rng=1
    ),
    "posteriors": lambda: ct.fields.bayesian.simulation_based_calibration(
        {name: X[:, 1:, i] for i, name in enumerate(NAMES[:2])},
        {name: X[:, 0, i] for i, name in enumerate(NAMES[:2])},
        **QUICK,
    ),
}
NAMELESS = {
    "BestFit", "CoxCalibrationResult", "DecisionCurve", "ClinicalValidation", "ConfidenceErrors", "NoiseFloor",
    "PowerResult", "SampleSize", "ScoreDecomposition", "SurvivalCalibration", "ValidationSize", "VerificationResult",
}  # fmt: skip
"""Results that know no names of classes, groups, features or models."""


@pytest.fixture(scope="module")
def results():
    return cache(lambda name: RESULTS[name]())


def parts_of(value):
    """All parts of a result that are printed by themselves."""
    for name in stored_fields(type(value)) if dataclasses.is_dataclass(value) else []:
        inner = getattr(value, name)
        for one in inner if isinstance(inner, tuple) else [inner]:
            if isinstance(one, Entry):
                yield one
            yield from parts_of(one)


def texts_of(result):
    """What each medium gets, by its name."""
    yield "print", str(result)
    yield "notebook", result._repr_html_()
    yield "markdown", result.to_markdown()
    yield "latex", result.to_latex()
    yield "json", json.dumps(result.to_dict(), ensure_ascii=True)
    if isinstance(result, ct.results.Audit):
        yield from [("page", result.to_html()), ("junit", result.to_junit())]


def lines_of(result):
    """What is a line wherever it is shown."""
    yield from [repr(result), result.sentence()]
    for method in ("verdict", "why"):
        if hasattr(result, method):
            yield getattr(result, method)() or ""
    for part in parts_of(result):
        yield from [str(part), repr(part)]


@pytest.mark.parametrize("name", RESULTS)
def test_no_name_of_a_user_is_obeyed(name, results):
    result = results(name)
    for medium, text in texts_of(result):
        assert not CONTROL.search(text), medium
    for text in lines_of(result):
        assert not CONTROL.search(text)
        assert not {"\n", "\t"} & set(text)
    for medium, text in texts_of(result):
        assert medium not in ("notebook", "page", "markdown") or "<script" not in text
    assert len(result.to_markdown().splitlines()) == len([*result.table(), ""]) + 2 * len(result.remarks())
    for line in result.to_markdown().splitlines():
        assert not re.search(r"(?<!\\)(\]\(|`|\*|\$|&copy)", line), line
    for line in result.to_latex().splitlines():
        assert not re.search(r"^[\[*]|(?<!\\)[$_#&](?! )|\\input", line), line


@pytest.mark.parametrize("name", RESULTS)
def test_no_name_of_a_user_breaks_a_picture(name, results):
    pyplot, text = pytest.importorskip("matplotlib.pyplot"), pytest.importorskip("matplotlib.text")
    pyplot.switch_backend("agg")
    if type(results(name)).no_picture:
        return
    results(name).plot()
    shown = [one.get_text() for one in pyplot.gcf().findobj(text.Text)]
    pyplot.close("all")
    assert any(shown)
    for one in shown:
        assert not CONTROL.search(one)
        assert "\t" not in one
        assert not re.search(r"(?<!\\)\$f", one)


def test_results_with_names_are_all_looked_at(results):
    def kinds(one):
        for kind in one.__subclasses__():
            yield from [] if inspect.isabstract(kind) or not kind.__module__.startswith("caltest") else [kind.__name__]
            yield from kinds(kind)

    assert {type(results(name)).__name__ for name in RESULTS} == set(kinds(Stored)) - NAMELESS


REFUSED = {
    "label": lambda: ct.calibration_test(LAW, [*LABELS[:-1], NAMES[0] + "x"]),
    "column": lambda: ct.calibration_test(pd.DataFrame(np.ones((N, 2)) / 2.0, columns=NAMES[:2]), ["x\x1b"] * N),
    "feature": lambda: ct.recalibration.Multicalibration().fit(RISK, EVENT, features=FEATURES)(RISK, {}),
    "group": lambda: ct.calibration_by_group(LAW, LABELS, {NAMES[0]: np.arange(N)}),
    "model": lambda: ct.compare_models({NAMES[0]: 3, NAMES[1]: LAW}, LABELS),
    "parameter": lambda: ct.fields.bayesian.simulation_based_calibration(
        {NAMES[0]: X[:, 1:, 0]}, {NAMES[1]: X[:, 0, 0]}
    ),
    "row": lambda: ct.calibration_by_group(LAW, LABELS, GROUPS, **QUICK)["x\x1b"],
    "argument": lambda: ct.calibration_test(LAW, LABELS, **{NAMES[0]: 1}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_errors_are_printable(name):
    with pytest.raises((ValueError, TypeError, KeyError)) as found:
        REFUSED[name]()
    assert not CONTROL.search(str(found.value))
    assert "\\x1b" in str(found.value)


def test_an_error_of_many_long_names_is_short():
    law = ct.Categorical(np.full((4, 300), 1 / 300), classes=[f"{'x' * 50} {c}" for c in range(300)])
    with pytest.raises(
        ValueError, match=r"targets: got 'y+ ... at row 0, which is not one of classes=\['x+ 0'"
    ) as found:
        ct.calibration_test(law, ["y" * 5000] * 4)
    assert len(str(found.value)) < 1000
