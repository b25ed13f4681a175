"""Numbers in words."""

import math

import pytest

from caltest.predictions.faults import Fit
from caltest.predictions.faults.wording import about, count, percent, sized, sized_shift


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.24, "0.24"), (15.2, "15"), (1234.0, "1200"), (1e-200, "0"), (2e7, "2.0e+07"), (-0.043, "-0.043"), (3.0, "3")],
)
def test_two_digits(number, text):
    assert about(number) == text


def test_counts_and_shares():
    assert [count(623.0), count(14.06), count(15.0 + 1e-12)] == ["623", "14.1", "15"]
    assert percent(0.3604) == "36 %"


def test_sizes_have_digits_that_tell_the_ends_apart():
    def same(t):
        return t

    assert sized(Fit(0.25, 0.2, 0.31), same) == "0.25 (0.2 to 0.31)"
    assert sized(Fit(1.197, 1.164, 1.231), same) == "1.2 (1.16 to 1.23)"
    assert sized(Fit(2.0, 1.0, 3.0, is_open_above=True), same) == "2 (at least 1)"
    assert sized(Fit(2.0, 1.0, 3.0, is_open_below=True), same) == "2 (at most 3)"
    assert sized(Fit(0.1, 0.05, 0.2), same, percent) == "10 % (5 % to 20 %)"


def test_ends_are_not_rounded_to_no_fault():
    assert sized(Fit(0.122, 0.03, 0.223), math.exp) == "1.13 (1.03 to 1.25)"
    assert sized(Fit(0.122, -0.01, 0.223), math.exp) == "1.1 (0.99 to 1.2)"


def test_shifts_have_signs_only_if_the_interval_contains_0():
    assert sized_shift(Fit(-0.3, -0.4, -0.2)) == "0.3 (0.2 to 0.4)"
    assert sized_shift(Fit(-0.1, -0.4, 0.2)) == "-0.1 (-0.4 to 0.2)"
    assert sized_shift(Fit(0.3, 0.2, 0.4), 2.0) == "0.6 (0.4 to 0.8)"
