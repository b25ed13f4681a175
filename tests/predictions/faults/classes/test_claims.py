import re
from types import SimpleNamespace

import numpy as np
import pytest
import scipy

import caltest as ct
from caltest.estimators.combined.findings import findings_of, named
from caltest.predictions.faults.classes.claims import BinaryView
from caltest.predictions.faults.classes.windows import WINDOWS, Window, claim_in_words
from caltest.predictions.faults.words import percents
from caltest.predictions.inputs.convert import as_sample


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        (0.0, "0.00"),
        (1.0, "1.00"),
        (0.005, "0.01"),
        (0.995, "0.99"),
        (0.00123, "0.0012"),
        (0.996, "0.996"),
        (0.99987, "0.99987"),
        (0.5, "0.50"),
    ],
)
def test_claims_have_two_digits_or_those_that_tell_them_from_0_and_1(claim, words):
    assert claim_in_words(claim) == words


def test_windows_are_compared_by_squared_standardised_sums_of_errors():
    rng = np.random.default_rng(1)
    claims, weights = rng.beta(0.5, 3.0, 300), rng.uniform(0.5, 2.0, 300)
    first = (rng.random(300) < claims).astype(float)
    view = BinaryView(ct.Bernoulli(claims), weights, None)
    found = Window(view, [1]).promising(SimpleNamespace(first=first))
    for value, inside in zip(found, map(view.event.inside, range(len(WINDOWS))), strict=True):
        error = (view.weights * (first - claims))[inside].sum()
        variance = (view.weights**2 * claims * (1.0 - claims))[inside].sum()
        assert value == (pytest.approx(error**2 / variance) if inside.any() else -np.inf)


def test_slopes_are_around_the_mean_of_the_log_odds():
    """At the centre that is printed the corrected claim is the claim."""
    p = np.random.default_rng(1).beta(1.0, 8.0, 400)
    faults = ct.Bernoulli(p).faults()
    (slope,) = [one for one in faults.kinds if one.kind == "slope"]
    x, v = np.log(p / (1.0 - p)), p * (1.0 - p)
    centre = (v @ x) / v.sum()
    corrected = slope.law(faults.seen(np.zeros((1, 400))), 0, -0.5)
    assert np.log(corrected[:, 1] / corrected[:, 0]) == pytest.approx(centre + 0.5 * (x - centre), abs=1e-9)


@pytest.mark.parametrize(
    ("factor", "words"),
    [(0.5, "claims are too extreme: their log odds should be 0."), (-1.0, "claims are the wrong way round: their")],
)
def test_claims_of_rare_events_that_are_too_extreme_are_said_to_be(factor, words):
    rng = np.random.default_rng(2)
    x = 1.5 * rng.normal(size=2000) - 3.0
    p = 1.0 / (1.0 + np.exp(-x))
    centre = np.average(x, weights=p * (1.0 - p))
    q = 1.0 / (1.0 + np.exp(-centre - factor * (x - centre)))
    finding = ct.calibration_test(ct.Bernoulli(p), rng.random(2000) < q, n_resamples=99, rng=1).finding
    assert finding.words.startswith(words)
    assert finding.interval.low < factor < finding.interval.high


def test_claims_that_say_nothing_are_not_the_wrong_way_round():
    """The slope is below 0 by chance: its interval holds 0."""
    rng = np.random.default_rng(2)
    p = rng.beta(1.0, 3.0, 500)
    finding = ct.calibration_test(ct.Bernoulli(p), rng.random(500) < 0.25, n_resamples=99, rng=1).finding
    assert finding.kind == "slope"
    assert finding.estimate < 0.0 < finding.interval.high
    assert finding.words.startswith("claims are too extreme: their log odds should be -0.")


def test_claims_around_even_odds_have_a_temperature():
    rng = np.random.default_rng(3)
    x = 2.0 * rng.normal(size=1000)
    p, q = 1.0 / (1.0 + np.exp([-x, -x / 1.7]))
    finding = ct.calibration_test(ct.Bernoulli(p), rng.random(1000) < q, n_resamples=99, rng=1).finding
    assert finding.words.startswith("predictions are overconfident")
    assert "log odds" not in finding.words


def test_slopes_say_what_comes_true_on_both_sides():
    rng = np.random.default_rng(1)
    p = rng.beta(2.0, 12.0, 4000)
    x = np.log(p / (1.0 - p))
    y = rng.random(4000) < 1.0 / (1.0 + np.exp(0.9 - 0.5 * x))
    finding = ct.calibration_test(p, y, n_resamples=99, rng=1).finding
    assert finding.kind == "slope"
    numbers = re.search(
        r"those of (.*) %; claims above that are (.*) % on average and come true (.*) % of", finding.words
    )
    centre, claimed, came = (float(one) / 100.0 for one in numbers.groups())
    above = p > centre
    assert (claimed, came) == pytest.approx((p[above].mean(), y[above].mean()), abs=0.005)


