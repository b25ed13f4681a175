"""Outcomes that depend on each other within clusters: the tests for them keep their level where others do not."""

import numpy as np
import pytest
from grids import thinned

import caltest as ct

from .cluster_bursts import pvalue as bursts
from .crossed_clusters import SHARES, pvalues
from .settings import band, dirichlet, spawn

pytestmark = [pytest.mark.statistical, pytest.mark.usefixtures("without_findings")]

KERNEL = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.5), ct.DeltaKernel())
SIZE, ALPHAS = 4, np.array([0.05, 0.01])


def comonotone(rng, n_clusters, k=3):
    """Clusters of 4 with similar predictions, in which outcomes are functions of one uniform number."""
    centres = dirichlet(rng, n_clusters, k, 1.0).probabilities
    p = 0.9 * np.repeat(centres, SIZE, axis=0) + 0.1 * dirichlet(rng, n_clusters * SIZE, k, 1.0).probabilities
    u = np.repeat(rng.random(n_clusters), SIZE)
    y = (u[:, None] > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)
    return ct.Categorical(p), y, np.repeat(np.arange(n_clusters), SIZE)


def rates(number, n_resamples, rng, n_clusters):
    rejected = {name: np.zeros(2) for name in ("exact", "signs", "one", "evidence")}
    for _ in range(number):
        p, y, clusters = comonotone(rng, n_clusters)
        one = ct.estimators.one_per_cluster(p, y, clusters, rng=rng)
        pvalues = {
            "exact": ct.MonteCarloTest(ct.SKCE(KERNEL), n_resamples)(p, y, rng=rng).pvalue,
            "signs": ct.ClusterSKCETest(clusters, KERNEL, 199)(p, y, rng=rng).pvalue,
            "one": ct.MonteCarloTest(ct.SKCE(KERNEL), n_resamples)(*one, rng=rng).pvalue,
            "evidence": ct.named_tests.ClusterLikelihoodRatioTest(clusters)(p, y).pvalue,
        }
        for name, pvalue in pvalues.items():
            rejected[name] += pvalue <= ALPHAS
    return rejected


@pytest.mark.parametrize("n_clusters", thinned([30, 60], [30]))
def test_sizes(n_clusters, replications):
    number, n_resamples = replications((20, 19), (4000, 99))
    rejected = rates(number, n_resamples, spawn(80, n_clusters), n_clusters)
    assert rejected["exact"][0] > band(number, 0.1)[1]
    assert rejected["signs"][0] <= band(number, 0.065)[1]
    assert rejected["signs"][1] <= band(number, 0.02)[1]
    for count, alpha in zip(rejected["one"], ALPHAS, strict=True):
        low, high = band(number, alpha)
        assert low <= count <= high
    for count, alpha in zip(rejected["evidence"], ALPHAS, strict=True):
        assert count <= band(number, alpha)[1]


def test_errors_are_found(replications):
    number, rng = replications(12, 1000), spawn(81)
    found = 0
    for _ in range(number):
        p, y, clusters = comonotone(rng, 60)
        sharp = ct.Categorical(p.probabilities**3 / (p.probabilities**3).sum(axis=1, keepdims=True))
        found += ct.ClusterSKCETest(clusters, KERNEL, 199)(sharp, y, rng=rng).pvalue <= 0.05
    assert found >= 0.6 * number


def test_rare_events_in_bursts(replications):
    """Of three to a cluster, one cluster of 30 with the event on average."""
    number = replications(20, 1000)
    found = np.array([bursts(30, 1, seed) for seed in range(number)])
    assert np.count_nonzero(found <= 0.05) <= band(number, 0.05)[1]


def test_sizes_with_two_labels(replications):
    """With clusters of one label alone, or of none, the same outcomes are rejected far too often."""
    number = replications(12, 1000)
    setting = 400, 20, 20, False, "alike", SHARES["strong"]
    both, first, none, _ = np.transpose([pvalues([seed, 82], setting) for seed in range(number)])
    for level, most in ((0.05, 0.04), (0.01, 0.01)):
        assert np.count_nonzero(both <= level + 1e-9) <= band(number, most)[1]
    if number >= 100:
        assert np.count_nonzero(none <= 0.05) > band(number, 0.2)[1]
        assert np.count_nonzero(first <= 0.05) > band(number, 0.05)[1]
