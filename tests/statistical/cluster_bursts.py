"""How often the test for clusters rejects calibrated rare events that come in bursts.

``python -m tests.statistical.cluster_bursts`` prints the tables of ``docs/validity.md``; about five minutes.
"""

from unittest import mock

import numpy as np
from scipy.special import ndtri

import caltest as ct
from caltest._basics.calls import pvalues_only

KERNEL = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.3), ct.DeltaKernel())
SETS, SIZE, ALPHAS = 300, 3, np.array([0.1, 0.05, 0.01])


def pvalue(n_clusters, expected, seed):
    """Of clusters of equal probabilities and equal outcomes, of which so many are expected to have the event."""
    rng = np.random.default_rng([seed, n_clusters, int(10 * expected)])
    centres = np.clip(rng.beta(0.5, 0.5 * (n_clusters / expected - 1.0), n_clusters), 1e-9, 0.999)
    events = (rng.random(n_clusters) < centres).astype(int)
    clusters, p, y = (np.repeat(one, SIZE) for one in (np.arange(n_clusters), centres, events))
    with pvalues_only():
        return ct.ClusterSKCETest(clusters, KERNEL, 199)(p, y, rng=1).pvalue


LARGE = [
    (30, 30, 0.4),
    (30, 100, 0.1),
    (30, 100, 0.4),
    (30, 100, 0.8),
    (10, 300, 0.4),
    (5, 600, 0.2),
    (120, 67, 0.1),
    (120, 67, 0.4),
]
"""Clusters, rows in each, and the share of the variance of outcomes that effects of the clusters have."""


WRONG = [(133, 3, 0.0, 3), (133, 3, 0.4, 3), (300, 3, 0.0, 2), (30, 30, 0.0, 2), (30, 30, 0.0, 3), (120, 67, 0.1, 1.5)]
"""The same, and how many times as often events occur as predicted."""


def pvalue_of_large(n_clusters, size, share, seed, times=1):
    """Of predictions that differ within clusters, and outcomes that are more likely together."""
    rng = np.random.default_rng([seed, n_clusters, size])
    clusters = np.repeat(np.arange(n_clusters), size)
    p = np.clip(rng.beta(0.3, 12.0, clusters.size), 1e-9, 1.0)
    effects = rng.normal(size=n_clusters)[clusters], rng.normal(size=clusters.size)
    y = np.sqrt(share) * effects[0] + np.sqrt(1.0 - share) * effects[1] < ndtri(np.minimum(times * p, 0.99))
    with pvalues_only():
        return ct.ClusterSKCETest(clusters, KERNEL, 99)(p, y.astype(int), rng=1).pvalue


def by_signs_alone(*setting):
    """The same without redraws in which events come together."""
    with mock.patch("caltest.nulls.bootstraps._few_with_an_event", return_value=None):
        return pvalue_of_large(*setting)


def main():
    """Print the tables."""
    for n_clusters in (30, 100):
        for expected in (0.5, 1, 2, 4, 8):
            found = np.array([pvalue(n_clusters, expected, seed) for seed in range(SETS)])
            rates = 100.0 * (found[:, None] <= ALPHAS).mean(axis=0)
            print("|", n_clusters, "|", expected, "|", " | ".join(f"{one:.1f}" for one in rates), "|", flush=True)
    for setting in LARGE:
        found = np.array([pvalue_of_large(*setting, seed) for seed in range(SETS // 2)])
        rates = 100.0 * (found[:, None] <= ALPHAS).mean(axis=0)
        print("|", *(f"{one} |" for one in setting), " | ".join(f"{one:.1f}" for one in rates), "|", flush=True)
    for *setting, times in WRONG:
        ways = by_signs_alone, pvalue_of_large
        found = np.array([[way(*setting, seed, times) for way in ways] for seed in range(SETS // 3)])
        rates = 100.0 * (found <= 0.05).mean(axis=0)
        print(
            "|", *(f"{one} |" for one in (*setting, times)), " | ".join(f"{one:.1f}" for one in rates), "|", flush=True
        )


if __name__ == "__main__":
    main()
