"""Bounds of the p-values of the unbiased estimate, and laws of blocks."""

from itertools import product
from math import exp

import numpy as np
import pytest
from printed import unfolded
from scipy import stats

import caltest as ct
from caltest.estimators.kernel_errors.skce import hoeffding_bound
from caltest.hstatistics.tiles import h_tile
from caltest.predictions import Sample

VALUES = [(0.1, 2.0, 500, exp(-0.625)), (0.2, 2.0, 500, exp(-2.5)), (0.1, 1.0, 500, exp(-2.5))]


@pytest.mark.parametrize(("estimate", "bound", "n_pairs", "expected"), VALUES)
def test_inequality_of_hoeffding(estimate, bound, n_pairs, expected):
    """Hoeffding 1963, theorem 2, for a mean of n variables in [-b, b]: ``exp(-2 n t**2 / (2 b)**2)``."""
    assert hoeffding_bound(estimate, bound, n_pairs) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("estimate", [0.0, -0.1])
def test_estimates_that_are_not_positive_say_nothing(estimate):
    assert hoeffding_bound(estimate, 1.0, 10) == 1.0


# Blocks of calibrated predictions (Widmann et al. 2021, appendix B.4). Where all predictions are a fair coin,
# h = r r' / 2 with signs r, so that 1/2 is the only eigenvalue.

KERNEL = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.3), ct.DeltaKernel())


def coin(n):
    return ct.Categorical(np.full((n, 2), 0.5))


@pytest.mark.parametrize("size", [2, 3, 6])
def test_variance_of_a_block(size):
    """Lemma B.4 and Corollary B.1: ``E h**2 / (B (B - 1) / 2) / blocks``, here by all outcomes."""
    outcomes = np.array(list(product([0, 1], repeat=6)))
    estimates = ct.BlockSKCE(KERNEL, size).estimates(coin(6), outcomes)
    assert estimates.mean() == pytest.approx(0.0, abs=1e-15)
    assert estimates.var() == pytest.approx(0.25 / (size * (size - 1) / 2) / (6 // size), rel=1e-12)


def test_variance_of_many_large_blocks_is_twice_the_published_one():
    """Corollary B.5 has ``sum lambda**2``, here 0.25. By Lemma B.4 it is B**2 E h**2 / (B (B - 1) / 2) -> 0.5."""
    size = 12
    outcomes = np.array(list(product([0, 1], repeat=size)))
    estimates = ct.SKCE(KERNEL).estimates(coin(size), outcomes)
    scaled = (size * estimates).var()
    assert scaled == pytest.approx(0.5 * size / (size - 1), rel=1e-12)
    assert scaled > 2 * 0.25


def test_few_large_blocks_of_a_coin():
    """Corollary B.4: B times the estimate is like ``lambda (Z - s) / s`` with Z chi-squared, s = 3 blocks."""
    size, blocks = 150, 3
    p = coin(size * blocks)
    scaled = size * ct.BlockSKCE(KERNEL, size).estimates(p, p.sample(np.random.default_rng(1), 3000))
    limit = stats.chi2(blocks, loc=-0.5, scale=0.5 / blocks)
    assert stats.kstest(scaled, limit.cdf).statistic < 0.035
    assert stats.kstest(scaled, stats.chi2(1, loc=-0.5, scale=0.5).cdf).statistic > 0.1


def test_few_large_blocks_with_many_eigenvalues():
    """Corollary B.4 with the eigenvalues of h for 600 observations of three classes, s = 4."""
    model, size, blocks = ct.generators.DirichletModel.m1(3, 1.0), 80, 4
    rng = np.random.default_rng(2)
    sample = Sample(*model.sample(600, rng))
    eigenvalues = np.linalg.eigvalsh(h_tile(KERNEL, sample, sample) / 600)
    estimator = ct.BlockSKCE(KERNEL, size)
    scaled = [size * estimator(*model.sample(size * blocks, rng)) for _ in range(600)]
    chi = rng.chisquare(blocks, (4000, eigenvalues.size))
    limit = (chi - blocks) @ eigenvalues / blocks
    assert stats.ks_2samp(scaled, limit).statistic < 0.06
    assert np.var(scaled) == pytest.approx(2 * np.sum(eigenvalues**2) / blocks, rel=0.15)


@pytest.mark.parametrize("kind", [ct.MvNormal, ct.Ensemble])
def test_coordinates_of_other_scales_are_told(kind):
    """Errors of the second coordinate, three times as large as predicted, are seen in units alike."""
    rng = np.random.default_rng(5)
    centres = rng.normal(size=(150, 2))
    y = centres + rng.normal(size=(150, 2)) * [1.0, 3.0]

    def result(scales):
        if kind is ct.Ensemble:
            predictions = ct.Ensemble((centres[:, None] + np.random.default_rng(6).normal(size=(150, 9, 2))) * scales)
        else:
            predictions = ct.MvNormal(centres * scales, np.tile(np.square(scales), (150, 1)))
        return ct.MonteCarloTest(ct.SKCE(), 199)(predictions, y * scales, rng=1)

    alike, uneven = result(np.array([1.0, 1.0])), result(np.array([1e6, 1.0]))
    assert (alike.pvalue, alike.notes) == (0.005, ())
    assert uneven.pvalue > 0.05
    assert "times less than those of coordinate 0: kernels of vectors hardly see errors of coordinate 1" in unfolded(
        uneven
    )


@pytest.mark.parametrize(("ratio", "is_said"), [(29.0, False), (31.0, True)])
def test_scales_that_differ_by_a_factor_of_thirty_are_noted(ratio, is_said):
    means = np.array([-1.0, 1.0])[:, None] * [ratio, 1.0]
    notes = ct.MonteCarloTest(ct.SKCE(), 1)(ct.MvNormal(means, [1.0, 1.0]), means, rng=1).notes
    assert any(f"vary {ratio:.2g} times less than those of coordinate 0" in note for note in notes) == is_said
