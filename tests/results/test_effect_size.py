"""Effect sizes are about 0 for calibrated predictions and do not grow with n."""

import numpy as np
import pytest
from samples import TV, W2, samples

import caltest as ct

S = samples(60, 3)


def found(estimator, p=S.p, y=S.y):
    return ct.MonteCarloTest(estimator, 99)(p, y, rng=1)


@pytest.mark.parametrize(
    "test",
    [
        ct.MonteCarloTest(ct.SKCE(TV), 99),
        ct.MonteCarloTest(ct.MaxSKCE(TV), 99),
        ct.AsymptoticBlockSKCETest(TV),
        ct.CrossSKCETest(TV),
        ct.OmnibusTest(TV, 99),
        ct.ToleranceTest(TV, 0.1),
    ],
)
def test_kernel_errors_are_shares_of_the_largest(test):
    result = test(S.p, S.y, rng=1)
    assert result.effect_size.value == pytest.approx(np.sqrt(max(0.0, result.estimate) / 2.0), rel=1e-12)
    assert result.effect_size.unit == "KCE as a share of its largest value"
    assert f"Effect size    {result.effect_size.value:.3g} (KCE" in str(result)
    assert result.to_dict()["effect_size"]["value"] == result.effect_size.value


def test_the_largest_error_is_one():
    p, y = np.eye(2)[[1] * 50], [0] * 50
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.5), ct.DeltaKernel())
    assert found(ct.SKCE(kernel), p, y).effect_size.value == pytest.approx(1.0)
    assert ct.MMCE()(np.ones(50), [0] * 50) == pytest.approx(1.0)
    assert found(ct.MMCE(), np.ones(50), [0] * 50).effect_size.value == pytest.approx(1.0)


def test_biased_estimates_lose_their_bias_where_it_is_known():
    for estimator in (ct.SKCE(TV, unbiased=False), ct.LowRankSKCE(TV, 60, False, rng=1)):
        result = found(estimator)
        above = max(0.0, result.estimate - result.null_distribution.mean())
        assert result.effect_size.value == pytest.approx(np.sqrt(above / 2.0))
    result = ct.DistributionFreeSKCETest(ct.SKCE(TV, unbiased=False))(S.p, S.y)
    assert result.effect_size.value == pytest.approx(np.sqrt(result.estimate / 2.0))


def test_binned_errors_are_above_their_floor():
    result = found(ct.ECE())
    assert result.effect_size.value == pytest.approx(result.estimate - result.null_distribution.mean())
    assert result.effect_size.unit == "binned error above its mean if calibrated"
    assert "If calibrated  mean" in str(result)
    assert ct.BinnedEquivalenceTest(0.9)(S.p, S.y).effect_size is None


def test_scores_are_per_observation():
    for estimator, unit in ((ct.ExcessLogScore(), "nats"), (ct.ExcessBrierScore(), "Brier score")):
        result = found(estimator)
        assert result.effect_size.value == result.estimate
        assert unit in result.effect_size.unit
    ratio = found(ct.LogLikelihoodRatio())
    assert ratio.effect_size.value == pytest.approx(ratio.estimate / 60)


def test_locations_and_residuals():
    ucme = ct.UCME(TV, S.p[:2], S.y[:2])
    result = ct.AsymptoticCMETest(ucme)(S.p, S.y)
    assert result.effect_size.value == pytest.approx(np.sqrt(result.estimate))
    n = 4000
    p, y = ct.Normal(np.zeros(n), 1.0), 1.5 * np.random.default_rng(1).normal(size=n) + 0.5
    assert found(ct.ResidualMean(), p, y).effect_size.value == pytest.approx(0.5, abs=0.07)
    assert found(ct.ResidualSpread(), p, y).effect_size.value == pytest.approx(1.25 + 0.25, abs=0.15)
    assert 0.0 < ct.calibration_test(S.normal, S.targets, n_resamples=9, rng=1).effect_size.value < 1.0
    assert found(ct.SKCE(W2), S.normal, S.targets).effect_size.value <= 1.0


def test_effect_sizes_do_not_grow_with_n():
    model = ct.generators.class_model("M2", 3)
    for estimator in (ct.SKCE(TV), ct.ECE(), ct.ExcessBrierScore(), ct.LogLikelihoodRatio()):
        small, large = (
            np.mean([found(estimator, *model.sample(n, seed)).effect_size.value for seed in range(5)])
            for n in (200, 800)
        )
        assert large == pytest.approx(small, rel=0.5)


def test_statistics_of_textbooks():
    """Scores per observation, whatever n; none for statistics that grow with n."""
    p, y = np.full(40, 0.8), np.repeat([0, 1], 20)
    for test, excess in ((ct.SpiegelhalterTest(), ct.ExcessBrierScore()), (ct.LogScoreTest(), ct.ExcessLogScore())):
        for times in (1, 5):
            result = test(np.tile(p, times), np.tile(y, times))
            assert result.effect_size.value == pytest.approx(excess(p, y), rel=1e-10)
    top = ct.MonteCarloTest(ct.CORPMiscalibration(), 99)(p, y, rng=1)
    assert top.effect_size.value == pytest.approx(top.estimate - top.null_distribution.mean())
    for estimator in (ct.HosmerLemeshow(2), ct.TCal(), ct.CoxCalibration()):
        q = np.linspace(0.1, 0.9, 40)
        assert ct.MonteCarloTest(estimator, 19)(q, y, rng=1).effect_size is None
