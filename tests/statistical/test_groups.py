"""Calibrated groups are seldom rejected, whichever others are not."""

import numpy as np
import pytest
from grids import thinned

import caltest as ct
from caltest import group_test

from .many_groups import SIZES, WRONG, familywise, power
from .settings import COARSE, FINE, band, dirichlet, spawn

pytestmark = [pytest.mark.statistical, pytest.mark.usefixtures("without_findings")]

KERNEL = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.5), ct.DeltaKernel())
N, G = 120, 6


def groups(rng):
    """Overlapping groups that depend on the predictions or on nothing."""
    return rng.random((N, G)) < 0.3


def wrong(p, y, members, rng):
    """Outcomes of the members of the first group are the least probable ones, half of the time."""
    changed = members[:, 0] & (rng.random(N) < 0.5)
    return np.where(changed, p.probabilities.argmin(axis=1), y)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("name", "estimator"), [("kernel", ct.SKCE(KERNEL)), ("score", ct.estimators.ExcessBrierScore())]
)
@pytest.mark.parametrize("one_is_wrong", [False, True])
def test_familywise_error(name, estimator, one_is_wrong, replications):
    number, rng = replications(40, 4000), spawn(70, len(name), one_is_wrong)
    test = ct.GroupCalibrationTest(estimator, n_resamples=replications(39, 99))
    false, found = np.zeros(2), 0
    for _ in range(number):
        p, members = dirichlet(rng, N, 3, 0.5), groups(rng)
        if one_is_wrong:
            members[members[:, 0], 1:] = False
        y = p.sample(rng)
        y = wrong(p, y, members, rng) if one_is_wrong else y
        result = test(p, y, members, rng=rng)
        calibrated = [one.adjusted for one in result.groups if not (one_is_wrong and one.name == "0")]
        false += min(calibrated) <= np.array([0.05, 0.01])
        found += result["0"].adjusted <= 0.05
    for count, alpha in zip(false, (0.05, 0.01), strict=True):
        assert count <= band(number, alpha)[1]
    assert not one_is_wrong or found >= 0.6 * number


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "estimator",
    [
        ct.estimators.GroupSKCE(KERNEL, np.arange(40) % 4),
        ct.estimators.GroupMaximum(ct.SKCE(KERNEL), np.arange(40) % 4),
        ct.estimators.WeightedSKCE(KERNEL, np.linspace(0.1, 3.0, 40)),
    ],
    ids=lambda e: type(e).__name__,
)
def test_sizes_of_monte_carlo(estimator, replications):
    number, rng = replications(60, 10_000), spawn(71, len(type(estimator).__name__))
    alphas, test = replications(COARSE, FINE), ct.MonteCarloTest(estimator, n_resamples=replications(19, 99))
    rejected = np.zeros(len(alphas))
    for _ in range(number):
        p = dirichlet(rng, 40, 3, 0.5)
        rejected += test(p, p.sample(rng), rng=rng).pvalue <= np.array(alphas)
    for count, alpha in zip(rejected, alphas, strict=True):
        low, high = band(number, alpha)
        assert low <= count <= high


@pytest.mark.parametrize("setting", thinned(range(len(SIZES)), [2, 6]))
def test_familywise_error_of_many_groups(setting, replications):
    *what, sets = SIZES[setting]
    number = replications(10, sets)
    for rate, alpha in zip(familywise(*what, number), (0.05, 0.01), strict=True):
        assert rate * number <= band(number, alpha)[1]


@pytest.mark.parametrize("setting", thinned(range(len(WRONG)), [0]))
def test_the_wrong_one_of_many_groups_is_found(setting, replications, monkeypatch):
    monkeypatch.setattr(group_test, "FEW", 0)
    *what, sets = WRONG[setting]
    adjusted, alone = power(*what, True, replications(4, sets), n_resamples=99)
    assert adjusted >= 0.2
    assert alone >= 0.7
