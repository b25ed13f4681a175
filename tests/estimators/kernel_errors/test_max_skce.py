"""The maximum of standardised kernel errors."""

import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest.estimators.kernel_errors import max_skce
from caltest.hstatistics.variances.moments import standard_deviations
from caltest.kernels import PredictionKernel, ProductKernel

P = ct.Categorical(np.random.default_rng(1).dirichlet(np.full(3, 0.5), 50))
KERNEL = ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.4), ct.DeltaKernel())


def test_statistic_by_its_definition():
    y = P.sample(2)
    ratios = []
    for factor in (0.25, 0.5, 1.0, 2.0, 4.0):
        kernel = ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.4 * factor), ct.DeltaKernel())
        ratios.append(ct.SKCE(kernel)(P, y) / standard_deviations([kernel], P)[0])
    result = ct.MonteCarloTest(ct.estimators.MaxSKCE(KERNEL), 19)(P, y, rng=1)
    assert result.statistic == pytest.approx(max(ratios), rel=1e-11)
    assert result.estimate == pytest.approx(ct.SKCE(KERNEL)(P, y), rel=1e-12)
    assert "bandwidths times 0.25, 0.5, 1, 2, 4" in result.estimator


def test_deviations_of_redraws_where_they_have_no_closed_form():
    predictions = ct.Laplace(np.random.default_rng(2).random(30), 0.2)
    kernel = ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 0.3), ct.LaplacianKernel(0.2))
    estimator = ct.estimators.MaxSKCE(kernel).resolve(predictions)
    values = estimator.values(predictions, predictions.sample(3, 40))
    order = np.random.default_rng(4).permutation(40)
    assert estimator.combined(values[:, order]) == pytest.approx(estimator.combined(values)[order], rel=1e-10)


def test_many_predictions_take_the_deviations_of_redraws(monkeypatch):
    y = P.sample(2)
    exact = ct.MonteCarloTest(ct.estimators.MaxSKCE(KERNEL), 499)(P, y, rng=1)
    monkeypatch.setattr(max_skce, "MANY", 10)
    redrawn = ct.MonteCarloTest(ct.estimators.MaxSKCE(KERNEL), 499)(P, y, rng=1)
    assert redrawn.pvalue == pytest.approx(exact.pvalue, abs=0.03)


class Constant(PredictionKernel):
    """1, whatever the predictions are."""

    bound = 1.0

    def tile(self, rows, columns):
        return np.ones((*rows.shape, columns.shape[-1]))

    def resolve(self, predictions):
        return self

    def describe(self):
        return "1"


def test_bad_settings():
    with pytest.raises(ValueError, match=r"factors: got 0\.0, wanted a positive number"):
        ct.estimators.MaxSKCE(KERNEL, (0.0,))
    with pytest.raises(TypeError, match="wanted a kernel of a distance"):
        ct.estimators.MaxSKCE(ProductKernel(Constant(), ct.DeltaKernel()))


@pytest.mark.full
@pytest.mark.statistical
@pytest.mark.usefixtures("without_findings")
def test_size_and_power_beside_the_median(replications):
    """A wave of period 1/2 is found by narrow kernels, at n = 250 in nine of ten data sets."""
    n_sets, rng = replications(40, 400), np.random.default_rng(5)
    found, false = 0, 0
    for _ in range(n_sets):
        p = rng.random(250)
        kernel = ct.Bernoulli(p).default_kernel()
        test = ct.MonteCarloTest(ct.estimators.MaxSKCE(kernel), 39)
        wave = np.clip(p + 0.2 * np.sin(4.0 * np.pi * p), 0.0, 1.0)
        found += test(p, (rng.random(250) < wave).astype(int), rng=rng).pvalue <= 0.05
        false += test(p, (rng.random(250) < p).astype(int), rng=rng).pvalue <= 0.05
    assert false <= stats.binom(n_sets, 0.05).ppf(0.995)
    assert found >= stats.binom(n_sets, 0.85).ppf(0.01)


def test_kernels_that_see_no_pairs():
    """The narrowest kernels are 0 for all pairs, so that their errors do not vary, and the widest one is not."""
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 1e-3), ct.DeltaKernel())
    result = ct.MonteCarloTest(ct.estimators.MaxSKCE(kernel), 19)(np.array([0.1, 0.4, 0.7, 0.95]), [0, 1, 0, 1], rng=1)
    assert np.isfinite(result.statistic)
    assert np.isfinite(result.null_distribution).all()
