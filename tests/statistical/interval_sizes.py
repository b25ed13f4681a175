"""How often intervals that cover as they claim are rejected: the table of ``docs/validity.md``.

``python -m tests.statistical.interval_sizes [number of sets]``; two minutes of one processor.
"""

import sys

import numpy as np
from scipy.special import ndtri

import caltest as ct
from caltest._basics.calls import pvalues_only

TRUE, CONFORMAL = "true quantiles", "split conformal, 100 rows"
SETTINGS = [(TRUE, 0.5, 16), (TRUE, 0.9, 100), (TRUE, 0.99, 100), (TRUE, 0.9, 1000)]
SETTINGS += [(CONFORMAL, 0.9, 100), (CONFORMAL, 0.9, 1000)]


def drawn(what, level, n, rng):
    """Intervals around means whose errors grow with a feature, outcomes, and the feature."""
    x = rng.random(n)
    y = rng.normal(x, 1.0 + x)
    scores = np.sort(np.abs(rng.normal(size=100)))
    width = scores[int(np.ceil(level * 101)) - 1] if what == CONFORMAL else ndtri((1.0 + level) / 2.0)
    return np.stack([x - width * (1.0 + x), x + width * (1.0 + x)], axis=1), y, x


def rejected(what, level, n, seed):
    """Whether the 5 % level is reached by coverage, by coverage given a feature, and by quantiles of equal tails."""
    intervals, y, x = drawn(what, level, n, np.random.default_rng([23, n, seed]))
    sample = ct.predictions.interval_coverage(intervals, y, confidence_level=level)
    tails = ct.QuantileForecast([(1.0 - level) / 2.0, (1.0 + level) / 2.0], intervals)
    with pvalues_only():
        results = [
            ct.OmnibusTest(n_resamples=99)(*sample, rng=seed),
            ct.OmnibusTest(n_resamples=99, features={"x": x})(*sample, rng=seed),
            ct.OmnibusTest(n_resamples=99)(tails, y, rng=seed),
        ]
    return [one.pvalue <= 0.05 for one in results]


if __name__ == "__main__":
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    print(f"| intervals, {sets} sets | claimed | n | coverage | given a feature | equal tails |")
    print("|---|---:|---:|---:|---:|---:|")
    for what, level, n in SETTINGS:
        rates = 100.0 * np.mean([rejected(what, level, n, seed) for seed in range(sets)], axis=0)
        print(f"| {what} | {100 * level:g} % | {n} | {' | '.join(f'{rate:.1f}' for rate in rates)} |", flush=True)
