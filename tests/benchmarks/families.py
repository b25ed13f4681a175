"""Parameters of predictions of many families, made from a seed by every implementation for itself."""

import numpy as np

SEED = 2
WIDTH, BANDWIDTH = 0.7, 1.0
"""Bandwidths of the Gaussian kernel of targets (0.7 of a typical standard deviation) and of that of predictions."""

STRIP = 100
"""Rows of a strip, where the arrays of all pairs do not fit into memory."""

COMPONENTS, MEMBERS, DIMENSIONS, LEVELS = 10, 50, 10, 7


def parameters(family, n):
    """Arrays of n predictions, and targets."""
    rng = np.random.default_rng(SEED)
    return {
        "normal": lambda: (rng.normal(size=n), rng.uniform(0.2, 1.5, n), rng.normal(size=n)),
        "laplace": lambda: (rng.normal(size=n), rng.uniform(0.2, 1.5, n), rng.normal(size=n)),
        "diagonal": lambda: (
            rng.normal(size=(n, DIMENSIONS)) / 3,
            rng.uniform(0.05, 0.3, (n, DIMENSIONS)),
            rng.normal(size=(n, DIMENSIONS)) / 2,
        ),
        "full": lambda: (
            rng.normal(size=(n, DIMENSIONS)) / 3,
            _covariances(rng.normal(size=(n, DIMENSIONS, DIMENSIONS)) / 6),
            rng.normal(size=(n, DIMENSIONS)) / 2,
        ),
        "mixture": lambda: (
            rng.normal(size=(n, COMPONENTS)),
            rng.uniform(0.2, 1.5, (n, COMPONENTS)),
            rng.normal(size=n),
        ),
        "ensemble": lambda: (rng.normal(size=(n, 1)) + rng.normal(size=(n, MEMBERS)), rng.normal(size=n)),
        "student": lambda: (
            rng.uniform(3.0, 10.0, n),
            rng.normal(size=n),
            rng.uniform(0.2, 1.5, n),
            rng.normal(size=n),
        ),
        "gamma": lambda: (rng.uniform(2.0, 10.0, n), rng.uniform(0.1, 0.5, n), rng.gamma(4.0, 0.3, n)),
        "lognormal": lambda: (rng.normal(size=n) / 2, rng.uniform(0.2, 0.8, n), rng.lognormal(size=n)),
        "beta": lambda: (rng.uniform(1.0, 10.0, n), rng.uniform(1.0, 10.0, n), rng.random(n)),
        "poisson": lambda: (rng.uniform(1.0, 20.0, n), rng.poisson(8.0, n)),
        "negative binomial": lambda: (rng.uniform(2.0, 6.0, n), rng.uniform(0.2, 0.6, n), rng.poisson(8.0, n)),
        "ordinal": lambda: (rng.dirichlet(np.ones(LEVELS), n), rng.integers(0, LEVELS, n)),
    }[family.partition(",")[0]]()


def _covariances(factors):
    return factors @ factors.swapaxes(1, 2)
