"""Tests of the mean embedding with its known covariance."""

import numpy as np
import pytest
from samples import TV, W2, samples
from slow import simulated_covariance

import caltest as ct
from caltest.hstatistics.variances.covariance import deviation_covariance, whitening
from caltest.nulls import known_covariance
from caltest.predictions import Sample
from caltest.predictions.classes.finite import FinitePredictions

N = 40
_, P, Y, NORMAL, TARGETS = samples(N, 3)


def covariance(kernel, predictions, locations):
    return deviation_covariance(kernel, predictions, locations, np.random.default_rng(1))


@pytest.mark.parametrize("j", [1, 4])
def test_statistic_by_hand(j):
    ucme = ct.UCME(TV, P[:j], Y[:j])
    sums = ucme.deviations(Sample(ct.Categorical(P), Y)).sum(axis=0)
    v = covariance(TV, ct.Categorical(P), Sample(ct.Categorical(P[:j]), Y[:j]))
    result = ct.ScoreCMETest(ucme, 2)(P, Y, rng=1)
    assert result.statistic == pytest.approx(sums @ np.linalg.solve(v, sums), rel=1e-8)
    assert result.estimate == pytest.approx(np.mean((sums / N) ** 2), rel=1e-12)


@pytest.mark.parametrize(("kernel", "p", "y"), [(TV, ct.Categorical(P), Y), (W2, NORMAL, TARGETS)])
def test_exact_version_by_hand(kernel, p, y):
    ucme = ct.UCME(kernel, p.take(slice(0, 3)), y[:3])
    result = ct.ScoreCMETest(ucme, n_resamples=40)(p, y, rng=4)
    v = covariance(kernel, p, Sample(p.take(slice(0, 3)), y[:3]))
    _, draws = np.random.default_rng(4).spawn(2)
    redraws = np.concatenate([p.sample(g, size) for g, size in zip(draws.spawn(2), (32, 8), strict=True)])
    values = []
    for targets in (y, *redraws):
        sums = ucme.deviations(Sample(p, targets)).sum(axis=0)
        values.append(sums @ np.linalg.solve(v, sums))
    assert result.statistic == pytest.approx(values[0], rel=1e-8)
    assert result.null_distribution == pytest.approx(values[1:], rel=1e-7)
    assert result.pvalue == (1 + np.sum(np.array(values[1:]) >= values[0])) / 41
    assert result.pvalue_kind == "exact"


def _rank(ucme, p):
    predictions = p if isinstance(p, ct.predictions.Predictions) else ct.Categorical(p)
    covariance = deviation_covariance(ucme.kernel, predictions, ucme.locations, np.random.default_rng(1))
    return whitening(covariance, known_covariance.TOLERANCE).shape[1]


def test_more_locations_than_observations():
    ucme = ct.UCME(TV, P[:20], Y[:20])
    few = ct.ScoreCMETest(ucme, 400)(P[:6], Y[:6], rng=1)
    mean = few.null_distribution.mean()
    assert mean <= 12.0 + 4.0 * few.null_distribution.std() / 20.0  # six predictions with two free residuals each
    assert mean == pytest.approx(_rank(ucme, P[:6]), rel=0.1)


def test_duplicate_locations_are_of_no_effect():
    once, twice = (ct.UCME(TV, P[index], Y[index]) for index in ([0, 1, 2], [0, 1, 2, 1]))
    one, other = (ct.ScoreCMETest(ucme, 9)(P, Y, rng=1) for ucme in (once, twice))
    assert other.statistic == pytest.approx(one.statistic, rel=1e-7)
    assert other.null_distribution == pytest.approx(one.null_distribution, rel=1e-7)
    assert _rank(twice, P) == _rank(once, P) == 3


@pytest.mark.parametrize(("distance", "rank"), [(1e-2, 2), (1.5e-4, 2), (7e-5, 1)])
def test_locations_that_are_nearly_the_same(distance, rank):
    """The ratio of the eigenvalues of the correlations, which are 1 -+ c, is about the square of their distance."""
    locations = ct.Normal([0.3, 0.3], 0.5), np.array([0.2, 0.2 + distance])
    v = covariance(W2, NORMAL, Sample(*locations))
    correlation = v[0, 1] / np.sqrt(v[0, 0] * v[1, 1])
    assert (1.0 - correlation) / (1.0 + correlation) == pytest.approx(distance**2, rel=0.05)
    assert _rank(ct.UCME(W2, *locations), NORMAL) == rank


def test_deviations_that_do_not_vary():
    for kernel, p, y in ((TV, ct.Categorical(np.eye(3)[Y]), Y), (W2, ct.Normal(NORMAL.mean, 0.0), NORMAL.mean)):
        ucme = ct.UCME(kernel, p.take(slice(0, 2)), y[:2])
        with pytest.raises(ValueError, match="the deviations do not vary at any location"):
            ct.ScoreCMETest(ucme, 9)(p, y)


def test_covariance_of_other_kernels_is_drawn():
    """Laplacian kernels have no formula here; the covariance of 256 draws for each prediction is close."""
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 1.0), ct.LaplacianKernel(0.7))
    locations = Sample(NORMAL.take(slice(0, 3)), TARGETS[:3])
    assert not isinstance(NORMAL, FinitePredictions)
    mean, _ = simulated_covariance(kernel, NORMAL, locations, 4000)
    assert covariance(kernel, NORMAL, locations) == pytest.approx(mean, abs=0.1 * np.abs(mean).max())
    ucme = ct.UCME(kernel, locations.predictions, locations.targets)
    results = [ct.ScoreCMETest(ucme, 19)(NORMAL, TARGETS, rng=1) for _ in range(2)]
    assert results[0].statistic == results[1].statistic
