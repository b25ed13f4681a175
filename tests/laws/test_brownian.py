"""Tails of functionals of Brownian motion against other series, known moments and a random walk."""

from math import fsum

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from caltest._laws.brownian import absolute_maximum_tail, range_tail


def test_absolute_maximum_against_the_series_of_its_distribution_function():
    k = np.arange(60)
    for x in (0.16, 0.3, 0.7, 1.0, 1.7, 2.5, 4.0):
        series = 4 / np.pi * np.sum((-1.0) ** k / (2 * k + 1) * np.exp(-((2 * k + 1) ** 2) * np.pi**2 / (8 * x**2)))
        assert absolute_maximum_tail(x) == pytest.approx(1.0 - series, abs=1e-13)


@pytest.mark.parametrize("x", [0.31, 0.38, 0.44, 0.6, 1.5])
def test_range_against_the_series_of_feller_summed_without_rounding(x):
    """The last of these x differs from certainty by 5e-1, the third by 1e-10."""
    series = 8.0 * fsum((-1.0) ** (k - 1) * k * stats.norm.sf(k * x) for k in range(1, 400))
    assert range_tail(x) == pytest.approx(series, abs=1e-13)
    assert (1.0 - range_tail(x) > 1e-12) == (x > 0.4)


def test_moments_of_the_range():
    """Its mean is sqrt(8 / pi) and its second moment 4 log 2 (Feller 1951)."""
    mean = quad(range_tail, 0.0, 12.0, points=[0.3], epsabs=1e-12)[0]
    square = quad(lambda x: 2.0 * x * range_tail(x), 0.0, 12.0, points=[0.3], epsabs=1e-12)[0]
    assert mean == pytest.approx(np.sqrt(8.0 / np.pi), abs=1e-10)
    assert square == pytest.approx(4.0 * np.log(2.0), abs=1e-10)


def test_far_tails_keep_their_digits():
    for x in (9.0, 30.0):
        assert absolute_maximum_tail(x) == pytest.approx(4.0 * stats.norm.sf(x), rel=1e-12)
        assert range_tail(x) == pytest.approx(8.0 * stats.norm.sf(x), rel=1e-12)
    assert 0.0 < range_tail(37.0) < 1e-297


def test_small_values_are_certain():
    for tail in (absolute_maximum_tail, range_tail):
        assert [tail(0.0), tail(0.1)] == [1.0, 1.0]
        values = [tail(x) for x in np.linspace(0.05, 3.0, 200)]
        assert np.all(np.diff(values) <= 1e-14)


def test_random_walk():
    """The walk in 500 steps is below the motion, by 0.026 or so at each side."""
    steps = np.random.default_rng(1).standard_normal((3000, 500)) / np.sqrt(500)
    walk = np.cumsum(steps, axis=1)
    high, low = np.maximum(walk.max(axis=1), 0.0), np.minimum(walk.min(axis=1), 0.0)
    for x in (1.0, 1.5, 2.0):
        assert np.mean(np.maximum(high, -low) >= x - 0.026) == pytest.approx(absolute_maximum_tail(x), abs=0.03)
        assert np.mean(high - low >= x - 0.052) == pytest.approx(range_tail(x), abs=0.03)
