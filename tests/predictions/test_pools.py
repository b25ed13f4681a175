"""Ensembles: outcome and members are exchangeable, so tests take them together."""

import numpy as np
import pytest
from printed import unfolded
from samples import ensemble_and_outcomes as data
from scipy import stats

import caltest as ct
from caltest.estimators.combined.findings import findings_of
from caltest.predictions.ensembles.ensemble import DrawnEnsemble
from caltest.predictions.inputs.convert import as_sample

N, M = 40, 4
RNG = np.random.default_rng(11)
CENTRES = RNG.normal(size=(N, 1))
MEMBERS = CENTRES + RNG.normal(size=(N, M))
Y = CENTRES[:, 0] + 1.5 * RNG.normal(size=N)
ENSEMBLE = ct.Ensemble(MEMBERS)
BY_HAND = ct.Scenarios(np.column_stack([MEMBERS, Y]))
FACTOR = ((M + 1) / M) ** 2
KERNEL = ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 0.7), ct.GaussianKernel(bandwidth=0.8))
PLACES = ct.Scenarios(MEMBERS[:3, :2])
CODES = np.arange(N) // 4


TESTS = {
    "default": lambda p: ct.calibration_test(p, Y, n_resamples=39, rng=1),
    "kernel": lambda p: ct.calibration_test(p, Y, kernel=KERNEL, n_resamples=39, rng=1),
    "median": lambda p: ct.MonteCarloTest(ct.SKCE(p.default_kernel()), 39)(p, Y, rng=1),
    "biased": lambda p: ct.MonteCarloTest(ct.SKCE(KERNEL, unbiased=False), 39)(p, Y, rng=1),
    "blocks": lambda p: ct.MonteCarloTest(ct.BlockSKCE(KERNEL, 4), 39)(p, Y, rng=1),
    "low rank": lambda p: ct.MonteCarloTest(ct.LowRankSKCE(KERNEL, 5), 39)(p, Y, rng=1),
    "maximum": lambda p: ct.MonteCarloTest(ct.estimators.MaxSKCE(KERNEL), 39)(p, Y, rng=1),
    "halves": lambda p: ct.MonteCarloTest(ct.estimators.CrossSKCE(KERNEL), 39)(p, Y, rng=1),
    "weights": lambda p: ct.MonteCarloTest(ct.estimators.WeightedSKCE(KERNEL, 1.0 + CODES), 39)(p, Y, rng=1),
    "groups": lambda p: ct.MonteCarloTest(ct.estimators.GroupSKCE(KERNEL, CODES), 39)(p, Y, rng=1),
    "group maximum": lambda p: ct.MonteCarloTest(ct.estimators.GroupMaximum(ct.SKCE(KERNEL), CODES), 39)(p, Y, rng=1),
    "places": lambda p: ct.MonteCarloTest(ct.UCME(KERNEL, PLACES, Y[:3]), 39)(p, Y, rng=1),
    "clusters": lambda p: ct.ClusterSKCETest(CODES, KERNEL, 39)(p, Y, rng=1),
    "bound": lambda p: ct.AsymptoticBlockSKCETest(KERNEL, 2)(p, Y, rng=1),
}


@pytest.mark.usefixtures("without_findings")
@pytest.mark.every(4)
@pytest.mark.parametrize("name", TESTS)
def test_tests_are_those_of_the_pools(name):
    """The same p-value as for outcomes pooled by hand; the estimate is that of the members."""
    result, by_hand = TESTS[name](ENSEMBLE), TESTS[name](BY_HAND)
    assert result.pvalue == pytest.approx(by_hand.pvalue, rel=1e-9)
    assert result.estimate == pytest.approx(FACTOR * by_hand.estimate, rel=1e-10)
    assert result.hypothesis.startswith("outcome and members are exchangeable")
    assert "members of a case exchangeable with each other" in result.assumes
    assert "exchangeable" not in by_hand.hypothesis + by_hand.assumes


