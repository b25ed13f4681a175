from contextlib import nullcontext
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from math import factorial

import numpy as np
import pandas as pd
import pytest

import caltest as ct
from caltest._validation.columns import (
    MOST,
    Coding,
    coded,
    columns_for,
    columns_of,
    named_columns,
    notes_on,
    notes_on_outcomes,
    numbers_in,
    plain_column,
)


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
    assert coded("day", days, 2).words == ("day < 2026-01-30", "day >= 2026-01-30")
    hours = days + np.timedelta64(6, "h")
    assert coded("hour", hours, 2).words == ("hour < 2026-01-30T06:00:00", "hour >= 2026-01-30T06:00:00")
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
        ({"a": [None, None, None], "b": [np.nan] * 3}, "no column with two different values"),
        ({1: [1, 2, 3], "1": [1, 2, 3]}, "several columns named 1"),
        (pd.DataFrame([[1, 2, 3]] * 3, columns=["b", "a", "a"]), "several columns named 'a'"),
        (iter([1, 2]), "features: got list_iterator, wanted a data frame"),
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


DAYS = np.datetime64("2026-01-01", "s") + np.arange(4) * np.timedelta64(1, "D")
EAST = timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    "column",
    [
        [date(2026, 1, 1) + timedelta(days=i) for i in range(4)],
        [datetime(2026, 1, 1, 2, tzinfo=EAST) + timedelta(days=i) for i in range(4)],
        pd.date_range("2026-01-01", periods=4, tz="UTC"),
        pd.Series(pd.date_range("2026-01-01", periods=4)),
    ],
    ids=["dates", "another zone", "pandas in a zone", "pandas"],
)
def test_times_of_any_kind_are_the_same_moments(column):
    ((_, values),) = named_columns({"when": column}, None)
    seconds = numbers_in(values, np.zeros(len(values), dtype=bool))
    np.testing.assert_array_equal(seconds, np.array(DAYS, dtype="datetime64[s]").astype(np.float64))


def test_missing_times_durations_and_values_of_pandas():
    found = dict(
        named_columns(
            {
                "when": [date(2026, 1, 1), None],
                "long": np.array([1500, "NaT"], dtype="timedelta64[ms]"),
                "flag": pd.array([True, None], dtype="boolean"),
            },
            None,
        )
    )
    np.testing.assert_array_equal(np.isnat(found["when"]), [False, True])
    np.testing.assert_array_equal(found["long in seconds"], [1.5, np.nan])
    assert found["flag"].tolist() == [True, None]


RNG = np.random.default_rng(1)
P = RNG.uniform(0.1, 0.9, 60)
Y = (RNG.random(60) < P).astype(int)
CALLS = {
    "default": lambda x: ct.calibration_test(P, Y, features=x, n_resamples=9, rng=1),
    "slices": lambda x: ct.find_slices(P, Y, x, n_resamples=9, rng=1),
    "fit": lambda x: ct.recalibration.Multicalibration(max_steps=1).fit(P, Y, x),
    "report": lambda x: ct.recalibration.multicalibration_report(P, Y, x, n_resamples=9, rng=1),
    "audit": lambda x: ct.audit(P, Y, features=x, n_resamples=9, rng=1),
}


@pytest.mark.parametrize("name", CALLS)
def test_columns_that_say_the_outcomes_are_refused_by_all(name):
    for outcome in (Y, Y == 1, np.array(["well", "ill"])[Y]):
        with pytest.raises(ValueError, match=r"^features\['outcome'\]: got the targets"):
            CALLS[name]({"age": RNG.normal(size=60), "outcome": outcome})


def test_columns_that_agree_with_few_or_rare_outcomes_by_chance_are_taken():
    """One event in 16 rows is where a rare category is in 1 of 16 data sets."""
    rare = np.arange(16) == 3
    assert len(columns_for({"rare": rare}, None, 16, rare.astype(int))) == 1
    assert len(columns_for({"x": np.arange(60.0)}, None, 60, Y)) == 1
    assert len(columns_for({"x": np.arange(60.0)}, None, 60, RNG.normal(size=60))) == 1


@pytest.mark.parametrize("unit", [lambda y: 1.8 * y + 32.0, lambda y: -1e200 * y, lambda y: y.astype(np.float32)])
def test_numbers_that_are_outcomes_in_another_unit_are_refused(unit):
    outcomes = RNG.normal(size=60)
    with pytest.raises(ValueError, match="got the targets in another unit"):
        columns_for({"x": unit(outcomes)}, None, 60, outcomes)


def test_numbers_that_say_no_more_than_the_order_of_outcomes_are_taken():
    """A good forecast of few cases can have it, and so can the time of what grows."""
    growth = np.exp(np.linspace(0.0, 3.0, 60))
    for x in (np.arange(60.0), growth + 1e-3 * RNG.random(60), growth.astype(str)):
        assert len(columns_for({"x": x}, None, 60, growth)) == 1


