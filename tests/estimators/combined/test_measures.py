import re
from dataclasses import replace

import numpy as np
import pytest
from printed import unfolded
from scipy import special, stats

import caltest as ct
from caltest._basics.calls import pvalues_only
from caltest._laws import clopper_pearson
from caltest._results.measures import matters
from caltest._results.values import PERHAPS
from caltest.binning import QuantileBinning
from caltest.estimators.combined.findings import findings_of, told
from caltest.estimators.combined.measures import _farthest, gap_interval, mean_deviation, measures_of, weighted_shares
from caltest.estimators.kernel_errors.cluster_skce import as_clusters
from caltest.predictions.ensembles.claims import of_far_values
from caltest.predictions.inputs.convert import as_sample


def measures(predictions, targets):
    return {one.name: one for one in measures_of(as_sample(predictions, targets))}


def told_of(predictions, targets, **dependence):
    """The finding and the measures of a test that rejects, which do not depend on its redraws."""
    found = told(as_sample(predictions, targets), 0.01, **dependence)
    return found["findings"][0], found["measures"]


def test_those_of_classes_are_the_textbook_numbers(ds1):
    p, y = ds1
    rows = np.arange(len(y))
    found = measures(p, y)
    confidence, correct = ct.top_label(p, y)
    assert found["accuracy"].claimed == pytest.approx(p.max(axis=1).mean())
    assert found["accuracy"].observed == pytest.approx(correct.mean())
    assert found["log loss"].observed == pytest.approx(-np.log(p[rows, y]).mean())
    assert found["log loss"].claimed == pytest.approx(stats.entropy(p, axis=1).mean())
    assert found["Brier score"].observed == pytest.approx(np.square(np.eye(p.shape[1])[y] - p).sum(axis=1).mean())
    assert found["Brier score"].claimed == pytest.approx((1.0 - np.square(p).sum(axis=1)).mean())
    assert found["ECE of the top label"].observed == pytest.approx(ct.ECE()(confidence, correct))


def test_classes_that_are_named_have_their_frequencies():
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(11), 700)
    truth = p * np.where(np.arange(11) == 1, 2.5, 1.0)
    y = ((truth / truth.sum(axis=1, keepdims=True)).cumsum(axis=1) < rng.random((700, 1))).sum(axis=1)
    result = ct.calibration_test(p, y, n_resamples=19, rng=1)
    assert result.finding.place == "class 1"
    found = {one.name: one for one in result.measures}["class 1"]
    assert (found.claimed, found.observed) == pytest.approx((p[:, 1].mean(), np.mean(y == 1)))
    assert found.interval.ends == clopper_pearson(int(np.sum(y == 1)), 700, 0.95)
    assert found.gap == gap_interval(p[:, 1], y == 1, p[:, 1], 1.0 - 0.05 / 11)
    named, tenths = result.bars()[:2], result.measures[0].tenths
    assert [bar.name for bar in named] == ["accuracy", "class 1"]
    assert [bar.name for bar in result.bars()[2:]] == [one.name for one in tenths]
    right = ct.calibration_test(p, (p.cumsum(axis=1) < rng.random((700, 1))).sum(axis=1), n_resamples=19, rng=1)
    assert [bar.name for bar in right.bars()[:-10]] == ["accuracy"]


def test_the_claimed_ece_is_its_noise_floor():
    p, _ = ct.datasets.load_digits_predictions()["random forest"]
    confidence = ct.top_label(p, np.zeros(899, dtype=int))[0]
    floor = ct.noise_floor(confidence, ct.ECE(), n_resamples=2000, rng=1)
    found = measures(p, p.sample(1))["ECE of the top label"]
    assert found.claimed == pytest.approx(floor.mean, abs=4 * floor.standard_deviation / np.sqrt(2000))


def test_mean_deviation_is_that_of_a_binomial_number():
    for p in (np.full(64, 0.1), np.full(2000, 0.3)):
        law = stats.binom(p.size, p[0])
        exact = law.expect(lambda s, p=p: np.abs(s - p.sum()))
        assert mean_deviation(p) == pytest.approx(exact, rel=1e-9 if p.size == 64 else 1e-3)


def test_binary_predictions_have_the_brier_score_of_one_class():
    p, y = np.array([0.2, 0.9, 0.4]), np.array([0, 1, 1])
    found = measures(p, y)
    assert found["Brier score"].observed == pytest.approx(np.square(p - y).mean())
    assert found["class 1"].claimed == pytest.approx(0.5)
    named = measures(ct.Bernoulli(p, classes=["ham", "spam"]), ["ham", "spam", "spam"])
    assert named["class spam"].observed == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    "law",
    [
        ct.Normal(np.linspace(0, 3, 4000), 1.5),
        ct.Gamma(np.linspace(1, 3, 4000), 2.0),
        ct.Poisson(np.linspace(1, 9, 4000)),
    ],
    ids=lambda law: law.family,
)
def test_calibrated_numbers_do_as_they_claim(law):
    y = law.sample(rng=3)
    found = measures(law, y)
    for name, one in found.items():
        if one.interval is not None:
            assert one.interval.low - 0.01 <= one.claimed <= one.interval.high + 0.01, name
            assert one.gap.low == 0.0
        elif one.observed is not None:
            assert one.observed == pytest.approx(one.claimed, rel=0.06), name
    assert found["root mean squared error"].observed == pytest.approx(np.sqrt(np.mean((y - law.moments()[0]) ** 2)))


