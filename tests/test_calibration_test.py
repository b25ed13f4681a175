import caltest as ct

TV = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.4), ct.DeltaKernel())


def test_default_test_is_the_exact_one_with_the_median_bandwidth(ds1):
    p, y = ds1
    result = ct.calibration_test(p, y, n_resamples=99, rng=7)
    kernel = ct.ProductKernel(
        ct.ExponentialKernel(ct.TotalVariation(), ct.median_bandwidth(p, ct.TotalVariation())), ct.DeltaKernel()
    )
    by_hand = ct.CalibrationTest(ct.SKCE(kernel), ct.ConditionalMonteCarlo(99))(p, y, rng=7)
    assert result.pvalue == by_hand.pvalue
    assert result.estimate == by_hand.estimate
    assert result.estimator == by_hand.estimator


def test_named_tests_are_pairs():
    assert isinstance(ct.AsymptoticSKCETest(TV).null, ct.ArconesGineBootstrap)
    assert ct.AsymptoticSKCETest(TV).null.n_resamples == 1000
    assert ct.MonteCarloTest(ct.ECE()).null.n_resamples == 999
    assert ct.ConsistencyTest(ct.ECE()).null.n_resamples == 1000
    assert ct.AsymptoticBlockSKCETest(TV).estimator == ct.BlockSKCE(TV, 2)
