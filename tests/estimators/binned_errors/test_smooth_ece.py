"""Smooth calibration errors against sums over images of a Gaussian on a fine grid."""

import numpy as np
import pytest

import caltest as ct
from caltest.estimators import SmoothECE


def by_hand(p, y):
    """The width that equals the mean absolute smoothed residual, by halving."""
    places = (np.arange(800) + 0.5) / 800
    images = np.concatenate([2.0 * k + sign * p for k in range(-3, 4) for sign in (1.0, -1.0)])
    residuals = np.tile(p - y, 14) / p.size

    def error(width):
        density = np.exp(-(((places[:, None] - images) / width) ** 2) / 2.0) / (np.sqrt(2.0 * np.pi) * width)
        return np.abs(density @ residuals).mean()

    low, high = 0.0, 1.0
    for _ in range(12):
        middle = (low + high) / 2.0
        low, high = (low, middle) if error(middle) <= middle else (middle, high)
    return (low + high) / 2.0


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (1.0, 20.0), (0.2, 0.2)])
def test_definition(a, b, replications):
    rng = np.random.default_rng(1)
    predictions = ct.Bernoulli(rng.beta(a, b, 50))
    redraws = predictions.sample(2, replications(1, 3))
    expected = [by_hand(predictions.probability, y) for y in redraws]
    assert SmoothECE().estimates(predictions, redraws) == pytest.approx(expected, abs=4e-4)


def test_certain_and_single_predictions():
    """A single residual of -1/2 is smoothed to a density of the same integral, and certain hits have no error."""
    assert SmoothECE()([0.5], [1]) == pytest.approx(0.5, abs=1e-4)
    assert SmoothECE()([0.0, 1.0, 1.0], [0, 1, 1]) < 1e-4
    assert SmoothECE()([0.0, 1.0], [1, 0]) == pytest.approx(by_hand(np.array([0.0, 1.0]), np.array([1, 0])), abs=4e-4)


def test_other_software():
    """Digits: relplot 1.0.3 has 0.2379 for the confidences of the random forest."""
    p, y = ct.datasets.load_digits_predictions()["random forest"]
    assert SmoothECE()(*ct.top_label(p, y)) == pytest.approx(0.2379, abs=1e-3)


def test_finds_overconfidence():
    rng = np.random.default_rng(3)
    p = rng.random(400)
    y = (rng.random(400) < 0.5 + 0.5 * (p - 0.5)).astype(int)
    result = ct.MonteCarloTest(SmoothECE())(p, y, rng=1)
    assert result.pvalue == 0.001
    assert result.effect_size.value > 0.05


def test_more_classes_are_refused():
    with pytest.raises(TypeError, match="of 3 classes, wanted binary ones for SmoothECE"):
        SmoothECE()(np.full((6, 3), 1 / 3), np.arange(6) % 3)
