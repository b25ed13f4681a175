"""Sizes of every exact test, and the power of the default test.

Reduced here; ``python -m pytest tests/statistical --full`` takes every cell and many more data sets.
"""

import numpy as np
import pytest
from grids import thinned
from scipy import stats

import caltest as ct
from caltest.generators import Bias, Distorted, GaussianModel, Scaling, class_model

from .default_sizes import SETTINGS, pvalue
from .faults_in_parts import FAULTS, rejected
from .settings import COARSE, FINE, calibrated, spawn

pytestmark = [pytest.mark.statistical, pytest.mark.usefixtures("without_findings")]


def of_classes(n_resamples):
    """Every test with exact p-values for classes, by name."""
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), "median"), ct.DeltaKernel())
    return {
        "omnibus": ct.OmnibusTest(n_resamples=n_resamples),
        "bandwidths": ct.MonteCarloTest(ct.estimators.MaxSKCE(kernel), n_resamples),
        "log loss": ct.MonteCarloTest(ct.estimators.ExcessLogScore(), n_resamples),
        "Brier score": ct.MonteCarloTest(ct.estimators.ExcessBrierScore(), n_resamples),
        "likelihood ratio": ct.LikelihoodRatioTest(n_resamples),
        "e-value": ct.CalibrationTest(ct.estimators.LogLikelihoodRatio(), ct.nulls.EValueBound()),
        "stopped": ct.CalibrationTest(ct.SKCE(kernel), ct.nulls.ConditionalMonteCarlo(n_resamples, stop_after=5)),
    }


def of_numbers(n_resamples):
    """Every test with exact p-values for numbers and vectors, by name."""
    return {
        "omnibus": ct.OmnibusTest(n_resamples=n_resamples),
        "mean": ct.MonteCarloTest(ct.estimators.ResidualMean(), n_resamples),
        "spread": ct.MonteCarloTest(ct.estimators.ResidualSpread(), n_resamples),
        "likelihood ratio": ct.LikelihoodRatioTest(n_resamples),
    }


def rejecting_too_often(tests, draw, n_sets, alphas, rng):
    """The tests that reject more often, at one of the levels, than the 99.5 % quantile of the binomial distribution."""
    rejected = {name: np.zeros(len(alphas), dtype=int) for name in tests}
    for _ in range(n_sets):
        predictions, targets = draw(rng)
        for name, test in tests.items():
            rejected[name] += test(predictions, targets, rng=rng).pvalue <= np.array(alphas)
    limits = [stats.binom(n_sets, alpha).ppf(0.995) for alpha in alphas]
    return {name: test for name, test in tests.items() if (rejected[name] > limits).any()}


def assert_level_is_kept(tests, draw, n_sets, alphas, rng):
    """Of all the comparisons one in 200 fails by chance: those are made again with four times as many data sets."""
    suspects = rejecting_too_often(tests, draw, n_sets, alphas, rng)
    assert not suspects or not rejecting_too_often(suspects, draw, 4 * n_sets, alphas, rng), suspects.keys()


OF_CLASSES = [(n, k, concentration) for n in (16, 50, 250) for k in (2, 10, 100) for concentration in (0.1, 1.0)]
KEPT = [(16, 2, 0.1), (16, 100, 1.0), (50, 10, 0.1), (250, 2, 1.0), (250, 10, 1.0)]


@pytest.mark.every(3)
@pytest.mark.parametrize(("n", "k", "concentration"), thinned(OF_CLASSES, KEPT))
def test_exact_tests_of_classes_keep_their_level(n, k, concentration, replications):
    def draw(rng):
        sample = calibrated(rng, n, k, concentration)
        return sample.predictions, sample.targets

    n_sets, n_resamples, alphas = replications((10 if n * k <= 1000 else 5, 19, COARSE), (600, 99, FINE))
    assert_level_is_kept(of_classes(n_resamples), draw, n_sets, alphas, spawn(33, n, k, int(10 * concentration)))


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("n", "d"), thinned([(n, d) for n in (16, 50, 250) for d in (1, 10)], [(16, 1), (50, 10), (250, 1)])
)
def test_exact_tests_of_numbers_keep_their_level(n, d, replications):
    model = GaussianModel(d)
    n_sets, n_resamples, alphas = replications((10 if n * d < 500 else 6, 19, COARSE), (1000, 99, FINE))
    assert_level_is_kept(of_numbers(n_resamples), lambda rng: model.sample(n, rng), n_sets, alphas, spawn(32, n, d))


@pytest.mark.every(11)
@pytest.mark.parametrize("name", SETTINGS)
def test_calibrated_predictions_of_every_family_are_rejected_at_the_level(name, replications):
    n_sets, rng = replications(12, 400), spawn(62, list(SETTINGS).index(name))
    pvalues = np.array([pvalue(SETTINGS[name], rng) for _ in range(n_sets)])
    for alpha in (0.5, 0.2, 0.05):
        assert np.count_nonzero(pvalues <= alpha) <= stats.binom(n_sets, alpha).ppf(0.9995)


POWERS = {
    "shift to a class": (class_model("W2"), 100, 0.95),
    "label noise": (class_model("W3"), 100, 0.95),
    "overconfident": (class_model("OC"), 100, 0.95),
    "underconfident": (class_model("UC"), 250, 0.95),
    "wave": (class_model("SIN", 2, 1.0), 250, 0.85),
    "uniform labels": (class_model("M3"), 25, 0.95),
    "scale": (Distorted(GaussianModel(1), Scaling(0.3)), 64, 0.70),
    "scale of vectors": (Distorted(GaussianModel(10), Scaling(0.1)), 64, 0.80),
    "bias": (Distorted(GaussianModel(1), Bias(0.3)), 64, 0.40),
    "bias of vectors": (Distorted(GaussianModel(10), Bias(0.3)), 64, 0.20),
}


@pytest.mark.every(3)
@pytest.mark.parametrize("name", thinned(POWERS, [name for name in POWERS if name != "bias of vectors"]))
def test_power_of_the_default_test(name, replications):
    """At 5 %, no less than the bar up to the error of the simulation."""
    generator, n, bar = POWERS[name]
    test = ct.OmnibusTest(n_resamples=replications(39, 99))
    result = ct.power(test, generator, n, n_simulations=replications(10, 1000), rng=20193)
    assert result.rejections(0.05) >= stats.binom(result.n_simulations, bar).ppf(0.01), result


@pytest.mark.every(3)
@pytest.mark.parametrize("name", thinned(FAULTS, list(FAULTS)[:5]))
def test_power_against_faults_that_cancel_over_all_predictions(name, replications):
    (make, bar), sets = FAULTS[name], replications(10, 1000)
    test = ct.OmnibusTest(n_resamples=replications(39, 199))
    assert rejected(make, test, sets, 8) >= stats.binom(sets, bar).ppf(0.01)
