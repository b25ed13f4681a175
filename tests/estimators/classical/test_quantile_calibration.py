"""Counts of outcomes between predicted quantiles."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

import caltest as ct

RNG = np.random.default_rng(1)
NORMAL = ct.Normal(RNG.normal(size=80), RNG.uniform(0.5, 2.0, 80))
Y = NORMAL.mean + 1.2 * NORMAL.scale * RNG.normal(size=80)


def by_hand(u, levels):
    edges = [0.0, *levels, 1.0]
    total = 0.0
    for low, high in pairwise(edges):
        count = sum(low < value <= high for value in u)
        total += (count - len(u) * (high - low)) ** 2 / (len(u) * (high - low))
    return total


@pytest.mark.parametrize("levels", [None, [0.5], [0.05, 0.25, 0.75, 0.95]])
def test_definition(levels):
    redraws = NORMAL.sample(2, 7)
    chosen = np.arange(1, 10) / 10 if levels is None else levels
    expected = [by_hand(NORMAL.cdf(y), chosen) for y in redraws]
    assert ct.estimators.QuantileCalibration(levels).estimates(NORMAL, redraws) == pytest.approx(expected, rel=1e-11)
    result = ct.QuantileCalibrationTest(levels)(NORMAL, Y)
    table = stats.chisquare(np.histogram(NORMAL.cdf(Y), [0.0, *chosen, 1.0])[0], 80 * np.diff([0.0, *chosen, 1.0]))
    assert (result.statistic, result.pvalue) == pytest.approx((table.statistic, table.pvalue), rel=1e-10)
    assert result.df == (len(chosen),)


def test_quantile_forecasts_are_as_their_distributions():
    levels = [0.1, 0.25, 0.5, 0.9]
    forecast = ct.QuantileForecast(levels, NORMAL.quantile(np.array(levels)[:, None]).T)
    for some in (None, [0.25, 0.9], [0.5]):
        chosen = levels if some is None else some
        expected = ct.estimators.QuantileCalibration(chosen)(NORMAL, Y)
        assert ct.estimators.QuantileCalibration(some)(forecast, Y) == pytest.approx(expected, rel=1e-12)
    # Outcomes that equal a quantile are below it, as in the forecast.
    one = ct.QuantileForecast([0.5], [[0.0], [0.0]])
    assert ct.estimators.QuantileCalibration()(one, [0.0, 0.0]) == pytest.approx(2.0)
    assert ct.estimators.QuantileCalibration()(one, [0.0, 1e-9]) == 0.0
    assert ct.estimators.QuantileCalibration([0.5])(ct.Normal([0.0, 0.0], 1.0), [0.0, 1.0]) == 0.0
    with pytest.raises(ValueError, match=r"levels: got \[0.3\], wanted some of those of the forecast"):
        ct.estimators.QuantileCalibration([0.3])(forecast, Y)


def test_errors_are_found():
    rng = np.random.default_rng(3)
    narrow = ct.Normal(np.zeros(300), 0.7)
    y = rng.normal(size=300)
    assert ct.MonteCarloTest(ct.estimators.QuantileCalibration(), 99)(narrow, y, rng=1).pvalue == 0.01
    assert ct.QuantileCalibrationTest()(narrow, y).pvalue < 1e-4


def test_note_of_few_expected_outcomes():
    few = NORMAL.take(slice(0, 15))
    assert "only 1.5 outcomes are expected in an interval" in ct.QuantileCalibrationTest()(few, Y[:15]).notes[0]
    assert not ct.QuantileCalibrationTest()(NORMAL, Y).notes


@pytest.mark.parametrize(("n", "noted"), [(49, True), (50, False)])
def test_the_note_is_for_fewer_expected_outcomes_than_it_says(n, noted):
    """Ten intervals of the same probability; "with fewer than 5" is in the note."""
    notes = ct.QuantileCalibrationTest()(ct.Normal(np.zeros(n), 1.0), np.linspace(-2.0, 2.0, n)).notes
    assert ["with fewer than 5" in note for note in notes] == [True] * noted


def test_bad_input():
    for levels in ([], [0.5, 0.5], [0.0, 0.5], [0.9, 0.1], [[0.1, 0.2]], ["a"]):
        with pytest.raises(ValueError, match="levels"):
            ct.estimators.QuantileCalibration(levels)
    for predictions, y in ((ct.Bernoulli([0.3]), [1]), (ct.MvNormal([[0.0, 1.0]], 1.0), [[1.0, 0.0]])):
        with pytest.raises(TypeError, match="which are not continuous distributions of a real target"):
            ct.estimators.QuantileCalibration()(predictions, y)
