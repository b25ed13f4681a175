"""Spectra against explicit matrices and enumeration."""

import itertools

import numpy as np
import pytest
from contracts import CASES
from samples import TV, W2, samples

import caltest as ct
from caltest._laws.tails import ChiSquaredSum, tail_probability
from caltest.hstatistics import spectrum as hspectrum
from caltest.hstatistics.tiles import h_tile
from caltest.predictions import FinitePredictions, Sample

N = 30
_, P, Y, NORMAL, TARGETS = samples(N, 3)
MATRIX = ct.MatrixKernel([[1.0, 0.5, 0.0], [0.5, 2.0, 0.3], [0.0, 0.3, 1.0]])
OF_MATRIX = ct.ProductKernel(ct.GaussianKernel(bandwidth=0.4), MATRIX)
FINITE = [case for case in CASES if isinstance(case[0]().predictions.law, FinitePredictions)]


def h_matrix(p, y, kernel=TV):
    sample = Sample(p if isinstance(p, ct.Predictions) else ct.Categorical(p), y)
    return h_tile(kernel, sample, sample)


def off_diagonal(matrix):
    return matrix - np.diag(np.diag(matrix))


def test_the_rest_of_a_spectrum_has_its_sum_and_its_sum_of_squares():
    matrix = h_matrix(P, Y) / N
    whole = hspectrum.spectrum(matrix, None)
    for count in (1, 3, 12):
        some = hspectrum.spectrum(matrix, count)
        assert some.weights.size == count + 1
        assert np.sort(some.weights)[-count:] == pytest.approx(np.sort(whole.weights)[-count:], rel=1e-8)
        for power in (1, 2):
            assert some.power_sum(power) == pytest.approx(whole.power_sum(power), rel=1e-10)
    assert tail_probability(some, 2.0) == pytest.approx(tail_probability(whole, 2.0), rel=0.03)
    assert hspectrum.spectrum(matrix, N - 1).weights.size <= N


def all_values(p, kernel):
    """``sum_{i != j} h_ij`` for all labels, and their probabilities."""
    n, k = p.shape
    values, chances = [], []
    for y in itertools.product(range(k), repeat=n):
        values.append(off_diagonal(h_matrix(p, np.array(y), kernel)).sum())
        chances.append(np.prod(p[np.arange(n), list(y)]))
    return np.array(values), np.array(chances)


SUM = TV + OF_MATRIX


@pytest.mark.parametrize("kernel", [TV, OF_MATRIX, SUM], ids=["delta", "matrix", "sum"])
def test_conditional_spectrum_has_the_variance_of_the_sum_over_pairs(kernel):
    p = P[:4]
    values, chances = all_values(p, kernel)
    law = hspectrum.conditional_spectrum(kernel, ct.Categorical(p), None)
    assert chances @ values == pytest.approx(0.0, abs=1e-13)
    assert law.variance == pytest.approx(chances @ values**2, rel=1e-10)
    assert law.power_sum(1) == pytest.approx(0.0, abs=1e-13)