def test_estimate_is_the_mean_product_of_the_deviations_from_the_members():
    distances = BY_HAND.distance(ct.Wasserstein(), BY_HAND)
    deviations = KERNEL.target_kernel.target_tile(Y, np.linspace(-4.0, 4.0, 9))
    assert deviations.shape == (N, 9)
    total = 0.0
    for i in range(N):
        for j in range(N):
            if i != j:
                k = lambda a, b: np.exp(-(np.subtract.outer(a, b) ** 2) / (2 * 0.8**2))  # noqa: E731
                part = k(Y[i], Y[j]) - k(MEMBERS[i], Y[j]).mean() - k(Y[i], MEMBERS[j]).mean()
                total += np.exp(-distances[i, j] / 0.7) * (part + k(MEMBERS[i], MEMBERS[j]).mean())
    assert ct.SKCE(KERNEL)(ENSEMBLE, Y) == pytest.approx(total / (N * (N - 1)), rel=1e-11)


@pytest.mark.usefixtures("without_findings")
def test_groups_streams_models_and_intervals_are_those_of_the_pools():
    groups, by_hand = (ct.calibration_by_group(p, Y, CODES, n_resamples=39, rng=1) for p in (ENSEMBLE, BY_HAND))
    assert [row.adjusted for row in groups.groups] == [row.adjusted for row in by_hand.groups]
    assert "assumes members of a case exchangeable" in unfolded(groups)
    kernel = ct.ProductKernel(KERNEL.prediction_kernel, KERNEL.target_kernel)
    streams = [ct.SequentialCalibrationTest("kernel", kernel) for _ in range(2)]
    for start in range(0, N, 15):
        for stream, p in zip(streams, (ENSEMBLE, BY_HAND), strict=True):
            stream.update(p.take(slice(start, start + 15)), Y[start : start + 15])
    assert streams[0].log_evalue == pytest.approx(streams[1].log_evalue, rel=1e-9)
    assert "assumes members of a case exchangeable" in unfolded(streams[0].result())
    other = MEMBERS + 1.0
    models = {"a": ENSEMBLE, "b": ct.Ensemble(other)}
    pools = {"a": BY_HAND, "b": ct.Scenarios(np.column_stack([other, Y]))}
    table, wanted = (ct.compare_models(some, Y, n_resamples=39, rng=1) for some in (models, pools))
    assert [row.pvalue for row in table.rows] == [row.pvalue for row in wanted.rows]
    assert table.rows[1].score == pytest.approx(np.sqrt(np.mean((Y - other.mean(axis=1)) ** 2)), rel=1e-12)
    pair, wanted_pair = (ct.compare_pairs(some, Y).rows[0] for some in (models, pools))
    assert pair.pvalue == pytest.approx(wanted_pair.pvalue, rel=1e-9)
    assert pair.estimate == pytest.approx(FACTOR * wanted_pair.estimate, rel=1e-10)


def test_lower_ends_of_intervals_are_those_of_the_pools():
    """The upper ones depend on the largest error, which is that of members and not FACTOR times that of pools."""
    far = Y + 3.0
    pools = ct.Scenarios(np.column_stack([MEMBERS, far]))
    one, other = (ct.skce_interval(p, far, KERNEL, side="lower", rng=1).low for p in (ENSEMBLE, pools))
    assert one > 0.0
    assert one == pytest.approx(FACTOR * other, rel=1e-9)


def test_reports_say_what_is_redrawn():
    drawn = "outcomes redrawn among their members and themselves"
    assert drawn in TESTS["default"](ENSEMBLE).null
    assert "targets redrawn from the predictions" in TESTS["default"](BY_HAND).null
    assert drawn in ct.calibration_by_group(ENSEMBLE, Y, CODES % 2, n_resamples=9, rng=1).null


def test_ensembles_of_other_sizes_are_compared():
    """Bandwidths are those of so many members of the pools, at equal distances, as the smaller ones have."""
    few = ct.Ensemble(MEMBERS[:, :1])
    pools = as_sample(ENSEMBLE, Y).predictions.members, as_sample(few, Y).predictions.members
    together = ct.Scenarios(np.concatenate([pools[0][:, [1, 3]], pools[1]]))
    wanted = together.default_kernel().resolve(together).describe()
    comparison = ct.compare_models({"five": ENSEMBLE, "one": few}, Y, n_resamples=9, rng=1)
    assert wanted in comparison.estimator
    assert wanted in ct.compare_pairs({"five": ENSEMBLE, "one": few}, Y).estimator


