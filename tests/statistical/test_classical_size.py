"""Rejection rates of the classical tests for calibrated predictions.

Reduced here; ``python -m pytest tests/statistical --full`` takes every cell and many more data sets.
"""

import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest.predictions import Sample

from .settings import COARSE, CONCENTRATIONS, FINE, band, dirichlet, spawn

pytestmark = [pytest.mark.statistical, pytest.mark.usefixtures("without_findings")]

BINARY = {
    "belt": ct.estimators.CalibrationBelt(),
    "CORP, Brier": ct.estimators.CORPMiscalibration(),
    "CORP, log": ct.estimators.CORPMiscalibration("log"),
    "CoxCalibration": ct.estimators.CoxCalibration(),
    "ECCE-MAD": ct.estimators.ECCE("MAD"),
    "ECCE-R": ct.estimators.ECCE("R"),
    "HosmerLemeshow": ct.estimators.HosmerLemeshow(),
    "LogScoreZ": ct.estimators.ExcessLogScore(),
    "Spiegelhalter": ct.estimators.ExcessBrierScore(),
    "smooth ECE": ct.estimators.SmoothECE(),
    "soft ECE": ct.estimators.SoftBinnedECE(),
    "threshold decisions": ct.estimators.ThresholdDecisionError(),
    "loss of decisions": ct.estimators.CalibrationDecisionLoss(),
    "T-Cal": ct.estimators.TCal(),
}
LARGEST = {
    "CoxCalibration": (0.125, 0.025),
    "ECCE-MAD": (0.05, 0.01),
    "ECCE-R": (0.05, 0.01),
    "HosmerLemeshow": (0.065, 0.04),
    "LogScoreZ": (0.06, 0.02),
    "Spiegelhalter": (0.06, 0.025),
}
"""Rates at the two levels that the laws of textbooks keep below in all settings here."""

SETTINGS = [(n, concentration) for n in (50, 250) for concentration in CONCENTRATIONS]


def binary(rng, n, concentration):
    return ct.Bernoulli(dirichlet(rng, n, 2, concentration).probabilities[:, 1])


def textbook_pvalues(estimator, make, rng, simulations, redraws=20):
    """P-values of outcomes drawn several times for each of some predictions."""
    pvalues = []
    for _ in range(simulations // redraws):
        predictions = make(rng)
        resolved = estimator.resolve(predictions)
        for y in predictions.sample(rng, redraws):
            sample = Sample(predictions, y)
            pvalues.append(resolved.textbook_tail(resolved.estimate(sample), sample).pvalue)
    return np.array(pvalues)


@pytest.mark.every(3)
@pytest.mark.parametrize("name", BINARY)
def test_monte_carlo_keeps_its_level(name, replications):
    """At most the 99.5 % quantile of a binomial count, over all settings."""
    (simulations, n_resamples), rng = replications((7, 19), (600, 99)), spawn(30, *name.encode())
    test, pvalues = ct.MonteCarloTest(BINARY[name], n_resamples), []
    for n, concentration in SETTINGS:
        for _ in range(simulations):
            predictions = binary(rng, n, concentration)
            pvalues.append(test(predictions, predictions.sample(rng), rng=rng).pvalue)
    for alpha in replications(COARSE, FINE):
        assert np.count_nonzero(np.array(pvalues) <= alpha) <= stats.binom.ppf(0.995, len(pvalues), alpha)


@pytest.mark.every(4)
@pytest.mark.parametrize(("n", "concentration"), SETTINGS)
@pytest.mark.parametrize("name", LARGEST)
def test_laws_of_textbooks(name, n, concentration, replications):
    """No more than the notes of the results say."""
    simulations = replications(100, 20_000)
    rng = spawn(31, n, int(10 * concentration), *name.encode())
    pvalues = textbook_pvalues(BINARY[name], lambda rng: binary(rng, n, concentration), rng, simulations)
    for alpha, largest in zip(FINE, LARGEST[name], strict=True):
        assert np.count_nonzero(pvalues <= alpha) <= stats.binom.ppf(0.995, simulations, largest)


@pytest.mark.parametrize(
    "estimator", [ct.estimators.ExcessBrierScore(), ct.estimators.ExcessLogScore()], ids=["Brier", "log"]
)
def test_scores_of_ten_classes_are_normal(estimator, replications):
    simulations = replications(200, 20_000)
    pvalues = textbook_pvalues(estimator, lambda rng: dirichlet(rng, 250, 10, 1.0), spawn(32), simulations)
    low, high = band(simulations, 0.05)
    assert low <= np.count_nonzero(pvalues <= 0.05) <= high


def test_chi_squared_has_its_size_where_many_events_are_expected(replications):
    """One degree of freedom more or less would reject 3.2 or 7.6 % instead of 5 %."""
    simulations = replications(200, 20_000)
    pvalues = textbook_pvalues(
        ct.estimators.HosmerLemeshow(), lambda rng: ct.Bernoulli(rng.uniform(0.3, 0.7, 400)), spawn(33), simulations
    )
    low, high = band(simulations, 0.05)
    assert low <= np.count_nonzero(pvalues <= 0.05) <= high


def normal(rng, n):
    return ct.Normal(rng.normal(size=n), rng.uniform(0.5, 2.0, n))


def poisson(rng, n):
    return ct.Poisson(rng.gamma(1.0, 3.0, n))


@pytest.mark.every(2)
@pytest.mark.parametrize("make", [normal, poisson])
@pytest.mark.parametrize("statistic", ["KS", "CvM", "AD"])
def test_integral_transforms_have_their_laws(make, statistic, replications):
    """Within the 99 % band, of counts for numbers v that are drawn anew for each data set."""
    simulations, rng = replications(40, 10_000), spawn(34, *make.__name__.encode(), *statistic.encode())
    pvalues = np.empty(simulations)
    for i in range(simulations):
        predictions = make(rng, 20)
        pvalues[i] = ct.PITTest(statistic)(predictions, predictions.sample(rng), rng=rng).pvalue
    for alpha in FINE:
        low, high = band(simulations, alpha)
        assert low <= np.count_nonzero(pvalues <= alpha) <= high


CONTINUOUS = {
    "KS": (ct.estimators.PIT("KS"), normal),
    "AD of counts": (ct.estimators.PIT("AD"), poisson),
    "quantiles": (ct.estimators.QuantileCalibration([0.05, 0.5, 0.95]), normal),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_monte_carlo_of_numbers_keeps_its_level(name, replications):
    simulations, rng = replications(30, 4000), spawn(35, *name.encode())
    (estimator, make), pvalues = CONTINUOUS[name], np.empty(simulations)
    test = ct.MonteCarloTest(estimator, replications(19, 99))
    for i in range(simulations):
        predictions = make(rng, 30)
        pvalues[i] = test(predictions, predictions.sample(rng), rng=rng).pvalue
    for alpha in replications(COARSE, FINE):
        assert np.count_nonzero(pvalues <= alpha) <= stats.binom.ppf(0.995, simulations, alpha)


def test_chi_squared_of_quantiles_has_its_size(replications):
    simulations = replications(400, 20_000)
    pvalues = textbook_pvalues(
        ct.estimators.QuantileCalibration(), lambda rng: normal(rng, 100), spawn(36), simulations
    )
    for alpha in FINE:
        low, high = band(simulations, alpha)
        assert low <= np.count_nonzero(pvalues <= alpha) <= high
