import numpy as np
import pytest
from scipy import special, stats

import caltest as ct
from caltest.predictions.inputs.convert import as_sample
from caltest.slices.errors import BinaryErrors, CountErrors, NumberErrors, _of_members, errors_of, normal_scores

RNG = np.random.default_rng(1)
P = RNG.uniform(0.05, 0.95, 200)
Y = (RNG.random(200) < P).astype(float)
Z = RNG.normal(size=200)


def of_all(errors, numbers=None):
    """Statistics of all rows as one slice."""
    numbers = errors.observed() if numbers is None else numbers
    return errors.statistics(numbers.sum(axis=1, keepdims=True), errors.fixed().sum(axis=1, keepdims=True))[:, 0]


def test_statistics_of_probabilities_are_those_of_the_formulas():
    r, v, logit = Y - P, P * (1 - P), special.logit(P)
    c = (v * logit).sum() / v.sum()
    expected = [r.sum() / np.sqrt(v.sum()), (r * (logit - c)).sum() / np.sqrt((v * (logit - c) ** 2).sum())]
    np.testing.assert_allclose(of_all(BinaryErrors(P, Y))[:, 0], expected)


def test_statistics_of_numbers_are_those_of_the_formulas():
    q, m = Z.var(ddof=1), Z.size - 1
    expected = [Z.sum() / np.sqrt(Z.size), (np.cbrt(q) - 1 + 2 / (9 * m)) / np.sqrt(2 / (9 * m))]
    np.testing.assert_allclose(of_all(NumberErrors(Z))[:, 0], expected)


@pytest.mark.parametrize("errors", [BinaryErrors(P, Y), NumberErrors(Z)], ids=["probabilities", "numbers"])
def test_redrawn_statistics_have_mean_0_and_variance_1_and_are_not_correlated(errors):
    z = of_all(errors, errors.redrawn(np.random.default_rng(2), 4000))
    np.testing.assert_allclose(z.mean(axis=1), 0.0, atol=4 / np.sqrt(4000))
    np.testing.assert_allclose(z.var(axis=1), 1.0, atol=0.1)
    assert abs(np.corrcoef(z)[0, 1]) < 0.07


@pytest.mark.parametrize("channel", [0, 1])
def test_corrected_predictions_have_statistics_of_0(channel):
    some = np.arange(200) < 120
    wrong = BinaryErrors(P, (np.random.default_rng(3).random(200) < special.expit(0.4 * special.logit(P) + 0.8)) * 1.0)
    for errors in (wrong, NumberErrors(1.5 * Z + 0.4)):
        again = errors.without(some, channel)
        numbers, fixed = again.observed()[:, some], again.fixed()[:, some]
        z = again.statistics(numbers.sum(axis=1, keepdims=True), fixed.sum(axis=1, keepdims=True))
        assert np.abs(z[: 1 + channel]).max() < 0.05
        np.testing.assert_array_equal(again.observed()[:, ~some], errors.observed()[:, ~some])


def test_certain_predictions_take_no_part():
    errors = BinaryErrors(np.array([0.0, 1.0] * 50), np.array([0.0, 1.0] * 50))
    assert not errors.take_part(errors.fixed().sum(axis=1, keepdims=True), 1e-9).any()
    assert np.isfinite(of_all(errors)).all()


MEANS = np.array([0.03, 0.4, 2.0, 9.0])


@pytest.mark.parametrize("law", [ct.Poisson(MEANS), ct.NegativeBinomial.from_mean(MEANS, [0.3, 0.2, 2.0, 0.05])])
def test_sums_of_counts_have_the_moments_that_they_are_scaled_by(law):
    """By the probabilities of all counts up to 400: mean 0, no correlation, and the variances that are fixed."""
    counts = np.arange(400)
    p = np.exp(law.log_probabilities(counts.astype(float)))
    errors = CountErrors(*law.moments(), np.zeros(4), law, np.zeros(4))
    r, u = errors._numbers(np.broadcast_to(counts, (4, 400)))
    for numbers, squares in ((r, errors.fixed()[1]), (u, errors.fixed()[2])):
        np.testing.assert_allclose((p * numbers).sum(axis=1), 0.0, atol=1e-9)
        np.testing.assert_allclose((p * numbers**2).sum(axis=1), squares, rtol=1e-7)
    np.testing.assert_allclose((p * r * u).sum(axis=1), 0.0, atol=1e-7)


