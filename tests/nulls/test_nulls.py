"""Statistics and p-values against slow versions, other packages and enumeration."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest._basics.numerics import resampling_pvalue
from caltest.hstatistics.tiles import h_tile
from caltest.predictions import Sample

TV = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.4), ct.DeltaKernel())


def data(n=40, k=3, seed=1):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(k), n), rng.integers(0, k, n)


def h_matrix(p, y, kernel=TV):
    sample = Sample(ct.Categorical(p), y)
    return h_tile(kernel, sample, sample)


def test_resampling_pvalue_counts_ties_and_the_observation():
    draws = np.array([1.0, 2.0, 2.0 * (1 - 1e-13), 3.0])
    assert resampling_pvalue(2.0, draws) == 4 / 5
    assert resampling_pvalue(5.0, draws) == 1 / 5
    assert resampling_pvalue(0.0, draws) == 1.0
    assert resampling_pvalue(2.001, draws) == 2 / 5


@pytest.mark.parametrize("block_size", [2, 5, 13])
def test_normal_null(block_size):
    p, y = data(40)
    terms = np.array(
        [
            ct.SKCE(TV)(p[i : i + block_size], y[i : i + block_size])
            for i in range(0, 40, block_size)
            if i + block_size <= 40
        ]
    )
    result = ct.AsymptoticBlockSKCETest(TV, block_size)(p, y)
    assert result.estimate == pytest.approx(terms.mean(), rel=1e-12)
    assert result.standard_error == pytest.approx(stats.sem(terms), rel=1e-12)
    assert result.pvalue == pytest.approx(stats.norm.sf(terms.mean() / stats.sem(terms)), rel=1e-12)
    assert result.n_used == terms.size * block_size
    published = ct.AsymptoticBlockSKCETest(TV, block_size, population_variance=True)(p, y)
    assert published.standard_error == pytest.approx(stats.sem(terms, ddof=0), rel=1e-12)


def test_normal_null_keeps_small_pvalues():
    p = np.tile([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]], (10, 1))
    result = ct.AsymptoticBlockSKCETest(TV)(p, np.ones(30, dtype=int))
    assert 0 < result.pvalue < 1e-40
    assert result.pvalue == pytest.approx(stats.norm.sf(result.statistic), rel=1e-10)


def test_interval_of_the_normal_null():
    p, y = data(40)
    result = ct.AsymptoticBlockSKCETest(TV)(p, y)
    low, high = result.confidence_interval(0.9)
    assert low == pytest.approx(max(0.0, result.estimate - stats.norm.ppf(0.9) * result.standard_error))
    assert high == math.inf
    wrong = ct.AsymptoticBlockSKCETest(TV)(p, p.argmin(axis=1))
    assert wrong.confidence_interval(1 - wrong.pvalue).low == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("n", "block_size", "pairs"), [(40, 2, 20), (41, 2, 20), (40, 3, 13), (40, 7, 15), (45, 9, 20)]
)
def test_bound_counts_the_independent_pairs_of_blocks(n, block_size, pairs):
    """Blocks of odd size b hold (b - 1)/2 independent pairs, so n // 2 in all would be too many."""
    p, _ = data(n)
    estimator = ct.BlockSKCE(TV, block_size)
    result = ct.DistributionFreeSKCETest(estimator)(p, p.argmin(axis=1))
    assert result.estimate > 0
    assert result.pvalue == pytest.approx(math.exp(-pairs * result.estimate**2 / 8), rel=1e-12)


def test_bounds_of_both_estimators():
    p, _ = data(200)
    y = p.argmin(axis=1)
    biased = ct.DistributionFreeSKCETest(ct.SKCE(TV, unbiased=False))(p, y)
    root = math.sqrt(200 * biased.estimate / 2)
    assert root > 1
    assert biased.pvalue == pytest.approx(math.exp(-((root - 1) ** 2) / 2), rel=1e-12)
    unbiased = ct.DistributionFreeSKCETest(ct.SKCE(TV))(p, y)
    assert unbiased.pvalue == pytest.approx(math.exp(-100 * unbiased.estimate**2 / 8), rel=1e-12)
    assert unbiased.pvalue_kind == "bound"


