"""How often predictions are rejected given features, calibrated and not.

``python -m tests.statistical.given_features`` prints the tables of ``docs/validity.md``; a quarter of an hour;
that of the features that are named alone with ``named``, another quarter.
"""

import sys
from functools import partial

import numpy as np

import caltest as ct
from caltest._basics.jobs import streams
from caltest.estimators.combined.findings import pvalues_only
from caltest.predictions.convert import as_sample

CALIBRATED = [("rare", 16), ("rare", 250), ("ties", 50), ("normal", 50), ("classes", 100)]
WRONG = {
    "sign of one": lambda s, x, p: 0.15 * s[:, 0],
    "linear in one": lambda s, x, p: 0.1 * x[:, 0],
    "sign of a product": lambda s, x, p: 0.15 * s[:, 0] * s[:, 1],
    "sign of one times p - 0.5": lambda s, x, p: 0.15 * s[:, 0] * np.sign(p - 0.5),
    "0.075 too low for all": lambda s, x, p: 0.075,
}
SETS, SETS_OF_POWER = 1000, 100
NAMED = [("rare", 16, 7, 500), ("ties", 50, 7, 500)]
NAMED += [(kind, n, 7, 500) for n in (250, 2000) for kind in ("rare", "ties", "four classes")]


def calibrated(kind, n, seed):
    """Predictions, outcomes, and features of all kinds, of which one is a function of the predictions."""
    rng = np.random.default_rng([8, n, seed])
    if kind == "normal":
        mean = rng.standard_normal(n)
        predictions, targets = ct.Normal(mean, 1.0), mean + rng.standard_normal(n)
    elif kind == "classes":
        predictions = ct.Categorical(rng.dirichlet(np.full(4, 0.3), n))
        mean, targets = predictions.probabilities[:, 0], predictions.sample(rng)
    else:
        mean = rng.beta(0.3, 12.0, n) if kind == "rare" else rng.choice([0.1, 0.5, 0.9], n)
        predictions, targets = mean, (rng.random(n) < mean).astype(int)
    heavy = np.where(rng.random(n) < 0.2, np.nan, rng.standard_cauchy(n))
    features = {"of the prediction": np.round(mean, 1), "heavy": heavy, "site": rng.choice(list("aaaabbc"), n)}
    return predictions, targets, features | {"rare": rng.random(n) < 0.1, "number": rng.poisson(2.0, n)}


def wrong(words, d, seed, n=500):
    """Binary outcomes whose probabilities differ from the predictions by a function of one or two of d features."""
    rng = np.random.default_rng([9, d, seed])
    x, p = rng.standard_normal((n, d)), rng.uniform(0.2, 0.8, n)
    truth = np.clip(p + WRONG[words](np.sign(x), x, p), 0.0, 1.0)
    return p, (rng.random(n) < truth).astype(int), x


def with_wrong_one(kind, n, d, size, seed):
    """Predictions that are right given all of d columns but the first, "wrong", and given that too for ``size`` 0.

    The others are all kinds of columns: one is constant, one a function of the predictions, some are copies.
    """
    predictions, _, features = calibrated("classes" if kind == "four classes" else kind, n, seed)
    rng = np.random.default_rng([10, n, d, seed])
    p = predictions.probabilities if kind == "four classes" else np.column_stack([1.0 - predictions, predictions])
    sign = rng.choice([-1.0, 1.0], n)
    change = size * sign * np.minimum(p[:, 0], p[:, 1])
    true = np.clip(p + np.outer(change, np.append([-1.0, 1.0], np.zeros(p.shape[1] - 2))), 0.0, 1.0)
    targets = np.minimum((np.cumsum(true, axis=1) < rng.random((n, 1))).sum(axis=1), p.shape[1] - 1)
    features = {"wrong": sign * (1.0 + rng.random(n)), "constant": np.ones(n)} | features
    makers = (rng.standard_normal, lambda n: rng.integers(0, 3, n), lambda n: rng.random(n) < 0.02)
    for j in range(len(features), d):
        features[f"x{j}"] = features[f"x{j - 3}"] if j % 5 == 1 else makers[j % 3](n)
    return predictions, targets, features


def names(kind, n, d, size, seed):
    """Whether some right component is named at the 5 % level, and whether one of the wrong column is."""
    p, y, x = with_wrong_one(kind, n, d, size, seed)
    sample, rng = as_sample(p, y), np.random.default_rng(seed)
    with pvalues_only():
        omnibus = ct.estimators.Omnibus(features=x).resolve(sample.predictions, seed)
        values = omnibus.values(sample.predictions, sample.predictions.with_redraws(sample.targets, streams(rng, 199)))
        found = [one.name for one in omnibus.told(sample, values, 1.0)["components"] if (one.adjusted or 1.0) <= 0.05]
    of_wrong = ["given wrong" in name for name in found]
    return not all(of_wrong) if size else bool(found), any(of_wrong)


def pvalues(make, sets, n_resamples, features=True, kernel=False):
    """P-values of data sets, with their features or without, by the default test or that of a kernel."""
    found = []
    for seed in range(sets):
        p, y, x = make(seed)
        with pvalues_only():
            settings = {"kernel": ct.Bernoulli(p).default_kernel()} if kernel else {}
            test = partial(ct.calibration_test, n_resamples=n_resamples, features=x if features else None, **settings)
            found.append(test(p, y, rng=seed).pvalue)
    return np.array(found)


def main():
    """Print the tables."""
    for kind, n in CALIBRATED:
        found = pvalues(lambda seed, kind=kind, n=n: calibrated(kind, n, seed), SETS, 99)
        print(f"| {kind} | {n} | {100 * (found <= 0.05).mean():.1f} | {100 * (found <= 0.01).mean():.1f} |", flush=True)
    for words in WRONG:
        rates = []
        for d, *how in ((2, False), (2, True), (20, True), (2, True, True), (20, True, True)):
            found = pvalues(lambda seed, words=words, d=d: wrong(words, d, seed), SETS_OF_POWER, 199, *how)
            rates.append(100 * (found <= 0.05).mean())
        print(f"| {words} | {' | '.join(f'{rate:.0f}' for rate in rates)} |", flush=True)
    named()


def named():
    """Print the table of features that are named."""
    for kind, n, d, sets in NAMED:
        right = 100.0 * np.mean([names(kind, n, d, 0.0, seed)[0] for seed in range(sets)])
        wrong_ones = 100.0 * np.mean([names(kind, n, d, 0.8, seed) for seed in range(sets)], axis=0)
        numbers = " | ".join(f"{one:.1f}" for one in (right, *wrong_ones))
        print(f"| {kind} | {n} | {d} | {numbers} | {sets} |", flush=True)


if __name__ == "__main__":
    named() if sys.argv[1:] == ["named"] else main()
