import numpy as np
import pytest
from printed import unfolded
from samples import TV, samples

import caltest as ct

S = samples(50, 3)
BINNED = [
    ct.ECE(),
    ct.ECE(ct.binning.QuantileBinning(5), order=2),
    ct.MCE(ct.binning.QuantileBinning(5)),
    ct.ClasswiseECE(),
    ct.ClasswiseECE(ct.binning.QuantileBinning(5), order=2, aggregate="sum"),
    ct.estimators.DebiasedSquaredECE(),
]


@pytest.mark.parametrize("estimator", [*BINNED, ct.SKCE(TV), ct.estimators.ExcessBrierScore(), ct.MMCE()])
def test_draws_are_those_of_the_monte_carlo_test(estimator):
    floor = ct.noise_floor(S.p, estimator, n_resamples=99, rng=3)
    draws = ct.MonteCarloTest(estimator, 99)(S.p, S.y, rng=3).null_distribution
    # Two-sided tests keep absolute values.
    np.testing.assert_array_equal(np.abs(floor.draws) if estimator.two_sided else floor.draws, draws)
    assert floor.mean == pytest.approx(floor.draws.mean())
    assert floor.standard_deviation == pytest.approx(floor.draws.std(ddof=1))
    assert floor.quantile == pytest.approx(np.quantile(floor.draws, 0.95))
    assert (floor.n, floor.n_resamples, floor.seed) == (50, 99, 3)


@pytest.mark.parametrize("estimator", BINNED)
def test_results_say_the_mean_under_calibration(estimator):
    """Beside every binned error."""
    floor = ct.noise_floor(S.p, estimator, n_resamples=99, rng=3)
    result = ct.MonteCarloTest(estimator, 99)(S.p, S.y, rng=3)
    assert result.effect_size.value == pytest.approx(result.estimate - floor.mean, rel=1e-12)
    assert f"{floor.mean:.3g}" in unfolded(floor)


def test_mean_of_unbiased_and_of_binned_errors():
    floor = ct.noise_floor(S.p, ct.SKCE(TV), n_resamples=5000, rng=1)
    assert abs(floor.mean) <= 4.0 * floor.standard_deviation / np.sqrt(5000)
    # One prediction and one bin: the mean of |B / n - p| of a binomial variable.
    floor = ct.noise_floor(np.full(20, 0.3), ct.ECE(ct.binning.UniformBinning(1)), n_resamples=20_000, rng=1)
    from scipy import stats

    counts = np.arange(21)
    expected = stats.binom(20, 0.3).pmf(counts) @ np.abs(counts / 20 - 0.3)
    assert floor.mean == pytest.approx(expected, abs=4.0 * floor.standard_deviation / np.sqrt(20_000))


def test_one_redraw_and_joint_statistics():
    one = ct.noise_floor(S.p, ct.ECE(), n_resamples=1, rng=1)
    assert (one.standard_deviation, one.mean) == (0.0, one.draws[0])
    assert str(one).startswith("mean ")
    two = ct.noise_floor(S.p, ct.ECE(), n_resamples=2, rng=1)
    assert two.standard_deviation == pytest.approx(abs(two.draws[1] - two.draws[0]) / np.sqrt(2.0))
    kernel = ct.Categorical(S.p).default_kernel()
    joint = ct.noise_floor(S.p, ct.estimators.MaxSKCE(kernel), n_resamples=9, rng=1)
    np.testing.assert_allclose(joint.draws, ct.noise_floor(S.p, ct.SKCE(kernel), n_resamples=9, rng=1).draws)
    with pytest.raises(ValueError, match="read-only"):
        one.draws[0] = 0.0


def test_bad_input():
    with pytest.raises(TypeError, match="estimator: got ndarray, wanted an estimator"):
        ct.noise_floor(S.p, S.y)
    with pytest.raises(TypeError, match="wanted Categorical or Bernoulli"):
        ct.noise_floor(S.normal, ct.ECE())
    with pytest.raises(ValueError, match="n_resamples: got 0"):
        ct.noise_floor(S.p, ct.ECE(), n_resamples=0)
    with pytest.raises(ValueError, match="got 1 observation"):
        ct.noise_floor(S.p[:1], ct.SKCE(TV))
