"""Forecasts of rain, of which many members are dry: drier, wetter, too narrow, or of other amounts."""

import numpy as np
import pytest

import caltest as ct
from caltest._basics.calls import pvalues_only
from caltest.estimators.combined.findings import findings_of
from caltest.predictions.faults.numbers.scores import Scores
from caltest.predictions.faults.numbers.ties import SharedValue, Total, shared_value
from caltest.predictions.inputs.convert import as_sample

M = 20


def rain(rng, n, shift=0.0, scale=1.0, threshold=0.5):
    """Members, and an outcome that is another one but for a shift and a scale before what is below 0 is dry."""
    centre, errors = rng.normal(size=(n, 1)) - threshold, rng.normal(size=(n, M + 1))
    errors[:, 0] = shift + scale * errors[:, 0]
    values = np.maximum(centre + errors, 0.0) ** 1.5
    return values[:, 1:], values[:, 0]


def first(members, outcomes):
    return findings_of(as_sample(ct.Ensemble(members), outcomes))[0]


@pytest.mark.every(2)
@pytest.mark.parametrize("seed", range(4))
def test_sizes_are_those_before_dry_members_are_dry(seed):
    """And what is only drier is not said to be too wide, nor what is only wetter too narrow."""
    for shift, side in ((-0.5, "below"), (0.5, "above")):
        found = first(*rain(np.random.default_rng(seed), 2000, shift=shift))
        assert (found.kind, found.second) == ("shift", None)
        assert found.interval.low < shift < found.interval.high
        assert found.words.startswith(f"outcomes are {side} what was predicted, by 0.")
    for scale, wrong in ((0.5, "wide"), (1.6, "narrow")):
        found = first(*rain(np.random.default_rng(seed), 2000, scale=scale))
        assert (found.kind, found.second) == ("scale", None)
        assert found.estimate == pytest.approx(scale, rel=0.12)
        assert found.words.startswith(f"predictions are too {wrong}: errors are")


@pytest.mark.parametrize("seed", range(4))
def test_other_amounts_and_other_zeros_are_named(seed):
    rng = np.random.default_rng(seed)
    members, y = rain(rng, 2000)
    found = first(members, 0.6 * y)
    assert found.kind == "factor"
    assert found.interval.low < 0.6 < found.interval.high
    assert found.words.startswith("outcomes are too small: they add up to 0.")
    unseen = first(members, np.where(y < 0.2, 0.0, y))
    assert unseen.kind == "shared value"
    count = (y < 0.2).sum()
    assert unseen.words.startswith(f"outcomes are 0 more often than members, {count} times instead of 1")
    drizzle = np.where((members == 0.0) & (rng.random(members.shape) < 0.3), 0.1, members)
    assert first(drizzle, y).kind == "shared value"
    less = first(members, np.where(y > 0.0, y, 0.01 * (rng.random(2000) < 0.3)))
    assert less.kind == "shared value"
    assert less.words.startswith("outcomes are 0 less often than members, ")


def test_calibrated_forecasts_of_rain_have_no_findings(replications):
    """Where all members are dry, rain is above them: ranks of other rows alone are not uniform."""
    gains = [
        first(*rain(np.random.default_rng([seed, 2]), 2000, threshold=2.0)).gain for seed in range(replications(8, 60))
    ]
    assert np.mean(np.array(gains) > 0.0) <= 0.05


def test_rain_that_is_too_little_to_be_seen_is_rejected():
    rejected = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        members, y = rain(rng, 300)
        with pvalues_only():
            result = ct.calibration_test(ct.Ensemble(members), np.where(y < 0.2, 0.0, y), n_resamples=99, rng=rng)
        rejected += result.pvalue <= 0.05
    assert rejected >= 4


def test_values_are_shared_within_pools():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(100, 12))
    alike = np.broadcast_to(np.arange(9.0), (100, 9))
    for members, value in (
        (values, None),
        (alike, None),
        (np.maximum(values, 0.5), 0.5),
        (np.where(rng.random((100, 12)) < 0.05, 0.0, values), None),
    ):
        assert shared_value(members) == value


@pytest.mark.parametrize("kind", [SharedValue, Total])
@pytest.mark.parametrize("t", [-0.8, 1.3])
def test_ratios_have_mean_one(kind, t):
    """Over all values of a pool."""
    pool = np.array([[0.0, 0.0, 0.0, 0.3, 0.9, 4.0]])
    law = ct.Ensemble(pool)
    fault = Total(pool) if kind is Total else SharedValue(0.0, pool)
    ratios = [np.exp(fault.log_ratio(Scores(law, np.array([[y]]), np.ones(1)), 0, t)) for y in pool[0]]
    assert np.mean(ratios) == pytest.approx(1.0, rel=1e-12)
    assert np.ptp(ratios) > 0.1


@pytest.mark.parametrize("n_members", [1, 2, 8])
def test_members_that_are_all_0(n_members):
    """Whatever happens: nothing is found where all is 0, and what is not 0 is more than any number of times as much."""
    members, y = np.zeros((50, n_members)), np.zeros(50)
    result = ct.calibration_test(ct.Ensemble(members), y, n_resamples=19, rng=1)
    assert (result.pvalue, result.finding) == (1.0, None)
    y[:5] = 1.0
    found = findings_of(as_sample(ct.Ensemble(members), y))
    assert all(np.isfinite([one.estimate, *one.interval]).all() for one in found)
    # One member does not say how far above it an outcome is.
    assert [bool(one.words) for one in found[:1]] == [True] * (n_members > 1)