def test_pools_do_not_say_which_value_is_the_outcome():
    for members, y in ((MEMBERS, Y), (RNG.normal(size=(N, M, 3)).round(1), RNG.normal(size=(N, 3)).round(1))):
        pool = as_sample(ct.Ensemble(members), y).predictions.members
        swapped = members.copy()
        swapped[:, 2] = y
        assert np.array_equal(as_sample(ct.Ensemble(swapped), members[:, 2]).predictions.members, pool)
        results = [ct.calibration_test(ct.Ensemble(m), y, n_resamples=9, rng=1) for m in (members, members[:, ::-1])]
        assert results[0].to_dict() == results[1].to_dict()


def test_chunks_and_settings_from_pools():
    estimator = ct.LowRankSKCE(ct.ProductKernel(KERNEL.prediction_kernel, KERNEL.target_kernel), 5)
    with pytest.raises(TypeError, match=r"settings come from pooled\(targets\)"):
        estimator.resolve(ENSEMBLE)
    stream = ct.MonteCarloTest(estimator.resolve(ENSEMBLE.pooled(Y.tolist()), 1), 39).accumulator(rng=1)
    for part in (slice(0, 17), slice(17, N)):
        stream.update(ENSEMBLE.take(part), Y[part])
    assert stream.result().estimate == pytest.approx(estimator(ENSEMBLE, Y, rng=1), rel=1e-11)
    assert stream.result().hypothesis == "outcome and members are exchangeable"


def test_clusters_keep_ensembles():
    kept, y = ct.estimators.one_per_cluster(ENSEMBLE, Y, CODES, rng=1)
    assert (type(kept), kept.n_members, len(y)) == (ct.Ensemble, M, 10)


class TestRanks:
    def test_transforms_are_randomised_ranks(self):
        ties = ct.Ensemble(np.tile([0.0, 1.0, 1.0, 2.0], (5000, 1)))
        _, u = ct.pit_values(ties, np.repeat([-1.0, 0.0, 1.0, 1.5, 3.0], 1000), rng=1)
        ends = [(0, 1), (0, 2), (1, 4), (3, 4), (4, 5)]
        for (low, high), part in zip(ends, u.reshape(5, 1000), strict=True):
            assert low / 5 <= part.min() < low / 5 + 0.01
            assert high / 5 - 0.01 < part.max() <= high / 5
        again = ct.pit_values(ties, np.repeat([-1.0, 0.0, 1.0, 1.5, 3.0], 1000), rng=1)[1]
        assert np.array_equal(u, again)

    def test_transforms_of_counts(self):
        p, y = ct.Poisson(np.full(4000, 2.0)), np.full(4000, 1)
        law = stats.poisson(2.0)
        u = ct.pit_values(p, y, rng=1)[1]
        assert (u.min(), u.max()) == pytest.approx((law.cdf(0), law.cdf(1)), abs=1e-3)

    @pytest.mark.parametrize("m", [1, 7])
    def test_uniform_for_perfect_ensembles_and_not_for_others(self, m):
        rng = np.random.default_rng(m)
        ensemble, y = data(rng, 2000, m)
        assert stats.kstest(ct.pit_values(ensemble, y, rng=2)[1], "uniform").pvalue > 0.01
        assert ct.PITTest("KS")(ensemble, y).pvalue > 0.01
        low = ct.PITTest("KS")(ensemble, y + 0.5)
        assert low.pvalue < 1e-6
        assert low.hypothesis == "outcome and members are exchangeable"
        assert ct.MonteCarloTest(ct.estimators.PIT("AD"), 99)(ensemble, y + 0.5, rng=1).pvalue == 0.01

    def test_numbers_between_quantiles_are_those_of_the_transforms(self):
        statistic = ct.estimators.QuantileCalibration([0.2, 0.5])
        _, u = ct.pit_values(ENSEMBLE, Y, rng=3)
        counts = np.array([(u <= 0.2).sum(), ((u > 0.2) & (u <= 0.5)).sum(), (u > 0.5).sum()])
        expected = N * np.array([0.2, 0.3, 0.5])
        assert statistic(ENSEMBLE, Y, rng=3) == pytest.approx(np.sum((counts - expected) ** 2 / expected), rel=1e-12)
        assert ct.QuantileCalibrationTest([0.2, 0.5])(ENSEMBLE, Y + 5.0, rng=1).pvalue < 1e-6

    def test_vectors_have_none(self):
        with pytest.raises(TypeError, match="no distribution function"):
            ct.PITTest()(ct.Ensemble(MEMBERS[..., None]), Y[:, None])


