"""What all families of counts share, against sums over far more counts than any prediction has mass on."""

import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest._basics.threads import streams
from caltest.hstatistics import tiles as htiles
from caltest.hstatistics.redraws import of_all_families as hredraws
from caltest.kernels import TargetKernel
from caltest.predictions import Sample
from caltest.predictions.counts import expectations, law

COUNTS = np.arange(1200)
KERNELS = [
    ct.DeltaKernel(),
    ct.GaussianKernel(bandwidth=2.5),
    ct.LaplacianKernel(3.0),
    ct.ExponentialKernel(bandwidth=4.0, exponent=0.7),
    ct.MaternKernel(bandwidth=2.0, order=1.5),
    ct.MaternKernel(bandwidth=20.0, order=2.5),
    ct.kernels.RationalQuadraticKernel(bandwidth=3.0, shape=0.4),
    ct.GaussianKernel(bandwidth=0.5) + 3.0 * ct.LaplacianKernel(40.0) + 0.25 * ct.DeltaKernel(),
]


class Product(TargetKernel):
    """``1 + y y' / 100`` with other names: no function of a difference."""

    bound = np.inf

    def target_tile(self, rows, columns):
        return 1.0 + np.multiply(rows[..., :, None], columns[..., None, :], dtype=float) / 100.0

    def resolve_for_targets(self, predictions):
        return self

    def describe_for_targets(self):
        return "1 + y y' / 100"


RATES = np.array([0.0, 1e-9, 0.3, 4.0, 77.0, 310.0])
MEANS, DISPERSIONS = np.array([0.0, 0.01, 2.0, 12.0, 60.0]), np.array([1.0, 2.0, 0.1, 1.0, 1e-6])


def poisson():
    return ct.Poisson(RATES), stats.poisson.pmf(COUNTS, RATES[:, None])


def negative_binomial():
    predictions = ct.NegativeBinomial.from_mean(MEANS, DISPERSIONS)
    return predictions, stats.nbinom.pmf(COUNTS, 1.0 / DISPERSIONS[:, None], 1.0 / (1.0 + DISPERSIONS * MEANS)[:, None])


FAMILIES = [poisson, negative_binomial]
families = pytest.mark.parametrize("family", FAMILIES)


@pytest.mark.every(4)
@families
@pytest.mark.parametrize("kernel", [*KERNELS, Product()], ids=lambda kernel: kernel.describe_for_targets())
def test_expectations_are_sums_over_counts(family, kernel):
    """For targets inside and far outside of the window, with and without tables."""
    predictions, pmf = family()
    y = np.array([0, 3, 55, 301, 2000, 10**9])
    gram = kernel.target_tile(COUNTS, COUNTS)
    at_targets, both = pmf @ kernel.target_tile(COUNTS, y), pmf @ gram @ pmf.T
    for one in (predictions, predictions.prepared(kernel)):
        # The error of scipy's probabilities is below 1e-12 here.
        assert one.expected_kernel(kernel, y) == pytest.approx(at_targets, rel=1e-11, abs=1e-12)
        assert one.expected_kernel2(kernel, one) == pytest.approx(both, rel=1e-11, abs=1e-12)
        assert one.self_kernel(kernel) == pytest.approx(np.diag(both), rel=1e-11, abs=1e-12)


@families
def test_tables_and_sums_without_them_agree_to_rounding(family):
    predictions, _ = family()
    for kernel in KERNELS:
        table = predictions.prepared(kernel)
        y = np.arange(40)
        size = kernel.bound
        one, two = predictions.expected_kernel(kernel, y), table.expected_kernel(kernel, y)
        assert one == pytest.approx(two, rel=0.0, abs=1e-14 * size)
        for other in (predictions, table, predictions.take(slice(2, 3)), table.take([1, 4])):
            expected = predictions.expected_kernel2(kernel, predictions)
            columns = {1: slice(2, 3), 2: [1, 4]}.get(len(other), slice(None))
            assert table.expected_kernel2(kernel, other) == pytest.approx(expected[:, columns], rel=0, abs=1e-14 * size)
            assert other.expected_kernel2(kernel, table) == pytest.approx(expected[columns], rel=0, abs=1e-14 * size)


