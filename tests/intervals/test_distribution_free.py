from math import log, sqrt

import numpy as np
import pytest
from samples import TV, W2, samples

import caltest as ct

S = samples(61, 3)
LEVEL = 0.9


def interval(estimator, side="two-sided", p=S.p, y=S.y):
    return ct.distribution_free_interval(p, y, estimator, confidence_level=LEVEL, side=side)


@pytest.mark.parametrize(
    ("estimator", "pairs"),
    [(ct.SKCE(TV), 30), (ct.BlockSKCE(TV), 30), (ct.BlockSKCE(TV, 3), 20), (ct.BlockSKCE(TV, 4), 30)],
)
def test_radius_of_unbiased_estimators(estimator, pairs):
    """exp(-N t**2 / (2 B**2)) = a, with B = 2 for this kernel; here the ends are those that are not cut."""
    estimate = estimator(S.p, S.y)
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
    root = sqrt(biased(S.p, S.y))
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
    assert interval(ct.SKCE(W2), p=S.normal, y=S.targets).high <= 2.0
    for wrong in (ct.BlockSKCE(TV, 2, unbiased=False), ct.ECE(), ct.estimators.CrossSKCE(TV)):
        with pytest.raises(TypeError, match="wanted SKCE"):
            interval(wrong)
    with pytest.raises(ValueError, match="side"):
        interval(ct.SKCE(TV), "left")
    with pytest.raises(ValueError, match="got 1 observation"):
        interval(ct.SKCE(TV), p=S.p[:1], y=S.y[:1])
