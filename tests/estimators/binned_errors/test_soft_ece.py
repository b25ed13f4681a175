"""Soft-binned errors against sums over observations and bins, and their two limits."""

from math import exp, inf

import numpy as np
import pytest

import caltest as ct
from caltest.estimators import SoftBinnedECE


def by_hand(p, y, n_bins, temperature, order):
    centres = [(2 * j + 1) / (2 * n_bins) for j in range(n_bins)]
    sizes, sums = [0.0] * n_bins, [0.0] * n_bins
    for one, outcome in zip(p, y, strict=True):
        weights = [exp(-((one - m) ** 2) / temperature) for m in centres]
        for j, weight in enumerate(weights):
            sizes[j] += weight / sum(weights)
            sums[j] += weight / sum(weights) * (outcome - one)
    powers = [size / len(p) * abs(total / size) ** order for size, total in zip(sizes, sums, strict=True)]
    return sum(powers) ** (1 / order)


@pytest.mark.parametrize("order", [1.0, 2.0, 3.0])
@pytest.mark.parametrize(("n_bins", "temperature"), [(15, 0.01), (4, 0.1), (1, 0.5)])
def test_definition(n_bins, temperature, order):
    predictions = ct.Bernoulli(np.random.default_rng(1).beta(1.0, 2.0, 40))
    redraws = predictions.sample(2, 3)
    expected = [by_hand(predictions.probability, y, n_bins, temperature, order) for y in redraws]
    estimates = SoftBinnedECE(n_bins, temperature, order).estimates(predictions, redraws)
    assert estimates == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_limits(order):
    """Cold bins are those of the ECE, most of them empty here; hot ones are all the same."""
    p, y = ct.top_label(*ct.datasets.load_digits_predictions()["random forest"])
    assert SoftBinnedECE(temperature=1e-12, order=order)(p, y) == pytest.approx(
        ct.ECE(ct.binning.UniformBinning(15), order=order)(p, y), rel=1e-12
    )
    assert SoftBinnedECE(temperature=1e12, order=order)(p, y) == pytest.approx(
        abs(p.probability.mean() - np.mean(y)), rel=1e-9
    )


def test_continuous_where_bins_are_not():
    """Predictions that move across the border of two bins."""
    y = np.arange(40) % 2
    below, above = np.full(40, 0.4), np.full(40, 0.4)
    below[y == 1], above[y == 1] = 0.4 - 1e-9, 0.4 + 1e-9
    hard, soft = ct.ECE(ct.binning.UniformBinning(5)), SoftBinnedECE(5)
    assert abs(hard(below, y) - hard(above, y)) > 0.3
    assert soft(below, y) == pytest.approx(soft(above, y), abs=1e-7)


def test_finds_overconfidence():
    rng = np.random.default_rng(3)
    p = rng.random(400)
    y = (rng.random(400) < 0.5 + 0.5 * (p - 0.5)).astype(int)
    result = ct.MonteCarloTest(SoftBinnedECE())(p, y, rng=1)
    assert result.pvalue == 0.001
    assert result.effect_size.value > 0.05


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_bins": 0}, "n_bins: got 0, wanted a whole number of at least 1"),
        ({"temperature": 0.0}, "temperature: got 0.0, wanted a positive number"),
        ({"order": 0.5}, "order: got 0.5, wanted a number of at least 1"),
        ({"order": inf}, "order: got inf, wanted a positive number"),
    ],
)
def test_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        SoftBinnedECE(**settings)
