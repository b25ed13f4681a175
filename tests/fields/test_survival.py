"""D-calibration and one-calibration: published statistics by slow formulas, exact sizes, bad input."""

import dataclasses

import numpy as np
import pytest
from printed import unfolded
from scipy import stats

import caltest as ct
from caltest.fields import Censored, a_calibration, censored_pit_values, d_calibration, one_calibration


def sample(n, censoring, seed, wrong=1.0):
    rng = np.random.default_rng(seed)
    rate = rng.uniform(0.2, 1.0, n)
    time, end = rng.exponential(1.0 / (wrong * rate)), rng.exponential(censoring, n)
    return rate, Censored(np.minimum(time, end), time <= end)


def law(rate):
    return ct.Gamma(np.ones(rate.size), 1.0 / rate)


RATE, TIMES = sample(300, 2.0, 1)
LEVELS = 1.0 - np.exp(-RATE * TIMES.time)


def test_where_the_ratio_and_the_groups_disagree_it_is_said():
    """A ratio of all rows has more power where all are wrong in one way, and none where errors cancel."""
    rng = np.random.default_rng(0)
    scale, other = rng.uniform(1.0, 3.0, 400), rng.exponential(3.0, 400)
    time = rng.exponential(scale)
    times = Censored(np.minimum(time, other), time <= other)

    def found(factor):
        return one_calibration(ct.Gamma(np.ones(400), scale * factor), times, 1.0, n_groups=10, rng=1)

    crossed = found(np.where(scale < 2.0, 1.6, 0.7))
    assert crossed.pvalue <= 0.05
    assert not crossed.ratio.excludes(1.0)
    assert "errors of groups, of which the p-value is, can cancel in the O:E ratio of all rows, " in unfolded(crossed)
    assert "for each group alone" in unfolded(crossed)
    right, wrong = found(1.0), found(2.0)
    assert right.remarks() == wrong.remarks() == []
    missed = dataclasses.replace(wrong, pvalue=0.2)
    assert "is not 1, which the p-value of 10 groups does not show" in unfolded(missed)


def test_published_d_calibration_by_its_definition():
    """A censored row of survival s counts ``(s - a) / s`` in its own bin (a, b), and ``(b - a) / s`` in those below."""
    counts = np.zeros(10)
    for s, event in zip(1.0 - LEVELS, TIMES.event, strict=True):
        k = min(int(10 * s), 9)
        if event:
            counts[k] += 1.0
        else:
            counts[k] += (s - k / 10) / s
            counts[:k] += 0.1 / s
    found = d_calibration(LEVELS, TIMES, rng=1)
    assert [300 * one.observed for one in found.rows] == pytest.approx(counts[::-1])
    assert (found.statistic, found.approximate) == pytest.approx(stats.chisquare(counts))
    assert found.n_censored == 300 - int(TIMES.event.sum())


def test_a_calibration_by_its_definition():
    """Events less the predicted cumulative hazard of all rows that were still observed."""
    events, expected = np.zeros(5), np.zeros(5)
    for u, event in zip(LEVELS, TIMES.event, strict=True):
        for b in range(5):
            start, end = b / 5, min((b + 1) / 5, u)
            events[b] += event and start <= u < (b + 1) / 5
            expected[b] += np.log(1 - start) - np.log(1 - end) if u > start else 0.0
    found = a_calibration(LEVELS, TIMES, n_bins=5, rng=1)
    assert [one.events for one in found.rows] == events.tolist()
    assert [300 * one.predicted for one in found.rows] == pytest.approx(expected)
    assert found.approximate == pytest.approx(stats.chi2.sf(np.sum((events - expected) ** 2 / expected), 5))
    assert found.pvalue == d_calibration(LEVELS, TIMES, n_bins=5, rng=1).pvalue
    assert sum(expected) == pytest.approx(-np.log(1 - LEVELS).sum())


