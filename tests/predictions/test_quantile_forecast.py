import re

import numpy as np
import pandas as pd
import pytest
from printed import unfolded
from scipy import stats
from slow import h_matrix_finite, mean_upper

import caltest as ct
from caltest.estimators.combined.findings import findings_of
from caltest.hstatistics import tiles as htiles
from caltest.hstatistics.sums import binary_line as hlines, pairs as hpairs
from caltest.predictions import Sample
from caltest.predictions.inputs.convert import as_sample

LEVELS = np.array([0.1, 0.25, 0.5, 0.9])
N = 15
MEANS, SCALES = np.linspace(-2.0, 2.0, N), np.linspace(0.5, 2.0, N)
VALUES = stats.norm(MEANS[:, None], SCALES[:, None]).ppf(LEVELS)
FORECAST = ct.QuantileForecast(LEVELS, VALUES)
TARGETS = MEANS + SCALES * np.random.default_rng(1).normal(size=N)
W2 = ct.ExponentialKernel(ct.Wasserstein(), bandwidth=1.0)


def put(array, value, place):
    changed = np.array(array, dtype=float)
    changed[place] = value
    return changed


BAD = {
    "percentages": (100 * LEVELS, VALUES, "levels: got 10 at row 0, wanted numbers between 0 and 1; if these are per"),
    "level 0": (put(LEVELS, 0.0, 0), VALUES, "levels: got 0 at row 0, wanted numbers between 0 and 1"),
    "level 1": (put(LEVELS, 1.0, 3), VALUES, "levels: got 1 at row 3, wanted numbers between 0 and 1"),
    "levels twice": (put(LEVELS, 0.1, 1), VALUES, "levels: got 0.1 and then 0.1, wanted increasing numbers; bring the"),
    "levels backwards": (LEVELS[::-1], VALUES, "levels: got 0.9 and then 0.5, wanted increasing numbers; bring the"),
    "levels nan": (put(LEVELS, np.nan, 1), VALUES, "levels: got nan at row 1"),
    "no levels": ([], VALUES, "levels: got no values"),
    "levels of each": (LEVELS[None], VALUES, "levels: got shape (1, 4), wanted 1 dimension"),
    "levels and values swapped": (VALUES, LEVELS, "levels: got shape (15, 4), wanted 1 dimension; levels come first"),
    "one column": (LEVELS, VALUES[:, 0], "values: got shape (15,), wanted (n, 4), a row for each forecast and a"),
    "fewer columns": (LEVELS, VALUES[:, 1:], "values: got shape (15, 3), wanted (n, 4)"),
    "transposed": (LEVELS, VALUES.T, "values: got shape (4, 15), wanted (n, 4)"),
    "no forecasts": (LEVELS, VALUES[:0], "values: got shape (0, 4), wanted (n, 4)"),
    "nan": (LEVELS, put(VALUES, np.nan, (3, 1)), "values: got nan at row 3, column 1 (1 in all), wanted finite"),
    "inf": (LEVELS, put(VALUES, np.inf, (3, 3)), "values: got inf at row 3, column 3"),
    "crossing": (LEVELS, put(VALUES, 9.0, (3, 1)), "values: got 9 and then"),
    "equal": (LEVELS, put(VALUES, VALUES[5, 1], (5, 2)), "twice at row 5, columns 1 and 2, wanted quantiles that"),
}


