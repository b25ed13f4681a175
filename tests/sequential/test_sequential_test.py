"""What a sequential test does with its data, and what it refuses."""

import copy
import itertools
import json

import numpy as np
import pandas as pd
import pytest
from interruption import broken_at
from printed import unfolded
from samples import TV, samples
from scipy import stats

import caltest as ct
from caltest.estimators.scores import log_ratios_of
from caltest.plots import evidence
from caltest.predictions.inputs.convert import as_sample
from caltest.sequential.sequential_test import SerialCorrelation, format_evalue, serial_correlation

STRATEGIES = ["both", "likelihood", "kernel"]


def families():
    rng = np.random.default_rng(3)
    n = 130
    yield ct.Categorical(rng.dirichlet(np.ones(3), n))
    yield ct.Bernoulli(rng.random(n))
    yield ct.Ordinal(rng.dirichlet(np.ones(4), n))
    yield ct.Normal(rng.normal(size=n), rng.uniform(0.5, 1.5, n))
    yield ct.MvNormal(rng.normal(size=(n, 2)), rng.uniform(0.5, 1.5, (n, 2)))
    yield ct.Poisson(rng.uniform(0.5, 9.0, n))
    yield ct.Laplace(rng.normal(size=n), rng.uniform(0.5, 1.5, n))


@pytest.mark.every(4)
@pytest.mark.parametrize("predictions", families(), ids=lambda p: p.family)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_batches_do_not_matter(predictions, strategy):
    y = predictions.sample(1)
    whole = ct.SequentialCalibrationTest(strategy).update(predictions, y)
    parts = ct.SequentialCalibrationTest(strategy)
    for start, stop in [(0, 1), (1, 40), (40, 75), (75, 76), (76, 130)]:
        parts.update(predictions.take(slice(start, stop)), y[start:stop])
    assert parts.history == pytest.approx(whole.history, rel=1e-9, abs=1e-9)
    assert whole.n == parts.n == 130
    assert whole.history.shape == (130,)


@pytest.mark.parametrize("predictions", families(), ids=lambda p: p.family)
def test_likelihood_strategy_ends_at_the_likelihood_ratio_of_all(predictions):
    y = predictions.sample(2)
    test = ct.SequentialCalibrationTest("likelihood").update(predictions, y)
    assert test.log_evalue == pytest.approx(log_ratios_of(predictions.law.alternatives(), y[None])[0], rel=1e-10)


def test_both_is_the_mean_of_both():
    data = samples(200, 3)
    both, likelihood, kernel = (ct.SequentialCalibrationTest(s, TV).update(data.p, data.y) for s in STRATEGIES)
    assert np.exp(both.history) == pytest.approx((np.exp(likelihood.history) + np.exp(kernel.history)) / 2, rel=1e-10)


def test_pvalue_is_that_of_the_largest_evidence():
    rng = np.random.default_rng(4)
    p = rng.random(400)
    wrong, right = rng.random(400) < 0.5, rng.random(400) < p
    test = ct.SequentialCalibrationTest().update(p, wrong.astype(int))
    largest = test.evalue
    test.update(np.tile(p, 3), np.tile(right.astype(int), 3))
    result = test.result()
    assert test.evalue < largest / 10
    assert test.pvalue == result.pvalue == pytest.approx(np.exp(-result.history.max()))
    assert result.pvalue <= 1.0 / largest
    first = result.first_rejection(0.01)
    assert result.history[first - 1] >= np.log(100.0) > result.history[: first - 1].max()
    assert ct.SequentialCalibrationTest().update([0.5], [1]).pvalue <= 1.0
    fair = ct.SequentialCalibrationTest("kernel").update(p[:20], right[:20].astype(int)).result()
    assert (fair.evalue, fair.pvalue, fair.first_rejection(0.05)) == (1.0, 1.0, None)


def test_single_rows():
    one, many = ct.SequentialCalibrationTest(), ct.SequentialCalibrationTest()
    one.update([0.2, 0.3, 0.5], 1).update([0.1, 0.1, 0.8], 2)
    many.update([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]], [1, 2])
    assert one.history == pytest.approx(many.history, rel=1e-12)
    assert ct.SequentialCalibrationTest().update(0.3, 1).n == 1
    assert ct.SequentialCalibrationTest().update(ct.Normal([0.3], 1.0), 0.2).n == 1
    named = ct.SequentialCalibrationTest(classes=["a", "b", "c"]).update([0.2, 0.3, 0.5], "b")
    assert named.log_evalue == pytest.approx(one.history[0])


