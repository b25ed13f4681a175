"""Rows and findings of numbers, vectors and counts, against formulas; ensembles by Student's t."""

import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest.estimators.combined.findings import findings_of
from caltest.estimators.combined.sums.numbers import FaultSums
from caltest.predictions.faults.numbers.errors import location_and_variance
from caltest.predictions.inputs.convert import as_sample

RNG = np.random.default_rng(8)
N, B = 40, 4
MEAN, SD = RNG.normal(size=N), RNG.uniform(0.5, 2.0, N)
TARGETS = MEAN + SD * RNG.normal(size=(B, N))


def rows_of(faults, name, targets):
    (some,) = [one for one in faults.compared if one.name == name]
    rows = some.rows(faults.seen(targets))
    assert rows.shape == (some.n_rows, len(targets))
    return rows


def cosine(values, j):
    return np.sqrt(2.0) * np.cos(np.pi * j * (stats.rankdata(values) - 0.5) / values.size)


def test_shares_are_those_of_the_weights():
    some, weights = TARGETS[0] > MEAN, np.arange(1.0, N + 1.0)
    for given in (None, weights, 3.0 * weights):
        share = ct.Normal(MEAN, SD).faults(given).seen(TARGETS[:1]).share_of(some)
        assert share == pytest.approx(np.average(some, weights=given), rel=1e-14)


def test_rows_of_faults_do_not_depend_on_how_many_are_computed_together(monkeypatch):
    predictions = ct.Normal(MEAN, SD)
    faults, weights = predictions.faults(), np.arange(1.0, N + 1.0)
    rows = FaultSums(predictions, None, faults)
    expected = rows(predictions, TARGETS, None)
    of_others = FaultSums(predictions, weights, predictions.faults(weights))(predictions, TARGETS, weights)
    monkeypatch.setattr(type(faults), "at_once", 3 * N)
    assert rows(predictions, TARGETS, None) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert rows(predictions, TARGETS, weights) == pytest.approx(of_others, rel=1e-12, abs=1e-12)


def test_rows_of_numbers():
    faults = ct.Normal(MEAN, SD).faults()
    z = (TARGETS - MEAN) / SD
    features = [np.ones(N), *(cosine(MEAN, j) for j in (1, 2, 3)), *(cosine(SD, j) for j in (1, 2))]
    assert rows_of(faults, "shift", TARGETS) == pytest.approx(np.array(features) @ z.T, abs=1e-9)
    assert rows_of(faults, "scale", TARGETS) == pytest.approx(np.array(features) @ (z**2).T, abs=1e-9)
    some, u = np.array([features[0], features[1]]), 2.0 * stats.norm.cdf(z) - 1.0
    cubes = some @ np.polynomial.hermite_e.HermiteE.basis(3)(z).T
    legendre = some @ (2.0 * np.polynomial.legendre.Legendre.basis(3)(u)).T
    assert rows_of(faults, "skew", TARGETS) == pytest.approx(np.concatenate([cubes, legendre]), abs=1e-8)


def test_far_outcomes_count_as_6_standard_deviations():
    faults = ct.Normal(MEAN, SD).faults()
    y = TARGETS.copy()
    y[:, 0] = MEAN[0] + 100.0 * SD[0]
    near = y.copy()
    near[:, 0] = MEAN[0] + 6.0 * SD[0]
    assert faults.rows(y) == pytest.approx(faults.rows(near), rel=1e-12)


def test_rows_of_vectors():
    mean, targets = RNG.normal(size=(N, 3)), RNG.normal(size=(B, N, 3))
    faults = ct.MvNormal(mean, np.ones((N, 3))).faults()
    z = targets - mean
    cross = [(z[:, :, a] * z[:, :, b]).sum(axis=1) for a, b in ((0, 1), (0, 2), (1, 2))]
    assert rows_of(faults, "correlation", targets) == pytest.approx(np.array(cross), abs=1e-9)
    assert rows_of(faults, "shift", targets) == pytest.approx(z.sum(axis=1).T, abs=1e-9)
    by = rows_of(faults, "scales by prediction", targets)
    assert by[:3] == pytest.approx(np.einsum("i,bia->ab", cosine(mean[:, 0], 1), z**2), abs=1e-9)
    crossed = rows_of(faults, "correlations by prediction", targets)
    expected = [(cosine(mean[:, 1], 1) * z[:, :, 0] * z[:, :, 2]).sum(axis=1)]
    assert crossed[3 + 1] == pytest.approx(expected[0], abs=1e-9)


