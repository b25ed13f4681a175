import numpy as np
import pandas as pd
import pytest
from printed import unfolded
from scipy import stats

import caltest as ct
from caltest._basics.calls import pvalues_only
from caltest._basics.numerics import generator_apart
from caltest.fields import Censored, censored_pit_values


def rejections(n, censoring, scale=1.0, n_sets=200):
    found = 0
    for seed in range(n_sets):
        rng = np.random.default_rng((7, n, seed))
        mean = rng.normal(size=n)
        time, limit = np.exp(mean + scale * rng.normal(size=n)), np.exp(mean + censoring + rng.normal(size=n))
        targets = Censored(np.minimum(time, limit), time <= limit)
        _, u = censored_pit_values(ct.LogNormal(mean, np.ones(n)), targets, rng=rng)
        found += stats.kstest(u, "uniform").pvalue <= 0.05
    return found / n_sets


@pytest.mark.usefixtures("without_findings")
@pytest.mark.every(3)
@pytest.mark.parametrize("censoring", [1.19, 0.0, -0.74])  # 20, 50 and 70 % censored
def test_uniformity_has_its_level(censoring):
    low, high = stats.binom.interval(0.99, 100, 0.05)
    assert low <= 100 * rejections(60, censoring, n_sets=100) <= high


@pytest.mark.usefixtures("without_findings")
@pytest.mark.parametrize("n_members", [2, 9])
def test_ranks_among_few_members_are_uniform_and_the_seed_decides_them(n_members):
    rng = np.random.default_rng(1)
    scales = rng.gamma(2.0, 1.0, 20_000)
    members, times = scales[:, None] * rng.exponential(size=(20_000, n_members)), scales * rng.exponential(size=20_000)
    ends = 2.0 * rng.exponential(size=20_000)
    seen = ct.Censored(np.minimum(times, ends), times <= ends)
    u, again, other = (ct.fields.censored_pit_values(ct.Ensemble(members), seen, rng=seed)[1] for seed in (1, 1, 2))
    np.testing.assert_array_equal(u, again)
    assert (u != other).all()
    assert stats.kstest(u, "uniform").pvalue > 0.005
    some = ct.Ensemble(members[:50]), seen.take(np.arange(50))
    assert len({ct.calibration_test(*some, n_resamples=19, rng=1).statistic for _ in range(3)}) == 1


def test_ties_with_members_are_ranks_at_random():
    """Of five members two are at the time: the event has rank 2, 3 or 4 of 6 if it was seen, else 4 to 6."""
    members = np.tile([1.0, 2.0, 2.0, 3.0, 4.0], (4_000, 1))
    for event, low, high in ((1, 1, 4), (0, 3, 6)):
        times = ct.Censored(np.full(4_000, 2.0), np.full(4_000, event))
        u = 6.0 * ct.fields.censored_pit_values(ct.Ensemble(members), times, rng=1)[1]
        assert (low < u.min() < low + 0.05, high - 0.05 < u.max() < high) == (True, True)


def test_vectors_have_no_times():
    with pytest.raises(TypeError, match="got an Ensemble of vectors, wanted one of numbers for censored times"):
        censored_pit_values(ct.Ensemble(np.zeros((2, 3, 2))), Censored([1.0, 2.0], [1, 0]))


def test_wrong_scale_is_found():
    assert rejections(200, 0.0, 2.0, 100) > 0.5


@pytest.mark.parametrize(
    ("time", "event", "words"),
    [
        ([1.0, 0.0], [1, 0], "0 is within the first: pass 0.5"),
        ([1.0, -2.0], [1, 0], "positive"),
        ([1.0, 2.0], [1, 2], "event"),
        ([1.0, 2.0], [1], "rows"),
        ([1.0, 2.0], ["died", "alive"], "got text such as 'died', wanted 1 where the event was seen"),
        ([1.0, 2.0], [1, 2], "if 2 is the event, as in R, pass event == 2"),
        ([1.0, 2.0], ["died", "alive"], "if 'died' is the event, pass event == 'died'"),
        (np.array([1, 2], "timedelta64[D]"), [1, 0], r"divide by the unit, such as numpy.timedelta64\(1, 'D'\)"),
        ([1.0, np.nan], [1, 0], "time"),
    ],
)
def test_bad_times_are_refused(time, event, words):
    with pytest.raises(ValueError, match=words):
        Censored(time, event)


