"""What audits decide about data sets that the default test rejects.

``python -m tests.statistical.audit_decisions [sets]`` prints the table of ``docs/validity.md``; half an hour.
"""

import sys
from collections import Counter

import numpy as np
from scipy.special import expit, softmax

import caltest as ct
from caltest._basics.calls import pvalues_only
from caltest.auditing.audit_result import REFUSE, REPAIR, UNKNOWN, USE
from caltest.auditing.decision import decision_of
from caltest.auditing.repair import of_recalibration
from caltest.auditing.section import Data
from caltest.predictions.inputs.convert import as_sample

SETS, DRAWS, MOST = 200, 99, 40
"""Data sets of a case, redraws, and data sets that are drawn for each that is rejected."""


def of_odds(wrong):
    """Claims whose log odds are a function of the true ones."""

    def make(rng, n):
        x = rng.normal(0.0, 1.5, n)
        return ct.Bernoulli(expit(wrong(x, rng))), (rng.random(n) < expit(x)).astype(int)

    return make


def of_classes(wrong, k=4):
    """Probabilities of classes from a function of the logits."""

    def make(rng, n):
        z = rng.normal(0.0, 1.5, (n, k))
        return ct.Categorical(softmax(wrong(z, rng), axis=1)), ct.Categorical(softmax(z, axis=1)).sample(rng)

    return make


def of_normals(wrong):
    """Normal distributions with errors that are a function of standard normal ones."""

    def make(rng, n):
        mean, sd = rng.normal(0.0, 2.0, n), np.exp(rng.normal(0.0, 0.4, n))
        return ct.Normal(mean, sd), mean + sd * wrong(rng.normal(size=n))

    return make


def of_counts(rng, n):
    """Poisson predictions of counts of variance mean + mean**2 / 2."""
    mean = rng.lognormal(1.0, 0.5, n)
    return ct.Poisson(mean), rng.poisson(mean * rng.gamma(2.0, 0.5, n))


def of_ensembles(m, wrong):
    """Normal members around a centre, from which outcomes differ by a function of standard normal numbers."""

    def make(rng, n):
        centre = rng.normal(0.0, 2.0, n)
        return ct.Ensemble(centre[:, None] + rng.normal(size=(n, m))), centre + wrong(rng.normal(size=n))

    return make


def of_quantiles(wrong):
    """Quantiles at five levels of the same normal distributions."""

    def make(rng, n):
        predictions, y = of_normals(wrong)(rng, n)
        levels = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
        return ct.QuantileForecast(levels, predictions.quantile(levels[:, None]).T), y

    return make


CASES = [
    ("right", of_odds(lambda x, rng: x), 200),
    ("right, four classes", of_classes(lambda z, rng: z), 200),
    ("temperature 1.5", of_odds(lambda x, rng: 1.5 * x), 200),
    ("temperature 1.5", of_odds(lambda x, rng: 1.5 * x), 1000),
    ("four classes, temperature 1.6", of_classes(lambda z, rng: 1.6 * z), 200),
    ("four classes, temperature 1.6", of_classes(lambda z, rng: 1.6 * z), 1000),
    ("normal, errors 1.3 times as large", of_normals(lambda e: 1.3 * e), 200),
    ("normal, shifted by 0.4", of_normals(lambda e: 0.4 + e), 200),
    ("normal, shifted by 0.4, errors 0.7 times as large", of_normals(lambda e: 0.4 + 0.7 * e), 1000),
    ("Poisson for overdispersed counts", of_counts, 200),
    ("quantiles, shifted by 0.4", of_quantiles(lambda e: 0.4 + e), 200),
    ("20 members, shifted by 0.4", of_ensembles(20, lambda e: 0.4 + e), 200),
    ("20 members, errors 1.5 times as large", of_ensembles(20, lambda e: 1.5 * e), 500),
    ("5 members, errors 1.5 times as large", of_ensembles(5, lambda e: 1.5 * e), 500),
    ("a fifth of rows with odds e^1.5 too large", of_odds(lambda x, rng: x + 1.5 * (rng.random(x.size) < 0.2)), 1000),
    ("a wave of log odds", of_odds(lambda x, rng: x + 1.2 * np.sin(2.5 * x)), 1000),
    ("a wave of log odds", of_odds(lambda x, rng: x + 1.2 * np.sin(2.5 * x)), 4000),
    ("temperatures of rows", of_classes(lambda z, rng: z * rng.lognormal(0.5, 0.8, (len(z), 1))), 200),
    ("normal, errors with a longer tail above", of_normals(lambda e: np.exp(0.7 * e) - np.exp(0.245)), 1000),
]
"""What is wrong with the predictions: nothing, what a map mends, and what none that is tried does."""


def decided(make, n, seed):
    """The decision about the first data set of a seed that is rejected, and whether a map helps; None without one."""
    rng = np.random.default_rng([seed, n, 41])
    for _ in range(MOST):
        predictions, y = make(rng, n)
        with pvalues_only():
            rejected = ct.OmnibusTest(n_resamples=DRAWS)(predictions, y, rng=seed).pvalue <= 0.05
        if rejected:
            break
    else:
        return None
    result = ct.calibration_test(predictions, y, n_resamples=DRAWS, rng=seed)
    sample = as_sample(predictions, y)
    repair = of_recalibration(Data(sample, None, None, None, None, n, DRAWS, seed), result)
    decision, _ = decision_of(result, repair)
    return f"{decision}, a map helps" if decision == REFUSE and repair.helps else decision


def main(sets):
    """Print the table."""
    for name, make, n in CASES:
        found = Counter(one for seed in range(sets) if (one := decided(make, n, seed)) is not None)
        total = sum(found.values())
        shares = [100 * found[one] / total for one in (USE, REPAIR, f"{REFUSE}, a map helps", REFUSE, UNKNOWN)]
        print(f"| {name} | {n:,} | {total} |", " | ".join(f"{one:.0f}" for one in shares), "|", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SETS)