def test_rows_of_counts():
    mean = RNG.uniform(0.5, 5.0, N)
    y = RNG.poisson(mean, (B, N))
    faults = ct.Poisson(mean).faults()
    r = (y - mean) / np.sqrt(mean)
    rows = rows_of(faults, "means", y)
    assert rows[0] == pytest.approx(r.sum(axis=1), abs=1e-9)
    assert rows[4] == pytest.approx((y - mean).sum(axis=1), abs=1e-9)
    centred = np.log(mean) - mean @ np.log(mean) / mean.sum()
    assert rows[5] == pytest.approx((y - mean) @ centred, abs=1e-9)
    zeros = rows_of(faults, "zeros", y)
    p0 = np.exp(-mean)
    assert zeros[0] == pytest.approx((((y == 0) - p0) / np.sqrt(p0 * (1.0 - p0))).sum(axis=1), abs=1e-9)


@pytest.mark.every(4)
@pytest.mark.parametrize(("m", "spread"), [(3, 0.8), (10, 0.7), (30, 1.4)])
@pytest.mark.parametrize("d", [1, 2])
def test_errors_of_ensembles_are_in_units_of_the_spread_of_the_members(m, spread, d):
    n = 4000
    centre = RNG.normal(size=(n, 1, d))
    members, y = centre + spread * RNG.normal(size=(n, m, d)), centre[:, 0] + RNG.normal(size=(n, d))
    ensemble = ct.Ensemble(members[..., 0] if d == 1 else members)
    first = findings_of(as_sample(ensemble, y[:, 0] if d == 1 else y))[0]
    assert first.kind == ("scale" if d == 1 else "common scale")
    assert first.estimate == pytest.approx(1.0 / spread, rel=0.05)
    width = first.interval.high - first.interval.low
    assert first.interval.low - width / 2.0 < 1.0 / spread < first.interval.high + width / 2.0


def test_sizes_and_intervals_of_a_normal_shift():
    z = RNG.normal(size=500) + 0.3
    first = findings_of(as_sample(ct.Normal(np.zeros(500), 1.0), z))[0]
    assert (first.kind, first.place) == ("shift", "")
    assert first.estimate == pytest.approx(z.mean(), abs=1e-4)
    assert tuple(first.interval) == pytest.approx(z.mean() + 1.96 / np.sqrt(500) * np.array([-1.0, 1.0]), abs=1e-4)
    gain = 500 * z.mean() ** 2 / 2.0 - np.log(500) / 2.0
    assert first.gain == pytest.approx(gain - np.log(9.0), abs=1e-3)


CENTRE, NOISE = np.random.default_rng(9).normal(size=(2, 2000))
SIGNS = np.where(np.random.default_rng(10).random(2000) < 0.5, -1.0, 1.0)
SHAPES = {
    "Student's t": (ct.StudentT(4.0, CENTRE, 1.0), np.random.default_rng(1).standard_t(4.0, 2000)),
    "no variance": (ct.StudentT(1.5, CENTRE, 1.0), np.random.default_rng(1).standard_t(1.5, 2000)),
    "Laplace": (ct.Laplace(CENTRE, 1.0), np.random.default_rng(1).laplace(size=2000)),
    "logistic": (ct.Continuous(stats.logistic(CENTRE)), np.random.default_rng(1).logistic(size=2000)),
    "two humps": (ct.Mixture([ct.Normal(CENTRE - 3.0, 0.5), ct.Normal(CENTRE + 3.0, 0.5)]), 3.0 * SIGNS + 0.5 * NOISE),
}


@pytest.mark.every(2)
@pytest.mark.parametrize("shape", SHAPES)
def test_sizes_are_those_of_the_errors_for_laws_of_every_shape(shape):
    """Not those of normal scores, of which the same errors are another number."""
    law, errors = SHAPES[shape]
    first = findings_of(as_sample(law, CENTRE + 1.4 * errors))[0]
    assert (first.kind, first.second) == ("scale", None)
    assert first.interval.low < 1.4 < first.interval.high
    deviation = 1.25 if shape == "no variance" else float(np.sqrt(law.moments()[1][0]))
    moved = findings_of(as_sample(law, CENTRE + 0.3 * deviation + errors))[0]
    assert moved.kind == "shift"
    if shape != "no variance":
        assert moved.interval.low < 0.3 < moved.interval.high


