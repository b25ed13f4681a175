from inspect import signature

import pytest

import caltest as ct

TV = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.4), ct.DeltaKernel())


def test_default_test_is_the_omnibus_test_with_the_median_bandwidth(ds1):
    p, y = ds1
    result = ct.calibration_test(p, y, n_resamples=99, rng=7)
    by_hand = ct.CalibrationTest(ct.estimators.Omnibus(), ct.nulls.ConditionalMonteCarlo(99))(p, y, rng=7)
    assert (result.pvalue, result.statistic, result.estimator) == (by_hand.pvalue, by_hand.statistic, by_hand.estimator)
    assert result.test == "OmnibusTest"
    assert result.estimate == pytest.approx(ct.SKCE(ct.Categorical(p).default_kernel())(p, y), rel=1e-12)


def test_test_with_a_kernel_is_the_exact_one_of_this_kernel(ds1):
    p, y = ds1
    kernel = ct.ProductKernel(
        ct.ExponentialKernel(ct.TotalVariation(), ct.median_bandwidth(p, ct.TotalVariation())), ct.DeltaKernel()
    )
    result = ct.calibration_test(p, y, kernel=kernel, n_resamples=99, rng=7)
    by_hand = ct.CalibrationTest(ct.SKCE(kernel), ct.nulls.ConditionalMonteCarlo(99))(p, y, rng=7)
    assert result.pvalue == by_hand.pvalue
    assert result.estimate == by_hand.estimate
    assert result.estimator == by_hand.estimator


def test_named_tests_are_pairs():
    assert isinstance(ct.AsymptoticSKCETest(TV).null, ct.nulls.ArconesGineBootstrap)
    assert ct.AsymptoticSKCETest(TV).null.n_resamples == 999
    assert ct.MonteCarloTest(ct.ECE()).null.n_resamples == 999
    assert ct.ConsistencyTest(ct.ECE()).null.n_resamples == 999
    assert ct.AsymptoticBlockSKCETest(TV).estimator == ct.BlockSKCE(TV, 2)


def test_signatures_name_the_arguments():
    assert list(signature(ct.CalibrationTest).parameters) == ["estimator", "null"]
    assert list(signature(ct.MonteCarloTest).parameters) == ["estimator", "n_resamples"]