@pytest.mark.parametrize("channel", [0, 1])
def test_corrected_counts_have_statistics_of_0(channel):
    rng = np.random.default_rng(1)
    law, some = ct.NegativeBinomial.from_mean(rng.uniform(0.1, 2.0, 400), 0.5), np.arange(400) < 250
    counts = rng.poisson(1.5 * law.mean)
    again = CountErrors(*law.moments(), counts, law, np.zeros(400)).without(some, channel)
    numbers = again.observed()[:, some].sum(axis=1)
    if channel == 0:
        assert abs(numbers[0, 0]) < 0.02 * np.sqrt(again.fixed()[1, some].sum())
    r = counts[some] - again.means[some]
    weights = again.d[some] ** -2.0
    assert channel == 0 or weights @ r**2 == pytest.approx(weights @ again.v[some], rel=0.1)
    np.testing.assert_array_equal(again.means[~some], law.mean[~some])


def test_counts_of_mean_0_take_no_part():
    law = ct.Poisson([0.0, 0.0, 0.0])
    errors = CountErrors(*law.moments(), np.array([0, 0, 2]), law, np.zeros(3))
    assert not errors.observed().any()
    assert not errors.fixed()[1:].any()


def test_families():
    p = np.full((4, 3), [0.2, 0.5, 0.3])
    errors, event = errors_of(as_sample(p, [0, 1, 1, 2]), 1)
    assert (errors.p.tolist(), errors.y.tolist(), event) == ([0.5] * 4, [0, 1, 1, 0], "the predicted class is right")
    errors, _ = errors_of(as_sample(ct.Normal(np.zeros(3), 2.0), [0.0, 2.0, -4.0]), 1)
    np.testing.assert_allclose(errors.z, [0.0, 1.0, -2.0], atol=1e-12)
    for law in (ct.Poisson(np.full(3000, 4.0)), ct.Gamma(np.full(3000, 2.0), 1.0)):
        errors, _ = errors_of(as_sample(law, law.sample(1)), 2)
        assert stats.kstest(errors.z, "norm").pvalue > 1e-3
    with pytest.raises(TypeError):
        errors_of(as_sample(ct.MvNormal(np.zeros((3, 2)), np.ones((3, 2))), np.zeros((3, 2))), 1)


@pytest.mark.parametrize("n_members", [5, 6])
def test_sizes_of_errors_of_ensembles_are_known_from_six_members_on(n_members):
    pools = np.random.default_rng(1).normal(size=(30, n_members + 1))
    sample = as_sample(ct.Ensemble(pools[:, 1:]), pools[:, 0])
    assert (_of_members(sample.predictions.law, sample.targets) is None) == (n_members == 5)


def test_scores_between_quantiles_are_standard_normal_if_calibrated_and_slices_are_found():
    levels, rng = np.array([0.1, 0.5, 0.9]), np.random.default_rng(2)
    middle, season = rng.normal(size=2_000), np.arange(2_000) % 2
    forecast = ct.QuantileForecast(levels, middle[:, None] + stats.norm.ppf(levels))
    right, wide = middle + rng.normal(size=2_000), middle + rng.normal(size=2_000) * np.where(season == 1, 2.0, 1.0)
    scores = normal_scores(as_sample(forecast, right), 1)
    assert stats.kstest(scores, "norm").pvalue > 0.01
    assert np.array_equal(np.searchsorted(levels, stats.norm.cdf(scores)), forecast.check_targets(right))
    found = ct.find_slices(forecast, wide, {"season": season}, n_resamples=99, rng=1)
    assert [one.name for one in found.rejected()] == ["season = 1"]
    assert found.rows[0].direction == "errors larger than predicted"
    assert any("between two quantiles is drawn" in note for note in found.notes)
    assert ct.find_slices(forecast, right, {"season": season}, n_resamples=99, rng=1).pvalue > 0.05