def test_a_second_fault_of_other_shapes_has_its_size_too():
    law, errors = SHAPES["Student's t"]
    deviation = float(np.sqrt(law.moments()[1][0]))
    first = findings_of(as_sample(law, CENTRE + 0.5 * deviation + 1.5 * errors))[0]
    sizes = {one.kind: one.interval for one in (first, first.second)}
    # Errors are first stretched and then moved, or first moved and then stretched.
    assert sizes["scale"].low < 1.5 < sizes["scale"].high
    assert sizes["shift"].low < 0.5 / (1.0 if first.kind == "shift" else 1.5) < sizes["shift"].high


def test_predictions_without_spread_that_are_right_say_nothing():
    sd = np.where(np.arange(60) < 30, 0.0, 1.0)
    z = RNG.normal(size=60)
    first = findings_of(as_sample(ct.Normal(np.zeros(60), sd), np.where(sd == 0.0, 0.0, 3.0 * z)))[0]
    assert first.kind == "scale"
    assert first.estimate == pytest.approx(3.0 * np.sqrt(np.mean(z[30:] ** 2)), rel=1e-3)


def test_waves_say_what_their_numbers_are():
    rng = np.random.default_rng(1)
    mean = rng.normal(size=2000)
    noise = rng.normal(size=2000)
    wide = ct.calibration_test(ct.Normal(mean, 1.0), mean + (0.6 + 0.5 * np.abs(mean)) * noise, n_resamples=99, rng=1)
    assert wide.finding.words.startswith("predictions are too narrow or too wide in places: errors are 1.")
    assert " times as large as predicted where predicted means are from -3." in wide.finding.words
    high = ct.calibration_test(ct.Normal(mean, 1.0), mean + 0.25 * (mean**2 - 1.0) + noise, n_resamples=99, rng=1)
    assert high.finding.words.startswith("outcomes are off in places: +0.")
    assert high.finding.words.count("predicted standard deviations where predicted means are from -3.") == 1


def test_laws_without_variances_are_compared_at_their_medians():
    law = ct.StudentT([1.0, 1.5, 2.0], [1.0, -2.0, 0.5], [1.0, 2.0, 0.1])
    location, variance = location_and_variance(law)
    assert location == pytest.approx([1.0, -2.0, 0.5])
    assert variance.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("m", [5, 12])
def test_skewed_ensembles_that_are_right_have_no_findings(m):
    """Residuals of skewed draws have another centre, which is that of members among all others."""
    rng = np.random.default_rng(4)
    values = rng.normal(size=(2000, 1)) + rng.exponential(size=(2000, m + 1))
    assert findings_of(as_sample(ct.Ensemble(values[:, 1:]), values[:, 0]))[0].gain <= 0.0


def test_sizes_of_bounded_laws_are_those_of_outcomes():
    rng = np.random.default_rng(4)
    u, law = rng.random(2000), ct.Continuous(stats.uniform(np.zeros(2000), 1.0))
    z = stats.norm.ppf(u)
    for moved, kind in ((z + 0.3, "shift"), (0.6 * z, "scale")):
        y = stats.norm.cdf(moved)
        size = (y.mean() - 0.5) * np.sqrt(12.0) if kind == "shift" else 4.0 * np.abs(y - 0.5).mean()
        first = findings_of(as_sample(law, y))[0]
        assert first.kind == kind
        assert first.estimate == pytest.approx(size, abs=0.03)


def test_places_of_a_second_fault_are_named_in_the_given_claims():
    rng = np.random.default_rng(7)
    p = np.linspace(0.01, 0.99, 3000)
    faults = ct.Bernoulli(p).faults()
    seen = faults.seen((rng.random(3000) < p).astype(int)[None])
    (odds,) = [one for one in faults.kinds if one.kind == "frequency"]
    after, _ = faults.after(seen, odds.corrected(seen, 0, -1.0))
    places = [[w.place(s) for s in range(w.n_siblings)] for f in (faults, after) for w in f.kinds if w.kind == "window"]
    assert places[0] == places[1]


def test_outcomes_that_are_certain_do_not_hide_a_shift_in_units():
    rng = np.random.default_rng(4)
    mean, sd = rng.normal(size=400), np.exp(rng.normal(size=400))
    y = mean + np.where(np.arange(400) < 5, 0.0, 0.4 + sd * rng.normal(size=400))
    sd[:5] = 0.0
    first = findings_of(as_sample(ct.Normal(mean, sd), y))[0]
    assert (first.kind, first.second) == ("shift in units", None)
    assert first.interval.low < 0.4 < first.interval.high


