"""Sizes of the paired comparison at 10 classes: models that know different parts of what the labels depend on."""

import numpy as np
import pytest

import caltest as ct

from .settings import band, spawn

pytestmark = [pytest.mark.statistical, pytest.mark.usefixtures("without_findings")]

MODEL = ct.generators.DirichletModel.m1()
KERNEL = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), MODEL.mean_total_variation()), ct.DeltaKernel())


def rows(p):
    return ct.Categorical(p / p.sum(axis=1, keepdims=True))


def calibrated(n, rng):
    """Labels depend on two parts; each model knows one of them and averages over the other."""
    first, second = (MODEL.sample(n, rng)[0].probabilities for _ in range(2))
    labels = rows((first + second) / 2.0).sample(rng)
    return rows((first + 0.1) / 2.0), rows((second + 0.1) / 2.0), labels


def miscalibrated(n, rng):
    """Each model takes its part for all there is."""
    first, second = (MODEL.sample(n, rng)[0].probabilities for _ in range(2))
    return rows(first), rows(second), rows((first + second) / 2.0).sample(rng)


def nothing_known(n, rng):
    """One model knows all of a binary outcome, the other one how frequent it is."""
    p = rng.random(n)
    return ct.Bernoulli(p), ct.Bernoulli(np.full(n, 0.5)), (rng.random(n) < p).astype(int)


@pytest.mark.every(3)
@pytest.mark.parametrize("make", [calibrated, miscalibrated, nothing_known])
@pytest.mark.parametrize("n", [50, 250])
def test_models_of_the_same_error_are_rarely_told_apart(make, n, replications):
    number, rng = replications(30, 2000), spawn(70, n)
    pvalues = np.array([ct.PairedSKCETest(KERNEL)(*make(n, rng)).pvalue for _ in range(number)])
    for alpha in (0.05, 0.01):
        assert np.count_nonzero(pvalues <= alpha) <= band(number, alpha)[1]


def test_calibrated_and_overconfident_models_are_told_apart(replications):
    number, rng = replications(12, 500), spawn(71)
    found = []
    for _ in range(number):
        first, other, labels = calibrated(250, rng)
        overconfident = rows(np.maximum(other.probabilities - 0.05, 0.0))
        found.append(ct.PairedSKCETest(KERNEL)(first, overconfident, labels))
    assert np.mean([one.pvalue <= 0.05 for one in found]) >= 0.5
    assert all(one.estimate < 0.0 for one in found)


def test_rare_events_of_equal_errors_are_rarely_told_apart(replications):
    """One model predicts half of their frequency, the other one and a half times it; printed with ``-s``."""
    number, rates = replications(12, 300), {}
    for n, events in replications(((100, 1), (200, 5)), ((100, 1), (100, 2), (200, 5), (400, 10), (800, 20))):
        rejected = 0
        for seed in range(number):
            rng = np.random.default_rng([9, events, seed])
            true = events / n * rng.uniform(0.5, 1.5, n)
            result = ct.PairedSKCETest()(0.5 * true, 1.5 * true, (rng.random(n) < true).astype(int))
            assert any("outcomes of one class" in note for note in result.notes)
            rejected += result.pvalue <= 0.05
        rates[events] = rejected / number
        print(f"{events} expected events: {100 * rates[events]:.1f} %")
    assert all(number * rate <= band(number, 0.05)[1] for rate in rates.values())
