"""Sizes and powers of all tests that say where predictions are wrong, beside what one would do without them.

``python -m tests.statistical.places`` prints the tables of ``docs/validity.md``; an hour and a half of one processor.
Parts of it with the names of some tests: ``slices``, ``features``, ``labels``, ``choices``, ``confidences``, ``lag``,
``sequence``, ``crossed`` and ``repairs``.
"""

import sys

import numpy as np
from scipy.special import expit, logit, ndtri

import caltest as ct
from caltest._basics.calls import pvalues_only

from . import crossed_clusters, repaired_slices
from .labels_and_choices import rates, show

SIZES = (16, 50, 250, 2000)
SETS, SETS_OF_POWER, REDRAWS = 500, 100, 199
FEWER = {16: 250, 25: 250, 50: 250, 250: 250, 2000: 100}
"""Sets of tests that take longer."""

PROBABILITIES = {
    "uniform": lambda rng, shape: rng.uniform(0.05, 0.95, shape),
    "ties": lambda rng, shape: rng.choice([0.1, 0.5, 0.9], shape),
    "rare": lambda rng, shape: rng.beta(0.3, 12.0, shape),
}


def outcomes(rng, p):
    return (rng.random(p.shape) < p).astype(int)


def columns(rng, n, d):
    """Numbers, categories, counts and heavy tails with missing values, in turn."""
    made = (
        rng.standard_normal,
        lambda n: rng.choice(list("aaabbcdeff"), n),
        lambda n: rng.poisson(2.0, n),
        lambda n: np.where(rng.random(n) < 0.2, np.nan, rng.standard_cauchy(n)),
    )
    return {f"x{j}": made[j % 4](n) for j in range(d)}


def slices(p, y, x, rng):
    """With slices of few events too, so that small and rare data have some."""
    return ct.find_slices(p, y, x, min_variance=0.2, n_resamples=REDRAWS, rng=rng).pvalue


def features(p, y, x, rng):
    return ct.calibration_test(p, y, features=x, n_resamples=REDRAWS, rng=rng).pvalue


def tested(p, y, rng):
    return ct.calibration_test(p, y, n_resamples=REDRAWS, rng=rng).pvalue


WITH_COLUMNS = {
    "slices, 4 columns": (slices, 4),
    "slices, 16 columns": (slices, 16),
    "features, 4 columns": (features, 4),
}


def sizes_with_columns(name):
    test, d = WITH_COLUMNS[name]
    for kind, draw in PROBABILITIES.items():
        for n in SIZES:
            found = []
            for seed in range(SETS):
                rng = np.random.default_rng([31, d, n, seed])
                p = draw(rng, n)
                try:
                    found.append(test(p, outcomes(rng, p), columns(rng, n, d), seed))
                except ValueError:
                    continue  # Predictions leave no slice in which something can be seen.
            show(name, kind, n, *percent(found), len(found))


LABELS = 5


def labelled(rng, n, kind, change=None):
    """Probabilities of labels, and outcomes that depend on each other through one uniform number of the row."""
    p = PROBABILITIES[kind](rng, (n, LABELS))
    true = p if change is None else change(p.copy())
    return p, (rng.random((n, 1)) < true).astype(int)


def in_first(change):
    def changed(p):
        p[:, 0] = change(p[:, 0])
        return p

    return changed


def exchanged(p):
    p[:, [0, 1]] = p[:, [1, 0]]
    return p


FAULTS_OF_LABELS = {
    "one label, logits + 0.5": in_first(lambda p: expit(logit(p) + 0.5)),
    "one label, slope 0.6": in_first(lambda p: expit(0.6 * logit(p))),
    "one label, 0.15 of it at random": in_first(lambda p: 0.85 * p + 0.075),
    "all labels, logits + 0.2": lambda p: expit(logit(p) + 0.2),
    "two labels exchanged in a third of the rows": lambda p: np.where(np.arange(len(p))[:, None] % 3, p, exchanged(p)),
}


def sizes_of_labels():
    for kind in PROBABILITIES:
        for n in SIZES:
            found = []
            for seed in range(FEWER[n]):
                p, y = labelled(np.random.default_rng([32, n, seed]), n, kind)
                found.append((tested(ct.MultiLabel(p), y, seed), tested(p.ravel(), y.ravel(), seed)))
            apart, pooled = np.array(found).T
            show("labels by Holm", kind, n, *percent(apart), FEWER[n])
            show("labels in one column", kind, n, *percent(pooled), FEWER[n])