def test_predictions_with_windows_that_share_nothing():
    low, high = ct.Poisson([0.5, 2.0]), ct.Poisson([1500.0])
    kernel = ct.kernels.RationalQuadraticKernel(bandwidth=500.0)
    window = np.arange(2500)
    pmf = [stats.poisson.pmf(window, rate) for rate in (0.5, 2.0, 1500.0)]
    expected = [[one @ kernel.target_tile(window, window) @ pmf[2]] for one in pmf[:2]]
    for a, b in ((low, high), (low.prepared(kernel), high), (low, high.prepared(kernel))):
        assert a.expected_kernel2(kernel, b) == pytest.approx(np.array(expected), rel=1e-11)
        assert pytest.approx(np.array(expected), rel=1e-11) == b.expected_kernel2(kernel, a).T
    assert low.distance(ct.TotalVariation(), high) == pytest.approx(np.ones((2, 1)), abs=1e-14)
    assert low.distance(ct.kernels.Wasserstein1(), high) == pytest.approx(np.array([[1499.5], [1498.0]]), rel=1e-12)


@pytest.mark.every(2)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.describe_for_targets())
def test_long_windows_by_fourier_transforms(kernel, monkeypatch):
    predictions = ct.Poisson([0.0, 20.0, 700.0])
    slow = predictions.prepared(kernel)._table.means
    monkeypatch.setattr(expectations, "LONG", 10)
    fast = predictions.prepared(kernel)._table.means
    assert fast == pytest.approx(slow, rel=0.0, abs=1e-14 * kernel.bound)
    # Windows of the two sides that differ.
    monkeypatch.setattr(expectations, "LONG", 10**9)
    one, other = predictions.take(slice(1, 2)), predictions.take(slice(2, 3))
    slow = one.expected_kernel2(kernel, other)
    monkeypatch.setattr(expectations, "LONG", 10)
    assert one.expected_kernel2(kernel, other) == pytest.approx(slow, rel=0.0, abs=1e-14 * kernel.bound)


def test_means_of_counts_far_from_zero_by_fourier_transforms(monkeypatch):
    """``sum_u p(u) k(u, y)`` for counts y that are partly beyond those of the window."""
    p, kernel = np.random.default_rng(1).random((2, 12)), ct.GaussianKernel(bandwidth=3.0)
    counts, window = np.arange(9, 40), np.arange(5, 17)
    wanted = p @ np.exp(-((window[:, None] - counts) ** 2) / 18.0)
    for long in (10, 10**9):
        monkeypatch.setattr(expectations, "LONG", long)
        assert expectations.means_of_range(kernel, p, 5, 9, 40) == pytest.approx(wanted, rel=1e-12, abs=1e-14)


@families
def test_windows_leave_almost_nothing_out(family):
    predictions, _ = family()
    for i in range(len(predictions)):
        one = predictions.take([i])
        first, stop = one.window
        outside = 1.0 - one.cdf(np.array([stop - 1]))[0] + one.cdf(np.array([first - 1]))[0]
        assert outside <= 2e-16
        assert one._pmf(first, stop).sum() == pytest.approx(1.0, rel=1e-14)
        # Not many more counts than have a probability above 1e-19.
        wide = one._pmf(0, 3 * stop)[0]
        some = np.flatnonzero(wide > 1e-19)
        assert stop - some[-1] <= 5 + 0.3 * (some[-1] - one.mean[0])
        assert first >= some[0] - 0.3 * (one.mean[0] - some[0]) - 3 or first == 0


@families
def test_parts_of_tables_are_tables_of_parts(family, monkeypatch):
    predictions, _ = family()
    whole = predictions._pmf(0, 500)
    monkeypatch.setattr(law, "PART", 1000)
    monkeypatch.setattr(expectations, "VALUES", 1000)
    assert np.array_equal(predictions._pmf(0, 500), whole)
    kernel = ct.MaternKernel(bandwidth=3.0)
    y = np.arange(200)
    expected = whole @ kernel.target_tile(np.arange(500), y)
    assert predictions.expected_kernel(kernel, y) == pytest.approx(expected, rel=1e-11, abs=1e-13)


