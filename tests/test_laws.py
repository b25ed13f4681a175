"""Limit laws against other series and formulas, known moments and a random walk."""

from math import factorial, fsum

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import kv, logsumexp

from caltest._laws import (
    NODES,
    absolute_maximum_tail,
    anderson_darling_tail,
    clopper_pearson,
    cramer_von_mises_tail,
    pearson3_exponents,
    pearson3_tail,
    range_tail,
)


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


def test_far_tails_of_brownian_motion_keep_their_digits():
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


def cramer_von_mises_series(x):
    """Distribution function by the series of Anderson and Darling (1952, equation 4.35)."""
    total, factor = 0.0, 1.0
    for j in range(40):
        y = (4 * j + 1) ** 2 / (16 * x)
        total += factor * np.sqrt(4 * j + 1) * np.exp(-y) * kv(0.25, y)
        factor *= (j + 0.5) / (j + 1)
    return total / (np.pi * np.sqrt(x))


@pytest.mark.parametrize("x", [0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 2.0])
def test_cramer_von_mises_against_a_series(x):
    assert cramer_von_mises_tail(x) == pytest.approx(1.0 - cramer_von_mises_series(x), abs=2e-13)


MOMENTS = [(cramer_von_mises_tail, 1 / 6, 1 / 45), (anderson_darling_tail, 1.0, 2 * (np.pi**2 - 9) / 3)]


@pytest.mark.parametrize(("tail", "mean", "variance"), MOMENTS)
def test_moments(tail, mean, variance):
    points = [0.01 * mean, mean, 5 * mean]
    first = quad(tail, 0.0, 60 * mean, points=points, epsabs=1e-13, limit=400)[0]
    second = quad(lambda x: 2 * x * tail(x), 0.0, 60 * mean, points=points, epsabs=1e-13, limit=400)[0]
    assert first == pytest.approx(mean, rel=1e-10)
    assert second - first**2 == pytest.approx(variance, rel=1e-10)


FIRST = [
    (cramer_von_mises_tail, np.pi**2, 4 * np.pi**2, lambda t: np.sin(np.sqrt(t)) / np.sqrt(t)),
    (anderson_darling_tail, 2.0, 6.0, lambda t: -np.cos(np.pi / 2 * np.sqrt(1 + 4 * t)) / (np.pi * t)),
]


@pytest.mark.parametrize(("tail", "low", "high", "product"), FIRST)
@pytest.mark.parametrize("share", [0.5, 0.99])
def test_far_tails_keep_their_digits(tail, low, high, product, share):
    """The first integral, in the root of the distance to its lower end, scaled by its largest factor."""
    x = share * 1400.0 / low

    def integrand(s):
        t = low + s * s
        return 2 * s * np.exp(-x * s * s / 2) / (t * np.sqrt(np.abs(product(t))))

    end = min(np.sqrt(high - low) * 0.999, 10.0 / np.sqrt(x))
    exact = quad(integrand, 1e-6, end, epsabs=0.0, epsrel=1e-10)[0] + integrand(1e-6) * 1e-6
    assert 0.0 < tail(x) < 1e-150
    assert tail(x) == pytest.approx(np.exp(-low * x / 2) * exact / np.pi, rel=1e-8)


def test_rare_and_certain_statistics():
    for tail in (cramer_von_mises_tail, anderson_darling_tail):
        values = [tail(x) for x in np.geomspace(1e-4, 1e4, 200)]
        assert values[0] == 1.0
        assert values[-1] == 0.0
        assert (np.diff(values) <= 1e-13).all()


@pytest.mark.parametrize(("tail", "x"), [(cramer_von_mises_tail, 100.0), (anderson_darling_tail, 700.0)])
def test_there_are_enough_nodes(tail, x, monkeypatch):
    value = tail(x)
    n = 2 * NODES.size
    monkeypatch.setattr("caltest._laws.NODES", np.cos(np.pi * (np.arange(n) + 0.5) / n))
    assert tail(x) == pytest.approx(value, rel=1e-11)


@pytest.mark.parametrize("skewness", [-1.3, -1e-3, 0.0, 1e-9, 1e-3, 0.4, 3.0])
def test_pearson_type_three(skewness):
    for z in (-2.0, -0.1, 0.0, 1.0, 4.0):
        assert pearson3_tail(z, skewness) == pytest.approx(stats.pearson3.sf(z, skewness), rel=1e-6, abs=1e-12)


def test_exponents_of_far_tails_are_those_of_sums_of_exponential_variables():
    """``-log(exp(-x) sum_{k<a} x**k / k!)`` at ``x = a + z sqrt(a)`` for whole a, skewness ``2 / sqrt(a)``."""
    for a in (1, 4, 9):
        x = np.array([20.0, 500.0, 570.0, 600.0, 1e4, 1e7])
        powers = np.array([[k * np.log(one) - np.log(float(factorial(k))) for k in range(a)] for one in x])
        found = pearson3_exponents((x - a) / np.sqrt(a), np.full(x.size, 2.0 / np.sqrt(a)))
        assert found == pytest.approx(x - logsumexp(powers, axis=1), rel=1e-6)
    z = np.array([-3.0, 0.0, 5.0, 60.0])
    assert pearson3_exponents(z, np.array([0.0, -1.0, 0.01, 0.005])) == pytest.approx(-stats.norm.logsf(z))


def test_clopper_pearson_is_that_of_scipy():
    for count, n in ((0, 7), (3, 10), (10, 10)):
        expected = stats.binomtest(count, n).proportion_ci(0.9, method="exact")
        assert clopper_pearson(count, n, 0.9) == pytest.approx((expected.low, expected.high))
