import numpy as np
import pandas as pd
import pytest

import caltest as ct

INTERVALS = np.array([[0.0, 1.0], [2.0, 5.0], [-np.inf, 3.0], [1.0, 1.0]])
Y = np.array([1.0, 5.5, -100.0, 1.0])
SETS = np.array([[1, 1, 0], [0, 0, 1], [0, 0, 0], [1, 1, 1]], dtype=bool)


def intervals(data=INTERVALS, y=Y, level=0.9):
    return ct.predictions.interval_coverage(data, y, confidence_level=level)


def sets(data=SETS, y=(1, 0, 2, 2), level=0.9, **settings):
    return ct.predictions.set_coverage(data, y, confidence_level=level, **settings)


def test_intervals_row_by_row():
    p, outcomes = intervals()
    wanted = ["covered" if low <= y <= high else "missed" for (low, high), y in zip(INTERVALS, Y, strict=True)]
    assert outcomes.tolist() == wanted == ["covered", "missed", "covered", "covered"]
    assert p.probability.tolist() == [0.9] * 4
    assert p.classes == ("missed", "covered")
    assert intervals(INTERVALS[:, :, None])[1].tolist() == wanted


def test_sets_row_by_row():
    wanted = ["covered", "missed", "missed", "covered"]
    assert sets()[1].tolist() == wanted
    assert sets(SETS[:, :, None].astype(float))[1].tolist() == wanted
    names = np.array(["a", "b", "c"])
    assert sets(SETS, names[[1, 0, 2, 2]], classes=names)[1].tolist() == wanted
    assert sets(pd.DataFrame(SETS, columns=names), names[[1, 0, 2, 2]])[1].tolist() == wanted


def test_rows_are_matched_by_the_index():
    rows = [2, 0, 3, 1]
    index = pd.Index(list("abcd"))
    y = pd.Series(Y, index).iloc[rows]
    table = pd.DataFrame(INTERVALS, index, ["low", "high"])
    assert intervals(table, y)[1].tolist() == intervals()[1][rows].tolist()
    labels = pd.Series([1, 0, 2, 2], index).iloc[rows]
    assert sets(pd.DataFrame(SETS, index), labels)[1].tolist() == sets()[1][rows].tolist()


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: intervals(INTERVALS[:, ::-1]), "got 1 and 0 at row 0 .3 in all., wanted a lower end and then"),
        (lambda: intervals(np.full((4, 2), np.nan)), "got nan and nan at row 0"),
        (lambda: intervals(INTERVALS.T), "intervals: got shape .2, 4."),
        (lambda: intervals(np.zeros((4, 2, 3))), "of several levels pass one: intervals"),
        (lambda: intervals(SETS[:, :2]), "sets of classes are for ct.predictions.set_coverage"),
        (lambda: intervals(y=Y[:3]), "targets: got 3 values, wanted 4"),
        (lambda: intervals(y=[1.0, np.nan, 1.0, 1.0]), "targets: got nan at row 1"),
        (lambda: intervals(level=90), "confidence_level: got 90, wanted a number between 0 and 1"),
        (lambda: sets(SETS + 1), "sets: got shape .4, 3. of int64, wanted .n, k. booleans"),
        (lambda: sets(np.full((4, 3), np.nan)), "sets: got shape"),
        (lambda: sets([["a", "b"], ["c"], [], ["a"]]), "sets: got names of classes, .*MultiLabelBinarizer"),
        (lambda: sets([["a", 1], [2], [3], [1]]), "sets: got names of classes"),
        (lambda: sets([[0, 1], [2], [], [1]]), "sets: got names of classes, or lists .*MultiLabelBinarizer"),
        (lambda: sets([{0, 1}, {2}, {0}, {1}]), "sets: got names of classes"),
        (lambda: sets(SETS[:, :1]), "sets: got shape"),
        (lambda: sets(y=[1, 0, 2, 3]), "targets: got label 3 at row 3"),
        (lambda: sets(y=[1, 0, 2]), "targets: got 3 values, wanted 4"),
        (lambda: sets(classes=["a", "b"]), "classes: got 2 names, wanted 3"),
    ],
)
def test_bad_data(call, match):
    with pytest.raises(ValueError, match=match):
        call()


def test_coverage_that_is_right_only_on_average_is_found_given_the_width():
    """Half of the intervals cover 80 %, the others 99 %: 89.5 % together."""
    rng = np.random.default_rng(1)
    width = np.repeat([1.0, 2.0], 300)
    covered = rng.random(600) < np.where(width == 1.0, 0.8, 0.99)
    data = np.stack([np.zeros(600), width], axis=1)
    sample = intervals(data, np.where(covered, 0.5, 3.0), 0.895)
    assert ct.calibration_test(*sample, n_resamples=99, rng=1).pvalue > 0.05
    found = ct.calibration_test(*sample, features={"width": width}, n_resamples=99, rng=1)
    assert found.pvalue <= 0.05
    assert "width" in found.why()
    groups = ct.calibration_by_group(*sample, np.where(width == 1.0, "narrow", "wide"), n_resamples=99, rng=1)
    assert sorted(groups.rejected()) == ["narrow", "wide"]


def test_misses_of_one_side_are_seen_by_quantiles_alone():
    rng = np.random.default_rng(2)
    mean = rng.normal(size=500)
    data = np.stack([mean - 5.0, mean + 1.2816], axis=1)  # covers 90 %: no outcome below, 10 % above
    y = mean + rng.normal(size=500)
    assert ct.calibration_test(*intervals(data, y), n_resamples=99, rng=1).pvalue > 0.05
    assert ct.calibration_test(ct.QuantileForecast([0.05, 0.95], data), y, n_resamples=99, rng=1).pvalue == 0.01