def test_no_event_says_something():
    """Of 200 subjects half of whom were to have the event in their time none had it, or none was to have it."""
    mean = np.random.default_rng(1).normal(size=200)
    times = Censored(np.exp(mean), np.zeros(200))
    found = ct.calibration_test(ct.LogNormal(mean, 1.0), times, n_resamples=99, rng=1)
    assert found.pvalue == 0.01
    assert "no event was seen: if some were, event is coded in another way" in found.notes[0]
    assert ct.calibration_test(ct.LogNormal(mean + 6.0, 1.0), times, n_resamples=99, rng=1).pvalue > 0.05
    assert "no event" not in unfolded(ct.calibration_test(ct.LogNormal(mean, 1.0), data(200)[1], n_resamples=19, rng=1))
    assert ct.fields.d_calibration(ct.LogNormal(mean, 1.0), times, n_resamples=99, rng=1).pvalue == 0.01
    assert ct.fields.a_calibration(ct.LogNormal(mean, 1.0), times, n_resamples=99, rng=1).approximate < 1e-9


@pytest.mark.every(2)
@pytest.mark.usefixtures("without_findings")
@pytest.mark.parametrize("form", ["distributions", "curves", "members"])
@pytest.mark.parametrize("follow_up", [0.7, 3.0])
def test_events_that_are_coded_the_other_way_round_are_asked_about(form, follow_up):
    rng = np.random.default_rng(2)
    scale = np.exp(0.3 * rng.normal(size=300))
    time, end = scale * rng.exponential(size=300), follow_up * rng.uniform(0.8, 1.2, 300)
    observed, seen = np.minimum(time, end), time <= end
    laws = ct.Gamma(np.ones(300), scale)
    if form == "curves":
        grid = np.linspace(0.05, 5.0, 100)
        laws = ct.predictions.SurvivalCurve(grid, 1.0 - laws.cdf(grid[:, None]).T)
    elif form == "members":
        laws = ct.Ensemble(scale[:, None] * rng.exponential(size=(300, 99)))
    words = "times would fit the predictions if events were taken as censored: is event 1 where the event was seen?"
    for flags, asked in ((seen, False), (~seen, True), (np.ones(300), False), (np.arange(300) % 2, False)):
        times = Censored(observed, flags)
        assert (words in ct.calibration_test(laws, times, n_resamples=19, rng=1).notes) is asked
        assert (words in ct.fields.d_calibration(laws, times, n_resamples=19, rng=1).notes) is asked
        if follow_up < 1.0:
            assert (words in ct.fields.one_calibration(laws, times, follow_up, n_groups=2, rng=1).notes) is asked


def test_event_flags_are_asked_about_where_half_is_censored():
    """Where the times of events and of censoring are nearly alike, too."""
    asked = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        laws = ct.LogNormal(rng.normal(0.0, 0.7, 400), 0.8)
        times, ends = laws.sample(rng), rng.uniform(0.0, 2.2, 400)
        seen = times <= ends
        for event in (seen, ~seen):
            notes = censored_pit_values(laws, ct.Censored(np.minimum(times, ends), event), rng=1)[0].notes
            asked.append(any("is event 1 where the event was seen?" in one for one in notes))
    assert sum(asked[::2]) == 0
    assert sum(asked[1::2]) >= 8


@pytest.mark.parametrize("factor", [0.45, 0.6])
def test_risks_that_are_all_too_low_are_no_question_about_events(factor):
    """Censored times are about as many as events were expected, but do not follow the risks."""
    for seed in range(10):
        rng = np.random.default_rng([seed, 7])
        scale = np.exp(rng.normal(size=500))
        time, end = scale * rng.exponential(size=500), rng.exponential(2.0, 500)
        times = ct.Censored(np.minimum(time, end), time <= end)
        notes = censored_pit_values(ct.Gamma(np.ones(500), scale / factor), times, rng=1)[0].notes
        assert not any("is event 1 where the event was seen?" in one for one in notes)


