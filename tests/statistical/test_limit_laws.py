"""Rejection rates of the nulls that are not exact Monte Carlo, against binomial bounds.

Reduced here; ``python -m pytest tests/statistical --full`` takes every cell and many more data sets. "Valid" means at
most alpha beyond the simulation error, "close" at most 7 % and 2 % at the levels of 5 % and 1 %.
"""

import numpy as np
import pytest
from grids import thinned

import caltest as ct

from .settings import band, calibrated, calibrated_normal, rejections, spawn

pytestmark = pytest.mark.statistical

KERNEL = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), "median"), ct.DeltaKernel())
NORMAL = ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 1.0), ct.GaussianKernel(bandwidth=1.0))
SETTINGS = [(k, a, n) for k in (2, 10, 100) for a in (0.1, 1.0) for n in (16, 50, 250)]
ALPHAS = (0.05, 0.01)
KEPT = [(2, 0.1, 16), (2, 1.0, 250), (10, 0.1, 50), (100, 1.0, 16), (100, 0.1, 50)]
each_setting = pytest.mark.parametrize(("k", "concentration", "n"), thinned(SETTINGS, KEPT))

U, CROSS = ct.SKCE(KERNEL), ct.CrossSKCE(KERNEL)


def sizes(test, setting, key, replications, counts=(100, 3000)):
    """Numbers of rejections at each level, and of simulations."""
    k, concentration, n = setting
    number = replications(*counts)
    rng = spawn(key, n, k, int(10 * concentration))
    return rejections(test, lambda r: calibrated(r, n, k, concentration), rng, number, ALPHAS), number


@each_setting
def test_saddlepoint_is_close_to_its_level(k, concentration, n, replications):
    test = ct.CalibrationTest(CROSS, ct.CrossSaddlepointNull())
    counts, number = sizes(test, (k, concentration, n), 35, replications)
    for count, alpha in zip(counts, (0.07, 0.02), strict=True):
        assert count <= band(number, alpha)[1]


@pytest.mark.parametrize(
    ("k", "concentration", "n"), thinned([s for s in SETTINGS if s[0] * s[2] <= 500], [*KEPT[:3], (10, 1.0, 16)])
)
def test_conditional_spectrum_has_its_size(k, concentration, n, replications):
    """Within the bounds of an exact test, for 16 observations too; half a percent more at the 1 % level."""
    test = ct.CalibrationTest(U, ct.ConditionalSpectralNull())
    counts, number = sizes(test, (k, concentration, n), 40, replications, (50, 3000))
    for count, low, high in zip(counts, (0.04, 0.006), (0.06, 0.015), strict=True):
        assert band(number, low)[0] <= count <= band(number, high)[1]


@pytest.mark.parametrize(("k", "concentration"), thinned([(10, 0.1), (10, 1.0)], [(10, 1.0)]))
def test_largest_of_the_conditional_spectrum_keep_its_size(k, concentration, replications):
    """More residuals than eigenvalues are computed for: the largest 100, and the variance of the others."""
    test = ct.CalibrationTest(U, ct.ConditionalSpectralNull())
    counts, number = sizes(test, (k, concentration, 250), 41, replications, (10, 600))
    for count, alpha in zip(counts, (0.06, 0.015), strict=True):
        assert count <= band(number, alpha)[1]


def test_conditional_spectrum_of_low_rank_has_its_size(replications):
    number = replications(50, 3000)
    test = ct.CalibrationTest(ct.LowRankSKCE(KERNEL, rank=8), ct.ConditionalSpectralNull())
    counts = rejections(test, lambda r: calibrated(r, 1000, 3, 1.0), spawn(49), number, ALPHAS)
    for count, alpha in zip(counts, ALPHAS, strict=True):
        low, high = band(number, alpha)
        assert low <= count <= high


@each_setting
def test_certified_pvalues_keep_every_level(k, concentration, n, replications):
    test = ct.CalibrationTest(CROSS, ct.CrossChernoffBound())
    counts, number = sizes(test, (k, concentration, n), 42, replications)
    for count, alpha in zip(counts, ALPHAS, strict=True):
        assert count <= band(number, alpha)[1]


@each_setting
def test_known_covariance_with_redraws_keeps_its_level(k, concentration, n, replications):
    """Ten random locations; with 16 observations of two classes there are more locations than the rank."""
    number, rng = replications(100, 3000), spawn(43, n, k, int(10 * concentration))
    rejected = np.zeros(2)
    for _ in range(number):
        locations, sample = calibrated(rng, 10, k, concentration), calibrated(rng, n, k, concentration)
        ucme = ct.UCME(KERNEL, locations.predictions, locations.targets)
        pvalue = ct.ScoreCMETest(ucme, n_resamples=99)(sample.predictions, sample.targets, rng=rng).pvalue
        rejected += pvalue <= np.array(ALPHAS)
    for count, alpha in zip(rejected, ALPHAS, strict=True):
        assert count <= band(number, alpha)[1]


@pytest.mark.parametrize("n", [16, 64])
def test_known_covariance_of_normal_predictions(n, replications):
    """In the setting in which Hotelling's T-squared rejects 87 % and 33 % of calibrated models."""
    number, rng = replications(100, 3000), spawn(44, n)
    exact, limit = np.zeros(2), np.zeros(2)
    for _ in range(number):
        ucme, sample = ct.UCME(NORMAL, ct.Normal(rng.random(10), 0.1), rng.random(10)), calibrated_normal(rng, n)
        pvalue = ct.ScoreCMETest(ucme, n_resamples=99)(sample.predictions, sample.targets, rng=rng).pvalue
        exact += pvalue <= np.array(ALPHAS)
        known = ct.CalibrationTest(ucme, ct.KnownCovarianceNull())
        limit += known(sample.predictions, sample.targets, rng=rng).pvalue <= np.array(ALPHAS)
    for one, level in zip(exact, ALPHAS, strict=True):
        low, high = band(number, level)
        assert low <= one <= high
    assert limit[0] <= band(number, 0.1)[1]


class TestPower:
    """Uniform labels (model M3 of Widmann et al. 2019) and ten classes: everything but the bound of n = 50 finds it."""

    TESTS = {
        "conditional spectrum": (ct.ConditionalSpectralSKCETest(KERNEL), 0.9),
        "halves": (ct.CrossSKCETest(KERNEL), 0.9),
        "halves, certified": (ct.CertifiedCrossSKCETest(KERNEL), 0.7),
    }

    @pytest.mark.parametrize("name", TESTS)
    def test_uniform_labels_are_found(self, name, replications):
        number, rng = replications(12, 500), spawn(47)
        test, power = self.TESTS[name]
        rejected = 0
        for _ in range(number):
            sample = calibrated(rng, 100, 10, 0.1)
            rejected += test(sample.predictions, rng.integers(0, 10, 100), rng=rng).pvalue <= 0.05
        assert rejected >= power * number

    def test_shifted_means_are_found_at_locations(self, replications):
        """Means off by one standard deviation, n = 64."""
        number, rng = replications(50, 500), spawn(48)
        rejected = 0
        for _ in range(number):
            ucme, sample = ct.UCME(NORMAL, ct.Normal(rng.random(5), 0.1), rng.random(5)), calibrated_normal(rng, 64)
            test = ct.ScoreCMETest(ucme, n_resamples=99)
            rejected += test(sample.predictions, sample.targets + 0.1, rng=rng).pvalue <= 0.05
        assert rejected >= 0.9 * number
