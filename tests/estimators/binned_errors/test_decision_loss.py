"""The loss of decisions against a linear program over all bounded payoffs, and what it is bounded by."""

import numpy as np
import pytest
from scipy.optimize import linprog

import caltest as ct
from caltest.estimators import CalibrationDecisionLoss
from caltest.estimators.binned_errors.decision_loss import largest_loss


def largest_gain(predicted, observed, shares):
    """Of payoffs between 0 and 1 of each action, that of best actions for the frequencies over those for predictions.

    Where two actions are equally good for a prediction the worse one is taken.
    """
    values = np.unique(np.concatenate([predicted, observed]))
    m = len(values)
    gain = np.zeros((2, m, 2))
    for g, q, w in zip(predicted, observed, shares, strict=True):
        gain[0, np.searchsorted(values, q)] += w * np.array([1 - q, q])
        gain[1, np.searchsorted(values, g)] -= w * np.array([1 - q, q])
    rows = []
    for i in range(2 * m):
        for j in set(range(2 * m)) - {i}:
            row, p = np.zeros((2 * m, 2)), values[i % m]
            row[j], row[i] = [1 - p, p], [p - 1, -p]
            rows.append(row.ravel())
    return -linprog(-gain.ravel(), np.array(rows), np.zeros(len(rows)), bounds=(0, 1)).fun


@pytest.mark.parametrize("seed", range(30))
def test_largest_over_all_bounded_payoffs(seed):
    rng = np.random.default_rng(seed)
    m = rng.integers(1, 5)
    predicted, shares = np.sort(rng.choice(11, m, replace=False)) / 10, rng.dirichlet(np.ones(m))
    observed = rng.choice(21, m) / 20 if seed % 2 else rng.random(m)
    found = largest_loss(predicted, observed[None], shares)[0]
    assert found == pytest.approx(largest_gain(predicted, observed, shares), abs=1e-9)
    assert found <= 2 * (shares @ np.abs(observed - predicted)) + 1e-12


def test_bins_share_predictions():
    """Predictions between two multiples of 1/2 are at both, in shares that keep their mean."""
    p, y = np.array([0.1, 0.3, 0.5, 0.9]), np.array([1, 0, 1, 1])
    shares = np.array([[0.8, 0.2, 0], [0.4, 0.6, 0], [0, 1, 0], [0, 0.2, 0.8]])
    sizes = shares.sum(axis=0)
    expected = largest_loss(np.array([0, 0.5, 1]), (y @ shares / sizes)[None], sizes / 4)[0]
    assert CalibrationDecisionLoss(2)(p, y) == pytest.approx(expected, rel=1e-12)


def test_at_one_half_all_is_lost_twice():
    assert CalibrationDecisionLoss(2)(np.full(10, 0.5), np.arange(10) < 8) == pytest.approx(0.6)
    assert CalibrationDecisionLoss(4)(np.repeat([0.25, 0.75], 4), [0, 0, 0, 1, 1, 1, 1, 0]) == 0.0


def test_worst_predictions():
    assert CalibrationDecisionLoss()([0.0, 1.0], [1, 0]) == pytest.approx(1.0)


def test_continuous_where_bins_are_not():
    p, y = np.linspace(0.05, 0.95, 40), np.arange(40) % 2
    assert CalibrationDecisionLoss(5)(p, y) == pytest.approx(CalibrationDecisionLoss(5)(p + 1e-9, y), abs=1e-6)


def test_redraws_at_once():
    predictions = ct.Bernoulli(np.random.default_rng(1).random(50))
    redraws = predictions.sample(2, 7)
    loss = CalibrationDecisionLoss()
    assert loss.estimates(predictions, redraws) == pytest.approx([loss(predictions, y) for y in redraws], rel=1e-12)


def test_bad_settings():
    with pytest.raises(ValueError, match="n_bins: got 0, wanted"):
        CalibrationDecisionLoss(0)
    with pytest.raises(TypeError, match="wanted binary ones"):
        CalibrationDecisionLoss()(np.full((3, 3), 1 / 3), [0, 1, 2])
