"""Rank histograms and their parts, redraws, xarray, bad input."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from printed import unfolded
from scipy import optimize, stats

import caltest as ct
from caltest.fields import weather
from caltest.fields.weather.crps import stochastic_parts
from caltest.fields.weather.histogram import average_rank, band_depth, reduced, variogram
from caltest.fields.weather.result import VerificationResult
from caltest.fields.weather.testing import Exchanged, Ranks, contrasts, parts_of


def of_counts(counts):
    """Members and outcomes with the ranks of a histogram."""
    outcomes = np.repeat(np.arange(len(counts)), counts) - 0.5
    return np.tile(np.arange(len(counts) - 1.0), (len(outcomes), 1)), outcomes


def rain(rng, n, m, n_stations=1):
    """Calibrated forecasts, most values of which are 0."""
    noise = rng.normal(size=(n, 1, m + 1)) + rng.normal(size=(n, n_stations, m + 1))
    values = np.round(np.maximum(0.0, rng.normal(size=(n, 1, 1)) + noise - 1.5), 1)
    members, outcomes = values[..., :-1].swapaxes(1, 2), values[..., -1]
    return (members[..., 0], outcomes[:, 0]) if n_stations == 1 else (members, outcomes)


def test_pre_ranks_do_not_depend_on_the_unit():
    rng = np.random.default_rng(3)
    members, outcomes = 0.5 * rng.normal(size=(60, 9, 2)), rng.normal(size=(60, 2))
    one, *others = (
        weather.rank_histogram(unit * members, unit * outcomes, prerank=lambda pool: pool.sum(axis=1), rng=1)
        for unit in (1.0, 1e-13, 1e13)
    )
    assert one.pvalue < 0.01
    assert [other.pvalue for other in others] == [one.pvalue] * 2


def test_parts_of_jolliffe_and_primo():
    """A histogram of the Python package testrankhist, whose page gives 12.0 and 1.807."""
    result = weather.rank_histogram(*of_counts([3, 6, 3, 7, 4, 6, 4, 4, 2, 4, 1, 2, 3, 6, 2, 3]), rng=1)
    bias, spread, rest = result.rows[0].parts
    assert bias.statistic == pytest.approx(1.8070588235, rel=1e-9)
    assert bias.statistic + spread.statistic + rest.statistic == pytest.approx(12.0, rel=1e-9)
    # The vector of the U shape of the R package flatness.
    u = np.square(np.arange(-15, 16, 2.0)) - (16**2 - 1) / 3
    counts = np.array(result.rows[0].observed)
    assert spread.statistic == pytest.approx((counts @ u) ** 2 / (u @ u) / (60 / 16), rel=1e-9)
    assert [part.df for part in result.rows[0].parts] == [1, 1, 13]
    assert bias.approximate == pytest.approx(stats.chi2.sf(bias.statistic, 1), rel=1e-9)
    assert bias.pvalue == pytest.approx(bias.approximate, abs=0.05)
    assert bias.estimate == pytest.approx(counts @ (np.arange(16) - 7.5) / 16 / 60)


def test_covariances_with_ties_and_stations_are_those_of_all_outcomes():
    rng = np.random.default_rng(3)
    pools = rng.integers(0, 3, (2, 2, 4)).astype(float)
    ranks = Ranks.of(pools, np.ones((2, 2), dtype=bool), None)
    sums = Exchanged.of(ranks.table(), np.arange(2), rng.integers(4, size=(2, 19)), 16)
    histograms = []
    for chosen in itertools.product(range(4), repeat=2):
        counts = np.zeros(4)
        for date, station in itertools.product(range(2), range(2)):
            value, pool = pools[date, station, chosen[date]], np.sort(pools[date, station])
            counts[pool == value] += 1.0 / np.count_nonzero(pool == value)
        histograms.append(counts)
    assert sums.expected == pytest.approx(np.mean(histograms, axis=0))
    assert sums.covariance == pytest.approx(np.cov(np.array(histograms).T, bias=True))
    assert sums.observed == pytest.approx(histograms[-1])
    parts, d = parts_of(sums, contrasts(4)), histograms[-1] - sums.expected
    assert parts.statistics.sum(axis=0)[0] == pytest.approx(d @ np.linalg.pinv(sums.covariance) @ d)
    for unit in (3e-4, 1e4):
        scaled = sums.turned(unit * np.eye(4))
        assert parts_of(scaled, contrasts(4)).df == parts.df
        np.testing.assert_allclose(parts_of(scaled, contrasts(4)).statistics, parts.statistics, rtol=1e-6, atol=1e-9)


@pytest.mark.every(2)
@pytest.mark.parametrize("ties", ["random", "shared"])
def test_calibrated_rain_is_rejected_at_the_level(ties, replications):
    rejections, outside, n_sets = 0, 0, replications(40, 200)
    for seed in range(n_sets):
        rng = np.random.default_rng((5, seed))
        result = weather.rank_histogram(*rain(rng, 50, 9), ties=ties, n_resamples=99, rng=seed)
        rejections += result.pvalue <= 0.05
        row = result.rows[0]
        outside += bool(((np.array(row.observed) < row.lowest) | (np.array(row.observed) > row.highest)).any())
    low, high = stats.binom.interval(0.99, n_sets, 0.05)
    assert low <= rejections <= high
    assert outside <= high


@pytest.mark.parametrize(
    ("shift", "scale", "words"),
    [
        (0.5, 1.0, "members too high"),
        (-0.5, 1.0, "members too low"),
        (0.0, 0.6, "members too close to each other"),
        (0.0, 1.8, "members too far from each other"),
    ],
)
def test_faults_are_named(shift, scale, words):
    rng = np.random.default_rng(4)
    result = weather.rank_histogram(shift + scale * rng.normal(size=(300, 9)), rng.normal(size=300), rng=1)
    assert words in result.why()
    part = {part.words: part for part in result.rows[0].parts}[words]
    assert not part.interval.low <= 0.0 <= part.interval.high
    assert words in result.sentence()
    assert result.verdict() == "reject calibration at the 5 % level"


def test_stations_of_a_date_count_as_one():
    """The same values at 20 stations say no more than those of one."""
    rng = np.random.default_rng(6)
    members, outcomes = 0.8 * rng.normal(size=(60, 9)), rng.normal(size=60)
    one = weather.rank_histogram(members, outcomes, ties="shared", rng=1)
    many = weather.rank_histogram(
        np.repeat(members[..., None], 20, axis=2), np.repeat(outcomes[:, None], 20, 1), ties="shared", rng=1
    )
    assert many.pvalue == one.pvalue
    assert many.n == 20 * one.n
    assert many.rows[0].parts[1].interval.ends == pytest.approx(one.rows[0].parts[1].interval.ends)


def overlapping(rng, n, horizon):
    """Calibrated members for a first-order autoregression some steps ahead."""
    y = np.zeros(n + horizon + 100)
    for t in range(1, len(y)):
        y[t] = 0.8 * y[t - 1] + rng.normal()
    y = y[100:]
    spread = np.sqrt(sum(0.8 ** (2 * step) for step in range(horizon)))
    return 0.8**horizon * y[:n, None] + spread * rng.normal(size=(n, 9)), y[horizon:]


def test_overlapping_forecasts_need_their_horizon(replications):
    right, wrong, n_sets = 0, 0, replications(40, 150)
    for seed in range(n_sets):
        data = overlapping(np.random.default_rng((7, seed)), 60, 3)
        right += weather.rank_histogram(*data, horizon=3, n_resamples=99, rng=seed).pvalue <= 0.05
        wrong += weather.rank_histogram(*data, n_resamples=99, rng=seed).pvalue <= 0.05
    most = stats.binom.ppf(0.995, n_sets, 0.05)
    assert right <= most < wrong
    result = weather.rank_histogram(*data, rng=1)
    assert "pass horizon=h" in result.notes[0]
    result = weather.rank_histogram(*data, horizon=3, rng=1)
    assert result.pvalue_kind == "bound"
    assert f"{result.pvalue:.3g} (upper bound)" in str(result)
    assert f"p <= {result.pvalue:.3g}," in result.sentence()
    assert result.rows[0].lowest == ()
    assert result.rows[0].parts[0].approximate is None
    assert result.notes == ()


def test_intervals_of_overlapping_forecasts_add_covariances_of_fewer_dates_apart():
    members, y = overlapping(np.random.default_rng(1), 200, 3)
    bias = weather.rank_histogram(members, y, horizon=3, n_resamples=19, rng=1).rows[0].parts[0]
    ranks = ((members < y[:, None]).sum(axis=1) + 0.5) / 10.0 - 0.5
    sums, freedom = ranks - ranks.mean(), 200 / 3 - 1.0
    variance = sums @ sums + 2.0 * (sums[:-1] @ sums[1:] + sums[:-2] @ sums[2:])
    reach = stats.t.ppf(0.975, freedom) * np.sqrt(variance * (freedom + 1.0) / freedom) / 200
    assert bias.estimate == pytest.approx(ranks.mean(), rel=1e-12)
    assert list(bias.interval) == pytest.approx([ranks.mean() - reach, ranks.mean() + reach], rel=1e-12)


def test_pvalues_that_are_adjusted_for_several_rows_are_bounds():
    rng = np.random.default_rng(1)
    members, y = rng.normal(size=(60, 9)), rng.normal(size=60)
    one, two = (weather.exceedances(members, y, levels, n_resamples=99, rng=1) for levels in ([0.0], [0.0, 0.5]))
    assert (one.pvalue_kind, two.pvalue_kind) == ("exact", "bound")
    assert f"{two.pvalue:.3g} (upper bound, adjusted for all " in str(two)
    assert f"p <= {two.pvalue:.3g}" in two.sentence()


def test_preranks():
    pool = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, -1.0]])
    assert band_depth(pool) == pytest.approx([((4 - 1) * 0 + (4 - 2) * 1) / 2, 2.0, ((4 - 3) * 2) / 2, 0.0])
    assert average_rank(np.array([[5.0, 0.0], [1.0, 2.0], [3.0, 1.0], [9.0, 7.0]])).tolist() == [2.0, 2.0, 2.0, 4.0]
    assert variogram(pool)[3] == pytest.approx(-(16.0 / 2) / 4.0)
    assert variogram(pool)[0] == 0.0
    rng = np.random.default_rng(8)
    pools = rng.normal(size=(3, 4, 6))
    for kind in ("average", "band depth", "variogram", lambda one: one.max(axis=1)):
        function = weather.histogram.PRERANKS.get(kind, kind)
        whole, moved = reduced(pools, function), reduced(pools[:, :, ::-1], function)
        assert np.array_equal(whole, moved[:, :, ::-1])


def test_wrong_dependence_is_found_by_a_prerank_only():
    rng = np.random.default_rng(9)
    walk = np.cumsum(rng.normal(size=(200, 10, 6)), axis=2)
    members, outcomes = walk[:, :9], walk[:, 9]
    shuffled = rng.permuted(members, axis=1)
    assert weather.rank_histogram(members, outcomes, prerank="variogram", rng=1).pvalue > 0.05
    assert weather.rank_histogram(shuffled, outcomes, prerank="variogram", rng=1).pvalue < 0.01
    assert weather.rank_histogram(shuffled[..., 0], outcomes[:, 0], rng=1).pvalue > 0.05


def dataset():
    xarray = pytest.importorskip("xarray")
    rng = np.random.default_rng(10)
    times = np.datetime64("2020-01-01", "ns") + np.arange(40) * np.timedelta64(12, "h")
    leads = np.array([6, 24], dtype="timedelta64[h]").astype("timedelta64[ns]")
    coords = {"lead": leads, "time": times, "station": ["a", "b", "c"]}
    values = rng.normal(size=(2, 40, 3, 8))
    predictions = xarray.DataArray(
        values[..., 1:], {**coords, "member": range(7)}, ["lead", "time", "station", "member"]
    )
    return predictions, xarray.DataArray(values[..., 0], coords, ["lead", "time", "station"])


def test_named_dimensions():
    predictions, targets = dataset()
    result = weather.rank_histogram(predictions, targets, rng=1)
    assert [row.name for row in result.rows] == ["6 h", "24 h"]
    assert [bool(row.lowest) for row in result.rows] == [True, False]  # 24 h are two steps of time
    with pytest.raises(ValueError, match="got 2 dates, wanted at least 4 for a horizon of 2"):
        weather.rank_histogram(predictions.isel(time=slice(0, 2)), targets.isel(time=slice(0, 2)), rng=1)
    order = predictions.transpose("member", "station", "time", "lead").isel(time=slice(None, None, -1))
    again = weather.rank_histogram(
        order, targets.transpose("station", "lead", "time").isel(time=slice(None, None, -1)), rng=1
    )
    assert again.to_dict() == result.to_dict()
    shuffled = targets.isel(time=slice(None, None, -1), lead=[1, 0], station=[2, 0, 1])
    assert weather.rank_histogram(predictions, shuffled, rng=1).to_dict() == result.to_dict()
    plain = weather.rank_histogram(
        predictions[0].transpose("time", "member", "station").to_numpy(), targets[0].to_numpy(), horizon=1, rng=1
    )
    alone = weather.rank_histogram(predictions[:1], targets[:1], rng=1)
    assert plain.pvalue == alone.pvalue
    for found, where, kind in (
        (result, " at any lead time", "upper bound, adjusted for all lead times"),
        (alone, "", "exact"),
    ):
        assert found.verdict() == f"calibration is not rejected at the 5 % level{where}"
        assert f"({kind})" in str(found)
    assert (
        weather.rank_histogram(predictions.drop_vars(["lead", "time"]), targets.drop_vars(["lead", "time"]), rng=1)
        .rows[1]
        .name
        == "1"
    )


def test_lead_times_are_adjusted():
    predictions, targets = dataset()
    shifted = predictions + np.array([0.0, 2.0])[:, None, None, None]
    result = weather.rank_histogram(shifted, targets, horizon=1, rng=1)
    assert result.rejected() == ("24 h",)
    assert result.verdict() == "reject calibration at the 5 % level for 1 of 2 lead times: 24 h"
    assert result.why().startswith("24 h: members too high")
    assert [row.adjusted for row in result.rows] == [result["6 h"].pvalue, 2 * result["24 h"].pvalue]
    assert result.pvalue == min(row.adjusted for row in result.rows)


@pytest.mark.parametrize("name", ["number", "realization", "ensemble"])
def test_members_are_known_by_the_names_of_centres(name):
    predictions, targets = dataset()
    wanted = weather.rank_histogram(predictions, targets, rng=1)
    assert str(weather.rank_histogram(predictions.rename(member=name), targets, rng=1)) == str(wanted)


def test_wrong_named_dimensions():
    predictions, targets = dataset()
    for one, other, error, words in (
        (predictions.rename(member="run"), targets, ValueError, r'predictions.rename\(run="member"\)'),
        (predictions.rename(lead="step"), targets, ValueError, r'predictions.rename\(step="lead"\)'),
        (predictions, targets[0], ValueError, r"sel\(time=predictions.time \+ predictions.lead\)"),
        (predictions, targets.isel(time=slice(5)), ValueError, "other coordinates"),
        (predictions.isel(time=[0, 0, 1]), targets.isel(time=[0, 1]), ValueError, "other coordinates"),
        (predictions, targets.to_numpy(), TypeError, "wanted an xarray.DataArray"),
        (predictions.to_dataset(name="t2m"), targets, TypeError, r"a.*Dataset, wanted .* such as predictions\['t2m'\]"),
    ):
        with pytest.raises(error, match=words):
            weather.rank_histogram(one, other)


def test_missing_values():
    rng = np.random.default_rng(11)
    members, outcomes = rng.normal(size=(50, 5)), rng.normal(size=50)
    members[3, 2] = np.nan
    outcomes[7] = np.nan
    with pytest.raises(ValueError, match=r"missing member at date 3 \(2 cases in all\)"):
        weather.rank_histogram(members, outcomes)
    with pytest.raises(ValueError, match=r"missing outcome at date 3 \(1 case in all\)"):
        weather.rank_histogram(members[4:], outcomes[4:])
    result = weather.rank_histogram(members, outcomes, missing="drop", rng=1)
    assert (result.n, result.rows[0].n) == (48, 48)
    assert result.notes == ("2 of 50 cases had a missing value and were left out",)
    assert sum(result.rows[0].observed) == pytest.approx(48)
    masked = weather.rank_histogram(
        np.ma.masked_invalid(members), np.ma.masked_invalid(outcomes), missing="drop", rng=1
    )
    assert masked.to_dict() == result.to_dict()
    with pytest.raises(ValueError, match="no complete case"):
        weather.rank_histogram(np.full((4, 3), np.nan), np.zeros(4), missing="drop")


@pytest.mark.parametrize(
    ("members", "outcomes", "settings", "words"),
    [
        (np.zeros((4, 1)), np.zeros(4), {}, "got 1 member, wanted at least 2"),
        (np.zeros((1, 4)), np.zeros(1), {}, "got 1 date, wanted at least 2"),
        (np.zeros((5, 4)), np.zeros(5), {"horizon": 3}, "got 5 dates, wanted at least 6 for a horizon of 3"),
        (np.zeros((5, 4)), np.zeros(4), {}, r"targets: got shape \(4,\), wanted \(5,\)"),
        (np.zeros(5), np.zeros(5), {}, r"got shape \(5,\), wanted \(n, m\)"),
        ([[1.0, 2.0], [1.0]], [1.0, 2.0], {}, "rectangular array; wanted as many members at each date"),
        (np.where(np.arange(20) == 9, np.inf, 0.0).reshape(5, 4), np.zeros(5), {}, "infinite value at date 2, wanted"),
        (np.zeros((4, 5)), np.zeros(5), {}, r"numpy.moveaxis\(predictions, 0, 1\) if the first axis is that"),
        (np.zeros((5, 2, 4)), np.zeros((5, 2)), {}, r"numpy.moveaxis\(predictions, 2, 1\) if the last axis is that of"),
        (np.zeros((5, 4)), np.zeros(5), {"ties": "none"}, "ties"),
        (np.zeros((5, 4)), np.zeros(5), {"missing": "keep"}, "missing"),
        (np.zeros((5, 4)), np.zeros(5), {"prerank": "average"}, "at least 2 stations"),
        (np.zeros((5, 4, 2)), np.zeros((5, 2)), {"prerank": "mean"}, "prerank: got 'mean'"),
        (np.zeros((5, 4, 2)), np.zeros((5, 2)), {"prerank": np.mean}, "wanted \\(5,\\) finite numbers"),
        (np.zeros((5, 4, 2)), np.zeros((5, 2)), {"prerank": lambda pool: np.arange(5)}, "other values for vectors in"),
        (np.ones((5, 4, 2)) * [1, 2], np.ones((5, 2)) * [1, 3], {"prerank": "variogram"}, "a variogram of 2 stations"),
    ],
)
def test_bad_input(members, outcomes, settings, words):
    with pytest.raises(ValueError, match=words):
        weather.rank_histogram(members, outcomes, **settings)
    if "prerank" in settings:
        with pytest.raises(TypeError, match="prerank: got 3"):
            weather.rank_histogram(members, outcomes, prerank=3)


def test_constant_members():
    """Members that are all equal have outcomes below, at or above them; equal outcomes too say nothing."""
    rng = np.random.default_rng(12)
    result = weather.rank_histogram(np.zeros((60, 5)), rng.normal(size=60), rng=1)
    assert "members too close to each other" in result.why()
    result = weather.rank_histogram(np.zeros((60, 5)), np.zeros(60), ties="shared", rng=1)
    assert result.pvalue == 1.0
    assert result.notes == ("the values of each date are all equal, so that they say nothing",)


def test_results():
    rng = np.random.default_rng(13)
    members, outcomes = rng.normal(size=(40, 5)), rng.normal(size=40)
    few = weather.rank_histogram(members, outcomes, n_resamples=9, rng=1)
    assert few.verdict() == "undecided at the 5 % level: so few redraws cannot reject; take n_resamples=20 or more"
    bands = [weather.rank_histogram(members, outcomes, n_resamples=number, rng=1).rows[0].lowest for number in (18, 19)]
    assert [bool(one) for one in bands] == [False, True]
    result = weather.rank_histogram(ct.Ensemble(members), outcomes, rng=1)
    assert result.to_dict() == weather.rank_histogram(np.sort(members), outcomes, rng=1).to_dict()
    with pytest.raises(TypeError, match="got Normal predictions"):
        weather.rank_histogram(ct.Normal(outcomes, 1.0), outcomes)
    assert [entry["part"] for entry in result.row_entries()] == ["bias", "spread", "rest", "serial"]
    assert "jolliffe2008" in result.bibtex()
    bars = result.bars()
    assert [(bar.name, bar.reference) for bar in bars] == [("bias", 0.0), ("spread", 0.0)]
    assert result.sentence().startswith("The hypothesis that outcome and members of a date are exchangeable was not")


def test_picture():
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    rng = np.random.default_rng(14)
    result = weather.rank_histogram(0.5 * rng.normal(size=(100, 5)), rng.normal(size=100), rng=1)
    (ax,) = ct.plots.verification(result, axes=[Figure().add_subplot()])
    assert [bar.get_height() for bar in ax.patches] == list(result.rows[0].observed)
    assert ax.get_ylabel() == "outcomes"
    with pytest.raises(ValueError, match="axes: got 2, wanted 1"):
        ct.plots.verification(result, axes=Figure().subplots(1, 2))
    with pytest.raises(TypeError, match="result: got int"):
        ct.plots.verification(3)


def test_parts_of_the_crps_are_those_of_sums_over_members():
    """Slow twins: gaps of each case in turn, and isotonic regression by scipy at each threshold."""
    rng = np.random.default_rng(15)
    members, outcomes = rain(rng, 60, 4)
    scores = weather.crps_decomposition(members, outcomes, n_resamples=9, rng=1).rows[0].scores
    distance = np.abs(members - outcomes[:, None]).mean()
    spread = np.abs(members[:, :, None] - members[:, None]).mean()
    assert scores["CRPS"] == pytest.approx(distance - spread / 2, rel=1e-12)
    assert scores["fair CRPS"] == pytest.approx(distance - spread / 2 * 4 / 3, rel=1e-12)
    assert scores["reliability"] + scores["potential"] == pytest.approx(scores["CRPS"], rel=1e-12)
    total = scores["miscalibration"] - scores["discrimination"] + scores["uncertainty"]
    assert total == pytest.approx(scores["CRPS"], rel=1e-12)
    values = np.unique([*members.ravel(), *outcomes])
    gained = 0.0
    for low, high in itertools.pairwise(values):
        p, y = (members > low).mean(axis=1), (outcomes > low).astype(float)
        groups = np.unique(p, return_inverse=True)[1]
        means = np.bincount(groups, y) / np.bincount(groups)
        fitted = optimize.isotonic_regression(means, weights=np.bincount(groups)).x[groups]
        gained += (high - low) * (np.square(p - y) - np.square(fitted - y)).mean()
    assert scores["miscalibration"] == pytest.approx(gained, rel=1e-9)
    own = np.sort(members, axis=1)
    reliability = 0.0
    for i in range(1, 4):
        gaps = own[:, i] - own[:, i - 1]
        above = np.clip(own[:, i] - np.maximum(outcomes, own[:, i - 1]), 0.0, gaps)
        reliability += gaps.mean() * (above.sum() / gaps.sum() - i / 4) ** 2
    below, beyond = np.maximum(own[:, 0] - outcomes, 0.0), np.maximum(outcomes - own[:, 3], 0.0)
    reliability += below.mean() * (below > 0).mean() + beyond.mean() * (beyond > 0).mean()
    assert scores["reliability"] == pytest.approx(reliability, rel=1e-9)


def test_isotonic_parts_of_the_crps_by_distributions():
    """Slow twin: at each threshold the largest over upper sets of the smallest mean over lower sets with a forecast."""
    for seed in range(4):
        rng = np.random.default_rng((25, seed))
        members, outcomes = rng.integers(0, 6, (6, 2)).astype(float), rng.integers(0, 12, 6) / 2.0
        own = np.sort(members, axis=1)
        below = (own[:, None] <= own).all(axis=2)
        subsets = [np.array(one) for one in itertools.product([False, True], repeat=6)]
        upper = [one for one in subsets if not (below & one[:, None] & ~one).any()]
        values, parts = np.unique([*members.ravel(), *outcomes]), np.zeros(3)
        for low, high in itertools.pairwise(values):
            p, y = (members > low).mean(axis=1), outcomes > low
            fitted = [
                max(min(y[one & ~other].mean() for other in upper if not other[i]) for one in upper if one[i])
                for i in range(6)
            ]
            loss, own_loss, of_all = (np.square(q - y).mean() for q in (p, np.array(fitted), y.mean()))
            parts += (high - low) * np.array([loss - own_loss, of_all - own_loss, of_all])
        settings = {"n_resamples": 9, "rng": 1}
        found = weather.crps_decomposition(members, outcomes, isotonic="distributions", **settings).rows[0].scores
        assert [found[name] for name in ("miscalibration", "discrimination", "uncertainty")] == pytest.approx(parts)
        assert found["CRPS"] == pytest.approx(parts[0] - parts[1] + parts[2])
        pairs = list(itertools.combinations(np.unique(own, axis=0), 2))
        ordered = [(one <= other).all() or (one >= other).all() for one, other in pairs]
        assert found["ordered pairs"] == pytest.approx(np.mean(ordered))
        assert min(parts) >= 0.0
        apart = weather.crps_decomposition(members, outcomes, **settings).rows[0].scores
        assert apart["uncertainty"] == pytest.approx(parts[2])
    with pytest.raises(ValueError, match="got 2001 cases of a lead time, wanted at most 2000"):
        stochastic_parts(rng.normal(size=(2001, 2)), np.zeros(2001), 0.0)
    with pytest.raises(ValueError, match="isotonic"):
        weather.crps_decomposition(members, outcomes, isotonic="all")


def test_redrawn_crps_is_that_of_members_and_outcomes_exchanged():
    """If the redraws choose another value of each date, they are what a call with it as the outcome computes."""
    rng = np.random.default_rng(16)
    pools = rng.normal(size=(30, 1, 6))
    chosen = rng.integers(6, size=30)
    whole = weather.crps_decomposition(pools[:, 0, :5], pools[:, 0, 5], n_resamples=9, rng=1).rows[0]
    kept = np.arange(6) != chosen[:, None]
    moved = pools[:, 0][kept].reshape(30, 5), pools[np.arange(30), 0, chosen]
    other = weather.crps_decomposition(*moved, n_resamples=9, rng=1).rows[0]
    ranks = Ranks.of(pools, np.ones((30, 1), dtype=bool), None)
    table = weather.crps._table(np.sort(pools, axis=2), ranks.low, np.ones((30, 1), dtype=bool))
    sums = Exchanged.of(table, np.arange(30), chosen[:, None], 84)
    widths, shares = weather.crps._gaps(sums, 30.0)
    found = (widths * (shares - np.arange(6) / 5) ** 2).sum(axis=1) / 30
    assert found == pytest.approx([whole.scores["reliability"], other.scores["reliability"]], rel=1e-12)


def test_reliability_of_the_crps_has_its_level_and_finds_faults(replications):
    calibrated, narrow, n_sets = 0, 0, replications(25, 150)
    for seed in range(n_sets):
        rng = np.random.default_rng((18, seed))
        members, outcomes = rain(rng, 50, 5)
        calibrated += weather.crps_decomposition(members, outcomes, n_resamples=59, rng=seed).pvalue <= 0.05
        if seed < 10:
            values = rng.normal(size=(50, 6))
            data = 0.5 * values[:, 1:], values[:, 0]
            narrow += weather.crps_decomposition(*data, n_resamples=59, rng=seed).pvalue <= 0.05
    low, high = stats.binom.interval(0.99, n_sets, 0.05)
    assert low <= calibrated <= high
    assert narrow > 5


def test_frequencies_of_exceedances():
    """Groups and redraws are those of a loop over cases; statistics those of the differences of all outcomes."""
    rng = np.random.default_rng(19)
    pools = rng.normal(size=(2, 2, 5))
    members, outcomes = pools[..., :-1].swapaxes(1, 2), pools[..., -1]
    result = weather.exceedances(members, outcomes, 0.3, n_resamples=19, rng=1)
    hits, sizes, counts = [], [], []
    for chosen in itertools.product(range(5), repeat=2):
        one = np.zeros((2, 5))
        for date, station in itertools.product(range(2), range(2)):
            hit = pools[date, station, chosen[date]] > 0.3
            group = np.count_nonzero(pools[date, station] > 0.3) - hit
            one[:, group] += [1.0, hit]
        sizes.append(one[0])
        hits.append(one[1])
        counts.append(one[1].sum())
    expected = np.array([h / s if s else 0.0 for h, s in zip(np.sum(hits, 0), np.sum(sizes, 0), strict=True)])
    row = result.rows[0]
    assert row.expected == pytest.approx(expected[np.array(sizes[-1]) > 0])
    seen = np.array(sizes[-1]) > 0
    assert row.observed == pytest.approx((hits[-1][seen] / sizes[-1][seen]).tolist())
    frequency = (counts[-1] - np.mean(counts)) ** 2 / np.var(counts)
    assert row.parts[0].statistic == pytest.approx(frequency)
    d = np.column_stack([counts, np.array(hits) - expected * np.array(sizes)])
    centred = d[-1] - d.mean(axis=0)
    total = centred @ np.linalg.pinv(np.cov(d.T, bias=True)) @ centred
    assert sum(part.statistic for part in row.parts) == pytest.approx(total)
    assert row.parts[0].estimate == pytest.approx(np.mean(outcomes > 0.3) - np.mean(members > 0.3))


def test_exceedances_have_their_level_and_find_faults(replications):
    rejections, found, n_sets = 0, 0, replications(40, 150)
    for seed in range(n_sets):
        members, outcomes = rain(np.random.default_rng((20, seed)), 60, 6)
        result = weather.exceedances(members, outcomes, [0.0, 1.0], n_resamples=79, rng=seed)
        rejections += result.pvalue <= 0.05
        if seed < 10:
            found += weather.exceedances(members + 0.4, outcomes, 0.3, n_resamples=79, rng=seed).pvalue <= 0.05
    assert rejections <= stats.binom.ppf(0.995, n_sets, 0.05)
    assert found > 5
    assert [row.name for row in result.rows] == ["above 0", "above 1"]
    wet = weather.exceedances(members + 5.0, outcomes, 2.0, rng=1)
    assert wet.why() == "above 2: the event is less frequent than in the members"
    with pytest.raises(ValueError, match="got 100, which no value exceeds"):
        weather.exceedances(members, outcomes, [0.0, 100.0])
    with pytest.raises(ValueError, match="thresholds: got 2 and then 1"):
        weather.exceedances(members, outcomes, [2.0, 1.0])


def test_transforms_of_rain():
    rejections = 0
    for seed in range(100):
        rng = np.random.default_rng((21, seed))
        mean = rng.normal(-1.0, 1.0, 60)
        y = np.maximum(0.0, mean + rng.normal(size=60))
        _, u = weather.pit_values(ct.Normal(mean, 1.0), y, rng=seed)
        rejections += stats.kstest(u, "uniform").pvalue <= 0.05
    low, high = stats.binom.interval(0.99, 100, 0.05)
    assert low <= rejections <= high
    wrong = weather.pit_values(ct.Normal(mean + 1.0, 1.0), y, rng=1)
    assert ct.calibration_test(*wrong, n_resamples=99, rng=1).pvalue <= 0.01
    assert np.array_equal(u[y > 0], stats.norm.cdf(y - mean)[y > 0])
    assert (u[y == 0] < stats.norm.cdf(-mean)[y == 0]).all()


def test_transforms_of_mixtures_of_no_rain_and_some():
    rng = np.random.default_rng(22)
    dry = rng.uniform(0.2, 0.8, 4000)
    y = np.where(rng.random(4000) < dry, 0.0, rng.gamma(2.0, size=4000))
    residuals, u = weather.pit_values(ct.Gamma(np.full(4000, 2.0), 1.0), y, dry=dry, rng=2)
    assert stats.kstest(u, "uniform").pvalue > 0.01
    assert len(residuals) == 4000
    for amounts, settings, words in (
        ([-1.0], {}, "amounts of at least 0"),
        ([0.0], {}, "the probability of 0 is 0"),
        ([1.0], {"dry": 2.0}, "dry: got 2"),
        ([1.0, 2.0], {}, "targets"),
    ):
        with pytest.raises(ValueError, match=words):
            weather.pit_values(ct.Gamma([2.0], 1.0), amounts, **settings)
    with pytest.raises(TypeError, match="continuous family"):
        weather.pit_values(ct.Poisson([1.0]), [1.0])
    with pytest.raises(TypeError, match=r"ct\.pit_values takes them"):
        weather.pit_values(ct.Ensemble([[0.0, 1.0]]), [0.0])


def test_energy_score():
    rng = np.random.default_rng(23)
    members, outcomes = rng.normal(size=(6, 4, 3)), rng.normal(size=(6, 3))
    scores = weather.crps_decomposition(members, outcomes, n_resamples=9, rng=1).rows[0].scores
    distance = np.linalg.norm(members - outcomes[:, None], axis=2).mean()
    spread = np.linalg.norm(members[:, :, None] - members[:, None], axis=3).mean()
    assert scores["energy score"] == pytest.approx(distance - spread / 2, rel=1e-12)
    assert scores["fair energy score"] == pytest.approx(distance - spread / 2 * 4 / 3, rel=1e-12)


def test_scores_of_other_packages():
    """scoringrules 0.10 (nrg, fair), properscoring 0.1 (ecdf) and scores 2.7 (ecdf, fair) give these."""
    i = np.arange(12.0)
    one = np.round(np.sin(np.outer(i + 1, np.arange(1.0, 6.0))) * 2 + 0.1 * i[:, None], 2)
    other = np.round(np.cos(np.outer(i + 2, [1.0, 3.0, 2.0, 5.0, 4.0])), 2)
    outcomes = np.stack([np.round(np.cos(i * 1.7) + 0.1 * i, 2), np.round(np.sin(i), 2)], axis=1)
    settings = {"n_resamples": 9, "rng": 1}
    found = weather.crps_decomposition(one, outcomes[:, 0], **settings).rows[0].scores
    assert found["CRPS"] == pytest.approx(0.7592333333333334, rel=1e-9)
    assert found["fair CRPS"] == pytest.approx(0.5905833333333333, rel=1e-9)
    found = weather.crps_decomposition(np.stack([one, other], axis=2), outcomes, **settings).rows[0].scores
    assert found["energy score"] == pytest.approx(0.9698310255864228, rel=1e-9)
    assert found["fair energy score"] == pytest.approx(0.7663298121045244, rel=1e-9)


def test_uneven_ranks_are_not_called_correlated(replications):
    notes, n_sets = 0, replications(40, 100)
    for seed in range(n_sets):
        rng = np.random.default_rng((24, seed))
        shared = rng.normal(size=(60, 1))
        outcomes = shared + 0.3 * rng.normal(size=(60, 3))
        members = 0.3 * rng.normal(size=(60, 5, 3))
        result = weather.rank_histogram(members, outcomes, n_resamples=199, rng=seed)
        notes += result.rows[0].serial.pvalue <= 0.05
        assert result.pvalue <= 0.01
    assert notes <= stats.binom.ppf(0.995, n_sets, 0.05)


def test_units_and_codes_are_asked_about():
    """A code in all members of a date, and the outcome, has any rank."""
    members, observed = forecasts_of_flows()
    result = weather.rank_histogram(members, observed, n_resamples=19, rng=1)
    assert not any("unit" in note or "values are" in note for note in result.notes)
    litres = weather.rank_histogram(1000.0 * members, observed, n_resamples=19, rng=1)
    assert "outcomes multiplied by 1000 or so would fit the predictions" in unfolded(litres)
    members[3] = -9999.0
    assert "9 values are -9999: is that a code for missing ones (pass nan)?" in unfolded(
        weather.rank_histogram(members, observed, n_resamples=19, rng=1)
    )


def forecasts_of_flows():
    rng = np.random.default_rng(6)
    flow = np.exp(1.0 + 0.5 * rng.normal(size=(100, 1))) * np.exp(0.2 * rng.normal(size=(100, 10)))
    return flow[:, :9], flow[:, 9]


def test_members_that_a_lead_time_never_has_are_named():
    xr = pytest.importorskip("xarray")
    values = np.random.default_rng(1).normal(size=(2, 30, 6))
    values[1, :, 4] = np.nan
    forecasts = xr.DataArray(values[..., :5], {"lead": [1, 2]}, ["lead", "time", "member"])
    outcomes = xr.DataArray(values[..., 5], {"lead": [1, 2]}, ["lead", "time"])
    with pytest.raises(ValueError, match="no complete case of lead 2: member 4 is never given there, pass lead times"):
        weather.rank_histogram(forecasts, outcomes, missing="drop")
    with pytest.raises(ValueError, match=r"no complete case: member 4 is never given, leave it out$"):
        weather.rank_histogram(values[1, :, :5], values[1, :, 5], missing="drop")
    with pytest.raises(ValueError, match=r"no complete case: member 4 is never given, leave it out$"):
        weather.rank_histogram(forecasts[1], outcomes[1], missing="drop")


def test_a_lead_time_that_is_rejected_has_a_reason_and_the_sentence_says_which_it_is():
    """The parts of 6 h are adjusted for more than the lead time is, so that none of them is clear alone."""
    xr = pytest.importorskip("xarray")
    rng = np.random.default_rng(1)
    values = rng.normal(size=(2, 300, 4, 10)) + rng.normal(size=(2, 300, 1, 10))
    values[1, ..., :9] *= 0.7
    predictions = xr.DataArray(values[..., :9], dims=["lead", "time", "station", "member"])
    targets = xr.DataArray(values[..., 9], dims=["lead", "time", "station"])
    result = weather.rank_histogram(predictions, targets, rng=1)
    assert not result.rows[0].faults()
    assert result.why().startswith("0: perhaps members too low; 1: members too close")
    assert "at the 5 % level for 2 of 2 lead times: 0, 1 (2 lead times, 300 dates" in result.sentence()


def test_sizes_in_the_unit_of_the_outcomes_keep_their_digits():
    rng = np.random.default_rng(1)
    members, outcomes = 1e-7 * rng.normal(size=(60, 5)), 1e-7 * rng.normal(size=60)
    cell = weather.crps_decomposition(members, outcomes, n_resamples=99, rng=1).table()[1][2]
    assert 1e-10 < abs(float(cell)) < 1e-7


@pytest.mark.parametrize("leads", [("",), ("1 h", "2 h")])
def test_scores_of_several_lead_times_are_columns_with_names(leads):
    rows = [SimpleNamespace(name=name, scores={"CRPS": i / 3.0}) for i, name in enumerate(leads, 1)]
    table = VerificationResult._scores(SimpleNamespace(rows=rows))
    assert table == [["", *leads]] * (leads != ("",)) + [["CRPS", *("0.3333", "0.6667")[: len(leads)]]]


def test_no_complete_case_at_all():
    for outcomes, members in ((np.full(30, np.nan), np.zeros((30, 5))), (np.zeros(30), np.full((30, 5), np.nan))):
        with pytest.raises(ValueError, match="predictions and targets: got no complete case"):
            weather.rank_histogram(members, outcomes, missing="drop", rng=1)