@pytest.mark.parametrize("kernel", [TV, OF_MATRIX, SUM], ids=["delta", "matrix", "sum"])
def test_conditional_spectrum_by_kronecker_products(kernel):
    """Eigenvalues of C**1/2 (sum_l K_l x A_l) C**1/2 with C the block diagonal matrix of diag(p) - p p'."""
    n, k = 5, 3
    roots = np.zeros((n * k, n * k))
    for i, p in enumerate(P[:n]):
        values, vectors = np.linalg.eigh(np.diag(p) - np.outer(p, p))
        block = slice(i * k, (i + 1) * k)
        roots[block, block] = vectors @ np.diag(np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    predictions = ct.Categorical(P[:n])
    forms = sum(
        np.kron(off_diagonal(one.prediction_kernel.tile(predictions, predictions)), predictions.gram(one.target_kernel))
        for one in kernel.products
    )
    slow = np.sort(np.linalg.eigvalsh(roots @ forms @ roots))
    fast = np.sort(hspectrum.conditional_spectrum(kernel, predictions, None).weights)
    fast = np.concatenate([fast[fast < 0.0], np.zeros(n * k - fast.size), fast[fast > 0.0]])
    assert fast == pytest.approx(slow, abs=1e-12)


@pytest.mark.parametrize(("maker", "kernel"), FINITE, ids=lambda part: getattr(part, "__name__", ""))
def test_largest_of_the_conditional_spectrum(maker, kernel):
    predictions = maker().predictions
    whole = hspectrum.conditional_spectrum(kernel, predictions, None)
    some = hspectrum.conditional_spectrum(kernel, predictions, 6)
    kept = np.sort(np.abs(some.weights[:6]))
    assert kept == pytest.approx(np.sort(np.abs(whole.weights))[-6:], rel=1e-7)
    assert some.variance == pytest.approx(whole.variance, rel=1e-8)


def test_conditional_spectral_null_by_hand():
    result = ct.ConditionalSpectralSKCETest(TV)(P, Y)
    law = hspectrum.conditional_spectrum(TV, ct.Categorical(P), None)
    statistic = off_diagonal(h_matrix(P, Y)).sum()
    assert result.pvalue == pytest.approx(tail_probability(law, statistic), rel=1e-9)
    exact = ct.MonteCarloTest(ct.SKCE(TV), 20_000)(P, Y, rng=1).pvalue
    assert result.pvalue == pytest.approx(exact, rel=0.15)


def test_certain_predictions_have_no_spectrum():
    p, y = np.eye(3)[Y], Y
    result = ct.CalibrationTest(ct.SKCE(TV), ct.ConditionalSpectralNull())(p, y)
    assert (result.statistic, result.pvalue) == (0.0, 1.0)


def test_conditional_spectrum_needs_finitely_many_outcomes():
    with pytest.raises(TypeError, match=r"predictions: got Normal predictions, wanted finitely many outcomes"):
        ct.ConditionalSpectralSKCETest(W2)(NORMAL, TARGETS)


def test_small_pvalues_of_limit_laws():
    p = np.tile([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.3, 0.3, 0.4]], (40, 1))
    result = ct.ConditionalSpectralSKCETest(TV)(p, p.argmin(axis=1))
    assert 0.0 < result.pvalue < 1e-12


def test_laws_add_and_scale():
    one = ChiSquaredSum.of(np.array([2.0, 0.0, -1.0]))
    assert one.weights.tolist() == [2.0, -1.0]
    assert one.times(-3.0).weights.tolist() == [-6.0, 3.0]


@pytest.mark.parametrize("kernel", [TV, OF_MATRIX], ids=["delta", "matrix"])
def test_conditional_spectrum_of_low_rank(kernel, monkeypatch):
    """With all predictions as landmarks it is the spectrum of all residuals with the kernel's diagonal."""
    monkeypatch.setattr("caltest.hstatistics.features.ROWS", 7)
    predictions = ct.Categorical(P)
    estimator = ct.LowRankSKCE(kernel, rank=N).resolve(predictions)
    law = hspectrum.spectrum(estimator.covariance(predictions), None)
    covariances = [np.diag(p) - np.outer(p, p) for p in P]
    gram, weight = predictions.gram(kernel.target_kernel), kernel.prediction_kernel.tile(predictions, predictions)
    slow = sum(
        weight[i, j] ** 2 * np.trace(gram @ covariances[i] @ gram @ covariances[j]) for i in range(N) for j in range(N)
    )
    mean = sum(np.trace(gram @ c) * weight[i, i] for i, c in enumerate(covariances))
    assert law.power_sum(1) == pytest.approx(mean, rel=1e-8)
    assert law.power_sum(2) == pytest.approx(slow, rel=1e-7)
    result = ct.CalibrationTest(estimator, ct.ConditionalSpectralNull())(P, Y)
    redraws = estimator.estimates(predictions, predictions.sample(1, 20_000))
    rate = np.mean(redraws >= result.estimate)
    assert rate <= result.pvalue <= 1.5 * rate  # 0.0083 and 0.0104: pairs of an observation and itself add variance
    assert result.statistic == pytest.approx(N * result.estimate)
