"""Errors of confidence, their intervals and their means under calibration."""

import numpy as np
import pytest
from printed import unfolded
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

import caltest as ct
from caltest.decompositions.confidence_errors import mean_interval

RNG = np.random.default_rng(3)
P = RNG.dirichlet(np.full(3, 0.7), 120)
Y = ct.Categorical(0.7 * P + 0.1).sample(RNG)


def test_intervals_against_scipy_and_statsmodels():
    found = ct.confidence_errors(P, Y, confidence_level=0.9, n_resamples=9, rng=1)
    c, right = P.max(axis=1), P.argmax(axis=1) == Y
    for name, some in (("overconfidence", c[~right]), ("underconfidence", 1 - c[right])):
        low, high = stats.ttest_1samp(some, 0.0).confidence_interval(0.9)
        assert tuple(found.intervals[name]) == (pytest.approx(low), pytest.approx(high))
        assert found.intervals[name].estimate == getattr(found, name)
    low, high = proportion_confint(right.sum(), 120, alpha=0.1, method="wilson")
    assert tuple(found.intervals["accuracy"]) == (pytest.approx(low), pytest.approx(high))


def test_means_under_calibration():
    """The accuracy is the mean confidence, and the errors are those of redraws by hand."""
    found = ct.confidence_errors(P, Y, confidence_level=0.9, n_resamples=4000, rng=1)
    c, rng, errors = P.max(axis=1), np.random.default_rng(2), []
    for _ in range(4000):
        right = rng.random(120) < c
        errors.append([c[~right].mean(), (1 - c[right]).mean(), right.mean()])
    wanted, scale = np.mean(errors, axis=0), np.std(errors, axis=0) / np.sqrt(2000)
    assert (np.abs(np.array(list(found.calibrated.values())) - wanted) <= 4.5 * scale).all()
    assert found.calibrated["accuracy"] == pytest.approx(c.mean(), abs=0.01)
    again = ct.confidence_errors(P, Y, confidence_level=0.9, n_resamples=4000, rng=found.seed)
    assert again.calibrated == found.calibrated


def test_few_and_equal_confidences():
    right = ct.confidence_errors([[0.9, 0.1], [0.6, 0.4]], [0, 0], confidence_level=0.95, n_resamples=9, rng=1)
    assert right.overconfidence is None
    assert tuple(right.intervals["overconfidence"]) == (0.6, 0.9)
    assert "none" in unfolded(right)
    certain = ct.confidence_errors(np.eye(2), [0, 1], confidence_level=0.95, n_resamples=9, rng=1)
    assert certain.calibrated == {"overconfidence": None, "underconfidence": 0.0, "accuracy": 1.0}
    same = mean_interval(np.full(5, 0.7), np.array([0.4, 0.9]), 0.95)
    low, high = proportion_confint(3, 5, method="wilson")
    assert tuple(same) == (pytest.approx(0.4 + 0.5 * low), pytest.approx(0.4 + 0.5 * high))
    assert tuple(mean_interval(np.full(5, 0.9), np.full(9, 0.9), 0.95)) == (0.9, 0.9)


def test_without_a_level_there_are_none():
    found = ct.confidence_errors(P, Y)
    assert (found.intervals, found.calibrated, found.seed) == (None, None, None)
    assert found.table()[0] == ["", "observed"]
    assert [bar.interval for bar in found.bars()] == [None] * 3
    with pytest.raises(ValueError, match="confidence_level: got 1"):
        ct.confidence_errors(P, Y, confidence_level=1.0)


@pytest.mark.statistical
@pytest.mark.usefixtures("without_findings")
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_coverage(noise, replications):
    sets, rng, covered = replications(400, 4000), np.random.default_rng(9), np.zeros(3)
    for _ in range(sets):
        p = rng.beta(0.5, 0.5, 60)
        q = np.maximum(p, 1 - p)
        right = (1 - noise) * q + noise / 2
        y = np.where(rng.random(60) < right, p > 0.5, p <= 0.5).astype(int)
        found = ct.confidence_errors(p, y, confidence_level=0.95, n_resamples=1, rng=rng).intervals.values()
        target = (q @ (1 - right) / (1 - right).sum(), (1 - q) @ right / right.sum(), right.mean())
        covered += [low <= value <= high for (low, high), value in zip(found, target, strict=True)]
    assert covered.min() >= stats.binom(sets, 0.94).ppf(0.005)


def test_interval_of_an_accuracy_of_0_begins_at_0():
    accuracy = ct.confidence_errors(
        np.array([1e-5, 0.27, 0.041]), np.array([1, 1, 1]), confidence_level=0.95, rng=0
    ).intervals["accuracy"]
    assert accuracy.low == accuracy.estimate == 0.0


def test_interval_of_equal_numbers_is_that_of_a_share():
    """The number is as far between the ends as a share is between 0 and 1."""
    found = mean_interval(np.full(7, 0.4), np.array([0.3, 0.4, 0.8]), 0.9)
    share = np.array(proportion_confint(0.2 * 7, 7, alpha=0.1, method="wilson"))
    assert tuple(found) == pytest.approx(tuple(0.3 + 0.5 * share))
    assert found.method == "Wilson"
