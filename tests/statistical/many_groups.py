"""How often a test of many overlapping groups rejects some calibrated group, and a wrong one.

``python -m tests.statistical.many_groups`` prints the tables of ``docs/validity.md``; 15 minutes.
"""

import sys
from itertools import combinations

import numpy as np
from scipy.special import expit, logit

import caltest as ct
from caltest import group_test
from caltest._basics.calls import pvalues_only
from caltest.predictions.inputs.convert import as_sample

from .labels_and_choices import show

SIZES = [
    # predictions, n, number of groups, sets
    ("Beta(0.8, 3)", 1000, 40, 2000),
    ("Beta(0.8, 3)", 5000, 174, 1000),
    ("rare: Beta(0.3, 60)", 1000, 40, 2000),
    ("rare: Beta(0.3, 60)", 1000, 174, 1000),
    ("ties: 0.01, 0.1 or 0.5", 1000, 40, 2000),
    ("ties: 0.01, 0.1 or 0.5", 1000, 174, 1000),
    ("10 classes", 1000, 40, 1000),
    ("10 classes", 1000, 174, 500),
    ("Normal", 1000, 40, 1000),
    ("Normal", 1000, 174, 1000),
    ("Poisson(Gamma(0.3) / 6)", 1000, 40, 1000),
    ("pairs of rows: Beta(0.8, 3)", 1000, 500, 500),
]

COLUMNS = 2, 3, 4, 5, 6
"""Values of features: each value is a group, and each pair of values of two features."""


def groups(rng, n, number):
    """The first of 175 overlapping groups; more are groups of consecutive rows."""
    if number > 175:
        return np.arange(n) * number // n
    values = [rng.integers(0, m, n) for m in COLUMNS]
    masks = [one == v for one, m in zip(values, COLUMNS, strict=True) for v in range(m)]
    for (a, m), (b, k) in combinations(zip(values, COLUMNS, strict=True), 2):
        masks += [(a == v) & (b == w) for v in range(m) for w in range(k)]
    return np.stack(masks[:number], axis=1)


def predictions(kind, rng, n):
    if kind.startswith("10"):
        return ct.Categorical(rng.dirichlet(np.full(10, 0.3), n))
    if kind == "Normal":
        return ct.Normal(rng.normal(size=n), rng.uniform(0.5, 2.0, n))
    if kind.startswith("Poisson"):
        return ct.Poisson(rng.gamma(0.3, 1.0 / 6.0, n) + 1e-6)
    if kind.startswith("ties"):
        return ct.Bernoulli(rng.choice([0.01, 0.1, 0.5], n))
    return ct.Bernoulli(rng.beta(0.3, 60.0, n) if kind.startswith("rare") else rng.beta(0.8, 3.0, n))


def familywise(kind, n, number, sets, n_resamples=99):
    """Shares of calibrated data sets with a rejected group, at the levels of 5 % and 1 %."""

    def pvalue(seed):
        rng = np.random.default_rng([8, n, number, len(kind), seed])
        p = predictions(kind, rng, n)
        return ct.calibration_by_group(p, p.sample(rng), groups(rng, n, number), n_resamples=n_resamples, rng=seed)

    with pvalues_only():
        pvalues = np.array([pvalue(seed).pvalue for seed in range(sets)])
    return [float(np.mean(pvalues <= level)) for level in (0.05, 0.01)]


WRONG = [
    # fault of one group, number of groups, sets
    ("claims too low by 0.5 logits", 20, 100),
    ("claims too low by 0.5 logits", 174, 100),
    ("claims too sure, slope 0.55", 20, 100),
    ("claims too sure, slope 0.55", 174, 100),
    ("wave of 15 points", 174, 40),
    ("Normal: means too low by 0.22 sd", 174, 20),
    ("Normal: errors 15 % larger", 174, 20),
    ("10 classes: one 2 times too rare", 174, 30),
    ("10 classes: temperature 0.8", 174, 30),
]


def wrong(kind, number, seed, n=5000):
    """Predictions, outcomes that are wrong in one of some groups, these, and the number of the wrong one.

    Of 20 groups it is one of 3 values of a feature, with half of the fault; of 174 one of 12 pairs of values.
    """
    rng = np.random.default_rng([9, number, len(kind), seed])
    members, place, size = groups(rng, n, number), *((3, 0.5) if number == 20 else (46, 1.0))
    some, uniform, normal = members[:, place], rng.random(n), rng.normal(size=n)
    if kind.startswith("Normal"):
        p = ct.Normal(rng.normal(size=n), rng.uniform(0.5, 2.0, n))
        changed = normal + 0.22 * size if "means" in kind else normal * (1.0 + 0.15 * size)
        return p, p.mean + p.scale * np.where(some, changed, normal), members, place
    if kind.startswith("10"):
        p = rng.dirichlet(np.full(10, 0.3), n)
        q = p * np.exp(0.7 * (np.arange(10) == 3)) if "rare" in kind else p**0.8
        q = np.where(some[:, None], q / q.sum(axis=1, keepdims=True), p)
        return p, ct.Categorical(q).sample(rng), members, place
    p = rng.beta(0.8, 3.0, n) if "low" in kind else rng.uniform(0.02, 0.98, n)
    if "low" in kind:
        q = expit(logit(np.clip(p, 1e-9, 1.0 - 1e-9)) + 0.5)
    else:
        q = expit(0.55 * logit(p)) if "sure" in kind else np.clip(p + 0.15 * np.cos(4.0 * np.pi * p), 0.0, 1.0)
    return p, (uniform < np.where(some, p + size * (q - p), p)).astype(int), members, place


def power(kind, number, sums, sets, n_resamples=199):
    """Share of data sets in which the wrong group is rejected at the 5 % level, adjusted for all groups and alone."""

    def of_wrong(seed):
        p, y, members, place = wrong(kind, number, seed)
        kernel = as_sample(p, y).predictions.default_kernel()
        test = ct.GroupCalibrationTest(None if sums else ct.estimators.Omnibus(kernel), n_resamples)
        with pvalues_only():
            found = test(p, y, members, rng=seed)[str(place)]
        return found.adjusted <= 0.05, found.pvalue <= 0.05

    return [float(rate) for rate in np.mean([of_wrong(seed) for seed in range(sets)], axis=0)]


def main():
    for *what, sets in SIZES:
        show(*what, *(f"{100 * rate:.1f}" for rate in familywise(*what, sets)), sets)
    group_test.FEW = 0
    for *what, sets in WRONG:
        rates = power(*what, True, sets), power(*what, False, sets)
        show(*what, *(f"{100 * rate:.0f}" for one in rates for rate in one), sets)


if __name__ == "__main__":
    sys.exit(main())
