"""Faults of scores in intervals: sizes by the likelihood of censored normal scores, whatever was drawn for them."""

import numpy as np
import pytest
from scipy import optimize, stats

import caltest as ct
from caltest.estimators.combined.findings import findings_of
from caltest.fields import censored_pit_values
from caltest.predictions.censored import levels_of
from caltest.predictions.faults.numbers.intervals import faults_in_intervals
from caltest.predictions.faults.numbers.risks import Risks
from caltest.predictions.faults.search import candidates_of, refined
from caltest.predictions.inputs.convert import as_sample
from caltest.predictions.reductions.residuals import StandardUniform


def made(n, sd=0.3, shift=0.0, scale=1.0, seed=1):
    """Log-normal times with errors that are shifted, and scaled, in units of their standard deviation."""
    rng = np.random.default_rng(seed)
    x = 0.5 * rng.normal(size=n)
    time, end = np.exp(x + sd * (shift + scale * rng.normal(size=n))), rng.exponential(1.5, n)
    return ct.LogNormal(x, sd), ct.Censored(np.minimum(time, end), time <= end)


def found(predictions, targets, seed=1):
    return findings_of(as_sample(*censored_pit_values(predictions, targets, rng=seed)))


def by_hand(predictions, targets, kind):
    """The size of largest likelihood, by densities of events and tails of others."""
    z = stats.norm.ppf(predictions.cdf(np.asarray(targets.time)))

    def loss(t):
        law = stats.norm(t, 1.0) if kind == "shift" else stats.norm(0.0, t)
        return -np.where(targets.event, law.logpdf(z), law.logsf(z)).sum()

    return optimize.minimize_scalar(loss, bounds=(-6.0, 3.0) if kind == "shift" else (0.3, 5.0), method="bounded").x


@pytest.mark.parametrize(
    ("kind", "wrong"), [("shift", {"shift": -1.3}), ("shift", {"shift": 0.8}), ("scale", {"scale": 1.6})]
)
def test_sizes_are_those_of_the_censored_likelihood(kind, wrong):
    predictions, targets = made(400, seed=3, **wrong)
    assert targets.n_censored > 120
    all_found = found(predictions, targets)
    first = next(one for one in all_found if one.kind == kind)
    # Of one standard deviation of logarithms times that are too long are errors that are shifted.
    assert all_found[0].kind == {"shift": "factor", "scale": "scale"}[kind]
    assert first.estimate == pytest.approx(by_hand(predictions, targets, kind), abs=2e-3)
    assert not first.interval.excludes(*wrong.values())
    assert all_found[0].second is None


