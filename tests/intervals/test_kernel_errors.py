from math import log, sqrt

import numpy as np
import pytest
from samples import TV, W2, samples
from scipy import stats

import caltest as ct
from caltest.hstatistics.variances.jackknife import Jackknife, jackknife, jackknife_of, row_sums
from caltest.hstatistics.variances.null_variance import variance_if_calibrated
from caltest.predictions.inputs.convert import as_sample

S = samples(60, 3)


def test_ends_are_those_of_the_normal_limit():
    found = jackknife_of(TV, as_sample(S.p, S.y), np.random.default_rng(1))
    u, error = found.estimate, found.standard_error
    variance = 2 * 59 / 58 * variance_if_calibrated(TV, ct.Categorical(S.p), np.random.default_rng(1))
    assert error == pytest.approx(max(np.sqrt(variance), jackknife(row_sums(TV, as_sample(S.p, S.y))).standard_error))
    assert u > 0.0
    interval = ct.skce_interval(S.p, S.y, TV, confidence_level=0.9)
    assert interval.low == pytest.approx(max(0.0, u - stats.norm.ppf(0.95) * error), rel=1e-12)
    assert interval.estimate == pytest.approx(ct.SKCE(TV)(S.p, S.y), rel=1e-10)
    upper = ct.skce_interval(S.p, S.y, TV, confidence_level=0.9, side="upper")
    lower = ct.skce_interval(S.p, S.y, TV, confidence_level=0.9, side="lower")
    assert (upper.low, lower.high) == (0.0, 2.0)
    assert lower.low == pytest.approx(max(0.0, u - stats.norm.ppf(0.9) * error), rel=1e-12)
    for high, z in ((interval.high, stats.norm.ppf(0.95)), (upper.high, stats.norm.ppf(0.9))):
        assert high == pytest.approx(u + z * found.error_at(high), rel=1e-9)


@pytest.mark.parametrize("estimate", [-0.01, 0.0, 0.002, 0.1, 5.0])
def test_upper_end_is_as_many_errors_away_as_it_should(estimate):
    for surprise in (0.0, 0.1, 0.5):
        found = Jackknife(estimate, 0.03, surprise)
        for z in (0.1, 1.645, 3.0):
            high = found.high(z)
            assert high == pytest.approx(estimate + z * found.error_at(max(0.0, high)), rel=1e-9)
        assert found.error_at(estimate - 0.001) == 0.03
    assert Jackknife(estimate, 0.03).error_at(1e6) == 0.045


def test_errors_of_surprises():
    """The power 3/4 of the error, from one standard error below the estimate, up to that of nothing seen."""
    assert Jackknife(0.0, 1e-9, 0.1).error_at(0.01) == pytest.approx(0.1 * 0.01**0.75)
    assert Jackknife(0.01, 0.001, 0.1).error_at(0.04) == pytest.approx(0.001 * (0.04 / 0.009) ** 0.75)
    assert Jackknife(0.01, 0.001, 0.02).error_at(0.04) == pytest.approx(0.02 * 0.04**0.75)


def test_levels_below_one_half():
    low = ct.skce_interval(S.p, S.y, TV, confidence_level=0.2, side="upper")
    assert low.high <= low.estimate


def test_ends_stay_between_zero_and_the_largest_error():
    p, y = np.array([[0.6, 0.4], [0.4, 0.6], [0.5, 0.5], [0.55, 0.45]]), [0, 1, 1, 0]
    interval = ct.skce_interval(p, y, TV)
    assert interval.low == 0.0
    wide = ct.skce_interval(np.eye(2)[[0, 1, 1, 1]], [1, 0, 0, 1], TV, confidence_level=1 - 1e-12)
    assert tuple(wide) == (0.0, 2.0)


def test_median_bandwidth_and_default_kernel():
    kernel = ct.Categorical(S.p).default_kernel()
    assert ct.skce_interval(S.p, S.y) == ct.skce_interval(S.p, S.y, kernel)
    assert ct.skce_interval(S.p, S.y) == ct.skce_interval(S.p, S.y, kernel.resolve(ct.Categorical(S.p)))
    assert ct.skce_interval(S.normal, S.targets, W2).high > 0.0


def test_root_is_for_the_error_itself():
    interval = ct.skce_interval(S.p, S.y, TV)
    root = interval.root()
    assert root.low**2 == pytest.approx(interval.low)
    assert root.high**2 == pytest.approx(interval.high)
    assert root.estimate == pytest.approx(np.sqrt(interval.estimate))
    assert ct.results.ConfidenceInterval(-0.5, 4.0, 0.9, "m", -0.1).root() == ct.results.ConfidenceInterval(
        0.0, 2.0, 0.9, "m", 0.0
    )
    assert ct.results.ConfidenceInterval(0.0, 4.0, 0.9, "m").root().estimate is None


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"side": "both"}, ValueError, 'side: got \'both\', wanted "two-sided", "upper" or "lower"'),
        ({"confidence_level": 95}, ValueError, "confidence_level: got 95, wanted a number between 0 and 1"),
        ({"kernel": ct.DeltaKernel()}, TypeError, "kernel"),
    ],
)
def test_bad_settings(options, error, message):
    with pytest.raises(error, match=message):
        ct.skce_interval(S.p, S.y, **options)


