"""Evidence has mean 1 and seldom ever reaches 1 / alpha if calibrated; it grows if not."""

import numpy as np
import pytest

import caltest as ct

from .settings import band, dirichlet, spawn

pytestmark = pytest.mark.statistical

N = 150
STRATEGIES = ["both", "likelihood", "kernel"]


def classes(rng):
    p = dirichlet(rng, N, 3, 0.5)
    return p, p.sample(rng)


def numbers(rng):
    p = ct.Normal(rng.random(N), 0.1)
    return p, p.sample(rng)


def dependent(rng):
    """A time series: predictions depend on the outcomes before, so these are not independent given all predictions."""
    y, p = np.zeros(N, dtype=int), np.full(N, 0.5)
    for t in range(N):
        p[t] = 0.5 if t == 0 else 0.2 + 0.6 * y[t - 1]
        y[t] = rng.random() < p[t]
    return ct.Bernoulli(p), y


@pytest.mark.every(3)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("make", [classes, numbers, dependent])
def test_evidence_of_calibrated_models(strategy, make, replications):
    number, rng = replications(50, 20_000), spawn(60, STRATEGIES.index(strategy), len(make.__name__))
    means, largest = np.zeros((number, 3)), np.zeros(number)
    for r in range(number):
        history = ct.SequentialCalibrationTest(strategy).update(*make(rng)).history
        means[r], largest[r] = np.exp(history[[9, 74, 149]]), history.max()
    for alpha in (0.1, 0.05, 0.01):
        assert np.count_nonzero(largest >= -np.log(alpha)) <= band(number, alpha)[1]
    # Evidence is skewed: its mean is mostly below 1, and seldom far above.
    error = np.maximum(means.std(axis=0, ddof=1) / np.sqrt(number), 1e-3)
    assert (means.mean(axis=0) <= 1.0 + 4.0 * error).all()
    assert (means.mean(axis=0) >= 0.3).all()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_errors_are_found(strategy, replications):
    """Probabilities too far from 1/2: nine of ten streams of 500 outcomes are rejected."""
    number, rng = replications(20, 1000), spawn(61, STRATEGIES.index(strategy))
    rejected = 0
    for _ in range(number):
        p = rng.random(500)
        y = rng.random(500) < 0.5 + 0.4 * (p - 0.5)
        rejected += ct.SequentialCalibrationTest(strategy).update(p, y.astype(int)).pvalue <= 0.05
    assert rejected >= 0.9 * number


AFTER = 2000


def slower(rng, start):
    """Binary outcomes of a slope of 0.6 instead of 1 on the logit scale from some observation on."""
    n = start + AFTER
    logits = 1.5 * rng.normal(size=n)
    slopes = np.where(np.arange(n) < start, 1.0, 0.6)
    return ct.Bernoulli(1.0 / (1.0 + np.exp(-logits))), rng.random(n) < 1.0 / (1.0 + np.exp(-slopes * logits))


def rarer(rng, start):
    """Events of 3 % on average that are three times as frequent from some observation on."""
    n = start + AFTER
    p = rng.beta(0.6, 20.0, n)
    return ct.Bernoulli(p), rng.random(n) < np.where(np.arange(n) < start, p, np.minimum(3.0 * p, 1.0))


def tied(rng, start):
    """Probabilities 0.3 that are 0.5 from some observation on."""
    n = start + AFTER
    return ct.Bernoulli(np.full(n, 0.3)), rng.random(n) < np.where(np.arange(n) < start, 0.3, 0.5)


def wider(rng, start):
    """Errors 1.34 times as large as predicted from some observation on."""
    n = start + AFTER
    scales = np.where(np.arange(n) < start, 1.0, 1.34)
    return ct.Normal(np.zeros(n), 1.0), scales * rng.normal(size=n)


@pytest.mark.every(7)
@pytest.mark.parametrize("start", [16, 50, 250, 2000])
@pytest.mark.parametrize("make", [slower, rarer, tied, wider])
def test_intervals_for_the_start_of_abrupt_changes(make, start, replications):
    """At the alarm, of streams without one before: not below 95 % by more than chance."""
    number, rng = replications(6, 300), spawn(62, start, len(make.__name__), ord(make.__name__[0]))
    missed = dated = 0
    for _ in range(number):
        p, y = make(rng, start)
        history = ct.SequentialCalibrationTest("likelihood").update(p, y).history
        alarm = int(np.argmax(history >= np.log(20.0))) + 1
        if alarm > start and history[alarm - 1] >= np.log(20.0):
            change = ct.SequentialCalibrationTest("likelihood")(p.take(slice(0, alarm)), y[:alarm]).change
            dated += 1
            missed += change is None or not change.interval.low <= start + 1 <= change.interval.high
    print(f"{make.__name__}, {start}: {dated - missed} of {dated} streams covered")
    assert dated >= 0.7 * number
    assert missed <= band(dated, 0.05)[1]
