import numpy as np
import pandas as pd
import pytest

from caltest._validation.columns import MOST, Coding, coded, columns_of


def test_numbers_are_cut_at_quantiles_and_equal_values_stay_together():
    x = np.array([1.0, 1, 1, 1, 2, 3, 4, 5, 6, 7])
    column = coded("x", x, 2)
    assert column.words == ("x < 2", "x >= 2")
    assert column.codes.tolist() == [0] * 4 + [1] * 6


def test_missing_values_are_a_bin():
    column = coded("x", np.array([np.nan, *range(20)]), 4)
    assert column.words[-1] == "x missing"
    assert (column.codes == len(column.words) - 1).tolist() == [True] + [False] * 20
    names = coded("c", np.array(["a", None, "b", float("nan")], dtype=object), 4)
    assert names.words == ("c = a", "c = b", "c missing")


def test_many_categories_are_the_most_frequent_ones_and_others():
    values = np.concatenate([np.repeat(np.arange(MOST - 1), 3), np.arange(100, 140)]).astype(str)
    column = coded("c", values, 5)
    assert len(column.words) == MOST
    assert column.words[-1] == "c = another value"
    assert (column.codes == MOST - 1).sum() == 40


def test_times_and_booleans():
    days = np.arange("2026-01-01", "2026-03-01", dtype="datetime64[D]")
    assert coded("day", days, 2).words == ("day < 2026-01-30T00:00:00", "day >= 2026-01-30T00:00:00")
    assert coded("old", np.array([True, False, True]), 5).words == ("old = False", "old = True")


def test_frames_mappings_and_arrays():
    frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "x"], "c": [7, 7, 7]})
    columns, notes = columns_of(frame, np.zeros(3), 3, 5)
    assert [column.words[0] for column in columns] == ["a = 1", "b = x"]
    assert notes == ("columns with one value are left out: c",)
    assert len(columns_of(frame.to_dict("list"), None, 3, 5)[0]) == 2
    assert columns_of(np.array([[0, 1], [1, 0], [1, 1]]), None, 3, 5)[0][0].words == ("column 0 = 0", "column 0 = 1")


def test_rows_of_pandas_are_matched_by_their_index():
    frame = pd.DataFrame({"a": ["u", "v", "w"]}, index=[10, 20, 30])
    columns, _ = columns_of(frame, pd.Series([0, 1, 0], index=[30, 10, 20]), 3, 5)
    assert [columns[0].words[code] for code in columns[0].codes] == ["a = w", "a = u", "a = v"]


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({"a": [1, 2]}, r"features\['a'\]"),
        ({"a": [1, 1, 1]}, "no column with two different values"),
        ({}, "no column"),
        ({"a": np.zeros((3, 2))}, "one value for each row"),
    ],
)
def test_bad_columns(features, message):
    with pytest.raises(ValueError, match=message):
        columns_of(features, None, 3, 5)


def test_bins_of_other_rows_are_those_of_the_first():
    numbers = Coding.of("x", np.arange(10.0), 2)
    assert [numbers.words[code] for code in numbers.codes(np.array([-5.0, 5.0, np.nan]))] == [
        "x < 4",
        "x >= 4",
        "x missing",
    ]
    kinds = Coding.of("c", np.array(["a", "b", "a"]), 5)
    words = [kinds.words[code] for code in kinds.codes(np.array(["b", "z", None], dtype=object))]
    assert words == ["c = b", "c = another value", "c missing"]
    whole = Coding.of("k", np.array([1, 2, 2]), 5)
    assert whole.codes(np.array([2.0, 1.0])).tolist() == [1, 0]
    assert Coding.of("r", np.array([1.0, 2.5]), 5).codes(np.array([1, 3], dtype=object)).tolist() == [0, 2]