@families
def test_metrics_against_sums(family):
    predictions, pmf = family()
    cdf = np.cumsum(pmf, axis=1)
    pairs = pmf[:, None] - pmf[None], cdf[:, None] - cdf[None]
    expected = {
        ct.TotalVariation(): np.abs(pairs[0]).sum(-1) / 2.0,
        ct.kernels.Wasserstein1(): np.abs(pairs[1]).sum(-1),
        ct.kernels.EnergyDistance(): np.sqrt(2.0 * np.square(pairs[1]).sum(-1)),
    }
    for metric, values in expected.items():
        for one in (predictions, predictions.prepared(ct.DeltaKernel())):
            # Squares of energy distances that are rounding count as 0.
            rounding = 1e-5 if metric == ct.kernels.EnergyDistance() else 1e-11
            assert one.distance(metric, predictions) == pytest.approx(values, rel=1e-9, abs=rounding)
    gram = ct.GaussianKernel(bandwidth=2.0).target_tile(COUNTS, COUNTS)
    squares = np.einsum("ijk,ijk->ij", pairs[0] @ gram, pairs[0])
    distances = predictions.distance(ct.kernels.MMD(ct.GaussianKernel(bandwidth=2.0)), predictions)
    assert distances == pytest.approx(np.sqrt(np.maximum(squares, 0.0)), rel=1e-9, abs=1e-6)
    with pytest.raises(TypeError, match=r"metric: got Wasserstein\(\) .* wanted one of Euclidean\(\), Cityblock\(\)"):
        predictions.distance(ct.Wasserstein(), predictions)


@families
def test_energy_distance_by_its_definition(family):
    predictions, pmf = family()
    mean = pmf @ np.abs(COUNTS[:, None] - COUNTS) @ pmf.T
    expected = np.sqrt(np.maximum(2.0 * mean - np.diag(mean)[:, None] - np.diag(mean), 0.0))
    assert predictions.distance(ct.kernels.EnergyDistance(), predictions) == pytest.approx(expected, rel=1e-8, abs=1e-5)


@families
def test_metrics_do_not_depend_on_what_else_is_predicted(family):
    predictions, _ = family()
    for metric in (
        ct.TotalVariation(),
        ct.kernels.Wasserstein1(),
        ct.kernels.EnergyDistance(),
        ct.Euclidean(),
        ct.kernels.Cityblock(),
    ):
        whole = predictions.distance(metric, predictions)
        part = predictions.take([1, 3]).distance(metric, predictions.take([0, 2]))
        assert part == pytest.approx(whole[np.ix_([1, 3], [0, 2])], rel=1e-13, abs=1e-15)


def sample_of(predictions, outlier):
    y = predictions.sample(5)
    y[0] = outlier
    return Sample(predictions, predictions.check_targets(y))


@pytest.mark.every(15)
@families
@pytest.mark.parametrize("outlier", [0, 260, 70_000, 2**40])
@pytest.mark.parametrize("kernel", [KERNELS[1], KERNELS[-1], Product()], ids=["Gaussian", "sum", "product"])
def test_redraws_with_outliers(family, outlier, kernel, monkeypatch):
    """Pairs of redrawn counts are looked up, and counts outside of the window too."""
    # Products of numbers far apart have no digits left.
    outlier = min(outlier, 900) if isinstance(kernel, Product) else outlier
    predictions, _ = family()
    sample = sample_of(predictions, outlier)
    targets = predictions.with_redraws(sample.targets, streams(np.random.default_rng(1), 4))
    assert targets.shape == (5, len(predictions))
    product = ct.ProductKernel(ct.ExponentialKernel(ct.Euclidean(), bandwidth=2.0), kernel)
    for estimator in (ct.SKCE(product), ct.SKCE(product, unbiased=False), ct.BlockSKCE(product)):
        fast = estimator.estimates(predictions, targets)
        with monkeypatch.context() as patch:
            patch.setattr(law, "MOST_OUTCOMES", 0)
            slow = estimator.estimates(predictions, targets)
        assert fast == pytest.approx(slow, rel=1e-10, abs=1e-13)
        one_by_one = [estimator.estimate(Sample(predictions, y.astype(np.intp))) for y in targets[:3]]
        assert fast[:3] == pytest.approx(one_by_one, rel=1e-10, abs=1e-13)


