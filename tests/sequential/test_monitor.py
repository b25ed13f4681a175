"""Monitors: the detector by its definition, run lengths of calibrated predictions, alarms and new beginnings."""

from dataclasses import replace

import numpy as np
import pytest
from printed import unfolded
from statistical.over_time import overlapping

import caltest as ct
from caltest.plots import evidence
from caltest.sequential.monitor import Watching, _sums


def stream(n, seed, wrong_from=None):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    true = p.copy()
    if wrong_from is not None:
        true[wrong_from:] = 0.5 + 0.3 * (p[wrong_from:] - 0.5)
    return p, (rng.random(n) < true).astype(int)


def test_detector_by_its_definition():
    """The sum over starts of products of factors, in a weighted mean over alternatives."""
    p, y = stream(30, 1)
    odds = ct.Bernoulli(p).odds()
    factors = np.exp(odds.log_ratio_terms(y))
    expected = [
        sum(w * sum(np.prod(f[s : t + 1]) for s in range(t + 1)) for w, f in zip(odds.weights, factors, strict=True))
        for t in range(30)
    ]
    monitor = ct.CalibrationMonitor(10**7, "likelihood").update(p, y)
    assert np.exp(monitor.history) == pytest.approx(expected)
    half = _sums(np.log(factors)[:, 0], np.log(factors)[:, 1:])
    assert half == pytest.approx(_sums(np.full(len(factors), -np.inf), np.log(factors))[:, 1:])


def test_batches_and_restarts():
    """Batches do not matter; after an alarm the detector is that of the rows since."""
    p, y = stream(500, 2, 200)
    whole = ct.CalibrationMonitor(200).update(p, y)
    assert len(whole.alarms) > 1
    parts = ct.CalibrationMonitor(200)
    for part in np.array_split(np.arange(500), sorted([1, 60, 200, whole.alarms[0], 433])):
        parts.update(p[part], y[part])
    assert parts.alarms == whole.alarms
    assert parts.history == pytest.approx(whole.history)
    first = whole.alarms[0]
    alone = ct.CalibrationMonitor(200, "likelihood").update(p, y)
    later = ct.CalibrationMonitor(200, "likelihood").update(p[alone.alarms[0] :], y[alone.alarms[0] :])
    assert alone.history[alone.alarms[0] :] == pytest.approx(later.history)
    assert whole.history[first - 1] >= np.log(200) > whole.history[: first - 1].max()
    again = ct.results.MonitorResult.from_dict(whole.result().to_dict())
    assert [one.after for one in again.alarms] == list(whole.alarms)


@pytest.mark.parametrize("strategy", ["likelihood", "both"])
def test_with_a_lag_the_largest_of_detectors_of_rows_that_are_a_lag_apart_counts(strategy):
    p, y = stream(400, 6)
    streams = [ct.CalibrationMonitor(10**7, strategy).update(p[k::3], y[k::3]).history for k in range(3)]
    known = np.full((3, 400), -np.inf)
    for k in range(3):
        known[k, k:] = np.repeat(streams[k], 3)[: 400 - k]
    monitor = ct.CalibrationMonitor(10**7, strategy, lag=3).update(p, y)
    assert monitor.history == pytest.approx(known.max(axis=0))
    assert monitor.alarms == ()


def test_with_a_lag_predictions_that_were_open_at_an_alarm_do_not_count():
    p, y = stream(500, 2, 200)
    whole = ct.CalibrationMonitor(100, "likelihood", lag=4).update(p, y)
    first = whole.alarms[0]
    assert len(whole.alarms) > 1
    assert whole.history[first - 1] >= np.log(200) > whole.history[: first - 1].max()
    assert (whole.history[first : first + 3] == -np.inf).all()
    later = ct.CalibrationMonitor(100, "likelihood", lag=4).update(p[first + 3 :], y[first + 3 :])
    assert whole.history[first + 3 :] == pytest.approx(later.history)
    parts = ct.CalibrationMonitor(100, "likelihood", lag=4)
    for part in np.array_split(np.arange(500), sorted([1, 2, 150, first, first + 2, 433])):
        parts.update(p[part], y[part])
    assert (parts.alarms, parts.history.tolist()) == (whole.alarms, pytest.approx(whole.history.tolist()))
    result = whole.result()
    assert "200 for an alarm; the largest of 4 detectors, each of rows 4 apart" in " ".join(str(result).split())
    assert str(ct.results.MonitorResult.from_dict(result.to_dict())) == str(result)
    assert result.curve()[1] == pytest.approx(np.log(200))
    assert not any("excluded" in one.get_text() for one in evidence(result).get_legend().get_texts())
    assert repr(ct.CalibrationMonitor(lag=4)).endswith(", lag=4)")
    assert repr(ct.CalibrationMonitor(classes=["no", "yes"], lag=4)).endswith(", classes=['no', 'yes'], lag=4)")


def test_with_a_lag_changes_are_looked_for_in_the_rows_that_count():
    p, y = stream(300, 2, 200)
    whole = ct.CalibrationMonitor(100, "likelihood", lag=2)(p, y).alarms
    start = whole[0].after + 1
    alone = ct.CalibrationMonitor(100, "likelihood", lag=2)(p[start:], y[start:]).alarms[0]
    own, other = whole[1].change.interval, alone.change.interval
    assert (whole[1].after, own.estimate, *own) == tuple(start + one for one in (alone.after, other.estimate, *other))