@pytest.mark.parametrize("method", [d_calibration, a_calibration])
def test_intervals_of_all_bins_hold_together_and_show_a_wrong_rate(method, replications):
    """As counts vary at most as much as Poisson ones; beside the exact interval of one."""
    number, outside = replications(40, 1000), 0
    for seed in range(number):
        rate, targets = sample(60, 2.0, [7, seed])
        outside += any(bar.stands_out for bar in method(law(rate), targets, n_resamples=9, rng=1).bars())
    assert outside <= stats.binom.ppf(1 - 1e-4, number, 0.05)
    rate, targets = sample(300, 2.0, 8, wrong=1.6)
    found = method(law(rate), targets, n_bins=5, rng=1)
    assert any(bar.stands_out for bar in found.bars())
    one, tail = found.rows[0], 0.025 / len(found.rows)
    low, high = (300.0 * end for end in one.interval.ends)
    # The law of Poisson counts up to c at the mean m is that of gamma variables of shape c + 1 beyond m.
    assert stats.gamma.cdf(low, 300.0 * one.observed) == pytest.approx(tail)
    assert stats.gamma.sf(high, 300.0 * one.observed + 1.0) == pytest.approx(tail)
    assert f"Garwood, {len(found.rows)} bins together" in unfolded(found)


def test_distributions_and_their_levels_are_alike():
    one, other = d_calibration(law(RATE), TIMES, rng=1), d_calibration(LEVELS, TIMES, rng=1)
    assert one.pvalue == other.pvalue
    pairs = [censored_pit_values(predictions, TIMES, rng=1)[1] for predictions in (law(RATE), LEVELS)]
    assert pairs[0] == pytest.approx(pairs[1], abs=1e-12)


def test_a_group_in_which_all_have_the_event_has_the_variance_of_its_predictions():
    risk = np.repeat([0.3, 0.9], 20)
    times = Censored(np.where(np.arange(40) % 20 < np.where(risk < 0.5, 5, 20), 0.5, 2.0), np.ones(40))
    found = one_calibration(risk, times, 1.0, n_groups=2)
    assert [row.observed for row in found.rows] == pytest.approx([0.25, 1.0])
    assert found.statistic == pytest.approx(0.05**2 / (0.25 * 0.75 / 20) + 0.1**2 / (0.9 * 0.1 / 20))


@pytest.mark.statistical
@pytest.mark.parametrize("power", [1.0, -1.0])
def test_observed_over_expected_holds_if_rows_of_high_risk_are_censored_sooner_or_later(power, replications):
    """The Kaplan-Meier estimate of all rows, over the mean risk, holds in none of these data sets."""
    number, held = replications(15, 300), 0
    for seed in range(number):
        rng = np.random.default_rng([seed, 13])
        rate = rng.lognormal(0.0, 1.0, 1000)
        time, end = rng.exponential(1.0 / rate), rng.exponential(0.7 * rate**power)
        times = Censored(np.minimum(time, end), time <= end)
        held += not one_calibration(1.0 - np.exp(-rate), times, 1.0).ratio.excludes(1.0)
    assert held >= stats.binom.ppf(0.001, number, 0.9)


@pytest.mark.statistical
@pytest.mark.usefixtures("without_findings")
@pytest.mark.parametrize("censoring", [8.0, 0.7])
def test_size_of_survival_curves(censoring, replications):
    """Their levels are no predictions to condition on: they are the integral transforms themselves."""
    number, alphas = replications(8, 1000), np.array([[0.05], [0.5]])
    rejected = np.zeros((2, 2))
    for seed in range(number):
        rate, times = sample(60, censoring, (6, seed))
        levels = 1.0 - np.exp(-rate * times.time)
        pair = censored_pit_values(levels, times, rng=seed)
        tested = (
            ct.calibration_test(*pair, n_resamples=19, rng=seed),
            ct.calibration_test(levels, times, n_resamples=19, rng=seed),
        )
        rejected += np.array([one.pvalue for one in tested]) <= alphas
    low, high = stats.binom.interval(0.9998, number, alphas)
    assert ((low <= rejected) & (rejected <= high)).all(), rejected / number


