"""Standardised scores against their definitions and enumeration."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

import caltest as ct

RNG = np.random.default_rng(1)
P = RNG.dirichlet(np.full(3, 0.7), 4)
Y = np.array([0, 2, 1, 1])
SCORES = {
    "brier": (
        ct.estimators.ExcessBrierScore(),
        ct.SpiegelhalterTest(),
        lambda p: 1 - 2 * p + (p**2).sum(axis=1, keepdims=True),
    ),
    "log": (ct.estimators.ExcessLogScore(), ct.LogScoreTest(), lambda p: -np.log(p)),
}
scores = pytest.mark.parametrize("name", SCORES)


def test_spiegelhalter_of_binary_predictions():
    p, y = RNG.random(50), RNG.integers(0, 2, 50)
    z = np.sum((y - p) * (1 - 2 * p)) / np.sqrt(np.sum((1 - 2 * p) ** 2 * p * (1 - p)))
    result = ct.SpiegelhalterTest()(p, y)
    assert result.statistic == pytest.approx(z, rel=1e-10)
    assert result.pvalue == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-9)
    assert ct.SpiegelhalterTest()(np.column_stack([1 - p, p]), y).statistic == pytest.approx(z, rel=1e-10)


def test_log_score_of_binary_predictions():
    p, y = RNG.random(50), RNG.integers(0, 2, 50)
    logit = np.log(p / (1 - p))
    z = -np.sum((y - p) * logit) / np.sqrt(np.sum(logit**2 * p * (1 - p)))
    assert ct.LogScoreTest()(p, y).statistic == pytest.approx(z, rel=1e-10)


@scores
def test_mean_0_and_variance_1_by_enumeration(name):
    _, test, score = SCORES[name]
    first = second = 0.0
    for labels in product(range(3), repeat=4):
        weight, z = np.prod(P[np.arange(4), labels]), test(P, np.array(labels)).statistic
        first, second = first + weight * z, second + weight * z**2
    assert first == pytest.approx(0.0, abs=1e-13)
    assert second == pytest.approx(1.0, rel=1e-12)
    s = score(P)
    excess = s[np.arange(4), Y] - (P * s).sum(axis=1)
    deviation = np.sqrt(np.sum((P * s**2).sum(axis=1) - (P * s).sum(axis=1) ** 2))
    assert test(P, Y).statistic == pytest.approx(excess.sum() / deviation, rel=1e-11)


@scores
def test_kurtosis_by_enumeration(name, monkeypatch):
    """That of the sum over all labels, which decides on the note."""
    _, test, _ = SCORES[name]
    fourth = sum(
        np.prod(P[np.arange(4), labels]) * test(P, np.array(labels)).statistic ** 4
        for labels in product(range(3), repeat=4)
    )
    for largest, has_note in ((fourth - 3.0 - 1e-9, True), (fourth - 3.0 + 1e-9, False)):
        monkeypatch.setattr("caltest.estimators.scores.excess_scores.LARGEST_KURTOSIS", largest)
        assert any("few uncertain outcomes" in note for note in test(P, Y).notes) == has_note


@scores
def test_both_signs_are_found(name):
    estimator, test, _ = SCORES[name]
    p = RNG.dirichlet(np.full(3, 0.8), 400)
    for power, sign in ((0.5, 1), (2.0, -1)):
        q = p**power
        y = ct.Categorical(q / q.sum(axis=1, keepdims=True)).sample(3)
        result = test(p, y)
        assert np.sign(result.statistic) == sign
        assert result.pvalue < 1e-3
        assert ct.MonteCarloTest(estimator, 99)(p, y, rng=1).pvalue == 0.01


@scores
def test_scores_that_cannot_vary_are_0(name):
    estimator, test, _ = SCORES[name]
    for p, y in ((np.full((5, 3), 1 / 3), [0, 1, 2, 2, 2]), ([0.5] * 4, [1, 1, 1, 1]), ([0.0, 1.0], [0, 1])):
        result = test(p, y)
        assert (result.statistic, result.pvalue) == (0.0, 1.0)
        assert ct.MonteCarloTest(estimator, 9)(p, y, rng=1).pvalue == 1.0
    assert test([0.0, 0.3], [1, 0]).pvalue == 0.0


@scores
def test_note_where_few_outcomes_are_uncertain(name):
    _, test, _ = SCORES[name]
    rare, usual = np.full(50, 0.004), RNG.uniform(0.05, 0.95, 400)
    assert "only few uncertain outcomes" in test(rare, np.zeros(50, dtype=int)).notes[0]
    assert not test(usual, RNG.integers(0, 2, 400)).notes


def test_bad_families():
    with pytest.raises(TypeError, match="got Normal predictions"):
        ct.SpiegelhalterTest()(ct.Normal([0.0], 1.0), [0.0])


@pytest.mark.parametrize("p", [1e-160, 1e-300, 5e-324])
def test_kurtosis_of_the_rarest_events_is_noted(p):
    """A variance whose square is 0 in floats."""
    result = ct.SpiegelhalterTest()([p], [0])
    assert result.pvalue > 0.9
    assert any("uncertain" in note for note in result.notes)
