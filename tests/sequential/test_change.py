"""Since when predictions are wrong, by the likelihood of a change at each observation."""

import numpy as np
import pytest
from printed import unfolded
from statistical.over_time import overlapping

import caltest as ct
from caltest._basics.calls import pvalues_only
from caltest.predictions import Sample
from caltest.sequential import change as module
from caltest.sequential.change import change_of


def shifted(n, start, shift=1.0, seed=1):
    rng = np.random.default_rng(seed)
    p = ct.Normal(rng.normal(size=n), 1.0)
    return p, p.sample(rng) + shift * (np.arange(n) >= start)


def obvious(predictions, targets, lag=1):
    """Estimate and ends from the log likelihood ratios of the outcomes from each observation on."""
    terms = predictions.law.odds().log_ratio_terms(np.asarray(targets))
    likelihood = np.array([max(row[s:].sum() for row in terms) for s in range(len(targets))])
    near = np.flatnonzero(likelihood >= likelihood.max() - 4.0 * lag)
    return likelihood.argmax() + 1, near[0] + 1, near[-1] + 1


@pytest.mark.parametrize("at_once", [1, 500, 2**20])
def test_estimate_and_interval_are_those_of_the_likelihood(monkeypatch, at_once):
    monkeypatch.setattr(module, "AT_ONCE", at_once)
    p, y = shifted(200, 150)
    change = change_of(Sample(p, y))
    assert (change.start, *change.interval) == obvious(p, y)
    assert 140 <= change.interval.low <= 151 <= change.interval.high <= 160


def test_with_a_lag_intervals_are_longer_and_overlapping_outcomes_show_no_change():
    p, y = shifted(200, 150)
    change = ct.SequentialCalibrationTest("likelihood", lag=3)(p, y).change
    assert (change.start, *change.interval) == obvious(p, y, 3)
    assert change.interval.low < change_of(Sample(p, y)).interval.low
    sums = [overlapping(np.random.default_rng(seed), 300, 5) for seed in range(5)]
    assert [change_of(Sample(*pair), 5) for pair in sums] == [None] * 5
    assert sum(change_of(Sample(*pair)) is not None for pair in sums) > 1


def test_direction_and_measures_are_those_of_the_observations_before_and_since():
    p, y = shifted(300, 200, shift=-1.0)
    result = ct.SequentialCalibrationTest()(p, y)
    change, start = result.change, result.change.start - 1
    assert change.finding.words.startswith("outcomes are below what was predicted")
    parts = slice(0, start), slice(start, None)
    for measures, part in zip((change.before, change.after), parts, strict=True):
        named = {one.name: one for one in measures}
        assert named["above the median"].observed == pytest.approx(np.mean(y[part] > p.mean[part]))
        assert named["above the median"].claimed == pytest.approx(0.5)
    assert [row[0] for row in change.table()[1:]] == [one.name for one in change.after]


def test_report_says_it_below_the_verdict_where_the_level_is_reached():
    result = ct.SequentialCalibrationTest()(*shifted(300, 200))
    lines = unfolded(result).splitlines()
    assert lines[2].startswith("Verdict        reject calibration")
    assert lines[3] == f"Since          {result.change}"
    assert f"about observation {result.change.start} (95 % interval" in lines[3]
    assert "root mean squared error" in str(result)
    quiet = result.summary(result.pvalue / 2.0)
    assert result.since(result.pvalue / 2.0) is None
    assert "Since" not in quiet
    assert "root mean squared error" not in quiet


def test_predictions_that_are_wrong_from_the_beginning():
    change = ct.SequentialCalibrationTest("likelihood")([0.1] * 40, [1] * 40).change
    assert (change.start, change.interval.low, change.before) == (1, 1.0, ())
    assert change.words.startswith("the first observation (95 % interval 1 to ")
    assert change.table()[0] == ["", "claimed since", "observed since"]
    assert len(change.table()[1]) == 3


def test_a_start_that_is_nearly_as_likely_as_the_best_is_the_first_observation():
    """Of streams that are wrong all the time most are dated there, of those that change hardly any."""
    dates = {
        start: [change_of(Sample(*shifted(400, start, 0.4, seed))).start for seed in range(8)] for start in (0, 200)
    }
    assert sum(start == 1 for start in dates[0]) >= 4
    assert sum(start == 1 for start in dates[200]) <= 1


def test_strategies_date_alike():
    p, y = shifted(200, 150)
    dates = {ct.SequentialCalibrationTest(strategy)(p, y).change.interval for strategy in ("both", "kernel")}
    assert dates == {ct.SequentialCalibrationTest("likelihood")(p, y).change.interval}


def test_no_date():
    assert ct.SequentialCalibrationTest()(*shifted(200, 200)).change is None
    assert ct.SequentialCalibrationTest()([0.5] * 30 + [0.0], [1] * 31).change is None
    with pvalues_only():
        assert ct.SequentialCalibrationTest()(*shifted(200, 150)).change is None


def test_dates_of_ensembles_and_quantile_forecasts():
    draws = np.random.default_rng(2).normal(size=(120, 5))
    ensemble = ct.SequentialCalibrationTest()(ct.Ensemble(draws), draws[:, 0] + 4.0 * (np.arange(120) >= 60))
    assert ensemble.change.interval.low <= 61 <= ensemble.change.interval.high
    forecast = ct.QuantileForecast([0.25, 0.5, 0.75], np.tile([-0.7, 0.0, 0.7], (120, 1)))
    late = ct.SequentialCalibrationTest()(forecast, draws[:, 0] + 4.0 * (np.arange(120) >= 60))
    assert late.change.interval.low <= 61 <= late.change.interval.high


def test_families_without_alternatives_have_no_date(monkeypatch):
    monkeypatch.setattr(ct.Normal, "odds", lambda self: None)
    result = ct.SequentialCalibrationTest()(*shifted(300, 150))
    assert result.pvalue < 0.05
    assert result.change is None
    assert "Since" not in unfolded(result)


def test_with_a_lag_intervals_before_and_since_count_so_many_outcomes_as_one():
    rng = np.random.default_rng(1)
    p, late = rng.uniform(0.2, 0.8, 600), np.arange(600) >= 400
    y = np.where(late, rng.random(600) < 0.2 * p, rng.random(600) < p).astype(int)
    alone, lagged = (change_of(Sample(ct.Bernoulli(p), y), lag) for lag in (1, 4))
    for one, other in ((alone.before, lagged.before), (alone.after, lagged.after)):
        narrow, wide = one[0].interval, other[0].interval
        assert wide.high - wide.low > 1.8 * (narrow.high - narrow.low)
    assert lagged.finding.kind == alone.finding.kind
    narrow, wide = alone.finding.interval, lagged.finding.interval
    assert wide.high - wide.low > 1.8 * (narrow.high - narrow.low)
