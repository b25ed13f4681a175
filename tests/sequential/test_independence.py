import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest.predictions.inputs.convert import as_sample
from caltest.sequential.independence import serial_correlation


def series(n, rho, seed=1, scale=1.0):
    """Standard normal forecasts of a series with the correlation rho of neighbours, and errors of another scale."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    for t in range(1, n):
        z[t] = rho * z[t - 1] + np.sqrt(1.0 - rho**2) * z[t]
    return ct.Normal(np.zeros(n), 1.0), scale * z


@pytest.mark.parametrize("lag", [1, 3])
def test_correlation_of_ranks_by_definition(lag):
    p, y = series(60, 0.4)
    found = serial_correlation(as_sample(p, y), lag)
    r = stats.rankdata(y) - 30.5
    assert found.correlation == pytest.approx(sum(r[t] * r[t + lag] for t in range(60 - lag)) / np.sum(r**2))
    rng = np.random.default_rng(2)
    draws = np.array([(q := rng.permutation(r))[lag:] @ q[:-lag] / (q @ q) for _ in range(4000)])
    expected = np.mean(np.abs(draws - draws.mean()) >= abs(found.correlation - draws.mean()))
    assert found.pvalue == pytest.approx(expected, abs=0.02)
    # Each ordered pair of other rows is as likely to be one of the 60 - lag pairs.
    mean = (60 - lag) * (r.sum() ** 2 - r @ r) / (60 * 59) / (r @ r)
    z = (found.correlation - mean) * 60 / np.sqrt(60 - lag)
    assert found.pvalue == pytest.approx(2.0 * stats.norm.sf(abs(z)), rel=1e-9)


def test_dependence_is_said_apart_from_calibration():
    """Forecasts that forget the last outcome are right one by one; too narrow ones are wrong but independent."""
    dependent = ct.SequentialCalibrationTest("likelihood")(*series(200, 0.5))
    assert dependent.notes == (
        "predicted quantiles of the outcomes of rows that follow each other have the rank correlation 0.32 "
        "(p = 3.58e-06 for independent rows, calibrated or not)",
    )
    narrow = ct.SequentialCalibrationTest("likelihood")(*series(200, 0.0, scale=2.0))
    assert narrow.pvalue < 1e-6
    assert narrow.notes == ()


def test_overlapping_outcomes_are_compared_a_lag_apart():
    rng = np.random.default_rng(3)
    sums = np.convolve(rng.normal(size=304), np.ones(5), "valid")
    p = ct.Normal(np.zeros(300), np.sqrt(5.0))
    assert ct.SequentialCalibrationTest("likelihood", lag=5)(p, sums).notes == ()
    assert ct.SequentialCalibrationTest("likelihood")(p, sums).notes


def test_classes_short_series_and_equal_transforms_have_none():
    assert serial_correlation(as_sample([0.2] * 30, [0, 1] * 15), 1) is None
    assert [serial_correlation(as_sample(*series(n, 0.0)), 1) is None for n in (10, 11)] == [True, False]
    assert serial_correlation(as_sample(ct.Normal(np.zeros(30), 1.0), np.zeros(30)), 1) is None
