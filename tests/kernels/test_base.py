"""Sums and multiples of kernels of targets: by their values, estimates and settings."""

import numpy as np
import pytest
from samples import samples

import caltest as ct

DATA = samples(40, 4)
ONE, TWO, THREE = ct.GaussianKernel(bandwidth=0.5), ct.LaplacianKernel(bandwidth=2.0), ct.DeltaKernel()
SUM = ONE + 2.0 * TWO
TV = ct.ExponentialKernel(ct.TotalVariation(), 0.4)
ROWS, COLUMNS = np.array([0.0, 1.0, 2.5]), np.array([0.5, -1.0])


def test_values_are_weighted_sums():
    expected = ONE.target_tile(ROWS, COLUMNS) + 2.0 * TWO.target_tile(ROWS, COLUMNS)
    assert SUM.target_tile(ROWS, COLUMNS) == pytest.approx(expected, rel=1e-15)
    rows, columns = np.random.default_rng(1).normal(size=(2, 5, 3))
    expected = ONE.vector_target_tile(rows, columns) + 2.0 * TWO.vector_target_tile(rows, columns)
    assert SUM.vector_target_tile(rows, columns) == pytest.approx(expected, rel=1e-15)


def test_sums_of_sums_are_flat():
    expected = ((1.0, ONE), (2.0, TWO), (3.0, THREE))
    for kernel in (
        ONE + 2.0 * TWO + 3.0 * THREE,
        ONE + (TWO * 2.0 + THREE * 3),
        (ONE + 2.0 * TWO) + 3.0 * THREE,
        0.5 * (2.0 * ONE + 4.0 * TWO + 6.0 * THREE),
        ct.kernels.SumKernel(((1.0, ONE + 2.0 * TWO), (3, THREE))),
        ct.kernels.SumKernel.of(ONE, 2.0 * TWO, 3.0 * THREE),
    ):
        assert kernel.weighted == expected
        assert kernel == ct.kernels.SumKernel(expected)
        assert hash(kernel) == hash(ct.kernels.SumKernel(expected))


def test_description_and_bounds():
    assert SUM.describe_for_targets() == "exp(-|y - y'|^2 / (2 0.5^2)) + 2 exp(-|y - y'| / 2)"
    assert (SUM.bound, SUM.squared_diameter) == (3.0, 6.0)
    product = ct.ProductKernel(TV, SUM)
    assert product.describe() == "exp(-TV / 0.4) x (exp(-|y - y'|^2 / (2 0.5^2)) + 2 exp(-|y - y'| / 2))"
    assert ct.ProductKernel(TV, 2.0 * TWO).describe() == "exp(-TV / 0.4) x 2 exp(-|y - y'| / 2)"


ESTIMATORS = {
    "SKCE": ct.SKCE,
    "biased": lambda kernel: ct.SKCE(kernel, unbiased=False),
    "blocks": lambda kernel: ct.BlockSKCE(kernel, 3),
}


@pytest.mark.parametrize("make", ESTIMATORS.values(), ids=ESTIMATORS)
def test_estimates_are_weighted_sums(make):
    members = ct.Ensemble(DATA.normal.sample(1, 9).T)
    w2 = ct.ExponentialKernel(ct.Wasserstein(), 1.0)
    normal = ct.GaussianKernel(bandwidth=0.5) + 2.0 * ct.GaussianKernel(bandwidth=2.0)
    cases = [
        (TV, ONE + 2.0 * TWO + 0.3 * THREE, ct.Categorical(DATA.p), DATA.y),
        (TV, SUM, ct.Bernoulli(DATA.p[:, 0]), (DATA.y == 0).astype(int)),
        (w2, SUM, members, DATA.targets),
        (w2, normal, DATA.normal, DATA.targets),
    ]
    for metric_kernel, kernel, predictions, targets in cases:
        parts = [
            weight * make(ct.ProductKernel(metric_kernel, term))(predictions, targets)
            for weight, term in kernel.weighted_terms
        ]
        whole = make(ct.ProductKernel(metric_kernel, kernel))(predictions, targets)
        assert whole == pytest.approx(sum(parts), rel=1e-12, abs=1e-14)


def test_redraws_of_multiples():
    kernels = [ct.ProductKernel(TV, kernel) for kernel in (THREE, 4.0 * THREE, THREE + THREE)]
    results = [ct.calibration_test(DATA.p, DATA.y, kernel=kernel, n_resamples=19, rng=1) for kernel in kernels]
    assert results[1].null_distribution == pytest.approx(4.0 * results[0].null_distribution, rel=1e-12)
    assert results[2].null_distribution == pytest.approx(2.0 * results[0].null_distribution, rel=1e-12)


def test_median_bandwidths_of_terms():
    kernel = ct.GaussianKernel() + 2.0 * ct.LaplacianKernel() + ct.GaussianKernel(bandwidth=3.0)
    assert kernel.uses_median
    resolved = kernel.resolve_for_targets(DATA.normal)
    median = float(np.median(DATA.normal.scale))
    assert not resolved.uses_median
    assert [term.bandwidth for _, term in resolved.weighted] == [median, median, 3.0]
    assert [weight for weight, _ in resolved.weighted] == [1.0, 2.0, 1.0]
    pair = ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 1.0), ct.GaussianKernel() + ct.GaussianKernel())
    with pytest.raises(ValueError, match=r'bandwidth: got "median", which depends on all predictions'):
        pair.check_resolved()
    pair.resolve(DATA.normal).check_resolved()


@pytest.mark.parametrize("weight", [0, -1.0, np.nan, np.inf, "2", True, None], ids=repr)
def test_bad_weights(weight):
    with pytest.raises(ValueError, match=r"^weight: got .*, wanted a positive number"):
        ct.kernels.SumKernel(((weight, ONE),))
    with pytest.raises(ValueError, match=r"^weight: got .*, wanted a positive number"):
        weight * ONE if not isinstance(weight, str) else ONE * weight


@pytest.mark.parametrize("other", [1.0, ct.ProductKernel(TV, THREE), ct.TotalVariation(), None], ids=repr)
def test_adding_what_is_no_kernel_of_targets(other):
    with pytest.raises(TypeError, match=r"^target_kernel: got .* in a sum, wanted a kernel of targets"):
        ONE + other
    with pytest.raises(TypeError, match=r"^target_kernel: got .* in a sum, wanted a kernel of targets"):
        ct.kernels.SumKernel(((1.0, other),))


def test_a_sum_of_nothing():
    with pytest.raises(ValueError, match=r"weighted: got .., wanted pairs"):
        ct.kernels.SumKernel(())


def test_terms_without_a_formula_are_named():
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 1.0), ONE + ct.DeltaKernel())
    with pytest.raises(
        ct.predictions.ClosedFormMissing, match=r"target_kernel: got DeltaKernel\(\) for Normal predictions"
    ):
        ct.SKCE(kernel)(DATA.normal, DATA.targets)
