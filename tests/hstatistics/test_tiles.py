"""Sums over strips of several tiles, against the definition of h and against plain formulas."""

import itertools
import math

import numpy as np
import pytest
from grids import thinned
from operator_bounds import operator_bounds
from slow import skce_of_classes

import caltest as ct
from caltest.hstatistics.sums import pairs as hpairs
from caltest.hstatistics.tiles import FiniteTiles, NormalTiles, h_bound, h_tile, tiles_of
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


SHARP, WIDE = (ct.ExponentialKernel(ct.TotalVariation(), width) for width in (0.1, 2.0))


def corners(k):
    """All pairs of a certain prediction and a label."""
    pairs = np.array(list(itertools.product(range(k), repeat=2)))
    return Sample(ct.Categorical(np.eye(k)[pairs[:, 0]]), pairs[:, 1])


def uncertain(k, seed):
    rng = np.random.default_rng(seed)
    p = np.concatenate([rng.dirichlet(np.ones(k), 60), rng.dirichlet(np.full(k, 0.1), 60)])
    return Sample(ct.Categorical(p), rng.integers(0, k, 120))


def largest_h(kernel, sample):
    return np.abs(h_tile(kernel, sample, sample)).max()


def matrix_of_rank(rank, k, seed):
    root = np.random.default_rng(seed).normal(size=(k, rank))
    return root @ root.T


def random_sum(k, seed):
    first, second, third = (ct.kernels.MatrixKernel(matrix_of_rank(rank, k, (seed, rank))) for rank in (1, 2, k))
    gauss = ct.GaussianKernel(ct.Euclidean(), 0.3)
    return ct.ProductKernel(SHARP, first) + ct.ProductKernel(WIDE, second) + ct.ProductKernel(gauss, 0.7 * third)


KERNELS = {
    "delta": lambda k, seed: ct.ProductKernel(SHARP, ct.DeltaKernel()),
    "matrix": lambda k, seed: ct.ProductKernel(SHARP, ct.kernels.MatrixKernel(matrix_of_rank(2, k, seed))),
    "gaussian": lambda k, seed: ct.ProductKernel(SHARP, ct.GaussianKernel(bandwidth=1.0 + seed)),
    "sum kernel": lambda k, seed: ct.ProductKernel(WIDE, ct.DeltaKernel() + 0.3 * ct.LaplacianKernel(2.0)),
    "sum of products": random_sum,
    "delta and matrix": lambda k, seed: random_sum(k, seed) + ct.ProductKernel(WIDE, ct.DeltaKernel()),
}


