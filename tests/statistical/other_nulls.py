"""Tests of other null hypotheses than calibration: p-values of data where these hold, but only just, and do not hold.

``every_test.py`` counts how many are at most 5 %, and writes the second table of ``docs/error-rates.md``. The margin of
a test is the error itself, without any error of simulation: rows are drawn from a population of 400 predictions with
known laws, of which the error is a sum over all pairs. Models that are compared have equal errors by symmetry: their
parts can be exchanged, or predictions are shifted by as much to either side.
"""

from collections.abc import Callable
from functools import cache, partial
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

import caltest as ct

from .settings import dirichlet, spawn

ROWS = 400
"""Predictions of a population."""

Draw = Callable[[np.random.Generator], float]
"""The p-value for new data."""


class Other(NamedTuple):
    """A test: its null hypothesis, where that holds, but only just, and where it does not; else as ``Row``."""

    null: str
    pvalue: str
    time: str
    size: dict[str, Draw]
    power: dict[str, Draw]
    independent: str = "rows"


def shifted(p, logit, slope=1.0):
    """Probabilities with other log-odds."""
    return 1.0 / (1.0 + np.exp(-(slope * np.log(p / (1.0 - p)) + logit)))


def events(p, truth):
    return ct.Bernoulli(p), ct.Bernoulli(truth)


def moved(p, share):
    """A share of all outcomes is moved to class 0."""
    return p, ct.Categorical((1.0 - share) * p.probabilities + share * np.eye(p.n_classes)[0])


def numbers(rng, shift, scale):
    mean = rng.random(ROWS)
    return ct.Normal(mean, 0.1), ct.Normal(mean + 0.1 * shift, 0.1 * scale)


def uniform(rng, n=ROWS):
    return rng.uniform(0.05, 0.95, n)


def rare(rng):
    return rng.beta(0.3, 12.0, ROWS)


WRONG = {
    "2 classes, too sure": lambda r: events(p := uniform(r), shifted(p, 0.0, 0.6)),
    "2 classes, too low": lambda r: events(p := uniform(r), shifted(p, 0.4)),
    "rare, 3 times as frequent": lambda r: events(p := rare(r), shifted(p, np.log(3.0))),
    "rare, a third as frequent": lambda r: events(p := rare(r), shifted(p, -np.log(3.0))),
    "3 classes, Dir(0.1), a fifth moved": lambda r: moved(dirichlet(r, ROWS, 3, 0.1), 0.2),
    "10 classes, Dir(0.1), a tenth moved": lambda r: moved(dirichlet(r, ROWS, 10, 0.1), 0.1),
    "10 classes, Dir(1), a fifth moved": lambda r: moved(dirichlet(r, ROWS, 10, 1.0), 0.2),
    "numbers, errors 1.3 times as large": lambda r: numbers(r, 0.0, 1.3),
    "numbers, 0.3 sd too low": lambda r: numbers(r, 0.3, 1.0),
}
"""Populations: predictions and their laws, as functions of a generator."""

RIGHT = {
    "2 classes": lambda r: events(p := uniform(r), p),
    "rare": lambda r: events(p := rare(r), p),
    "10 classes, Dir(0.1)": lambda r: moved(dirichlet(r, ROWS, 10, 0.1), 0.0),
    "numbers": lambda r: numbers(r, 0.0, 1.0),
}
NEARLY_RIGHT = {
    "10 classes, Dir(0.1), 1 % moved": lambda r: moved(dirichlet(r, ROWS, 10, 0.1), 0.01),
    "10 classes, Dir(0.1), 2 % moved": lambda r: moved(dirichlet(r, ROWS, 10, 0.1), 0.02),
}


@cache
def population(name):
    """Always the same one."""
    made = WRONG | RIGHT | NEARLY_RIGHT
    return made[name](spawn(205, list(made).index(name)))


def squared_error(kernel, claimed, true):
    """The SKCE of a population: the mean over all pairs, each with itself too."""
    target = kernel.target_kernel
    both, one, none = (a.expected_kernel2(target, b) for a, b in ((true, true), (true, claimed), (claimed, claimed)))
    return float(np.mean(kernel.prediction_kernel.tile(claimed, claimed) * (both - one - one.T + none)))


def drawn(name, n, rng):
    """Rows of a population."""
    claimed, true = population(name)
    rows = rng.integers(ROWS, size=n)
    return claimed.take(rows), true.take(rows).sample(rng)


def at_margin(test, name, n, times=1.0) -> Draw:
    """The error of the population, with the kernel of the rows, is so many times the margin."""

    def pvalue(rng):
        p, y = drawn(name, n, rng)
        kernel = p.default_kernel().resolve(p)
        return test(sqrt(squared_error(kernel, *population(name))) / times, kernel)(p, y).pvalue

    return pvalue


def with_margin(test, margin, name, n) -> Draw:
    """With a margin that is named."""
    return lambda rng: test(margin)(*drawn(name, n, rng)).pvalue


