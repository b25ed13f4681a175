"""Groups from labels and masks of every shape."""

from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest

from caltest._basics.arrays import Table
from caltest._validation.groups import as_groups, groups_of_any_size, labels_of, large_enough

LABELS = np.array([1, 2, 1, 2, 2])
MASK = LABELS == 1


def test_one_column_is_of_labels_or_one_mask():
    for labels in (LABELS, LABELS[:, None]):
        found = as_groups(labels)
        assert found.names == ("1", "2")
        assert found.factors.tolist() == np.stack([MASK, ~MASK], axis=1).tolist()
        assert found.sizes.tolist() == [2, 3]
    one = as_groups(MASK[:, None])
    assert (one.names, one.factors.tolist()) == (("0",), MASK[:, None].tolist())


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_dates_are_written_without_midnight(unit):
    days = pd.to_datetime(["2026-01-01", "2026-02-01"] * 2).as_unit(unit)
    assert as_groups(days).names == ("2026-01-01", "2026-02-01")
    assert as_groups(days.to_numpy()).names == ("2026-01-01", "2026-02-01")
    assert as_groups(days + pd.Timedelta(hours=6)).names == ("2026-01-01 06:00:00", "2026-02-01 06:00:00")
    assert as_groups(days.astype(str) + " 00:00:00").names[0] == "2026-01-01 00:00:00"
    assert as_groups(days - days[0]).names == ("0:00:00", "31 days, 0:00:00")
    apart = days.as_unit("ns") + pd.to_timedelta([0, 1, 0, 1], unit="ns")
    assert as_groups(apart[[0, 1, 0, 1]]).names[1].startswith("2026-02-01T00:00:00.000000001")


def test_two_columns_are_masks():
    both = np.stack([MASK, ~MASK], axis=1)
    found = as_groups(both)
    assert (found.names, found.factors.tolist()) == (("0", "1"), both.tolist())
    with pytest.raises(ValueError, match="groups: got values of type int64, wanted booleans"):
        as_groups(both.astype(np.int64))


def test_labels_are_a_vector_without_gaps():
    with pytest.raises(ValueError, match="groups: got no values"):
        as_groups(np.empty(0))
    with pytest.raises(ValueError, match=r"labels: got shape \(0,\), wanted one label per observation"):
        labels_of(np.empty(0), "labels")
    assert labels_of([7], "labels")[1].tolist() == [0]
    with pytest.raises(ValueError, match=r"labels: got a missing value at row 1 \(2 in all\)"):
        labels_of([1.0, np.nan, np.nan], "labels")


def test_names_that_read_the_same_are_written_in_code():
    names = as_groups({1: MASK, "1": ~MASK}).names
    assert names == ("1", "'1'")


@pytest.mark.parametrize("labels", [[1, "1", 1, "1"], [True, "True", True, "True"], [["a"], [1.0], ["a"], ["1.0"]]])
def test_labels_that_are_numbers_and_text_are_not_made_one(labels):
    with pytest.raises(ValueError, match="wanted numbers, or text for all of them"):
        labels_of(labels, "labels")
    assert labels_of([str(np.ravel(label)[0]) for label in labels], "labels")[0].dtype.kind == "U"


def test_rows_and_matrix_of_some_observations():
    masks = np.array([[True, False], [True, True], [False, True], [True, True]])
    groups = as_groups(masks)
    assert [rows.tolist() for rows in groups.rows] == [[0, 1, 3], [1, 2, 3]]
    assert groups.matrix.toarray().tolist() == masks.T.tolist()
    some = groups.taken(np.array([0, 1, 3]))
    assert [rows.tolist() for rows in some.rows] == [[0, 1, 2], [1, 2]]
    assert (some.n, some.sizes.tolist()) == (3, [3, 2])
    assert groups.taken(np.array([0])).sizes.tolist() == [1, 0]
    assert large_enough(some) == (some, ())
    large, notes = large_enough(groups.taken(np.array([0, 1])))
    assert (large.names, notes) == (("0",), ("left out: 1 group of one row, 1",))
    assert large_enough(groups.taken(np.array([0, 3])))[1] == ("left out: 1 group of one row, 1",)
    with pytest.raises(ValueError, match=r"fewer than two members: '0' \(1\), '1' \(0\)"):
        large_enough(groups.taken(np.array([0])))


def test_objects_are_groups_by_their_names():
    days = [date(2024, 5, 1), date(2024, 6, 1), date(2024, 5, 1), date(2024, 6, 1)]
    assert as_groups(days).names == ("2024-05-01", "2024-06-01")
    ages = pd.cut([20, 70, 30, 80], [0, 50, 100])
    assert as_groups(pd.Series(ages)).names == ("(0, 50]", "(50, 100]")
    with pytest.raises(ValueError, match="missing value at position 2"):
        as_groups([*days[:2], None])


@pytest.mark.parametrize(
    "make", [dict, pd.DataFrame, pl.DataFrame, lambda columns: pd.DataFrame(columns).astype(object)]
)
def test_names_of_labels_are_followed_by_each_of_them(make):
    """And those of masks are of one group."""
    columns = {"site": ["b", "a", "b", "a"], "old": [True, True, False, True], "age": [1, 2, 2, 2]}
    found = as_groups(make(columns), fewest=0)
    assert found.names == ("site = a", "site = b", "old", "age = 1", "age = 2")
    assert [rows.tolist() for rows in found.rows] == [[1, 3], [0, 2], [0, 1, 3], [0], [1, 2, 3]]
    assert as_groups({"day": np.array(["2024-05-01", "2024-06-01"] * 2, dtype="M8[D]")}).names == (
        "day = 2024-05-01",
        "day = 2024-06-01",
    )
    with pytest.raises(ValueError, match=r"groups\['old'\]: got numbers that are all 0 or 1, wanted booleans"):
        as_groups(make(columns | {"old": [1, 1, 0, 1]}))


def test_rows_of_named_labels_are_those_of_the_targets():
    site = pd.Series(["a", "b", "a", "b"], index=list("wxyz"))
    targets = Table.of(site[::-1], "targets")
    found = as_groups({"site": site.iloc[[1, 0, 3, 2]], "odd": site == "b"}, targets)
    assert [rows.tolist() for rows in found.rows] == [[1, 3], [0, 2], [0, 2]]


def test_rows_without_a_label_are_a_group_or_refused():
    columns = {"site": ["a", None, "a", " "], "old": [True, False, True, True]}
    found = groups_of_any_size(columns)
    assert (found.names, [rows.tolist() for rows in found.rows[:2]]) == (
        ("site = a", "site = missing", "old"),
        [[0, 2], [1, 3]],
    )
    with pytest.raises(ValueError, match=r"groups\['site'\]: got a missing value"):
        as_groups(columns)
    with pytest.raises(ValueError, match=r"groups\['old'\]: got a missing value"):
        groups_of_any_size(columns | {"old": [True, None, False, True]})


def test_names_of_groups_are_different():
    with pytest.raises(ValueError, match="got several groups named 'a = b', wanted different names"):
        as_groups({"a = b": MASK, "a": ["b", "b", "c", "c", "c"]})


def test_days_of_a_time_zone_name_groups():
    days = pd.Series(pd.to_datetime(["2024-06-01", "2024-06-01", "2024-12-01", "2024-12-01"])).dt.tz_localize(
        "Asia/Tokyo"
    )
    polars = pytest.importorskip("polars")
    for one in (days, polars.Series(days.dt.tz_localize(None)).dt.replace_time_zone("Asia/Tokyo")):
        assert as_groups(one).names == ("2024-06-01", "2024-12-01")
