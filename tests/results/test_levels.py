"""What results say at a level: p-values that equal it reject, and those above do not."""

from dataclasses import fields, is_dataclass, replace
from math import nextafter

import numpy as np
import pytest

import caltest as ct
from caltest.fields import bayesian, clinical, weather

RNG = np.random.default_rng(4)
P = RNG.uniform(0.1, 0.9, 60)
Y = (RNG.random(60) < P).astype(int)
PARITY = np.arange(60) % 2
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
    """All texts of a result, how many of its rows are rejected and which lines of its picture stand out."""
    texts = [
        str(result),
        *(getattr(result, name)() for name in ("verdict", "why", "sentence") if hasattr(result, name)),
    ]
    rejected = len(result.rejected()) if hasattr(result, "rejected") else None
    return texts, rejected, [bar.stands_out for bar in result.bars()] if hasattr(result, "bars") else None


RESULTS = {
    "test": lambda: ct.MonteCarloTest(ct.estimators.ExcessLogScore(), 99)(P, Y, rng=1),
    "default test": lambda: ct.calibration_test(P, Y, **FEW),
    "cox": lambda: ct.estimators.cox_calibration(P, Y),
    "groups": lambda: ct.calibration_by_group(P**3, Y, PARITY, **FEW),
    "labels": lambda: ct.calibration_test(ct.MultiLabel(np.stack([P, P], axis=1)), np.stack([Y, 1 - Y], axis=1), **FEW),
    "slices": lambda: ct.find_slices(P, Y, {"x": PARITY}, **FEW),
    "models": lambda: ct.compare_models({"a": P, "b": P**2}, Y, **FEW),
    "pairs": lambda: ct.compare_pairs({"a": P, "b": P**2}, Y),
    "clinical": lambda: clinical.validate(P, Y, **FEW),
    "decisions": lambda: clinical.decision_curve(P, Y, [0.3, 0.5], **FEW),
    "weather": lambda: weather.rank_histogram(RNG.normal(size=(60, 5)), RNG.normal(size=60), **FEW),
    "simulations": lambda: bayesian.simulation_based_calibration(RNG.normal(size=(60, 9)), RNG.normal(size=60), **FEW),
}


@pytest.mark.parametrize("name", RESULTS)
def test_pvalues_that_equal_the_level_reject(name):
    result = RESULTS[name]()
    below, equal, above = (said(with_pvalues(result, p)) for p in (nextafter(0.05, 0.0), 0.05, nextafter(0.05, 1.0)))
    assert equal == below
    assert equal[0] != above[0]