def binned_error(name):
    """The error of a population of events, in ten bins."""
    claimed, true = (laws.to_array() for laws in population(name))
    return np.abs(np.bincount(ct.binning.UniformBinning(10).assign(claimed[:, None]), true - claimed)).sum() / ROWS


def at_binned_margin(name, n) -> Draw:
    """The error of the population is the margin."""
    return lambda rng: ct.named_tests.BinnedEquivalenceTest(binned_error(name))(*drawn(name, n, rng)).pvalue


def boundary(test):
    return {f"{name}, n = {n}": at_margin(test, name, n) for name in WRONG for n in (100, 200, 400)}


class Parts(NamedTuple):
    """Laws (m, n) or (m, n, k) that m models know, which can be exchanged, and the mean that they would all have."""

    known: Any
    mean: Any
    family: Callable[[Any], Any]

    def calibrated(self, rng):
        """Each model averages over what it does not know."""
        m = len(self.known)
        return [self.family((one + (m - 1) * self.mean) / m) for one in self.known], self.outcomes(rng)

    def too_sure(self, rng):
        """Each model takes its part for all there is."""
        return [self.family(one) for one in self.known], self.outcomes(rng)

    def outcomes(self, rng):
        return self.family(self.known.mean(axis=0)).sample(rng)


def of_events(rng, m, n):
    return Parts(rng.random((m, n)), 0.5, ct.Bernoulli)


def of_rare(rng, m, n):
    return Parts(rng.beta(0.3, 12.0, (m, n)), 0.3 / 12.3, ct.Bernoulli)


def of_classes(rng, m, n):
    return Parts(np.stack([dirichlet(rng, n, 10, 0.1).probabilities for _ in range(m)]), 0.1, ct.Categorical)


def of_numbers(rng, m, n, sure):
    """Outcomes are sums of m numbers, of which each model knows one; if too sure, it thinks others vary by half."""
    known, rest = rng.normal(size=(m, n)), sqrt(m - 1.0)
    return [ct.Normal(one, 0.5 * rest if sure else rest) for one in known], known.sum(axis=0)


def one_knows_all(rng, m, n):
    """Of a binary outcome; others know how frequent it is."""
    p = rng.random(n)
    return [ct.Bernoulli(p), *[ct.Bernoulli(np.full(n, 0.5))] * (m - 1)], ct.Bernoulli(p).sample(rng)


def both_sides(rng, m, n, low, high, off):
    """One model is too high, the other one too low, by as much."""
    p = rng.uniform(low, high, n)
    return [ct.Bernoulli(p + off), ct.Bernoulli(p - off)], ct.Bernoulli(p).sample(rng)


def both_sides_of_numbers(rng, m, n):
    mean = rng.random(n)
    return [ct.Normal(mean + 0.05, 0.1), ct.Normal(mean - 0.05, 0.1)], ct.Normal(mean, 0.1).sample(rng)


def other_class(rng, m, n):
    """Each of them overrates another class."""
    p = dirichlet(rng, n, 10, 0.1)
    return [ct.Categorical(0.9 * p.probabilities + 0.1 * np.eye(10)[j]) for j in range(m)], p.sample(rng)


CALIBRATED = {
    "2 classes": lambda r, m, n: of_events(r, m, n).calibrated(r),
    "2 classes, one knows all": one_knows_all,
    "rare": lambda r, m, n: of_rare(r, m, n).calibrated(r),
    "10 classes": lambda r, m, n: of_classes(r, m, n).calibrated(r),
    "numbers": lambda r, m, n: of_numbers(r, m, n, False),
}
"""Models that are all calibrated, as they know different parts of what outcomes depend on."""

EQUALLY_WRONG = {
    "2 classes, too sure": lambda r, m, n: of_events(r, m, n).too_sure(r),
    "rare, too sure": lambda r, m, n: of_rare(r, m, n).too_sure(r),
    "10 classes, too sure": lambda r, m, n: of_classes(r, m, n).too_sure(r),
    "10 classes, another one overrated": other_class,
    "numbers, too sure": lambda r, m, n: of_numbers(r, m, n, True),
}
ON_BOTH_SIDES = {
    "2 classes, too high and too low": lambda r, m, n: both_sides(r, m, n, 0.2, 0.8, 0.1),
    "rare, too high and too low": lambda r, m, n: both_sides(r, m, n, 0.02, 0.06, 0.015),
    "numbers, too high and too low": both_sides_of_numbers,
}


def too_sure(slope):
    """The first model is calibrated, others are too sure of the same, each more than the one before."""

    def make(rng, m, n):
        p = uniform(rng, n)
        claims = [p, *[shifted(p, 0.0, slope + 0.1 * j) for j in range(m - 1)]]
        return [ct.Bernoulli(one) for one in claims], ct.Bernoulli(p).sample(rng)

    return make


def pair(make, n) -> Draw:
    def pvalue(rng):
        models, y = make(rng, 2, n)
        return ct.PairedSKCETest()(*models, y).pvalue

    return pvalue


