"""The mean embedding with its known covariance: against enumeration, simulation and pseudo-inverses."""

import numpy as np
import pytest
from contracts import CASES
from samples import TV, W2, samples

import caltest as ct
from caltest.hstatistics import covariance as hcovariance
from caltest.hstatistics.pairs import deviations
from caltest.nulls import known_covariance
from caltest.predictions import Sample
from caltest.predictions.finite import FinitePredictions

N = 40
_, P, Y, NORMAL, TARGETS = samples(N, 3)
CENTRED = [case for case in CASES if case[0].__name__ not in ("drawn_ensemble",)]


def covariance(kernel, predictions, locations):
    return hcovariance.deviation_covariance(kernel, predictions, locations, np.random.default_rng(1))


def simulated(kernel, predictions, locations, draws):
    """Mean of D_i D_i' over draws, and its standard error."""
    n, j = len(predictions), len(locations)
    products = np.zeros((draws, j, j))
    for b, y in enumerate(predictions.redraw(2, draws)):
        d = deviations(kernel, Sample(predictions, y), locations)
        products[b] = d.T @ d
    assert n > 0
    return products.mean(axis=0), products.std(axis=0) / np.sqrt(draws)


@pytest.mark.parametrize(("maker", "kernel"), CENTRED, ids=lambda part: getattr(part, "__name__", ""))
def test_covariance_against_simulation(maker, kernel, replications):
    sample, draws = maker(), replications(400, 1500)
    locations = sample.take(slice(2, 6))
    mean, error = simulated(kernel, sample.predictions, locations, draws)
    fast = covariance(kernel, sample.predictions, locations)
    assert fast == pytest.approx(fast.T, rel=1e-12)
    # A drawn covariance has an error of its own, that of 256 draws.
    assert np.all(np.abs(fast - mean) <= 5.0 * error * np.sqrt(1.0 + draws / 256) + 1e-3 * np.abs(mean).max())


def test_covariance_of_classes_by_enumeration():
    kernel = TV + ct.ProductKernel(ct.GaussianKernel(bandwidth=0.3), ct.GaussianKernel(bandwidth=1.0))
    predictions, locations = ct.Categorical(P), Sample(ct.Categorical(P[:5]), Y[:5])
    slow = np.zeros((5, 5))
    for c in range(3):
        d = deviations(kernel, Sample(predictions, np.full(N, c)), locations)
        slow += (P[:, c, None] * d).T @ d
    assert covariance(kernel, predictions, locations) == pytest.approx(slow, rel=1e-12)


def test_covariance_does_not_depend_on_the_parts(monkeypatch):
    locations = NORMAL.take(slice(0, 4))
    cases = [
        (TV, ct.Categorical(P), Sample(ct.Categorical(P[:5]), Y[:5])),
        (W2, NORMAL, Sample(locations, TARGETS[:4])),
    ]
    whole = [covariance(*case) for case in cases]
    monkeypatch.setattr(hcovariance, "PART", 1)
    for case, other in zip(cases, whole, strict=True):
        assert covariance(*case) == pytest.approx(other, rel=1e-11)


def test_covariance_of_normal_predictions_by_quadrature():
    points, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / weights.sum()
    kernel = ct.ProductKernel(
        ct.ExponentialKernel(ct.Wasserstein(), 1.0),
        ct.GaussianKernel(bandwidth=0.7) + 0.5 * ct.GaussianKernel(bandwidth=2.0),
    )
    locations = Sample(NORMAL.take(slice(0, 4)), np.array([-1.0, 0.2, 0.3, 2.0]))
    slow = np.zeros((4, 4))
    for point, weight in zip(points, weights, strict=True):
        d = deviations(kernel, Sample(NORMAL, NORMAL.mean + point * NORMAL.scale), locations)
        slow += weight * d.T @ d
    assert covariance(kernel, NORMAL, locations) == pytest.approx(slow, rel=1e-9)


@pytest.mark.parametrize("d", [None, 1, 3])
def test_products_of_gaussian_functions(d):
    rng = np.random.default_rng(1)
    shape = () if d is None else (d,)
    one = ct.GaussianKernel(bandwidth=0.7)
    other = ct.GaussianKernel(bandwidth=2.0 if d in (None, 1) else (1.0, 0.3, 2.0))
    locations, z = rng.normal(size=(4, *shape)), rng.normal(size=(6, *shape))
    factor, both, middles = hcovariance.product_of_gaussians(one, other, locations)

    def tile(kernel, left, right):
        return kernel.target_tile(left, right) if d is None else kernel.vector_target_tile(left, right)

    slow = tile(one, z, locations)[:, :, None] * tile(other, z, locations)[:, None, :]
    assert tile(both, z, middles).reshape(6, 4, 4) * factor == pytest.approx(slow, rel=1e-11)


def test_whitening_is_a_root_of_the_pseudo_inverse():
    rng = np.random.default_rng(1)
    factors = rng.normal(size=(6, 3)) * np.array([1.0, 1e3, 1e-3, 1.0, 2.0, 0.0])[:, None]
    v = factors @ factors.T
    w = hcovariance.whitening(v, 1e-8)
    assert w.shape == (6, 3)
    assert w.T @ v @ w == pytest.approx(np.eye(3), abs=1e-8)
    s = factors @ rng.normal(size=3)
    kept = slice(0, 5)
    scale = np.sqrt(np.diag(v)[kept])
    inverse = np.linalg.pinv(v[kept, kept] / np.outer(scale, scale), rcond=1e-10)
    assert np.sum((s @ w) ** 2) == pytest.approx((s[kept] / scale) @ inverse @ (s[kept] / scale), rel=1e-6)
    assert hcovariance.whitening(np.zeros((2, 2)), 1e-8).shape == (2, 0)


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
    return known_covariance._whitener(ucme, predictions, np.random.default_rng(1)).shape[1]


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
    mean, _ = simulated(kernel, NORMAL, locations, 4000)
    assert covariance(kernel, NORMAL, locations) == pytest.approx(mean, abs=0.1 * np.abs(mean).max())
    ucme = ct.UCME(kernel, locations.predictions, locations.targets)
    results = [ct.ScoreCMETest(ucme, 19)(NORMAL, TARGETS, rng=1) for _ in range(2)]
    assert results[0].statistic == results[1].statistic
