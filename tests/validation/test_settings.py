"""Settings at the ends of what is allowed."""

import re

import numpy as np
import pytest

from caltest._validation.settings import MOST, at_least, fraction, levels, positive_number, whole_number

JUST_BELOW, JUST_ABOVE = np.nextafter(1.0, 0.0), np.nextafter(0.0, 1.0)


def test_levels_and_fractions_are_strictly_between_0_and_1():
    for value in (JUST_ABOVE, 0.5, JUST_BELOW):
        assert fraction("alpha", value) == value
        assert levels("alpha", [value]).tolist() == [value]
    for value in (0.0, 1.0, -0.5, 1.5, np.nan):
        with pytest.raises(ValueError, match=re.escape(f"alpha: got {value!r}, wanted a number between 0 and 1")):
            fraction("alpha", value)
        with pytest.raises(ValueError, match="wanted numbers between 0 and 1"):
            levels("alpha", [0.5, value])


def test_the_first_level_outside_is_named():
    with pytest.raises(ValueError, match=re.escape(f"alpha: got {np.float64(2.0)!r}, wanted")):
        levels("alpha", [0.1, 2.0, 3.0])


def test_positive_numbers_are_above_0_and_finite():
    assert positive_number("margin", JUST_ABOVE) == JUST_ABOVE
    for value in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="wanted a positive number"):
            positive_number("margin", value)


def test_whole_numbers_lie_between_their_ends():
    assert (whole_number("n_bins", 2, 2), whole_number("n_bins", MOST, 2)) == (2, MOST)
    with pytest.raises(ValueError, match="n_bins: got 1, wanted a whole number of at least 2"):
        whole_number("n_bins", 1, 2)
    with pytest.raises(ValueError, match=f"n_bins: got {MOST + 1}, wanted at most {MOST}"):
        whole_number("n_bins", MOST + 1, 2)


def test_as_many_observations_as_the_least_are_enough():
    at_least(2, 2, "SKCE")
    with pytest.raises(ValueError, match="predictions: got 1 observation, wanted at least 2 for SKCE"):
        at_least(1, 2, "SKCE")