@pytest.mark.parametrize(("levels", "values", "message"), BAD.values(), ids=BAD)
def test_bad_input(levels, values, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        ct.QuantileForecast(levels, values)


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (TARGETS[:3], "targets: got 3 values, wanted 15, one per prediction"),
        (put(TARGETS, np.nan, 2), "targets: got nan at row 2"),
        (np.stack([TARGETS, TARGETS], axis=1), "targets: got shape (15, 2), wanted 1 dimension"),
        (["a"] * N, "targets: got values of type <U1, wanted real numbers"),
    ],
)
def test_bad_targets(targets, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        FORECAST.check_targets(targets)


def test_forecasts_that_do_not_go_together():
    other = ct.QuantileForecast(LEVELS + 0.01, VALUES)
    for act in (FORECAST.followed_by, lambda one: FORECAST.distance(ct.Wasserstein(), one)):
        with pytest.raises(ValueError, match=re.escape("got quantiles at the levels [0.11, 0.26, 0.51, 0.91], wanted")):
            act(other)
        with pytest.raises(TypeError, match="got Normal predictions, wanted QuantileForecast predictions"):
            act(ct.Normal([0.0], 1.0))
    matrix = ct.ProductKernel(W2, ct.kernels.MatrixKernel(np.eye(4)))
    with pytest.raises(ValueError, match="matrix: got 4 rows and columns, wanted 5, one for each class"):
        ct.SKCE(matrix)(FORECAST, TARGETS)


def test_intervals_of_targets():
    """J = #{k: y > q_k}: a target that equals a quantile counts as below it."""
    forecast = ct.QuantileForecast([0.2, 0.6], [[-1.0, 3.0]] * 7)
    intervals = forecast.check_targets([-1e9, -1.0, np.nextafter(-1.0, 0.0), 0.0, 3.0, np.nextafter(3.0, 4.0), 1e9])
    assert intervals.tolist() == [0, 0, 1, 1, 1, 2, 2]
    assert forecast.check_targets(pd.Series([0.0] * 7)).tolist() == [1] * 7
    assert intervals.dtype == np.intp


def test_probabilities_are_the_gaps_of_the_levels():
    assert FORECAST.probabilities == pytest.approx(np.tile([0.1, 0.15, 0.25, 0.4, 0.1], (N, 1)), rel=1e-14)
    assert FORECAST.take(np.zeros((2, 3), dtype=int)).probabilities.shape == (2, 3, 5)
    assert FORECAST.probabilities.flags.c_contiguous
    draws = FORECAST.redraw(1, 20_000)
    counts = np.bincount(draws[:, 4], minlength=5)
    assert stats.chisquare(counts, 20_000 * FORECAST.probabilities[4]).pvalue > 1e-3
    assert not FORECAST.impossible(FORECAST.check_targets(TARGETS)).any()


@pytest.mark.parametrize(("levels", "values", "width"), [([0.3, 0.7], [2.0, 7.0], 5.0), ([0.5], [2.0], 1.0)])
def test_sampled_targets_beyond_the_ends_are_as_far_as_quantiles_are_from_each_other(levels, values, width):
    """Beyond a single quantile, which has no distance to another, they are exponential with mean 1."""
    draws = ct.QuantileForecast(levels, [values]).sample(1, 20_000)[:, 0]
    for beyond in (values[0] - draws[draws <= values[0]], draws[draws > values[-1]] - values[-1]):
        assert stats.kstest(beyond, stats.expon(0.0, width).cdf).pvalue > 1e-3


@pytest.mark.usefixtures("without_findings")
def test_sampled_targets_lie_in_their_intervals():
    """Uniform between quantiles, exponential beyond them: other numbers than those of the intervals, and calibrated."""
    draws = FORECAST.sample(1, 20_000)[:, 4]
    q, w = VALUES[4], np.diff(VALUES[4])
    inside = draws[(draws > q[1]) & (draws <= q[2])]
    for values, law in (
        (inside, stats.uniform(q[1], w[1])),
        (q[0] - draws[draws <= q[0]], stats.expon(0.0, w[0])),
        (draws[draws > q[-1]] - q[-1], stats.expon(0.0, w[-1])),
    ):
        assert len(values) > 1000
        assert stats.kstest(values, law.cdf).pvalue > 1e-3
    rng = np.random.default_rng(4)
    pvalues = [ct.calibration_test(FORECAST, FORECAST.sample(rng), n_resamples=19, rng=rng).pvalue for _ in range(15)]
    for alpha in (0.05, 0.5):
        assert np.count_nonzero(np.array(pvalues) <= alpha) <= stats.binom.ppf(0.995, 15, alpha)
    predictions, y = ct.generators.Resampled(FORECAST).sample(300, rng=5)
    counts = np.bincount(predictions.check_targets(y), minlength=5)
    assert stats.chisquare(counts, 300 * FORECAST.probabilities[0]).pvalue > 1e-3


def test_distance_is_that_of_distributions_on_the_quantiles():
    """Each quantile with the levels that are nearest to it, so that a shift by 1 is a distance of 1."""
    weights = np.array([0.175, 0.2, 0.325, 0.3])
    squares = np.square(VALUES[:, None] - VALUES[None]) @ weights
    assert FORECAST.distance(ct.Wasserstein(), FORECAST) == pytest.approx(np.sqrt(squares), abs=1e-14)
    shifted = ct.QuantileForecast(LEVELS, VALUES + 1.0)
    assert np.diag(FORECAST.distance(ct.Wasserstein(), shifted)) == pytest.approx(1.0)
    one = ct.QuantileForecast([0.3], [[1.0], [4.0]])
    assert one.distance(ct.Wasserstein(), one) == pytest.approx(np.array([[0.0, 3.0], [3.0, 0.0]]))


@pytest.mark.parametrize(
    "metric",
    [
        ct.TotalVariation(),
        ct.Euclidean(),
        ct.kernels.Cityblock(),
        ct.kernels.EnergyDistance(),
        ct.kernels.MMD(ct.DeltaKernel()),
    ],
)
def test_distances_of_probabilities_are_refused(metric):
    """They would be 0, as all forecasts have the same probabilities, and the test blind to the forecasts."""
    with pytest.raises(TypeError, match=r"for QuantileForecast predictions, wanted one of Wasserstein\(\)"):
        FORECAST.distance(metric, FORECAST)
    with pytest.raises(TypeError, match="for QuantileForecast predictions"):
        ct.SKCE(ct.ProductKernel(ct.ExponentialKernel(metric, 1.0), ct.DeltaKernel()))(FORECAST, TARGETS)


@pytest.mark.parametrize("estimator", [ct.ECE(), ct.ECE(metric=ct.Wasserstein()), ct.MMCE()], ids=repr)
def test_errors_of_binned_probabilities_are_refused(estimator):
    with pytest.raises(TypeError, match="got QuantileForecast predictions, wanted Categorical or Bernoulli"):
        estimator(FORECAST, TARGETS)


def test_kernels_of_intervals():
    """Kernels of numbers compare the middles of the levels; Delta and matrices the intervals."""
    middles = np.array([0.05, 0.175, 0.375, 0.7, 0.95])
    assert FORECAST.positions == pytest.approx(middles)
    laplacian, matrix = ct.LaplacianKernel(0.3), ct.kernels.MatrixKernel(np.diag([1.0, 2.0, 3.0, 4.0, 5.0]))
    gram = np.exp(-np.abs(middles[:, None] - middles) / 0.3)
    assert FORECAST.gram(laplacian) == pytest.approx(gram)
    assert FORECAST.gram(ct.DeltaKernel()) == pytest.approx(np.eye(5))
    assert FORECAST.gram(2.0 * laplacian + matrix) == pytest.approx(2.0 * gram + np.diag(np.arange(1.0, 6.0)))
    spread = np.sqrt(FORECAST.probabilities[0] @ (middles - FORECAST.probabilities[0] @ middles) ** 2)
    assert FORECAST.target_scale() == pytest.approx(spread)
    assert FORECAST.default_kernel().target_kernel.resolve_for_targets(FORECAST).width == pytest.approx(spread)


@pytest.mark.every(3)
@pytest.mark.parametrize("metric_kernel", [W2, ct.GaussianKernel(ct.Wasserstein(), 0.7)], ids=["exp", "Gaussian"])
@pytest.mark.parametrize("levels", [LEVELS, [0.3]], ids=["four", "one"])
@pytest.mark.parametrize("target_kernel", [ct.DeltaKernel(), ct.LaplacianKernel(0.3)], ids=["Delta", "Laplacian"])
def test_skce_by_sums_over_intervals(metric_kernel, levels, target_kernel):
    """One level makes two outcomes, but forecasts are not compared by the probability of the second one."""
    values = stats.norm(MEANS[:, None], SCALES[:, None]).ppf(levels)
    forecast = ct.QuantileForecast(levels, values)
    intervals = forecast.check_targets(TARGETS)
    edges = np.concatenate([[0.0], levels, [1.0]])
    middles = (edges[1:] + edges[:-1]) / 2
    weights = np.diff(np.concatenate([[0.0], (edges[1:-2] + edges[2:-1]) / 2, [1.0]]))

    def k_p(one, other):
        return metric_kernel.of_distance(np.sqrt(weights @ np.square([one - other]).T))[0]

    gram = np.array([[target_kernel.target_tile(np.array([a]), np.array([b]))[0, 0] for b in middles] for a in middles])
    rows = np.diff(edges)
    h = np.array(
        [
            [
                k_p(values[i], values[j])
                * h_matrix_finite(lambda *_: 1.0, gram, [rows, rows], [intervals[i], intervals[j]])[0, 1]
                for j in range(N)
            ]
            for i in range(N)
        ]
    )
    kernel = ct.ProductKernel(metric_kernel, target_kernel)
    assert hlines.on_a_line(kernel, forecast) is None
    sample = Sample(forecast, intervals)
    assert htiles.h_tile(kernel, sample, sample) == pytest.approx(h, abs=1e-14)
    assert ct.SKCE(kernel)(forecast, TARGETS) == pytest.approx(mean_upper(h), rel=1e-12)
    assert ct.SKCE(kernel, unbiased=False)(forecast, TARGETS) == pytest.approx(h.mean(), rel=1e-12)
    weights_of_rows = np.random.default_rng(2).normal(size=(N, 3))
    forms, sums = hpairs.weighted_sums(kernel, sample, weights_of_rows)
    assert sums == pytest.approx(h.sum(axis=1), abs=1e-13)
    assert forms == pytest.approx(np.einsum("ib,ij,jb->b", weights_of_rows, h, weights_of_rows), rel=1e-11)
    redraws = forecast.redraw(3, 4)
    estimates = ct.SKCE(kernel).estimates(forecast, redraws)
    assert estimates == pytest.approx([ct.SKCE(kernel).estimate(Sample(forecast, y)) for y in redraws], rel=1e-11)


@pytest.mark.usefixtures("without_findings")
def test_a_shift_of_the_target_unit_changes_nothing():
    """Quantiles and targets in other units give the same test, with a median bandwidth."""
    first = ct.calibration_test(FORECAST, TARGETS, n_resamples=19, rng=1)
    again = ct.calibration_test(
        ct.QuantileForecast(LEVELS, 32.0 + 1.8 * VALUES), 32.0 + 1.8 * TARGETS, n_resamples=19, rng=1
    )
    assert again.estimate == pytest.approx(first.estimate, rel=1e-12)
    assert again.pvalue == first.pvalue
    assert "P(outcome between two quantiles | all quantiles) = difference of their levels" in unfolded(first)


def forecasts(rng, n, scale=1.0):
    means, scales = rng.normal(size=n), rng.uniform(0.5, 1.5, n)
    values = stats.norm(means[:, None], scale * scales[:, None]).ppf(LEVELS)
    return ct.QuantileForecast(LEVELS, values), means + scales * rng.normal(size=n)


def test_size_and_power(replications):
    """Quantiles of the distribution of the outcome are rejected as often as the level says, too narrow ones always."""
    rng, (sets, n_resamples) = np.random.default_rng(2022), replications((50, 19), (400, 99))
    test = ct.MonteCarloTest(ct.SKCE(FORECAST.default_kernel()), n_resamples)
    pvalues = np.array([test(*forecasts(rng, 30), rng=rng).pvalue for _ in range(sets)])
    for alpha in (0.05, 0.5):
        low, high = stats.binom.ppf([0.005, 0.995], sets, alpha)
        assert low <= np.count_nonzero(pvalues <= alpha) <= high
    assert all(test(*forecasts(rng, 200, 0.4), rng=rng).pvalue <= 0.05 for _ in range(5))


def test_errors_that_cancel_on_average_are_seen():
    """Half of the forecasts are too low, half too high, so that every interval is hit as often as it should be."""
    rng = np.random.default_rng(3)
    forecast, _ = forecasts(rng, 400)
    intervals = forecast.redraw(rng)
    # Low forecasts get the lower intervals of all, high ones the upper intervals.
    order = np.argsort(forecast.values[:, 2])
    marginal = np.empty(400, dtype=int)
    marginal[order] = np.sort(intervals)
    inside = np.concatenate([forecast.values[:, :1] - 1.0, forecast.values], axis=1) + 1e-6
    targets = inside[np.arange(400), marginal]
    assert np.array_equal(forecast.check_targets(targets), marginal)
    assert ct.calibration_test(forecast, targets, n_resamples=99, rng=1).pvalue == 0.01


def test_copies_and_shapes():
    values = VALUES.copy()
    forecast = ct.QuantileForecast(LEVELS.tolist(), pd.DataFrame(values))
    values[:] = 0.0
    assert np.array_equal(forecast.values, VALUES)
    assert not forecast.values.flags.writeable
    assert not forecast.levels.flags.writeable
    assert repr(forecast) == "<QuantileForecast, n = 15, 4 levels>"
    assert repr(ct.QuantileForecast([0.5], [[1.0]])) == "<QuantileForecast, n = 1, 1 level>"
    joined = forecast.take(slice(0, 5)).followed_by(forecast.take(slice(5, N)))
    assert np.array_equal(joined.values, VALUES)


@pytest.mark.parametrize(
    ("levels", "chances", "place", "covered"),
    [
        ([0.1, 0.5, 0.8], [0.13, 0.46, 0.16, 0.25], "the interval from 50 % to 80 %", 0.16),
        ([0.1, 0.5, 0.8], [0.05, 0.5, 0.4, 0.05], "the interval from 10 % to 80 %", 0.9),
        ([0.05, 0.9], [0.15, 0.6, 0.25], "the interval from 5 % to 90 %", 0.6),
        ([0.1, 0.5, 0.9], [0.2, 0.25, 0.35, 0.2], "the interval from 10 % to 90 %", 0.6),
    ],
)
def test_coverage_between_any_two_levels_is_looked_for(levels, chances, place, covered):
    """Of levels that do not mirror each other, too."""
    rng = np.random.default_rng(1)
    middle = rng.normal(size=800)
    quantiles = middle[:, None] + stats.norm.ppf(levels)
    ends = np.column_stack([quantiles[:, 0] - 1.0, quantiles, quantiles[:, -1] + 1.0])
    j = rng.choice(len(chances), 800, p=chances)
    y = (ends[np.arange(800), j] + ends[np.arange(800), j + 1]) / 2.0
    found = findings_of(as_sample(ct.QuantileForecast(levels, quantiles), y))
    one = next(one for one in found if one.kind == "coverage")
    assert one.place == place
    inside = np.isin(j, range(1, len(chances) - 1) if "50" not in place else [2]).mean()
    assert one.estimate == pytest.approx(inside, abs=1e-3)
    assert not one.interval.excludes(covered)


@pytest.mark.parametrize(
    ("names", "are_right"),
    [
        ([0.1, 0.5, 0.9], True),
        (["q0.1", "q.5", "Quantile_0.9"], True),
        (["10%", "50 %", "90.0%"], True),
        (["low", "middle", "high"], True),
        (["q1", "q2", "q3"], True),
        ([0.05, 0.5, 0.95], False),
        ([0.9, 0.5, 0.1], False),
        (["5%", "50%", "95%"], False),
    ],
)
def test_columns_that_are_named_after_levels(names, are_right):
    pandas, xarray = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    levels, values = [0.1, 0.5, 0.9], np.sort(np.random.default_rng(1).normal(size=(20, 3)))
    frame = pandas.DataFrame(values, columns=names)
    array = xarray.DataArray(values, dims=("time", "quantile"), coords={"quantile": names})
    several = frame.set_axis(pandas.MultiIndex.from_product([["y"], names]), axis=1)
    for named in (frame, array, several):
        if are_right:
            assert (ct.QuantileForecast(levels, named).values == values).all()
        else:
            with pytest.raises(
                ValueError, match=r"values: got columns named .*, wanted those of the levels 0.1, 0.5, 0.9"
            ):
                ct.QuantileForecast(levels, named)


def test_intervals_between_quantiles_have_names_and_no_top_class():
    forecast = ct.QuantileForecast([0.1, 0.5, 0.9], np.tile([-1.3, 0.0, 1.3], (300, 1)))
    assert [forecast.outcome_in_words(c) for c in range(4)] == [
        "an outcome below the 10 % quantile",
        "an outcome between the 10 % quantile and the 50 % quantile",
        "an outcome between the 50 % quantile and the 90 % quantile",
        "an outcome above the 90 % quantile",
    ]
    season = np.arange(300) % 2
    y = np.random.default_rng(1).normal(size=300) * np.where(season == 1, 2.0, 1.0)
    printed = unfolded(ct.calibration_test(forecast, y, features={"season": season}, rng=1))
    assert "given season: an outcome " in printed
    assert "class" not in printed
