"""Faults of ensembles of numbers: outliers, a factor, and single members, beside the laws that members have."""

import numpy as np
import pytest
from scipy.stats import binom

import caltest as ct
from caltest.estimators.combined.findings import findings_of
from caltest.predictions.ensembles.ensemble import Pool
from caltest.predictions.faults.numbers.members import MemberAmount, faults_of_members, log_density_of
from caltest.predictions.faults.numbers.scores import Scores
from caltest.predictions.inputs.convert import as_sample


def first(members, y):
    return findings_of(as_sample(ct.Ensemble(members), y))[0]


def ensemble(seed, m, n=2000):
    rng = np.random.default_rng(seed)
    centre = rng.normal(size=(n, 1))
    return rng, centre + rng.normal(size=(n, m)), centre[:, 0]


@pytest.mark.parametrize("m", [9, 30])
def test_outliers_among_members(m):
    rng, members, centre = ensemble(1, m)
    errors = rng.normal(size=2000)
    errors[::50] *= 8.0
    found = first(members, centre + errors)
    assert (found.kind, found.second) == ("outliers", None)
    assert not found.interval.excludes(0.02)


def test_large_errors_that_members_have_too_are_no_outliers(replications):
    for seed in range(replications(3, 30)):
        rng, _, centre = ensemble([seed, 2], 9)
        values = centre[:, None] + rng.standard_t(3.0, (2000, 10))
        assert "outliers" not in {one.kind for one in findings_of(as_sample(ct.Ensemble(values[:, 1:]), values[:, 0]))}


@pytest.mark.parametrize("factor", [1.4, 0.7])
@pytest.mark.parametrize("draw", ["gamma", "lognormal"])
def test_outcomes_that_are_larger_than_members_by_a_factor(factor, draw):
    rng = np.random.default_rng(3)
    centre, shape = np.exp(0.5 * rng.normal(size=(2000, 1))), (2000, 13)
    errors = rng.gamma(4.0, 0.25, shape) if draw == "gamma" else np.exp(0.5 * rng.normal(size=shape))
    values = centre * errors
    found = first(values[:, 1:], factor * values[:, 0])
    assert (found.kind, found.second) == ("factor", None)
    assert found.estimate == pytest.approx(factor, rel=0.05)


def test_positive_outcomes_that_are_higher_by_one_amount():
    rng = np.random.default_rng(4)
    values = 1.0 + np.exp(0.5 * rng.normal(size=(2000, 1))) * rng.gamma(4.0, 0.25, (2000, 13))
    found = first(values[:, 1:], values[:, 0] + 0.4)
    assert found.kind == "shift in units"
    assert found.estimate == pytest.approx(0.4, abs=0.05)


@pytest.mark.parametrize(("amount", "noise"), [(2.0, None), (-2.0, None), (0.0, 3.0)])
def test_one_member_is_off(amount, noise):
    rng, members, centre = ensemble(5, 10)
    members[:, 3] = members[:, 3] + amount if noise is None else noise * rng.normal(size=2000)
    found = first(members, centre + rng.normal(size=2000))
    assert (found.kind, found.place, found.second) == ("member", "member 3", None)
    if noise is None:
        assert not found.interval.excludes(amount)
        assert f"too {'high' if amount > 0.0 else 'low'}" in found.words
    else:
        assert 3.0 < found.interval.low < found.interval.high < 4.5


def test_members_that_are_alike_or_in_order_are_not_off():
    rng, members, _ = ensemble(6, 10)
    assert not faults_of_members(members)
    assert not faults_of_members(np.sort(members, axis=1))
    assert not faults_of_members(members + 0.1 * rng.normal(size=10))


def test_log_densities_are_those_of_the_numbers():
    rng = np.random.default_rng(7)
    log_density, x = log_density_of(rng.normal(size=200_000)), np.linspace(-12.0, 12.0, 4001)
    density = np.exp(log_density(x))
    assert density.sum() * (x[1] - x[0]) == pytest.approx(1.0, abs=0.01)
    near = np.abs(x) < 2.5
    assert np.log(density[near]) == pytest.approx(-0.5 * np.square(x[near]) - 0.5 * np.log(2.0 * np.pi), abs=0.12)


def test_equal_numbers_have_a_density():
    log_density = log_density_of(np.full(100, 3.0))
    assert np.isfinite(log_density(np.array([-1e3, 3.0, 1e3]))).all()
    assert log_density(np.array([3.0]))[0] > log_density(np.array([4.0]))[0]


@pytest.mark.parametrize("spread", [0.0, 1.0])
@pytest.mark.parametrize("m", [4, 10])
def test_an_amount_is_in_its_interval_as_often_as_that_says(m, spread, replications):
    number, inside = replications(100, 400), 0
    for seed in range(number):
        rng = np.random.default_rng([seed, m])
        pools = np.exp(spread * rng.normal(size=(400, 1))) * rng.normal(size=(400, m + 1))
        pools[:, 0] += 0.4
        seen = Scores(Pool(pools), pools[None, :, 0], np.ones(400))
        found = MemberAmount(seen)
        # The best value is between the bounds, and the log likelihood falls by 1.92 to the ends of an interval of 95 %.
        best = max(found.log_ratio(seen, 0, t) for t in np.linspace(*found.bounds(seen, 0), 2001))
        inside += best - found.log_ratio(seen, 0, 0.4) < 1.92
    assert inside >= binom.ppf(1e-4, number, 0.93)


@pytest.mark.parametrize("m", [2, 3])
def test_spreads_of_a_few_members_do_not_seem_to_differ(m, replications):
    for seed in range(replications(10, 100)):
        rng, members, centre = ensemble([seed, 5], m, 300)
        members = centre[:, None] + 0.5 * (members - centre[:, None])
        kinds = {one.kind for one in findings_of(as_sample(ct.Ensemble(members), centre + rng.normal(size=300)))}
        assert "shift in units" not in kinds
