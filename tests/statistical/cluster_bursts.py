"""How often the test for clusters rejects calibrated rare events that come in bursts.

``python -m tests.statistical.cluster_bursts`` prints the table of ``docs/validity.md``; about four minutes.
"""

import numpy as np

import caltest as ct
from caltest.estimators.combined.findings import pvalues_only

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


def main():
    """Print the table."""
    for n_clusters in (30, 100):
        for expected in (0.5, 1, 2, 4, 8):
            found = np.array([pvalue(n_clusters, expected, seed) for seed in range(SETS)])
            rates = 100.0 * (found[:, None] <= ALPHAS).mean(axis=0)
            print("|", n_clusters, "|", expected, "|", " | ".join(f"{one:.1f}" for one in rates), "|", flush=True)


if __name__ == "__main__":
    main()