def powers_of_labels():
    for words, change in FAULTS_OF_LABELS.items():
        found = []
        for seed in range(SETS_OF_POWER):
            p, y = labelled(np.random.default_rng([33, seed]), 250, "uniform", change)
            found.append((tested(ct.MultiLabel(p), y, seed), tested(p.ravel(), y.ravel(), seed)))
        show(words, *(percent(one)[0] for one in np.array(found).T))


def chosen(rng, n, change=None):
    """Probabilities of 2 to 6 choices, filled up with zeros, and answers."""
    p = np.zeros((n, 6))
    for row, k in zip(p, rng.integers(2, 7, n), strict=True):
        row[:k] = rng.dirichlet(np.full(k, 0.7))
    true = np.cumsum(p if change is None else change(p), axis=1)
    return p, (true <= rng.random((n, 1)) * true[:, -1:]).sum(axis=1)


def at_random(p):
    return 0.85 * p + 0.15 * (p > 0.0) / (p > 0.0).sum(axis=1, keepdims=True)


def first_more(p):
    return p * np.array([1.4, 1.0, 1.0, 1.0, 1.0, 1.0])


def second_for_third(p):
    q = p.copy()
    q[:, 1] += 0.3 * p[:, 2]
    q[:, 2] *= 0.7
    return q


FAULTS_OF_CHOICES = {
    "temperature 1.3": lambda p: p ** (1.0 / 1.3),
    "temperature 0.8": lambda p: p**1.25,
    "15 % at random": at_random,
    "the first choice 1.4 times as likely": first_more,
    "30 % of the third go to the second": second_for_third,
}


def sizes_of_choices():
    for n in SIZES:
        drawn = (chosen(np.random.default_rng([34, n, seed]), n) for seed in range(FEWER[n]))
        found = [tested(*one, seed) for seed, one in enumerate(drawn)]
        show("2 to 6 choices", "Dir(0.7)", n, *percent(found), FEWER[n])


def powers_of_choices():
    for words, change in FAULTS_OF_CHOICES.items():
        drawn = [chosen(np.random.default_rng([35, seed]), 500, change) for seed in range(SETS_OF_POWER)]
        whole = [tested(*one, seed) for seed, one in enumerate(drawn)]
        show(words, percent(whole)[0], percent([tested(*ct.top_label(*one), 1) for one in drawn])[0])


FAULTS_OF_CONFIDENCES = {
    "10 points too high": lambda p: p - 0.1,
    "6 points too high": lambda p: p - 0.06,
    "the same 80 % for all": lambda p: 0.8 + 0.0 * p,
    "90 % comes true 80 %": lambda p: np.where(p > 0.85, 0.8, p),
    "70 % comes true 80 %": lambda p: np.where(p < 0.75, 0.8, p),
}


def stated(rng, n, change=lambda p: p):
    p = rng.choice([0.7, 0.8, 0.9], n)
    return p, outcomes(rng, change(p))


def sizes_of_confidences():
    for n in SIZES:
        found = [tested(*stated(np.random.default_rng([36, n, seed]), n), seed) for seed in range(SETS)]
        show("confidences", "70, 80 or 90 %", n, *percent(found), SETS)


def powers_of_confidences():
    for words, change in FAULTS_OF_CONFIDENCES.items():
        drawn = [stated(np.random.default_rng([37, seed]), 250, change) for seed in range(SETS_OF_POWER)]
        mean = [ct.named_tests.SpiegelhalterTest()(*one).pvalue for one in drawn]
        show(words, percent([tested(*one, 1) for one in drawn])[0], percent(mean)[0])


LAG = 2


def overlapping(rng, n, change=lambda z, m: z):
    """Sums of the next shocks around means that are known, each in two rows."""
    shocks, mean = rng.normal(size=n + 1), rng.normal(size=n)
    z = (shocks[:-1] + shocks[1:]) / np.sqrt(2.0)
    return ct.Normal(mean, 1.0), mean + change(z, mean)


