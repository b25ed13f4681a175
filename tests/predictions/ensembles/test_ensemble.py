import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import caltest as ct
from caltest._basics.numerics import generator_apart
from caltest._basics.threads import streams
from caltest.hstatistics.sums import pairs as hpairs
from caltest.predictions import Sample
from caltest.predictions.measures import sums as measure_sums

N, M = 9, 6
RNG = np.random.default_rng(1)
MEMBERS = RNG.normal(size=(N, 1)) + RNG.normal(size=(N, M))
VECTORS = RNG.normal(size=(N, 1, 3)) + RNG.normal(size=(N, M, 3))
W2 = ct.ExponentialKernel(ct.Wasserstein(), bandwidth=1.0)
GAUSSIAN = ct.GaussianKernel(bandwidth=0.8)


def put(array, value, place=(3, 2)):
    changed = array.copy()
    changed[place] = value
    return changed


WANTED = "wanted (n, m) numbers, m members of each prediction, or (n, m, d) for vectors, with n, m and d at least 1"
RAGGED = "...; all cases need as many members...keep the first m of each case...[row[:m] for row in members]"
BAD_MEMBERS = {
    "one number each": (MEMBERS[:, 0], f"members: got shape (9,), {WANTED}"),
    "a number": (1.0, f"members: got shape (), {WANTED}"),
    "four dimensions": (VECTORS[None], f"members: got shape (1, 9, 6, 3), {WANTED}"),
    "no members": (np.empty((5, 0)), f"members: got shape (5, 0), {WANTED}"),
    "no predictions": (np.empty((0, 5)), f"members: got shape (0, 5), {WANTED}"),
    "no coordinates": (np.empty((5, 4, 0)), f"members: got shape (5, 4, 0), {WANTED}"),
    "nan": (put(MEMBERS, np.nan), "members: got nan at row 3, column 2 (1 in all), wanted finite numbers"),
    "inf": (put(VECTORS, -np.inf, (3, 2, 1)), "members: got -inf at row 3, column 2, column 1 (1 in all), wanted"),
    "text": (MEMBERS.astype(str), "members: got values of type <U"),
    "complex": (MEMBERS * 1j, "members: got values of type complex128, wanted real numbers"),
    "ragged": ([[1.0, 2.0], [3.0]], "members: got rows of different lengths, wanted a rectangular array; all"),
    "ragged vectors": ([np.ones((2, 3)), np.ones((4, 3))], f"members: got rows of different lengths, wanted{RAGGED}"),
    "ragged objects": (np.array([[1.0, 2.0], [3.0]], dtype=object), f"members: got rows of different lengths{RAGGED}"),
    "ragged series": (pd.Series([[1.0, 2.0], [3.0]]), f"members: got rows of different lengths{RAGGED}"),
    "padded with nan": ([[1.0, 2.0], [3.0, np.nan]], f"members: got nan at row 1, column 1{RAGGED}"),
    "padded with None": ([[1.0, 2.0], [3.0, None]], f"members: got a missing value at row 1, column 1{RAGGED}"),
    "missing": (
        put(MEMBERS.astype(object), None),
        "members: got a missing value at row 3, column 2, wanted complete data",
    ),
}


@pytest.mark.parametrize(("members", "message"), BAD_MEMBERS.values(), ids=BAD_MEMBERS)
def test_bad_members(members, message):
    for family in (ct.Ensemble, ct.Scenarios):
        with pytest.raises(ValueError, match=".*".join(map(re.escape, message.split("...")))):
            family(members)


BAD_TARGETS = {
    "vectors for numbers": (MEMBERS, np.zeros((N, 2)), "targets: got shape (9, 2), wanted 1 dimension"),
    "numbers for vectors": (VECTORS, np.zeros(N), "targets: got shape (9,), wanted (9, 3), a vector"),
    "other dimension": (VECTORS, np.zeros((N, 2)), "targets: got shape (9, 2), wanted (9, 3), a vector"),
    "members last": (VECTORS.swapaxes(1, 2), np.zeros((N, 3)), "moveaxis(members, 2, 1) if the last axis"),
    "members first": (VECTORS.swapaxes(0, 1), np.zeros((N, 3)), "moveaxis(members, 0, 1) if the first axis is that of"),
    "too few": (MEMBERS, np.zeros(4), "targets: got 4 values, wanted 9, one per prediction"),
    "too few vectors": (VECTORS, np.zeros((4, 3)), "targets: got 4 values, wanted 9, one per prediction"),
    "nan": (MEMBERS, put(np.zeros(N), np.nan, 5), "targets: got nan at row 5"),
    "none": (MEMBERS, [], "targets: got no values"),
}


