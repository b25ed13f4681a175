"""Power of the default test against faults that cancel over all predictions, beside that of the SKCE alone.

``python -m tests.statistical.faults_in_parts`` prints the table of ``docs/validity.md``; about six minutes.
"""

import numpy as np

import caltest as ct
from caltest._basics.calls import pvalues_only

SETS = 1000


def labels(rng, p):
    return (p.cumsum(axis=1) > rng.random((len(p), 1))).argmax(axis=1)


def rare_class(rng, n=400):
    """A rare one of five classes, 2.5 times as frequent where others are predicted."""
    p = rng.dirichlet([0.15, 1, 1, 1, 1], n)
    more = np.minimum(2.5 * p[:, 0], 1.0)
    others = p[:, 1:] * ((1.0 - more) / (1.0 - p[:, 0]))[:, None]
    return ct.Categorical(p), labels(rng, np.column_stack([more, others]))


def bump(rng, n=500):
    """Events of probability p + 0.2 where p is between 0.4 and 0.6."""
    p = rng.random(n)
    return ct.Bernoulli(p), (rng.random(n) < np.where((p > 0.4) & (p < 0.6), p + 0.2, p)).astype(int)


def temperatures(rng, n=400):
    """Too bold where one of the first two of four classes is the most probable, too timid elsewhere."""
    p = rng.dirichlet(np.ones(4), n)
    q = p ** np.where(p.argmax(axis=1) < 2, 1 / 1.8, 1.8)[:, None]
    return ct.Categorical(p), labels(rng, q / q.sum(axis=1, keepdims=True))


def correlation(rng, n=100):
    """Errors of two coordinates whose correlation is 0.5, where none is predicted."""
    m, z = rng.normal(size=(2, n, 2))
    z[:, 1] = 0.5 * z[:, 0] + np.sqrt(0.75) * z[:, 1]
    return ct.MvNormal(m, np.ones((n, 2))), m + z


def scales(rng, n=250):
    """Errors 1.3 times as large as predicted where the mean is above 0, and 0.77 times elsewhere."""
    m, z = rng.normal(size=(2, n))
    return ct.Normal(m, np.ones(n)), m + z * np.where(m > 0, 1.3, 0.77)


def biases(rng, n=250):
    """Outcomes 0.35 standard deviations higher where these are large, and as much lower elsewhere."""
    m, z = rng.normal(size=(2, n))
    s = np.exp(0.5 * rng.normal(size=n))
    return ct.Normal(m, s), m + s * (z + np.where(s > 1, 0.35, -0.35))


def elasticity(rng, n=300):
    """Counts whose means are the predicted ones to the power of 1.25."""
    m = rng.gamma(4.0, 1.0, n)
    return ct.Poisson(m), rng.poisson(m**1.25 * m.mean() / (m**1.25).mean())


FAULTS = {
    "a rare class 2.5 times as frequent": (rare_class, 0.92),
    "4 classes: too bold for two of them, too timid for the others": (temperatures, 0.975),
    "binary: p + 0.2 between 0.4 and 0.6": (bump, 0.79),
    "vectors of 2: a correlation of 0.5": (correlation, 0.94),
    "normal: errors x 1.3 for high means, x 0.77 for low ones": (scales, 0.95),
    "normal: 0.35 sd too low where the spread is large, too high elsewhere": (biases, 0.865),
    "Poisson: the mean to the power of 1.25": (elasticity, 0.70),
}
"""Data sets, and the power that the default test is to have at 5 %."""


def rejected(make, test, sets, key):
    """How many of data sets have a p-value of at most 0.05."""
    with pvalues_only():
        return sum(test(*make(np.random.default_rng([key, i])), rng=i).pvalue <= 0.05 for i in range(sets))


if __name__ == "__main__":
    print("| fault | n | default test | `MonteCarloTest(SKCE())` |")
    print("|---|---:|---:|---:|")
    for name, (make, _) in FAULTS.items():
        tests = ct.OmnibusTest(n_resamples=199), ct.MonteCarloTest(ct.SKCE(), 199)
        powers = [100 * rejected(make, test, SETS, 7) / SETS for test in tests]
        n = make.__defaults__[0]
        print(f"| {name} | {n} | {powers[0]:.1f} | {powers[1]:.1f} |", flush=True)