@pytest.mark.parametrize("without_spread", [1.0, 0.5])
def test_members_that_are_equal_are_not_measured_by_their_spread(without_spread):
    rng = np.random.default_rng(1)
    y, centre = rng.normal(size=(2, 200))
    spread = np.where(np.arange(200) < 200 * without_spread, 0.0, 1.0)
    members = centre[:, None] + spread[:, None] * rng.normal(size=(200, 9))
    finding = findings_of(as_sample(ct.Ensemble(members), y))[0]
    said = "errors are more than 1,000 times as large as predicted"
    assert str(finding) == f"predictions have hardly any spread: {said}"


def test_dry_forecasts_do_not_say_how_far_ensembles_of_rain_are_too_narrow(replications):
    """Half of the forecasts and more are dry: what their members lack is no size of errors."""
    factors = {1.0: [], 0.6: []}
    for seed in range(replications(20, 100)):
        rng = np.random.default_rng(seed)
        centre, errors = rng.normal(-1.2, 1.0, 500), rng.normal(size=(500, 21))
        for spread, found in factors.items():
            members = np.maximum(centre[:, None] + spread * errors[:, 1:], 0.0)
            findings = findings_of(as_sample(ct.Ensemble(members), np.maximum(centre + errors[:, 0], 0.0)))
            found.append(next((one.estimate for one in findings if one.kind == "scale"), 1.0))
    assert 0.95 < np.exp(np.log(factors[1.0]).mean()) < 1.1
    # Root mean squares of errors are 1.8 times as large as those of members.
    assert 1.5 < np.exp(np.log(factors[0.6]).mean()) < 3.0
    assert max(factors[0.6]) < 5.0


def test_errors_that_most_are_beyond_have_another_spread_and_no_heavy_tails():
    """Outcomes of other rows, and those whose logarithms were predicted: the shape is that of the means."""
    rng = np.random.default_rng(1)
    m, s = rng.normal(0.0, 2.0, 1000), np.exp(0.4 * rng.normal(size=1000))
    y = m + s * rng.normal(size=1000)
    found = findings_of(as_sample(ct.Normal(m, s), rng.permutation(y)))[0]
    assert (found.kind, found.second.kind) == ("slope", "added noise")
    assert found.words.startswith("outcomes do not follow predicted means")
    logs = rng.normal(2.0, 0.5, 1000)
    found = findings_of(as_sample(ct.Normal(logs, 0.3), np.exp(logs + 0.3 * rng.normal(size=1000))))
    shapes = {"heavy tails", "outliers", "skew"}
    assert not shapes & {found[0].kind, *(one.kind for one in found if one.gain > 0.0)}
    vectors = ct.MvNormal(np.zeros((1000, 2)), np.ones(1000))
    kinds = [
        one.kind for one in findings_of(as_sample(vectors, 4.0 * rng.standard_t(3.0, (1000, 2)))) if one.gain > 0.0
    ]
    assert kinds
    assert not {*shapes, "heavy tails of all"} & set(kinds)


def test_heavy_tails_are_said_where_they_are_seen_best():
    rng = np.random.default_rng(2)
    law = ct.Normal(np.zeros(300), 1.0)
    z = rng.standard_t(2.2, 300)
    z = np.clip(0.12 * z / np.median(np.abs(z)), -2.9, 2.9)
    z[0] = 7.0
    words = findings_of(as_sample(law, z))[0].words
    assert "are within 0.5 standard deviations instead of 38 %" in words


@pytest.mark.every(3)
@pytest.mark.parametrize("seed", [1, 2, 4])
def test_a_line_that_bends_at_both_ends_is_two(seed):
    """Squares of the means: spreads explain them as well as a bend at one end, but say less of them."""
    rng = np.random.default_rng(seed)
    m, s = rng.normal(0.0, 2.0, 2000), np.exp(0.4 * rng.normal(size=2000))
    found = findings_of(as_sample(ct.Normal(m, s), m + s * rng.normal(size=2000) + 0.14 * m**2))
    assert {found[0].kind, found[0].second.kind} == {"local slope"}
    places = [one.place.removeprefix("where predicted means are ") for one in (found[0], found[0].second)]
    assert sorted(place.rpartition(" ")[0] for place in places) == ["above", "at most"]