@pytest.mark.parametrize(("members", "targets", "message"), BAD_TARGETS.values(), ids=BAD_TARGETS)
def test_bad_targets(members, targets, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        ct.Ensemble(members).check_targets(targets)


def test_ensembles_that_do_not_go_together():
    numbers, vectors = ct.Ensemble(MEMBERS), ct.Ensemble(VECTORS)
    with pytest.raises(ValueError, match="other: got members that are vectors of length 3, wanted numbers as in"):
        numbers.distance(ct.kernels.EnergyDistance(), vectors)
    with pytest.raises(ValueError, match="other: got members that are numbers, wanted vectors of length 3 as in"):
        vectors.distance(ct.kernels.EnergyDistance(), numbers)
    with pytest.raises(ValueError, match="vectors of length 2, wanted vectors of length 3"):
        vectors.distance(ct.kernels.EnergyDistance(), ct.Ensemble(VECTORS[..., :2]))
    with pytest.raises(TypeError, match="other: got Normal predictions, wanted Ensemble predictions"):
        numbers.distance(ct.kernels.EnergyDistance(), ct.Normal([0.0], 1.0))
    with pytest.raises(ValueError, match="predictions: got 2 members, wanted 6 as in those that they follow"):
        numbers.followed_by(ct.Ensemble(MEMBERS[:, :2]))
    drawn = ct.Normal(np.zeros(N), 1.0).to_ensemble(M, rng=1)
    for one, other in ((numbers, drawn), (drawn, numbers)):
        with pytest.raises(ValueError, match="drawn by to_ensemble"):
            one.followed_by(other)
    with pytest.raises(TypeError, match=r"got Wasserstein.* for Ensemble predictions, wanted one of EnergyDistance"):
        vectors.distance(ct.Wasserstein(), vectors)
    with pytest.raises(ValueError, match="n_members: got 0, wanted a whole number of at least 1"):
        ct.Normal([0.0], 1.0).to_ensemble(0)
    with pytest.raises(TypeError, match="no distribution function"):
        vectors.cdf(np.zeros((N, 3)))
    with pytest.raises(ValueError, match=r"bandwidths?: got 2 numbers, wanted one, or one for each of 3 dimensions"):
        vectors.expected_kernel(ct.GaussianKernel(bandwidth=(1.0, 2.0)), np.zeros((N, 3)))


class Tensor:
    """What is needed of a tensor with a gradient, in half precision."""

    def __init__(self, values):
        self.values = values

    def detach(self):
        return self

    def cpu(self):
        return self

    def is_floating_point(self):
        return True

    def double(self):
        return self

    def numpy(self):
        return self.values


@pytest.mark.parametrize(
    "convert",
    [np.ndarray.tolist, pd.DataFrame, Tensor, np.asfortranarray, list, lambda a: pd.Series(list(a))],
    ids=["list", "pandas", "tensor", "columns first", "list of arrays", "series of arrays"],
)
def test_containers(convert):
    assert np.array_equal(ct.Ensemble(convert(MEMBERS)).members, np.sort(MEMBERS, axis=1))


def test_members_are_copied_and_kept_in_order():
    given = MEMBERS.copy()
    ensemble = ct.Ensemble(given)
    assert np.array_equal(given, MEMBERS)
    given[:] = 0.0
    assert np.array_equal(ensemble.members, np.sort(MEMBERS, axis=1))
    assert not ensemble.members.flags.writeable
    assert np.array_equal(ct.Ensemble(VECTORS).members, VECTORS)
    assert (ct.Ensemble(MEMBERS).n_members, ct.Ensemble(VECTORS).n_members) == (M, M)
    assert repr(ct.Ensemble(VECTORS)) == "<Ensemble, n = 9, 6 members, d = 3>"


def quantile_distance(x, y):
    """Sorted members, repeated until both have the same number."""
    x, y = np.repeat(np.sort(x), len(y)), np.repeat(np.sort(y), len(x))
    return np.sqrt(np.mean((x - y) ** 2))


@pytest.mark.parametrize(("m", "k"), [(6, 6), (6, 4), (4, 6), (1, 5), (3, 9), (7, 5)])
def test_wasserstein_distance_is_that_of_quantile_functions(m, k):
    rng = np.random.default_rng(m)
    x, y = rng.normal(size=(4, m)), rng.normal(size=(5, k))
    expected = [[quantile_distance(one, other) for other in y] for one in x]
    distances = ct.Ensemble(x).distance(ct.Wasserstein(), ct.Ensemble(y))
    assert distances == pytest.approx(np.array(expected), rel=1e-13)
    again = ct.Ensemble(x).distance(ct.Wasserstein(), ct.Ensemble(np.repeat(y, 3, axis=1)))
    assert again == pytest.approx(distances, rel=1e-13)


@pytest.mark.parametrize(("m", "k"), [(6, 6), (6, 4), (1, 5)])
def test_energy_distance_of_numbers(m, k):
    rng = np.random.default_rng(m)
    x, y = rng.normal(size=(4, m)), rng.normal(size=(5, k))
    expected = [[stats.energy_distance(one, other) for other in y] for one in x]
    distances = ct.Ensemble(x).distance(ct.kernels.EnergyDistance(), ct.Ensemble(y))
    assert distances == pytest.approx(np.array(expected), rel=1e-13)


@pytest.mark.parametrize("k", [M, 4])
def test_energy_distance_of_vectors(k):
    def mean(x, y):
        return np.linalg.norm(x[:, None] - y[None], axis=-1).mean()

    x, y = ct.Ensemble(VECTORS), ct.Ensemble(VECTORS[:5, :k] + 0.3)
    expected = [[2 * mean(a, b) - mean(a, a) - mean(b, b) for b in y.members] for a in x.members]
    assert x.distance(ct.kernels.EnergyDistance(), y) == pytest.approx(np.sqrt(expected), rel=1e-12)
    numbers, lines = ct.Ensemble(MEMBERS), ct.Ensemble(MEMBERS[..., None])
    assert lines.energy_distances(lines) == pytest.approx(numbers.energy_distances(numbers), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("members", [MEMBERS, VECTORS], ids=["numbers", "vectors"])
def test_distances_do_not_depend_on_others_and_are_zero_only_between_equal_ensembles(members):
    far = members.copy()
    far[0] *= 1e12
    far[1] += np.pi
    far[2], far[3] = far[1, ::-1], far[1] + 1e-5
    for permutation in (slice(None), slice(None, None, -1)):
        ensemble = ct.Ensemble(far[:, permutation])
        all_of_them = ensemble.distance(ct.kernels.EnergyDistance(), ensemble)
        assert (np.diag(all_of_them) == 0.0).all()
        assert all_of_them[1, 2] == 0.0
        near = ensemble.take(slice(1, N))
        assert np.array_equal(near.distance(ct.kernels.EnergyDistance(), near), all_of_them[1:, 1:])
        assert (all_of_them[~np.isin(np.arange(N), [1, 2])][:, 1] > 0.0).all()


def test_ensembles_of_the_same_vectors_in_another_order_are_equal():
    """Sums in another order differ by rounding, of which distances must not be the root."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        members = 7.0 + rng.normal(size=(1, 11, 3))
        one, other = ct.Ensemble(members), ct.Ensemble(rng.permutation(members, axis=1))
        assert one.distance(ct.kernels.EnergyDistance(), other)[0, 0] == 0.0


def test_stacks_of_distances():
    index = np.array([[0, 4, 8], [3, 3, 1]])
    for members, metrics in (
        (MEMBERS, (ct.Wasserstein(), ct.kernels.EnergyDistance())),
        (VECTORS, (ct.kernels.EnergyDistance(),)),
    ):
        ensemble = ct.Ensemble(members)
        stack = ensemble.take(index)
        for metric in (*metrics, ct.kernels.MMD(GAUSSIAN)):
            whole = ensemble.distance(metric, ensemble)
            assert stack.distance(metric, stack) == pytest.approx(
                whole[index[:, :, None], index[:, None, :]], abs=1e-7 if isinstance(metric, ct.kernels.MMD) else 1e-14
            )
            assert stack.self_kernel(GAUSSIAN) == pytest.approx(ensemble.self_kernel(GAUSSIAN)[index], rel=1e-13)


def test_moments_scale_and_distribution_function():
    numbers, vectors = ct.Ensemble(MEMBERS), ct.Ensemble(VECTORS)
    mean, variance = numbers.moments()
    assert mean == pytest.approx(MEMBERS.mean(axis=1))
    assert variance == pytest.approx(MEMBERS.var(axis=1))
    mean, variance = vectors.moments()
    assert mean == pytest.approx(VECTORS.mean(axis=1))
    assert variance == pytest.approx(VECTORS.var(axis=1).sum(axis=1))
    assert vectors.target_scale() == pytest.approx(np.median(np.sqrt(variance)))
    assert numbers.target_scale() == pytest.approx(np.median(MEMBERS.std(axis=1)))
    assert numbers.cdf(MEMBERS[:, 0]) == pytest.approx((MEMBERS[:, :1] >= MEMBERS).mean(axis=1))


def test_one_member_is_a_point_prediction():
    points = ct.Ensemble([[0.0], [1.0], [5.0]])
    gaps = np.abs(np.subtract.outer([0.0, 1.0, 5.0], [0.0, 1.0, 5.0]))
    assert points.distance(ct.kernels.EnergyDistance(), points) == pytest.approx(np.sqrt(2.0 * gaps))
    assert points.distance(ct.Wasserstein(), points) == pytest.approx(gaps)
    with pytest.raises(ValueError, match='bandwidth: got "median" for targets of which more than half'):
        ct.MonteCarloTest(ct.SKCE(points.default_kernel()))(ct.Scenarios(points.members), [0.0, 1.0, 4.0])
    assert 0.0 < ct.calibration_test(points, [0.5, 1.0, 4.0], n_resamples=19, rng=1).pvalue <= 1.0


def test_draws_are_members_with_equal_frequencies():
    draws = ct.Scenarios(MEMBERS).sample(1, 60_000)
    for i in range(0, N, 4):
        values, counts = np.unique(draws[:, i], return_counts=True)
        assert np.array_equal(values, np.sort(MEMBERS[i]))
        assert stats.chisquare(counts).pvalue > 1e-3
    vectors = ct.Scenarios(VECTORS).sample(1, 100)
    assert vectors.shape == (100, N, 3)
    assert all(any(np.array_equal(draw, member) for member in VECTORS[4]) for draw in vectors[:, 4])


def test_outcomes_that_are_no_scenario_are_impossible():
    """Up to rounding in units of the largest scenario; members of ensembles exclude nothing, nor do pools."""
    scenarios = ct.Scenarios([[0.0, 3e5, 1.0]] * 5)
    targets = scenarios.check_targets([0.0, 0.1 + 0.2, 1.0 + 1e-12, 1e-3, 3e5])
    assert scenarios.impossible(targets).tolist() == [False, True, False, True, False]
    vectors = ct.Scenarios([[[0.0, 1.0], [1.0, 0.0]]] * 3)
    assert vectors.impossible(np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]])).tolist() == [False, True, True]
    ensemble = ct.Ensemble([[0.0, 3e5, 1.0]] * 5)
    assert not ensemble.impossible(targets).any()
    assert not ensemble.pooled(targets).impossible(targets).any()


class TestDrawnMembers:
    """Expectations are those over the draws; targets come from the distribution."""

    NORMAL = ct.Normal(np.linspace(-1.0, 1.0, N), np.linspace(0.5, 2.0, N))

    def test_members_have_the_distribution(self):
        drawn = self.NORMAL.to_ensemble(5000, rng=1)
        assert drawn.source is self.NORMAL
        for i in range(0, N, 4):
            law = stats.norm(self.NORMAL.mean[i], self.NORMAL.scale[i])
            assert stats.kstest(drawn.members[i], law.cdf).pvalue > 1e-3

    def test_targets_are_drawn_from_the_source(self):
        drawn = self.NORMAL.to_ensemble(3, rng=1)
        assert np.array_equal(drawn.sample(2, 4), self.NORMAL.sample(2, 4))
        index = np.array([5, 1])
        assert np.array_equal(drawn.take(index).sample(2), self.NORMAL.take(index).sample(2))
        joined = drawn.followed_by(drawn.take(slice(0, 2)))
        assert joined.source.mean == pytest.approx([*self.NORMAL.mean, *self.NORMAL.mean[:2]])
        assert repr(joined) == "<Ensemble, n = 11, 3 members drawn from Normal>"
        assert ct.Ensemble(drawn.members).source is None

    def test_what_the_source_says_of_targets(self):
        drawn = self.NORMAL.to_ensemble(3, rng=1)
        assert drawn.cdf(np.zeros(N)) == pytest.approx(self.NORMAL.cdf(np.zeros(N)))
        classes = ct.Bernoulli([0.0, 0.3], classes=["no", "yes"]).to_ensemble(4, rng=1)
        assert classes.check_targets(["yes", "no"]).tolist() == [1.0, 0.0]
        assert classes.impossible(np.array([1, 0])).tolist() == [True, False]
        with pytest.raises(ValueError, match="targets: got 'maybe' at row 1"):
            classes.check_targets(["yes", "maybe"])
        assert classes.hypothesis == "P(Y = 1 | p) = p"

    def test_vectors(self):
        source = ct.MvNormal(np.zeros((N, 2)), np.ones(N))
        drawn = source.to_ensemble(7, rng=1)
        assert drawn.members.shape == (N, 7, 2)
        assert np.array_equal(drawn.members.swapaxes(0, 1), source.sample(generator_apart(1), 7))
        assert np.array_equal(drawn.sample(2, 4), source.sample(2, 4))

    def test_monte_carlo_redraws_from_the_source(self):
        """The draws of the statistic are those for redraws of the source with the same seeds."""
        drawn = self.NORMAL.to_ensemble(3, rng=1)
        estimator = ct.SKCE(ct.ProductKernel(W2, GAUSSIAN))
        targets = self.NORMAL.sample(3)
        result = ct.MonteCarloTest(estimator, n_resamples=5)(drawn, targets, rng=4)
        redraws = self.NORMAL.with_redraws(None, streams(np.random.default_rng(4), 5))
        assert result.null_distribution == pytest.approx([estimator(drawn, y) for y in redraws], rel=1e-11)

    @pytest.mark.usefixtures("without_findings")
    def test_monte_carlo_test_is_exact(self, replications):
        """Rejections of calibrated data sets between the 0.5 % and the 99.5 % quantile of the binomial law."""
        rng = np.random.default_rng(2021)
        sets, n_resamples = replications((50, 19), (400, 99))
        test = ct.MonteCarloTest(ct.SKCE(ct.Ensemble([[0.0, 1.0]]).default_kernel()), n_resamples)
        pvalues = np.empty(sets)
        for i in range(sets):
            predictions = ct.Normal(rng.normal(size=25), rng.uniform(0.5, 1.5, 25))
            targets = predictions.sample(rng)
            pvalues[i] = test(predictions.to_ensemble(20, rng), targets, rng=rng).pvalue
        for alpha in (0.05, 0.5):
            low, high = stats.binom.ppf([0.005, 0.995], sets, alpha)
            assert low <= np.count_nonzero(pvalues <= alpha) <= high

    @pytest.mark.parametrize("kernel", [GAUSSIAN, ct.LaplacianKernel(0.8)], ids=["Gaussian", "Laplacian"])
    def test_many_draws_converge_to_the_distribution(self, kernel, replications):
        """The error of the SKCE goes down like one over the root of the number of members."""
        generator = np.random.default_rng(2)
        source = ct.Normal(generator.normal(size=40), generator.uniform(0.5, 1.5, 40))
        if isinstance(kernel, ct.LaplacianKernel):
            source = ct.Laplace(source.mean, source.scale)
        targets = 2.0 * source.sample(1)
        skce = ct.SKCE(ct.ProductKernel(ct.ExponentialKernel(ct.kernels.MMD(kernel), bandwidth=0.5), kernel))
        exact = skce(source, targets)
        errors = [
            np.sqrt(np.mean([(skce(source.to_ensemble(m, rng), targets) - exact) ** 2 for rng in range(6)]))
            for m in replications((20, 320), (20, 320, 5120))
        ]
        assert all(fewer < more / 2 for more, fewer in pairwise(errors))
        assert errors[-1] < replications(0.12, 0.03) * exact


def test_numbers_of_members_can_differ():
    """As test locations, say: kernels and distances between ensembles of 6 and of 4 members."""
    rng = np.random.default_rng(5)
    sample, locations = ct.Scenarios(MEMBERS), ct.Ensemble(rng.normal(size=(3, 4)))
    targets, places = rng.normal(size=N), rng.normal(size=3)
    for metric in (ct.Wasserstein(), ct.kernels.EnergyDistance(), ct.kernels.MMD(GAUSSIAN)):
        kernel = ct.ProductKernel(ct.ExponentialKernel(metric, 1.0), GAUSSIAN)
        value = ct.UCME(kernel, locations, places)(sample, targets)
        k_p = np.exp(-sample.distance(metric, locations))
        k_y = GAUSSIAN.target_tile(targets, places)
        k_z = GAUSSIAN.target_tile(sample.members.ravel(), places).reshape(N, M, 3).mean(axis=1)
        assert value == pytest.approx(np.mean((k_p * (k_y - k_z)).mean(axis=0) ** 2), rel=1e-12)
    both = sample.expected_kernel2(GAUSSIAN, locations)
    slow = GAUSSIAN.target_tile(sample.members.ravel(), locations.members.ravel()).reshape(N, M, 3, 4).mean(axis=(1, 3))
    assert both == pytest.approx(slow, rel=1e-13)


def test_default_kernels():
    assert ct.Ensemble(MEMBERS).default_kernel().describe() == "exp(-W2 / median) x exp(-|y - y'|^2 / (2 median^2))"
    assert ct.Ensemble(VECTORS).default_kernel().describe() == "exp(-energy / median) x exp(-|y - y'|^2 / (2 median^2))"
    for members, targets in ((MEMBERS, MEMBERS[:, 0]), (VECTORS, VECTORS[:, 0])):
        assert 0.0 < ct.calibration_test(ct.Ensemble(members), targets, n_resamples=9, rng=1).pvalue <= 1.0


def test_kernels_that_compiled_loops_do_not_know():
    """Draws of classes with the Delta kernel, which have the closed form of the frequencies."""
    p = np.random.default_rng(3).dirichlet(np.ones(3), 6)
    drawn = ct.Categorical(p).to_ensemble(8, rng=1)
    frequencies = ct.Categorical(np.stack([(drawn.members == c).mean(axis=1) for c in range(3)], axis=1))
    labels = np.array([0, 1, 2, 0, 1, 2])
    delta = ct.DeltaKernel()
    assert drawn.expected_kernel(delta, labels) == pytest.approx(frequencies.expected_kernel(delta, labels))
    assert drawn.expected_kernel2(delta, drawn) == pytest.approx(frequencies.expected_kernel2(delta, frequencies))


def test_memory_of_sums_does_not_grow_with_all_pairs_of_members(monkeypatch):
    """Values of a kernel for pairs of members are never in memory for more than a part of a tile."""
    sizes = []
    monkeypatch.setattr(measure_sums, "form_of", lambda *_: None)
    original = ct.GaussianKernel.target_tile

    def counted(self, rows, columns):
        sizes.append(rows.size * columns.size)
        return original(self, rows, columns)

    monkeypatch.setattr(ct.GaussianKernel, "target_tile", counted)
    ensemble = ct.Ensemble(np.random.default_rng(1).normal(size=(60, 40)))
    hpairs.h_sums(ct.ProductKernel(W2, GAUSSIAN), Sample(ensemble, np.zeros(60)))
    assert max(sizes) <= measure_sums.VALUES


def test_pairs_of_ensembles_of_vectors_are_fewer_where_members_are_many():
    """The steps of a median bandwidth are about as many for any number of members, and no estimate takes all pairs."""
    numbers = [ct.Ensemble(np.zeros((2, m, 3))).default_median_of for m in (1, 4, 50)]
    assert numbers == [10_000, 2_500, 1_000]
    assert ct.Ensemble(np.zeros((2, 50))).default_median_of == 10_000
    kernel = ct.GaussianKernel(bandwidth=1.0)
    assert ct.Ensemble(np.zeros((2, 50))).has_formulas(kernel)
    assert not ct.Ensemble(np.zeros((2, 50, 3))).has_formulas(kernel)


@pytest.mark.parametrize("n", [9, 10])
def test_a_column_that_numbers_ten_rows_is_no_member(n):
    members = np.column_stack([np.arange(n), np.random.default_rng(1).normal(size=(n, 3))])
    if n == 9:
        assert ct.Ensemble(members).n_members == 4
        return
    with pytest.raises(ValueError, match="leave out the column that numbers the rows"):
        ct.Ensemble(members)


def test_fewer_members_are_at_equal_distances_in_their_order():
    law = ct.Ensemble(np.arange(20.0).reshape(2, 10)[:, ::-1])
    assert law.of_fewer(4).members.tolist() == [[1.0, 3.0, 6.0, 8.0], [11.0, 13.0, 16.0, 18.0]]
    assert law.of_fewer(10).members.tolist() == law.members.tolist()
    vectors = ct.Ensemble(np.arange(40.0).reshape(2, 10, 2))
    assert vectors.of_fewer(4).members[1, :, 0].tolist() == [22.0, 26.0, 32.0, 36.0]