def smallest(compare, make, n, **settings) -> Draw:
    """The smallest adjusted p-value of a comparison of three models."""

    def pvalue(rng):
        models, y = make(rng, 3, n)
        return min(row.pvalue_holm for row in compare(dict(zip("abc", models, strict=True)), y, **settings).rows)

    return pvalue


def of_models(make, n) -> Draw:
    def pvalue(rng):
        return smallest(ct.compare_models, make, n, n_resamples=99, rng=rng)(rng)

    return pvalue


def smallest_of_classes(p, y, n_resamples, rng):
    return min(row.pvalue_holm for row in ct.compare_classes(p, y, n_resamples=n_resamples, rng=rng).rows)


def calibrated_classes(k, concentration, n, n_resamples) -> Draw:
    def pvalue(rng):
        p = dirichlet(rng, n, k, concentration)
        return smallest_of_classes(p, p.sample(rng), n_resamples, rng)

    return pvalue


def wrong_classes(name, n, n_resamples) -> Draw:
    return lambda rng: smallest_of_classes(*drawn(name, n, rng), n_resamples, rng)


def each(settings, draw, sizes=(100, 400)):
    """P-values for each setting and number of rows."""
    return {f"{name}, n = {n}": draw(make, n) for name, make in settings.items() for n in sizes}


JACKKNIFE = "asymptotic: jackknife"
OTHERS = {
    "EquivalenceTest": Other(
        "KCE ≥ margin",
        JACKKNIFE,
        "n² k",
        boundary(ct.EquivalenceTest),
        {
            f"{name}, margin {margin}, n = {n}": with_margin(ct.EquivalenceTest, margin, name, n)
            for name, margin, n in (
                *(("2 classes", 0.1, 100), ("2 classes", 0.05, 400), ("2 classes", 0.1, 400)),
                *(("rare", 0.02, 400), ("rare", 0.03, 400), ("10 classes, Dir(0.1)", 0.1, 100)),
                *(("10 classes, Dir(0.1)", 0.05, 400), ("numbers", 0.1, 100), ("numbers", 0.02, 1600)),
            )
        },
    ),
    "ToleranceTest": Other(
        "KCE ≤ margin",
        JACKKNIFE,
        "n² k",
        boundary(ct.ToleranceTest),
        {
            f"{name}, KCE of {times} margins, n = {n}": at_margin(ct.ToleranceTest, name, n, times)
            for name, times, n in (
                *(("2 classes, too sure", times, n) for times, n in ((2, 400), (1.5, 1600), (2, 1600))),
                *(("10 classes, Dir(0.1), a tenth moved", times, 400) for times in (1.5, 2, 4)),
            )
        },
    ),
    "BinnedEquivalenceTest": Other(
        "binned ECE ≥ margin",
        "bound: McDiarmid's",
        "n k",
        {
            f"{name}, n = {n}": at_binned_margin(name, n)
            for name in WRONG
            if name.startswith(("2 classes", "rare"))
            for n in (100, 400)
        },
        {
            f"2 classes, margin {margin}, n = {n}": with_margin(
                ct.named_tests.BinnedEquivalenceTest, margin, "2 classes", n
            )
            for margin, n in ((0.15, 400), (0.2, 400), (0.09, 1600), (0.1, 1600))
        },
    ),
    "PairedSKCETest": Other(
        "KCE(A) = KCE(B)",
        JACKKNIFE,
        "n² k",
        each(CALIBRATED | EQUALLY_WRONG | ON_BOTH_SIDES, pair),
        each({f"slope {slope}": too_sure(slope) for slope in (1.5, 2, 3)}, pair),
    ),
    "compare_pairs": Other(
        "all KCE are equal",
        "asymptotic: jackknife, Holm",
        "m n² k",
        each(CALIBRATED | EQUALLY_WRONG, partial(smallest, ct.compare_pairs)),
        each({f"slopes {s} and {s + 0.1:.2g}": too_sure(s) for s in (1.5, 2)}, partial(smallest, ct.compare_pairs)),
    ),
    "compare_models": Other(
        "each model is calibrated",
        "bound: exact ones, Holm",
        "that of OmnibusTest for each model",
        each(CALIBRATED, of_models),
        each({f"slopes {s} and {s + 0.1:.2g}": too_sure(s) for s in (1.3, 1.5)}, of_models),
    ),
    "compare_classes": Other(
        "each class is calibrated against the rest",
        "bound: exact ones, Holm",
        "that of OmnibusTest for each class",
        {
            f"{k} classes, Dir({a}), n = {n}": calibrated_classes(k, a, n, n_resamples)
            for k, a, n_resamples in ((3, 1.0, 99), (3, 0.1, 99), (10, 0.1, 999))
            for n in (100, 400)
        },
        {f"{name}, n = {n}": wrong_classes(name, n, 999) for name in NEARLY_RIGHT for n in (100, 400)},
    ),
}
