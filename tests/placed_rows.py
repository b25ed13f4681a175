"""Calibrated rows of each family, which can be told from rows that are in another place."""

import numpy as np
from scipy import special

import caltest as ct


def data(family, n, seed=1):
    rng = np.random.default_rng(seed)
    m, s = rng.normal(0.0, 3.0, n), np.exp(0.3 * rng.normal(size=n))
    walk, level = np.cumsum(rng.normal(size=n)), rng.gamma(1.0, 8.0, n)
    members, vectors = m[:, None] + rng.normal(size=(n, 20)), rng.normal(0.0, 3.0, (n, 2))
    made = {
        "classes": lambda: ct.Categorical(rng.dirichlet(np.full(4, 0.3), n)),
        "claims": lambda: ct.Bernoulli(rng.beta(0.3, 0.3, n)),
        "normal": lambda: ct.Normal(m, s),
        "a random walk": lambda: ct.Normal(walk, np.full(n, 0.5)),
        "heavy tails": lambda: ct.StudentT(np.full(n, 4.0), m, s),
        "counts": lambda: ct.Poisson(level),
        "vectors": lambda: ct.MvNormal(vectors, np.ones((n, 2))),
    }
    if family == "ensembles":
        return ct.Ensemble(members), m + rng.normal(size=n)
    if family == "members of vectors":
        return ct.Ensemble(vectors[:, None] + rng.normal(size=(n, 20, 2))), vectors + rng.normal(size=(n, 2))
    if family == "quantiles":
        levels = [0.1, 0.3, 0.5, 0.9]
        return ct.QuantileForecast(levels, m[:, None] + s[:, None] * special.ndtri(levels)), m + s * rng.normal(size=n)
    predictions = made[family]()
    return predictions, predictions.sample(rng)


FAMILIES = ["classes", "claims", "normal", "a random walk", "heavy tails", "counts", "vectors", "ensembles"]
FAMILIES += ["members of vectors", "quantiles"]