FAULTS_IN_TIME = {
    "too low by 0.25": lambda z, m: z + 0.25,
    "errors 1.2 times as large": lambda z, m: 1.2 * z,
    "slope 0.8": lambda z, m: z - 0.2 * m,
    "too low by 0.4 in the second half": lambda z, m: z + 0.4 * (np.arange(z.size) >= z.size // 2),
    "errors 1.4 times as large above 0": lambda z, m: np.where(m > 0.0, 1.4, 1.0) * z,
}


def lagged(p, y, seed):
    return ct.calibration_test(p, y, lag=LAG, n_resamples=REDRAWS, rng=seed).pvalue


def thinned(p, y, seed):
    rows = np.arange(0, len(y), LAG)
    return tested(p.take(rows), y[rows], seed)


def sizes_in_time():
    for n in SIZES:
        drawn = (overlapping(np.random.default_rng([38, n, seed]), n) for seed in range(FEWER[n]))
        found = np.array([(lagged(*one, seed), tested(*one, seed)) for seed, one in enumerate(drawn)])
        show("lag", "Normal", n, *percent(found[:, 0]), FEWER[n])
        show("without it", "Normal", n, *percent(found[:, 1]), FEWER[n])


def powers_in_time():
    for words, change in FAULTS_IN_TIME.items():
        drawn = [overlapping(np.random.default_rng([39, seed]), 250, change) for seed in range(SETS_OF_POWER)]
        found = np.array([(lagged(*one, seed), thinned(*one, seed)) for seed, one in enumerate(drawn)])
        show(words, *(percent(one)[0] for one in found.T))


def events_of_overlapping(rng, n, kind):
    """Probabilities, and events of which each depends on the one before, as sums of two shocks do."""
    shocks, p = rng.normal(size=n + 1), PROBABILITIES[kind](rng, n)
    return p, (shocks[:-1] + shocks[1:] < np.sqrt(2.0) * ndtri(p)).astype(int)


def at_some_time(p, y, lag):
    return ct.SequentialCalibrationTest("likelihood", lag=lag).update(p, y).pvalue


def sizes_in_sequence():
    for kind in PROBABILITIES:
        for n in SIZES:
            drawn = (events_of_overlapping(np.random.default_rng([41, n, seed]), n, kind) for seed in range(FEWER[n]))
            found = np.array([(at_some_time(*one, LAG), at_some_time(*one, 1)) for one in drawn])
            show("in sequence, with the lag", kind, n, *percent(found[:, 0]), FEWER[n])
            show("without it", kind, n, *percent(found[:, 1]), FEWER[n])


LEVELS = {25: 5, 50: 7, 250: 15, 2000: 40}
"""Of each of two crossed factors; fewer than five are refused."""


def sizes_of_crossed():
    for kind in ("uniform", "alike", "rare: Beta(0.3, 12)", "Normal"):
        for n, levels in LEVELS.items():
            setting = (n, levels, levels, False, kind, crossed_clusters.SHARES["strong"])
            found = np.array([crossed_clusters.pvalues([42, n, seed], setting) for seed in range(FEWER[n])])
            show("both factors", kind, n, *percent(found[:, 0]), FEWER[n])
            show("without them", kind, n, *percent(found[:, 2]), FEWER[n])


def sizes_of_repairs():
    for kind in PROBABILITIES:
        for n in SIZES:
            found = []
            for seed in range(FEWER[n]):
                try:
                    found.append(repaired_slices.judged(kind, n, seed)[:3])
                except ValueError:
                    continue  # Half of the rows leave no slice in which something can be seen.
            before, after, holds = np.array(found).reshape(-1, 3).T
            if found:
                show("before a repair", kind, n, *percent(before), len(found))
                show("after it", kind, n, *percent(after), len(found))
                show("intervals that hold", kind, n, f"{100 * holds.mean():.1f}", len(found))


def percent(pvalues):
    return [f"{100 * rate:.1f}" for rate in rates(pvalues)]


PARTS = {
    "slices": lambda: [sizes_with_columns(name) for name in WITH_COLUMNS if name.startswith("slices")],
    "features": lambda: sizes_with_columns("features, 4 columns"),
    "labels": lambda: (sizes_of_labels(), powers_of_labels()),
    "choices": lambda: (sizes_of_choices(), powers_of_choices()),
    "confidences": lambda: (sizes_of_confidences(), powers_of_confidences()),
    "lag": lambda: (sizes_in_time(), powers_in_time()),
    "sequence": sizes_in_sequence,
    "crossed": sizes_of_crossed,
    "repairs": sizes_of_repairs,
}


def main(names):
    with pvalues_only():
        for name in names or PARTS:
            PARTS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
