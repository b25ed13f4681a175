import subprocess
import sys
from contextlib import suppress
from math import ceil

import numpy as np
import pytest

import caltest as ct
from caltest._basics.calls import pvalues_only

MODELS = ct.datasets.load_digits_predictions()


def test_what_the_message_says():
    with pytest.raises(AssertionError) as caught:
        ct.assert_calibrated(*MODELS["random forest"], rng=1)
    verdict, *lines = str(caught.value).splitlines()
    assert verdict == "reject calibration at the 5 % level: the error is large enough to matter"
    assert [line.split(":")[0] for line in lines] == ["why", "how much", "p-value", "data", "reproduce"]
    assert "underconfident: outcomes follow them at temperature 0.24" in lines[0]
    assert "22 to 25 percentage points off on average (more than 2 matters)" in lines[1]
    assert lines[2:] == ["p-value: 0.001", "data: Categorical, n = 899, 10 classes", "reproduce: rng=1"]


def test_it_passes_what_the_test_does_not_reject_or_the_margin_allows(monkeypatch):
    p, y = MODELS["neural network"]
    result = ct.assert_calibrated(p, y, alpha=0.005, rng=1)
    with pvalues_only():
        assert result.pvalue == ct.calibration_test(p, y, rng=1).pvalue == 0.009
    # The others are of the same test.
    monkeypatch.setattr("caltest.bridges.assertion.calibration_test", lambda *_, **settings: result)
    with pytest.raises(AssertionError, match="most probable class are more than 2 points off remains open"):
        ct.assert_calibrated(p, y, rng=1)
    allowed = ct.assert_calibrated(p, y, margin=0.03, rng=1)
    assert allowed.verdict() == "reject calibration at the 5 % level, but the error is too small to matter"
    high = allowed.measures[0].gap.high
    assert ct.assert_calibrated(p, y, margin=high, rng=1).pvalue == 0.009
    with pytest.raises(AssertionError):
        ct.assert_calibrated(p, y, margin=high - 1e-9, rng=1)


def test_numbers_and_vectors():
    rng = np.random.default_rng(1)
    y = rng.normal(size=400)
    ct.assert_calibrated(ct.Normal(np.zeros(400), 1.0), y, margin=0.2, n_resamples=39, rng=1)
    with pytest.raises(AssertionError, match="predictions are too wide"):
        ct.assert_calibrated(ct.Normal(np.zeros(400), 2.0), y, n_resamples=39, rng=1)
    points = rng.normal(size=(60, 2))
    wide = ct.MvNormal(np.zeros((60, 2)), np.full((60, 2), 9.0))
    with pytest.raises(AssertionError, match=r"40 to 50 percentage points off on average .more than 30 matters"):
        ct.assert_calibrated(wide, points, margin=0.3, n_resamples=39, rng=1)


def test_what_was_impossible_is_never_too_small_to_matter():
    p, y = np.full(600, 0.5), np.arange(600) % 2
    ct.assert_calibrated(p, y, margin=0.5, rng=1)
    p[0], p[1] = 1.0, 0.0
    with pytest.raises(AssertionError, match=r"p-value: 0 \(an outcome occurred to which probability 0 was given\)"):
        ct.assert_calibrated(p, y, margin=0.5, rng=1)


@pytest.mark.parametrize("settings", [{"margin": 0.0}, {"margin": "x"}, {"alpha": 1}, {"n_resamples": 9}])
def test_settings_that_make_no_sense(settings):
    name = next(iter(settings))
    with pytest.raises(ValueError, match=rf"{name}: got .* wanted"):
        ct.assert_calibrated([0.2, 0.4, 0.9, 0.5], [0, 0, 1, 1], rng=1, **settings)


@pytest.mark.full
def test_calibrated_predictions_raise_at_most_at_the_level(without_findings):
    """One hundred sets of rare events; 12 is above the 99 % binomial band of 5 %."""
    p = np.random.default_rng(1).beta(0.5, 20.0, 150)
    raised = 0
    for seed in range(100):
        y = np.random.default_rng([7, seed]).random(150) < p
        try:
            ct.assert_calibrated(p, y, n_resamples=99, rng=seed)
        except AssertionError:
            raised += 1
    assert 0 < raised < 12


@pytest.mark.full
def test_it_asserts_without_the_assertions_of_python():
    code = "import caltest as ct; ct.assert_calibrated([0.1] * 30, [1] * 30, n_resamples=99, rng=1)"
    run = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True)
    assert "AssertionError: reject calibration at the 5 % level" in run.stderr


@pytest.mark.parametrize("k", [10 / 3, 3, 20, 49])
def test_so_many_redraws_that_the_smallest_pvalue_is_the_level(k):
    """The reciprocal of the nearest number to 1 / 49 is above 49."""
    least = ceil(k) - 1
    with pytest.raises(ValueError, match=f"got {least - 1}, wanted at least {least} to reject anything"):
        ct.assert_calibrated([0.4, 0.6], [0, 1], alpha=1 / k, n_resamples=least - 1)
    with suppress(AssertionError):
        ct.assert_calibrated([0.4, 0.6], [0, 1], alpha=1 / k, n_resamples=least, rng=1)
