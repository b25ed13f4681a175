"""Sizes and powers of tests for the models of Widmann et al. 2019, and what sample sizes are worth.

Reduced here; ``python -m pytest tests/statistical --full`` takes every cell and many more data sets.
"""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from grids import thinned
from scipy.special import ndtr, ndtri

import caltest as ct
from caltest.generators import Bias, DirichletModel, Distorted, GaussianModel, Resampled, Scaling, class_model

from .settings import band

pytestmark = [pytest.mark.statistical, pytest.mark.usefixtures("without_findings")]

KERNEL = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), "median"), ct.DeltaKernel())
EXACT = {
    "SKCE": ct.SKCE(KERNEL),
    "SKCE, biased": ct.SKCE(KERNEL, unbiased=False),
    "ECE": ct.ECE(ct.binning.UniformBinning(10)),
}


@pytest.mark.parametrize(("n", "k"), thinned([(25, 2), (25, 10), (100, 2), (100, 10)], [(25, 10)]))
def test_exact_tests_keep_their_level_on_the_calibrated_model(k, n, replications):
    number, n_resamples = replications((20, 19), (4000, 99))
    tests = {name: ct.MonteCarloTest(one, n_resamples) for name, one in EXACT.items()}
    curve = ct.power_curve(tests, DirichletModel.m1(k), n, n_simulations=number, rng=20191)
    for cell in curve.cells.values():
        assert cell.quantity == "size"
        for alpha in (0.05, 0.1, 0.5):
            assert cell.rejections(alpha) <= band(cell.n_simulations, alpha)[1]


def test_exact_tests_keep_their_level_on_given_predictions(replications):
    """Only the labels are random; sixteen binary predictions with many ties."""
    predictions = np.array([0.01, 0.05, 0.5, 0.9] * 4)
    number, n_resamples = replications((25, 19), (4000, 99))
    for estimator in EXACT.values():
        test = ct.MonteCarloTest(estimator, n_resamples)
        result = ct.power(test, Resampled(predictions), 16, n_simulations=number, rng=20192)
        for alpha in (0.05, 0.5):
            assert result.rejections(alpha) <= band(result.n_simulations, alpha)[1]


# Powers in per cent at the 5 % level with ten classes, as powers_by_numpy.py prints them: SKCE, then ECE.
POWERS = [
    ("W2", 50, 41.2, 46),
    ("W2", 100, 73, 65.6),
    ("W3", 100, 8.2, 60.2),
    ("OC", 100, 16.2, 98.2),
    ("UC", 50, 3.75, 0),
    ("M3", 25, 68.8, 100),
]


@pytest.mark.every(2)
@pytest.mark.parametrize(("name", "n", "skce", "ece"), POWERS)
def test_powers_are_those_of_numpy_alone(name, n, skce, ece, replications):
    """Within 3.5 standard errors of a difference; the other simulation has at least 500 data sets."""
    tests = {
        "SKCE": ct.MonteCarloTest(ct.SKCE(KERNEL), n_resamples=replications(99, 199)),
        "ECE": ct.MonteCarloTest(ct.ECE(ct.binning.UniformBinning(10)), n_resamples=replications(99, 199)),
    }
    m = replications(40, 2000)
    curve = ct.power_curve(tests, class_model(name), n, n_simulations=m, rng=20193)
    for test, percent in (("SKCE", skce), ("ECE", ece)):
        rate = curve.cell(test).rate
        middle = np.clip((m * rate + 500 * percent / 100) / (m + 500), 0.01, 0.99)
        assert abs(rate - percent / 100) <= 3.5 * np.sqrt(middle * (1 - middle) * (1 / m + 1 / 500))


def test_powers_of_shifts_of_normal_predictions(replications):
    """Shift by 0.3 standard deviations, and 1.3 times the spread, at n = 16 and 64: also by powers_by_numpy.py."""
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), bandwidth=1.0), ct.GaussianKernel(bandwidth=1.0))
    m, n_resamples = replications((16, 99), (2000, 199))
    test = ct.MonteCarloTest(ct.SKCE(kernel), n_resamples)
    models = [Distorted(GaussianModel(), Bias(0.3)), Distorted(GaussianModel(), Scaling(0.3))]
    curve = ct.power_curve(test, models, [16, 64], n_simulations=m, rng=20194)
    printed = np.array([[0.186, 0.638], [0.118, 0.118]])
    error = np.sqrt(printed * (1 - printed) * (1 / m + 1 / 500))
    assert (np.abs(curve.rates()[0] - printed) <= 3.5 * error).all()


def z_test(predictions, targets, rng):
    """One-sided test of the mean of standard normal targets."""
    return SimpleNamespace(pvalue=float(ndtr(-np.sqrt(len(targets)) * targets.mean())))


@pytest.mark.full
@pytest.mark.parametrize("bias", [0.5, 0.15])
def test_intervals_for_sample_sizes_cover(bias):
    """At least 88 of 100 intervals of level 95 % hold the closed form; they are rounded outwards to whole numbers."""
    expected = ((ndtri(0.8) + ndtri(0.95)) / bias) ** 2
    generator = Resampled(ct.Normal([0.0], 1.0), Bias(bias))
    search = partial(ct.sample_size, z_test, generator, n_simulations=100)
    intervals = [search(rng=i).interval for i in range(400)]
    covered = sum(one is not None and one.low <= expected <= one.high for one in intervals)
    assert covered >= 0.88 * len(intervals)
