"""Outcomes in another unit are asked about, and nothing else is."""

import numpy as np
import pytest
from predictions.questions.test_misread import N, flows, remarks
from scipy import special

import caltest as ct
from caltest.predictions.inputs.convert import as_sample
from caltest.predictions.questions.units import OF_NUMBERS


@pytest.mark.parametrize("family", flows()[0])
def test_units(family):
    predictions, y = flows()[0][family], flows()[1]
    assert remarks(predictions, y) == ()
    assert remarks(predictions, y / 1000.0) == (
        "outcomes multiplied by 1000 or so would fit the predictions: are both in the same unit?",
    )
    if family != "MvNormal":
        assert "outcomes divided by 60 or so would fit" in remarks(predictions, 60.0 * y)[0]


def test_conversions_come_back():
    for words, (factor, added) in OF_NUMBERS.items():
        if words.startswith("converted"):
            continue
        first, rest = words.split(" ", 1)
        inverse = {"plus": "minus", "minus": "plus", "multiplied": "divided", "divided": "multiplied"}[first]
        other_factor, other_added = OF_NUMBERS[f"{inverse} {rest}"]
        assert other_factor * (factor * 5.0 + added) + other_added == pytest.approx(5.0)


def test_temperatures():
    rng = np.random.default_rng(2)
    celsius = rng.normal(10.0, 8.0, N)
    kelvin = ct.Normal(celsius + 273.15, np.ones(N))
    assert "outcomes plus 273.15 or so would fit" in remarks(kelvin, celsius + rng.normal(size=N))[0]
    observed = celsius + 273.15 + rng.normal(size=N)
    assert "outcomes minus 273.15 or so would fit" in remarks(ct.Normal(celsius, np.ones(N)), observed)[0]
    fahrenheit = 1.8 * (observed - 273.15) + 32.0
    (words,) = remarks(ct.Normal(celsius, np.ones(N)), fahrenheit)
    assert words.startswith("outcomes converted from Fahrenheit to Celsius or so would fit")
    (words,) = remarks(ct.Normal(1.8 * celsius + 32.0, 1.8 * np.ones(N)), observed - 273.15)
    assert words.startswith("outcomes converted from Celsius to Fahrenheit or so would fit")


@pytest.mark.parametrize(("shift", "scale"), [(0.0, 1.0), (0.0, 12.0), (5.0, 1.0), (-20.0, 0.1)])
def test_other_errors_are_no_matter_of_units(shift, scale):
    """Around 0, where a factor changes the spread alone, and far from it, where none fits."""
    rng = np.random.default_rng(3)
    predictions = ct.Normal(rng.normal(size=N), np.ones(N))
    assert remarks(predictions, shift + scale * rng.normal(size=N)) == ()
    far = ct.Normal(np.full(N, 10.0), np.ones(N))
    assert remarks(far, 1e4 + 5e3 * rng.normal(size=N)) == ()


@pytest.mark.parametrize("seed", range(10))
def test_large_errors_around_0_are_no_matter_of_units(seed):
    """They have any sign, wherever predictions are; those in another unit have that of the predictions."""
    rng = np.random.default_rng(seed)
    mean, scale = 3.0 * rng.normal(size=N), np.exp(0.5 * rng.normal(size=N))
    sharp = ct.Normal(mean, 0.2 * scale)
    assert not any("unit" in words for words in remarks(sharp, mean + scale * rng.normal(size=N)))
    assert "divided by 10 or so" in remarks(sharp, 10.0 * (mean + 0.2 * scale * rng.normal(size=N)))[0]