@pytest.mark.usefixtures("without_findings")
def test_times_after_curves_that_are_in_another_unit_are_asked_about():
    """Curves over 50 weeks, at the end of which few had the event, and times in days: most are after the curves."""
    rng = np.random.default_rng(4)
    rate, grid = 0.005 * np.exp(0.5 * rng.normal(size=200)), np.arange(1.0, 51.0)
    curves = ct.predictions.SurvivalCurve(grid, np.exp(-rate[:, None] * grid))
    time = rng.exponential(1.0 / rate)
    weeks, seen = np.ceil(np.minimum(time, 51.0)), time <= 51.0
    words = "times divided by 7 or so would fit the predictions: are both in the same unit?"
    days = ct.calibration_test(curves, Censored(7.0 * weeks, seen), n_resamples=19, rng=1).notes
    assert words in days
    assert not any("as if rounded" in one for one in days)
    assert words not in ct.calibration_test(curves, Censored(weeks, seen), n_resamples=19, rng=1).notes
    rarely = Censored(np.where(weeks > 50.0, 3e9, 1e9 + weeks), seen)
    assert not any(one.endswith("?") for one in ct.calibration_test(curves, rarely, n_resamples=19, rng=1).notes)


@pytest.mark.usefixtures("without_findings")
@pytest.mark.parametrize("form", ["distributions", "curves"])
def test_units_of_times_are_asked_about(form):
    """Months for predictions in days; and not where three of four rows are, which no factor mends."""
    rng = np.random.default_rng(3)
    scale = np.exp(rng.normal(6.5, 0.6, 300))
    event, limit = scale * rng.exponential(size=300), rng.uniform(50.0, 900.0, 300)
    time, seen = np.minimum(event, limit), event <= limit
    laws = ct.Gamma(np.ones(300), scale)
    if form == "curves":
        grid = np.geomspace(0.1, 1e4, 400)
        laws = ct.predictions.SurvivalCurve(grid, 1.0 - laws.cdf(grid[:, None]).T)
    months = Censored(time / 30.44, seen)
    words = "times multiplied by 30.44 or so would fit the predictions: are both in the same unit?"
    assert words in ct.calibration_test(laws, months, n_resamples=19, rng=1).notes
    assert words in ct.fields.d_calibration(laws, months, n_resamples=19, rng=1).notes
    for times in (time, np.where(np.arange(300) % 4, time / 30.44, time), time / 3.0):
        result = ct.calibration_test(laws, Censored(times, seen), n_resamples=19, rng=1)
        assert not any("unit" in note for note in result.notes)


def test_counts_and_other_lengths_are_refused():
    with pytest.raises(TypeError, match="continuous family"):
        censored_pit_values(ct.Poisson([1.0]), Censored([1.0], [1]))
    with pytest.raises(ValueError, match="2"):
        censored_pit_values(ct.LogNormal([0.0], [1.0]), Censored([1.0, 2.0], [1, 0]))


def data(n=300):
    rng = np.random.default_rng(2)
    mean = rng.normal(size=n)
    time, limit = np.exp(mean + rng.normal(size=n)), rng.exponential(3.0, n)
    return mean, Censored(np.minimum(time, limit), time <= limit)


def test_the_default_test_takes_censored_times():
    mean, times = data()
    right = ct.calibration_test(ct.LogNormal(mean, 1.0), times, n_resamples=99, rng=1)
    assert right.pvalue > 0.05
    with pvalues_only():
        again = ct.calibration_test(ct.LogNormal(mean, 1.0), times, n_resamples=99, rng=right.seed)
    assert right.pvalue == again.pvalue
    assert f"{times.n_censored} of 300 times are censored, which is taken to be independent" in right.notes[0]
    seen = ct.calibration_test(ct.LogNormal(mean, 1.0), Censored(times.time, np.ones(300)), n_resamples=19, rng=1)
    assert "; no time is censored, and what is tested is F(time)" in f"; {seen.notes[0]}"
    narrow = ct.calibration_test(ct.LogNormal(mean, 0.6), times, n_resamples=99, rng=1)
    assert (narrow.pvalue, narrow.finding.kind) == (0.01, "scale")
    assert narrow.finding.estimate == pytest.approx(1 / 0.6, rel=0.15)


