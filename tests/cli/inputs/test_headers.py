"""First lines of files that can be headers."""

import dataclasses

import numpy as np
import pytest

from caltest._basics.rows import Rows
from caltest.cli.inputs import headers


@pytest.mark.parametrize(
    ("cells", "certain"), [(["0"], True), (["1"], True), (["2"], False), (["0", "1"], True), (["0", "1", "2"], False)]
)
def test_a_first_line_of_whole_numbers_can_be_a_certain_prediction(cells, certain):
    assert headers._can_be_certain(cells) == certain
    assert not headers._can_be_certain(["0", "0", "2"])


@pytest.mark.parametrize(
    ("cells", "readings"),
    [
        (["a", "b"], [True]),
        (["1", "b"], [True]),
        (["0.5", "b"], [False]),
        (["0", "0"], [False]),
        (["0", "1"], [True, False]),
        (["1", "2"], [True]),
    ],
)
def test_first_lines_that_can_be_headers(cells, readings):
    rows = Rows("p.csv", cells, None, np.empty((0, 2)), np.empty(0))
    assert headers._can_be_header(rows, family="") == readings


@pytest.mark.parametrize(
    ("cells", "header"),
    [
        (["0.1", "0.5", "1.0"], True),
        (["0.9", "0.5", "0.5"], False),
        (["2", "1"], True),
        (["0.5", "0.2", "0.3"], True),
        (["a", "0.2"], True),
    ],
)
def test_a_first_line_that_does_not_fall_has_the_times_of_curves(cells, header):
    rows = Rows("p.csv", cells, None, np.empty((0, len(cells))), np.empty(0))
    assert headers._can_be_header(rows, family="curves") == [header]


@pytest.mark.parametrize(
    ("cells", "possible"), [(["0"], ["0"]), (["1"], ["1"]), (["0", "1"], ["1"]), (["1", "0"], ["0"])]
)
def test_a_certain_prediction_in_a_first_line_excludes_other_outcomes(cells, possible):
    given = Rows("p.csv", cells, None, np.zeros((2, len(cells))), np.empty(0))
    observed = [dataclasses.replace(given, head=[word], values=np.zeros((2, 1))) for word in ("0", "1", "yes")]
    excluded = [one.head[0] for one in observed if headers._is_excluded(given, one)]
    assert excluded == [one for one in ("0", "1") if one not in possible]
    if "0" in excluded:
        with pytest.raises(ValueError, match=r"line 1: got '[01,]+', which can be a header or a certain prediction"):
            headers.headers(given, observed[0], "")
    else:
        assert headers.headers(given, observed[0], "") == (False, False)
