"""Predictions that were put in for missing ones are asked about, and those that are equal for other reasons are not."""

import numpy as np
import pytest

import caltest as ct
from caltest.predictions.inputs.convert import as_sample

N = 1000
END = "hardly any others are equal, and outcomes there are like those of all rows: was it put in for missing"
CHOSEN = np.arange(N) % 20 == 7


def risks(seed=1):
    rng = np.random.default_rng(seed)
    risk = rng.beta(2.0, 5.0, N)
    return risk, (rng.random(N) < risk).astype(int)


def asked(predictions, y):
    return as_sample(predictions, y).questions


@pytest.mark.parametrize("value", [0.0, 0.7, 1.0])
def test_risks(value):
    risk, event = risks()
    (words,) = asked(np.where(CHOSEN, value, risk), event)
    said = f"50 rows (row 7, ...) have the probability {value:g} of class 1"
    assert words == f"{said}, {END} predictions (leave those rows out)?"
    assert "First check    50 rows" in str(
        ct.calibration_test(np.where(CHOSEN, value, risk), event, n_resamples=19, rng=1)
    )


def test_means_and_probabilities_of_classes():
    rng = np.random.default_rng(2)
    mean = rng.normal(15.0, 5.0, N)
    y = mean + rng.normal(size=N)
    (words,) = asked(ct.Normal(np.where(CHOSEN, 1.5, mean), 1.0), y + 0.0)
    assert words.startswith("50 rows (row 7, ...) have the predicted mean 1.5, hardly any others are equal")
    p = rng.dirichlet([0.3, 0.6, 2.0], N)
    labels = ct.Categorical(p).sample(rng)
    (words,) = asked(np.where((np.arange(N) % 10 == 7)[:, None], 1.0 / 3.0, p), labels)
    assert words.startswith("100 rows (row 7, ...) have the same probabilities, hardly any others are equal")


def test_predictions_that_are_equal_for_other_reasons(replications):
    for seed in range(replications(10, 100)):
        risk, event = risks(seed)
        rng = np.random.default_rng(seed)
        mean = rng.normal(15.0, 5.0, N)
        y = mean + rng.normal(size=N)
        sure = 1.0 / (1.0 + np.exp(-rng.normal(0.0, 20.0, N))).astype(np.float32).astype(float)
        turned_out = (rng.random(N) < 0.9 * sure + 0.05).astype(int)
        for predictions, outcomes in [
            (np.round(risk, 2), event),
            (np.clip(risk, 0.1, 0.5), event),
            (np.where(CHOSEN, event.mean(), risk), event),
            (np.round(risk), event),
            (sure, turned_out),
            (ct.Normal(np.clip(mean, 12.0, 18.0), 1.0), y),
            (ct.Normal(np.maximum(mean, 14.0), 0.3), y),
        ]:
            assert not [one for one in asked(predictions, outcomes) if END in one]
