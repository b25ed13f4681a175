"""Rejections of calibrated predictions whose outcomes depend on each other through two crossed factors.

``python -m tests.statistical.crossed_clusters`` prints the tables of ``docs/validity.md``; a quarter of an hour.
"""

import sys

import numpy as np
from scipy.special import expit, logit, ndtr

import caltest as ct
from caltest._basics.calls import pvalues_only

KERNEL = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.3), ct.DeltaKernel())
NORMAL = ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 1.0), ct.GaussianKernel(bandwidth=1.0))
PREDICTIONS = {
    "uniform": lambda rng, a, b: rng.random(a.size),
    "alike": lambda rng, a, b: 0.02 + 0.96 * (0.6 * rng.random(a.max() + 1)[a] + 0.4 * rng.random(b.max() + 1)[b]),
    "rare: Beta(0.3, 12)": lambda rng, a, b: rng.beta(0.3, 12.0, a.size),
    "Normal": lambda rng, a, b: rng.normal(size=a.size),
}
"""Probabilities, or means, which are alike where rows share a level of a or b."""

SHARES = {"none": (0.0, 0.0, 0.0), "weak": (0.1, 0.1, 0.0), "strong": (0.4, 0.4, 0.0), "of a": (0.5, 0.0, 0.0)}
SHARES["of cells"] = (0.0, 0.0, 0.8)
"""Of the variance of outcomes, on the scale of a normal variable, that factors a and b and their cells have."""


def levels(rng, n, n_a, n_b, uneven):
    """The levels of both factors: all combinations equally often, or the j-th level in proportion to 1 / j."""
    if not uneven:
        return (np.arange(n) // n_b) % n_a, np.arange(n) % n_b
    shares = [1.0 / np.arange(1, number + 1) for number in (n_a, n_b)]
    return tuple(rng.choice(one.size, size=n, p=one / one.sum()) for one in shares)


FAULTS = {
    "logits + 0.5": lambda logits, a: logits + 0.5,
    "slope 0.6": lambda logits, a: 0.6 * logits,
    "slope 1.7": lambda logits, a: 1.7 * logits,
    "logits + 0.8 above 0.5": lambda logits, a: logits + 0.8 * (logits > 0.0),
    "logits + 0.8 in half of the levels of a": lambda logits, a: logits + 0.8 * (a % 2),
}
"""True logits, given those predicted and the level of a."""


def crossed(rng, n, n_a, n_b, uneven, kind, shares, fault=None):
    """Predictions, outcomes given them and a fault, and the levels of both factors."""
    a, b = levels(rng, n, n_a, n_b, uneven)
    effects = rng.normal(size=n_a)[a], rng.normal(size=n_b)[b], rng.normal(size=(n_a, n_b))[a, b], rng.normal(size=n)
    z = sum(np.sqrt(share) * one for share, one in zip((*shares, 1.0 - sum(shares)), effects, strict=True))
    p = PREDICTIONS[kind](rng, a, b)
    if kind == "Normal":
        return ct.Normal(p, np.ones(n)), p + z, (a, b)
    true = p if fault is None else expit(FAULTS[fault](logit(p), a))
    return p, (ndtr(z) < true).astype(int), (a, b)


def pvalues(seed, setting, fault=None):
    """With clusters of both factors, of the first alone, without any, and with rows that share no level."""
    rng = np.random.default_rng(seed)
    p, y, (a, b) = crossed(rng, *setting, fault)
    kernel = NORMAL if isinstance(p, ct.Normal) else KERNEL
    exact = ct.MonteCarloTest(ct.SKCE(kernel), 99)
    with pvalues_only():
        clustered = [ct.ClusterSKCETest(one, kernel, 99)(p, y, rng=1).pvalue for one in ((a, b), a)]
        apart = ct.estimators.one_per_cluster(p, y, (a, b), rng=1)
        return *clustered, exact(p, y, rng=1).pvalue, exact(*apart, rng=1).pvalue


SETTINGS = [
    # n, levels of a and b, whether they are uneven, predictions, dependence
    (400, 20, 20, False, "uniform", "none"),
    (400, 20, 20, False, "uniform", "strong"),
    (400, 20, 20, False, "alike", "strong"),
    (400, 20, 20, False, "Normal", "strong"),
    (400, 20, 20, False, "rare: Beta(0.3, 12)", "weak"),
    (400, 20, 20, False, "rare: Beta(0.3, 12)", "strong"),
    (500, 50, 10, True, "uniform", "none"),
    (500, 50, 10, True, "alike", "strong"),
    (500, 50, 10, True, "alike", "of a"),
    (400, 10, 10, False, "uniform", "of cells"),
    (400, 10, 10, False, "alike", "strong"),
    (400, 10, 10, False, "rare: Beta(0.3, 12)", "strong"),
    (1000, 10, 10, True, "alike", "strong"),
    (400, 5, 5, False, "alike", "strong"),
    *((2000, 40, 40, False, kind, "strong") for kind in ("uniform", "alike", "rare: Beta(0.3, 12)")),
]
WRONG = [(400, 20, 20, False, "uniform", "none"), (400, 20, 20, False, "uniform", "weak")]


def row(setting, fault, sets, alphas):
    """Rates of rejections in percent, of each test at each level."""
    n, n_a, n_b, uneven, kind, words = setting
    drawn = (*setting[:5], SHARES[words])
    found = np.array([pvalues([seed, n, n_a, n_b], drawn, fault) for seed in range(sets)])
    rates = [100.0 * (one <= alpha + 1e-9).mean() for one in found.T for alpha in alphas]
    size = f"{n_a} x {n_b}{', uneven' if uneven else ''}"
    what = (words,) if fault is None else (words, fault)
    return f"| {kind} | {n} | {size} | {' | '.join((*what, *(f'{one:.1f}' for one in rates)))} |"


def main(sets):
    """Print the tables."""
    for setting in SETTINGS:
        print(row(setting, None, sets, (0.05, 0.01)), flush=True)
    for setting in WRONG:
        for fault in FAULTS:
            print(row(setting, fault, 2 * sets // 5, (0.05,)), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