def test_a_lag_of_more_rows_than_there_are_is_noted():
    p, y = stream(10, 8)
    for test in (ct.CalibrationMonitor(lag=10), ct.SequentialCalibrationTest(lag=10)):
        assert "10 rows and a lag of 10: so far each of the interleaved tests has one row or none" in test(p, y).notes
    assert ct.CalibrationMonitor(lag=9)(p, y).notes == ct.CalibrationMonitor()(p[:1], y[:1]).notes == ()


@pytest.mark.statistical
@pytest.mark.usefixtures("without_findings")
def test_average_run_length_of_outcomes_that_overlap(replications):
    """With the lag it holds; without alarms come long before."""
    number, length, runs = replications(12, 200), 60, {5: [], 1: []}
    for seed in range(number):
        pair = overlapping(np.random.default_rng([7, seed]), 10 * length, 5)
        for lag, found in runs.items():
            alarms = ct.CalibrationMonitor(length, "likelihood", lag=lag).update(*pair).alarms
            found.append(alarms[0] if alarms else 10 * length)
    assert np.mean(runs[5]) > length - 3.0 * np.std(runs[5]) / np.sqrt(number)
    assert np.mean(runs[1]) < length - 3.0 * np.std(runs[1]) / np.sqrt(number)


@pytest.mark.statistical
@pytest.mark.usefixtures("without_findings")
@pytest.mark.parametrize("strategy", ["likelihood", "kernel"])
def test_average_run_length(strategy, replications):
    """Run lengths of calibrated predictions, cut at ten times L, have a mean of at least L."""
    number, length = replications(12, 200), 60
    runs = []
    for seed in range(number):
        p, y = stream(10 * length, (3, seed))
        alarms = ct.CalibrationMonitor(length, strategy).update(p, y).alarms
        runs.append(alarms[0] if alarms else 10 * length)
    error = np.std(runs) / np.sqrt(number)
    assert np.mean(runs) > length - 3.0 * error, np.mean(runs)


@pytest.mark.statistical
@pytest.mark.usefixtures("without_findings")
def test_a_late_change_is_found_sooner_than_by_a_test(replications):
    number = replications(8, 100)
    delays = np.zeros((number, 2))
    for seed in range(number):
        p, y = stream(2400, (4, seed), 2000)
        alarms = [one for one in ct.CalibrationMonitor(1000, "likelihood").update(p, y).alarms if one > 2000]
        test = ct.SequentialCalibrationTest("likelihood").update(p, y).result().first_rejection(0.001)
        delays[seed] = (alarms[0] if alarms else 2400) - 2000, (2400 if test is None else test) - 2000
    assert delays[:, 0].mean() < delays[:, 1].mean()
    assert delays[:, 0].mean() < 120


def test_result_says_since_when():
    p, y = stream(900, 5, 600)
    result = ct.CalibrationMonitor()(p, y)
    alarm = result.alarms[0]
    assert 600 < alarm.after < 720
    low, high = alarm.change.interval.ends
    assert low <= 601 <= high <= alarm.after
    assert f"wrong since about observation {alarm.change.start}" in unfolded(alarm)
    usual = result.n / result.average_run_length
    assert result.verdict().startswith(f"{len(result.alarms)} alarm")
    assert result.verdict().endswith(f"calibrated predictions raise at most {usual:.2g} on average")
    assert replace(result, n=80_000, average_run_length=1000).verdict().endswith("at most 80 on average")
    assert "overconfident" in unfolded(result) or "random" in unfolded(result)
    ax = evidence(result)
    assert sum(len(line.get_xdata()) for line in ax.lines if line.get_marker() == "D") == len(result.alarms)


def test_impossible_outcomes_are_alarms_at_once():
    monitor = ct.CalibrationMonitor().update([0.5, 0.0, 0.5, 0.4], [1, 1, 1, 0])
    assert monitor.alarms == (2,)
    assert monitor.history[1] == np.inf
    assert np.isfinite(monitor.history[[0, 2, 3]]).all()
    result = monitor.result()
    (alarm,) = result.alarms
    assert alarm.change is None
    words = "an outcome occurred to which probability 0 was given (row 1: class 1)"
    assert alarm.finding.words == words
    assert str(alarm) == f"after 2 observations: {words}"
    assert f"Last alarm     {words}" in unfolded(result)
    assert result.table()[1] == ["2", "impossible outcome", ""]
    assert str(type(result).from_dict(result.to_dict())) == str(result)
    assert "CalibrationMonitor: 1 alarm in 4 observations" in repr(monitor.result())
    assert "CalibrationMonitor: 1 alarm in 4 observations" in repr(monitor)


def test_quiet_and_empty_monitors():
    monitor = ct.CalibrationMonitor(50)
    assert monitor.alarms == ()
    assert isinstance(monitor._state, Watching)
    with pytest.raises(ValueError, match="got none so far"):
        monitor.result()
    assert "no alarm in 2 observations" in unfolded(monitor.update([0.4, 0.6], [0, 1]).result())
    for bad in (1, 0.5, "many"):
        with pytest.raises((ValueError, TypeError), match="average_run_length"):
            ct.CalibrationMonitor(bad)


@pytest.mark.usefixtures("without_findings")
def test_dates_after_the_first_alarm_are_said_to_begin_anew():
    said = "wrong since: of the rows after the alarm before; an error that lasts is older"
    monitor, lines = ct.CalibrationMonitor(), {}
    for start in range(0, 600, 100):
        p, y = stream(100, start, wrong_from=0)
        monitor.update(p, y)
        lines[len(monitor.alarms)] = str(monitor.result()).splitlines()
    assert max(lines) >= 2
    for number, some in lines.items():
        assert (said in some) is (number >= 2)
    assert said in monitor.result().to_markdown()
