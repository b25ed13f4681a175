"""Columns that are made from errors are refused, those that agree with errors for another reason are not."""

import numpy as np
import pytest

import caltest as ct
from caltest.predictions.inputs.convert import as_sample
from caltest.predictions.own_errors import refuse_errors

N = 400
RNG = np.random.default_rng(5)
P = RNG.uniform(0.05, 0.95, N)
Y = (RNG.random(N) < P).astype(int)
LOSS = -np.log(np.where(Y == 1, P, 1.0 - P))
OF_EVENTS = {
    "right": (P > 0.5) == Y,
    "right or wrong": np.where((P > 0.5) == Y, "right", "wrong"),
    "residual": Y - P,
    "negative residual": P - Y,
    "size": np.abs(Y - P),
    "log loss": LOSS,
    "in single precision": LOSS.astype(np.float32),
    "rounded": LOSS.round(3),
    "Brier score": (Y - P) ** 2,
    "missing for some": np.where(np.arange(N) % 5, LOSS, np.nan),
}


@pytest.mark.parametrize("name", OF_EVENTS)
def test_errors_of_events_are_refused(name):
    with pytest.raises(ValueError, match=r"features\['x'\]: got .* wanted what is known without the targets"):
        ct.find_slices(P, Y, {"x": OF_EVENTS[name], "age": RNG.random(N)}, n_resamples=9, rng=1)


CLASSES = RNG.dirichlet([1.0, 1.0, 1.0], N)
LABELS = np.array([RNG.choice(3, p=row) for row in CLASSES])
OCCURRED = CLASSES[np.arange(N), LABELS]
OF_CLASSES = {
    "right": CLASSES.argmax(axis=1) == LABELS,
    "log loss": -np.log(OCCURRED),
    "Brier score": np.square(CLASSES - np.eye(3)[LABELS]).sum(axis=1),
}
NORMAL = ct.Normal(P, 0.5 + P)
NUMBERS = P + (0.5 + P) * RNG.normal(size=N)
OF_NUMBERS = {
    "residual": NUMBERS - P,
    "size": (NUMBERS - P) ** 2,
    "standardised": (NUMBERS - P) / (0.5 + P),
    "F(y)": ct.pit_values(NORMAL, NUMBERS)[1],
    "above": NUMBERS > P,
}
RATES = ct.Poisson(5.0 * P)
COUNTS = RATES.sample(np.random.default_rng(1))


@pytest.mark.parametrize(
    ("predictions", "targets", "column"),
    [
        *((CLASSES, LABELS, column) for column in OF_CLASSES.values()),
        *((NORMAL, NUMBERS, column) for column in OF_NUMBERS.values()),
        (RATES, COUNTS, COUNTS - 5.0 * P),
    ],
)
def test_errors_of_other_predictions_are_refused(predictions, targets, column):
    with pytest.raises(ValueError, match="wanted what is known without the targets"):
        refuse_errors([("x", column)], as_sample(predictions, targets))


@pytest.mark.parametrize("events", [(), (3, 50, 390), range(0, N, 2)])
def test_functions_of_predictions_are_features(events):
    """Also where predictions are as far from nearly all outcomes as they are from the only one."""
    y = np.zeros(N, dtype=int)
    y[list(events)] = 1
    some = {"p": P, "1 - p": 1.0 - P, "sure": np.maximum(P, 1.0 - P), "above": P > 0.5, "tenths": P.round(1)}
    refuse_errors(some.items(), as_sample(P, y))
    refuse_errors(some.items(), as_sample(ct.Normal(P, 1.0), y.astype(float)))
    right = (P > 0.5).astype(int)  # All of them are.
    refuse_errors(some.items(), as_sample(P, right))


def test_outcomes_that_predictions_exclude_decide_nothing():
    far = np.append(NUMBERS[1:], -1e6)  # No normal score is smaller.
    refuse_errors([("age", RNG.random(N))], as_sample(ct.Gamma(2.0 + P, 1.0), np.abs(far)))
    impossible = np.append(Y[1:], 1), np.append(P[1:], 0.0)
    with np.errstate(divide="ignore"):
        loss = -np.log(np.where(impossible[0] == 1, impossible[1], 1.0 - impossible[1]))
    with pytest.raises(ValueError, match="how far the targets are"):
        refuse_errors([("x", loss)], as_sample(impossible[1], impossible[0]))
    refuse_errors([("age", RNG.random(N))], as_sample(impossible[1], impossible[0]))


def test_predicted_classes_and_predictions_of_other_models_are_features():
    others = np.sort(CLASSES, axis=1)
    some = {"class": CLASSES.argmax(axis=1), "sure": others[:, 2], "margin": others[:, 2] - others[:, 1]}
    refuse_errors(some.items(), as_sample(CLASSES, LABELS))
    refuse_errors([("mean", P), ("other", P + 0.01 * RNG.normal(size=N))], as_sample(NORMAL, NUMBERS))


def test_losses_of_rare_events_are_refused():
    rng = np.random.default_rng(3)
    p = rng.beta(1.0, 400.0, 6000)
    y = (rng.random(6000) < p).astype(int)
    with pytest.raises(ValueError, match="how far the targets are"):
        refuse_errors([("x", -np.log(np.where(y == 1, p, 1.0 - p)))], as_sample(p, y))
    refuse_errors([("x", p), ("log", np.log(p))], as_sample(p, y))


def test_all_calls_with_columns_refuse_them():
    right = (P > 0.5) == Y
    for call in (
        lambda: ct.calibration_test(P, Y, features={"x": LOSS}, n_resamples=9, rng=1),
        lambda: ct.calibration_by_group(P, Y, right, n_resamples=9, rng=1),
        lambda: ct.calibration_by_group(P, Y, right, clusters=np.arange(N) // 2, n_resamples=9, rng=1),
        lambda: ct.audit(P, Y, features={"x": LOSS}, n_resamples=9, rng=1),
        lambda: ct.recalibration.Multicalibration().fit(P, Y, {"x": LOSS}),
        lambda: ct.recalibration.multicalibration_report(P, Y, {"x": LOSS}, n_resamples=9, rng=1),
    ):
        with pytest.raises(ValueError, match="wanted what is known without the targets"):
            call()


@pytest.mark.parametrize("n_events", [30, 60])
def test_rare_events_that_are_all_in_one_group_are_a_finding(n_events):
    """Errors of equal predictions have two values, which numbers of two groups can be in order with."""
    y, group = np.zeros(1000, dtype=int), (np.arange(1000) < 500).astype(int)
    y[np.random.default_rng(1).choice(500, n_events, replace=False)] = 1
    for predictions in (np.full(1000, n_events / 1000), ct.Poisson(np.full(1000, n_events / 1000))):
        found = ct.calibration_by_group(predictions, y, group, n_resamples=99, rng=1)
        assert "0" in found.rejected()