def test_slices_are_found_among_transforms():
    mean, times = data()
    law = ct.LogNormal(mean, np.where(mean > 0, 1.0, 0.5))
    found = ct.find_slices(law, times, {"mean": mean}, rng=1)
    assert found.rows[0].direction == "errors larger than predicted"
    assert "times are censored" in found.notes[0]
    again = ct.find_slices(*censored_pit_values(law, times, rng=generator_apart(1)), {"mean": mean}, rng=1)
    assert again.rows == found.rows


def test_groups_of_transforms_are_tested_in_the_order_of_the_times():
    """As audits do, and as the pair of predictions and transforms is tested, also in clusters and with weights."""
    mean, times = data()
    law, site = ct.LogNormal(mean, np.where(np.arange(mean.size) % 2, 0.4, 1.0)), np.arange(mean.size) % 2
    pair = censored_pit_values(law, times, rng=generator_apart(1))
    for more in ({}, {"clusters": np.arange(mean.size) // 2}, {"weights": 1.0 + np.arange(mean.size) % 3}):
        found = ct.calibration_by_group(law, times, site, n_resamples=99, rng=1, **more)
        again = ct.calibration_by_group(*pair, site, n_resamples=99, rng=1, **more)
        assert [one.pvalue for one in found.groups] == [one.pvalue for one in again.groups]
        assert found.rejected() == ("1",)
        assert "times are censored" in found.notes[0]
    rows = np.random.default_rng(1).permutation(mean.size)
    moved = Censored(pd.Series(times.time), pd.Series(times.event))
    groups = pd.Series(site).iloc[rows]
    with pytest.warns(UserWarning, match="matched by their index"):
        assert ct.calibration_by_group(law, moved, groups, n_resamples=99, rng=1).rejected() == ("1",)
    by_test = ct.GroupCalibrationTest(n_resamples=99)(law, times, site, rng=1)
    audit = ct.audit(law, times, groups=site, n_resamples=99, rng=1).models[0]
    assert by_test.rejected() == ("1",)
    assert "Calibration is rejected in 1 of 2 groups" in audit.sections["groups"].answer


def test_what_takes_arrays_says_who_takes_censored_times():
    mean, times = data()
    for call in (ct.pit_values, ct.PITTest()):
        with pytest.raises(TypeError, match="calibration_test, calibration_by_group, find_slices and audit take"):
            call(ct.LogNormal(mean, 1.0), times)


def test_rounded_times_are_said():
    rng = np.random.default_rng(9)
    log_mean = rng.normal(1.0, 0.3, 100)
    time = np.exp(log_mean + 0.5 * rng.normal(size=100))
    predictions, event = ct.LogNormal(log_mean, 0.5), rng.random(100) < 0.8
    rounded = Censored(np.maximum(np.ceil(time), 1.0), event)
    note = "values, as if rounded"
    assert any(note in one for one in ct.calibration_test(predictions, rounded, n_resamples=19, rng=1).notes)
    assert note in ct.fields.d_calibration(predictions, rounded, n_resamples=19, rng=1).notes[0]
    assert not ct.fields.d_calibration(predictions, Censored(time, event), n_resamples=19, rng=1).notes
    grid = np.arange(1.0, 61.0)
    curves = ct.predictions.SurvivalCurve(grid, 1.0 - predictions.cdf(grid[:, None]).T, between="steps")
    assert not ct.fields.d_calibration(curves, rounded, n_resamples=19, rng=1).notes


@pytest.mark.every(3)
@pytest.mark.usefixtures("without_findings")
@pytest.mark.parametrize("step", [0.1, 1.0, 7.0])
def test_curves_with_times_between_rounded_ones_are_said(step):
    """Calibrated curves at halves of the steps are rejected; at the ends of steps, or at few times, they are not."""
    rng, ends = np.random.default_rng(9), step * np.arange(1.0, 21.0)
    rate = rng.uniform(0.2, 1.0, 300) / step
    event_at, end = rng.exponential(1.0 / rate), rng.exponential(6.0 * step, 300)
    rounded = Censored(step * np.ceil(np.minimum(event_at, end) / step), event_at <= end)

    def tested(grid, times=rounded):
        curves = ct.predictions.SurvivalCurve(grid, np.exp(-rate[:, None] * grid), between="steps")
        result = ct.calibration_test(curves, times, n_resamples=39, rng=1)
        return result.pvalue, any("in steps of" in note for note in result.notes)

    assert tested(step * np.arange(0.5, 20.5, 0.5)) == (0.025, True)
    for right in (ends, ends[::3]):
        assert not tested(right)[1]
    assert not tested(step * np.arange(0.5, 20.5, 0.5), Censored(np.minimum(event_at, end), event_at <= end))[1]
    assert not tested(ends[:1] / 2.0)[1]


def test_probabilities_are_said_to_be_those_of_the_times():
    """Risks at a horizon that all rows share are something else, and rejected where they are right."""
    mean, times = data()
    said = "predictions are taken as F at the time of each row"
    by_time = ct.LogNormal(mean, 0.5).cdf(times.time)
    assert said in ct.calibration_test(by_time, times, n_resamples=19, rng=1).notes[0]
    assert said not in ct.calibration_test(ct.LogNormal(mean, 0.5), times, n_resamples=19, rng=1).notes[0]


def test_step_functions_are_advised():
    times = ct.Censored([1.0, 2.0], [1, 0])
    with pytest.raises(
        TypeError, match=r"got functions, .*SurvivalCurve\(times, \[one\(times\) for one in functions\]\)"
    ):
        ct.calibration_test([np.exp, np.exp], times)


def test_curves_in_percent_are_advised():
    curves = np.exp(-np.array([[0.2, 0.4, 1.8]] * 5))
    with pytest.raises(ValueError, match="between 0 and 1; if these are percentages, divide them by 100"):
        ct.predictions.SurvivalCurve([1.0, 2.0, 9.0], 100.0 * curves)
    with pytest.raises(ValueError, match=r"between 0 and 1$"):
        ct.predictions.SurvivalCurve([1.0, 2.0, 9.0], 1.5 * curves)


def test_competing_events_are_refused():
    with pytest.raises(ValueError, match="competing risks are not covered"):
        Censored([1.0, 2.0, 3.0], [1, 2, 0])


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("joined", [tuple, np.array, np.column_stack, lambda pair: list(map(pd.Series, pair))])
def test_a_bare_pair_of_times_and_events_is_named(swapped, joined):
    pair = [np.arange(6.0), np.arange(6) % 2 == 0]
    targets = joined(pair[::-1] if swapped else pair)
    curves = ct.predictions.SurvivalCurve([1.0, 2.0], [[0.5, 0.2]] * 6)
    for predictions in (ct.Gamma(np.ones(6), 1.0), np.full(6, 0.3), curves):
        for call in (ct.calibration_test, ct.audit, ct.score_decomposition):
            with pytest.raises(ValueError, match=r"an array of times and one of events, wanted ct.Censored\(time"):
                call(predictions, targets)
    with pytest.raises(ValueError, match="targets: got shape"):
        ct.calibration_test(ct.Gamma(np.ones(6), 1.0), np.ones((2, 6)))


def test_many_times_are_shown_by_their_number():
    times = ct.Censored(np.arange(1.0, 1001.0), np.arange(1000) % 4 > 0)
    assert repr(times) == str(times) == "<Censored, n = 1000, 250 censored>"


def test_predicted_rates_that_are_far_too_high():
    """Sizes of two faults that are tried together can leave their ranges."""
    rng = np.random.default_rng(1)
    scale, n = np.exp(rng.normal(size=400)), 400
    times, ends = 100.0 * rng.exponential(scale), rng.exponential(2.0 * scale)
    observed = ct.Censored(np.minimum(times, ends), times <= ends)
    result = ct.calibration_test(ct.Gamma(np.ones(n), scale), observed, n_resamples=99, rng=1)
    assert any("times the predicted rate" in str(finding) for finding in result.findings)


def exponential(n, mean_end, grid=None, seed=5):
    """Calibrated exponential times and predictions of them, of which shorter ends censor more."""
    rng = np.random.default_rng(seed)
    rate, end = rng.uniform(0.4, 1.2, n), rng.exponential(mean_end, n)
    time = rng.exponential(1.0 / rate)
    laws = ct.Gamma(np.ones(n), 1.0 / rate)
    if grid is not None:
        laws = ct.predictions.SurvivalCurve(grid, np.exp(-rate[:, None] * grid))
    return laws, Censored(np.minimum(time, end), time <= end)


@pytest.mark.parametrize("grid", [None, np.linspace(0.25, 12.0, 40), np.array([1.0])])
def test_wrong_levels_are_uniform_at_the_predicted_rate_and_censored_as_those_seen(monkeypatch, grid):
    laws, times = exponential(400, 1.5, grid)
    residuals, _ = censored_pit_values(laws, times, rng=1)
    monkeypatch.setattr("caltest.predictions.reductions.residuals.RATE", 1.0)
    u = residuals.slightly_wrong(2, 50).targets
    assert stats.kstest(u.ravel(), "uniform").pvalue > 0.01
    monkeypatch.setattr("caltest.predictions.reductions.residuals.RATE", 0.5)
    u = residuals.slightly_wrong(2, 50).targets
    # All of them would be 1/3 on average, if none were censored.
    assert 0.5 < u.mean() < 0.62
    assert ct.pit_values(ct.Gamma(np.ones(9), 1.0), np.ones(9))[0].slightly_wrong(1, 2) is None


def test_power_is_that_of_new_data():
    """Of 60 data sets at 0.9 times the rate the test rejected 50 of 1500 rows, and 6 of 300 that were censored more."""
    for n, mean_end, low, high in ((1500, 6.0, 0.75, 0.9), (300, 1.5, 0.05, 0.2)):
        found = ct.calibration_test(*exponential(n, mean_end), n_resamples=199, rng=1).detectable
        assert found.deviation == "events at 0.9 times the predicted rate"
        assert low < found.power() < high


def test_events_that_curves_exclude_are_impossible():
    """Two events before a curve falls, and two rows that are seen after it is 0; distributions exclude nothing."""
    rng = np.random.default_rng(5)
    curves = ct.predictions.SurvivalCurve([1.0, 2.0, 3.0, 4.0], np.tile([1.0, 0.6, 0.3, 0.0], (60, 1)))
    time, event = rng.choice([1.5, 2.5, 3.5], 60, p=[0.4, 0.3, 0.3]), np.arange(60) % 4 > 0
    time[[3, 8, 20, 31]], event[[3, 8, 20, 31]] = [0.5, 0.9, 4.5, 9.0], [True, True, False, True]
    result = ct.calibration_test(curves, ct.Censored(time, event), n_resamples=99, rng=1)
    assert result.pvalue == 0.0
    assert result.finding.words.startswith(
        "4 outcomes occurred to which probability 0 was given (row 3: an event while the curve is 1; row 8: an event "
        "while the curve is 1; row 20: no event until the curve is 0; row 31: no event until the curve is 0)"
    )
    assert result.pvalue_otherwise > 0.0
    audit = ct.audit(curves, ct.Censored(time, event), n_resamples=19, rng=1).models[0]
    assert audit.sections["data"].facts["Impossible outcomes"] == "4"
    right = np.arange(60) % 20 != 0
    censored = ct.Censored(np.where(right, 0.5, 2.5), ~right)
    assert ct.calibration_test(curves, censored, n_resamples=19, rng=1).pvalue > 0.0
    far = ct.Censored(np.append(np.full(20, 1.0), [1e-40, 1e9]), np.ones(22))
    for laws in (ct.LogNormal(np.zeros(22), 1.0), np.append(np.full(20, 0.5), [0.0, 1.0])):
        assert ct.calibration_test(laws, far, n_resamples=19, rng=1).pvalue > 0.0
