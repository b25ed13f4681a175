"""Gaussian kernels in single precision, against the formula."""

import numpy as np
import pytest

import caltest as ct
from caltest.hstatistics.sums.features import Features
from caltest.hstatistics.sums.single_precision import LARGEST, Gaussians, squared_sums


def test_tiles_are_kernels_less_their_means():
    rng = np.random.default_rng(0)
    points, means = rng.normal(size=(5, 3)) + 1e4, [rng.random((7, 5)) for _ in range(3)]
    widths, factors = np.array([1.0, 2.0, 0.5]), (1.0, 0.5, 0.3)
    gaussians = Gaussians(points, widths, factors)
    # The second call is smaller, so that it uses a part of the memory of the first.
    for vectors in (rng.normal(size=(4, 7, 3)) + 1e4, rng.normal(size=(2, 7, 3)) + 1e4):
        distances = (np.square((vectors[:, :, None] - points) / widths)).sum(axis=3)
        for factor, mean, tile in zip(factors, means, gaussians.centred(vectors, means), strict=True):
            expected = np.exp(-distances / (2.0 * factor**2)) - mean
            assert tile.shape == (len(vectors), 7, 5)
            assert tile == pytest.approx(expected, abs=2e-5)


def test_vectors_that_are_far_away_have_the_kernel_0():
    gaussians = Gaussians(np.zeros((1, 2)), 1.0)
    (tile,) = gaussians.centred(np.array([[[1e300, -1e300], [2.0 * LARGEST, 0.0], [0.0, 0.0]]]), [np.zeros(1)])
    assert tile[0, :, 0].tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("d", [2, 10])
def test_estimates_in_single_precision_have_digits(d):
    rng = np.random.default_rng(d)
    roots = rng.normal(size=(120, d, d))
    p = ct.MvNormal(rng.normal(size=(120, d)), roots @ roots.swapaxes(1, 2) / d + np.eye(d))
    features = Features.at_landmarks(p.default_kernel().resolve(p), p, 64, rng)
    y, w = p.sample(rng, 30), rng.random(120)
    exact, single = (features.estimates(p, y, False, w, dtype) for dtype in (np.float64, np.float32))
    assert not np.array_equal(exact, single)
    assert single == pytest.approx(exact, abs=1e-3 * exact.std())


def test_squared_sums_are_those_of_products():
    rng = np.random.default_rng(2)
    psi, y, points = rng.random((9, 2)), rng.normal(size=(40, 9, 3)), rng.normal(size=(5, 3))
    means, maps, factors = [rng.random((9, 5)) for _ in range(2)], [rng.random((5, 4)) for _ in range(2)], (1.0, 0.7)
    sums = squared_sums(psi, Gaussians(points, 1.5, factors), means, maps, y)
    for one, factor, mean, to in zip(sums, factors, means, maps, strict=True):
        kernels = np.exp(-np.square(y[:, :, None] - points).sum(axis=3) / (2.0 * (1.5 * factor) ** 2))
        expected = [np.square(sum(np.outer(psi[i], k[i] - mean[i]) for i in range(9)) @ to).sum() for k in kernels]
        assert one == pytest.approx(np.array(expected), rel=1e-5)
