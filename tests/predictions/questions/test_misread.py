"""Data of all families that are asked about or not; rounded outcomes and codes are asked about where they are some."""

import numpy as np
from scipy import special

import caltest as ct
from caltest.predictions.inputs.convert import as_sample

N, LEVELS = 200, [0.1, 0.25, 0.5, 0.9]


def flows(seed=1):
    rng = np.random.default_rng(seed)
    centre = np.exp(1.5 + 0.8 * rng.normal(size=N))
    members = centre[:, None] * np.exp(0.3 * rng.normal(size=(N, 9)))
    return {
        "Normal": ct.Normal(centre, 0.3 * centre),
        "LogNormal": ct.LogNormal(np.log(centre), np.full(N, 0.3)),
        "Gamma": ct.Gamma(np.full(N, 11.0), centre / 11.0),
        "StudentT": ct.StudentT(np.full(N, 3.0), centre, 0.1 * centre),
        "Ensemble": ct.Ensemble(members),
        "MvNormal": ct.MvNormal(np.stack([centre, 2.0 * centre], axis=1), (0.3 * centre) ** 2),
        "QuantileForecast": ct.QuantileForecast(LEVELS, centre[:, None] * np.exp(0.3 * special.ndtri(LEVELS))),
    }, centre * np.exp(0.3 * rng.normal(size=N))


def remarks(predictions, y):
    return as_sample(predictions, np.stack([y, 2.0 * y], axis=1) if predictions.family == "MvNormal" else y).remarks


def test_rounded_outcomes():
    rng = np.random.default_rng(3)
    mean = rng.normal(10.0, 3.0, N)
    counts = ct.Poisson(np.exp(0.4 * rng.normal(size=N) + 2.5)).sample(rng)
    for sd, asked in ((0.4, True), (3.0, False)):
        y = np.round(mean + sd * rng.normal(size=N))
        assert [words.startswith("outcomes are in steps of 1, and") for words in remarks(ct.Normal(mean, sd), y)] == (
            [True] if asked else []
        )
    assert remarks(ct.Normal(mean, 0.4), mean + 0.4 * rng.normal(size=N)) == ()
    assert remarks(ct.Poisson(np.full(N, 12.0)), counts) == ()
    (words,) = remarks(ct.Poisson(np.full(N, 12.0)), counts // 5 * 5)
    assert words == "all counts are multiples of 5, which the predictions are not about: are they rounded?"
    assert remarks(ct.Poisson(np.full(N, 0.01)), np.arange(N) % 100 // 99 * 2) == ()


def test_codes_that_can_be_values():
    rng = np.random.default_rng(4)
    debts = ct.Normal(np.full(N, -8000.0), np.full(N, 50.0))
    assert remarks(debts, np.append(-9999.0, -8000.0 + 50.0 * rng.normal(size=N - 1))) == ()
    heavy = ct.Normal(np.zeros(N), np.full(N, 900.0))
    assert remarks(heavy, np.append(-999.0, rng.normal(size=N - 1))) == ()


def test_twenty_counts_can_be_asked_about():
    counts = 5 * (1 + np.arange(20) % 4)
    asked = [as_sample(ct.Poisson(np.full(n, 12.0)), counts[:n]).remarks for n in (19, 20)]
    assert [any("multiples of 5" in one for one in some) for some in asked] == [False, True]
