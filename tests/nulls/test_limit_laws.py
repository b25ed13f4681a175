"""Multiplier bootstrap, spectra and the gamma law against explicit matrices and enumeration."""

import itertools

import numpy as np
import pytest
from contracts import CASES
from samples import TV, W2, samples
from scipy import stats

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


@pytest.mark.parametrize("multiplier", ["rademacher", "gaussian"])
@pytest.mark.parametrize(("kernel", "p", "y"), [(TV, P, Y), (TV, P[:, 0], (Y == 0).astype(int)), (W2, NORMAL, TARGETS)])
def test_multiplier_bootstrap_by_hand(multiplier, kernel, p, y):
    result = ct.MultiplierSKCETest(kernel, 70, multiplier=multiplier)(p, y, rng=3)
    h = off_diagonal(h_matrix(ct.Bernoulli(p) if np.ndim(p) == 1 and p is not NORMAL else p, y, kernel))
    factors = []
    for generator, size in zip(np.random.default_rng(3).spawn(3), (32, 32, 6), strict=True):
        if multiplier == "gaussian":
            factors.append(generator.standard_normal((size, N)))
        else:
            factors.append(2.0 * generator.integers(2, size=(size, N), dtype=np.int8) - 1.0)
    e = np.concatenate(factors)
    draws = np.einsum("bi,ij,bj->b", e, h, e) / (N - 1)
    assert result.null_distribution == pytest.approx(draws, rel=1e-10, abs=1e-13)
    assert result.estimate == pytest.approx(h.sum() / (N * (N - 1)), rel=1e-11)
    assert result.statistic == pytest.approx(N * result.estimate, rel=1e-12)
    assert result.pvalue == (1 + np.sum(draws >= result.statistic - 1e-12)) / 71
    assert result.pvalue_kind == "resampling"


def test_multiplier_bootstrap_does_not_depend_on_how_many_draws_are_taken_at_once(monkeypatch):
    test = ct.MultiplierSKCETest(TV, n_resamples=70)
    whole = test(P, Y, rng=3).null_distribution
    monkeypatch.setattr("caltest.nulls.bootstrap.COUNTS_AT_ONCE", 1)
    monkeypatch.setattr("caltest.nulls.bootstrap.LEAST_STREAMS", 1)
    assert test(P, Y, rng=3).null_distribution == pytest.approx(whole, rel=1e-12)


def test_signs_are_exact_for_symmetric_residuals():
    """P(Y = 1) = 1/2 for all: the residuals are +-1/2, so that signs of h are the law of the statistic itself."""
    n = 7
    p = ct.Categorical(np.full((n, 2), 0.5))
    kernel = ct.ProductKernel(ct.MaternKernel(bandwidth=0.5), ct.DeltaKernel())
    labels = np.array(list(itertools.product([0, 1], repeat=n)))
    values = np.array([ct.SKCE(kernel)(p, y) for y in labels])
    y = labels[1]
    exact = np.mean(values >= ct.SKCE(kernel)(p, y) - 1e-12)
    result = ct.CalibrationTest(ct.SKCE(kernel), ct.MultiplierBootstrap(20_000))(p, y, rng=1)
    assert result.pvalue == pytest.approx(exact, abs=4.5 * np.sqrt(exact * (1 - exact) / 20_000))


@pytest.mark.parametrize(("maker", "kernel"), CASES[::4], ids=lambda part: getattr(part, "__name__", ""))
def test_matrix_and_sums_of_squares(maker, kernel):
    sample = maker()
    h = h_tile(kernel, sample, sample)
    assert hspectrum.h_matrix(kernel, sample) == pytest.approx(h, abs=1e-13)
    pairs, squares, diagonal = hspectrum.h_square_sums(kernel, sample)
    assert pairs == pytest.approx(off_diagonal(h).sum(), rel=1e-10, abs=1e-12)
    assert squares == pytest.approx(np.sum(off_diagonal(h) ** 2), rel=1e-12)
    assert diagonal == pytest.approx(np.trace(h), rel=1e-12)


