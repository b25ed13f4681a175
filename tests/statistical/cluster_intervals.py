"""How often intervals of what is wrong hold the truth where outcomes within clusters are alike.

``python -m tests.statistical.cluster_intervals`` prints the tables of ``docs/validity.md``; about twenty minutes.
"""

import sys

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

import caltest as ct
from caltest.estimators.combined.findings import findings_of, told
from caltest.estimators.combined.measures import TENTHS, measures_of
from caltest.estimators.kernel_errors.cluster_skce import as_clusters
from caltest.predictions.inputs.convert import as_sample

SETS = 400
CLUSTERS = [(10, 30, 0.3), (20, 10, 0.3), (60, 5, 0.3), (60, 20, 0.5), (200, 3, 0.8)]
"""Numbers of clusters and of rows in each, and the correlation of the normal scores of their outcomes."""


def events(rng, u):
    """More frequent than predicted: log odds 0.7 larger."""
    p = rng.beta(2, 6, u.size)
    return ct.Bernoulli(p), (u < expit(logit(p) + 0.7)).astype(int), "frequency", np.exp(0.7)


def rare_events(rng, u):
    """Twice the odds of one in a hundred."""
    p = rng.beta(1, 99, u.size)
    return ct.Bernoulli(p), (u < expit(logit(p) + np.log(2.0))).astype(int), "frequency", 2.0


def classes(rng, u):
    """Four overconfident ones."""
    p = rng.dirichlet(np.ones(4), u.size)
    truth = p**0.6 / (p**0.6).sum(axis=1, keepdims=True)
    return ct.Categorical(p), (u[:, None] > truth.cumsum(axis=1)[:, :-1]).sum(axis=1), "temperature", 1.0 / 0.6


def numbers(rng, u):
    """Normal ones, 1.4 times too narrow."""
    mean = rng.normal(size=u.size)
    return ct.Normal(mean, 1.0), mean + 1.4 * ndtri(u), "scale", 1.4


WRONG = {"events": events, "rare events": rare_events, "four classes": classes, "numbers": numbers}


def drawn(make, n_clusters, size, correlation, seed):
    """A sample with its clusters, and the kind and the size of what is wrong."""
    rng = np.random.default_rng([seed, n_clusters, size])
    c = np.repeat(np.arange(n_clusters), size)
    effects, own = rng.normal(size=n_clusters)[c], rng.normal(size=c.size)
    u = ndtr(np.sqrt(correlation) * effects + np.sqrt(1.0 - correlation) * own)
    law, y, kind, truth = make(rng, u)
    return as_sample(law, y), as_clusters(c), kind, truth


def coverage(make, n_clusters, size, correlation, sets):
    """Shares of data sets whose finding is the fault, and of those whose intervals hold: in clusters, and without."""
    named, covered, alone = 0, [], []
    for seed in range(sets):
        sample, clusters, kind, truth = drawn(make, n_clusters, size, correlation, seed)
        found = [told(sample, 0.001, clusters=clusters)["findings"], findings_of(sample)]
        for known, findings in zip((covered, alone), found, strict=True):
            if findings and findings[0].kind == kind:
                known.append(findings[0].interval.low <= truth <= findings[0].interval.high)
        named = len(covered)
    return named / sets, np.mean(covered), np.mean(alone)


CLAIMS = {
    "uniform": lambda rng, c, m: rng.uniform(0.02, 0.98, c * m),
    "equal in a cluster": lambda rng, c, m: np.repeat(rng.uniform(0.02, 0.98, c), m),
    "rare": lambda rng, c, m: rng.beta(1, 60, c * m),
    "sure": lambda rng, c, m: rng.beta(30, 1, c * m),
}
TRUTHS = [lambda p: p, lambda p: expit(logit(p) + 0.4), lambda p: expit(0.6 * logit(p))]
"""Calibrated, too low, too sure."""


def gaps_missed(claims, n_clusters, size, correlation, truth, sets):
    """Shares of data sets with the mean absolute difference below and above its interval."""
    found = []
    for seed in range(sets):
        rng, c = np.random.default_rng([seed, n_clusters, size]), np.repeat(np.arange(n_clusters), size)
        p = claims(rng, n_clusters, size)
        effects, own = rng.normal(size=n_clusters)[c], rng.normal(size=c.size)
        u = ndtr(np.sqrt(correlation) * effects + np.sqrt(1.0 - correlation) * own)
        sample, right = as_sample(p, (u < truth(p)).astype(int)), truth(p)
        gap = measures_of(sample, clusters=as_clusters(c))[0].gap
        wanted = np.abs(np.bincount(TENTHS.assign(p[:, None]), p - right)).sum() / c.size
        found.append((wanted < gap.low - 1e-12, wanted > gap.high + 1e-12))
    return np.mean(found, axis=0)


def main(sets):
    """Print the tables."""
    for name, make in WRONG.items():
        for setting in CLUSTERS:
            shares = " | ".join(f"{100 * one:.0f}" for one in coverage(make, *setting, sets))
            print(f"| {name} | {setting[0]} | {setting[1]} | {setting[2]} | {shares} |", flush=True)
    for name, claims in CLAIMS.items():
        for setting in CLUSTERS:
            missed = (gaps_missed(claims, *setting, truth, sets).sum() for truth in TRUTHS)
            held = " | ".join(f"{100 * (1 - one):.0f}" for one in missed)
            print(f"| {name} | {setting[0]} | {setting[1]} | {setting[2]} | {held} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SETS)
