"""How often predictions are rejected given features, calibrated and not.

``python -m tests.statistical.given_features`` prints the table of ``docs/validity.md``; five minutes.
"""

import numpy as np

import caltest as ct
from caltest.estimators.combined.findings import pvalues_only

CALIBRATED = [("rare", 16), ("rare", 250), ("ties", 50), ("normal", 50), ("classes", 100)]
WRONG = {
    "sign of one": lambda s, x, p: 0.15 * s[:, 0],
    "linear in one": lambda s, x, p: 0.1 * x[:, 0],
    "sign of a product": lambda s, x, p: 0.15 * s[:, 0] * s[:, 1],
    "sign of one times p - 0.5": lambda s, x, p: 0.15 * s[:, 0] * np.sign(p - 0.5),
    "0.075 too low for all": lambda s, x, p: 0.075,
}
SETS, SETS_OF_POWER = 1000, 100


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


def pvalues(make, sets, n_resamples, features=True):
    """P-values of data sets, with their features or without."""
    found = []
    for seed in range(sets):
        p, y, x = make(seed)
        with pvalues_only():
            test = ct.OmnibusTest(n_resamples=n_resamples, features=x if features else None)
            found.append(test(p, y, rng=seed).pvalue)
    return np.array(found)


def main():
    """Print the tables."""
    for kind, n in CALIBRATED:
        found = pvalues(lambda seed, kind=kind, n=n: calibrated(kind, n, seed), SETS, 99)
        print(f"| {kind} | {n} | {100 * (found <= 0.05).mean():.1f} | {100 * (found <= 0.01).mean():.1f} |", flush=True)
    for words in WRONG:
        rates = [
            100
            * (
                pvalues(lambda seed, words=words, d=d: wrong(words, d, seed), SETS_OF_POWER, 199, with_them) <= 0.05
            ).mean()
            for d, with_them in ((2, False), (2, True), (20, True))
        ]
        print(f"| {words} | {' | '.join(f'{rate:.0f}' for rate in rates)} |", flush=True)


if __name__ == "__main__":
    main()