def test_bounds_are_one_for_estimates_that_are_not_positive():
    p, y = data(40, seed=5)
    for estimator in (ct.SKCE(TV), ct.BlockSKCE(TV), ct.BlockSKCE(TV, 3), ct.SKCE(TV, unbiased=False)):
        for t in (-0.5, -1e-9, 0.0):
            assert estimator.tail_bound(t, ct.Categorical(p)) == 1.0
    negative = ct.SKCE(TV)(p, y)
    assert (ct.DistributionFreeSKCETest(ct.SKCE(TV))(p, y).pvalue == 1.0) == (negative <= 0)


def test_bootstrap_against_the_two_published_forms():
    """The doubly centred sum over resampled indices, and the statistic of the reference with its bootstrap counts."""
    p, y = data(15)
    n, h = 15, h_matrix(p, y)
    result = ct.AsymptoticSKCETest(TV, n_resamples=300)(p, y, rng=3)
    generators = np.random.default_rng(3).spawn(10)
    indices = np.concatenate(
        [g.integers(n, size=(min(32, 300 - 32 * i), n), dtype=np.uint32) for i, g in enumerate(generators)]
    )
    means, mean = h.mean(axis=1), h.mean()
    unbiased, biased = h[np.triu_indices(n, 1)].mean(), mean
    reference = n / (n - 1) * unbiased - biased
    exceed = 0
    for b in range(300):
        index = indices[b]
        centred = h[np.ix_(index, index)] - means[index][:, None] - means[index][None, :] + mean
        draw = 2 / n * centred[np.triu_indices(n, 1)].sum()
        assert result.null_distribution[b] == pytest.approx(draw, rel=1e-10, abs=1e-12)
        counts = np.bincount(index, minlength=n)
        t = (
            sum(
                counts[i] * sum((n / (n - 1) * (counts[j] - (i == j)) - 2) * h[i, j] for j in range(n))
                for i in range(n)
            )
            / n**2
        )
        exceed += t >= reference
    assert result.estimate == pytest.approx(unbiased, rel=1e-12)
    assert result.statistic == pytest.approx(n * unbiased, rel=1e-12)
    assert result.pvalue == (1 + exceed) / 301


def test_bootstrap_does_not_depend_on_how_many_draws_are_taken_at_once(monkeypatch):
    p, y = data(15)
    whole = ct.AsymptoticSKCETest(TV, n_resamples=50)(p, y, rng=3).null_distribution
    monkeypatch.setattr("caltest.nulls.bootstraps.COUNTS_AT_ONCE", 1)
    monkeypatch.setattr("caltest.nulls.bootstraps.LEAST_STREAMS", 1)
    assert ct.AsymptoticSKCETest(TV, n_resamples=50)(p, y, rng=3).null_distribution == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("locations", [2, 5])
def test_hotelling_against_statsmodels(locations):
    from statsmodels.stats.multivariate import test_mvmean as mean_test

    p, y = data(60)
    ucme = ct.UCME(TV, p[:locations], y[:locations])
    deviations = ucme.deviations(Sample(ct.Categorical(p), y))
    reference = mean_test(deviations)
    result = ct.AsymptoticCMETest(ucme)(p, y)
    assert result.statistic == pytest.approx(reference.t2, rel=1e-9)
    assert result.pvalue == pytest.approx(reference.pvalue, rel=1e-9)
    assert result.df == (locations, 60 - locations)
    chi2 = ct.AsymptoticCMETest(ucme, "chi2")(p, y)
    assert chi2.pvalue == pytest.approx(stats.chi2.sf(reference.t2, locations), rel=1e-9)


def test_hotelling_with_one_location_is_the_t_test():
    p, y = data(30)
    ucme = ct.UCME(TV, p[:1], [1])
    deviations = ucme.deviations(Sample(ct.Categorical(p), y))[:, 0]
    assert ct.AsymptoticCMETest(ucme)(p, y).pvalue == pytest.approx(stats.ttest_1samp(deviations, 0).pvalue, rel=1e-10)


def test_monte_carlo_against_enumeration():
    """Four binary predictions: the law of the estimate given the predictions has 16 known atoms."""
    p, y = np.array([0.2, 0.5, 0.7, 0.9]), np.array([1, 1, 0, 1])
    estimator = ct.SKCE(TV)
    observed = estimator(p, y)
    exact = 0.0
    for labels in itertools.product([0, 1], repeat=4):
        probability = np.prod(np.where(labels, p, 1 - p))
        exact += probability * (estimator(p, labels) >= observed - 1e-12)
    result = ct.MonteCarloTest(estimator, n_resamples=40_000)(p, y, rng=1)
    assert result.pvalue == pytest.approx(exact, abs=4.5 * math.sqrt(exact * (1 - exact) / 40_000))
    assert result.pvalue_kind == "exact"


