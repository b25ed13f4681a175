"""How often tests of calibrated predictions of cross-validation reject: a table of ``docs/validity.md``.

``python -m tests.statistical.fold_sizes [number of sets]``. The models need no library: each predicts the true law
given one of 30 features, the one that fits the other folds best, so that it is calibrated for rows it has not seen.
"""

import sys

import numpy as np

import caltest as ct

N, FEATURES, CORRELATION = 200, 30, 0.9


def cross_validated(n_folds, rng):
    """Predictions (n,) that are calibrated for new rows, their outcomes and folds."""
    y = rng.standard_normal(N)
    x = CORRELATION * y[:, None] + np.sqrt(1.0 - CORRELATION**2) * rng.standard_normal((N, FEATURES))
    folds, mean = np.arange(N) % n_folds, np.empty(N)
    for fold in range(n_folds):
        others = folds != fold
        best = np.square(y[others, None] - CORRELATION * x[others]).sum(axis=0).argmin()
        mean[~others] = CORRELATION * x[~others, best]
    return ct.Normal(mean, np.sqrt(1.0 - CORRELATION**2)), y, folds


def rejected(n_folds, seed):
    """Whether all rows pooled, folds with Bonferroni, and the p-value of all groups reach the 5 % level."""
    p, y, folds = cross_validated(n_folds, np.random.default_rng([17, n_folds, seed]))
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 1.0), ct.GaussianKernel(bandwidth=1.0))
    pooled = ct.MonteCarloTest(ct.SKCE(kernel), n_resamples=199)(p, y, rng=seed).pvalue
    groups = ct.GroupCalibrationTest(kernel, n_resamples=199)(p, y, folds, rng=seed)
    smallest = min(group.pvalue for group in groups.groups)
    return pooled <= 0.05, n_folds * smallest <= 0.05, groups.pvalue <= 0.05


if __name__ == "__main__":
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(f"| n = {N}, normal, {sets} sets, % rejected | all rows pooled | folds, Bonferroni | all groups |")
    print("|---|---:|---:|---:|")
    for n_folds in (2, 5, 10):
        rates = 100.0 * np.mean([rejected(n_folds, seed) for seed in range(sets)], axis=0)
        print(f"| {n_folds} folds | {' | '.join(f'{rate:.1f}' for rate in rates)} |", flush=True)
