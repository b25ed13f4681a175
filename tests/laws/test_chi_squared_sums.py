"""Tails of sums of chi-squared variables against closed forms, quadrature and simulation."""

import numpy as np
import pytest
from scipy import integrate, stats

from caltest._laws.chi_squared_sums import ChiSquaredSum, inverted_tail, tail_probability
from caltest._laws.pearson import pearson3_tail

PROBABILITIES = [0.999, 0.5, 0.1, 1e-2, 1e-4, 1e-10, 1e-50, 1e-200]


def law(*weights):
    return ChiSquaredSum.of(np.array(weights, dtype=float))


@pytest.mark.parametrize("m", [1, 2, 5, 50, 1000])
@pytest.mark.parametrize("probability", PROBABILITIES)
def test_equal_weights_are_a_chi_squared_variable(m, probability):
    x = 0.7 * (stats.chi2.isf(probability, m) - m)
    equal = law(*np.full(m, 0.7))
    assert tail_probability(equal, x) == pytest.approx(probability, rel=1e-11)


def two_exponentials(a, b, y):
    """P(a E + b E' >= y) with standard exponential variables: weights a/2 and b/2, twice each."""
    if a > 0 and b > 0:
        return (a * np.exp(-y / a) - b * np.exp(-y / b)) / (a - b) if y > 0 else 1.0
    if a > 0:
        return a / (a - b) * np.exp(-y / a) if y > 0 else 1.0 + b / (a - b) * np.exp(-y / b)
    return 1.0 - two_exponentials(-a, -b, -y)


@pytest.mark.parametrize("weights", [(1.0, 0.3), (1.0, -0.5), (0.2, -3.0), (-1.0, -0.2), (1.0, 1e-6)])
@pytest.mark.parametrize("x", [-20.0, -5.0, -1.0, -0.3, 0.0, 1e-9, 0.2, 3.0, 20.0, 80.0])
def test_pairs_of_weights_are_sums_of_exponential_variables(weights, x):
    a, b = weights
    exact = two_exponentials(2.0 * a, 2.0 * b, x + 2.0 * (a + b))
    pairs = law(a, a, b, b)
    assert tail_probability(pairs, x) == pytest.approx(exact, rel=1e-10)


def test_two_different_weights_against_quadrature():
    """P(a C + b C' >= y) = E P(C >= (y - b C') / a)."""
    for a, b in ((1.0, 0.4), (1.0, -0.7)):
        for x in (-0.5, 0.0, 2.0, 9.0):
            y = x + a + b
            exact, _ = integrate.quad(
                lambda z, a=a, b=b, y=y: stats.chi2.sf((y - b * z * z) / a, 1) * 2.0 * stats.norm.pdf(z),
                0.0,
                12.0,
                points=[np.sqrt(y / b)] if 0.0 < y / b < 100.0 else None,
                epsabs=1e-13,
                epsrel=1e-12,
                limit=400,
            )
            assert tail_probability(law(a, b), x) == pytest.approx(exact, rel=1e-9)


def test_many_weights_of_both_signs_against_simulation():
    weights = np.concatenate([np.exp(-np.arange(30) / 4.0), -0.5 * np.exp(-np.arange(20) / 6.0)])
    rng, n = np.random.default_rng(1), 200_000
    draws = (rng.standard_normal((n, 50)) ** 2 - 1.0) @ weights
    many = law(*weights)
    for x in (-4.0, 0.0, 3.0, 8.0, 12.0):
        p, rate = tail_probability(many, x), np.mean(draws >= x)
        assert abs(p - rate) <= 4.5 * np.sqrt(p * (1.0 - p) / n)
    assert many.variance == pytest.approx(draws.var(), rel=0.02)


@pytest.mark.parametrize("x", [5.0, 40.0, 400.0, 1300.0])
def test_inversion_keeps_its_relative_accuracy_far_out(x):
    """Every weight twice: a sum of exponential variables of different means, whose tail is a sum of exponentials."""
    means = np.array([2.0, 1.4, 1.0, 0.6, -0.3, -1.7])
    factors = [np.prod([a / (a - b) for b in means if b != a]) for a in means]
    y = x + means.sum()
    exact = sum(c * np.exp(-y / a) for a, c in zip(means, factors, strict=True) if a > 0.0)
    assert tail_probability(law(*np.repeat(means / 2.0, 2)), x) == pytest.approx(exact, rel=1e-10)


def test_moments_are_derivatives_of_the_generating_function():
    mixed, t, step = law(1.0, 0.4, -0.8), 0.13, 1e-5
    log = mixed.log_generating_function
    assert mixed.slope(t) == pytest.approx((log(t + step) - log(t - step)) / (2 * step), rel=1e-8)
    assert mixed.curvature(t) == pytest.approx((mixed.slope(t + step) - mixed.slope(t - step)) / (2 * step), rel=1e-8)
    assert mixed.at_complex(np.array([t + 0j]))[0] == pytest.approx(log(t), rel=1e-13)


def test_ends_of_the_law():
    """A sum of positive terms has a smallest value, one of negative terms a largest; no weights make a constant."""
    assert tail_probability(law(1.0, 0.5), -1.5) == 1.0
    assert tail_probability(law(-1.0, -0.5), 1.5) == 0.0
    assert tail_probability(law(0.0, 0.0), 0.0) == 1.0
    assert tail_probability(law(), 1e-9) == 0.0


def test_tails_do_not_depend_on_the_unit():
    weights = np.array([1.0, 0.3, 0.1])
    one, other = (tail_probability(ChiSquaredSum.of(c * weights), c * 4.0) for c in (1.0, 1e-150))
    assert one == pytest.approx(other, rel=1e-10)


@pytest.mark.parametrize("skewness", [-1.3, -1e-3, 0.0, 1e-9, 1e-3, 0.4, 3.0])
def test_pearson_type_three(skewness):
    for z in (-2.0, -0.1, 0.0, 1.0, 4.0):
        assert pearson3_tail(z, skewness) == pytest.approx(stats.pearson3.sf(z, skewness), rel=1e-6, abs=1e-12)


def test_inversion_does_not_depend_on_the_path(monkeypatch):
    mixed = law(1.0, 0.4, -0.3)
    one = inverted_tail(mixed, 2.0)
    monkeypatch.setattr("caltest._laws.chi_squared_sums.BEND", 0.15)
    assert inverted_tail(mixed, 2.0) == pytest.approx(one, rel=1e-12)
