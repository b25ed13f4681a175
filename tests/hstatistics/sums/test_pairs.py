"""h against explicit double sums over the outcomes, and against quadrature."""

import numpy as np
import pytest
from slow import h_matrix_finite, h_matrix_normal, mean_upper

import caltest as ct
from caltest.hstatistics.tiles import h_tile
from caltest.predictions import Sample


def tv(p, q):
    return 0.5 * np.abs(p - q).sum()


@pytest.mark.parametrize("target", ["delta", "gaussian"])
def test_classes_against_double_sums(target):
    rng = np.random.default_rng(1)
    p, y = rng.dirichlet(np.ones(4), 12), rng.integers(0, 4, 12)
    classes = np.arange(4)
    gram = np.eye(4) if target == "delta" else np.exp(-((classes[:, None] - classes) ** 2) / (2 * 1.5**2))
    slow = h_matrix_finite(lambda a, b: np.exp(-tv(a, b) / 0.3), gram, p, y)
    target_kernel = ct.DeltaKernel() if target == "delta" else ct.GaussianKernel(bandwidth=1.5)
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.3), target_kernel)
    sample = Sample(ct.Categorical(p), y)
    assert h_tile(kernel, sample, sample) == pytest.approx(slow, abs=1e-14)
    assert ct.SKCE(kernel)(p, y) == pytest.approx(mean_upper(slow), rel=1e-12)
    assert ct.SKCE(kernel, unbiased=False)(p, y) == pytest.approx(slow.mean(), rel=1e-12)


def test_binary_predictions_equal_two_classes():
    rng = np.random.default_rng(2)
    p, y = rng.random(30), rng.integers(0, 2, 30)
    for metric in (ct.TotalVariation(),):
        kernel = ct.ProductKernel(ct.ExponentialKernel(metric, 0.3), ct.DeltaKernel())
        vectors = np.stack([1 - p, p], axis=1)
        assert ct.SKCE(kernel)(p, y) == pytest.approx(ct.SKCE(kernel)(vectors, y), rel=1e-13)
        h = 2 * np.outer(y - p, y - p) * np.exp(-np.abs(p[:, None] - p) / 0.3)
        assert ct.SKCE(kernel)(p, y) == pytest.approx(mean_upper(h), rel=1e-12)


def test_normal_predictions_against_quadrature():
    rng = np.random.default_rng(3)
    mean, scale, y = rng.normal(size=8), rng.uniform(0, 1.2, 8), rng.normal(size=8)
    scale[0] = 0.0
    slow = h_matrix_normal(0.8, 1.3, mean, scale, y)
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 0.8), ct.GaussianKernel(bandwidth=1.3))
    sample = Sample(ct.Normal(mean, scale), y)
    assert h_tile(kernel, sample, sample) == pytest.approx(slow, abs=1e-12)


def test_relabelling_the_classes_changes_nothing():
    rng = np.random.default_rng(4)
    p, y = rng.dirichlet(np.full(5, 0.3), 80), rng.integers(0, 5, 80)
    order = rng.permutation(5)
    relabelled = np.argsort(order)[y]
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.5), ct.DeltaKernel())
    for estimator in (ct.SKCE(kernel), ct.BlockSKCE(kernel), ct.ECE(ct.binning.UniformBinning(4)), ct.MMCE()):
        assert estimator(p[:, order], relabelled) == pytest.approx(estimator(p, y), rel=1e-11)


def test_scale_zero_is_a_point_prediction():
    """With point predictions h is the kernel of residual-free pairs: it vanishes where the prediction is right."""
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 1.0), ct.GaussianKernel(bandwidth=1.0))
    assert ct.SKCE(kernel, unbiased=False)(ct.Normal([0.0, 1.0], 0.0), [0.0, 1.0]) == pytest.approx(0.0, abs=1e-15)
    assert ct.SKCE(kernel, unbiased=False)(ct.Normal([0.0, 1.0], 0.0), [0.5, 1.5]) > 0.01