def test_monte_carlo_breaks_no_ties_by_rounding():
    """With all predictions alike and all labels alike but one, the order of the labels must not matter."""
    p = np.full(9, 0.3)
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.7), ct.DeltaKernel())
    pvalues = {
        ct.MonteCarloTest(ct.SKCE(kernel), n_resamples=199)(
            p, np.roll([1, 1, 0, 0, 0, 0, 0, 0, 0], shift), rng=2
        ).pvalue
        for shift in range(9)
    }
    assert len(pvalues) == 1


def test_monte_carlo_redraws_targets_of_the_same_predictions():
    p, y = data(25)
    result = ct.MonteCarloTest(ct.ECE(ct.binning.UniformBinning(4)), n_resamples=30)(p, y, rng=4)
    (stream,) = np.random.default_rng(4).spawn(1)
    redraws = ct.Categorical(p).sample(stream, 30)
    assert result.null_distribution.tolist() == pytest.approx(
        [ct.ECE(ct.binning.UniformBinning(4))(p, z) for z in redraws]
    )
    assert result.pvalue == (1 + sum(result.null_distribution >= result.estimate)) / 31


def test_consistency_resampling_by_hand():
    p, y = data(25)
    ece = ct.ECE(ct.binning.UniformBinning(4))
    result = ct.ConsistencyTest(ece, n_resamples=30)(p, y, rng=4)
    (rng,) = np.random.default_rng(4).spawn(1)
    draws = []
    for _ in range(30):
        resampled = ct.Categorical(p).take(rng.integers(25, size=25))
        draws.append(ece(resampled, resampled.sample(rng)))
    assert result.null_distribution.tolist() == pytest.approx(draws, rel=1e-12)
    assert result.pvalue == (1 + sum(d >= ece(p, y) - 1e-12 for d in draws)) / 31
    assert any("MonteCarloTest is exact" in note for note in result.notes)


@pytest.mark.parametrize("n", [1000, 4000])
def test_redrawn_estimates_are_accurate_and_tie_where_they_must(n):
    """Few distinct predictions: exact sums over groups, and labels moved within groups of equal predictions."""
    rng = np.random.default_rng(1)
    levels = np.arange(1, 10) / 10
    p = rng.choice(levels, n)
    y = (rng.random(n) < p).astype(int)
    moved = y.copy()
    for level in levels:
        group = np.flatnonzero(p == level)
        moved[group] = rng.permutation(y[group])
    residual = y - p
    sums = np.array([residual[p == level].sum() for level in levels])
    kernel = np.exp(-np.abs(levels[:, None] - levels) / 0.4)
    exact = 2 * (sums @ kernel @ sums - np.sum(residual**2)) / (n * (n - 1))
    values = ct.SKCE(TV).estimates(ct.Bernoulli(p), np.stack([y, moved]))
    assert values[0] == pytest.approx(exact, rel=1e-9)
    assert abs(values[0] - values[1]) <= 1e-11 * abs(exact)


def test_ties_are_equal_to_ten_digits_and_no_further():
    draws = np.array([1.0 - 1e-9, 1.0 - 1e-11, 0.5])
    assert resampling_pvalue(1.0, draws) == 2 / 4
    assert resampling_pvalue(0.0, np.array([-1e-12, -1e-9, 1.0, -1.0])) == 3 / 5


def test_consistency_resampling_keeps_the_bandwidth_of_the_observed_predictions():
    p, y = data(20)
    median = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), "median"), ct.DeltaKernel())
    fixed = ct.ProductKernel(
        ct.ExponentialKernel(ct.TotalVariation(), ct.median_bandwidth(p, ct.TotalVariation())), ct.DeltaKernel()
    )
    results = [ct.ConsistencyTest(ct.SKCE(k), n_resamples=9)(p, y, rng=1) for k in (median, fixed)]
    assert np.array_equal(results[0].null_distribution, results[1].null_distribution)
    assert results[0].notes == ()


def test_interval_does_not_start_below_zero():
    p, y = data(40, seed=5)
    result = ct.AsymptoticBlockSKCETest(TV)(p, y)
    assert result.estimate - 3 * result.standard_error < 0
    assert result.confidence_interval(0.999).low == 0.0
