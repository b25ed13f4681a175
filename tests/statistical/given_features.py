"""How often predictions are rejected given features, calibrated and not.

``python -m tests.statistical.given_features`` prints the tables of ``docs/validity.md``; a quarter of an hour;
those of the features that are named alone with ``named``, half an hour.
"""

import sys

import numpy as np

import caltest as ct
from caltest._basics.calls import pvalues_only
from caltest._basics.threads import streams
from caltest.predictions.inputs.convert import as_sample

from .slices_found import by_all, by_holm

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


def told(p, y, x, seed):
    """What the default test says of components and features."""
    sample, rng = as_sample(p, y), np.random.default_rng(seed)
    with pvalues_only():
        omnibus = ct.estimators.Omnibus(features=x).resolve(sample.predictions, seed)
        values = omnibus.values(sample.predictions, sample.predictions.with_redraws(sample.targets, streams(rng, 199)))
        return omnibus.told(sample, values, 1.0)


def names(kind, n, d, size, seed):
    """Whether at the 5 % level some right component is named, and some of the wrong column; the same of features.

    And whether something is found without the wrong column, or if all are right without some column.
    """
    said = told(*with_wrong_one(kind, n, d, size, seed), seed)
    found = ["given wrong" in one.name for one in said["components"] if (one.adjusted or 1.0) <= 0.05]
    features = [one.name == "wrong" for one in said["features"] if one.pvalue <= 0.05]
    rest = [one.without <= 0.05 for one in said["features"] if one.name == "wrong" or not size]
    right = [not all(one) if size else bool(one) for one in (found, features)]
    return right[0], any(found), right[1], any(features), any(rest)


def without_one_of_two(seed, n):
    """Whether something is found without one of two columns of which only the product of the signs is wrong."""
    p, y, x = wrong("sign of a product", 4, seed, n)
    said = told(p, y, {f"x{j}": column for j, column in enumerate(x.T)}, seed)["features"]
    return any(one.without <= 0.05 for one in said if one.name in ("x0", "x1"))


def pvalues(make, sets, n_resamples, features=True, kernel=False):
    """P-values of data sets, with their features or without, by the default test or that of a kernel."""
    found = []
    for seed in range(sets):
        p, y, x = make(seed)
        with pvalues_only():
            test = ct.MonteCarloTest(ct.SKCE(), n_resamples) if kernel else ct.OmnibusTest(n_resamples=n_resamples)
            found.append(test(p, y, features=x if features else None, rng=seed).pvalue)
    return np.array(found)


def beside_slices(words):
    """Rejections in % of the same data sets by the search of slices, and by all slices with the method of Holm."""
    rates = []
    for way in (by_all, by_holm):
        for d in (2, 20):
            found = [way(*wrong(words, d, seed), seed) for seed in range(SETS_OF_POWER)]
            rates.append(100.0 * np.mean(np.array(found) <= 0.05))
    return rates


def main():
    """Print the tables."""
    for kind, n in CALIBRATED:
        cells = []
        for kernel in (False, True):
            found = pvalues(lambda seed, kind=kind, n=n: calibrated(kind, n, seed), SETS, 99, kernel=kernel)
            cells += [f"{100 * (found <= alpha).mean():.1f}" for alpha in (0.05, 0.01)]
        print(f"| {kind} | {n} | {' | '.join(cells)} |", flush=True)
    for words in WRONG:
        rates = []
        for d, *how in ((2, False), (2, True), (20, True), (2, True, True), (20, True, True)):
            found = pvalues(lambda seed, words=words, d=d: wrong(words, d, seed), SETS_OF_POWER, 199, *how)
            rates.append(100 * (found <= 0.05).mean())
        rates += beside_slices(words)
        print(f"| {words} | {' | '.join(f'{rate:.0f}' for rate in rates)} |", flush=True)
    named()


def named():
    """Print the table of features that are named."""
    for kind, n, d, sets in NAMED:
        right = 100.0 * np.mean([names(kind, n, d, 0.0, seed) for seed in range(sets)], axis=0)[::2]
        wrong_ones = 100.0 * np.mean([names(kind, n, d, 0.8, seed) for seed in range(sets)], axis=0)
        numbers = " | ".join(f"{one:.1f}" for one in (*right, *wrong_ones))
        print(f"| {kind} | {n} | {d} | {numbers} | {sets} |", flush=True)
    for n in (100, 500):
        rate = 100.0 * np.mean([without_one_of_two(seed, n) for seed in range(500)])
        print(f"| without one of two | {n} | {rate:.1f} |", flush=True)


if __name__ == "__main__":
    named() if sys.argv[1:] == ["named"] else main()
