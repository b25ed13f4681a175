"""Codes of missing outcomes, and values that many of them have, are asked about, and nothing else is."""

import numpy as np
import pytest
from predictions.questions.test_misread import LEVELS, N, flows, remarks
from printed import unfolded
from scipy import special

import caltest as ct
from caltest._basics.calls import without_findings
from caltest.predictions.inputs.convert import as_sample


@pytest.fixture
def with_questions_only():
    with without_findings():
        yield


@pytest.mark.usefixtures("with_questions_only")
@pytest.mark.every(2)
@pytest.mark.parametrize("family", ["Normal", "Ensemble", "StudentT"])
def test_codes(family):
    predictions, y = flows()[0][family], flows()[1]
    y[[7, 20]] = -9999.0
    words = "2 outcomes are -9999 (row 7, ...): is that a code for missing ones (pass nan)?"
    assert remarks(predictions, y) == (words,)
    assert "are -9999 (row 7, ...)" in unfolded(ct.calibration_test(predictions, y, n_resamples=19, rng=1))


@pytest.mark.parametrize("family", ["Normal", "Ensemble", "MvNormal"])
@pytest.mark.parametrize("code", [-1.0, 99.0])
def test_codes_that_are_none_of_the_usual_ones(family, code):
    """The smallest or largest value of several outcomes, far from their predictions."""
    rng = np.random.default_rng(8)
    mean = rng.normal(30.0, 8.0, N)
    y = mean + 2.0 * rng.normal(size=N)
    predictions = {
        "Normal": ct.Normal(mean, 2.0),
        "Ensemble": ct.Ensemble(mean[:, None] + 2.0 * rng.normal(size=(N, 20))),
        "MvNormal": ct.MvNormal(np.stack([mean, 2.0 * mean], axis=1), np.full((N, 2), 4.0)),
    }[family]
    assert remarks(predictions, y) == ()
    assert remarks(predictions, np.maximum(y, np.sort(y)[5])) == ()
    y[[3, 50, 90]] = code
    asked = [words for words in remarks(predictions, y) if f"are {code:g} (row 3, ...)" in words]
    assert asked == [f"3 outcomes are {code:g} (row 3, ...): is that a code for missing ones (pass nan)?"]


def temperatures(n=1000, seed=4):
    rng = np.random.default_rng(seed)
    mean, sd = 15.0 + 5.0 * rng.normal(size=n), 2.0 * np.exp(0.3 * rng.normal(size=n))
    return {
        "Ensemble": ct.Ensemble(mean[:, None] + sd[:, None] * rng.normal(size=(n, 11))),
        "QuantileForecast": ct.QuantileForecast(LEVELS, mean[:, None] + sd[:, None] * special.ndtri(LEVELS)),
    }, mean + sd * rng.normal(size=n)


@pytest.mark.parametrize("family", ["Ensemble", "QuantileForecast"])
def test_values_that_many_outcomes_have(family):
    """What faults say of laws with a density is asked about where there is none."""
    of_families, y = temperatures()
    predictions = of_families[family]
    chosen = np.random.default_rng(1).random(y.size) < 0.02
    asked = "and hardly any others are equal: is that a code, or an end at which outcomes are cut off?"
    assert remarks(predictions, y) == remarks(predictions, np.round(y)) == ()
    assert remarks(predictions, np.where(chosen, 10.0, y)) == (
        f"{chosen.sum()} outcomes are 10 (row {chosen.argmax()}, ...), {asked}",
    )
    assert remarks(predictions, np.minimum(y, 18.0))[0].endswith(asked)
    (words,) = remarks(predictions, 10.0 * np.round(y / 10.0))
    assert words.startswith("outcomes are in steps of 10, and predicted standard deviations are ")


