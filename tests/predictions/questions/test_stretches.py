"""Rows that follow each other and were read in another way than the rest are asked about, in every family."""

import numpy as np
import pytest
from placed_rows import FAMILIES, data

import caltest as ct
from caltest.predictions.inputs.convert import as_sample
from caltest.predictions.questions.stretches import NOWHERE

FAR_WORSE = "fit their predictions far worse than the others"


def asked(predictions, y):
    return [one for one in as_sample(predictions, y).questions if FAR_WORSE in one]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("rows", [slice(0, 400), slice(500, 900), slice(1100, 1500)])
def test_rows_that_are_shifted(family, rows):
    predictions, y = data(family, 1500)
    moved = y.copy()
    moved[rows] = np.roll(y[rows], 1, axis=0)
    (words,) = asked(predictions, moved)
    where, what = words.split(f" {FAR_WORSE}")
    # Outliers of 400 rows can hide where the outcomes are.
    if family != "heavy tails":
        assert what == "; there, outcomes 1 row below would fit the predictions: are both in the same order?"
    ends = [int(one) for one in where.split() if one.isdigit()]
    assert np.allclose(ends, {0: [399], 500: [500, 899], 1100: [1100]}[rows.start], atol=30)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("order", ["as they came", "outcomes", "predictions"])
def test_nothing_is_asked_of_calibrated_rows_in_any_order(family, order, replications):
    for seed in range(replications(2, 50)):
        predictions, y = data(family, 500, seed)
        p = predictions.finite
        level = predictions.moments()[0].reshape(500, -1) if p is None else p.probabilities
        keys = {"as they came": np.arange(500), "outcomes": y.reshape(500, -1)[:, 0], "predictions": level[:, -1]}
        rows = np.argsort(keys[order], kind="stable")
        law = predictions if isinstance(predictions, ct.QuantileForecast) else predictions.take(rows)
        assert not asked(law, y if law is predictions else y[rows])


def test_another_unit_another_class_and_columns_in_another_order():
    rng = np.random.default_rng(1)
    season = 15.0 + 10.0 * np.sin(np.arange(1000) / 58.0) + rng.normal(size=1000)
    y = season + rng.normal(size=1000)
    y[700:] = 32.0 + 1.8 * y[700:]
    (unit,) = asked(ct.Normal(season, 1.0), y)
    assert unit == (
        f"rows from about 700 on {FAR_WORSE}; there, outcomes converted from Fahrenheit to Celsius or so would fit the "
        "predictions: are both in the same unit?"
    )
    risk = rng.beta(2.0, 5.0, 1000)
    event = (rng.random(1000) < risk).astype(int)
    (other,) = asked(np.where(np.arange(1000) < 600, risk, 1.0 - risk), event)
    assert other.endswith("are these the probabilities of the other class?")
    p, labels = (lambda law, y: (law.probabilities.copy(), y))(*data("classes", 1000))
    p[:500] = np.roll(p[:500], 1, axis=1)
    (columns,) = asked(p, labels)
    assert columns.startswith("rows up to about ")
    assert columns.endswith("is theirs that of the classes?")


def test_a_change_that_nothing_known_explains():
    rng = np.random.default_rng(2)
    mean = rng.normal(size=1000)
    y = mean + np.where(np.arange(1000) < 800, 1.0, 3.0) * rng.normal(size=1000)
    assert asked(ct.Normal(mean, 1.0), y) == [f"rows from about 795 on {FAR_WORSE}: {NOWHERE}"]
    assert not asked(ct.Normal(mean, 1.0), rng.permutation(y - mean) + mean)
    assert not asked(ct.Normal(mean, 0.3), mean + rng.normal(size=1000))


def test_rows_of_large_data_are_told_by_some_of_them():
    rng = np.random.default_rng(3)
    mean = rng.normal(size=20_000)
    y = mean + rng.normal(size=20_000) + np.where(np.arange(20_000) < 15_000, 0.0, 8.0)
    assert asked(ct.Normal(mean, 1.0), y)[0].startswith("rows from about 15000 on ")


def test_errors_that_depend_on_the_one_before_are_no_stretch(replications):
    for seed in range(replications(20, 200)):
        rng = np.random.default_rng(seed)
        mean, errors = rng.normal(size=600), np.zeros(600)
        for i in range(1, 600):
            errors[i] = 0.95 * errors[i - 1] + 0.3 * rng.normal()
        assert not asked(ct.Normal(mean, 1.0), mean + errors)


def test_rows_are_numbered_as_the_user_counts_them():
    rng = np.random.default_rng(4)
    risk = rng.beta(2.0, 5.0, 2000)
    event = (rng.random(2000) < risk).astype(float)
    p = np.where(np.arange(2000) < 1500, risk, 1.0 - risk)
    event[:300] = np.nan
    notes = ct.calibration_test(p, event, missing="drop", n_resamples=19, rng=1).notes
    assert any(one.startswith("rows from about 1500 on ") for one in notes)
    report = ct.recalibration.report(p[300:], event[300:], ct.recalibration.Platt(), n_resamples=19, rng=1)
    (first,) = [int(one.split()[3]) for one in report.notes if FAR_WORSE in one]
    assert abs(first - 1200) < 20


def test_codes_are_at_rows_as_the_user_counts_them():
    rng = np.random.default_rng(5)
    mean = rng.normal(15.0, 3.0, 600)
    y = mean + rng.normal(size=600)
    y[:100], y[[250, 300, 450]] = np.nan, -999.0
    (words,) = as_sample(ct.Normal(mean, 1.0), y, missing="drop").questions
    assert words.startswith("3 outcomes are -999 (row 250, ...)")