@pytest.mark.parametrize("make", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_h_is_bounded_and_the_bound_is_attained(make, k, seed):
    kernel, sample = make(k, seed), corners(k)
    bound = h_bound(kernel, sample.predictions)
    assert largest_h(kernel, sample) == pytest.approx(bound, rel=1e-12)
    assert largest_h(kernel, uncertain(k, seed)) <= bound * (1 + 1e-12)


def test_the_delta_kernel_has_the_smallest_bound_of_the_paper():
    """Example H.1 of Widmann et al. 2019: 2 sup k_P, here also for binary predictions and for multiples."""
    delta, predictions = ct.ProductKernel(SHARP, ct.DeltaKernel()), uncertain(5, 1).predictions
    assert h_bound(delta, predictions) == 2.0
    assert h_bound(delta, ct.Bernoulli([0.2])) == 2.0
    assert h_bound(ct.ProductKernel(SHARP, ct.kernels.MatrixKernel(np.eye(5))), predictions) == 2.0
    assert h_bound(ct.ProductKernel(SHARP, 3.0 * ct.DeltaKernel()), predictions) == pytest.approx(6.0)
    assert h_bound(delta + delta, predictions) == pytest.approx(4.0)


def test_a_sum_has_a_smaller_bound_than_its_products_together():
    """Three products with the matrices e_i e_i': 1 each, but 2 for their sum, the identity."""
    products = [ct.ProductKernel(SHARP, ct.kernels.MatrixKernel(np.diag(row))) for row in np.eye(3)]
    predictions = uncertain(3, 1).predictions
    assert [h_bound(product, predictions) for product in products] == [1.0, 1.0, 1.0]
    whole = products[0] + products[1] + products[2]
    assert h_bound(whole, predictions) == 2.0
    assert largest_h(whole, corners(3)) == 2.0


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("seed", range(5))
def test_the_bound_of_a_sum_is_at_most_its_operator_bounds(k, seed):
    """K_{p;q} is at least the norm of the sum of the matrices, the value of the kernel where both predictions agree."""
    kernel, predictions = random_sum(k, seed), uncertain(k, seed).predictions
    whole = sum(weight * term.matrix for one in kernel.products for weight, term in one.target_kernel.weighted_terms)
    bound = h_bound(kernel, predictions)
    assert bound <= min(operator_bounds(whole).values()) * (1 + 1e-12)
    assert bound <= sum(h_bound(one, predictions) for one in kernel.products) * (1 + 1e-12)


def test_kernels_of_labels_know_how_far_apart_these_are():
    kernel = ct.ProductKernel(SHARP, ct.GaussianKernel(bandwidth=1.5))
    assert h_bound(kernel, uncertain(4, 1).predictions) == pytest.approx(2.0 - 2.0 * math.exp(-9.0 / 4.5), rel=1e-14)
    assert h_bound(kernel, ct.Bernoulli([0.2])) == pytest.approx(2.0 - 2.0 * math.exp(-1.0 / 4.5), rel=1e-14)


def test_real_targets_are_as_far_apart_as_can_be():
    predictions = ct.Normal([0.0, 1.0], 1.0)
    gauss = ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 1.0), ct.GaussianKernel(bandwidth=1.0))
    assert h_bound(gauss, predictions) == 2.0
    sums = ct.ProductKernel(gauss.prediction_kernel, gauss.target_kernel + 0.5 * ct.MaternKernel(bandwidth=2.0))
    assert h_bound(sums, predictions) == h_bound(sums, ct.Ensemble([[0.0, 1.0]])) == 3.0
    assert h_bound(sums + gauss, predictions) == 5.0
    far = Sample(ct.Ensemble([[0.0], [0.0]]), np.array([1e6, -1e6]))
    assert largest_h(sums, far) == pytest.approx(3.0)


def test_kernels_that_need_numbers_first():
    kernel = ct.ProductKernel(SHARP, ct.GaussianKernel())
    with pytest.raises(ValueError, match=r'bandwidth: got "median", wanted a number'):
        h_bound(kernel, uncertain(3, 1).predictions)
    assert ct.DistributionFreeSKCETest(ct.SKCE(kernel))(*_data(3)).pvalue <= 1.0


def _data(k):
    sample = uncertain(k, 1)
    return sample.predictions, sample.targets


@pytest.mark.parametrize("unbiased", [True, False])
def test_pvalues_by_hand(unbiased):
    p, y = _data(3)
    kernel = random_sum(3, 1)
    result = ct.DistributionFreeSKCETest(ct.SKCE(kernel, unbiased))(p, y)
    whole = sum(weight * term.matrix for one in kernel.products for weight, term in one.target_kernel.weighted_terms)
    bound = max(whole[a, a] - 2 * whole[a, b] + whole[b, b] for a in range(3) for b in range(3))
    ratio = result.estimate / bound
    by_hand = math.exp(-60 * ratio**2 / 2) if unbiased else math.exp(-((math.sqrt(120 * ratio) - 1) ** 2) / 2)
    assert ratio > 0.0
    assert result.pvalue == pytest.approx(by_hand, rel=1e-11)


def test_labels_that_a_kernel_does_not_tell_apart_are_no_evidence():
    """With a bandwidth of a million labels, or the same similarity everywhere, nothing is left but rounding."""
    p, y = _data(3)
    for target_kernel in (ct.GaussianKernel(bandwidth=1e12), ct.kernels.MatrixKernel(np.full((3, 3), 0.3))):
        for unbiased in (True, False):
            estimator = ct.SKCE(ct.ProductKernel(SHARP, target_kernel), unbiased)
            assert ct.DistributionFreeSKCETest(estimator)(p, y).pvalue > 0.9
