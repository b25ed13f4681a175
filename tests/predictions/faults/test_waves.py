"""Errors that go up and down with the prediction, many times over its range."""

import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest.predictions.faults.fault import ranks
from caltest.predictions.faults.waves import clearest, following

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


@pytest.mark.parametrize("change", [lambda m: 0.3 * (m * m - 1.0), lambda m: 0.35 * np.sin(3.0 * m)])
def test_slow_waves_of_vectors_are_seen_and_named(change):
    rng = np.random.default_rng(8)
    m = rng.normal(size=N)
    result = ct.calibration_test(*vectors(m, change(m), rng), n_resamples=99, rng=1)
    assert result.pvalue == 0.01
    assert result.finding.kind == "wave of shifts"
    assert result.finding.place == "predicted means of coordinate 1"
    assert result.finding.words.startswith("outcomes are off in places in coordinate 1: ")


def test_spreads_that_follow_the_distance_of_a_coordinate_are_named():
    rng = np.random.default_rng(9)
    m, errors = rng.normal(size=(N, 2)), rng.normal(size=(N, 2))
    errors[:, 0] *= np.where(np.abs(m[:, 0]) > 0.67, 1.25, 0.8)
    result = ct.calibration_test(ct.MvNormal(m, np.ones((N, 2))), m + errors, n_resamples=99, rng=1)
    assert result.pvalue == 0.01
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
    result = ct.calibration_test(*vectors(m, -0.25 * m, rng), n_resamples=99, rng=1)
    assert result.finding.kind == "slope"
    assert result.finding.place == "coordinate 1"
    assert result.finding.interval.low < 0.75 < result.finding.interval.high
    assert result.finding.words.startswith("outcomes rise less than predicted in coordinate 1: 0.7")
    result = ct.calibration_test(*quantiles(m, -0.25 * m, rng), n_resamples=99, rng=1)
    assert result.finding.kind == "slope"
    assert result.finding.words.startswith("outcomes are too low where middle quantiles are largest, by about 0.")


def test_neighbours_that_are_off_most_clearly_are_named():
    sizes = [2.5, 1.0, 3.0, 9.0, 2.1, 4.0, 2.2, 2.6]
    places = [(z, f"{z} in {i}") for i, z in enumerate(sizes)]
    assert clearest(places) == ([places[i][1] for i in (2, 3, 4, 5)], ", and so on in 3 other places")
    assert clearest(places[:5]) == ([places[i][1] for i in (0, 2, 3, 4)], "")
    assert clearest(places[:6])[1] == ", and so on in 1 other place"
    assert clearest(places[1:2]) == clearest([]) == ([], "")
