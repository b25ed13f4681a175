"""Limit laws of Cramer-von Mises and Anderson-Darling against other formulas and known moments."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import kv

from caltest._laws.pearson import pearson3_tail
from caltest._laws.quadratic_edf import NODES, anderson_darling_tail, cramer_von_mises_tail


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
    monkeypatch.setattr("caltest._laws.quadratic_edf.NODES", np.cos(np.pi * (np.arange(n) + 0.5) / n))
    assert tail(x) == pytest.approx(value, rel=1e-11)


@pytest.mark.parametrize("skewness", [-1.3, -1e-3, 0.0, 1e-9, 1e-3, 0.4, 3.0])
def test_pearson_type_three(skewness):
    for z in (-2.0, -0.1, 0.0, 1.0, 4.0):
        assert pearson3_tail(z, skewness) == pytest.approx(stats.pearson3.sf(z, skewness), rel=1e-6, abs=1e-12)
