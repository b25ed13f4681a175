"""Excess scores and moments of residuals, against their definitions."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

import caltest as ct

RNG = np.random.default_rng(1)
P = RNG.dirichlet(np.full(3, 0.7), 4)
Y = np.array([0, 2, 1, 1])


def test_excess_log_score():
    entropy = -(P * np.log(P)).sum(axis=1)
    expected = np.mean(-np.log(P[np.arange(4), Y]) - entropy)
    assert ct.estimators.ExcessLogScore()(P, Y) == pytest.approx(expected, rel=1e-13)


def test_excess_brier_score():
    residuals = np.eye(3)[Y] - P
    expected = np.mean((residuals**2).sum(axis=1) - (1.0 - (P**2).sum(axis=1)))
    assert ct.estimators.ExcessBrierScore()(P, Y) == pytest.approx(expected, rel=1e-13)
    p, y = P[:, 0], (Y == 0).astype(int)
    spiegelhalter = np.sum((y - p) * (1 - 2 * p))
    assert ct.estimators.ExcessBrierScore()(p, y) == pytest.approx(2.0 * spiegelhalter / 4, rel=1e-13)


@pytest.mark.parametrize("score", [ct.estimators.ExcessLogScore(), ct.estimators.ExcessBrierScore()])
def test_excess_scores_have_mean_zero_by_enumeration(score):
    total = 0.0
    for labels in product(range(3), repeat=4):
        total += np.prod(P[np.arange(4), labels]) * score(P, np.array(labels))
    assert total == pytest.approx(0.0, abs=1e-15)


def test_overconfident_predictions_have_positive_excess():
    p = RNG.dirichlet(np.full(3, 0.3), 5000)
    soft = p**0.5
    y = ct.Categorical(soft / soft.sum(axis=1, keepdims=True)).sample(1)
    assert ct.estimators.ExcessLogScore()(p, y) > 0.1
    assert ct.estimators.ExcessBrierScore()(p, y) > 0.03


def test_probabilities_of_zero_count_as_tiny():
    assert ct.estimators.ExcessLogScore()([[1.0, 0.0], [0.5, 0.5]], [1, 0]) == pytest.approx(744.44 / 2, rel=1e-3)


PREDICTIONS = {
    "normal": ct.Normal([0.0, 1.0, 3.0], [1.0, 2.0, 0.5]),
    "vectors": ct.MvNormal([[0.0, 1.0], [2.0, 0.0]], [[[2.0, 0.5], [0.5, 1.0]], [[1.0, 0.0], [0.0, 3.0]]]),
    "gamma": ct.Gamma([1.0, 4.0, 2.0], [1.0, 0.5, 3.0]),
    "mixture": ct.Mixture([ct.Normal([0.0, 1.0], 1.0), ct.Normal([3.0, 1.0], 0.5)], [0.25, 0.75]),
    "poisson": ct.Poisson([0.0, 4.0, 2.0]),
    "scenarios": ct.Scenarios([[0.0, 1.0, 2.0], [3.0, 3.0, 3.0]]),
    "vector scenarios": ct.Scenarios(np.random.default_rng(2).normal(size=(3, 5, 2))),
}


def scores(name, y):
    """By the definitions."""
    predictions = PREDICTIONS[name]
    if name == "normal":
        return (y - predictions.mean) / predictions.scale
    if name == "vectors":
        roots = [np.linalg.eigh(c) for c in predictions.covariance]
        return np.stack([v @ np.diag(w**-0.5) @ v.T @ d for (w, v), d in zip(roots, y - predictions.mean, strict=True)])
    if name in ("gamma", "mixture"):
        return stats.norm.ppf(predictions.cdf(y))
    if name == "poisson":
        return np.array([0.0, (y[1] - 4.0) / 2.0, (y[2] - 2.0) / np.sqrt(2.0)])
    if name == "scenarios":
        return np.array([(y[0] - 1.0) / np.sqrt(2.0 / 3.0), 0.0])
    members = predictions.members
    spread = np.sqrt(members.var(axis=1).sum(axis=1) / 2.0)
    return (y - members.mean(axis=1)) / spread[:, None]


@pytest.mark.parametrize("name", PREDICTIONS)
def test_moments_of_residuals(name):
    predictions = PREDICTIONS[name]
    y = predictions.sample(3)
    z = scores(name, y)
    vectors = z.reshape(len(z), -1)
    n, d = vectors.shape
    assert ct.estimators.ResidualMean()(predictions, y) == pytest.approx(
        n * (vectors.mean(axis=0) ** 2).sum() - d, rel=1e-10
    )
    assert ct.estimators.ResidualSpread()(predictions, y) == pytest.approx(
        (vectors**2).sum() / (n * d) - 1.0, rel=1e-10
    )
    redraws = predictions.sample(4, 6)
    for estimator in (ct.estimators.ResidualMean(), ct.estimators.ResidualSpread()):
        together = estimator.estimates(predictions, redraws)
        assert together == pytest.approx([estimator(predictions, one) for one in redraws], rel=1e-12)


def test_far_outcomes_have_finite_scores():
    predictions = ct.Gamma([1.0, 4.0], 1.0)
    assert ct.estimators.ResidualSpread()(predictions, [1e6, 1e-300]) == pytest.approx(38.47**2 - 1.0, rel=1e-3)


def test_singular_covariances_are_measured_on_average():
    predictions = ct.MvNormal([[0.0, 1.0]], [[1.0, 0.0]])
    assert ct.estimators.ResidualSpread()(predictions, [[2.0, 1.0]]) == pytest.approx(4.0 / 0.5 / 2.0 - 1.0)


def test_bad_families():
    with pytest.raises(TypeError, match=r"got Normal predictions, wanted probabilities of classes .* ResidualMean"):
        ct.estimators.ExcessLogScore()(ct.Normal([0.0], 1.0), [0.0])
    with pytest.raises(TypeError, match=r"got Categorical predictions, wanted distributions of numbers .* Excess"):
        ct.estimators.ResidualSpread()(P, Y)


def test_two_sided_tests_find_both_directions():
    rng = np.random.default_rng(5)
    wide, narrow = (ct.Normal(np.zeros(200), scale) for scale in (1.4, 0.7))
    y = rng.normal(size=200)
    for predictions in (wide, narrow):
        result = ct.MonteCarloTest(ct.estimators.ResidualSpread(), 99)(predictions, y, rng=1)
        assert result.pvalue == 0.01
        assert result.statistic == abs(result.estimate)
        assert result.statistic_name == "absolute value of the estimate"


RNG_EXCESS_SCORES = np.random.default_rng(1)
P_EXCESS_SCORES = RNG_EXCESS_SCORES.dirichlet(np.full(3, 0.7), 4)
Y_EXCESS_SCORES = np.array([0, 2, 1, 1])
SCORES = {
    "brier": (
        ct.estimators.ExcessBrierScore(),
        ct.SpiegelhalterTest(),
        lambda p: 1 - 2 * p + (p**2).sum(axis=1, keepdims=True),
    ),
    "log": (ct.estimators.ExcessLogScore(), ct.LogScoreTest(), lambda p: -np.log(p)),
}
scores_of_excess_scores = pytest.mark.parametrize("name", SCORES)


def test_spiegelhalter_of_binary_predictions():
    p, y = RNG_EXCESS_SCORES.random(50), RNG_EXCESS_SCORES.integers(0, 2, 50)
    z = np.sum((y - p) * (1 - 2 * p)) / np.sqrt(np.sum((1 - 2 * p) ** 2 * p * (1 - p)))
    result = ct.SpiegelhalterTest()(p, y)
    assert result.statistic == pytest.approx(z, rel=1e-10)
    assert result.pvalue == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-9)
    assert ct.SpiegelhalterTest()(np.column_stack([1 - p, p]), y).statistic == pytest.approx(z, rel=1e-10)


def test_log_score_of_binary_predictions():
    p, y = RNG_EXCESS_SCORES.random(50), RNG_EXCESS_SCORES.integers(0, 2, 50)
    logit = np.log(p / (1 - p))
    z = -np.sum((y - p) * logit) / np.sqrt(np.sum(logit**2 * p * (1 - p)))
    assert ct.LogScoreTest()(p, y).statistic == pytest.approx(z, rel=1e-10)


@scores_of_excess_scores
def test_mean_0_and_variance_1_by_enumeration(name):
    _, test, score = SCORES[name]
    first = second = 0.0
    for labels in product(range(3), repeat=4):
        weight, z = np.prod(P_EXCESS_SCORES[np.arange(4), labels]), test(P_EXCESS_SCORES, np.array(labels)).statistic
        first, second = first + weight * z, second + weight * z**2
    assert first == pytest.approx(0.0, abs=1e-13)
    assert second == pytest.approx(1.0, rel=1e-12)
    s = score(P_EXCESS_SCORES)
    excess = s[np.arange(4), Y_EXCESS_SCORES] - (P_EXCESS_SCORES * s).sum(axis=1)
    deviation = np.sqrt(np.sum((P_EXCESS_SCORES * s**2).sum(axis=1) - (P_EXCESS_SCORES * s).sum(axis=1) ** 2))
    assert test(P_EXCESS_SCORES, Y_EXCESS_SCORES).statistic == pytest.approx(excess.sum() / deviation, rel=1e-11)


@scores_of_excess_scores
def test_kurtosis_by_enumeration(name, monkeypatch):
    """That of the sum over all labels, which decides on the note."""
    _, test, _ = SCORES[name]
    fourth = sum(
        np.prod(P_EXCESS_SCORES[np.arange(4), labels]) * test(P_EXCESS_SCORES, np.array(labels)).statistic ** 4
        for labels in product(range(3), repeat=4)
    )
    for largest, has_note in ((fourth - 3.0 - 1e-9, True), (fourth - 3.0 + 1e-9, False)):
        monkeypatch.setattr("caltest.estimators.scores.LARGEST_KURTOSIS", largest)
        assert (
            any("few uncertain outcomes" in note for note in test(P_EXCESS_SCORES, Y_EXCESS_SCORES).notes) == has_note
        )


@scores_of_excess_scores
def test_both_signs_are_found(name):
    estimator, test, _ = SCORES[name]
    p = RNG_EXCESS_SCORES.dirichlet(np.full(3, 0.8), 400)
    for power, sign in ((0.5, 1), (2.0, -1)):
        q = p**power
        y = ct.Categorical(q / q.sum(axis=1, keepdims=True)).sample(3)
        result = test(p, y)
        assert np.sign(result.statistic) == sign
        assert result.pvalue < 1e-3
        assert ct.MonteCarloTest(estimator, 99)(p, y, rng=1).pvalue == 0.01


@scores_of_excess_scores
def test_scores_that_cannot_vary_are_0(name):
    estimator, test, _ = SCORES[name]
    for p, y in ((np.full((5, 3), 1 / 3), [0, 1, 2, 2, 2]), ([0.5] * 4, [1, 1, 1, 1]), ([0.0, 1.0], [0, 1])):
        result = test(p, y)
        assert (result.statistic, result.pvalue) == (0.0, 1.0)
        assert ct.MonteCarloTest(estimator, 9)(p, y, rng=1).pvalue == 1.0
    assert test([0.0, 0.3], [1, 0]).pvalue == 0.0


@scores_of_excess_scores
def test_note_where_few_outcomes_are_uncertain(name):
    _, test, _ = SCORES[name]
    rare, usual = np.full(50, 0.004), RNG_EXCESS_SCORES.uniform(0.05, 0.95, 400)
    assert "only few uncertain outcomes" in test(rare, np.zeros(50, dtype=int)).notes[0]
    assert not test(usual, (RNG_EXCESS_SCORES.random(400) < usual).astype(int)).notes


def test_bad_families_of_excess_scores():
    with pytest.raises(TypeError, match="got Normal predictions"):
        ct.SpiegelhalterTest()(ct.Normal([0.0], 1.0), [0.0])


@pytest.mark.parametrize("p", [1e-160, 1e-300, 5e-324])
def test_kurtosis_of_the_rarest_events_is_noted(p):
    """A variance whose square is 0 in floats."""
    result = ct.SpiegelhalterTest()([p], [0])
    assert result.pvalue > 0.9
    assert any("uncertain" in note for note in result.notes)
