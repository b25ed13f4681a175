"""Errors that go up and down with the prediction, many times over its range."""

import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest.estimators.combined.findings import findings_of
from caltest.predictions.faults.fault import cosines_of_ranks, ranks
from caltest.predictions.faults.waves import clearest, following
from caltest.predictions.inputs.convert import as_sample

LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95]
CUTS = np.array([-1.2, -0.4, 0.4, 1.2])
N = 2000


def numbers(m, wave, rng):
    return ct.Normal(m, 1.0), m + wave + rng.normal(size=N)


def student(m, wave, rng):
    return ct.StudentT(np.full(N, 5.0), m, 1.0), m + 1.3 * wave + rng.standard_t(5.0, N)


def vectors(m, wave, rng):
    mean = np.column_stack([rng.normal(size=N), m, rng.normal(size=N)])
    return ct.MvNormal(mean, np.ones((N, 3))), mean + np.outer(wave, [0.0, 1.0, 0.0]) + rng.normal(size=(N, 3))


def counts(m, wave, rng):
    rate = np.exp(1.5 + 0.7 * m)
    return ct.Poisson(rate), rng.poisson(rate * (1.0 + 0.7 * wave))


def quantiles(m, wave, rng):
    return ct.QuantileForecast(LEVELS, m[:, None] + stats.norm.ppf(LEVELS)), m + wave + rng.normal(size=N)


def ordered(m, wave, rng):
    p = np.diff(stats.norm.cdf(np.append(np.insert(CUTS, 0, -np.inf), np.inf) - 1.2 * m[:, None]), axis=1)
    return ct.Ordinal(p), np.searchsorted(CUTS, 1.2 * m + 1.3 * wave + rng.normal(size=N))


@pytest.mark.every(5)
@pytest.mark.parametrize("periods", [4, 11])
@pytest.mark.parametrize("make", [numbers, student, vectors, counts, quantiles, ordered])
def test_fast_waves_are_seen_and_named(make, periods):
    rng = np.random.default_rng([7, periods])
    m = rng.normal(size=N)
    result = ct.calibration_test(
        *make(m, 0.5 * np.sin(2.0 * np.pi * periods * stats.norm.cdf(m)), rng), n_resamples=99, rng=1
    )
    assert result.pvalue <= 0.02
    assert "wave of " in result.finding.kind
    first, *second = result.finding.words.split("; with that corrected, ")
    assert "off in places" in first
    assert first.endswith(" other places")
    assert "off in places" not in str(second)


def rows_of(law, name, targets, weights):
    faults = law.faults(weights)
    (rows,) = [one for one in faults.compared if one.name == name]
    return rows.rows(faults.seen(targets))


def fast(feature, first=4):
    return cosines_of_ranks(ranks(feature), 24)[first - 1 :]


def test_rows_are_fast_cosines_times_scores_and_their_squares():
    """Of numbers, ordered outcomes and quantiles along both features, of vectors and counts along means."""
    rng = np.random.default_rng(2)
    n, w = 40, rng.uniform(0.5, 2.0, 40)
    m, s = rng.normal(size=n), np.exp(rng.normal(size=n))
    y = m + s * np.clip(rng.normal(size=(3, n)), -5.0, 5.0)
    both = np.concatenate([fast(m), fast(s, 3)]) * w
    for name, power in (("waves of shifts", 1), ("waves of scales", 2)):
        expected = both @ (((y - m) / s) ** power).T
        assert rows_of(ct.Normal(m, s), name, y, w) == pytest.approx(expected, abs=1e-9)
    rate = np.exp(m)
    counts = rng.poisson(rate, (3, n))
    residuals = np.clip((counts - rate) / np.sqrt(rate), -6.0, 6.0)
    for name, power in (("waves of means", 1), ("waves of spreads", 2)):
        expected = (fast(rate) * w) @ (residuals**power).T
        assert rows_of(ct.Poisson(rate), name, counts, w) == pytest.approx(expected, abs=1e-9)
    means = rng.normal(size=(n, 2))
    pairs = means + np.clip(rng.normal(size=(3, n, 2)), -5.0, 5.0)
    found = rows_of(ct.MvNormal(means, np.ones((n, 2))), "fast waves of scales", pairs, w)
    squares = np.square(pairs - means)
    expected = [(fast(means[:, t]) * w) @ squares[:, :, t].T for t in (0, 1)]
    assert found == pytest.approx(np.concatenate(expected), abs=1e-9)


@pytest.mark.parametrize("law", [ct.Ordinal, ct.QuantileForecast])
def test_rows_of_ordered_outcomes_are_fast_cosines_times_normal_scores_and_their_squares(law):
    rng = np.random.default_rng(3)
    n, w = 40, rng.uniform(0.5, 2.0, 40)
    if law is ct.Ordinal:
        p = rng.dirichlet(np.ones(4), n)
        predictions, labels = ct.Ordinal(p), rng.integers(0, 4, (3, n))
        first, second = p @ np.arange(4), p @ np.arange(4) ** 2
        features = first, np.sqrt(second - first**2)
    else:
        middle, size = rng.normal(size=(2, n))
        values = middle[:, None] + np.exp(size)[:, None] * np.array([-1.0, 0.0, 1.0])
        predictions, labels = ct.QuantileForecast([0.1, 0.5, 0.9], values), rng.integers(0, 4, (3, n))
        p, features = np.tile([0.1, 0.4, 0.4, 0.1], (n, 1)), (middle, np.exp(size))
    scores = stats.norm.ppf(np.cumsum(p, axis=1) - p / 2.0)
    scores -= (p * scores).sum(axis=1, keepdims=True)
    scores /= np.sqrt((p * scores**2).sum(axis=1, keepdims=True))
    z = scores[np.arange(n), labels]
    waves = np.concatenate([fast(one, 3) for one in features]) * w
    for name, power in (("waves of shifts", 1), ("waves of scales", 2)):
        assert rows_of(predictions, name, labels, w) == pytest.approx(waves @ (z**power).T, abs=1e-9)


