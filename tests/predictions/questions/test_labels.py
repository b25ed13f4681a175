"""Labels in another order, rows in another order and reversed labels are asked about, and nothing else is."""

import numpy as np
import pytest

import caltest as ct
from caltest._results.tables import asked_in

N, L = 600, 4
RNG = np.random.default_rng(1)
P = RNG.beta(0.6, 1.5, size=(N, L))
Y = (RNG.random((N, L)) < P).astype(float)


def asked(outcomes, p=P):
    result = ct.calibration_test(
        ct.MultiLabel(p, ["a", "b", "c", "d"]), outcomes, missing="drop", n_resamples=19, rng=1
    )
    return asked_in(result.notes)[0]


def test_calibrated_and_overconfident_labels():
    assert asked(Y) is None
    odds = (P / (1.0 - P)) ** 2
    assert asked(Y, odds / (1.0 + odds)) is None


@pytest.mark.parametrize("lacking", [False, True])
def test_columns_in_another_order(lacking):
    outcomes = np.where(lacking & (RNG.random((N, L)) < 0.05), np.nan, Y)
    assert asked(outcomes[:, [1, 0, 2, 3]]) == (
        "columns in another order would fit the outcomes better (label a: column 1, label b: column 0): is theirs that "
        "of the labels?"
    )


def test_rows_and_single_labels():
    order = "outcomes 1 row below would fit the predictions: are both in the same order?"
    assert asked(np.roll(Y, 1, axis=0)) == f"all labels: {order}"
    reverse = "1 - p would fit the outcomes: are these the probabilities of the other class?"
    assert asked(np.column_stack([1.0 - Y[:, 0], Y[:, 1:]])) == f"label a: {reverse}"
    several = asked(1.0 - Y)
    assert "columns" not in several
    assert several.count("are these the probabilities of the other class?") == 2 - (several == f"all labels: {reverse}")