@pytest.mark.parametrize("sd", [0.15, 0.3])
def test_times_that_are_too_long_are_a_shift_whatever_is_drawn(sd, replications):
    """Draws for nine in ten rows as if predicted would be right, and the others outliers."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=200)
    time, end = np.exp(0.5 * x + sd * rng.normal(size=200)), rng.exponential(0.3, 200)
    targets = ct.Censored(np.minimum(time, end), time <= end)
    assert targets.n_censored > 160
    for seed in range(replications(1, 3)):
        first = found(ct.LogNormal(0.5 * x + np.log(1.5), sd), targets, seed)[0]
        assert first.kind == "factor"
        assert not first.interval.excludes(1.0 / 1.5)


def test_a_second_fault_is_looked_for_after_the_first():
    predictions, targets = made(3000, shift=-1.0, scale=1.5)
    first = found(predictions, targets)[0]
    kinds = {first.kind: first, first.second.kind: first.second}
    assert set(kinds) == {"factor", "scale"}
    assert kinds["scale"].estimate == pytest.approx(1.5, abs=0.1)


def scale_alone(sample):
    """The most likely scale, without another fault beside it."""
    faults, seen = sample.predictions.faults_seen(np.asarray(sample.targets))
    one = next(one for one in candidates_of(faults, seen) if one.kind == "scale")
    return one.fault.size(seen, one.sibling, refined(one).t)


def test_only_censored_rows_and_known_ones_have_findings_or_none():
    predictions = ct.LogNormal(np.zeros(60), 0.1)
    late = ct.Censored(np.full(60, 3.0), np.zeros(60))
    assert found(predictions, late)[0].kind == "shift"
    calm, targets = made(200)
    assert found(calm, targets)[0].gain <= 0.0
    wide, targets = made(200, scale=1.5)
    events = ct.Censored(targets.time, np.ones(200))
    known = as_sample(*ct.pit_values(wide, np.asarray(events.time)))
    alone = [scale_alone(one) for one in (as_sample(*censored_pit_values(wide, events, rng=1)), known)]
    assert alone[0] == pytest.approx(alone[1], rel=0.01)


@pytest.mark.every(4)
@pytest.mark.parametrize("ratio", [0.5, 1.0, 1.6])
@pytest.mark.parametrize("censored", [False, True])
def test_hazards(ratio, censored):
    """The ratio of events to the sum of predicted cumulative hazards is the most likely one."""
    rng = np.random.default_rng(6)
    mean = np.exp(0.7 * rng.normal(size=1500))
    time, end = rng.exponential(mean / ratio), rng.exponential(1.5 * mean) if censored else np.inf
    targets = ct.Censored(np.minimum(time, end), time <= end)
    all_found = found(ct.Gamma(np.ones(mean.size), mean), targets)
    first = all_found[0]
    if ratio == 1.0:
        assert first.gain < 0.0
        return
    assert (first.kind, first.second) == ("hazard", None)
    assert first.estimate == pytest.approx((time <= end).sum() / (targets.time / mean).sum(), rel=5e-3)
    assert not first.interval.excludes(ratio)
    assert first.words.startswith("events come at")


@pytest.mark.parametrize("ratio", [0.02, 0.1, 100.0])
def test_hazards_that_are_far_from_those_predicted(ratio):
    """Where events are rare most of them come long after a row was censored."""
    rng = np.random.default_rng(6)
    mean = np.exp(0.7 * rng.normal(size=1500))
    time, end = rng.exponential(mean / ratio), rng.exponential(1.5 * mean)
    targets = ct.Censored(np.minimum(time, end), time <= end)
    first = found(ct.Gamma(np.ones(mean.size), mean), targets)[0]
    assert (first.kind, first.second) == ("hazard", None)
    assert first.estimate == pytest.approx((time <= end).sum() / (targets.time / mean).sum(), rel=5e-3)
    assert not first.interval.excludes(ratio)


def test_hazards_of_survival_curves():
    rng = np.random.default_rng(7)
    times, rate = np.linspace(0.1, 6.0, 40), np.exp(0.5 * rng.normal(size=800))
    curves = ct.predictions.SurvivalCurve(times, np.exp(-rate[:, None] * times))
    time, end = rng.exponential(1.0 / (1.5 * rate)), rng.uniform(0.2, 6.0, 800)
    first = found(curves, ct.Censored(np.minimum(time, end), time <= end))[0]
    assert first.kind == "hazard"
    assert not first.interval.excludes(1.5)


@pytest.mark.statistical
def test_intervals_hold_where_half_is_censored(replications):
    number = replications(8, 400)
    factor = np.exp(-0.8 * 0.3)
    holds = sum(
        not found(*made(200, shift=-0.8, seed=seed), seed)[0].interval.excludes(factor) for seed in range(number)
    )
    assert holds >= stats.binom.ppf(1e-3, number, 0.93)


@pytest.mark.parametrize("seed", range(4))
def test_rows_that_never_have_the_event(seed):
    """Those that are watched until F is 1 up to rounding are no events then."""
    rng = np.random.default_rng(seed)
    scale, end = np.exp(1.0 + 0.6 * rng.normal(size=1500)), rng.uniform(2.0, 15.0, 1500)
    predictions, cured = ct.Continuous(stats.weibull_min(1.5, scale=scale)), rng.random(1500) < 0.15
    time = np.where(cured, np.inf, predictions.sample(rng))
    first = found(predictions, ct.Censored(np.minimum(time, end), time <= end))[0]
    assert (first.kind, first.second) == ("never", None)
    assert first.interval.low < 0.15 < first.interval.high
    assert first.words.endswith("of the rows never have the event, however late")


def test_ratios_of_rows_without_an_event_are_those_of_what_is_left():
    levels, ends = np.array([0.3, 0.6, 0.8, 0.5]), np.array([0.3, 1.0, 1.0, 0.7])
    w = np.array([1.0, 2.0, 3.0, 4.0])
    faults, seen = faults_in_intervals(StandardUniform((4,)), levels, (levels, ends), w)
    (never,) = [one for one in faults.kinds if one.kind == "never"]
    left = np.array([0.7, 0.7 + 0.3 / 0.4, 0.7 + 0.3 / 0.2, 0.7])
    assert never.log_ratio(seen, 0, 0.3) == pytest.approx(w @ np.log(left), rel=1e-5)
    assert never.log_ratio(seen, 0, 0.0) == pytest.approx(0.0, abs=1e-9)


def of_curves(rate, power):
    """Curves with hazards in proportion to the rates (n,), and times with their power, some of which are censored."""

    def make(rng):
        times = np.linspace(0.1, 6.0, 40)
        curves = ct.predictions.SurvivalCurve(times, np.exp(-rate[:, None] * times))
        time, end = rng.exponential(1.0 / rate**power), rng.uniform(0.5, 6.0, rate.size)
        return curves, ct.Censored(np.minimum(time, end), time <= end)

    return make


@pytest.mark.parametrize(
    ("power", "words"),
    [
        (0.5, "predicted risks are too extreme: rates of events differ as the power 0."),
        (1.5, "predicted risks are too even: rates of events differ as the power 1."),
        (0.0, "events do not follow predicted risks: "),
        (-0.7, "predicted risks are the wrong way round: "),
    ],
)
def test_risks_that_differ_too_much_or_too_little(power, words):
    rng = np.random.default_rng(11)
    first = found(*of_curves(np.exp(0.8 * rng.normal(size=2000)), power)(rng))[0]
    assert (first.kind, first.words.startswith(words)) == ("slope", True)
    assert not first.interval.excludes(power)


def test_rates_that_are_off_where_risks_are_high():
    rng = np.random.default_rng(12)
    x = rng.normal(size=2000)
    predictions, time, end = ct.Gamma(np.ones(2000), np.exp(-0.5 * x)), None, rng.exponential(2.0, 2000)
    time = rng.exponential(np.exp(-0.5 * x) / np.where(x > np.median(x), 2.0, 1.0))
    first = found(predictions, ct.Censored(np.minimum(time, end), time <= end))[0]
    assert first.kind == "local hazard"
    assert first.place.startswith("where predicted risks up to 0.")
    assert " are above 0." in first.place
    assert not first.interval.excludes(2.0)


@pytest.mark.parametrize("power", [0.5, 1.6, 0.0])
def test_times_that_differ_too_much_or_too_little(power):
    rng = np.random.default_rng(13)
    x, end = rng.normal(size=2000), rng.exponential(3.0, 2000)
    time = np.exp(power * x + 0.7 * rng.normal(size=2000))
    first = found(ct.LogNormal(x, 0.7), ct.Censored(np.minimum(time, end), time <= end))[0]
    assert first.kind == "slope"
    assert not first.interval.excludes(power)
    assert "times of events differ as the power" in first.words


def test_rates_that_are_off_up_to_a_time():
    rng = np.random.default_rng(14)
    mean, end = 10.0 * np.exp(0.5 * rng.normal(size=2000)), rng.exponential(15.0, 2000)
    hazards, early = rng.exponential(size=2000), 3.0 / mean
    time = np.where(hazards < early, hazards / 3.0, hazards - early + 1.0 / mean) * mean
    first = found(ct.Gamma(np.ones(2000), mean), ct.Censored(np.minimum(time, end), time <= end))[0]
    assert first.kind == "hazard in time"
    assert 0.7 < float(first.place.removeprefix("up to ")) < 1.4
    assert not first.interval.excludes(3.0)


@pytest.mark.parametrize("family", ["numbers", "curves"])
def test_events_that_are_too_early(family):
    """A share of the rows has the event in the first days, whatever is predicted."""
    rng = np.random.default_rng(15)
    x, end = 0.5 * rng.normal(size=2000), rng.exponential(3.0, 2000)
    time = np.exp(x + 0.7 * rng.normal(size=2000))
    is_early = rng.random(2000) < 0.08
    time[is_early] = rng.uniform(0.0, 0.15, is_early.sum())
    predictions = ct.LogNormal(x, 0.7)
    if family == "curves":
        times = np.linspace(0.02, 8.0, 400)
        predictions = ct.predictions.SurvivalCurve(times, stats.norm.sf((np.log(times) - x[:, None]) / 0.7))
    first = found(predictions, ct.Censored(np.minimum(time, end), time <= end))[0]
    assert first.kind == "early"
    assert 0.1 < float(first.place.removeprefix("up to ")) < 0.25
    assert not first.interval.excludes(0.08)


@pytest.mark.parametrize("family", ["numbers", "curves"])
def test_times_of_other_rows(family):
    rng = np.random.default_rng(16)
    x, rows, some = rng.normal(size=2000), np.arange(2000), rng.random(2000) < 0.3
    time, end = np.exp(x + 0.8 * rng.normal(size=2000)), rng.exponential(6.0, 2000)
    rows[some] = rng.permutation(rows[some])
    predictions = ct.LogNormal(x[rows], 0.8)
    if family == "curves":
        times = np.linspace(0.1, 12.0, 120)
        predictions = ct.predictions.SurvivalCurve(times, stats.norm.sf((np.log(times) - x[rows, None]) / 0.8))
    first = found(predictions, ct.Censored(np.minimum(time, end), time <= end))[0]
    assert first.kind == "other rows"
    assert not first.interval.excludes(0.3)


def test_hazards_stay_finite_whatever_is_tried():
    """Sizes of two faults are tried together, up to rates at which nothing or everything is left."""
    rng = np.random.default_rng(17)
    x, end = rng.normal(size=50), rng.exponential(3.0, 50)
    time = np.exp(x + rng.normal(size=50))
    law, levels = levels_of(ct.LogNormal(x, 1.0), ct.Censored(np.minimum(time, end), time <= end))
    risks = Risks.of(law, np.minimum(time, end), levels.ends, np.ones(50))
    for changed in (lambda h: h * np.inf, lambda h: h * np.nan, lambda h: h - 50.0):
        with np.errstate(invalid="ignore"):
            after = risks.after(changed)
        low, high = after.levels
        assert np.isfinite(np.stack([low, high, *after.at_cuts])).all()
        assert (low >= 0.0).all()


@pytest.mark.parametrize("seed", range(4))
def test_steps_of_estimated_curves_are_no_early_events(seed):
    """As much is in a wide interval as in a narrow one; what is wrong is the rate, 1.43 times that predicted."""
    rng = np.random.default_rng(seed)
    steps = np.sort(rng.exponential(size=500))[:400]  # Those of Nelson and Aalen, for a rate of 1.
    hazards = np.cumsum(1.0 / np.arange(500, 100, -1))
    x = 0.7 * rng.normal(size=500)
    predictions = ct.predictions.SurvivalCurve(steps, np.exp(-0.7 * hazards * np.exp(x)[:, None]))
    time, end = rng.exponential(np.exp(-x)), rng.exponential(1.0, 500)
    first = found(predictions, ct.Censored(np.minimum(time, end), time <= end))[0]
    assert first.kind in {"hazard", "shift"}
    assert first.gain < 20.0


@pytest.mark.parametrize("rate", [0.7, 1.3, 1.6])
@pytest.mark.parametrize("seed", range(3))
def test_rates_of_curves_at_few_times_are_no_early_events(seed, rate):
    """Within the intervals of curves nothing is known of events: none of them is early in a part of one."""
    rng = np.random.default_rng(seed)
    rates, grid = rng.uniform(0.4, 1.2, 2000), np.linspace(0.25, 12.0, 40)
    time, end = rng.exponential(1.0 / (rate * rates)), rng.exponential(6.0, 2000)
    curves = ct.predictions.SurvivalCurve(grid, np.exp(-rates[:, None] * grid))
    first = found(curves, ct.Censored(np.minimum(time, end), time <= end))[0]
    assert first.kind == "hazard"
    assert "with that corrected" not in first.words
    assert abs(np.log(first.estimate / rate)) < 0.12


def test_times_up_to_which_curves_are_compared_are_theirs():
    rng = np.random.default_rng(1)
    grid, time = np.array([1.0, 2.0, 4.0]), rng.exponential(2.0, 300)
    curves = ct.predictions.SurvivalCurve(grid, np.tile(np.exp(-grid / 2.0), (300, 1)))
    law, levels = levels_of(curves, ct.Censored(time, np.ones(300, dtype=bool)))
    risks = Risks.of(law, time, levels.ends, np.ones(300))
    assert set(risks.cuts) <= set(grid)
    assert risks.at_cuts[:, 0] == pytest.approx(risks.cuts / 2.0)
    for cut, place in enumerate(risks.cuts):
        seen, expected = risks.counts(cut, after=False)
        assert seen == (time <= place).sum()
        assert expected == pytest.approx(np.minimum(risks.expected, place / 2.0).sum())


@pytest.mark.parametrize(
    ("factor", "words"), [(1.4, "events come later than predicted, by 0."), (0.7, "events come earlier")]
)
def test_shifts_of_curves_are_said_of_events(factor, words):
    rng = np.random.default_rng(4)
    x = 0.6 * rng.normal(size=2000)
    time, end = factor * np.exp(x + 0.7 * rng.normal(size=2000)), rng.exponential(3.0, 2000)
    grid = np.linspace(0.3, 6.0, 20)
    curves = ct.predictions.SurvivalCurve(grid, stats.norm.sf((np.log(grid) - x[:, None]) / 0.7))
    first = found(curves, ct.Censored(np.minimum(time, end), time <= end))[0]
    assert (first.kind, first.words.startswith(words)) == ("shift", True)


@pytest.mark.parametrize("m", [5, 19])
@pytest.mark.parametrize("rate", [0.7, 1.0, 1.5])
def test_members_tell_no_rates_in_places(m, rate):
    """How many members are below a time follows the outcome: calibrated ones had early events, with gains of 50."""
    rng = np.random.default_rng([m, 1])
    rates = rng.uniform(0.4, 1.2, 2000)
    members, time = rng.exponential(1.0 / rates[:, None], (2000, m)), rng.exponential(1.0 / (rate * rates))
    end = rng.exponential(6.0, 2000)
    first = found(ct.Ensemble(members), ct.Censored(np.minimum(time, end), time <= end))[0]
    if rate == 1.0:
        assert first.gain < 0.0
    else:
        assert (first.kind, "with that corrected" in first.words) == ("hazard", False)
        assert abs(np.log(first.estimate / rate)) < 0.12
