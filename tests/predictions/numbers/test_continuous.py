"""Continuous distributions of scipy.stats as predictions: answers of scipy, and what is refused."""

import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest.predictions.numbers.continuous import SLOW

SHAPES = np.array([0.8, 1.5, 3.0])
MIXED = ct.Continuous([stats.weibull_min(SHAPES, scale=2.0), stats.norm(1.0, 0.5)])
EACH = [*(stats.weibull_min(shape, scale=2.0) for shape in SHAPES), stats.norm(1.0, 0.5)]
Y = np.array([0.5, 1.0, 2.5, 1.2])


@pytest.mark.parametrize(
    ("ours", "theirs"), [("cdf", "cdf"), ("survival", "sf"), ("log_density", "logpdf")], ids=lambda name: name
)
def test_answers_are_those_of_scipy(ours, theirs):
    wanted = [getattr(law, theirs)(y) for law, y in zip(EACH, Y, strict=True)]
    assert getattr(MIXED, ours)(Y) == pytest.approx(wanted, rel=1e-12)


def test_quantiles_and_moments_are_those_of_scipy():
    assert MIXED.quantile(0.3) == pytest.approx([law.ppf(0.3) for law in EACH], rel=1e-12)
    mean, variance = MIXED.moments()
    assert mean == pytest.approx([law.mean() for law in EACH], rel=1e-12)
    assert variance == pytest.approx([law.var() for law in EACH], rel=1e-12)


def test_frozen_distributions_are_taken_as_they_are():
    law = stats.weibull_min(np.full(40, 1.5))
    y = law.rvs(random_state=1)
    wanted = ct.calibration_test(ct.Continuous(law), y, n_resamples=19, rng=1)
    assert ct.calibration_test(law, y, n_resamples=19, rng=1).pvalue == wanted.pvalue


def test_families_of_our_own_and_of_scipy_have_the_same_kernel_error():
    rng = np.random.default_rng(2)
    shape, scale = rng.uniform(1.0, 5.0, 60), rng.uniform(0.5, 2.0, 60)
    ours, theirs = ct.Gamma(shape, scale), ct.Continuous(stats.gamma(shape, scale=scale))
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.Euclidean(), 1.0), ct.LaplacianKernel(bandwidth=0.3))
    at = ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 1e9), ct.LaplacianKernel(bandwidth=0.3))
    y = ours.sample(rng)
    assert ct.SKCE(at)(theirs, y) == pytest.approx(ct.SKCE(at)(ours, y), rel=1e-6)
    assert ct.SKCE(kernel)(theirs, y) != ct.SKCE(at)(theirs, y)


BAD = {
    "counts": (lambda: stats.poisson([1.5, 2.0]), TypeError, "got poisson at position 0, which is discrete, wanted"),
    "not frozen": (lambda: stats.weibull_min, TypeError, r"wanted weibull_min\(\.\.\.\) with arrays"),
    "vectors": (lambda: stats.multivariate_normal([0, 0]), TypeError, "wanted a frozen continuous distribution"),
    "slow": (lambda: stats.studentized_range(3, 10.0), TypeError, r"pass m draws from each instead: Ensemble\("),
    "arrays": (lambda: np.zeros(3), TypeError, "wanted a frozen continuous distribution of scipy.stats"),
    "nothing": (list, ValueError, "got an empty list, wanted at least one"),
    "one of several": (lambda: [stats.norm(), stats.poisson(1)], TypeError, "got poisson at position 1"),
    "nan": (lambda: stats.norm([0.0, np.nan]), ValueError, "loc: got nan at row 1 .*wanted finite numbers"),
    "infinite": (lambda: stats.norm(0.0, [1.0, np.inf]), ValueError, "scale: got inf at row 1"),
    "no scale": (lambda: stats.norm(0.0, [1.0, 0.0]), ValueError, r"got norm\(0, 0\) at row 1"),
    "negative scale": (lambda: stats.norm(0.0, -1.0), ValueError, r"got norm\(0, -1\) at row 0"),
    "no width": (lambda: stats.norm(1e20, 1.0), ValueError, "wanted distributions with spread"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    make, kind, message = BAD[name]
    with pytest.raises(kind, match=message):
        ct.Continuous(make())


def test_targets_outside_of_the_support():
    law = ct.Continuous(stats.truncnorm(-1.0, 2.0, loc=[0.0, 1.0]))
    with pytest.raises(ValueError, match=r"targets: got 5 at row 1, wanted a number in the support of truncnorm"):
        ct.calibration_test(law, [0.0, 5.0])


def test_slow_distributions_exist():
    assert all(hasattr(stats, name) for name in SLOW - {"dpareto_lognorm"})