def test_bad_data():
    with pytest.raises(ValueError, match="got 3 values, wanted 60"):
        ct.skce_interval(S.p, S.y[:3])
    with pytest.raises(ValueError, match="wanted at least 3 for the jackknife"):
        ct.skce_interval(S.p[:2], S.y[:2], TV)
    with pytest.raises(ValueError, match="h does not vary over the observations"):
        ct.skce_interval(np.eye(3)[S.y], S.y, TV)


S_DISTRIBUTION_FREE = samples(61, 3)
LEVEL = 0.9


def interval(estimator, side="two-sided", p=S_DISTRIBUTION_FREE.p, y=S_DISTRIBUTION_FREE.y):
    return ct.distribution_free_interval(p, y, estimator, confidence_level=LEVEL, side=side)


@pytest.mark.parametrize(
    ("estimator", "pairs"),
    [(ct.SKCE(TV), 30), (ct.BlockSKCE(TV), 30), (ct.BlockSKCE(TV, 3), 20), (ct.BlockSKCE(TV, 4), 30)],
)
def test_radius_of_unbiased_estimators(estimator, pairs):
    """exp(-N t**2 / (2 B**2)) = a, with B = 2 for this kernel; here the ends are those that are not cut."""
    estimate = estimator(S_DISTRIBUTION_FREE.p, S_DISTRIBUTION_FREE.y)
    assert interval(estimator, "upper").high == pytest.approx(estimate + 2.0 * sqrt(2.0 * log(10.0) / pairs), rel=1e-9)
    assert interval(estimator).high == pytest.approx(estimate + 2.0 * sqrt(2.0 * log(20.0) / pairs), rel=1e-9)
    assert interval(estimator).estimate == pytest.approx(max(0.0, estimate))


def test_one_sided_bounds_invert_the_distribution_free_test():
    """The lower bound is 0 exactly where the test of calibration does not reject."""
    p, y = np.tile([[0.7, 0.3]], (80, 1)), [1] * 40 + [1, 0] * 20
    for estimator in (ct.SKCE(TV), ct.BlockSKCE(TV, 2)):
        found = ct.DistributionFreeSKCETest(estimator)(p, y)
        for level in (0.99 * (1.0 - found.pvalue), 1.0 - 0.99 * found.pvalue):
            low = ct.distribution_free_interval(p, y, estimator, confidence_level=level, side="lower").low
            assert (low > 0.0) == (found.pvalue < 1.0 - level)


def test_biased_estimator():
    biased = ct.SKCE(TV, unbiased=False)
    reach = sqrt(2.0 / 61) * (1.0 + sqrt(2.0 * log(10.0)))
    root = sqrt(biased(S_DISTRIBUTION_FREE.p, S_DISTRIBUTION_FREE.y))
    found = interval(biased)
    assert found.high == pytest.approx(min(2.0, (root + reach) ** 2), rel=1e-9)
    assert found.low == pytest.approx(max(0.0, root - reach) ** 2, rel=1e-9)
    assert interval(biased, "upper").high == found.high
    assert interval(biased, "lower").low == found.low
    # Far from calibration, so that the lower end is above 0.
    p, y = np.tile([[0.99, 0.01], [0.01, 0.99]], (100, 1)), [1, 0] * 100
    far = interval(biased, p=p, y=y)
    assert far.low == pytest.approx((sqrt(biased(p, y)) - sqrt(2 / 200) * (1 + sqrt(2 * log(10)))) ** 2, rel=1e-9)
    assert far.low > 0.1


@pytest.mark.parametrize("estimator", [ct.SKCE(TV), ct.SKCE(TV, unbiased=False), ct.BlockSKCE(TV, 2)])
def test_intervals_cover_and_are_wide(estimator):
    """The truth is the mean of unbiased estimates from other data; 100 intervals of 95 % miss it never, not 5 times."""
    model, rng = ct.generators.class_model("M3", 3), np.random.default_rng(1)
    found = [ct.distribution_free_interval(*model.sample(100, rng), estimator) for _ in range(100)]
    truth = np.mean([ct.SKCE(TV)(*model.sample(300, rng)) for _ in range(30)])
    assert all(one.low <= truth <= one.high for one in found)


def test_normal_predictions_and_other_estimators():
    assert interval(ct.SKCE(W2), p=S_DISTRIBUTION_FREE.normal, y=S_DISTRIBUTION_FREE.targets).high <= 2.0
    for wrong in (ct.BlockSKCE(TV, 2, unbiased=False), ct.ECE(), ct.estimators.CrossSKCE(TV)):
        with pytest.raises(TypeError, match="wanted SKCE"):
            interval(wrong)
    with pytest.raises(ValueError, match="side"):
        interval(ct.SKCE(TV), "left")
    with pytest.raises(ValueError, match="got 1 observation"):
        interval(ct.SKCE(TV), p=S_DISTRIBUTION_FREE.p[:1], y=S_DISTRIBUTION_FREE.y[:1])