def test_the_crps_of_a_normal_law_is_that_of_the_formula():
    y = np.array([0.3, -2.0, 5.0])
    z = (y - 1.0) / 2.0
    formula = 2.0 * (z * (2 * stats.norm.cdf(z) - 1) + 2 * stats.norm.pdf(z) - 1 / np.sqrt(np.pi))
    found = measures(ct.Normal(np.ones(3), 2.0), y)["CRPS"]
    assert found.observed == pytest.approx(formula.mean(), rel=1e-3)
    assert found.claimed == pytest.approx(2.0 / np.sqrt(np.pi), rel=1e-3)


def test_coverage_of_counts_counts_the_ends():
    law = ct.Poisson(np.full(3, 3.0))
    found = measures(law, [2, 4, 5])["inside the 50 % interval"]
    q = stats.poisson(3.0)
    low, high = q.ppf(0.25), q.ppf(0.75)
    assert (law.quantile(0.25)[0], law.quantile(0.75)[0]) == (low, high)
    assert found.claimed == pytest.approx(q.cdf(high) - q.cdf(low - 1))
    assert found.observed == pytest.approx(2 / 3)


def test_sums_of_counts_have_intervals_that_hold_whatever_their_scatter():
    """Also where counts scatter twice as much as predicted, in 95 % of data sets or more."""
    rng, mean = np.random.default_rng(4), np.linspace(0.1, 0.9, 400)
    inside = [0, 0]
    for _ in range(300):
        for k, y in enumerate([rng.poisson(mean), rng.poisson(mean * rng.gamma(0.5, 2.0, mean.size))]):
            total = measures(ct.Poisson(mean), y)["total count"]
            assert (total.claimed, total.observed) == pytest.approx((mean.sum(), y.sum()))
            inside[k] += total.interval.low <= mean.sum() <= total.interval.high
    assert min(inside) >= 300 * 0.95 - 3.0 * np.sqrt(300 * 0.95 * 0.05)


def test_power_of_rare_counts_is_that_of_a_tenth_more_of_them():
    mean = np.full(500, 0.05)
    words, drawn, _ = ct.Poisson(mean).slightly_wrong(np.random.default_rng(1), 400)
    assert words == "counts 10 % larger than predicted"
    assert drawn.mean() == pytest.approx(0.055, abs=4.0 * np.sqrt(0.055 / drawn.size))
    assert (
        ct.Poisson(20.0 * mean + 1.0).slightly_wrong(1, 2)[0].startswith("outcomes 0.1 predicted standard deviations")
    )


def test_quantiles_of_counts_are_those_of_scipy():
    levels, means = np.array([[1e-6], [0.1], [0.5], [0.9], [1 - 1e-9]]), np.array([0.0, 0.01, 3.0, 1e4])
    expected = np.where(means == 0.0, 0.0, stats.poisson(means).ppf(levels))
    np.testing.assert_array_equal(ct.Poisson(means).quantile(levels), expected)


def test_ranks_of_ensembles_with_ties_occur_as_often_as_claimed():
    rng = np.random.default_rng(5)
    pool = rng.integers(0, 4, size=(3000, 8)).astype(float)
    found = measures(ct.Ensemble(pool[:, 1:]), pool[:, 0])
    assert {"CRPS", "above the median"} <= found.keys()
    for name, one in found.items():
        if one.interval is not None:
            assert one.interval.low - 0.005 <= one.claimed <= one.interval.high + 0.005, name
        elif one.observed is not None:
            assert one.observed == pytest.approx(one.claimed, rel=0.05)


def test_the_crps_of_an_ensemble_is_that_of_its_members():
    members, y = np.array([[0.0, 1.0, 4.0]]).repeat(2, axis=0), np.array([2.0, -1.0])
    one = [np.abs(m - t).mean() - np.abs(m[:, None] - m).mean() / 2 for m, t in zip(members, y, strict=True)]
    assert measures(ct.Ensemble(members), y)["CRPS"].observed == pytest.approx(np.mean(one))


@pytest.mark.parametrize("shape", [(), (2,)])
def test_errors_of_ensemble_means_are_claimed_to_be_as_large_as_the_spread_says(shape):
    """Errors of the mean of m members are ``1 + 1 / m`` times their variance, of right ensembles."""
    rng = np.random.default_rng(1)
    values = rng.normal(size=(4000, 6, *shape))
    found = measures(ct.Ensemble(values[:, 1:]), values[:, 0])["root mean squared error"]
    assert found.claimed == pytest.approx(np.sqrt(1.2 * np.prod(shape, dtype=float) * 1.0), rel=0.03)
    assert found.observed == pytest.approx(found.claimed, rel=0.03)
    members, y = np.array([[1.0, 3.0], [0.0, 0.0]]), np.array([3.0, 2.0])
    by_hand = measures(ct.Ensemble(members), y)
    one = by_hand["root mean squared error"]
    assert (one.claimed, one.observed) == pytest.approx((np.sqrt(1.5 * (2.0 + 0.0) / 2), np.sqrt((1.0 + 4.0) / 2)))
    assert by_hand["predicted standard deviation"].claimed == pytest.approx(np.sqrt(2.0) / 2)


def test_a_single_member_has_no_spread():
    assert "root mean squared error" not in measures(ct.Ensemble(np.arange(40.0)[:, None]), np.arange(40.0) + 1.0)


def test_quantile_forecasts_have_coverage_between_pairs():
    values = np.tile([-1.0, 0.0, 1.0], (4, 1))
    found = measures(ct.QuantileForecast([0.1, 0.5, 0.9], values), [-2.0, -0.5, 0.5, 0.9])
    assert found["inside the 80 % interval"].observed == 0.75
    assert found["up to the 50 % quantile"].observed == 0.5
    single = measures(ct.QuantileForecast([0.1, 0.7], values[:, :2]), [-2.0, -0.5, 0.5, 0.9])
    assert single["up to the 10 % quantile"].observed == 0.25