def test_excluded_outcomes_are_infinite_evidence():
    test = ct.SequentialCalibrationTest().update([0.5, 0.0, 0.4], [1, 1, 0]).update([0.5], [1])
    result = test.result()
    assert np.isfinite(result.history).tolist() == [True, False, False, False]
    assert (test.evalue, test.pvalue, result.pvalue) == (np.inf, 0.0, 0.0)
    assert result.finding.words == "an outcome occurred to which probability 0 was given (row 1: class 1)"
    assert "1 of 4 outcomes had predicted probability 0 (row 1)" in result.notes[-1]
    assert "E = infinite" in unfolded(result)
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["evalue"] == "inf"


def test_evidence_beyond_the_largest_number():
    n = 2000
    test = ct.SequentialCalibrationTest("likelihood").update(np.full(n, 0.9), np.zeros(n, dtype=int))
    assert test.evalue == np.inf
    assert 1000.0 < test.log_evalue < np.inf
    assert "E = 10^" in unfolded(test.result())
    assert [format_evalue(x) for x in (0.0, 689.9, 690.1, -689.9, -690.1, 1e7, 4e279)] == [
        *("1", "4.17e+299", "10^299.7", "2.4e-300", "10^-299.7", "10^(4.34e+06)", "10^(1.74e+279)")
    ]
    assert [format_evalue(x * np.log(10.0)) for x in (99_999.0, 100_001.0)] == ["10^99999.0", "10^(1e+05)"]


@pytest.mark.parametrize("n_values", [2, 5])
def test_constant_predictions_are_bet_on_in_the_end(n_values):
    """There is no bandwidth to learn from them, and none is needed."""
    n = 150
    predictions = ct.Scenarios(np.tile(np.arange(float(n_values)), (n, 1)))
    y = np.full(n, n_values - 1.0)
    wrong = ct.SequentialCalibrationTest("kernel").update(predictions, y)
    assert not wrong.history[:100].any()
    assert wrong.pvalue < 1e-4
    sizes = [
        ct.SequentialCalibrationTest("kernel").update(predictions, draw).pvalue for draw in predictions.sample(1, 20)
    ]
    assert np.count_nonzero(np.array(sizes) <= 0.05) <= 4
    binary = ct.SequentialCalibrationTest("kernel").update(np.full(n, 0.5), np.ones(n, dtype=int))
    assert binary.pvalue < 1e-5


def test_families_without_likelihood_ratios_are_left_to_the_kernel():
    rng = np.random.default_rng(5)
    p = ct.Ensemble(rng.normal(size=(120, 1)))
    test = ct.SequentialCalibrationTest().update(p, rng.normal(size=120) + 3.0)
    assert test.evalue > 100.0
    assert "likelihood" not in test.result().bets
    with pytest.raises(TypeError, match='no likelihood ratios are known here; wanted strategy="kernel"'):
        ct.SequentialCalibrationTest("likelihood").update(p, np.zeros(120))


def test_errors_along_the_stream():
    test = ct.SequentialCalibrationTest().update([[0.2, 0.3, 0.5]], [1])
    with pytest.raises(ValueError, match="classes"):
        test.update([[0.2, 0.8]], [1])
    with pytest.raises(TypeError, match="wanted"):
        test.update(ct.Normal([0.0], 1.0), [0.3])
    with pytest.raises(ValueError, match="at least one observation"):
        test.update(np.empty((0, 3)), [])
    with pytest.raises(ValueError, match="at row 0"):
        test.update([[0.2, 0.3, 0.5]], [7])
    assert test.n == 1
    with pytest.raises(ValueError, match="wanted at least one observation"):
        ct.SequentialCalibrationTest().result()
    with pytest.raises(ValueError, match="strategy: got 'ons'"):
        ct.SequentialCalibrationTest("ons")
    with pytest.raises(TypeError, match="kernel"):
        ct.SequentialCalibrationTest("kernel", ct.DeltaKernel())
    with pytest.raises(ValueError, match="without spread after others"):
        ct.SequentialCalibrationTest().update(ct.Normal([0.0], 1.0), [0.1]).update(ct.Normal([0.0], 0.0), [0.0])


