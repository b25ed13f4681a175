"""What is said of faults is true of the outcomes, and has digits that say something."""

import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest.estimators.combined.findings import findings_of
from caltest.predictions.faults.numbers.errors import scale_in_words
from caltest.predictions.faults.patterns import Pattern
from caltest.predictions.faults.words import Fit, percent, told_apart
from caltest.predictions.inputs.convert import as_sample

N = 1000
RNG = np.random.default_rng(3)
MEAN = RNG.normal(size=N)


def first(predictions, outcomes):
    return findings_of(as_sample(predictions, outcomes))[0]


@pytest.mark.parametrize(
    ("numbers", "texts"),
    [
        ((1.23456, 2.0), ["1.23", "2"]),
        ((1000000.1, 1000003.2), ["1000000", "1000003"]),
        ((14532.0, 1.0), ["14500", "1"]),
        ((1e-9, 2e-9), ["1e-09", "2e-09"]),
        ((3.0, 3.0), ["3", "3"]),
    ],
)
def test_numbers_that_are_told_apart(numbers, texts):
    assert told_apart(*numbers) == texts


def test_places_far_from_0_have_digits():
    mean = 1e6 + MEAN
    found = first(ct.Normal(mean, 1.0), np.where(MEAN > 0.0, mean + 1.0, mean) + RNG.normal(size=N))
    assert "where predicted means are above 100000" in found.words
    assert "e+" not in found.words


@pytest.mark.parametrize(
    ("slope", "words"),
    [
        (-1.0, "outcomes fall where predicted means rise: they rise -"),
        (0.0, "outcomes do not follow predicted means: they rise "),
        (0.4, "outcomes rise less than predicted: 0."),
        (1.6, "outcomes rise more than predicted: 1."),
    ],
)
def test_slopes(slope, words):
    y = slope * MEAN + 0.5 * np.random.default_rng(2).normal(size=N)
    assert first(ct.Normal(MEAN, 0.5), y).words.startswith(words)


def test_shapes_say_what_can_be_seen():
    """Laws of Student's t are wide first, and then have tails; skews and tails without outliers are in the middle."""
    found = first(ct.StudentT(3.0, MEAN, 1.0), MEAN + RNG.normal(size=N))
    assert (found.kind, found.second.kind) == ("scale", "light tails")
    uniform = ct.Continuous(stats.uniform(MEAN - 1.0, 2.0))
    assert first(uniform, MEAN + RNG.uniform(-0.7, 0.7, N)).second is None
    few = ct.Normal(np.zeros(200), 1.0)
    laplace = np.clip(np.random.default_rng(2).laplace(scale=0.7, size=200), -2.8, 2.8)
    kinds = {one.kind: one.words for one in findings_of(as_sample(few, laplace))}
    assert "of them are within 0.5 standard deviations instead of 38 %" in kinds["heavy tails"]
    narrow = first(ct.Normal(MEAN, 1.0), MEAN + 0.2 * np.random.default_rng(4).exponential(size=N))
    assert "0 % below" not in narrow.words


def test_spreads_of_members_that_say_nothing():
    same = first(ct.Ensemble(np.repeat(MEAN[:, None], 10, axis=1)), MEAN + RNG.normal(size=N))
    assert same.words == "predictions have hardly any spread: errors are more than 1,000 times as large as predicted"
    members = MEAN[:, None] + RNG.normal(size=(N, 5))
    found = first(ct.Ensemble(members), members.mean(axis=1) + 0.01 * RNG.normal(size=N))
    assert "0 (0 to 0)" not in found.words
    assert "errors are smaller than chance in the mean of the members alone would make them" in found.words


def test_orders_are_of_classes_that_occur():
    p = np.random.default_rng(5).dirichlet(np.full(6, 0.3), N)
    y = np.minimum(ct.Categorical(p).sample(np.random.default_rng(6)) + 1, 5)
    found = first(p, y)
    assert found.kind == "order"
    assert "turns out as class 0" not in found.words


@pytest.mark.every(2)
@pytest.mark.parametrize("k", [40, 100])
def test_pairs_of_classes_that_are_predicted_seldom(k):
    """Others than the 32 with rows of their own, chosen by the outcomes."""
    rng = np.random.default_rng(7)
    logits = 2.0 * rng.normal(size=(3 * N, k)) + np.linspace(0.0, 1.0, k)
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = ct.Categorical(p).sample(rng)
    swapped = np.where(y == 2, 4, np.where(y == 4, 2, y))
    found = first(p, swapped)
    assert (found.kind, found.place) == ("swap", "class 2, class 4")
    assert found.interval.high > 0.99
    assert first(p, y).gain <= 0.0


def test_bounds_are_not_about_something():
    levels = [0.1, 0.5, 0.9]
    forecast = ct.QuantileForecast(levels, MEAN[:, None] + np.array([-1.0, 0.0, 1.0]))
    assert "by at least" in first(forecast, MEAN + 273.0).words


def test_spreads_that_are_little_off_elsewhere_are_told_from_those_predicted():
    pattern = Pattern(np.array([1.0, -1.0]), "where predicted means are above 0", "where they are at most 0")
    assert scale_in_words(pattern, Fit(-0.04, -0.05, -0.03)).endswith(", and 1.04 times elsewhere")


def test_shares_have_up_to_four_digits():
    assert [percent(share) for share in (0.5, 0.9951, 0.99951, 0.99991, 0.99999, 1.0)] == [
        *("50 %", "99.5 %", "99.95 %", "99.99 %", "100 %", "100 %")
    ]


def test_outcomes_of_certain_predictions_have_shares():
    """None of them has weight where all are as predicted."""
    found = ct.calibration_test(ct.Normal(np.zeros(50), 1e-300), np.zeros(50), n_resamples=19, rng=1).finding
    assert "nan" not in str(found)
    assert "0 % of them are beyond 2 standard deviations" in str(found)
