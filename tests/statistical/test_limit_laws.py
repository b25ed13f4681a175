"""Rejection rates of the nulls that are not exact Monte Carlo, against binomial bounds.

Reduced here; ``python -m pytest tests/statistical --full`` takes every cell and many more data sets.
"""

import numpy as np
import pytest
from grids import thinned

import caltest as ct

from .settings import COARSE, FINE, band, calibrated, calibrated_normal, rejections, spawn

pytestmark = [pytest.mark.statistical, pytest.mark.usefixtures("without_findings")]

KERNEL = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), "median"), ct.DeltaKernel())
NORMAL = ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 1.0), ct.GaussianKernel(bandwidth=1.0))
SETTINGS = [(k, a, n) for k in (2, 10, 100) for a in (0.1, 1.0) for n in (16, 50, 250)]
KEPT = [(2, 0.1, 16), (2, 1.0, 250), (10, 0.1, 50), (100, 1.0, 16), (100, 0.1, 50)]
each_setting = pytest.mark.parametrize(("k", "concentration", "n"), thinned(SETTINGS, KEPT))

CERTIFIED = ct.named_tests.CertifiedCrossSKCETest(KERNEL)


@each_setting
def test_certified_pvalues_keep_every_level(k, concentration, n, replications):
    number, alphas, rng = replications(30, 3000), (*COARSE, 0.01), spawn(42, n, k, int(10 * concentration))
    counts = rejections(CERTIFIED, lambda r: calibrated(r, n, k, concentration), rng, number, alphas)
    for count, alpha in zip(counts, alphas, strict=True):
        assert count <= band(number, alpha)[1]


@each_setting
def test_known_covariance_with_redraws_keeps_its_level(k, concentration, n, replications):
    """Ten random locations; with 16 observations of two classes there are more locations than the rank."""
    number, rng = replications(25, 3000), spawn(43, n, k, int(10 * concentration))
    alphas, n_resamples = replications((COARSE, 19), (FINE, 99))
    rejected = np.zeros(len(alphas))
    for _ in range(number):
        locations, sample = calibrated(rng, 10, k, concentration), calibrated(rng, n, k, concentration)
        ucme = ct.UCME(KERNEL, locations.predictions, locations.targets)
        pvalue = ct.ScoreCMETest(ucme, n_resamples=n_resamples)(sample.predictions, sample.targets, rng=rng).pvalue
        rejected += pvalue <= np.array(alphas)
    for count, alpha in zip(rejected, alphas, strict=True):
        assert count <= band(number, alpha)[1]


@pytest.mark.parametrize("n", [16, 64])
def test_known_covariance_of_normal_predictions(n, replications):
    """In the setting in which Hotelling's T-squared rejects 87 % and 33 % of calibrated models."""
    number, rng = replications(20, 3000), spawn(44, n)
    alphas, n_resamples = replications((COARSE, 19), (FINE, 99))
    exact = np.zeros(len(alphas))
    for _ in range(number):
        ucme, sample = ct.UCME(NORMAL, ct.Normal(rng.random(10), 0.1), rng.random(10)), calibrated_normal(rng, n)
        pvalue = ct.ScoreCMETest(ucme, n_resamples=n_resamples)(sample.predictions, sample.targets, rng=rng).pvalue
        exact += pvalue <= np.array(alphas)
    for one, level in zip(exact, alphas, strict=True):
        low, high = band(number, level)
        assert low <= one <= high


class TestPower:
    """Errors that are large enough to be found in nearly every data set."""

    def test_uniform_labels_are_found(self, replications):
        """Uniform labels (model M3 of Widmann et al. 2019) and ten classes."""
        number, rng, rejected = replications(25, 500), spawn(47), 0
        for _ in range(number):
            sample = calibrated(rng, 100, 10, 0.1)
            rejected += CERTIFIED(sample.predictions, rng.integers(0, 10, 100)).pvalue <= 0.05
        assert rejected >= 0.7 * number

    def test_local_errors_have_tiny_certified_pvalues(self, replications):
        """Events are .25 more frequent than claims between .4 and .6, which no likelihood ratio resembles."""
        number, rng = replications(2, 200), spawn(48)
        tiny = {"certified": 0, "likelihood ratio": 0}
        for _ in range(number):
            claims = rng.uniform(0.05, 0.95, 2000)
            p = ct.Bernoulli(claims)
            y = (rng.random(2000) < claims + 0.25 * (np.abs(claims - 0.5) < 0.1)).astype(int)
            tiny["certified"] += ct.named_tests.CertifiedCrossSKCETest(p.default_kernel())(p, y).pvalue <= 1e-4
            tiny["likelihood ratio"] += ct.LikelihoodRatioTest()(p, y, rng=rng).pvalue <= 1e-4
        assert tiny["certified"] >= 0.7 * number
        assert tiny["certified"] > tiny["likelihood ratio"]

    def test_shifted_means_are_found_at_locations(self, replications):
        """Means off by one standard deviation, n = 64."""
        number, rng = replications(8, 500), spawn(48)
        rejected = 0
        for _ in range(number):
            ucme, sample = ct.UCME(NORMAL, ct.Normal(rng.random(5), 0.1), rng.random(5)), calibrated_normal(rng, 64)
            test = ct.ScoreCMETest(ucme, n_resamples=99)
            rejected += test(sample.predictions, sample.targets + 0.1, rng=rng).pvalue <= 0.05
        assert rejected >= 0.9 * number