def ensemble(rng, n_members, draw):
    """Members around a centre, and errors of the outcome from it."""
    centre = 1.5 * rng.normal(size=2000)
    return centre, ct.Ensemble(centre[:, None] + draw((2000, n_members))), draw(2000)


def test_places_of_ensembles_are_named():
    rng = np.random.default_rng(2)
    centre, p, e = ensemble(rng, 12, lambda size: rng.normal(size=size))
    found = ct.calibration_test(p, centre + 0.5 * (centre > 0.0) + e, n_resamples=19, rng=1).finding
    assert found.kind == "local shift"
    assert found.words.startswith("outcomes are above what was predicted where predicted means are above ")
    found = ct.calibration_test(p, 0.75 * centre + e, n_resamples=19, rng=1).finding
    assert found.kind == "slope"
    assert found.words.startswith("outcomes are too low where predicted means are largest, by 0.")
    found = ct.calibration_test(p, centre + 0.25 * (centre**2 - 1.5**2) + e, n_resamples=19, rng=1).finding
    assert found.kind == "wave of shifts"


@pytest.mark.every(3)
@pytest.mark.parametrize("n_members", [5, 20])
@pytest.mark.parametrize("shape", [None, 1.0])
def test_places_of_calibrated_ensembles_are_as_those_of_their_members(n_members, shape):
    """Small ensembles of skewed draws have errors that depend on their mean, and so have their members among others."""
    rng = np.random.default_rng(3)
    centre, p, e = ensemble(
        rng, n_members, lambda size: rng.normal(size=size) if shape is None else rng.gamma(shape, size=size) - shape
    )
    places = [one for one in findings_of(as_sample(p, centre + e)) if one.kind in {"local shift", "slope"}]
    assert all(one.gain < 0.0 for one in places)
    wide = findings_of(as_sample(p, centre + 1.6 * e))[0]
    assert wide.kind == "scale"


@pytest.mark.parametrize("n_members", [4, 5])
def test_shifts_by_the_mean_are_looked_for_from_five_members_on(n_members):
    pools = np.random.default_rng(1).normal(size=(40, n_members + 1))
    sample = as_sample(ct.Ensemble(pools[:, 1:]), pools[:, 0])
    assert bool(sample.predictions.law.faults().following(sample.targets)) == (n_members == 5)


@pytest.mark.parametrize("far", [1e20, 1e200])
@pytest.mark.parametrize("law", ["normal", "vectors", "gamma", "exponential"])
def test_one_outcome_beyond_all_digits_is_an_outlier(law, far):
    """Squares of it would be all that sums show, or no numbers; and a factor would make it likely, but no other."""
    rng = np.random.default_rng(7)
    n = 200
    shape, size = rng.uniform(1.0, 4.0, n), np.exp(rng.normal(size=n))
    predictions = {
        "normal": ct.Normal(np.zeros(n), np.ones(n)),
        "vectors": ct.MvNormal(np.zeros((n, 2)), np.ones((n, 2))),
        "gamma": ct.Gamma(shape, np.ones(n)),
        "exponential": ct.Continuous(stats.expon(scale=size)),
    }[law]
    y = np.array(predictions.sample(rng))
    y[(-1,) + (0,) * (y.ndim - 1)] = far
    result = ct.calibration_test(predictions, y, n_resamples=39, rng=1)
    assert result.pvalue == 1 / 40
    assert result.finding.kind == "outliers"
    assert result.finding.interval.low < 1.0 / n < result.finding.interval.high
    assert "times as large as predicted" in result.finding.words
    assert "with errors at least 1e+07 times" in result.finding.words or law in ("gamma", "exponential")


def test_positive_outcomes_beyond_all_digits_are_so_many_times_as_large():
    rng = np.random.default_rng(8)
    predictions = ct.Gamma(rng.uniform(1.0, 4.0, 200), np.ones(200))
    found = findings_of(as_sample(predictions, 1e4 * predictions.sample(rng)))[0]
    assert found.kind == "factor"
    assert found.interval.low < 1e4 < found.interval.high