def test_wrong_survival_curves_are_found():
    rate, times = sample(300, 2.0, 3, wrong=1.6)
    pair = censored_pit_values(1.0 - np.exp(-rate * times.time), times, rng=1)
    result = ct.calibration_test(*pair, n_resamples=99, rng=1)
    assert result.pvalue == 0.01
    assert result.hypothesis == "F(Y) is uniform"


def test_kaplan_meier_and_greenwood_by_their_definitions():
    found = one_calibration(1.0 - np.exp(-1.5 * RATE), TIMES, 1.5, n_groups=3)
    order = np.argsort(RATE, kind="stable")
    statistic = 0.0
    for row, place in zip(found.rows, np.array_split(order, 3), strict=True):
        survival, variance = 1.0, 0.0
        for at in np.sort(TIMES.time[place]):
            if at <= 1.5 and TIMES.event[place][TIMES.time[place] == at].all():
                left = np.sum(TIMES.time[place] >= at)
                survival *= 1.0 - 1.0 / left
                variance += 1.0 / (left * (left - 1.0))
        risk = np.mean(1.0 - np.exp(-1.5 * RATE[place]))
        assert (row.observed, row.predicted, row.n) == pytest.approx((1.0 - survival, risk, 100))
        statistic += (1.0 - survival - risk) ** 2 / (survival**2 * variance)
    assert found.statistic == pytest.approx(statistic)
    assert found.pvalue == found.approximate == pytest.approx(stats.chi2.sf(statistic, 3))
    assert found.ratio.low < 1.0 < found.ratio.high
    assert found.seed is None


@pytest.mark.statistical
@pytest.mark.usefixtures("without_findings")
@pytest.mark.parametrize("censoring", [8.0, 0.7])  # a fifth and more than two thirds censored
def test_exact_sizes(censoring, replications):
    number, n, alphas = replications(12, 1000), 200, np.array([[0.05], [0.5]])
    rejected = np.zeros((2, 2))
    for seed in range(number):
        rate, times = sample(n, censoring, (5, seed))
        exact = one_calibration(law(rate), times, 0.6, n_groups=2, n_resamples=19, rng=seed).pvalue
        rejected += np.array([d_calibration(law(rate), times, n_resamples=19, rng=seed).pvalue, exact]) <= alphas
    low, high = stats.binom.interval(0.9998, number, alphas)
    assert ((low <= rejected) & (rejected <= high)).all(), rejected / number


@pytest.mark.statistical
@pytest.mark.usefixtures("without_findings")
def test_a_calibration_beside_d_calibration(replications):
    """With two thirds censored it rejects calibrated predictions in about 5 %, D-calibration never, and finds more."""
    number = replications(50, 2000)
    rejected = np.zeros((2, 2))
    for seed in range(number):
        for i, wrong in enumerate((1.0, 1.35)):
            rate, times = sample(200, 0.7, (9, i, seed), wrong=wrong)
            for j, method in enumerate((a_calibration, d_calibration)):
                rejected[i, j] += method(law(rate), times, n_bins=5, n_resamples=1, rng=seed).approximate <= 0.05
    low, high = stats.binom.interval(0.9998, number, 0.05)
    assert low <= rejected[0, 0] <= high + 0.01 * number, rejected / number
    assert rejected[0, 1] <= 0.02 * number
    assert rejected[1, 0] >= rejected[1, 1] + 0.2 * number, rejected / number


