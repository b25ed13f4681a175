"""Sizes and power with scores alone."""

import numpy as np
import pytest
from grids import thinned

import caltest as ct

from .settings import COARSE, FINE, band, spawn

pytestmark = [pytest.mark.statistical, pytest.mark.usefixtures("without_findings")]

POINTS = np.linspace(-3.0, 3.0, 7)


def score(parameters, y):
    return -(y - parameters[:, 0]) / parameters[:, 1] ** 2


def draw(parameters, rng):
    return parameters[:, 0] + parameters[:, 1] * rng.normal(size=len(parameters))


def made(rng, n):
    parameters = np.column_stack([rng.normal(size=n), rng.uniform(0.5, 1.0, n)])
    return ct.Unnormalised(score, parameters, POINTS, sampler=draw), parameters


@pytest.mark.parametrize("n", thinned([25, 60], [25]))
def test_sizes(n, replications):
    number, rng = replications(15, 4000), spawn(90, n)
    alphas, rejected = replications(COARSE, FINE), np.zeros(2)
    of_exact = np.zeros(len(alphas))
    for _ in range(number):
        p, _ = made(rng, n)
        kernel, y = p.default_kernel(), p.sample(rng)
        exact = ct.MonteCarloTest(ct.SKCE(kernel), replications(19, 99))(p, y, rng=rng).pvalue
        bootstrap = ct.AsymptoticSKCETest(kernel, replications(99, 199))(p, y, rng=rng).pvalue
        of_exact += exact <= np.array(alphas)
        rejected += bootstrap <= np.array(FINE)
    for count, alpha in zip(of_exact, alphas, strict=True):
        low, high = band(number, alpha)
        assert low <= count <= high
    assert rejected[0] <= band(number, 0.07)[1]
    assert rejected[1] <= band(number, 0.02)[1]


def test_wide_outcomes_are_found(replications):
    number, rng = replications(12, 1000), spawn(91)
    found = 0
    for _ in range(number):
        p, parameters = made(rng, 80)
        y = parameters[:, 0] + 1.8 * parameters[:, 1] * rng.normal(size=80)
        found += ct.AsymptoticSKCETest(p.default_kernel(), 199)(p, y, rng=rng).pvalue <= 0.05
    assert found >= 0.8 * number
