"""How often the default test with clusters rejects calibrated predictions whose outcomes are alike within clusters.

``python -m tests.statistical.omnibus_in_clusters [sets]`` prints the table of ``docs/validity.md``; about six
minutes.
"""

import sys

import numpy as np
import scipy

import caltest as ct
from caltest._basics.calls import pvalues_only


def classes(rng, codes, u):
    """Ten classes, Dir(0.5)."""
    p = rng.dirichlet(np.full(10, 0.5), codes.size)
    return p, (p.cumsum(axis=1) < u[:, None]).sum(axis=1).clip(0, 9)


def binary(rng, codes, u):
    """Uniform probabilities."""
    p = rng.random(codes.size)
    return p, (u < p).astype(int)


def alike(rng, codes, u):
    """Uniform probabilities, equal within clusters."""
    p = rng.random(codes.max() + 1)[codes]
    return p, (u < p).astype(int)


def normal(rng, codes, u):
    """Normal(N(0, 1), U(0.5, 2))."""
    mean, deviation = rng.standard_normal(codes.size), rng.uniform(0.5, 2.0, codes.size)
    return ct.Normal(mean, deviation), mean + deviation * scipy.special.ndtri(u)


SETTINGS = [
    (classes, 100, 3, 0.5),
    (normal, 50, 10, 0.5),
    (alike, 50, 10, 0.5),
    (alike, 100, 10, 0.5),
    (binary, 50, 20, 0.5),
]
"""Predictions, clusters, rows in each, and the correlation of the normal scores of their outcomes."""


def pvalues(make, n_clusters, size, correlation, seed):
    """Of the test with clusters, and of the exact one of independent outcomes."""
    rng = np.random.default_rng([seed, n_clusters, size])
    codes = np.repeat(np.arange(n_clusters), size)
    common, own = rng.standard_normal(n_clusters)[codes], rng.standard_normal(codes.size)
    u = scipy.special.ndtr(np.sqrt(correlation) * common + np.sqrt(1.0 - correlation) * own)
    data = make(rng, codes, u)
    with pvalues_only():
        return [
            test(*data, rng=seed).pvalue
            for test in (ct.OmnibusTest(n_resamples=199, clusters=codes), ct.OmnibusTest(n_resamples=199))
        ]


def main(sets="200"):
    """Print the table."""
    for make, *setting in SETTINGS:
        found = np.array([pvalues(make, *setting, seed) for seed in range(int(sets))])
        rates = [f"{100.0 * (found[:, j] <= level).mean():.0f}" for j in (0, 1) for level in (0.05, 0.01)]
        words = make.__doc__.removesuffix(".")
        cells = [words, *map(str, setting), f"{rates[0]} / {rates[1]}", f"{rates[2]} / {rates[3]}"]
        print("|", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