def test_vectors_have_coverage_of_regions():
    law = ct.MvNormal(np.zeros((2000, 3)), np.tile(np.diag([1.0, 4.0, 9.0]) + 0.5, (2000, 1, 1)))
    found = measures(law, law.sample(1))
    assert found["inside the 80 % region"].interval.low < 0.8 < found["inside the 80 % region"].interval.high
    assert found["root mean squared error"].claimed == pytest.approx(np.sqrt(15.5))


SETTINGS = {
    "rare": lambda rng, n: rng.beta(0.3, 30, n),
    "uniform": lambda rng, n: rng.random(n),
    "sure": lambda rng, n: rng.beta(20, 0.5, n),
    "one value": lambda rng, n: np.full(n, 0.01),
}
TRUTHS = {
    "calibrated": lambda p: p,
    "2 points": lambda p: np.minimum(1.0, p + 0.02),
    "three times": lambda p: np.minimum(1.0, 3 * p),
    "noise": lambda p: 0.8 * p + 0.1,
    "wave": lambda p: np.clip(p + 0.1 * np.sin(20 * p), 0.0, 1.0),
    "fast wave": lambda p: np.clip(p + 0.06 * np.sin(100 * p), 0.0, 1.0),
}


@pytest.mark.every(9)
@pytest.mark.parametrize("truth", TRUTHS)
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("n", [25, 300, 4000])
def test_gap_intervals_cover(setting, truth, n, replications):
    """At least 95 % of the data sets, up to the 99.9 % quantile of the binomial law.

    They are of the gap that they name, which the data choose.
    """
    rng = np.random.default_rng([n, *map(ord, setting + truth)])
    p = SETTINGS[setting](rng, n)
    q = TRUTHS[truth](p)
    bins = {name: ct.binning.QuantileBinning(b).assign(p[:, None]) for name, b in (("tenths", 10), ("fiftieths", 50))}
    true = {f"{name} of similar predictions": np.abs(np.bincount(b, p - q)).sum() / n for name, b in bins.items()}
    sets = replications(100, 300)
    intervals = [gap_interval(p, rng.random(n) < q, p, 0.95) for _ in range(sets)]
    missed = sum(not one.low - 1e-12 <= true[one.method] <= one.high + 1e-12 for one in intervals)
    assert missed <= stats.binom(sets, 0.05).ppf(0.999)


def events(n, end, rng, shift=0.0, slope=1.0):
    """Censored exponential times of predicted means, and true and predicted numbers of events of each row."""
    mean = rng.normal(0.0, 0.7, n)
    times, ends = np.exp(mean) * rng.exponential(size=n), rng.exponential(end, n)
    time, laws = np.minimum(times, ends), ct.Gamma(np.ones(n), np.exp(slope * mean + shift))
    sample = as_sample(*ct.fields.censored_pit_values(laws, ct.Censored(time, times <= ends), rng=rng))
    return sample, time / np.exp(mean), time / laws.scale


@pytest.mark.every(9)
@pytest.mark.parametrize(("shift", "slope"), [(0.0, 1.0), (0.3, 1.0), (0.0, 0.5)])
@pytest.mark.parametrize(("n", "end"), [(60, 4.0), (60, 0.4), (400, 0.4)])
def test_gaps_of_censored_times_cover(n, end, shift, slope, replications):
    """As above, of numbers of events; the middle is that of the predicted hazards."""
    rng, missed, outside = np.random.default_rng([n, int(10 * end), int(10 * (shift + slope))]), 0, 0
    sets = replications(50, 200)
    for _ in range(sets):
        sample, true, claimed = events(n, end, rng, shift, slope)
        bins = ct.binning.QuantileBinning(10).assign(sample.predictions.predictions.scale[:, None])
        early = np.minimum(1.0, np.median(claimed) / claimed)
        parts = ((true, claimed), (true * early, claimed * early), (true * (1.0 - early), claimed * (1.0 - early)))
        gaps = [np.abs(np.bincount(bins, a - b)).sum() / b.sum() for a, b in parts]
        found = measures_of(sample)
        missed += any(not m.gap.low - 1e-12 <= gap <= m.gap.high for m, gap in zip(found, gaps, strict=True))
        outside += not found[0].interval.low <= true.sum() <= found[0].interval.high
    assert missed <= stats.binom(sets, 0.05).ppf(0.999)
    assert outside <= stats.binom(sets, 0.05).ppf(0.999)


@pytest.mark.parametrize("rate", [0.5, 0.002])
def test_errors_are_no_larger_than_the_number_of_outcomes_allows(rate):
    """Of no events claims are too large by all of it, or too small by what the count can be."""
    zeros = np.zeros(300, dtype=int)
    of_counts = gap_interval(np.full(300, rate), zeros, zeros, 0.95, is_number=True)
    of_events = gap_interval(np.full(300, rate), zeros == 1, zeros, 0.95)
    most = stats.chi2.ppf(1.0 - 0.05 / 8, 2) / 600
    assert of_counts.high == pytest.approx(max(rate, most - rate))
    assert of_events.high == pytest.approx(max(rate, 1.0 - (0.05 / 8) ** (1 / 300) - rate))
    assert gap_interval(1.0 - np.full(300, rate), zeros == 0, zeros, 0.95).ends == pytest.approx(of_events.ends)


