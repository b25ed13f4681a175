"""The power against what is slightly wrong, from wrong data sets and redraws together."""

import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest.estimators.combined.detectable import pooled


def power(seed, shift=2.0, m=400, b=999, pooling=True):
    """Of a test that rejects for large normal numbers, with another number that tells more of the shift."""
    rng = np.random.default_rng(seed)
    right, wrong = rng.normal(size=(2, b)), rng.normal(size=(2, m)) + np.array([[0.5], [1.0]]) * shift
    right[0], wrong[0] = right.sum(axis=0) / np.sqrt(2.0), wrong.sum(axis=0) / np.sqrt(2.0)
    if not pooling:
        return np.mean(wrong[0][:, None] >= np.quantile(right[0], 0.95))
    # The log ratio of both numbers, of which the first is a sum, up to a constant.
    ratios = [shift * (0.5 * (np.sqrt(2.0) * one[0] - one[1]) + one[1]) for one in (wrong, right)]
    pvalues, weights = pooled((wrong[0], right[0]), [one + 17.0 for one in ratios])
    assert weights.sum() == pytest.approx(1.0, rel=1e-9)
    return weights[pvalues <= 0.05].sum()


def test_pooled_powers_are_right_and_vary_less():
    exact = stats.norm.sf(stats.norm.isf(0.05) - 3.0 / np.sqrt(2.0))
    found = np.array([power(seed) for seed in range(100)])
    assert found.mean() == pytest.approx(exact, abs=0.008)
    assert found.std() < 0.75 * np.std([power(seed, pooling=False) for seed in range(100)])


def test_pooled_powers_of_what_is_clear_are_one():
    wrong, right = np.arange(50.0) + 1000.0, np.arange(99.0)
    pvalues, weights = pooled((wrong, right), (wrong, right))
    assert pvalues[:50].max() == pytest.approx(0.0, abs=1e-9)
    assert weights[:50].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("k", [2, 3, 40])
def test_the_excess_log_loss_tells_how_likely_labels_are_if_they_are_wrong(k):
    p = ct.Categorical(np.random.default_rng(k).dirichlet(np.full(k, 0.5), 60))
    _, labels, tilt = p.slightly_wrong(1, 20)
    temperature = 1.0 / (1.0 - tilt / len(p))
    moved = p.at_temperature(temperature)
    expected = np.array([np.sum(moved.log_density(one) - p.log_density(one)) for one in labels])
    found = tilt * ct.estimators.ExcessLogScore().estimates(p, labels, None)
    assert temperature > 1.0
    assert found - found[0] == pytest.approx(expected - expected[0], rel=1e-9, abs=1e-9)
