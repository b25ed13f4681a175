"""Every method makes a finite map of odd data, whose values are probabilities, or refuses them in words of ours."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from caltest.recalibration import (
    BBQ,
    BetaCalibration,
    CalibrationMap,
    DirichletCalibration,
    GPCalibrator,
    HistogramBinning,
    Identity,
    Isotonic,
    MatrixScaling,
    OneVsRest,
    Platt,
    TemperatureScaling,
    VectorScaling,
)

BINARY = [
    Platt(),
    Platt(on="scores"),
    Platt(on="scores"),
    Isotonic(),
    Isotonic(interpolate=True),
    BetaCalibration(),
    HistogramBinning(5),
    BBQ(),
]
OF_CLASSES = [
    Identity(),
    TemperatureScaling(),
    TemperatureScaling(clip=1e-300),
    VectorScaling(),
    MatrixScaling(),
    DirichletCalibration(),
    GPCalibrator(n_inducing=3, max_iterations=5),
    *[OneVsRest(method) for method in BINARY],
]

N, TINY = 30, 5e-324
RNG = np.random.default_rng(1)
HALF = np.arange(N) % 2
UNIT = RNG.random(N)

PROBABILITIES = {
    "equal": np.full(N, 0.3),
    "all subnormal": np.full(N, TINY),
    "0": np.zeros(N),
    "1": np.ones(N),
    "1e-300": np.full(N, 1e-300),
    "two subnormal ones": np.where(HALF == 1, TINY, 2 * TINY),
    "0 and 1": HALF.astype(float),
    "neighbours": 0.5 + HALF * 2.0**-53,
    "next to 1": np.where(HALF == 1, 1.0 - 2.0**-53, 1.0),
    "single precision": UNIT.astype(np.float32),
    "half precision": UNIT.astype(np.float16),
    "below 1e-310": 1e-310 * UNIT,
}
LOGITS = {
    "huge": 1.7e308 * (2.0 * UNIT - 1.0),
    "ends": np.where(HALF == 1, 1.7e308, -1.7e308),
    "masked": np.where(HALF == 1, np.finfo(np.float32).min.astype(float), UNIT),
    "equal": np.full(N, 3.0),
    "subnormal": np.where(HALF == 1, TINY, -TINY),
    "1e5": 1e5 * (UNIT - 0.5),
}
ROWS = np.array([[0.2, 0.8, 0.0], [TINY, 1.0, 0.0], [1.0, 1e-300, 1e-300], [0.0, 0.0, 1.0]])


def labels_of(scores):
    """Labels by chance, of one class only, separated, and the reverse."""
    top = scores > np.sort(scores)[scores.size // 2 - 1] if scores.ndim == 1 else scores.argmax(axis=1)
    chance = np.random.default_rng(2).integers(0, 2, N)
    return {
        "chance": chance,
        "one class": np.zeros(N, dtype=int),
        "separated": top,
        "one": (np.arange(N) == 3).astype(int),
    }


def check(method, scores, labels, others):
    """Whether there is a map; its values, and those of its copy, are probabilities."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            fitted = method.fit(scores, labels)
            answers = [fitted(given) for given in (scores, others)]
        except ValueError as error:
            assert "got" in str(error) and "wanted" in str(error), error  # noqa: PT017, PT018
            return False
    copy = CalibrationMap.from_dict(fitted.to_dict())
    for answer, given in zip(answers, (scores, others), strict=True):
        assert answer.shape == given.shape
        assert ((answer >= 0.0) & (answer <= 1.0)).all()
        if answer.ndim == 2:
            np.testing.assert_allclose(answer.sum(axis=1), 1.0, atol=1e-6)
        np.testing.assert_array_equal(copy(given), answer)
    return True


@pytest.mark.every(3)
@pytest.mark.parametrize("method", [*BINARY, TemperatureScaling(), VectorScaling()], ids=repr)
def test_probabilities_of_two_outcomes(method):
    for name, scores in PROBABILITIES.items():
        for kind, labels in labels_of(scores).items():
            found = check(method, scores, labels, np.array([0.0, TINY, 1e-300, 0.4, 1.0]))
            # Scores that differ by less than double precision can divide have no slope.
            assert found or getattr(method, "on", "") == "scores", (name, kind)
            assert found or name in ("two subnormal ones", "below 1e-310"), (name, kind)
    for n in (1, 2):
        assert check(method, UNIT[:n], HALF[:n], UNIT)


@pytest.mark.every(3)
@pytest.mark.parametrize("method", [*BINARY, TemperatureScaling(), VectorScaling()], ids=repr)
def test_log_odds(method):
    method = replace(method, input="logits")
    for name, scores in LOGITS.items():
        for kind, labels in labels_of(scores).items():
            found = check(method, scores, labels, np.array([-2.0, 0.5, 3.0]))
            assert found or name in ("huge", "ends", "subnormal"), (name, kind)


@pytest.mark.every(5)
@pytest.mark.parametrize("method", OF_CLASSES, ids=repr)
def test_probabilities_of_classes(method):
    tables = (np.full((N, 3), 1.0 / 3.0), np.tile(ROWS[2], (N, 1)), np.eye(3)[np.arange(N) % 3])
    for table in (*tables, RNG.dirichlet(np.ones(3), N).astype(np.float32)):
        for labels in labels_of(table).values():
            assert check(method, table, labels, ROWS)
    assert check(method, ROWS[:2], [0, 1], ROWS)


@pytest.mark.every(5)
@pytest.mark.parametrize(
    "method", [method for method in OF_CLASSES if not isinstance(method, DirichletCalibration)], ids=repr
)
def test_logits_of_classes(method):
    inner = isinstance(method, OneVsRest)
    method = OneVsRest(replace(method.calibrator, input="logits")) if inner else replace(method, input="logits")
    for name, column in LOGITS.items():
        table = np.stack([column, np.roll(column, 1), np.roll(column, 4)], axis=1)
        for kind, labels in labels_of(table).items():
            found = check(method, table, labels, 3.0 * ROWS + 0.5)
            assert found or name in ("huge", "ends", "subnormal"), (name, kind)


def test_equal_subnormal_scores_are_their_frequency():
    labels = np.arange(N) % 3 == 0
    for score in (TINY, 1e-300, 1.0):
        fitted = Platt(on="scores").fit(np.full(N, score), labels)
        assert fitted.slope == 0.0
        assert fitted([score])[0] == pytest.approx(labels.mean())