@pytest.mark.parametrize("centre", [-6.0, -3.0])
def test_temperatures_of_rare_events_are_said_of_the_events(centre):
    """A risk of 0.1 %, of which the report is about class 1, is no claim of 99.9 %, also if a few are large."""
    rng = np.random.default_rng(19)
    logits = rng.normal(centre, 1.5, 20_000)
    p, y = scipy.special.expit(logits), (rng.random(20_000) < scipy.special.expit(logits / 1.5)).astype(int)
    assert (p > 0.5).mean() < 0.03
    finding = findings_of(as_sample(p, y))[0]
    assert finding.kind == "temperature"
    claimed, came = percents(p.mean(), y.mean())
    assert f"claims of {claimed} on average come true {came} of the time" in finding.words
    two = np.stack([1.0 - p, p], axis=1)
    claimed, came = percents(two.max(axis=1).mean(), (two.argmax(axis=1) == y).mean())
    assert f"claims of {claimed} on average come true {came} of the time" in findings_of(as_sample(two, y))[0].words


def test_rare_events_are_more_frequent_before_predictions_are_overconfident(replications):
    """Factors of small risks are nearly temperatures and random labels, which are likelier in many of such sets."""
    kinds, (sets, most) = [], replications((4, 7), (10, 18))
    for seed in range(sets):
        rng = np.random.default_rng(seed)
        q = scipy.special.expit(rng.normal(-4.5, 0.7, 10_000))
        kinds += [findings_of(as_sample(f * q, (rng.random(q.size) < q).astype(int)))[0].kind for f in (0.6, 1.6)]
    assert not {"temperature", "random labels"} & set(kinds)
    assert kinds.count("frequency") >= most


def said_of_factors(means, factor, n=3000):
    """Words of many outcomes whose odds are some times those claimed, and kinds whose gains are close to the first."""
    words, near = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        q = scipy.special.expit(rng.normal(means, 1.0, n))
        y = (rng.random(n) < factor * q / (1.0 - q + factor * q)).astype(int)
        found = findings_of(as_sample(q, y))
        words.append(named(found, 0.01)[0].words)
        near += [one.kind for one in found[1:] if found[0].gain - 2.0 < one.gain < found[0].gain - 1e-4]
    return words, near


def test_nothing_of_all_claims_is_said_beside_how_often_a_rare_event_happens():
    """It would not tell what else to do; a temperature of common events does."""
    words, near = said_of_factors(-4.0, 1.8)
    assert "temperature" in near
    assert all(one.startswith("class 1 occurs more often") for one in words)
    assert not any("; or predictions are " in one for one in words)
    words, _ = said_of_factors(1.5, 0.6, 300)
    assert any("; or predictions are " in one for one in words)


def test_fast_waves_of_claims_are_found_and_named_with_their_phase():
    """Claims of 16 half periods that are 10 points off, of which slower ones and windows show little."""
    rng = np.random.default_rng(5)
    p = rng.random(4000)
    came = rng.random(4000) < p + 0.3 * np.sin(16.0 * np.pi * p) * np.minimum(p, 1.0 - p)
    result = ct.calibration_test(ct.Bernoulli(p), came, n_resamples=99, rng=1)
    assert result.pvalue == 0.01
    assert result.components[0].name == "waves of claims"
    assert result.finding.kind == "fast wave"
    assert result.finding.second is None
    places = re.findall(
        r"those from (\S+) to (\S+) come true (\S+) % of the time instead of (\S+) %", result.finding.words
    )
    assert len(places) >= 3
    for low, high, rate, instead in np.array(places, dtype=float):
        assert high - low == pytest.approx(1.0 / 16.0, abs=0.02)
        assert np.sign(rate - instead) == np.sign(np.sin(8.0 * np.pi * (low + high)))


def test_waves_of_claims_have_half_periods_of_some_observations():
    """None of 60 tied values, in which a half period has no others."""
    rng = np.random.default_rng(6)
    for p, are_some in ((rng.random(300), True), (np.repeat([0.2, 0.5, 0.7], 100), False)):
        faults = ct.Bernoulli(p).faults().to_name((rng.random(300) < p).astype(int))
        assert (faults.kinds[-1].kind == "fast wave") is are_some


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.0, 0.6, "claims of 0.60, the largest, are too low, as if cut off there: they come true 8"),
        (0.15, 1.0, "claims of 0.15, the smallest, are too high, as if cut off there: they come true 5"),
        (0.1, 0.9, "claims of 0.10, the smallest, are too high and of 0.90, the largest, too low, as if cut off"),
    ],
)
def test_claims_that_are_cut_off(low, high, words):
    rng = np.random.default_rng(41)
    p = rng.beta(0.5, 0.5, 2000)
    claims, came = np.clip(p, low, high), (rng.random(2000) < p).astype(int)
    first = findings_of(as_sample(ct.Bernoulli(claims), came))[0]
    assert (first.kind, first.words.startswith(words)) == ("clipped", True)
    right = (rng.random(2000) < claims).astype(int)
    assert findings_of(as_sample(ct.Bernoulli(claims), right))[0].gain <= 0.0