class TestResiduals:
    """Sizes of errors are those of the members, not of the pools, which hold the outcome too."""

    @pytest.mark.every(2)
    @pytest.mark.parametrize("m", [2, 4, 10, 50])
    @pytest.mark.parametrize("d", [1, 3])
    def test_spread_is_unbiased_for_perfect_ensembles_and_near_that_of_others(self, m, d):
        rng = np.random.default_rng(m)
        for spread in (1.0, 0.8):
            truth = 1.0 / spread**2
            error = truth * np.sqrt(2.0 / 5000 / d * (1.0 + 4.0 / m))
            found = ct.estimators.ResidualSpread()(*data(rng, 5000, m, d, spread))
            assert found == pytest.approx(truth - 1.0, abs=4.0 * error)

    def test_spread_by_the_sums_of_the_members(self):
        squares, variance = np.sum((Y - MEMBERS.mean(axis=1)) ** 2), np.sum(MEMBERS.var(axis=1, ddof=1))
        expected = (squares - variance / M) / variance - 1.0
        assert ct.estimators.ResidualSpread()(ENSEMBLE, Y) == pytest.approx(expected, rel=1e-11)

    def test_far_outcomes_and_single_members(self):
        assert 1e12 < ct.estimators.ResidualSpread()(ENSEMBLE, Y + 1e30) < np.inf
        with pytest.raises(ValueError, match="one of two values, which are equally far from their mean"):
            ct.estimators.ResidualSpread()(ct.Ensemble(MEMBERS[:, :1]), Y)
        single = ct.calibration_test(ct.Ensemble(MEMBERS[:, :1]), Y + 3.0, n_resamples=39, rng=1)
        assert single.pvalue == 0.025
        assert [one.name for one in single.components if "spread" in one.name] == []

    def test_bias_is_in_units_of_the_members(self):
        ensemble, y = data(np.random.default_rng(3), 5000, 8)
        result = ct.MonteCarloTest(ct.estimators.ResidualMean(), 9)(ensemble, y + 2.0, rng=1)
        assert result.effect_size.value == pytest.approx(2.0, rel=0.07)
        found = findings_of(as_sample(ensemble, y + 2.0).pooled())[0]
        assert found.words.startswith("outcomes are above what was predicted, by ")
        assert found.estimate == pytest.approx(2.0, rel=0.03)
        assert found.interval.low < 2.0 < found.interval.high