def test_sums_of_squares_do_not_depend_on_the_tiles(monkeypatch):
    sample = Sample(ct.Categorical(P), Y)
    whole = hspectrum.h_square_sums(TV, sample)
    monkeypatch.setattr(hspectrum, "STRIP", 1)
    assert hspectrum.h_square_sums(TV, sample) == pytest.approx(whole, rel=1e-12)
    monkeypatch.setattr(hspectrum, "STRIP", 7)
    assert hspectrum.h_square_sums(TV, sample) == pytest.approx(whole, rel=1e-12)
    assert hspectrum.h_matrix(TV, sample) == pytest.approx(h_matrix(P, Y), abs=1e-14)


@pytest.mark.parametrize("tail", ["exact", "saddlepoint", "pearson3", "satterthwaite"])
def test_spectral_null_by_hand(tail):
    result = ct.CalibrationTest(ct.SKCE(TV), ct.SpectralNull(tail=tail))(P, Y)
    h = h_matrix(P, Y)
    weights = np.linalg.eigvalsh(h / N)
    statistic = off_diagonal(h).sum() / (N - 1)
    draws = (np.random.default_rng(1).standard_normal((200_000, N)) ** 2 - 1.0) @ weights
    rate = np.mean(draws >= statistic)
    error = {"exact": 0.0, "saddlepoint": 0.02, "pearson3": 0.02, "satterthwaite": 0.1}[tail] * rate
    assert abs(result.pvalue - rate) <= 4.5 * np.sqrt(rate * (1.0 - rate) / 200_000) + error
    assert result.statistic == pytest.approx(statistic, rel=1e-11)
    assert result.estimate == pytest.approx(statistic / N, rel=1e-11)
    assert result.seed is None


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


def test_gamma_null_by_hand():
    result = ct.GammaSKCETest(TV)(P, Y)
    h = h_matrix(P, Y)
    others = h[~np.eye(N, dtype=bool)]
    mean, variance = np.mean(np.diag(h)), 2.0 * N / (N - 1) * np.mean(others**2)
    statistic = N * np.mean(others)
    law = stats.gamma(mean**2 / variance, scale=variance / mean)
    assert result.pvalue == pytest.approx(law.sf(statistic + mean), rel=1e-11)
    assert result.statistic == pytest.approx(statistic, rel=1e-11)


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
    assert ct.SpectralSKCETest(TV)(p, y).pvalue == 1.0
    assert ct.GammaSKCETest(TV)(p, y).pvalue == 1.0


def test_conditional_spectrum_needs_finitely_many_outcomes():
    with pytest.raises(TypeError, match=r"predictions: got Normal predictions, wanted finitely many outcomes"):
        ct.ConditionalSpectralSKCETest(W2)(NORMAL, TARGETS)


def test_small_pvalues_of_limit_laws():
    p = np.tile([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.3, 0.3, 0.4]], (40, 1))
    for null in (ct.SpectralNull(), ct.ConditionalSpectralNull(), ct.GammaNull()):
        result = ct.CalibrationTest(ct.SKCE(TV), null)(p, p.argmin(axis=1))
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


def test_notes_where_the_size_is_off():
    p, y = np.tile(P, (34, 1)), np.tile(Y, 34)
    for estimator, null, n, large in (
        (ct.SKCE(TV), ct.MultiplierBootstrap(9), 50, 100),
        (ct.SKCE(TV), ct.MultiplierBootstrap(9, "gaussian"), 50, 100),
        (ct.SKCE(TV), ct.SpectralNull(), 250, 1000),
        (ct.CrossSKCE(TV), ct.CrossNormalNull(exact_variance=True), 16, 50),
    ):
        test = ct.CalibrationTest(estimator, null)
        assert f"only {n} observations" in test(p[:n], y[:n], rng=1).notes[0]
        assert test(p[:large], y[:large], rng=1).notes == ()
    for estimator, null in ((ct.SKCE(TV), ct.GammaNull()), (ct.CrossSKCE(TV), ct.CrossNormalNull())):
        assert ct.CalibrationTest(estimator, null)(p, y).notes
    assert "with only 30 observations" in ct.GammaSKCETest(TV)(P, Y).notes[0]