def test_redraws_of_counts_above_a_first_one():
    """The window of large rates does not begin at 0, and observed counts lie on either side of it."""
    predictions = ct.Poisson([3000.0, 3050.0, 3100.0])
    assert predictions.window[0] > 256
    observed = predictions.check_targets([3, 3000, 9000])
    targets = predictions.with_redraws(observed, streams(np.random.default_rng(1), 5))
    product = ct.ProductKernel(ct.ExponentialKernel(bandwidth=2.0), ct.GaussianKernel(bandwidth=30.0))
    one_by_one = [ct.SKCE(product).estimate(Sample(predictions, y.astype(np.intp))) for y in targets]
    assert ct.SKCE(product).estimates(predictions, targets) == pytest.approx(one_by_one, rel=1e-10, abs=1e-13)
    small = np.array([[3, 4, 5], [250, 0, 255]], dtype=np.uint8)
    one_by_one = [ct.SKCE(product).estimate(Sample(predictions, y.astype(np.intp))) for y in small]
    assert ct.SKCE(product).estimates(predictions, small) == pytest.approx(one_by_one, rel=1e-10, abs=1e-13)


def test_redraws_come_in_the_smallest_type():
    generator = np.random.default_rng(1)
    small = ct.Poisson([3.0, 50.0])
    assert small.with_redraws(None, streams(generator, 100)).dtype == np.uint8
    assert small.with_redraws(small.check_targets([0, 256]), streams(generator, 100)).dtype == np.uint16
    assert ct.Poisson([300.0]).with_redraws(None, streams(generator, 100)).dtype == np.uint16
    large = ct.Poisson([3.0, 1e5])
    assert large.with_redraws(None, streams(generator, 3)).dtype == np.uint32
    redraws = large.with_redraws(np.array([1, 2**33]), streams(generator, 3))
    assert redraws.dtype == np.uint64
    assert redraws[0].tolist() == [1, 2**33]
    assert np.array_equal(
        small.with_redraws(None, streams(np.random.default_rng(3), 70)),
        np.concatenate([small.sample(*stream) for stream in streams(np.random.default_rng(3), 70)]),
    )


@families
def test_sampling_follows_the_distribution_function(family):
    """The randomised transform u = F(y - 1) + v p(y) is uniform."""
    predictions, _ = family()
    draws = predictions.sample(7, 4000)
    assert draws.dtype.kind == "i"
    v = np.random.default_rng(8).random(draws.shape)
    u = (1.0 - v) * predictions.cdf(draws - 1) + v * predictions.cdf(draws)
    for i in range(len(predictions)):
        assert stats.kstest(u[:, i], "uniform").pvalue > 1e-3
    assert predictions.sample(7).shape == (len(predictions),)


@families
def test_distribution_functions_add_up_probabilities(family):
    predictions, _ = family()
    pmf = predictions._pmf(0, 3000)
    for y in (0, 1, 7, 60, 400):
        cdf = predictions.cdf(np.full(len(predictions), y))
        assert cdf == pytest.approx(pmf[:, : y + 1].sum(axis=1), rel=1e-12, abs=1e-33)
        assert np.array_equal(predictions.cdf(np.full(len(predictions), y + 0.9)), cdf)
    assert np.array_equal(predictions.cdf(np.full(len(predictions), -1)), np.zeros(len(predictions)))
    assert np.array_equal(predictions.cdf(np.full(len(predictions), -0.5)), np.zeros(len(predictions)))


@families
def test_moments(family):
    predictions, pmf = family()
    mean, variance = predictions.moments()
    assert mean == pytest.approx(pmf @ COUNTS, rel=1e-9)
    assert variance == pytest.approx(pmf @ COUNTS**2 - (pmf @ COUNTS) ** 2, rel=1e-9, abs=1e-15)
    assert predictions.target_scale() == pytest.approx(np.median(np.sqrt(variance)))