def test_the_farthest_numbers_are_at_the_smallest_claim():
    claimed, rng = np.array([0.5, 2.0, 4.0]), np.random.default_rng(1)
    for least, most in ((0.0, 0.3), (0.0, 9.0), (3.0, 9.0), (0.2, 0.4)):
        shares = np.concatenate([np.eye(3), rng.dirichlet(np.ones(3), 2000)])
        sums = np.linspace(least, most, 50)[:, None, None]
        reached = np.abs(claimed - shares * sums).sum(axis=2).max()
        assert _farthest(claimed, least, most) == pytest.approx(reached)


def test_numbers_of_events_of_censored_times():
    sample, _, claimed = events(5000, 1.0, np.random.default_rng(2), 0.7)
    whole, early, late = measures_of(sample)
    assert whole.name == "events while observed"
    assert whole.claimed == pytest.approx(claimed.sum())
    assert whole.observed == early.observed + late.observed
    assert whole.observed == np.sum(sample.predictions.law._parameters[1] < 1.0)
    assert whole.margin == 0.1
    assert whole.gap.estimate > 0.25
    assert re.fullmatch(
        r"<events while observed: claimed [0-9.]+, observed \d+, \d+ to \d+ % off .*10 matters\)>", str(whole)
    )
    assert whole.gap.low > whole.margin
    assert early.name.startswith("events up to the ")
    wanted = stats.chi2([2 * whole.observed, 2 * whole.observed + 2]).ppf([0.025, 0.975]) / 2
    assert whole.interval.ends == pytest.approx(wanted)


def test_nothing_is_claimed_of_times_at_which_no_row_is_observed():
    """Where all are followed up for as long, half of the hazards are not beyond the middle one."""
    times = ct.Censored(np.ones(50), np.arange(50) % 2)
    found = ct.calibration_test(ct.Gamma(np.ones(50), 1.0), times, n_resamples=19, rng=1).measures
    assert [one.claimed for one in found] == pytest.approx([50.0, 50.0])


def test_verdicts_say_what_matters():
    rng = np.random.default_rng(1)
    sure = np.where(rng.random(4000) < 0.5, 0.01, 0.99) + 0.002 * rng.random(4000)
    y = (rng.random(sure.size) < sure).astype(int)
    fine = ct.calibration_test(sure, y, n_resamples=39, rng=1)
    assert fine.verdict() == "calibration is not rejected at the 5 % level, and errors that matter are ruled out"
    small = ct.calibration_test(sure, np.where(np.arange(sure.size) % 100 == 0, 1 - y, y), n_resamples=39, rng=1)
    assert small.verdict() == "reject calibration at the 5 % level, but the error is too small to matter"
    assert small.verdict(0.5) == "reject calibration at the 50 % level, but the error is too small to matter"
    p = rng.random(1000)
    large = ct.calibration_test(p, (rng.random(1000) < 0.6 * p + 0.2).astype(int), n_resamples=39, rng=1)
    assert large.verdict() == "reject calibration at the 5 % level: the error is large enough to matter"
    rng = np.random.default_rng(2)
    p = rng.random(100)
    few = ct.calibration_test(p, (rng.random(100) < 0.6 * p + 0.2).astype(int), n_resamples=39, rng=1)
    assert few.pvalue < 0.05
    assert few.verdict().endswith("; whether probabilities of class 1 are more than 2 points off remains open")
    blind = ct.calibration_test(p, (rng.random(100) < p).astype(int), n_resamples=39, rng=1)
    assert blind.verdict().endswith(", but errors that matter could have been missed")
    assert "probabilities 2 points too sure on average would be found in " in unfolded(blind)
    assert re.fullmatch(r"<probabilities 2 points too sure .*: found in \d+ % of .*5 % level>", repr(blind.detectable))


def test_classes_whose_claims_are_off_in_a_window_matter():
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(4), 1500)
    q = p * np.where((p[:, [2]] > 0.2) & (p[:, [2]] < 0.5) & (np.arange(4) == 2), 2.5, 1.0)
    y = (np.cumsum(q, axis=1) < rng.random((1500, 1)) * q.sum(axis=1, keepdims=True)).sum(axis=1)
    result = ct.calibration_test(p, y, n_resamples=99, rng=1)
    assert result.finding.place.startswith("claims of class 2 from 0.1")
    assert result.verdict() == "reject calibration at the 5 % level: the error is large enough to matter"
    assert [one.name for one in result.measures[:2]] == ["accuracy", "class 2"]


def many_classes(factor, n=4000, k=120):
    """Probabilities, and labels of which class 7 has odds that are some times those predicted."""
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.full(k, 0.3), n)
    q = p * np.where(np.arange(k) == 7, factor, 1.0)
    return p, (np.cumsum(q, axis=1) < rng.random((n, 1)) * q.sum(axis=1, keepdims=True)).sum(axis=1).clip(max=k - 1)


def test_a_rare_class_that_is_named_is_judged_by_how_often_it_is_claimed():
    """It is three times as frequent as predicted, which is hardly seen in percentage points."""
    p, y = many_classes(3.0)
    finding, measures = told_of(p, y)
    assert finding.place == "class 7"
    (own,) = (one for one in measures if one.name == "class 7")
    assert own.margin == pytest.approx(p[:, 7].mean() / 5.0)
    assert own.gap.high < 0.03
    assert next(one for one in measures if one.name == "accuracy").gap.high < 0.02
    assert matters(measures)


