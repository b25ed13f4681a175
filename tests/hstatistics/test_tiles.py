"""Sums over strips of several tiles, against the definition of h and against plain formulas."""

import numpy as np
import pytest
from grids import thinned
from slow import skce_of_classes

import caltest as ct
from caltest.hstatistics.sums import pairs as hpairs
from caltest.hstatistics.tiles import FiniteTiles, NormalTiles, h_tile, tiles_of
from caltest.predictions import Sample

TV = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.4), ct.DeltaKernel())
GAUSSIAN = ct.ProductKernel(ct.GaussianKernel(bandwidth=0.3), ct.GaussianKernel(bandwidth=1.5))
W2 = ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 0.8), ct.GaussianKernel(bandwidth=0.7))


def classes(n, k):
    rng = np.random.default_rng(n + k)
    p = rng.dirichlet(np.full(k, 2.0 / k), n)
    return Sample(ct.Categorical(p), rng.integers(0, k, n))


def normal(n):
    rng = np.random.default_rng(n)
    return Sample(ct.Normal(rng.normal(size=n), rng.uniform(0.0, 1.5, n)), rng.normal(size=n))


def assert_sums_are_those_of(h, tiles, strips):
    """Errors are compared with the sum of the absolute values, which sums of signed numbers round in proportion to."""
    for rows, columns in strips:
        pairs, diagonal = tiles.sums((rows, columns))
        strip = h[rows, columns]
        assert pairs == pytest.approx(np.triu(strip, 1).sum(), abs=1e-13 * np.abs(strip).sum())
        assert diagonal == pytest.approx(np.trace(strip), rel=1e-12)


# 3 classes: column tiles of 512. 300: of 109, which is odd and less than a strip. 600: of 64.
@pytest.mark.parametrize(("n", "k", "kernel"), [(700, 3, TV), (700, 3, GAUSSIAN), (300, 300, TV), (300, 600, TV)])
def test_strips_of_classes_are_wider_than_a_tile(n, k, kernel):
    sample = classes(n, k)
    tiles, h = tiles_of(kernel, sample), h_tile(kernel, sample, sample)
    assert isinstance(tiles, FiniteTiles)
    assert_sums_are_those_of(h, tiles, hpairs.strips(0, n, hpairs.STRIP))
    pairs, diagonal = hpairs.h_sums(kernel, sample)
    assert pairs == pytest.approx(np.triu(h, 1).sum(), abs=1e-13 * np.abs(h).sum())
    assert diagonal == pytest.approx(np.trace(h), rel=1e-12)


def test_strips_of_normal_predictions_are_wider_than_a_tile():
    sample = normal(700)
    tiles, h = tiles_of(W2, sample), h_tile(W2, sample, sample)
    assert isinstance(tiles, NormalTiles)
    assert_sums_are_those_of(h, tiles, hpairs.strips(0, 700, hpairs.STRIP))
    forms, rows = hpairs.weighted_sums(W2, sample, np.ones((700, 1)))
    assert forms[0] == pytest.approx(h.sum(), abs=1e-13 * np.abs(h).sum())
    assert rows == pytest.approx(h.sum(axis=1), abs=1e-12)


SIZES = [(n, k, unbiased) for n, k in [(1300, 3), (600, 300), (260, 600)] for unbiased in (True, False)]


KEPT = [(1300, 3, True), (600, 300, True), (260, 600, False)]


@pytest.mark.parametrize(("n", "k", "unbiased"), thinned(SIZES, KEPT))
def test_estimates_against_a_plain_formula(n, k, unbiased):
    sample = classes(n, k)
    expected = skce_of_classes(sample.predictions.probabilities, sample.targets, 0.4, unbiased)
    assert ct.SKCE(TV, unbiased)(sample.predictions, sample.targets) == pytest.approx(expected, rel=1e-11, abs=1e-14)


@pytest.mark.parametrize("block_size", [129, 260])
def test_large_blocks_of_many_classes(block_size):
    """Blocks of more than one strip, with several column tiles in each."""
    sample = classes(2 * block_size + 5, 300)
    p, y = sample.predictions.probabilities, sample.targets
    blocks = [slice(0, block_size), slice(block_size, 2 * block_size)]
    expected = [skce_of_classes(p[b], y[b], 0.4, True) for b in blocks]
    means = hpairs.block_means(TV, sample, block_size, unbiased=True)
    assert means == pytest.approx(expected, rel=1e-11, abs=1e-14)


@pytest.mark.parametrize("block_size", [2, 3, 5, 12, 31, 64])
def test_small_blocks_of_numbers(monkeypatch, block_size):
    """Halves of even and odd blocks, in several stacks, with a rest of one observation."""
    monkeypatch.setattr("caltest.hstatistics.tiles.STACK", 200)
    sample, n_blocks = normal(5 * block_size + 1), 5
    h = h_tile(W2, sample, sample)
    blocks = [h[i : i + block_size, i : i + block_size] for i in block_size * np.arange(n_blocks)]
    expected = [block[np.triu_indices(block_size, 1)].mean() for block in blocks]
    assert hpairs.block_means(W2, sample, block_size, unbiased=True) == pytest.approx(expected, rel=1e-11, abs=1e-14)


def test_bootstrap_sums_over_several_tiles():
    sample = classes(1300, 3)
    h = h_tile(TV, sample, sample)
    weights = np.random.default_rng(1).integers(0, 3, (1300, 4)).astype(float)
    forms, rows = hpairs.weighted_sums(TV, sample, weights)
    assert forms == pytest.approx(np.einsum("ib,ij,jb->b", weights, h, weights, optimize=True), rel=1e-10)
    assert rows == pytest.approx(h.sum(axis=1), abs=1e-11)


@pytest.mark.parametrize(("n", "k"), [(1300, 3), (600, 300)])
def test_redraws_over_several_tiles(n, k):
    sample = classes(n, k)
    redraws = sample.predictions.redraw(1, 2)
    expected = [skce_of_classes(sample.predictions.probabilities, y, 0.4, True) for y in redraws]
    assert ct.SKCE(TV).estimates(sample.predictions, redraws) == pytest.approx(expected, rel=1e-9, abs=1e-14)


def test_redraws_of_nine_kernels():
    """One more than are summed together."""
    sample = classes(40, 4)
    redraws = sample.predictions.redraw(1, 3)
    from caltest.hstatistics.redraws.of_all_families import redrawn_means

    bandwidths = np.linspace(0.1, 1.0, 9)
    kernels = [ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), b), ct.DeltaKernel()) for b in bandwidths]
    means = redrawn_means(kernels, sample.predictions, redraws, unbiased=False)
    p = sample.predictions.probabilities
    expected = [[skce_of_classes(p, y, b, False) for y in redraws] for b in bandwidths]
    assert means == pytest.approx(np.array(expected), rel=1e-11)