@families
@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ([0, 1, -2], "targets: got -2 at row 2, wanted whole numbers of at least 0"),
        ([0.0, 1.5, 2.0], "targets: got 1.5 at row 1, wanted whole numbers .*rate times exposure"),
        ([0.0, np.nan, 2.0], "targets: got nan at row 1"),
        ([0.0, np.inf, 2.0], "targets: got inf at row 1"),
        ([0, 1, 2**60], r"targets: got 1.15292e\+18 at row 2, wanted counts below 2\*\*53"),
        ([0, 1], "targets: got 2 values, wanted 3"),
        ([[0, 1], [1, 0], [2, 1]], r"targets: got shape \(3, 2\)"),
        (["a", "b", "c"], "targets: got values of type"),
        ([], "targets: got no values"),
    ],
)
def test_bad_targets(family, targets, message):
    predictions = family()[0].take([1, 2, 3])
    with pytest.raises(ValueError, match=message):
        predictions.check_targets(targets)


@families
def test_whole_numbers_of_any_type_are_counts(family):
    predictions = family()[0].take([2, 3])
    for targets in ([0, 7], [0.0, 7.0], np.array([0, 7], dtype=np.uint8), np.array([0, 7], dtype=np.float32)):
        checked = predictions.check_targets(targets)
        assert checked.dtype == np.intp
        assert checked.tolist() == [0, 7]


def test_a_matrix_is_no_kernel_of_counts():
    predictions = ct.Poisson([1.0, 2.0])
    product = ct.ProductKernel(
        ct.ExponentialKernel(bandwidth=1.0), ct.kernels.MatrixKernel(np.eye(9)) + ct.DeltaKernel()
    )
    for use in (ct.SKCE(product), ct.SKCE(product, unbiased=False), ct.MonteCarloTest(ct.SKCE(product), 19)):
        with pytest.raises(TypeError, match=r"target_kernel: got A\[y, y'\] \(9 x 9\) for Poisson .* classes only"):
            use(predictions, [1, 2])


def test_families_are_not_mixed():
    poisson, negative = ct.Poisson([1.0]), ct.NegativeBinomial([1.0], 0.5)
    with pytest.raises(TypeError, match="other: got NegativeBinomial predictions, wanted Poisson predictions"):
        poisson.distance(ct.TotalVariation(), negative)
    with pytest.raises(TypeError, match="predictions: got Poisson predictions, wanted NegativeBinomial predictions"):
        negative.followed_by(poisson)


def test_counts_that_are_too_many_to_sum_over():
    predictions = ct.Poisson([1.0, 1e6])
    message = r"spread over the counts 0\.\.10\d+, more than the 131072 .*Normal.*to_ensemble"
    with pytest.raises(ValueError, match=message):
        predictions.expected_kernel(ct.GaussianKernel(bandwidth=10.0), np.array([1, 2]))
    with pytest.raises(ValueError, match=message):
        ct.calibration_test(predictions, [1, 10**6], n_resamples=19)
    ensemble = predictions.to_ensemble(50, rng=1)
    assert 0.0 < ct.calibration_test(ensemble, [1, 10**6], n_resamples=19, rng=1).pvalue <= 1.0


@families
def test_tables_that_are_too_large_are_those_of_parts(family, monkeypatch):
    predictions, _ = family()
    sample = sample_of(predictions, 40)
    product = ct.ProductKernel(ct.ExponentialKernel(bandwidth=2.0), ct.MaternKernel(bandwidth=3.0))
    makers = (
        ct.SKCE(product, unbiased=False),
        ct.BlockSKCE(product, unbiased=False),
        ct.UCME(product, predictions.take([1, 2]), sample.targets[[1, 2]]),
    )
    with_tables = [make.estimate(sample) for make in makers]
    monkeypatch.setattr(law, "LARGEST_TABLE", 1000)
    monkeypatch.setattr(law, "PART", 1000)
    monkeypatch.setattr(expectations, "VALUES", 1000)
    assert predictions.prepared(ct.DeltaKernel()) is predictions
    assert [make.estimate(sample) for make in makers] == pytest.approx(with_tables, rel=1e-12)


def test_probabilities_that_do_not_fit_into_memory(monkeypatch):
    monkeypatch.setattr("caltest._basics.numerics.memory_size", lambda: 1e4)
    monkeypatch.setattr(law, "PART", 1000)
    monkeypatch.setattr(expectations, "VALUES", 1000)
    with pytest.raises(MemoryError, match=r"probabilities of all counts would take .*BlockSKCE"):
        ct.SKCE(ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 1.0), ct.DeltaKernel()))(
            ct.Poisson(np.full(100, 5.0)), np.full(100, 3)
        )


