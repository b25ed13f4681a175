"""Covariances of deviations given the predictions: against enumeration, quadrature and simulation."""

import numpy as np
import pytest
from contracts import CENTRED, first_of_each
from grids import thinned
from samples import TV, W2, samples
from slow import simulated_covariance

import caltest as ct
from caltest.hstatistics.sums.pairs import deviations
from caltest.hstatistics.variances import covariance as hcovariance
from caltest.predictions import Sample

N = 40
_, P, Y, NORMAL, TARGETS = samples(N, 3)


def covariance(kernel, predictions, locations):
    return hcovariance.deviation_covariance(kernel, predictions, locations, np.random.default_rng(1))


@pytest.mark.every(5)
@pytest.mark.parametrize(
    ("maker", "kernel"), thinned(CENTRED, first_of_each(CENTRED)), ids=lambda part: getattr(part, "__name__", "")
)
def test_covariance_against_simulation(maker, kernel, replications):
    sample, draws = maker(), replications(200, 1500)
    locations = sample.take(slice(2, 6))
    mean, error = simulated_covariance(kernel, sample.predictions, locations, draws)
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


def test_drawn_covariance_is_the_mean_over_draws():
    locations, rng = NORMAL.take(slice(0, 4)), np.random.default_rng(1)
    found = hcovariance._drawn_covariance(W2, NORMAL, Sample(locations, TARGETS[:4]), np.random.default_rng(1))
    draws = (deviations(W2, Sample(NORMAL, NORMAL.redraw(rng)), Sample(locations, TARGETS[:4])) for _ in range(256))
    assert found == pytest.approx(np.mean([d.T @ d for d in draws], axis=0), rel=1e-12)


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