@pytest.mark.parametrize(("of", "place"), [("mean", "means are above"), ("spread", "variances are at most")])
def test_scales_of_ensembles_are_named_in_places(of, place):
    rng = np.random.default_rng(9)
    centre, spread = rng.normal(size=(800, 1)), np.exp(0.5 * rng.normal(size=(800, 1)))
    y = centre + np.where(centre > 0.0 if of == "mean" else spread < 1.0, 2.2, 1.0) * spread * rng.normal(size=(800, 1))
    found = findings_of(as_sample(ct.Ensemble(centre + spread * rng.normal(size=(800, 10))), y[:, 0]))[0]
    said = [one for one in (found, found.second) if one is not None and one.kind == "local scale"]
    assert len(said) == 1
    assert place in said[0].words or ("are above" in said[0].place and "too wide" in said[0].words)


def test_heavy_tailed_ensembles_that_are_right_have_no_scale(replications):
    """Sums of squares of their residuals vary more than those of normal ones."""
    found = 0
    for seed in range(replications(40, 200)):
        rng = np.random.default_rng([seed, 3])
        pools = np.exp(rng.normal(size=(150, 1)) + rng.normal(size=(150, 31)))
        first = findings_of(as_sample(ct.Ensemble(pools[:, 1:]), pools[:, 0]))[0]
        found += first.gain > 0.0 and "scale" in first.kind
    assert found <= replications(2, 10)


def test_scales_follow_the_wave_that_is_there():
    """Not the slowest of an odd number of half periods, which squares that are not centred follow most."""
    mean = np.linspace(-2.0, 2.0, 4000)
    scores = stats.norm.ppf(np.random.default_rng(1).permutation(np.linspace(0.0, 1.0, 4002)[1:-1]))
    errors = scores * (1.0 + 0.05 * np.sin(8.0 * np.pi * np.linspace(0.0, 1.0, 4000)))
    _, scales = ct.Normal(mean, 1.0).faults().following(mean + errors)
    assert [round(float(np.ptp(one.periods))) for one in scales.patterns] == [8]


@pytest.mark.parametrize(
    "law", [stats.expon, lambda scale: stats.invgauss(0.6, scale=scale), lambda scale: stats.gamma(3.0, scale=scale)]
)
@pytest.mark.parametrize("seed", range(3))
def test_positive_outcomes_of_every_law_are_so_many_times_as_large(law, seed):
    rng = np.random.default_rng(seed)
    predictions = ct.Continuous(law(scale=rng.uniform(1.0, 3.0, 1000)))
    found = findings_of(as_sample(predictions, 0.8 * predictions.sample(rng)))[0]
    assert found.kind == "factor"
    assert found.interval.low < 0.8 < found.interval.high
    assert "times as large as predicted" in found.words


def test_numbers_with_another_end_have_no_factor():
    ended = ct.Continuous(stats.uniform(0.0, np.ones(9))), ct.Continuous(stats.expon(1.0, np.ones(9)))
    for law in (*ended, ct.Beta(np.full(9, 2.0), 3.0), ct.Normal(np.full(9, 100.0), 1.0)):
        assert "factor" not in {one.kind for one in law.faults().kinds}


def of_a_shape(family, shape):
    """Predicted means that are a function of the right ones, for normal errors of standard deviation 0.5."""
    rng = np.random.default_rng(21)
    m, errors = rng.normal(size=2000), 0.5 * rng.normal(size=(2000, 21))
    y, said = m + errors[:, 0], shape(m)
    if family == "numbers":
        return as_sample(ct.Normal(said, np.full(2000, 0.5)), y)
    if family == "ensembles":
        return as_sample(ct.Ensemble(said[:, None] + errors[:, 1:]), y)
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    return as_sample(ct.QuantileForecast(levels, said[:, None] + 0.5 * stats.norm.ppf(levels)), y)


@pytest.mark.parametrize(("family", "name"), [("numbers", "predicted means"), ("quantiles", "middle quantiles")])
@pytest.mark.parametrize(("end", "side"), [("largest", 1.0), ("smallest", -1.0)])
def test_predictions_that_are_cut_off(family, name, end, side):
    first = findings_of(of_a_shape(family, lambda m: side * np.minimum(side * m, 0.5)))[0]
    assert (first.kind, first.place) == ("local shift", f"where {name} are {0.5 * side:g}, the {end}")
    assert side * first.estimate > 1.0


@pytest.mark.parametrize("family", ["numbers", "ensembles", "quantiles"])
def test_predictions_that_level_off_are_right_below(family):
    first = findings_of(of_a_shape(family, lambda m: np.where(m > 0.0, np.tanh(m), m)))[0]
    assert first.kind == "local slope"
    knot = float(
        first.words.partition("are above " if family == "numbers" else "down to ")[2].split(":")[0].split(";")[0]
    )
    assert 0.3 < knot < 0.9
    assert ("rise more" if family == "numbers" else "too high where") in first.words


