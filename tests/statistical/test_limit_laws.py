"""Rejection rates of the nulls that are not exact Monte Carlo, against binomial bounds.

Reduced here; ``python -m pytest tests/statistical --full`` takes every cell and many more data sets.
"""

import numpy as np
import pytest
from grids import thinned

import caltest as ct

from .settings import band, calibrated, calibrated_normal, spawn

pytestmark = pytest.mark.statistical

KERNEL = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), "median"), ct.DeltaKernel())
NORMAL = ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 1.0), ct.GaussianKernel(bandwidth=1.0))
SETTINGS = [(k, a, n) for k in (2, 10, 100) for a in (0.1, 1.0) for n in (16, 50, 250)]
ALPHAS = (0.05, 0.01)
KEPT = [(2, 0.1, 16), (2, 1.0, 250), (10, 0.1, 50), (100, 1.0, 16), (100, 0.1, 50)]
each_setting = pytest.mark.parametrize(("k", "concentration", "n"), thinned(SETTINGS, KEPT))


@each_setting
def test_known_covariance_with_redraws_keeps_its_level(k, concentration, n, replications):
    """Ten random locations; with 16 observations of two classes there are more locations than the rank."""
    number, rng = replications(60, 3000), spawn(43, n, k, int(10 * concentration))
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
    number, rng = replications(60, 3000), spawn(44, n)
    exact = np.zeros(2)
    for _ in range(number):
        ucme, sample = ct.UCME(NORMAL, ct.Normal(rng.random(10), 0.1), rng.random(10)), calibrated_normal(rng, n)
        pvalue = ct.ScoreCMETest(ucme, n_resamples=99)(sample.predictions, sample.targets, rng=rng).pvalue
        exact += pvalue <= np.array(ALPHAS)
    for one, level in zip(exact, ALPHAS, strict=True):
        low, high = band(number, level)
        assert low <= one <= high


class TestPower:
    """Errors that are large enough to be found in nearly every data set."""

    def test_shifted_means_are_found_at_locations(self, replications):
        """Means off by one standard deviation, n = 64."""
        number, rng = replications(30, 500), spawn(48)
        rejected = 0
        for _ in range(number):
            ucme, sample = ct.UCME(NORMAL, ct.Normal(rng.random(5), 0.1), rng.random(5)), calibrated_normal(rng, 64)
            test = ct.ScoreCMETest(ucme, n_resamples=99)
            rejected += test(sample.predictions, sample.targets + 0.1, rng=rng).pvalue <= 0.05
        assert rejected >= 0.9 * number
