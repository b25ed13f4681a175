"""Rejections of leave-one-out transforms of Bayesian linear regressions, which depend on each other.

``python -m tests.statistical.loo_sizes 400`` takes 400 data sets for each setting: a prior flat in the coefficients and
the logarithm of the scale, whose leave-one-out predictions are Student's t, with noise that is normal or t(3).
"""

import sys

import numpy as np
from scipy import stats

import caltest as ct
from caltest.fields import bayesian

STATISTICS = "KS", "AD", "POT", "PRIT", "PIET", "PITOS"
SETTINGS = (20, 2), (20, 10), (50, 25), (200, 20)


def transforms(x, y):
    """Of each outcome given all others: those of studentised residuals without it."""
    n, k = x.shape
    hat = x @ np.linalg.pinv(x)
    residual, leverage = y - hat @ y, np.diag(hat)
    square = residual @ residual
    scale = np.sqrt((square - residual**2 / (1 - leverage)) / (n - k - 1) * (1 - leverage))
    return stats.t.cdf(residual / scale, n - k - 1)


def rejected(n, k, noise, seed):
    rng = np.random.default_rng([41, n, k, seed])
    x = np.column_stack([np.ones(n), rng.normal(size=(n, k - 1))])
    pair = bayesian.loo_pit(transforms(x, noise(rng, n)))
    return [ct.PITTest(one)(*pair).pvalue <= 0.05 for one in STATISTICS]


def main(n_sets):
    print("n | coefficients | noise |", " | ".join(STATISTICS))
    noises = {"normal": lambda rng, n: rng.normal(size=n), "t(3)": lambda rng, n: rng.standard_t(3, n)}
    for n, k in SETTINGS:
        for name, noise in noises.items():
            share = np.mean([rejected(n, k, noise, seed) for seed in range(n_sets)], axis=0)
            print(n, k, name, *(f"{100 * one:.1f}" for one in share), sep=" | ", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