def test_a_mixture_with_zeros_is_zero_inflated():
    """Components with different windows: a point at 0 and Poisson distributions."""
    rate, zeros = np.array([2.0, 5.0, 9.0, 30.0]), np.array([0.3, 0.0, 0.9, 0.5])
    mixture = ct.Mixture([ct.Poisson(np.zeros(4)), ct.Poisson(rate)], np.stack([zeros, 1.0 - zeros], axis=1))
    pmf = (1.0 - zeros)[:, None] * stats.poisson.pmf(COUNTS, rate[:, None])
    pmf[:, 0] += zeros
    kernel = ct.GaussianKernel(bandwidth=2.0)
    y = mixture.check_targets([0, 4, 12, 200])
    expected = pmf @ kernel.target_tile(COUNTS, y)
    assert mixture.expected_kernel(kernel, y) == pytest.approx(expected, rel=1e-10, abs=1e-14)
    both = pmf @ kernel.target_tile(COUNTS, COUNTS) @ pmf.T
    for one in (mixture, mixture.prepared(kernel)):
        assert one.expected_kernel2(kernel, one) == pytest.approx(both, rel=1e-10)
    result = ct.calibration_test(mixture, y, n_resamples=19, rng=1)
    assert 0.0 < result.pvalue <= 1.0


@families
def test_joined_predictions(family):
    predictions, _ = family()
    joined = predictions.take([0, 1]).followed_by(predictions.take([2, 3, 4]))
    assert np.array_equal(joined.mean, predictions.mean[:5])
    assert np.array_equal(joined.variance, predictions.variance[:5])


@families
def test_prepared_tables_are_of_their_kernel(family):
    predictions, _ = family()
    kernel, other = ct.GaussianKernel(bandwidth=1.0), ct.LaplacianKernel(2.0)
    prepared = predictions.prepared(kernel)
    assert prepared.prepared(ct.GaussianKernel(bandwidth=1.0)) is prepared
    y = np.array([1, 5])
    expected = predictions.expected_kernel(other, y)
    assert prepared.expected_kernel(other, y) == pytest.approx(expected, rel=1e-13)
    assert prepared.prepared(other).expected_kernel(other, y) == pytest.approx(expected, rel=1e-13)
    both = predictions.expected_kernel2(other, predictions)
    assert prepared.expected_kernel2(other, prepared) == pytest.approx(both, rel=1e-13)


def test_size_of_the_default_test():
    """p-values of calibrated counts are uniform, and rates that are much too low are found."""
    rng = np.random.default_rng(2)
    rate = rng.gamma(2.0, 3.0, 60)
    predictions = ct.Poisson(rate)
    test = ct.MonteCarloTest(ct.SKCE(predictions.default_kernel()), n_resamples=39)
    pvalues = [test(predictions, rng.poisson(rate), rng=rng).pvalue for _ in range(40)]
    assert stats.kstest(pvalues, "uniform").pvalue > 1e-3
    assert test(predictions, rng.poisson(1.6 * rate), rng=1).pvalue == 1 / 40


def test_h_by_loops_over_counts():
    predictions, y = ct.Poisson([0.7, 3.0]), np.array([2, 9])
    kernel = ct.ProductKernel(ct.ExponentialKernel(bandwidth=0.8), ct.MaternKernel(bandwidth=2.0))
    k_p = np.exp(-abs(np.sqrt(0.7) - np.sqrt(3.0)) / 0.8)
    u = np.arange(40)

    def k(a, b):
        x = np.sqrt(3.0) * np.abs(np.subtract.outer(a, b)) / 2.0
        return (1.0 + x) * np.exp(-x)

    p, q = stats.poisson.pmf(u, 0.7), stats.poisson.pmf(u, 3.0)
    expected = k_p * (k(2, 9) - p @ k(u, 9) - q @ k(u, 2) + p @ k(u, u) @ q)
    h = htiles.h_tile(kernel, Sample(predictions, y), Sample(predictions, y))
    assert h[0, 1] == pytest.approx(expected, rel=1e-12)
    assert hredraws.redrawn_means([kernel], predictions, y[None])[0, 0] == pytest.approx(expected, rel=1e-12)