def test_outcomes_that_are_missing_in_some_rows_are_refused():
    for outcome in (np.where(np.arange(60) % 7 == 0, np.nan, Y), np.ma.masked_array(1 - Y, np.arange(60) % 7 == 0)):
        with pytest.raises(ValueError, match=r"^features\['outcome'\]: got the targets"):
            columns_for({"outcome": outcome}, None, 60, Y)


def test_groups_that_are_the_outcomes_are_refused():
    for groups in (Y, np.array(["well", "ill"])[Y], {"ill": Y == 1, "well": Y == 0}, {"ill": Y == 1}):
        with pytest.raises(ValueError, match=r"^groups: got the targets"):
            ct.calibration_by_group(P, Y, groups, n_resamples=9, rng=1)


@pytest.mark.usefixtures("without_findings")
@pytest.mark.parametrize("name", ["default", "slices"])
def test_notes_say_which_columns_are_left_out_or_taken_together(name):
    """Thousands of categories are no more work than 50."""
    n = 6000
    rng = np.random.default_rng(2)
    p = rng.random(n)
    columns = {
        "one": np.full(n, "a"),
        "gone": np.full(n, None),
        "number": rng.normal(size=n),
        "patient": np.char.add("p", (np.arange(n) // 2).astype(str)),
        "mixed": np.array([i if i % 2 else f"t{i}" for i in range(n)], dtype=object),
    }
    call = {"default": ct.calibration_test, "slices": ct.find_slices}[name]
    found = call(p, (rng.random(n) < p).astype(int), features=columns, n_resamples=9, rng=1)
    notes = "\n".join(found.notes)
    assert "columns with one value are left out: one, gone" in notes
    assert "patient has 3,000 different values, of which the 49 most frequent are looked at one by one" in notes
    assert "mixed has 6,000 different values (text among others), of which" in notes
    assert "number" not in notes.replace("numbers of them", "")


def test_missing_values_are_a_second_value_of_a_column():
    columns = [(name, np.array(values)) for name, values in (("once", [1.0, 1.0, np.nan]), ("never", [1.0, 1.0, 1.0]))]
    assert notes_on(columns) == ("columns with one value are left out: never",)


def test_masked_values_records_and_periods():
    masked = np.ma.masked_array([1.5, 2.0, 3.0], [False, True, False])
    records = np.array([(1, "a"), (2, "b")], dtype=[("x", int), ("c", "U1")])
    assert dict(named_columns({"x": masked}, None))["x"].tolist() == [1.5, None, 3.0]
    assert [(name, values.tolist()) for name, values in named_columns(records, None)] == [
        ("x", [1, 2]),
        ("c", ["a", "b"]),
    ]
    ((_, months),) = named_columns({"when": pd.period_range("2026-01", periods=2, freq="M")}, None)
    assert months.astype("datetime64[D]").tolist() == [date(2026, 1, 1), date(2026, 2, 1)]


def test_columns_that_tell_the_outcomes_are_asked_about():
    rng = np.random.default_rng(11)
    p = rng.uniform(0.2, 0.8, 200)
    y = (rng.random(200) < p).astype(int)
    told = {"nearly": y + 1e-6 * rng.normal(size=200), "finer": np.where(y == 1, np.where(p > 0.5, "a", "b"), "c")}
    others = {"p": p, "name": [f"row {i}" for i in range(200)], "site": rng.choice(list("abc"), 200)}
    asked = [f"{name} tells all outcomes; is it made from them?" for name in told]
    for result in (
        ct.find_slices(p, y, told | others, n_resamples=9, rng=1),
        ct.calibration_test(p, y, features=told | others, n_resamples=9, rng=1),
    ):
        assert [note for note in result.notes if "tells" in note] == asked
    assert notes_on_outcomes([("same order", np.arange(4.0))], np.array([0, 0, 1, 1])) == ()
    assert notes_on_outcomes([("cube", rng.normal(size=50) ** 3)], rng.normal(size=50)) == ()
    assert notes_on_outcomes(told.items(), np.zeros((200, 2))) == ()


@pytest.mark.parametrize("counts", [(11, 11), (11, 12), (12, 12), (12, 13), (5, 5, 5), (4, 5, 6), (5, 5, 6), (6, 6, 6)])
def test_what_is_hardly_chance_has_a_million_equally_likely_orders(counts):
    """Those of the outcomes; divided by those of equal counts for names; by all outcomes of each part if it tells."""
    outcomes = np.repeat(range(len(counts)), counts)
    orders = factorial(outcomes.size) / np.prod([factorial(one) for one in counts])
    of_names = orders / np.prod([factorial(counts.count(one)) for one in set(counts)])
    names = np.array(["a", "b", "c"])[outcomes]
    for values, number in ((outcomes, orders), (names, of_names)):
        with pytest.raises(ValueError, match="got the targets") if number >= 1e6 else nullcontext():
            columns_for({"x": values}, None, outcomes.size, outcomes)
    assert len(notes_on_outcomes([("x", names)], outcomes)) == (orders / len(counts) ** len(counts) >= 1e6)


def test_rows_that_are_no_numbers():
    with pytest.raises(ValueError, match=r"features: got a dict in a row, .* pandas.DataFrame\(rows\)"):
        columns_of([{"a": 1.0, "b": i} for i in range(40)], None, 40, 4)
    columns, notes = columns_of([(float(i), "ab"[i % 2]) for i in range(40)], None, 40, 4)
    assert [len(one.words) for one in columns] == [4, 2]
    assert notes == ()


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ((-0.409947, 0.397879), ("x < -0.41", "x in [-0.41, 0.398)", "x >= 0.398")),
        ((0.791656, 0.791706), ("x < 0.79166", "x in [0.79166, 0.79171)", "x >= 0.79171")),
        ((2015.0, 2019.5), ("x < 2015", "x in [2015, 2020)", "x >= 2020")),
        ((123456.7,), ("x < 123457", "x >= 123457")),
        ((1e-300, 1e300), ("x < 1e-300", "x in [1e-300, 1e+300)", "x >= 1e+300")),
    ],
)
def test_ends_of_bins_have_the_fewest_digits_that_tell_them_apart(ends, words):
    assert Coding("x", ends).words == (*words, "x missing")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([0.05068011873981862, -0.044641636506989144], ("x = -0.0446", "x = 0.0507")),
        ([0.12345678, 0.12341111], ("x = 0.1234", "x = 0.1235")),
        ([0.0, 0.5], ("x = 0.0", "x = 0.5")),
        (["1.0", "1.1"], ("x = 1.0", "x = 1.1")),
        (["0.12345678", "unknown"], ("x = 0.12345678", "x = unknown")),
    ],
)
def test_numbers_of_few_values_have_the_digits_that_tell_them_apart(values, words):
    assert coded("x", np.tile(values, 10), 5).words == words


