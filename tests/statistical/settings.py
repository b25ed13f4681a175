"""Settings and models of the simulations."""

import numpy as np
from scipy import stats

import caltest as ct
from caltest.predictions import Sample

SIZES = [16, 50, 250]
CLASSES = [2, 10]
CONCENTRATIONS = [0.1, 1.0]
FINE, COARSE = (0.05, 0.01), (0.5, 0.2, 0.05)
"""Levels of many data sets with 99 redraws, and of few with 19, which show a wrong size soonest at a large level."""


def spawn(*key):
    """An independent generator for each setting, whatever else is run."""
    return np.random.default_rng(np.random.SeedSequence(20190, spawn_key=key))


def dirichlet(rng, n, k, concentration):
    """Predictions drawn from Dir(a, ..., a) in log space, so that small a gives no rows of zeros."""
    logs = np.log(rng.gamma(concentration + 1.0, size=(n, k))) + np.log(rng.random((n, k))) / concentration
    p = np.exp(logs - logs.max(axis=1, keepdims=True))
    return ct.Categorical(p / p.sum(axis=1, keepdims=True))


def calibrated(rng, n, k, concentration):
    """Model M1 of Widmann et al. 2019: labels drawn from the predictions."""
    p = dirichlet(rng, n, k, concentration)
    return Sample(p, p.sample(rng))


def calibrated_normal(rng, n):
    """Calibrated model of Widmann et al. 2021, section 5.2 in one dimension: N(c, 0.1**2), c uniform."""
    p = ct.Normal(rng.random(n), 0.1)
    return Sample(p, p.sample(rng))


def band(n_simulations, alpha, confidence=0.99):
    """Numbers of rejections between which a binomial count lies with the given probability."""
    low, high = stats.binom.interval(confidence, n_simulations, alpha)
    return int(low), int(high)


def simulate(test, make, rng, n_simulations):
    """Results of a test on simulated samples."""
    for _ in range(n_simulations):
        sample = make(rng)
        yield test(sample.predictions, sample.targets, rng=rng)


def rejections(test, make, rng, n_simulations, alphas=FINE):
    """How often the test rejects, at each level."""
    pvalues = np.array([result.pvalue for result in simulate(test, make, rng, n_simulations)])
    return [int(np.count_nonzero(pvalues <= alpha)) for alpha in alphas]


def randomised_pvalue(result, rng):
    """The rank of the estimate with ties broken at random: exactly uniform under the null hypothesis."""
    draws, observed = result.null_distribution, result.statistic
    tolerance = 1e-10 * max(abs(observed), np.abs(draws).mean())
    above = np.count_nonzero(draws > observed + tolerance)
    equal = np.count_nonzero(np.abs(draws - observed) <= tolerance)
    return (above + rng.random() * (1 + equal)) / (1 + draws.size)


def _rows(p):
    return ct.Bernoulli(p) if p.ndim == 1 else ct.Categorical(p)


HARD = {
    "Beta(0.3, 12), n = 33": lambda r: _rows(r.beta(0.3, 12.0, 33)),
    "Beta(0.3, 60), n = 250": lambda r: _rows(r.beta(0.3, 60.0, 250)),
    "Beta(2, 98), n = 100": lambda r: _rows(r.beta(2.0, 98.0, 100)),
    "0.01, 0.1 or 0.5, n = 33": lambda r: _rows(r.choice([0.01, 0.1, 0.5], 33)),
    "5 of 0.5, 95 of 0.001": lambda r: _rows(np.where(np.arange(100) % 20 == 0, 0.5, 0.001 * r.uniform(0.9, 1.1, 100))),
    "10 of 0.3, 90 of 0.001": lambda r: _rows(
        np.where(np.arange(100) % 10 == 0, 0.3, 0.001 * r.uniform(0.9, 1.1, 100))
    ),
    "Dir(0.1), k = 2, n = 33": lambda r: dirichlet(r, 33, 2, 0.1),
    "Dir(0.1), k = 10, n = 33": lambda r: dirichlet(r, 33, 10, 0.1),
    "Dir(1), k = 10, n = 33": lambda r: dirichlet(r, 33, 10, 1.0),
    "Dir(1), k = 3, n = 250": lambda r: dirichlet(r, 250, 3, 1.0),
    "Poisson(Gamma(0.3) / 6), n = 100": lambda r: ct.Poisson(r.gamma(0.3, 1.0 / 6.0, 100) + 1e-6),
    "Normal(U(0, 1), 0.1), n = 33": lambda r: ct.Normal(r.random(33), 0.1),
    "Laplace(U(0, 1), 0.1), n = 33": lambda r: ct.Laplace(r.random(33), 0.1),
}
"""Calibrated predictions, as functions of a generator: rare events, ties, few uncertain rows, and ordinary ones."""