def test_outcomes_that_level_off():
    rng = np.random.default_rng(22)
    m = rng.normal(size=2000)
    y = np.minimum(m, 0.6) + 0.5 * rng.normal(size=2000)
    first, *others = findings_of(as_sample(ct.Normal(m, np.full(2000, 0.5)), y))
    where, _, much = first.words.partition(": ")
    assert where in {f"outcomes {rise} where {first.place[6:]}" for rise in ("do not rise", "rise less than predicted")}
    assert 0.4 < float(first.place.rpartition(" ")[2]) < 0.8
    assert abs(float(much.partition(" ")[0])) < 0.2
    # Places nearby are no other faults.
    assert not [one.place for one in others if one.kind == first.kind and one.place.startswith(first.place[:32])]


def test_standard_deviations_with_a_floor():
    rng = np.random.default_rng(23)
    m, s = rng.normal(size=2000), np.exp(0.5 * rng.normal(size=2000))
    first = findings_of(as_sample(ct.Normal(m, np.maximum(s, 0.8)), m + s * rng.normal(size=2000)))[0]
    assert (first.kind, first.place) == ("local scale", "where predicted variances are 0.64, the smallest")
    assert 0.7 < first.estimate < 0.85


def test_outliers_are_clearly_larger_than_others():
    """Errors of Student's law are a share of larger ones, too, but no outliers."""
    rng = np.random.default_rng(24)
    m = rng.normal(size=2000)
    first = findings_of(as_sample(ct.StudentT(np.full(2000, 10.0), m, np.ones(2000)), m + rng.standard_t(2.5, 2000)))[0]
    assert {first.kind, first.second.kind} == {"heavy tails", "scale"}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("make", "ratio"),
    [
        (lambda m, rng: (ct.Gamma(np.ones(m.size), m), rng.gamma(3.0, m / 3.0)), 3.0**-0.5),
        (lambda m, rng: (ct.Gamma(np.full(m.size, 4.0), m / 4.0), rng.gamma(2.0, m / 2.0)), 2.0**0.5),
        (lambda m, rng: (ct.Beta(4.0 * m, 4.0 * (1.0 - m)), rng.beta(9.0 * m, 9.0 * (1.0 - m))), 0.5**0.5),
        (lambda m, rng: (ct.Beta(9.0 * m, 9.0 * (1.0 - m)), rng.beta(4.0 * m, 4.0 * (1.0 - m))), 2.0**0.5),
    ],
    ids=["exponential", "gamma", "beta, too wide", "beta, too narrow"],
)
def test_wider_laws_that_are_not_symmetric_are_not_shifted_too(make, ratio, seed):
    """Their scores have other means, too, although the means of the outcomes are right."""
    rng = np.random.default_rng([3, seed])
    predictions, y = make(rng.uniform(0.1, 0.9, 2000), rng)
    first = findings_of(as_sample(predictions, y))[0]
    assert first.kind == "scale"
    assert "with that corrected" not in first.words
    assert abs(np.log(first.estimate / ratio)) < 0.07


def test_words_on_tails_name_outcomes_only_where_these_agree():
    """Exponential errors have more of them far above, even if corrected for their skewness."""
    rng = np.random.default_rng(0)
    mean = rng.normal(size=2000)
    corrected = findings_of(as_sample(ct.Laplace(mean, 0.5**0.5), mean + rng.exponential(size=2000) - 1.0))[0].second
    assert corrected.words == "errors have lighter tails than predicted at the same spread"
    uniform = findings_of(as_sample(ct.Laplace(mean, 0.5**0.5), mean + rng.uniform(-1.7, 1.7, 2000)))[0]
    assert uniform.words == f"{corrected.words}: 0 % of the outcomes are in the outer 4.6 % of what was predicted"


def test_one_member_says_nothing_of_spreads_and_places():
    """The outcomes of a forecast of means are noisier than it, and follow it as they should."""
    rng = np.random.default_rng(6)
    mean = rng.normal(size=600)
    result = ct.calibration_test(ct.Ensemble(mean[:, None]), mean + rng.normal(size=600), n_resamples=99, rng=1)
    assert result.pvalue <= 0.05
    assert result.finding is None