def test_ensembles_with_the_same_values():
    """Rain: many members are 0 too; numbers of whole steps, like all members."""
    rng = np.random.default_rng(5)
    rain = np.maximum(rng.normal(size=(1000, 1)) + rng.normal(size=(1000, 12)), 0.0)
    assert as_sample(ct.Ensemble(rain[:, 1:]), rain[:, 0]).remarks == ()
    steps = 10.0 * np.round(rng.normal(size=(1000, 1)) + rng.normal(size=(1000, 12)))
    assert as_sample(ct.Ensemble(steps[:, 1:]), steps[:, 0]).remarks == ()
    dry = as_sample(ct.Ensemble(rain[:, 1:] + 1e-3), rain[:, 0]).remarks
    assert "outcomes are 0 (row" in dry[0]


@pytest.mark.usefixtures("with_questions_only")
def test_quantile_forecasts_are_asked_about_as_numbers():
    """Not about variances: nobody gave the spreads that quantiles have."""
    of_families, y = temperatures(400)
    forecast = of_families["QuantileForecast"]
    assert "outcomes minus 273.15 or so" in remarks(forecast, y + 273.15)[0]
    assert "negatives of the outcomes would fit" in remarks(forecast, -y)[0]
    assert "1 row below would fit" in remarks(forecast, np.roll(y, 1))[0]
    squares = ct.QuantileForecast(LEVELS, 15.0 + 9.0 * special.ndtri(LEVELS) + 0.0 * y[:, None])
    assert remarks(squares, 15.0 + 3.0 * np.random.default_rng(6).normal(size=y.size)) == ()
    single = ct.QuantileForecast([0.5], forecast.values[:, 2:3])
    assert remarks(single, y + 273.15) == ()
    report = ct.audit(forecast, y + 273.15, n_resamples=39, rng=1)
    assert report.models[0].because.endswith("are both in the same unit?")
    assert "First look at how the data were read: outcomes minus 273.15" in unfolded(str(report))
    monitor = ct.CalibrationMonitor()
    for rows in (slice(0, 150), slice(150, 151), slice(151, 400)):
        monitor.update(forecast.take(rows), y[rows] + 273.15)
    assert "outcomes minus 273.15 or so" in monitor.result().notes[0]


def constants():
    rng, n = np.random.default_rng(9), 100
    mean, none = rng.gamma(2.0, 1.0, n), np.zeros(n)
    members = np.maximum(rng.normal(0.5, 1.0, (n, 9)), 0.0)
    return {
        "counts": (ct.Poisson(mean), none.astype(int), "0"),
        "counts of 3": (ct.NegativeBinomial(mean, 0.5), none.astype(int) + 3, "3"),
        "rare counts": (ct.Poisson(np.full(n, 0.01)), none.astype(int), None),
        "normal": (ct.Normal(mean, 1.0), none + 1.25, "1.25"),
        "members": (ct.Ensemble(rng.normal(3.0, 1.0, (n, 9))), none, "0"),
        "members of rain": (ct.Ensemble(members), none, "0"),
        "dry members": (ct.Ensemble(0.0 * members), none, None),
        "quantiles": (ct.QuantileForecast([0.1, 0.5, 0.9], mean[:, None] + [1.0, 2.0, 3.0]), none, "0"),
        "no event": (rng.uniform(0.1, 0.4, n), none.astype(int), "class 0"),
        "no rare event": (np.full(n, 0.05), none.astype(int), None),
        "no label": (ct.MultiLabel(rng.uniform(0.1, 0.4, (n, 2))), none[:, None].repeat(2, axis=1), "0"),
    }


@pytest.mark.parametrize("kind", constants())
def test_outcomes_that_are_all_the_same(kind):
    """Of any family, where that is next to impossible; of several labels once."""
    predictions, y, value = constants()[kind]
    notes = ct.calibration_test(predictions, y, n_resamples=9, rng=1).notes
    asked = [one.removeprefix("all labels: ") for one in notes if "all outcomes are" in one]
    assert asked == ([] if value is None else [f"all outcomes are {value}: were they read from the right column?"])