def test_report():
    data = samples(60, 3)
    result = ct.SequentialCalibrationTest().update(data.p, data.y).result()
    text = unfolded(result)
    assert "P(Y | P_X) = P_X, at every time given the past" in text
    assert "in the order of time" in text
    assert result.verdict() in text
    assert json.loads(json.dumps(result.to_dict()))["n"] == 60
    assert not result.history.flags.writeable
    ax = evidence(result)
    assert ax.get_xlabel() == "observations"
    assert ax.lines[0].get_ydata() == pytest.approx(result.history / np.log(10.0))
    assert ax.lines[1].get_ydata() == pytest.approx([np.log10(20.0)] * 2)


def test_picture_of_infinite_evidence():
    test = ct.SequentialCalibrationTest().update([0.5, 0.0], [1, 1])
    ax = evidence(test, alpha=0.01)
    assert len(ax.lines) == 3
    assert list(ax.lines[2].get_xdata()) == [2, 2]
    with pytest.raises(TypeError, match="wanted a SequentialCalibrationTest"):
        evidence(3.0)


@pytest.mark.every(3)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_evidence_has_mean_one_after_every_outcome(strategy, monkeypatch):
    """By enumeration of all series of 7 outcomes, of which each changes the predictions that follow."""
    monkeypatch.setattr("caltest.sequential.bets.FIRST", 2)
    means, spread, total = np.zeros(7), 0.0, 0.0
    for y in itertools.product((0, 1), repeat=7):
        p = np.array([0.3 + 0.05 * t + 0.3 * (sum(y[:t]) / t if t else 0.5) ** 2 for t in range(7)])
        probability = np.prod(np.where(y, p, 1.0 - p))
        history = np.exp(ct.SequentialCalibrationTest(strategy).update(p, list(y)).history)
        means += probability * history
        spread += probability * (history[-1] - 1.0) ** 2
        total += probability
    assert total == pytest.approx(1.0, rel=1e-13)
    assert means == pytest.approx(np.ones(7), rel=1e-12)
    assert spread > 0.001


INTERRUPTED = {
    "classes": (ct.Categorical(samples(120, 3).p), samples(120, 3).y),
    "numbers": (samples(120, 3).normal, samples(120, 3).targets),
}


@pytest.mark.every(3)
@pytest.mark.parametrize("family", INTERRUPTED)
@pytest.mark.parametrize("start", [5, 30, 60])
@pytest.mark.usefixtures("without_findings")
def test_an_update_happens_wholly_or_not_at_all(family, start, monkeypatch):
    """An error at many lines, before the bets begin, when they do and after, then the same again if need be."""
    monkeypatch.setattr("caltest.sequential.bets.FIRST", 40)
    predictions, y = INTERRUPTED[family]

    def take(test, first, stop):
        return test.update(predictions.take(slice(first, stop)), y[first:stop])

    def finished(test):
        return take(test, start + 25, start + 30).result().to_dict()

    begun = take(ct.SequentialCalibrationTest(), 0, start)
    before, end = begun.result().to_dict(), start + 25
    expected, line, happened = finished(take(copy.deepcopy(begun), start, end)), 1, True
    while happened:
        test = copy.deepcopy(begun)
        happened = broken_at(take, line, MemoryError if line % 2 else KeyboardInterrupt, test, start, end)
        assert test.n in (start, end)
        if test.n == start:
            assert test.result().to_dict() == before
            take(test, start, end)
        assert finished(test) == expected
        line += 1 + line // 16
    assert line > 100


