"""How often 95 % intervals of errors hold the truth where few events, or few uncertain claims, say what it is.

``python -m tests.statistical.rare_intervals [sets]`` prints the table of ``docs/validity.md``; ten minutes.
"""

import sys

import numpy as np
from scipy.special import expit, logit

import caltest as ct
from caltest.decompositions.confidence_errors import ERRORS
from caltest.decompositions.parts import PARTS, Parts

SETS, ROUNDING = 200, 1e-9
CLAIMS = {
    "Beta(0.3, 60), n = 250": lambda rng: rng.beta(0.3, 60.0, 250) + 1e-9,
    "about 0.001, n = 2,000": lambda rng: 0.001 * rng.uniform(0.5, 2.0, 2000),
    "about 0.999, n = 250": lambda rng: 1.0 - 0.001 * rng.uniform(0.5, 2.0, 250),
    "the same, 5 of 0.6": lambda rng: np.append(1.0 - 0.001 * rng.uniform(0.5, 2.0, 245), 0.6 + 0.01 * rng.random(5)),
    "0.01, 0.1 or 0.5, n = 33": lambda rng: rng.choice([0.01, 0.1, 0.5], 33),
    "uniform, n = 16": lambda rng: rng.random(16),
    "0.9 or 0.97, n = 60": lambda rng: rng.choice([0.9, 0.97], 60),
    "all 0.999, n = 100": lambda rng: np.full(100, 0.999),
}
TRUTHS = {
    "right": lambda p: p,
    "log odds 1 higher": lambda p: expit(logit(p) + 1.0),
    "0.6 times": lambda p: expit(0.6 * logit(p)),
}


def of_confidences(p, truth, y, seed):
    """Of the means of confidences of wrong and right predictions, and of the accuracy."""
    found = ct.confidence_errors(p, y, confidence_level=0.95, n_resamples=299, rng=seed).intervals
    confidence, right = np.where(p > 0.5, p, 1.0 - p), np.where(p > 0.5, truth, 1.0 - truth)
    over = (confidence * (1.0 - right)).sum() / (1.0 - right).sum()
    wanted = over, ((1.0 - confidence) * right).sum() / right.sum(), right.mean()
    return [holds(found[name], one) for name, one in zip(ERRORS, wanted, strict=True)]


def of_scores(p, truth, y, seed):
    """Of the parts of the Brier score, with isotonic regression."""
    if np.unique(p).size == 1:
        return [np.nan] * len(PARTS)
    found = ct.score_decomposition(p, y, confidence_level=0.95, n_resamples=99, rng=seed).intervals
    wanted = Parts.of(ct.Bernoulli(p), "brier", None).of_law(np.column_stack([1.0 - truth, truth]))
    return [holds(found[name], one) for name, one in zip(PARTS, wanted, strict=True)]


def of_bins(p, truth, y, seed):
    """Of the squared error over 15 bins of equal numbers; those of one observation are left out."""
    bins = ct.binning.QuantileBinning(15)
    cells = bins.assign(p[:, None])
    sizes, sums = np.bincount(cells), np.bincount(cells, p - truth)
    kept = sizes >= 2
    if not kept.any():
        return [np.nan] * 3
    wanted = float((sums[kept] ** 2 / sizes[kept]).sum() / sizes[kept].sum())
    return [holds(ct.binned_error_interval(p, y, bins, side=side), wanted) for side in ("two-sided", "upper", "lower")]


def holds(interval, wanted):
    return float(interval.low - ROUNDING <= wanted <= interval.high + ROUNDING)


def coverage(claims, truth, sets):
    """Shares of data sets in which each of the ten intervals holds, NaN for those that are not defined."""
    found = []
    for seed in range(sets):
        rng = np.random.default_rng([seed, 29])
        p = claims(rng)
        q = truth(p)
        y = (rng.random(p.size) < q).astype(int)
        found.append([one for of in (of_confidences, of_scores, of_bins) for one in of(p, q, y, seed)])
    return np.mean(found, axis=0)


if __name__ == "__main__":
    for name, claims in CLAIMS.items():
        for words, truth in TRUTHS.items():
            shares = coverage(claims, truth, int(sys.argv[1]) if len(sys.argv) > 1 else SETS)
            print(
                f"| {name} | {words} |",
                " | ".join("" if np.isnan(one) else f"{100 * one:.0f}" for one in shares),
                "|",
                flush=True,
            )