def test_a_class_that_is_perhaps_wrong_is_judged_in_points():
    sample = as_sample(*many_classes(3.0))
    clear = findings_of(sample)[0]
    perhaps = replace(clear, words=f"{PERHAPS}{clear.words}")
    margins = [measures_of(sample, one)[1].margin for one in (clear, perhaps)]
    assert margins == [pytest.approx(sample.predictions.probabilities[:, 7].mean() / 5.0), 0.02]


@pytest.mark.parametrize("periods", [5, 10])
@pytest.mark.parametrize("n", [15_000, 30_000])
def test_waves_that_cancel_in_tenths_matter(n, periods):
    rng = np.random.default_rng(1)
    p = rng.random(n)
    true = p + 0.1 * np.sin(2.0 * np.pi * periods * p) * np.minimum(1.0, 8.0 * np.minimum(p, 1.0 - p))
    _, measures = told_of(p, rng.random(p.size) < true)
    gap = measures[0].gap
    assert gap.method == "fiftieths of similar predictions"
    assert gap.low < np.abs(true - p).mean() < gap.high
    assert matters(measures)


@pytest.mark.parametrize("half_periods", [3, 6])
@pytest.mark.parametrize("make", [lambda m, z: (ct.Normal(m, 1.0), z), lambda m, z: (quantiles(m), z)])
def test_intervals_of_one_width_are_looked_at_along_the_middle(make, half_periods):
    """Errors are up to 1.2 times as large or small as predicted; over all predictions coverage is right."""
    rng = np.random.default_rng(1)
    m = np.sort(rng.normal(size=10_000))
    wave = np.cos(np.pi * half_periods * (np.arange(m.size) + 0.5) / m.size)
    law, y = make(m, m + np.exp(0.18 * wave) * rng.normal(size=m.size))
    assert matters(told_of(law, y)[1])


def quantiles(mean):
    levels = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    return ct.QuantileForecast(levels, mean[:, None] + stats.norm.ppf(levels))


def test_coordinates_that_follow_a_wave_have_an_interval_of_its_errors():
    rng = np.random.default_rng(1)
    law, mean = rng.normal(size=(2000, 3)), rng.normal(size=(2000, 3))
    law[:, 1] += 0.6 * np.sin(8.0 * mean[:, 1])
    _, measures = told_of(ct.MvNormal(mean, np.ones((2000, 3))), mean + law)
    (median,) = [one for one in measures if one.name == "coordinate 1 above median"]
    assert median.gap.high > 0.06


# Of the rest, which the most probable class leaves, the second class has a share that is claimed to be a half.
CLASSES = [(8000, 0.2, 0.8, True), (8000, 0.02, 0.9, True), (16_000, 0.2, 0.55, False)]


def rest_divided(n, rest, share):
    """Predictions of which the most probable class is right as often as claimed, and outcomes."""
    rng = np.random.default_rng(1)
    sure = 1.0 - rest * rng.uniform(0.9, 1.1, n)
    p, truth = (np.stack([sure, s * (1.0 - sure), (1.0 - s) * (1.0 - sure)], axis=1) for s in (0.5, share))
    return p, ct.Categorical(truth).sample(rng)


