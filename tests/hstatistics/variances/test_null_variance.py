"""Variances if calibrated: against enumeration of all outcomes, and against redraws."""

import itertools

import numpy as np
import pytest
from samples import TV, W2, samples

import caltest as ct
from caltest.estimators.kernel_errors.cluster_skce import as_clusters
from caltest.hstatistics.variances import null_variance
from caltest.hstatistics.variances.null_variance import (
    variance_between_clusters,
    variance_if_calibrated,
    variance_of_blocks,
)

S = samples(6, 3)
P = ct.Categorical(S.p)
RNG = np.random.default_rng
MATRIX = ct.ProductKernel(
    TV.prediction_kernel, ct.kernels.MatrixKernel([[1.0, 0.5, 0.0], [0.5, 2.0, 0.3], [0.0, 0.3, 1.0]])
)


def enumerated(estimator, p):
    """The variance of an estimate over all outcomes."""
    labels = np.array(list(itertools.product(range(3), repeat=len(p))))
    chances = p.probabilities[np.arange(len(p)), labels].prod(axis=1)
    values = estimator.estimates(p, labels)
    assert chances @ values == pytest.approx(0.0, abs=1e-12)
    return chances @ values**2


@pytest.mark.parametrize("kernel", [TV, MATRIX], ids=["delta", "matrix"])
def test_all_pairs(kernel):
    assert variance_if_calibrated(kernel, P, RNG(1)) == pytest.approx(enumerated(ct.SKCE(kernel), P), rel=1e-10)


@pytest.mark.parametrize("large", [False, True])
def test_blocks(large, monkeypatch):
    monkeypatch.setattr(null_variance, "TILE", 2 if large else 384)
    monkeypatch.setattr(null_variance, "PART", 8)
    wanted = 2**2 * enumerated(ct.BlockSKCE(TV, 3), P)
    assert variance_of_blocks(TV, P, 3, RNG(1)) == pytest.approx(wanted, rel=1e-10)


@pytest.mark.parametrize("clusters", [[0, 1, 0, 2, 1], [[0, 0], [1, 1], [0, 1], [2, 0], [2, 0]]])
def test_clusters(clusters):
    p = P.take(slice(0, 5))
    wanted = enumerated(ct.estimators.ClusterSKCE(TV, clusters), p)
    assert variance_between_clusters(TV, as_clusters(clusters), p, RNG(1)) == pytest.approx(wanted, rel=1e-10)


def test_clusters_of_nearly_certain_predictions():
    p, clusters = ct.Categorical([[0.99, 0.01, 0.0], [0.98, 0.01, 0.01], [0.0, 0.01, 0.99]]), [0, 1, 1]
    wanted = enumerated(ct.estimators.ClusterSKCE(TV, clusters), p)
    assert variance_between_clusters(TV, as_clusters(clusters), p, RNG(1)) == pytest.approx(wanted, rel=1e-10)


def test_binary_predictions_along_a_line_are_those_of_all_pairs(monkeypatch):
    p = ct.Bernoulli(RNG(2).random(50))
    line = variance_if_calibrated(TV, p, RNG(1))
    monkeypatch.setattr(null_variance, "on_a_line", lambda *_: None)
    assert variance_if_calibrated(TV, p, RNG(1)) == pytest.approx(line, rel=1e-12)


SUM = TV + MATRIX
LAPLACE = ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 1.0), ct.LaplacianKernel(bandwidth=0.5))


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("p", "kernel", "formula"),
    [
        (ct.Normal(S.normal.mean, S.normal.scale), W2, True),
        (ct.Poisson(np.linspace(0.1, 3.0, 9)), ct.Poisson([1.0, 2.0]).default_kernel(), True),
        (P, SUM, False),
        (ct.Laplace(np.linspace(0.0, 1.0, 12), 0.5), LAPLACE, False),
    ],
    ids=["normal", "counts", "sum of products", "Laplace"],
)
def test_variances_are_those_of_redraws(p, kernel, formula, replications):
    kernel = kernel.resolve(p)
    assert null_variance.has_formula(kernel, p) == formula
    draws = p.sample(3, replications(3000 if formula else 800, 20_000))
    for estimator, wanted in (
        (ct.SKCE(kernel), variance_if_calibrated(kernel, p, RNG(1))),
        (ct.BlockSKCE(kernel, 3), variance_of_blocks(kernel, p, 3, RNG(1)) / (len(p) // 3) ** 2),
    ):
        assert wanted == pytest.approx(np.var(estimator.estimates(p, draws)), rel=0.1 if formula else 0.2)


def test_nothing_is_known_without_draws():
    p = ct.Unnormalised(lambda centre, y: centre - y, np.arange(9.0), points=np.linspace(-1.0, 1.0, 3))
    kernel = p.default_kernel().resolve(p)
    assert variance_if_calibrated(kernel, p, RNG(1)) is None
    assert variance_of_blocks(kernel, p, 3, RNG(1)) is None


def test_no_event_among_rare_ones_is_no_evidence():
    """h of outcomes that are all alike does not vary: the estimate is above 0, and far from surprising."""
    p, y = np.full(100, 0.005), np.zeros(100, dtype=int)
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 1.0), ct.DeltaKernel())
    for test in (ct.AsymptoticSKCETest(kernel, 199), ct.ClusterSKCETest(np.arange(100), kernel, 199)):
        assert test(p, y, rng=1).pvalue > 0.1
    z = ct.AsymptoticBlockSKCETest(kernel, 2)(p, y).statistic
    assert z == pytest.approx(0.005**2 * np.sqrt(50) / (0.005 * 0.995), rel=1e-10)
    assert ct.skce_interval(p, y, kernel).low == 0.0
    assert ct.ToleranceTest(1e-4, kernel)(p, y).pvalue > 0.2


def test_published_laws_keep_the_estimated_variance():
    """Without an event the bootstrap rejects at once, and blocks have no scale."""
    p, y = np.full(100, 0.005), np.zeros(100, dtype=int)
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 1.0), ct.DeltaKernel())
    assert ct.AsymptoticSKCETest(kernel, 199, known_variance=False)(p, y, rng=1).pvalue == 1 / 200
    with pytest.raises(ValueError, match="no scale"):
        ct.AsymptoticBlockSKCETest(kernel, 2, known_variance=False)(p, y)


@pytest.mark.full
def test_counts_whose_window_is_long_for_some_of_them_are_redrawn():
    predictions = ct.NegativeBinomial([0.7, 1.0, 0.55, 1.6], [0.73, 0.54, 0.0027, 0.86])
    law, kernel = predictions.law, predictions.default_kernel().resolve(predictions)
    assert law.take(slice(0, 1)).traces(kernel.target_kernel) is not None
    assert not law.has_traces(kernel.target_kernel)
    low, high = ct.skce_interval(predictions, [1, 0, 3, 2], rng=1)
    assert 0.0 <= low <= high