def many(n):
    rng = np.random.default_rng(n)
    return {
        "rates": ct.Poisson(rng.uniform(0.0, 12.0, n)),
        "rates far from 0": ct.Poisson(rng.uniform(2e4, 2.01e4, n)),
        "means": ct.NegativeBinomial.from_mean(rng.uniform(0.1, 5.0, n), rng.uniform(0.05, 0.5, n)),
        "means far from 0": ct.NegativeBinomial.from_mean(rng.uniform(300.0, 400.0, n), rng.uniform(0.001, 0.01, n)),
    }


@pytest.mark.every(6)
@pytest.mark.parametrize("name", many(2))
@pytest.mark.parametrize("kernel", [ct.DeltaKernel(), KERNELS[-1]], ids=["delta", "sum"])
@pytest.mark.parametrize("outlier", [0, 500])
def test_products_of_matrices_are_the_definition(name, kernel, outlier):
    """With more predictions than counts in the window h is a product of matrices, unless targets are outside of it."""
    predictions, rng = many(700)[name], np.random.default_rng(3)
    y = predictions.sample(rng)
    y[5] += outlier
    pair_kernel = ct.ProductKernel(ct.ExponentialKernel(ct.Euclidean(), 0.5), kernel)
    sample = Sample(predictions, y)
    tiles = htiles.tiles_of(pair_kernel, sample)
    assert tiles.products
    if not name.endswith("far from 0"):
        assert tiles.sample.predictions._table.gram is not None
    some = np.concatenate([np.arange(8), rng.integers(0, 700, 12)])
    h = tiles.tile((slice(0, 700), slice(0, 700)))[np.ix_(some, some)]
    unprepared = sample.take(some)
    assert h == pytest.approx(htiles.h_tile(pair_kernel, unprepared, unprepared), rel=1e-11, abs=1e-14)


@pytest.mark.every(3)
@pytest.mark.parametrize("name", many(2))
def test_probabilities_by_recursion_are_those_by_logarithms(name):
    """At every count, wherever the window begins, down to probabilities that count for nothing."""
    predictions = many(10)[name]
    first, stop = predictions.window
    exact = predictions._exact_pmf(np.arange(first, stop, dtype=float))
    assert predictions._pmf(first, stop) == pytest.approx(exact, rel=2e-12, abs=1e-149)
    assert np.array_equal(predictions._pmf(first + 37, stop), predictions._pmf(first, stop)[:, 37:])


class WithoutRecursion(ct.Poisson):
    """As a family of one's own, which need not know a recursion."""

    def _recursion(self):
        return None


def test_probabilities_without_a_recursion_are_those_by_logarithms():
    rate = np.random.default_rng(1).gamma(2.0, 4.0, 30)
    one, other = WithoutRecursion(rate), ct.Poisson(rate)
    assert np.array_equal(one._pmf(3, 60), one._exact_pmf(np.arange(3.0, 60.0)))
    kernel, y = ct.GaussianKernel(bandwidth=2.0), other.sample(1)
    assert one.expected_kernel(kernel, y) == pytest.approx(other.expected_kernel(kernel, y), rel=1e-11)


def test_mean_of_pairs_of_many_counts():
    """Several tiles beside and on the diagonal, by one matrix of all pairs."""
    predictions = many(2100)["rates"]
    y = predictions.sample(4)
    residuals = -predictions._pmf(0, 90)
    residuals[np.arange(2100), y] += 1.0
    gram = ct.GaussianKernel(bandwidth=2.0).target_tile(np.arange(90), np.arange(90))
    distance = np.sqrt(predictions.rate)[:, None] - np.sqrt(predictions.rate)
    h = np.exp(-np.abs(distance)) * (residuals @ gram @ residuals.T)
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.Euclidean(), 1.0), ct.GaussianKernel(bandwidth=2.0))
    expected = (h.sum() - np.trace(h)) / (2100 * 2099)
    assert ct.SKCE(kernel)(predictions, y) == pytest.approx(expected, rel=1e-11)
    assert ct.SKCE(kernel, unbiased=False)(predictions, y) == pytest.approx(h.mean(), rel=1e-11)