@pytest.mark.parametrize("dependence", ["none", "clusters", "lag"])
@pytest.mark.parametrize(("n", "rest", "share", "is_large"), CLASSES)
def test_classes_that_are_never_the_most_probable_matter(n, rest, share, is_large, dependence):
    given = {"none": {}, "clusters": {"clusters": as_clusters(np.arange(n) // 4)}, "lag": {"lag": 2}}[dependence]
    _, measures = told_of(*rest_divided(n, rest, share), **given)
    accuracy, *classes = (one for one in measures if one.gap is not None)
    assert accuracy.gap.high < (0.03 if dependence == "lag" else 0.02)
    assert [one.name for one in classes] == ["class 1", "class 2"]
    assert matters(measures) is is_large


VECTORS = {
    "bias": (lambda z: np.add(z, [0.0, 0.18, 0.0]), "coordinate 1 above its median", 0.5714, 0.5),
    "scale": (lambda z: z * [1.0, 1.0, 1.1], "coordinate 2 inside its 80 % interval", 0.756, 0.8),
    "correlation": (
        lambda z: z @ np.array([[1.0, 0.0, 0.2], [0.0, 1.0, 0.0], [0.0, 0.0, np.sqrt(0.96)]]),
        "errors of the same sign in coordinates 0 and 2",
        0.5 + np.arcsin(0.2) / np.pi,
        0.5,
    ),
}


def test_what_a_second_finding_names_has_an_interval_too():
    rng = np.random.default_rng(1)
    mean = rng.normal(size=(2000, 3))
    outcomes = mean + rng.normal(size=mean.shape) * [1.0, 1.0, 1.2] + [0.0, 0.3, 0.0]
    finding, measures = told_of(ct.MvNormal(mean, np.ones((2000, 3))), outcomes)
    assert {finding.place, finding.second.place} == {"coordinate 1", "coordinate 2"}
    named = [one.event for one in measures if one.event.startswith("coordinate")]
    both = [f"coordinate {a} {what}" for a in (1, 2) for what in ("above its median", "inside its 80 % interval")]
    assert sorted(named) == sorted(both)


@pytest.mark.every(2)
@pytest.mark.parametrize("fault", VECTORS)
def test_coordinates_that_are_named_matter(fault):
    """Regions around the mean are right within their margin."""
    change, event, true, claimed = VECTORS[fault]
    rng = np.random.default_rng(1)
    mean, scales = rng.normal(size=(8000, 3)), np.array([1.0, 3.0, 0.2])
    law = ct.MvNormal(mean, np.tile(scales**2, (8000, 1)))
    _, measures = told_of(law, mean + scales * change(rng.normal(size=mean.shape)))
    found = next(one for one in measures if one.event == event)
    assert found.claimed == pytest.approx(claimed)
    assert found.observed == pytest.approx(true, abs=4.0 * np.sqrt(true * (1.0 - true) / 8000))
    assert found.gap.low > found.margin
    assert all(one.gap.low < one.margin for one in measures if one.gap is not None and "region" in one.name)
    assert matters(measures)


@pytest.mark.parametrize("side", ["large", "small"])
def test_halves_that_are_named_have_their_coverage(side):
    rng = np.random.default_rng(1)
    mean = rng.normal(size=3001)
    rows = mean > np.median(mean) if side == "large" else mean <= np.median(mean)
    y = mean + rng.normal(size=mean.size) * np.where(rows, 1.5, 1.0)
    _, measures = told_of(ct.Normal(mean, 1.0), y)
    inside, above = (one for one in measures if one.name.endswith(f", {side} means"))
    assert inside.event == f"an outcome inside the 80 % interval among {side} means"
    inner = np.abs(y - mean)[rows] < stats.norm.isf(0.1)
    assert (inside.claimed, inside.observed) == pytest.approx((0.8, inner.mean()))
    wanted = gap_interval(np.full(rows.sum(), 0.8), inner, np.ones(rows.sum()), 1.0 - 0.05 / 8)
    assert inside.gap.ends == pytest.approx(wanted.ends, abs=1e-3)
    assert (above.observed, above.margin) == (pytest.approx((y > mean)[rows].mean()), 0.04)


def test_clusters_of_a_half_that_is_named_count_as_one_observation_each():
    rng = np.random.default_rng(1)
    mean = np.repeat(rng.normal(size=1000), 4)
    wide = mean > np.median(mean)
    y = mean + np.repeat(rng.normal(size=1000), 4) * np.where(wide, 1.5, 1.0) + 1e-9 * rng.normal(size=4000)
    named = []
    for rows in ({}, {"clusters": as_clusters(np.arange(4000) // 4)}):
        _, measures = told_of(ct.Normal(mean, 1.0), y, **rows)
        named.append(next(one for one in measures if one.name == "inside the 80 % interval, large means"))
    lengths = [one.interval.high - one.interval.low for one in named]
    assert lengths[1] == pytest.approx(2.0 * lengths[0], rel=0.15)


def test_halves_of_two_values_are_those_of_the_finding():
    """More than half of the predictions have the largest variance."""
    rng = np.random.default_rng(1)
    wide = rng.random(2000) < 0.55
    scales = np.where(wide, 2.0, 1.0)
    mean = rng.normal(size=2000)
    y = mean + rng.normal(size=2000) * np.where(wide, 2.0 * scales, scales)
    finding, measures = told_of(ct.Normal(mean, scales), y)
    assert finding.place.startswith("where predicted variances are above 1")
    inside, _ = (one for one in measures if one.name.endswith(", large variances"))
    assert inside.interval.estimate == pytest.approx(inside.observed)
    assert round(inside.observed * wide.sum(), 6).is_integer()


def test_the_level_of_ordered_classes_where_the_mean_is_most_off_is_named():
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(5), 2000)
    y = ct.Categorical(p).sample(rng)
    y = np.where((y == 3) & (rng.random(2000) < 0.6), 2, y)
    found = told_of(ct.Ordinal(p, classes=list("abcde")), np.array(list("abcde"))[y])[1][1]
    assert (found.name, found.event) == ("class c or below", "class c or below")
    claimed = p[:, :3].sum(axis=1)
    assert (found.claimed, found.observed) == pytest.approx((claimed.mean(), (y <= 2).mean()))
    assert found.gap.ends == pytest.approx(gap_interval(claimed, y <= 2, claimed, 1.0 - 0.05 / 4).ends)


def test_where_no_power_is_known_the_interval_says_what_could_have_been_missed():
    members = np.random.default_rng(1).normal(size=(100, 11))
    result = ct.calibration_test(ct.Ensemble(members[:, :10]), members[:, 10], n_resamples=39, rng=1)
    assert result.detectable is None
    assert result.verdict().endswith(", but errors that matter could have been missed")


def test_where_neither_power_nor_intervals_are_known_errors_could_have_been_missed():
    members = np.random.default_rng(1).normal(size=(30, 6, 2))
    result = ct.calibration_test(ct.Ensemble(members[:, :5]), members[:, 5], n_resamples=39, rng=1)
    assert result.detectable is None
    assert all(one.gap is None for one in result.measures)
    said = "calibration is not rejected at the 5 % level"
    assert result.verdict() == f"{said}, but errors that matter could have been missed"
    kernel = ct.MonteCarloTest(ct.ECE(), n_resamples=39)([0.4, 0.6], [0, 1], rng=1)
    assert kernel.verdict(0.04) == said.replace("5", "4")


def test_what_is_printed_of_measures():
    p, y = ct.datasets.load_digits_predictions()["neural network"]
    accuracy, *_, ece = ct.calibration_test(p, y, n_resamples=9, rng=1).measures
    off = "0 to 2.4 points off on average (more than 2 matters)"
    assert repr(accuracy) == f"<accuracy: claimed 97.1 %, observed 96.2 %, {off}>"
    assert repr(ece).startswith("<ECE of the top label: claimed 0.0")
    numbers = ct.calibration_test(ct.Normal(np.zeros(9), 1.0), np.arange(9) / 9, n_resamples=9, rng=1).measures
    assert repr(numbers[-1]) == "<predicted standard deviation: claimed 1>"


def test_of_the_top_label_the_probabilities_are_those_of_the_most_probable_class():
    p, y = ct.datasets.load_digits_predictions()["random forest"]
    both = [ct.calibration_test(*pair, n_resamples=9, rng=1) for pair in ((p, y), ct.top_label(p, y))]
    whole, top = (next(line for line in str(one).splitlines() if line.startswith("How much")) for one in both)
    assert top == whole


def test_two_points_matter_for_rare_events():
    """Of an event of 1 % they are twice the risk; the margin is the same however two classes are given."""
    rng = np.random.default_rng(1)
    p = rng.beta(1, 99, 8_000)
    y = (rng.random(p.size) < 1.8 * p).astype(int)
    for predictions, targets in ((p, y), (1.0 - p, 1 - y), (np.column_stack([1.0 - p, p]), y)):
        one, *_ = measures(predictions, targets).values()
        assert one.margin == pytest.approx(0.2 * p.mean())
        assert one.gap.low > one.margin
    result = ct.calibration_test(p[:4000], y[:4000], n_resamples=19, rng=1)
    assert result.verdict() == "reject calibration at the 5 % level: the error is large enough to matter"
    several = np.column_stack([1.0 - p, 0.5 * p, 0.5 * p])
    for pair in ((several, y), ct.top_label(several, y)):
        assert next(iter(measures(*pair).values())).margin == 0.02
    few = ct.calibration_test(p[:500], p[:500] > rng.random(500), n_resamples=19, rng=1)
    assert few.verdict().endswith("but errors that matter could have been missed")
    margin = f"{100 * few.measures[0].margin:.2g}"
    assert f"probabilities {margin} points too sure on average" in unfolded(few)


@pytest.mark.full
def test_power_is_that_of_simulated_tests():
    """The power that a result states, of 250 data sets, beside that of 60 whole tests: 4 standard errors apart."""
    law = ct.Bernoulli(np.random.default_rng(1).beta(0.2, 0.2, 250))
    stated = next(
        one.detectable.power(0.05)
        for one in (ct.calibration_test(law, law.sample(seed), n_resamples=99, rng=seed) for seed in range(9))
        if one.detectable is not None
    )
    wrong = law.slightly_wrong(2, 60).targets
    test = ct.OmnibusTest(n_resamples=39)
    with pvalues_only():
        rejected = [test(law, y, rng=i).pvalue <= 0.05 for i, y in enumerate(wrong)]
    assert 0.1 < stated < 0.9
    assert stated == pytest.approx(np.mean(rejected), abs=4 * np.sqrt(0.25 / 60 + 0.25 / 250))


def test_weights_and_constant_predictions():
    p = np.full(50, 0.3)
    y = (np.arange(50) < 20).astype(int)
    assert ct.calibration_test(p, y, n_resamples=19, rng=1).measures[0].claimed == pytest.approx(0.3)
    weights = np.linspace(1, 2, 50)
    (weighted,) = ct.calibration_test(p, y, weights=weights, n_resamples=19, rng=1).measures
    assert (weighted.claimed, weighted.observed) == pytest.approx((0.3, weights @ y / weights.sum()))


def test_weights_that_count_rows_twice_leave_the_evidence_of_so_many_equal_ones():
    """Half of the rows have nearly all of the weight, which are then the only ones."""
    rng = np.random.default_rng(1)
    p = rng.uniform(0.1, 0.9, 2000)
    y, weights = (rng.random(2000) < p).astype(int), np.where(np.arange(2000) % 2, 1.0, 1e-9)
    (some,) = measures_of(as_sample(p, y), weights=weights)
    half, *_ = measures_of(as_sample(p[1::2], y[1::2]))
    assert (some.claimed, some.observed) == pytest.approx((half.claimed, half.observed))
    assert tuple(some.interval.ends) == pytest.approx(tuple(half.interval.ends), rel=1e-6)
    assert tuple(some.gap.ends) == pytest.approx(tuple(half.gap.ends), abs=0.01)


@pytest.mark.parametrize("unit", [1.0, 7.0])
@pytest.mark.parametrize("power", [-0.5, 0.0, 2.0])
def test_shares_of_weights_are_worth_the_larger_design_effect(power, unit):
    """That of the weights alone, or where these rise with the variance that of weighted squared errors."""
    rng = np.random.default_rng(4)
    p = rng.uniform(0.02, 0.5, 500)
    w, y = unit * rng.uniform(0.2, 2.0, 500) * (p * (1.0 - p)) ** power, rng.random(500) < p
    mean, share, effect = weighted_shares(p, y, w)
    assert (mean, share) == pytest.approx((w @ p / w.sum(), w @ y / w.sum()))
    errors = y - p - np.average(y - p, weights=w)
    kish = 500 * (w @ w) / w.sum() ** 2
    linearised = np.square(w) @ np.square(errors) * 500 / w.sum() / (w @ np.square(errors))
    assert power == 0.0 or (linearised > kish) == (power > 0.0)
    assert effect == pytest.approx(max(kish, linearised))
    assert weighted_shares(p, p, w)[2] == pytest.approx(kish)
    assert weighted_shares(p, p, np.full(500, unit))[2] == pytest.approx(1.0)


@pytest.mark.parametrize(("n", "rest", "share", "is_large"), CLASSES)
def test_errors_of_weighted_rows_matter_or_not(n, rest, share, is_large):
    weights = ct.estimators.Omnibus(weights=np.random.default_rng(2).uniform(0.8, 1.2, n)).weights
    _, measures = told_of(*rest_divided(n, rest, share), weights=weights)
    assert matters(measures) is is_large
    assert [one.name for one in measures] == ["accuracy", "class 1", "class 2"]


@pytest.mark.parametrize("weigh", [lambda p, z: np.exp(z), lambda p, z: np.exp(2.0 * p)])
@pytest.mark.parametrize("power", [1.0, 1.3])
def test_intervals_of_weighted_rows_hold(weigh, power, replications):
    rng = np.random.default_rng(5)
    p, missed, sets = rng.uniform(0.05, 0.95, 400), np.zeros(2), replications(100, 200)
    weights, truth, bins = weigh(p, rng.normal(size=400)), p**power, QuantileBinning(10).assign(p[:, None])
    share = weights / weights.sum()
    gap, mean = np.abs(np.bincount(bins, share * (p - truth))).sum(), share @ truth
    for _ in range(sets):
        (one,) = measures_of(as_sample(p, (rng.random(400) < truth).astype(int)), weights=weights)
        missed += not one.gap.low <= gap <= one.gap.high, not one.interval.low <= mean <= one.interval.high
    assert (stats.binom.sf(missed - 1, sets, 0.05) > 1e-3).all()


@pytest.mark.parametrize("low", [0.01, 0.2])
def test_intervals_hold_for_outcomes_that_overlap(low, replications):
    """Each outcome is decided by the sum of five shocks, four of which the next one shares."""
    held, held_as_if_independent, sets = 0, 0, replications(80, 200)
    for seed in range(sets):
        rng = np.random.default_rng([5, seed])
        p = rng.uniform(low, 3.0 * low, 300)
        sums = np.convolve(rng.normal(size=304), np.ones(5), "valid")
        sample = as_sample(p, (sums < np.sqrt(5.0) * special.ndtri(p)).astype(int))
        for lag in (5, 1):
            first = measures_of(sample, lag=lag)[0]
            holds = not first.interval.excludes(first.claimed) and first.gap.low <= 0.0
            held += holds * (lag == 5)
            held_as_if_independent += holds * (lag == 1)
    least = stats.binom(sets, 0.95).ppf(0.01)
    assert held_as_if_independent < least <= held


def test_tenths_show_what_a_frequency_hides():
    rng = np.random.default_rng(1)
    p = rng.uniform(0.05, 0.95, 1000)
    measure = measures_of(as_sample(p, rng.random(1000) < 0.5 + 0.6 * (p - 0.5)))[0]
    assert not measure.interval.excludes(measure.claimed)
    first, last = measure.tenths[0], measure.tenths[-1]
    assert (first.name, len(measure.tenths)) == ("claims of 10.0 %", 10)
    assert first.interval.low > first.claimed
    assert last.interval.high < last.claimed
    assert first.interval.confidence_level == pytest.approx(0.995)


def test_intervals_of_tenths_hold_together(replications):
    rng, missed, sets = np.random.default_rng(1), 0, replications(100, 400)
    p = rng.beta(1.0, 5.0, 200)
    for _ in range(sets):
        tenths = measures_of(as_sample(p, rng.random(200) < p))[0].tenths
        missed += any(one.interval.excludes(one.claimed) for one in tenths)
    # Intervals of few events are far below that.
    assert missed <= stats.binom(sets, 0.05).ppf(0.99)


def test_one_prediction_has_no_tenths():
    assert measures_of(as_sample(np.full(40, 0.3), np.arange(40) < 10))[0].tenths == ()


@pytest.mark.parametrize(
    "family", ["numbers", "counts", "vectors", "a coordinate", "20 members", "51 members", "a code"]
)
def test_rare_outliers_matter(family):
    """One in a hundred outcomes is far off, which intervals of up to 95 % hardly show."""
    rng, far = np.random.default_rng(4), "inside the 99.9 % "
    if family == "counts":
        m = rng.gamma(2.0, 3.0, 8000)
        predictions, y = ct.Poisson(m), rng.poisson(m)
        y[:80] *= 20
    elif family in ("numbers", "a code"):
        predictions, y = ct.Normal(np.zeros(8000), 1.0), rng.normal(size=8000)
        y[:80] = 50.0 * y[:80] if family == "numbers" else -999.0
    elif "members" in family:
        predictions, y = ct.Ensemble(rng.normal(size=(20_000, int(family[:2])))), rng.normal(size=20_000)
        y[:200] *= 100.0
        far = "within 5 deviations"
    else:
        predictions, y = ct.MvNormal(np.zeros((8000, 3)), np.ones((8000, 3))), rng.normal(size=(8000, 3))
        y[:80, slice(None) if family == "vectors" else 1] *= 50.0
    result = ct.calibration_test(predictions, y, n_resamples=19, rng=1)
    assert matters(result.measures) is True
    assert any(one.name.startswith(far) for one in result.measures)


def test_values_far_from_their_pools_are_counted_one_by_one():
    rng = np.random.default_rng(5)
    pools = rng.standard_t(2.0, size=(60, 8))
    (claim,) = of_far_values(pools, pools[:, 3])
    others = [np.delete(pools, j, axis=1) for j in range(8)]
    near = [np.abs(pools[:, j] - one.mean(axis=1)) <= 5.0 * one.std(axis=1, ddof=1) for j, one in enumerate(others)]
    assert claim.probability == pytest.approx(np.mean(near, axis=0))
    assert (claim.occurred == near[3]).all()
    assert not of_far_values(pools[:, :4], pools[:, 0])
