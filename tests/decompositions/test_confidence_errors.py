"""Errors of confidence, their intervals and their means under calibration."""

import numpy as np
import pytest
from printed import unfolded
from scipy import stats

import caltest as ct
from caltest.decompositions.confidence_errors import mean_interval

RNG = np.random.default_rng(3)
P = RNG.dirichlet(np.full(3, 0.7), 120)
Y = ct.Categorical(0.7 * P + 0.1).sample(RNG)


def test_intervals_against_their_definition():
    """Spacings of uniform numbers are the weights of the numbers and of the smallest, or the largest, one."""
    found = ct.confidence_errors(P, Y, confidence_level=0.9, n_resamples=20_000, rng=1).intervals
    c, right, rng = P.max(axis=1), P.argmax(axis=1) == Y, np.random.default_rng(2)
    for name, some, among in (("overconfidence", c[~right], c), ("underconfidence", 1 - c[right], 1 - c)):
        u = np.sort(rng.random((20_000, some.size)), axis=1)
        spacings = np.diff(u, axis=1, prepend=0.0, append=1.0)
        low = np.quantile(spacings @ np.append(some, among.min()), 0.05)
        high = np.quantile(spacings @ np.append(some, among.max()), 0.95)
        assert tuple(found[name]) == (pytest.approx(low, rel=0.02), pytest.approx(high, rel=0.02))
        assert found[name].estimate == some.mean()
    exact = stats.binomtest(int(right.sum()), 120).proportion_ci(0.9)
    assert tuple(found["accuracy"]) == pytest.approx((exact.low, exact.high))


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
    assert of_some(np.full(9, 0.9), np.full(9, 0.9), 99).ends == (0.9, 0.9)


def of_some(some, among, n_resamples=20_000):
    return mean_interval(some, among, 0.95, n_resamples, np.random.default_rng(3))


def test_intervals_of_two_confidences_are_those_of_a_share():
    """The exact interval of Clopper and Pearson 1934."""
    found = of_some(np.repeat([0.6, 0.9], [3, 5]), np.array([0.6, 0.9]))
    exact = stats.binomtest(5, 8).proportion_ci()
    assert tuple(found) == pytest.approx((0.6 + 0.3 * exact.low, 0.6 + 0.3 * exact.high), abs=0.003)


def test_few_redraws_have_no_quantile():
    some, among = np.array([0.7, 0.8]), np.array([0.5, 0.7, 0.8, 0.9])
    assert of_some(some, among, 38).ends == (0.5, 0.9)
    low, high = of_some(some, among, 39)
    assert 0.5 < low < high < 0.9


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
    sets, rng, covered = replications(150, 4000), np.random.default_rng(9), np.zeros(3)
    for _ in range(sets):
        p = rng.beta(0.5, 0.5, 60)
        q = np.maximum(p, 1 - p)
        right = (1 - noise) * q + noise / 2
        y = np.where(rng.random(60) < right, p > 0.5, p <= 0.5).astype(int)
        covered += covers(p, q, right, y, rng)
    assert covered.min() >= stats.binom(sets, 0.94).ppf(0.005)


def covers(p, q, right, y, rng):
    """Which of the three intervals hold the errors of probabilities p, of which q is the confidence."""
    found = ct.confidence_errors(p, y, confidence_level=0.95, n_resamples=199, rng=rng).intervals.values()
    target = (q @ (1 - right) / (1 - right).sum(), (1 - q) @ right / right.sum(), right.mean())
    return [low <= value <= high for (low, high), value in zip(found, target, strict=True)]


@pytest.mark.statistical
@pytest.mark.usefixtures("without_findings")
def test_coverage_where_most_predictions_are_all_but_certain(replications):
    """The wrong ones are a few of five similar confidences, or others that are seldom seen."""
    sets, rng, covered = replications(200, 2000), np.random.default_rng(9), np.zeros(3)
    for _ in range(sets):
        p = np.where(np.arange(250) < 5, 0.6 + 0.01 * rng.random(250), 1.0 - 0.001 * rng.uniform(0.5, 2.0, 250))
        covered += covers(p, p, p, (rng.random(250) < p).astype(int), rng)
    assert covered.min() >= stats.binom(sets, 0.95).ppf(0.005)


def test_interval_of_an_accuracy_of_0_begins_at_0():
    accuracy = ct.confidence_errors(
        np.array([1e-5, 0.27, 0.041]), np.array([1, 1, 1]), confidence_level=0.95, rng=0
    ).intervals["accuracy"]
    assert accuracy.low == accuracy.estimate == 0.0