@pytest.mark.parametrize("kind", [ct.SequentialCalibrationTest, ct.CalibrationMonitor])
def test_updates_that_are_empty_or_go_backwards(kind):
    """Rows of one day are taken as they come; an update that goes backwards changes nothing."""
    rng = np.random.default_rng(3)
    p = rng.random(20)
    y = (rng.random(20) < p).astype(int)
    alone = kind().update(p, y).history
    for days in (pd.date_range("2026-01-01", periods=10), pd.period_range("2026-01", periods=10, freq="M")):
        index = days.repeat(2)
        stream = kind().update(pd.Series(p[:9], index[:9]), pd.Series(y[:9], index[:9]))
        with pytest.raises(ValueError, match="predictions: got an update without rows, wanted at least one"):
            stream.update(p[:0], [])
        stream.update(p[9:11], pd.Series(y[9:11], index[9:11]))
        for rows in ([8], [12, 11, 13]):
            with pytest.raises(ValueError, match=r"^targets: got a row of 2026-.* after one of 2026-.*sort both by"):
                stream.update(p[rows], pd.Series(y[rows], index[np.array(rows) // 2 * 2]))
            assert stream.n == 11
        stream.update(p[11:], pd.Series(y[11:], index[11:]))
        np.testing.assert_allclose(stream.history, alone, rtol=1e-12)
    with pytest.raises(ValueError, match="targets: got"):
        kind().update(p[:2], [])


def test_a_lag_longer_than_the_series_is_a_bet_for_each_row():
    p = np.array([0.2, 0.6, 0.9])
    y = np.array([1, 0, 1])
    found = ct.SequentialCalibrationTest("likelihood", lag=50).update(p, y)
    alone = [ct.SequentialCalibrationTest("likelihood").update(p[i : i + 1], y[i : i + 1]).evalue for i in range(3)]
    assert found.evalue == pytest.approx((sum(alone) + 47.0) / 50.0, rel=1e-12)
    assert found.pvalue == 1.0


def test_a_lag_is_printed_unless_it_is_one():
    assert repr(ct.SequentialCalibrationTest(lag=2)) == repr(ct.SequentialCalibrationTest())[:-1] + ", lag=2)"
    assert "lag" not in repr(ct.SequentialCalibrationTest(lag=1))


def test_one_observation_is_one():
    result = ct.SequentialCalibrationTest().update(ct.Bernoulli([0.3]), [0]).result()
    assert "after 1 observation\n" in result.summary()


def series(n, rho, seed=1, scale=1.0):
    """Standard normal forecasts of a series with the correlation rho of neighbours, and errors of another scale."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    for t in range(1, n):
        z[t] = rho * z[t - 1] + np.sqrt(1.0 - rho**2) * z[t]
    return ct.Normal(np.zeros(n), 1.0), scale * z


@pytest.mark.parametrize("lag", [1, 3])
def test_correlation_of_ranks_by_definition(lag):
    p, y = series(60, 0.4)
    found = serial_correlation(as_sample(p, y), lag)
    r = stats.rankdata(y) - 30.5
    assert found.correlation == pytest.approx(sum(r[t] * r[t + lag] for t in range(60 - lag)) / np.sum(r**2))
    rng = np.random.default_rng(2)
    draws = np.array([(q := rng.permutation(r))[lag:] @ q[:-lag] / (q @ q) for _ in range(4000)])
    expected = np.mean(np.abs(draws - draws.mean()) >= abs(found.correlation - draws.mean()))
    assert found.pvalue == pytest.approx(expected, abs=0.02)
    # Each ordered pair of other rows is as likely to be one of the 60 - lag pairs.
    mean = (60 - lag) * (r.sum() ** 2 - r @ r) / (60 * 59) / (r @ r)
    z = (found.correlation - mean) * 60 / np.sqrt(60 - lag)
    assert found.pvalue == pytest.approx(2.0 * stats.norm.sf(abs(z)), rel=1e-9)


def test_dependence_is_said_apart_from_calibration():
    """Forecasts that forget the last outcome are right one by one; too narrow ones are wrong but independent."""
    dependent = ct.SequentialCalibrationTest("likelihood")(*series(200, 0.5))
    assert dependent.notes == (
        "predicted quantiles of the outcomes of rows that follow each other have the rank correlation 0.32 "
        "(p = 3.58e-06 for independent rows, calibrated or not)",
    )
    narrow = ct.SequentialCalibrationTest("likelihood")(*series(200, 0.0, scale=2.0))
    assert narrow.pvalue < 1e-6
    assert narrow.notes == ()


def test_overlapping_outcomes_are_compared_a_lag_apart():
    rng = np.random.default_rng(3)
    sums = np.convolve(rng.normal(size=304), np.ones(5), "valid")
    p = ct.Normal(np.zeros(300), np.sqrt(5.0))
    assert ct.SequentialCalibrationTest("likelihood", lag=5)(p, sums).notes == ()
    assert ct.SequentialCalibrationTest("likelihood")(p, sums).notes


def test_classes_short_series_and_equal_transforms_have_none():
    assert serial_correlation(as_sample([0.2] * 30, [0, 1] * 15), 1) is None
    assert [serial_correlation(as_sample(*series(n, 0.0)), 1) is None for n in (10, 11)] == [True, False]
    assert serial_correlation(as_sample(ct.Normal(np.zeros(30), 1.0), np.zeros(30)), 1) is None


def test_correlations_of_nearly_0_have_no_sign():
    assert "the rank correlation 0.00 (p = 0.8" in SerialCorrelation(-0.001, 0.8, 1).words