def test_transforms_have_no_unit():
    low = special.ndtri(np.random.default_rng(5).random(N) / 1000.0)
    assert as_sample(*ct.pit_values(ct.Normal(np.zeros(N), np.ones(N)), low)).remarks == ()


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 10])
def test_few_outcomes_that_are_far_off_are_no_matter_of_units(n, replications):
    """Any two numbers are a step apart, and of a few errors all can be on one side."""
    asked = n_sets = 0
    for seed in range(replications(15, 400)):
        rng = np.random.default_rng(seed)
        m, p = rng.normal(size=(n, 2)), rng.random(n)
        far, rates = m + rng.normal(size=(n, 2)), np.exp(3.0 * p)
        pairs = [
            (ct.Normal(m[:, 0], np.full(n, 0.1)), far[:, 0]),
            (ct.MvNormal(m, np.full(n, 0.01)), far),
            (ct.Poisson(rates), rng.poisson(10.0, n)),
            (ct.Bernoulli(p), rng.integers(0, 2, n)),
        ]
        asked += sum(as_sample(*pair).questions != () for pair in pairs)
        n_sets += len(pairs)
    assert asked <= 0.02 * n_sets


def test_few_outcomes_in_another_unit():
    celsius = np.array([12.0, 14.0, 9.0, 11.0, 15.0])
    (words,) = remarks(ct.Normal(celsius + 273.15, np.ones(5)), celsius + np.array([1.0, -0.5, 0.0, 0.4, -1.2]))
    assert words.startswith("outcomes plus 273.15 or so would fit")


def test_roots_of_matrices_are_made_once(monkeypatch):
    """For many coordinates they take most of the time."""
    rng, calls = np.random.default_rng(1), []
    predictions = ct.MvNormal(np.zeros((60, 3)), np.broadcast_to(np.eye(3) + 0.1, (60, 3, 3)))
    inv = np.linalg.inv
    monkeypatch.setattr(np.linalg, "inv", lambda one: calls.append(one.shape) or inv(one))
    assert as_sample(predictions, 3.0 * rng.normal(size=(60, 3))).questions == ()
    assert calls == [(60, 3, 3)]


@pytest.mark.parametrize("share", [0.05, 0.3])
@pytest.mark.parametrize("family", ["Normal", "QuantileForecast", "Ensemble", "LogNormal"])
def test_some_rows_in_another_unit(family, share):
    rng = np.random.default_rng(3)
    mean, z = rng.gamma(3.0, 5.0, 1000) + 5.0, rng.normal(size=(1000, 21))
    wrong = np.flatnonzero(rng.random(1000) < share)
    laws = {
        "Normal": ct.Normal(mean, 1.0),
        "QuantileForecast": ct.QuantileForecast([0.1, 0.5, 0.9], mean[:, None] + np.array([-1.28, 0.0, 1.28])),
        "Ensemble": ct.Ensemble(mean[:, None] + z[:, 1:]),
        "LogNormal": ct.LogNormal(np.log(mean), np.full(1000, 0.1)),
    }
    y = mean * np.exp(0.1 * z[:, 0]) if family == "LogNormal" else mean + z[:, 0]
    moved = y.copy()
    moved[wrong] *= 1000.0
    assert remarks(laws[family], y) == ()
    assert remarks(laws[family], moved) == (
        f"outcomes of some rows (row {wrong[0]}, {wrong[1]}, ...) divided by 1000 or so would fit the predictions: are "
        "both in the same unit?",
    )


def test_outliers_are_not_in_another_unit():
    """Of one side and size, of others' outcomes, ten times as large with other errors, and of equal predictions."""
    rng = np.random.default_rng(4)
    mean, noise, far = rng.normal(30.0, 10.0, 600), rng.normal(size=600), rng.random(600) < 0.1
    for errors in (
        20.0 * np.abs(noise),
        20.0 + noise,
        8.0 * noise,
        rng.permutation(mean) - mean,
        9.0 * mean + 20.0 * noise,
    ):
        assert remarks(ct.Normal(mean, 1.0), mean + np.where(far, errors, noise)) == ()
    equal = 30.0 + np.where(far, 270.0 + 10.0 * noise, noise)
    assert remarks(ct.Normal(np.full(600, 30.0), 1.0), equal) == ()
