"""Errors of the losses of threshold decisions against all thresholds, and against decisions with random losses."""

import numpy as np
import pytest

import caltest as ct
from caltest.estimators import ThresholdDecisionError


def by_hand(p, y):
    residuals = np.eye(p.shape[1])[y] - p
    sums = [
        np.linalg.norm(residuals[column > t].sum(axis=0)) + np.linalg.norm(residuals[column <= t].sum(axis=0))
        for column in p.T
        for t in np.unique(column)
    ]
    return max(sums) / len(p)


@pytest.mark.every(3)
@pytest.mark.parametrize("k", [2, 3, 5])
def test_definition(k):
    """With ties: probabilities are rounded to multiples of 1/8 for every other prediction."""
    p = np.random.default_rng(1).dirichlet(np.ones(k), 30)
    p[::2] = np.eye(k)[np.arange(15) % k] / 8 + np.full(k, 7 / 8 / k)
    predictions = ct.Categorical(p)
    redraws = predictions.sample(2, 4)
    expected = [by_hand(predictions.probabilities, y) for y in redraws]
    assert ThresholdDecisionError().estimates(predictions, redraws) == pytest.approx(expected, rel=1e-12)


def test_is_the_largest_error_of_a_predicted_loss():
    """No decision with losses of length 1 has a larger one, and one with the best losses has that."""
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.ones(3), 60)
    y = ct.Categorical(p).sample(5)
    outcomes, estimate, largest = np.eye(3)[y], ThresholdDecisionError()(p, y), 0.0
    for c in range(3):
        for t in p[:, c]:
            acts = (p[:, c] > t).astype(int)
            best = np.array([(outcomes - p)[acts == a].sum(axis=0) for a in (0, 1)])
            best /= np.maximum(np.linalg.norm(best, axis=1, keepdims=True), 1e-300)
            other = rng.normal(size=(2, 3))
            for losses in (best, other / np.linalg.norm(other, axis=1, keepdims=True)):
                predicted, incurred = (p * losses[acts]).sum(axis=1).mean(), losses[acts, y].mean()
                assert abs(predicted - incurred) <= estimate + 1e-12
                largest = max(largest, abs(predicted - incurred))
    assert largest == pytest.approx(estimate, rel=1e-12)


def test_two_classes_in_either_form():
    """A constant probability has the one threshold that leaves all on one side: ``sqrt(2) |mean(y) - p|``."""
    assert ThresholdDecisionError()(np.full(4, 0.25), [1, 1, 0, 1]) == pytest.approx(np.sqrt(2) * 0.5)
    p = np.array([0.1, 0.4, 0.4, 0.8])
    y = np.array([1, 0, 1, 0])
    expected = np.sqrt(2) * (0.9 + 0.2 + 0.8) / 4
    assert ThresholdDecisionError()(p, y) == pytest.approx(expected)
    assert ThresholdDecisionError()(np.column_stack([1 - p, p]), y) == pytest.approx(expected)


def test_finds_what_thresholds_see():
    """Overconfidence on both sides of 1/2, which the mean over all predictions does not show."""
    rng = np.random.default_rng(3)
    p = rng.random(400)
    y = (rng.random(400) < 0.5 + 0.5 * (p - 0.5)).astype(int)
    result = ct.MonteCarloTest(ThresholdDecisionError())(p, y, rng=1)
    assert result.pvalue == 0.001
    assert result.effect_size.value > 0.05


def test_numbers_are_refused():
    with pytest.raises(TypeError, match="Categorical or Bernoulli ones"):
        ThresholdDecisionError()(ct.Normal([0.0], [1.0]), [0.5])