@pytest.mark.parametrize(
    "text", ["%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", " %Y-%m-%d", "%Y-%m-%d %H:%M:%S.%f"]
)
def test_text_of_dates_is_dates(text):
    days = pd.Series(pd.date_range("2024-01-01", periods=60))
    expected = coded("day", plain_column(days), 4)
    for written in (days.dt.strftime(text), np.array(days.dt.strftime(text).tolist())):
        found = coded("day", plain_column(written), 4)
        assert found.words == expected.words
        assert found.codes.tolist() == expected.codes.tolist()
    some = days.dt.strftime(text).tolist()
    for missing in (None, ""):
        some[7] = missing
        assert np.isnat(plain_column(np.array(some, dtype=object))).tolist() == [i == 7 for i in range(60)]


@pytest.mark.parametrize("other", ["unknown", "2024-02-30", "2024-1-1", "20240101", "2024-01-01x", 7])
def test_other_text_is_no_dates(other):
    values = np.array(["2024-01-01", "2024-01-02", other], dtype=object)
    assert plain_column(values).tolist() == values.tolist()
    assert plain_column(np.array(["", ""])).tolist() == ["", ""]


@pytest.mark.parametrize("kind", [Decimal, Fraction])
def test_decimals_and_fractions_are_numbers(kind):
    numbers = [kind(i) / 8 for i in range(40)]
    words = coded("x", np.array([*numbers, None], dtype=object), 4).words
    assert words == coded("x", np.array([*map(float, numbers), np.nan]), 4).words
    assert words[0] == "x < 1.12"


def test_times_with_a_zone_are_said_in_it():
    days = pd.Series(pd.date_range("2024-03-20", periods=20, tz="Europe/Berlin"))
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    forms = (
        days,
        np.array([day.to_pydatetime() for day in days], dtype=object),
        polars.Series(days.dt.tz_localize(None)).dt.replace_time_zone("Europe/Berlin"),
        pyarrow.chunked_array([pyarrow.array(days)]),
    )
    for one in forms:
        (column,) = columns_of({"day": one}, None, 20, 2)[0]
        assert column.words == ("day < 2024-03-29", "day >= 2024-03-29")
        assert column.codes.tolist() == [0] * 9 + [1] * 11
    times = days + pd.Timedelta(hours=6)
    assert coded("t", plain_column(times), 2).words[1] == "t >= 2024-03-29 06:00:00+01:00"
    # Bins are those of moments, whatever clock shows them.
    coding = Coding.of("t", plain_column(times), 4)
    for clock in (times.dt.tz_convert("America/New_York"), times.dt.tz_convert("UTC").dt.tz_localize(None)):
        assert coding.codes(plain_column(clock)).tolist() == coding.codes(plain_column(times)).tolist()


def test_times_with_and_without_a_zone_are_both_read():
    mixed = np.array([datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=1))), date(2024, 1, 1), None], dtype=object)
    moments = numbers_in(plain_column(mixed), np.array([False, False, True]))
    assert moments[1] - moments[0] == 3600.0
    assert np.isnan(moments[2])


@pytest.mark.parametrize("n", [50, 51])
def test_fifty_categories_are_looked_at_one_by_one(n):
    values = np.array([f"c{i:02d}" for i in range(n)] * 2)
    assert len(notes_on([("site", values)])) == (n == 51)
    assert len(Coding.of("site", values, 2).kinds) == (50 if n == 50 else 49)
