"""Forecasts of several steps ahead: interleaved tests, when their mean may be read, and p-values for any time."""

import itertools

import numpy as np
import pytest
from printed import unfolded
from scipy import stats
from statistical.over_time import overlapping

import caltest as ct
from caltest.sequential.betting import merging_factor


def test_interleaved_tests_by_hand():
    """E is the mean of tests of every third row, each as it was after its last row; so are batches of any size."""
    rng = np.random.default_rng(1)
    p = rng.random(200)
    y = (rng.random(200) < 0.5).astype(int)
    single = [ct.SequentialCalibrationTest().update(p[k::3], y[k::3]).history for k in range(3)]
    each = np.zeros((3, 200))
    for k, t in itertools.product(range(3), range(200)):
        done = (t - k) // 3
        each[k, t] = single[k][done] if done >= 0 else 0.0
    test = ct.SequentialCalibrationTest(lag=3).update(p, y)
    assert test.history == pytest.approx(np.log(np.exp(each).mean(axis=0)))
    peaks = np.maximum(np.maximum.accumulate(each, axis=1), 0.0)
    pvalues = merging_factor(3) / np.exp(peaks).mean(axis=0)
    assert test.pvalue == pytest.approx(pvalues[-1])
    result = test.result()
    assert np.exp(-result.bounds) == pytest.approx(pvalues)
    first = result.first_rejection(0.05)
    assert pvalues[first - 1] <= 0.05 < pvalues[first - 2]
    parts = ct.SequentialCalibrationTest(lag=3)
    for part in np.array_split(np.arange(200), [1, 2, 7, 60, 61]):
        parts.update(p[part], y[part])
    assert parts.history == pytest.approx(test.history)
    assert parts.pvalue == pytest.approx(test.pvalue)
    assert "3 rows, so 3 interleaved tests; E of a stop is that 2 rows later" in unfolded(result)
    assert "(outcomes known after 3 observations, 3 interleaved tests);" in result.sentence()
    assert ct.results.SequentialTestResult.from_dict(result.to_dict()).pvalue == result.pvalue


@pytest.mark.parametrize("number", [2, 3, 5, 12])
def test_merging_factor(number):
    """The dual bound of the sum of Pareto variables: ``min_u log((1 - (K - 1) u) / u) / (1 - K u)``."""
    u = np.linspace(1e-6, 1.0 / number - 1e-6, 200_001)
    bound = np.log((1.0 - (number - 1) * u) / u) / (1.0 - number * u)
    assert merging_factor(number) == pytest.approx(bound.min(), rel=1e-4)
    assert merging_factor(1) == 1.0


def test_a_mean_that_is_read_at_once_is_too_large():
    """Two forecasts of the same coin: who stops after its second side is known has more than 1 on average.

    All streams are tried, so that these are expectations, not estimates: stop after the first outcome if it is a 0,
    after the second otherwise, and read then, or a row later.
    """
    at_once, later = [], []
    for first, third in itertools.product((0, 1), repeat=2):
        y = [first, first, third]
        test = ct.SequentialCalibrationTest("likelihood", lag=2).update([0.6, 0.6, 0.5], y)
        evidence = np.exp(test.history)
        weight = (0.6 if first else 0.4) * 0.5
        stop = 0 if evidence[0] > evidence[1] else 1
        at_once.append(weight * evidence[stop])
        later.append(weight * evidence[stop + 1])
    assert sum(at_once) > 1.001
    assert sum(later) == pytest.approx(1.0)


@pytest.mark.statistical
@pytest.mark.usefixtures("without_findings")
def test_size_and_power_with_overlapping_outcomes(replications):
    """The p-value holds with the lag; without, overlapping outcomes look wrong."""
    number = replications(40, 1000)
    right, without, found = 0, 0, 0
    for seed in range(number):
        predictions, y = overlapping(np.random.default_rng([3, seed]), 300, 5)
        settings = {"strategy": "likelihood"}
        right += ct.SequentialCalibrationTest(lag=5, **settings).update(predictions, y).pvalue <= 0.05
        without += ct.SequentialCalibrationTest(**settings).update(predictions, y).pvalue <= 0.05
        found += ct.SequentialCalibrationTest(lag=5, **settings).update(predictions, y + 1.5).pvalue <= 0.05
    assert right <= stats.binom.ppf(1 - 1e-4, number, 0.05)
    assert without > right + 0.1 * number
    assert found > 0.6 * number, found / number


@pytest.mark.parametrize("lag", [0, -1, 1.5, "2", True])
def test_bad_lags(lag):
    with pytest.raises((ValueError, TypeError), match="lag"):
        ct.SequentialCalibrationTest(lag=lag)


def test_a_lag_longer_than_the_stream():
    test = ct.SequentialCalibrationTest(lag=50).update([0.3, 0.9], [1, 0])
    assert 0.0 < test.pvalue <= 1.0
    assert test.n == 2
