"""The bound of h: valid for all predictions, attained, and never larger than those of the paper."""

import itertools
import math

import numpy as np
import pytest
from operator_bounds import operator_bounds

import caltest as ct
from caltest.hstatistics.bound import h_bound
from caltest.hstatistics.tiles import h_tile
from caltest.predictions import Sample

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
