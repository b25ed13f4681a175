"""Sizes and power for several labels, choices of different numbers and stated confidences."""

import pytest
from grids import thinned

from .labels_and_choices import LABELS, rates_of_choices, rates_of_labels, rates_of_stated
from .settings import band

pytestmark = [pytest.mark.statistical, pytest.mark.usefixtures("without_findings")]


RIGHT = [i for i, one in enumerate(LABELS) if not one[4]]
WRONG = [i for i, one in enumerate(LABELS) if one[4]]


@pytest.mark.parametrize("setting", thinned(RIGHT, [0, 4]))
def test_sizes_of_labels(setting, replications):
    *what, n_resamples, sets = LABELS[setting]
    number = replications(8, sets)
    for rate, alpha in zip(
        rates_of_labels(*what, 99 if number < sets else n_resamples, number), (0.05, 0.01), strict=True
    ):
        assert rate * number <= band(number, alpha)[1]


@pytest.mark.parametrize("setting", thinned(WRONG, WRONG[1:2]))
def test_one_wrong_label_is_found(setting, replications):
    *what, _, sets = LABELS[setting]
    number = replications(2, sets)
    assert rates_of_labels(*what, 99, number)[0] >= (0.1 if setting == WRONG[0] else 0.6)


@pytest.mark.parametrize("in_order", thinned([True, False], [True]))
def test_sizes_of_choices(in_order, replications):
    number = replications(8, 1000)
    for rate, alpha in zip(rates_of_choices(50, 1.0, in_order, False, number), (0.05, 0.01), strict=True):
        assert rate * number <= band(number, alpha)[1]


def test_sizes_of_stated_confidences(replications):
    number = replications(15, 1000)
    for rate, alpha in zip(rates_of_stated(50, 0.0, number), (0.05, 0.01), strict=True):
        low, high = band(number, alpha)
        assert low <= rate * number <= high