class TestOutcomesOfEnsembles:
    def test_members_that_are_left_out(self):
        kept, y = ENSEMBLE.leave_one_out(rng=1)
        assert np.array_equal(np.sort(np.column_stack([kept.members, y])), np.sort(MEMBERS))
        vectors = ct.Ensemble(np.stack([MEMBERS, -MEMBERS], axis=2))
        kept, y = vectors.leave_one_out(rng=1)
        assert (kept.members.shape, y.shape) == ((N, M - 1, 2), (N, 2))
        assert np.array_equal(y[:, 0], -y[:, 1])
        drawn = np.array([np.argmax(ENSEMBLE.leave_one_out(rng=i)[1][:, None] == MEMBERS, axis=1) for i in range(300)])
        assert stats.chisquare(np.bincount(drawn.ravel())).pvalue > 1e-3

    def test_they_have_no_law(self):
        with pytest.raises(TypeError, match=r"got an Ensemble, .*leave_one_out\(rng\).*Scenarios\(members\)"):
            ENSEMBLE.sample(1)
        for call in (lambda p: p.leave_one_out(1), lambda p: ct.noise_floor(p, ct.SKCE(KERNEL))):
            with pytest.raises(ValueError, match="members: got 1 of each prediction, wanted at least 2"):
                call(ct.Ensemble(MEMBERS[:, :1]))
        with pytest.raises(TypeError, match=r"components\[1\]: got Ensemble predictions, .* wanted Scenarios"):
            ct.Mixture([ct.Scenarios(MEMBERS), ENSEMBLE])
        assert len(ct.Mixture([ct.Scenarios(MEMBERS), ct.Scenarios(MEMBERS + 1.0)]).sample(1)) == N

    def test_known_predictions_are_not_pooled(self):
        drawn = ct.Normal(CENTRES[:, 0], 1.0).to_ensemble(5, rng=1)
        assert isinstance(drawn, DrawnEnsemble)
        assert as_sample(drawn, Y).predictions is drawn
        assert ct.noise_floor(drawn, ct.SKCE(KERNEL), n_resamples=9, rng=1).n == N

    def test_noise_floor_is_that_of_members_as_pools(self):
        floor = ct.noise_floor(ENSEMBLE, ct.SKCE(KERNEL), n_resamples=5, rng=1)
        by_hand = ct.noise_floor(ct.Scenarios(MEMBERS), ct.SKCE(KERNEL), n_resamples=5, rng=1)
        assert floor.draws == pytest.approx((M / (M - 1)) ** 2 * by_hand.draws, rel=1e-10)

    def test_draws_of_a_chain_are_thinned_in_their_order(self):
        chain = ct.Ensemble([[5.0, 1.0, 4.0, 2.0, 3.0], [0.0, 9.0, 1.0, 8.0, 2.0]])
        assert chain.thinned(2).members.tolist() == [[3.0, 4.0, 5.0], [0.0, 1.0, 2.0]]
        assert chain.take([1, 1]).thinned(3).members.tolist() == [[0.0, 8.0]] * 2
        assert chain.followed_by(chain).thinned(4).members.shape == (4, 2)
        with pytest.raises(ValueError, match="step: got 0"):
            chain.thinned(0)

    @pytest.mark.statistical
    @pytest.mark.usefixtures("without_findings")
    def test_power_and_size(self, replications):
        ensemble, _ = data(np.random.default_rng(5), 100, 12)
        sets = replications(40, 1000)

        def test(p, y, rng):
            return ct.MonteCarloTest(ct.estimators.ResidualSpread(), 39)(p, y, rng=rng)

        generators = [ct.generators.Resampled(ensemble, ct.generators.Scaling(s)) for s in (0.0, 1.0, -0.5)]
        size, wide, narrow = (ct.power(test, g, n=100, n_simulations=sets, rng=1) for g in generators)
        rejected, *found = (np.count_nonzero(one.pvalues <= 0.05) for one in (size, wide, narrow))
        assert stats.binom.ppf(0.005, sets, 0.05) <= rejected <= stats.binom.ppf(0.995, sets, 0.05)
        assert min(found) > 0.9 * sets
        assert ct.generators.Resampled(ensemble).sample(7, rng=1)[0].n_members == 11


@pytest.mark.every(5)
@pytest.mark.parametrize("m", [4, 8, 20])
@pytest.mark.parametrize("shift", [0.5, 4.0])
def test_intervals_of_shifts_hold_them_in_standard_deviations_of_the_law(m, shift):
    """Not in those of the members, which vary."""
    held = []
    for seed in range(6):
        rng = np.random.default_rng([seed, m])
        centre = rng.normal(size=800)
        members, y = centre[:, None] + rng.normal(size=(800, m)), centre + shift + rng.normal(size=800)
        (first, *_) = findings_of(as_sample(ct.Ensemble(members), y).pooled())
        assert first.kind == "shift"
        held.append(first.interval.low < shift < first.interval.high)
    assert sum(held) >= 4