def test_waves_of_scales_are_seen_along_every_feature_and_named():
    """Of numbers along predicted variances, and of quantiles along widths."""
    rng = np.random.default_rng(11)
    m, size = rng.normal(size=(2, N))
    s = np.exp(0.3 * size)
    errors = s * np.exp(0.3 * np.sin(12.0 * np.pi * stats.norm.cdf(size))) * rng.normal(size=N)
    quantiles = ct.QuantileForecast(LEVELS, m[:, None] + s[:, None] * stats.norm.ppf(LEVELS))
    for law, kind, place in (
        (ct.Normal(m, s), "fast wave of scales", "predicted variances"),
        (quantiles, "wave of scales", "predicted widths"),
    ):
        result = ct.calibration_test(law, m + errors, n_resamples=39, rng=1)
        assert result.pvalue == 0.025
        assert (result.finding.kind, result.finding.place) == (kind, place)
        assert result.finding.words.startswith("predictions are too narrow or too wide in places: errors are ")


@pytest.mark.every(2)
@pytest.mark.parametrize("change", [lambda m: 0.3 * (m * m - 1.0), lambda m: 0.35 * np.sin(3.0 * m)])
def test_slow_waves_of_vectors_are_seen_and_named(change):
    rng = np.random.default_rng(8)
    m = rng.normal(size=N)
    result = ct.calibration_test(*vectors(m, change(m), rng), n_resamples=39, rng=1)
    assert result.pvalue == 0.025
    assert result.finding.kind == "wave of shifts"
    assert result.finding.place == "predicted means of coordinate 1"
    assert result.finding.words.startswith("outcomes are off in places in coordinate 1: ")


def test_spreads_that_follow_the_distance_of_a_coordinate_are_named():
    rng = np.random.default_rng(9)
    m, errors = rng.normal(size=(N, 2)), rng.normal(size=(N, 2))
    errors[:, 0] *= np.where(np.abs(m[:, 0]) > 0.67, 1.25, 0.8)
    result = ct.calibration_test(ct.MvNormal(m, np.ones((N, 2))), m + errors, n_resamples=39, rng=1)
    assert result.pvalue == 0.025
    assert result.finding.kind == "wave of scales"
    assert result.finding.words.startswith("predictions are too narrow or too wide in places in coordinate 0: ")


@pytest.mark.parametrize(("j", "phase"), [(4, 0.0), (11, 1.1), (24, -2.5)])
def test_the_wave_that_is_followed_is_found_with_its_phase(j, phase):
    feature = np.random.default_rng(3).normal(size=800)
    wave = np.cos(np.pi * j * ranks(feature) + phase)
    (found,) = following(wave[None], feature, "x", 4)
    assert np.corrcoef(found.signs, wave)[0, 1] > 0.999
    assert len(found.parts) in {j, j + 1}


def test_no_wave_is_followed_in_a_few_observations():
    feature = np.arange(39.0)
    assert following(np.ones((1, 39)), feature, "x", 4) == []
    assert following(np.ones((1, 40)), np.arange(40.0), "x", 4)[0].signs.shape == (40,)
    assert following(np.ones((1, 400)), np.ones(400), "x", 4) == []


def test_slopes_of_vectors_and_quantiles_are_named():
    rng = np.random.default_rng(3)
    m = 1.5 * rng.normal(size=N)
    found = findings_of(as_sample(*vectors(m, -0.25 * m, rng)))[0]
    assert found.kind == "slope"
    assert found.place == "coordinate 1"
    assert found.interval.low < 0.75 < found.interval.high
    assert found.words.startswith("outcomes rise less than predicted in coordinate 1: 0.7")
    found = findings_of(as_sample(*quantiles(m, -0.25 * m, rng)))[0]
    assert found.kind == "slope"
    assert found.words.startswith("outcomes are too low where middle quantiles are largest, by about 0.")


def test_neighbours_that_are_off_most_clearly_are_named():
    sizes = [2.5, 1.0, 3.0, 9.0, 2.1, 4.0, 2.2, 2.6]
    places = [(z, f"{z} in {i}") for i, z in enumerate(sizes)]
    assert clearest(places) == ([places[i][1] for i in (2, 3, 4, 5)], ", and so on in 3 other places")
    assert clearest(places[:5]) == ([places[i][1] for i in (0, 2, 3, 4)], "")
    assert clearest(places[:6])[1] == ", and so on in 1 other place"
    assert clearest(places[1:2]) == clearest([]) == ([], "")
