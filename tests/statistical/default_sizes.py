"""How often the default test rejects calibrated predictions of every family: a table of ``docs/validity.md``.

``python -m tests.statistical.default_sizes [number of sets [first row [last row]]]``.
"""

import sys

import numpy as np
from scipy import stats

import caltest as ct
from caltest._basics.calls import pvalues_only

from .settings import dirichlet, spawn

LEVELS = 0.05, 0.01


def ordered(rng):
    return ct.Ordinal(rng.dirichlet(np.ones(5), 50))


def vectors(rng):
    factor = np.tril(rng.normal(size=(3, 3))) + 2.0 * np.eye(3)
    return ct.MvNormal(rng.normal(size=(100, 3)), np.broadcast_to(factor @ factor.T, (100, 3, 3)))


def members(rng):
    """Members, and with them the law of the outcomes of ensembles that are exchangeable with them."""
    return ct.Normal(rng.normal(size=100), rng.uniform(0.5, 2.0, 100))


def quantiles(rng):
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    mean, scale = rng.normal(size=(2, 200, 1))
    return ct.QuantileForecast(levels, mean + np.exp(0.3 * scale) * stats.norm.ppf(levels))


SETTINGS = {
    "3 classes, Dir(1), n = 16": lambda r: dirichlet(r, 16, 3, 1.0),
    "10 classes, Dir(0.1), n = 50": lambda r: dirichlet(r, 50, 10, 0.1),
    "10 classes, Dir(1), n = 400": lambda r: dirichlet(r, 400, 10, 1.0),
    "40 classes, Dir(0.1), n = 400": lambda r: dirichlet(r, 400, 40, 0.1),
    "1,000 classes, Dir(0.1), n = 400": lambda r: dirichlet(r, 400, 1000, 0.1),
    "binary, rare: Beta(0.3, 60), n = 250": lambda r: ct.Bernoulli(r.beta(0.3, 60.0, 250)),
    "binary, ties: 0.01, 0.1 or 0.5, n = 100": lambda r: ct.Bernoulli(r.choice([0.01, 0.1, 0.5], 100)),
    "5 ordered classes, n = 50": ordered,
    "normal, n = 16": lambda r: ct.Normal(r.normal(size=16), r.uniform(0.5, 2.0, 16)),
    "normal, means of 10,000 and scales of 0.001, n = 200": lambda r: ct.Normal(
        1e4 + r.normal(size=200), 1e-3 * r.uniform(0.5, 2.0, 200)
    ),
    "gamma, n = 100": lambda r: ct.Gamma(r.uniform(0.3, 5.0, 100), r.uniform(0.5, 2.0, 100)),
    "vectors of 3 numbers, n = 100": vectors,
    "Poisson, rare: Gamma(0.3) / 6, n = 100": lambda r: ct.Poisson(r.gamma(0.3, 1.0 / 6.0, 100) + 1e-6),
    "negative binomial, n = 100": lambda r: ct.NegativeBinomial(r.gamma(2.0, 2.0, 100), r.uniform(0.1, 0.9, 100)),
    "ensembles of 10 members, n = 100": members,
    "quantiles, n = 200": quantiles,
}


def pvalue(make, rng):
    predictions = make(rng)
    outcomes = predictions.sample(rng)
    if make is members:
        predictions = ct.Ensemble(np.stack([predictions.sample(rng) for _ in range(10)], axis=1))
    return ct.calibration_test(predictions, outcomes, n_resamples=99, rng=rng).pvalue


def main(sets=2000, first=0, last=None):
    print("| calibrated predictions | 5 % level | 1 % level |\n|---|---:|---:|")
    for index, (name, make) in list(enumerate(SETTINGS.items()))[first:last]:
        rng = spawn(61, index)
        with pvalues_only():
            pvalues = np.array([pvalue(make, rng) for _ in range(sets)])
        print(f"| {name} | {' | '.join(f'{100 * np.mean(pvalues <= one):.1f}' for one in LEVELS)} |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