def test_wrong_rates_are_found():
    rate, times = sample(400, 2.0, 3, wrong=1.6)
    assert d_calibration(law(rate), times, rng=1).pvalue == 0.001
    found = one_calibration(law(rate), times, 1.0, rng=1)
    assert found.pvalue == 0.001
    assert found.ratio.low > 1.0
    assert found.verdict().startswith("reject calibration at the 5 % level: more events than predicted for risk ")
    assert "O:E ratio" in unfolded(found)
    assert ct.results.SurvivalCalibration.from_dict(found.to_dict()).table() == found.table()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: one_calibration(LEVELS, TIMES, -1.0), "horizon"),
        (lambda: one_calibration(LEVELS, TIMES, 1e6), "after the last time"),
        (lambda: one_calibration(LEVELS, TIMES, 1e-6), "wanted two groups with 5"),
        (lambda: one_calibration(LEVELS[:9], TIMES, 1.0), "targets"),
        (lambda: d_calibration(LEVELS, TIMES, n_bins=1), "n_bins"),
        (lambda: a_calibration(0.001 * LEVELS, TIMES), "expected events, wanted at least 5"),
        (lambda: Censored([0.0, 1.0], [1, 1]), "positive times"),
        (lambda: Censored([0, 1, 1], [2.0, 3.5, 1.0]), "0 and 1 only.*; the arguments are swapped, pass the times"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
    with pytest.raises(TypeError, match="wanted ct"):
        d_calibration(LEVELS, TIMES.time)
    with pytest.raises(TypeError, match="continuous"):
        one_calibration(ct.Poisson(np.ones(300)), TIMES, 1.0)


def administrative(seed, n=60, wrong=1.0, end=0.7):
    """Exponential times that are censored at known ends of a study, most of them."""
    rng = np.random.default_rng((12, seed))
    rate = rng.uniform(0.5, 2.0, n)
    limits = rng.uniform(0.1, end, n)
    time = rng.exponential(1.0 / (wrong * rate))
    predictions = ct.Gamma(np.ones(n), 1.0 / rate)
    return predictions, ct.Censored(np.minimum(time, limits), time <= limits), limits


@pytest.mark.parametrize("function", [ct.fields.d_calibration, ct.fields.a_calibration])
def test_known_limits_make_the_published_statistics_exact(function, replications):
    n_sets = replications(30, 400)
    settings = {"n_bins": 5, "n_resamples": 39}
    right = sum(
        function(*data, limits=ends, rng=seed, **settings).pvalue <= 0.05
        for seed in range(n_sets)
        for *data, ends in [administrative(seed)]
    )
    low, high = stats.binom.interval(0.999, n_sets, 0.05)
    assert low <= right <= high
    drawn = known = 0
    for seed in range(20):
        p, y, ends = administrative(seed, 100, 1.8)
        known += function(p, y, limits=ends, rng=seed, **settings).pvalue <= 0.05
        drawn += function(p, y, rng=seed, **settings).pvalue <= 0.05
    assert known > drawn


def test_limits_are_checked():
    p, y, ends = administrative(1)
    assert ct.fields.d_calibration(p, y, limits=y.time, rng=1).n == 60
    with pytest.raises(ValueError, match="limits: got"):
        ct.fields.d_calibration(p, y, limits=0.5 * ends)
    with pytest.raises(ValueError, match="60"):
        ct.fields.d_calibration(p, y, limits=ends[:-1])
    with pytest.raises(ValueError, match=r"limits: got shape \(\), wanted 1 dimension"):
        ct.fields.d_calibration(p, y, limits=5.0)
    with pytest.raises(TypeError, match="wanted distributions"):
        ct.fields.d_calibration(np.full(60, 0.5), y, limits=ends)


def test_limits_beyond_the_end_of_curves_say_nothing():
    """F of a curve is known between its times, and not after the last one."""
    curves = ct.predictions.SurvivalCurve([1.0, 2.0, 5.0], np.tile([0.9, 0.5, 0.2], (20, 1)))
    times = ct.Censored(np.linspace(0.5, 2.0, 20), np.ones(20))
    within = np.full(20, 4.0)
    assert ct.fields.d_calibration(curves, times, limits=within, rng=1).n == 20
    for row in (0, 19):
        with pytest.raises(ValueError, match="limits: got some at which the curves do not say what F is"):
            ct.fields.d_calibration(curves, times, limits=np.where(np.arange(20) == row, 6.0, within), rng=1)


def test_times_that_are_all_censored_are_asked_about():
    """Everything but groups with events can be computed, and says that no event was seen."""
    rng = np.random.default_rng(1)
    times, laws = ct.Censored(rng.exponential(size=30), np.zeros(30)), ct.Gamma(np.ones(30), 1.0)
    for test in (ct.fields.d_calibration, ct.fields.a_calibration):
        found = test(laws, times, n_resamples=19, rng=1)
        assert found.notes[-1] == "no event was seen: if some were, event is coded in another way"
        assert found.rows[0].events == 0
    with pytest.raises(ValueError, match=r"got censored times only, .* no event was seen: if some were"):
        ct.fields.one_calibration(laws, times, 1.0)


def test_structured_arrays_are_sent_to_their_columns():
    """As scikit-survival has its outcomes."""
    y = np.array([(True, 1.0), (False, 2.0)], dtype=[("died", bool), ("days", float)])
    with pytest.raises(ValueError, match=r"it has the columns died, days: pass one, or ct.Censored\(time, event\)"):
        ct.calibration_test(ct.LogNormal([0.0, 0.0], 1.0), y)


def test_neighbours_are_joined_until_each_has_five_events():
    """Four, one, nine and five events: the first two groups together have five, and so has the last one."""
    groups = np.repeat(np.arange(4), 20)
    event = np.concatenate([np.arange(20) < count for count in (4, 1, 9, 5)])
    risk = 0.1 + 0.2 * groups
    found = one_calibration(risk, Censored(np.where(event, 1.0, 3.0), event), horizon=2.0, n_groups=4)
    assert [row.n for row in found.rows] == [40, 20, 20]


def test_too_many_late_times_are_not_too_many_events():
    """Times 1.5 times as long as predicted: fewer events than predicted, but more times in the last tenths of F."""
    rng = np.random.default_rng(1)
    time, end = 1.5 * rng.exponential(size=400), rng.exponential(2.0, 400)
    targets, laws = ct.Censored(np.minimum(time, end), time <= end), ct.Gamma(np.ones(400), 1.0)
    said = "more times than predicted for F(time) from 0.9 to 1"
    assert ct.fields.d_calibration(laws, targets, rng=1).verdict().endswith(said)
    assert "fewer events than predicted" in ct.fields.a_calibration(laws, targets, rng=1).verdict()


def test_groups_are_joined_until_one_row_was_seen_up_to_the_horizon():
    """Of the quarter of the largest risks the last time, 2.5, is censored: with their neighbours they are followed."""
    risk = np.repeat([0.1, 0.2, 0.3, 0.4], 20)
    time = np.tile(np.linspace(0.2, 4.0, 20), 4)
    event = np.tile(np.arange(20) % 2 == 0, 4)
    time[60:] = np.minimum(time[60:], 2.5)
    event[60:] &= time[60:] < 2.5
    found = one_calibration(risk, Censored(time, event), 3.0, n_groups=4)
    assert [(one.n, one.name) for one in found.rows] == [
        (20, "risk 0.1 to 0.1"),
        (20, "risk 0.2 to 0.2"),
        (40, "risk 0.3 to 0.4"),
    ]
    survival, last = 1.0, np.sort(time[40:])
    for at in np.unique(time[40:][event[40:]]):
        at_risk = (last >= at).sum()
        survival *= 1.0 - (event[40:] & (time[40:] == at)).sum() / at_risk if at <= 3.0 else 1.0
    assert found.rows[2].observed == pytest.approx(1.0 - survival)
    seen_by_one = Censored(np.where(np.arange(80) == 3, 4.0, np.minimum(time, 2.5)), event & (time < 2.5))
    with pytest.raises(ValueError, match="two groups with 5, of which each has a row seen up to then; take another"):
        one_calibration(risk, seen_by_one, 3.0, n_groups=4)


def test_horizons_at_which_all_had_the_event():
    rng = np.random.default_rng(7)
    rate = rng.uniform(0.5, 2.0, 60)
    time, event = rng.exponential(1.0 / rate), np.ones(60, dtype=int)
    event[np.argsort(time)[:10]] = 0
    found = ct.fields.one_calibration(ct.Gamma(np.ones(60), 1.0 / rate), ct.Censored(time, event), horizon=20.0, rng=1)
    assert found.ratio.estimate == pytest.approx(1.0, abs=1e-3)
    # Of the 50 rows that were not censored: 0.025**(1 / 50).
    assert found.ratio.ends == pytest.approx((0.9289, 1.0), abs=2e-4)
    assert all(one.interval.ends == pytest.approx((0.025 ** (1.0 / one.events), 1.0)) for one in found.rows)


def test_groups_by_risk_need_different_risks():
    times = ct.Censored(np.arange(1.0, 61.0), np.full(60, True))
    with pytest.raises(ValueError, match="but all risks are the same; take calibration_test"):
        ct.fields.one_calibration(np.full(60, 0.4), times, 30.0)
    seen = ", of which each has a row seen up to then; take another"
    for events, advice in ((4, "; take a later"), (9, "; take a later"), (10, seen)):
        message = f"targets: got {events} events up to {events}, wanted two groups with 5{advice} horizon, or calib"
        with pytest.raises(ValueError, match=message):
            ct.fields.one_calibration(np.linspace(0.1, 0.9, 60), times, events)


def test_events_of_rows_that_are_censored_at_once_are_drawn_as_predicted():
    rate = np.linspace(0.1, 2.0, 200)
    time = np.where(np.arange(200) % 2, np.random.default_rng(3).exponential(1.0 / rate), 1e-9)
    targets, laws = Censored(time, np.arange(200) % 2 == 1), ct.Gamma(np.ones(200), 1.0 / rate)
    assert ct.fields.one_calibration(laws, targets, horizon=1.0, n_resamples=99, rng=1).pvalue > 0.05


def test_probabilities_of_no_event_are_asked_about():
    rng = np.random.default_rng(3)
    rate = rng.uniform(0.3, 1.5, 400)
    event_at, end = rng.exponential(1.0 / rate), rng.exponential(2.5, 400)
    times = Censored(np.minimum(event_at, end), event_at <= end)
    survival = np.exp(-rate)
    assert "First check    1 - p would fit the events" in str(one_calibration(survival, times, 1.0))
    for others in (1.0 - survival, 0.5 * (1.0 - survival), np.clip(2.0 * (1.0 - survival), 0.0, 1.0)):
        assert not one_calibration(others, times, 1.0).notes


def test_results_cite_the_sources_of_their_method():
    rng = np.random.default_rng(2)
    time, end, rate = rng.exponential(size=80), rng.exponential(size=80), np.linspace(0.8, 1.2, 80)
    targets, laws = ct.Censored(np.minimum(time, end), time <= end), ct.Gamma(np.ones(80), rate)
    settings = {"n_resamples": 9, "rng": 1}
    found = [test(laws, targets, **settings) for test in (ct.fields.d_calibration, ct.fields.a_calibration)]
    at_horizon = (ct.fields.one_calibration(one, targets, 0.5, n_groups=2, **settings) for one in (laws, laws.cdf(0.5)))
    wanted = (
        ("haider2020", "dwass1957"),
        ("akritas1988", "simonsen2025", "dwass1957"),
        ("demler2015", "dwass1957"),
        ("demler2015",),
    )
    assert tuple(one.citations for one in (*found, *at_horizon)) == wanted
