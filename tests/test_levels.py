"""What results say at a level: p-values that equal it reject, and those above do not."""

from dataclasses import fields, is_dataclass, replace
from inspect import getmembers, isfunction, signature
from math import nextafter

import numpy as np
import pytest

import caltest as ct
from caltest.fields import bayesian, clinical, weather

RNG = np.random.default_rng(4)
P = RNG.uniform(0.1, 0.9, 60)
Y = (RNG.random(60) < P).astype(int)
DRAWS = np.random.default_rng(1).permutation(9).astype(float)
FEW = {"n_resamples": 29, "rng": 1}
PVALUES = {"pvalue", "adjusted", "pvalue_holm", "pvalue_before", "pvalue_after", "ranks_pvalue"}


def with_pvalues(result, pvalue):
    """A result in which all p-values, those of its rows too, are the same."""
    new = {}
    for one in fields(result):
        value = getattr(result, one.name)
        if one.name in PVALUES and value is not None:
            new[one.name] = pvalue
        elif isinstance(value, tuple) and value and all(map(is_dataclass, value)):
            new[one.name] = tuple(with_pvalues(row, pvalue) for row in value)
        elif hasattr(value, "pvalue") and is_dataclass(value):
            new[one.name] = with_pvalues(value, pvalue)
    return replace(result, **new)


def said(result):
    """What a result says at its default level: words, how many rows it rejects, which lines of a picture stand out."""
    names = [name for name in ("verdict", "why", "sentence") if hasattr(result, name)]
    words = {name: getattr(result, name)() for name in names} | {"report": str(result)}
    rejected = len(result.rejected()) if hasattr(result, "rejected") else None
    out = [bar.stands_out for bar in result.bars()] if hasattr(result, "bars") else None
    return {name: one for name, one in (words | {"rejected": rejected, "bars": out}).items() if one not in (None, [])}


RESULTS = {
    "test": lambda p, y: ct.MonteCarloTest(ct.estimators.ExcessLogScore(), 99)(p, y, rng=1),
    "default test": lambda p, y: ct.calibration_test(p, y, **FEW),
    "cox": lambda p, y: ct.estimators.cox_calibration(p, y),
    "groups": lambda p, y: ct.calibration_by_group(p**3, y, np.arange(60) % 2, **FEW),
    "labels": lambda p, y: ct.calibration_test(ct.MultiLabel(np.stack([p, p], 1)), np.stack([y, 1 - y], 1), **FEW),
    "slices": lambda p, y: ct.find_slices(p, y, {"x": np.arange(60) % 2}, **FEW),
    "models": lambda p, y: ct.compare_models({"a": p, "b": p**2}, y, **FEW),
    "pairs": lambda p, y: ct.compare_pairs({"a": p, "b": p**2}, y),
    "clinical": lambda p, y: clinical.validate(p, y, **FEW),
    "centres": lambda p, y: clinical.validate_by_group(p**3, y, np.arange(60) % 2),
    "decisions": lambda p, y: clinical.decision_curve(p, y, [0.3, 0.5], **FEW),
    "weather": lambda p, y: weather.rank_histogram(np.outer(p, np.arange(5.0)), y + 0.5, **FEW),
    "simulations": lambda p, y: bayesian.simulation_based_calibration(np.outer(p, DRAWS), y + 0.5, **FEW),
}
OTHERWISE = {key: {"bars"} for key in ("default test", "cox", "clinical", "weather", "centres")}
"""What says nothing about the level."""
DEGENERATE = {
    "equal": (np.full(60, 0.5), Y),
    "separated": (np.where(Y == 1, 0.9, 0.1), Y),
    "reversed": (np.where(Y == 1, 0.1, 0.9), Y),
    "one class": (P, np.zeros(60, dtype=int)),
    "certain": (Y.astype(float), Y),
}


@pytest.mark.parametrize("name", RESULTS)
def test_pvalues_that_equal_the_level_reject(name):
    result = RESULTS[name](P, Y)
    below, equal, above = (said(with_pvalues(result, p)) for p in (nextafter(0.05, 0.0), 0.05, nextafter(0.05, 1.0)))
    assert equal == below
    assert {part for part in equal if equal[part] == above.get(part)} == OTHERWISE.get(name, set())


def pvalues(result):
    """All p-values of a result, those of its rows too."""
    for one in fields(result):
        value = getattr(result, one.name)
        if one.name in PVALUES and value is not None:
            yield value
        for part in value if isinstance(value, tuple) else [value]:
            if is_dataclass(part):
                yield from pvalues(part)


@pytest.mark.parametrize("data", DEGENERATE.values(), ids=DEGENERATE)
@pytest.mark.parametrize("name", [name for name in RESULTS if name not in ("cox", "slices")])
def test_pvalues_of_degenerate_data_are_probabilities(name, data):
    found = list(pvalues(RESULTS[name](*data)))
    assert found
    assert all(0.0 <= p <= 1.0 for p in found)


def test_all_results_have_the_same_levels_by_default():
    results = {name: one for name, one in vars(ct.results).items() if isinstance(one, type)}
    found = {
        f"{name}.{method}({one.name})": one.default
        for name, result in results.items()
        for method, function in getmembers(result, isfunction)
        for one in signature(function).parameters.values()
        if one.name in ("alpha", "confidence_level") and one.default not in (None, one.empty)
    }
    assert "GroupCalibrationTestResult.summary(alpha)" in found
    assert {name: one for name, one in found.items() if one != (0.05 if "(alpha)" in name else 0.95)} == {}
