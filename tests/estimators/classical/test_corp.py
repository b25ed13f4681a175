"""Isotonic recalibration against its min-max formula."""

import numpy as np
import pytest

import caltest as ct


def isotonic(p, y):
    """``max_{a <= p_i} min_{b >= p_i}`` of the frequency of events with predictions from a to b."""
    values = np.unique(p)
    means = {(a, b): y[(p >= a) & (p <= b)].mean() for a in values for b in values if a <= b}
    return np.array([max(min(means[a, b] for b in values[values >= q]) for a in values[values <= q]) for q in p])


def log_loss(p, y):
    return -np.log(np.where(y == 1, p, 1.0 - p))


@pytest.mark.parametrize("decimals", [1, 15])
def test_definition(decimals):
    rng = np.random.default_rng(1)
    predictions = ct.Bernoulli(np.round(rng.uniform(0.06, 0.94, 25), decimals))
    p, redraws = predictions.probability, predictions.sample(2, 6)
    for estimator, score in (
        (ct.estimators.CORPMiscalibration(), lambda p, y: (p - y) ** 2),
        (ct.estimators.CORPMiscalibration("log"), log_loss),
    ):
        expected = [np.mean(score(p, y)) - np.mean(score(isotonic(p, y), y)) for y in redraws]
        assert estimator.estimates(predictions, redraws) == pytest.approx(expected, rel=1e-10)


def test_recalibrated_predictions_have_no_miscalibration():
    rng = np.random.default_rng(3)
    p = rng.random(60)
    y = (rng.random(60) < p).astype(int)
    q = isotonic(p, y)
    for score in ("brier", "log"):
        assert ct.estimators.CORPMiscalibration(score)(p, y) > 0.01
        assert ct.estimators.CORPMiscalibration(score)(q, y) == pytest.approx(0.0, abs=1e-13)


def test_both_directions_are_found():
    rng = np.random.default_rng(4)
    p = rng.uniform(0.02, 0.98, 800)
    for power in (0.4, 2.5):
        odds = (p / (1 - p)) ** power
        y = (rng.random(800) < odds / (1 + odds)).astype(int)
        assert ct.MonteCarloTest(ct.estimators.CORPMiscalibration(), 99)(p, y, rng=1).pvalue == 0.01


def test_probabilities_of_0_count_as_tiny():
    assert ct.estimators.CORPMiscalibration("log")([0.0, 0.0, 1.0], [1, 1, 1]) == pytest.approx(
        2 * 744.44 / 3, rel=1e-4
    )
    assert ct.estimators.CORPMiscalibration("log")([0.0, 1.0], [0, 1]) == 0.0


def test_bad_input():
    with pytest.raises(ValueError, match='score: got \'spherical\', wanted "brier" or "log"'):
        ct.estimators.CORPMiscalibration("spherical")
    with pytest.raises(TypeError, match="of 3 classes, wanted binary ones for CORPMiscalibration"):
        ct.estimators.CORPMiscalibration()(np.full((6, 3), 1 / 3), np.arange(6) % 3)
