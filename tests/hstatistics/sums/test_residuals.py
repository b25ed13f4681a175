"""Kernel errors of residuals from landmarks, against double sums."""

import numpy as np
import pytest

import caltest as ct
from caltest.hstatistics.sums import residuals as hresiduals
from caltest.hstatistics.sums.residuals import prediction_features, residual_means
from caltest.kernels import ProductKernel

KERNEL = ct.ExponentialKernel(ct.Wasserstein(), 0.5)


def exact(kernel_of_predictions, width, predictions, scores):
    """The SKCE with all pairs, and a Gaussian kernel of the residuals."""
    d = 1 if scores.ndim == 2 else scores.shape[2]
    n = len(predictions)
    law = ct.Normal(np.zeros(n), 1.0) if d == 1 else ct.MvNormal(np.zeros((n, d)), 1.0)
    residuals = ct.predictions.Residuals(predictions, law, "")
    kernel = ProductKernel(kernel_of_predictions, ct.GaussianKernel(bandwidth=width * np.sqrt(d)))
    return np.array([ct.SKCE(kernel)(residuals, z) for z in scores])


def test_numbers_to_the_accuracy_of_the_landmarks():
    rng = np.random.default_rng(1)
    predictions = ct.Normal(rng.random(50), 0.1)
    scores = rng.normal(size=(20, 50))
    means = residual_means(prediction_features(KERNEL, predictions), (0.5, 1.0, 2.0), scores)
    for width, one in zip((0.5, 1.0, 2.0), means, strict=True):
        expected = exact(KERNEL, width, predictions, scores)
        assert one == pytest.approx(expected, abs=0.02 * expected.std())


def test_vectors_see_the_same_as_all_pairs():
    rng = np.random.default_rng(2)
    predictions = ct.MvNormal(rng.random((60, 3)), 0.1)
    scores = rng.normal(size=(40, 60, 3)) * rng.choice([0.7, 1.0, 1.4], size=(40, 1, 1))
    means = residual_means(prediction_features(KERNEL, predictions), (1.0,), scores)[0]
    assert np.corrcoef(means, exact(KERNEL, 1.0, predictions, scores))[0, 1] > 0.99


@pytest.mark.parametrize("d", [1, 2])
def test_sums_of_features(d, monkeypatch):
    monkeypatch.setattr(hresiduals, "MANY", 1000)
    rng = np.random.default_rng(3)
    predictions = ct.Normal(rng.random(200), 0.1)
    scores = rng.normal(size=(7, 200) if d == 1 else (7, 200, d))
    psi = prediction_features(KERNEL, predictions)
    phi = hresiduals._ResidualLandmarks(1.0, d).features(scores)
    h = np.einsum("is,js->ij", psi, psi) * np.einsum("bit,bjt->bij", phi, phi)
    expected = (h.sum(axis=(1, 2)) - np.einsum("bii->b", h)) / (200 * 199)
    assert residual_means(psi, (1.0,), scores)[0] == pytest.approx(expected, rel=1e-9)
    monkeypatch.setattr(hresiduals, "VALUES", 1000)
    assert residual_means(psi, (1.0,), scores)[0] == pytest.approx(expected, rel=1e-9)


def test_features_have_mean_zero_for_normal_scores():
    scores = np.random.default_rng(4).normal(size=(1, 200_000))
    phi = hresiduals._ResidualLandmarks(0.5, 1).features(scores)[0]
    assert np.abs(phi.mean(axis=0)).max() < 4.5 * phi.std(axis=0).max() / np.sqrt(200_000)


@pytest.mark.parametrize("d", [1, 2])
def test_equal_weights_change_nothing(d):
    """Sums are divided by those of the weights of pairs, whatever their unit."""
    rng = np.random.default_rng(6)
    law = ct.MvNormal(rng.normal(size=(150, d)), np.ones((150, d)))
    psi = prediction_features(KERNEL, law)
    scores = rng.normal(size=(3, 150, d))
    plain = residual_means(psi, [0.5, 1.0], scores)
    for weight in (1.0, 3.0):
        np.testing.assert_allclose(residual_means(psi, [0.5, 1.0], scores, np.full(150, weight)), plain, rtol=1e-4)


@pytest.mark.parametrize("widths", [(1.0,), (0.5, 1.0, 2.0)])
def test_sums_on_a_grid_are_those_of_each_residual(widths, monkeypatch):
    n, rng = 4000, np.random.default_rng(5)
    psi = prediction_features(KERNEL, ct.Normal(rng.random(n), 0.1))
    scores, weights = rng.normal(size=(4, n)), rng.uniform(0.5, 2.0, n)
    assert hresiduals._OnGrid.of(widths).grid.is_worth(n)
    on_grid = [residual_means(psi, widths, scores, w) for w in (None, weights)]
    monkeypatch.setattr(hresiduals._OnGrid, "of", lambda widths: None)
    for found, w in zip(on_grid, (None, weights), strict=True):
        expected = residual_means(psi, widths, scores, w)
        assert found == pytest.approx(expected, abs=1e-2 * np.abs(expected).max())
