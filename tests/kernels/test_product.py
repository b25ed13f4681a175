"""Products of kernels and sums of them: settings, what they refuse, and that sums are sums."""

import numpy as np
import pytest
from printed import unfolded
from samples import samples

import caltest as ct

DATA = samples(50, 4)
P, Y = DATA.p, DATA.y
TV, GAUSS = ct.ExponentialKernel(ct.TotalVariation(), 0.4), ct.GaussianKernel(bandwidth=0.3)
ONE = ct.ProductKernel(TV, ct.DeltaKernel())
MATRIX = np.array([[1.0, 0.5, 0.2, 0.0], [0.5, 2.0, 0.3, 0.1], [0.2, 0.3, 1.0, 0.6], [0.0, 0.1, 0.6, 1.5]])
TWO = ct.ProductKernel(GAUSS, ct.kernels.MatrixKernel(MATRIX))
THREE = ct.ProductKernel(ct.ExponentialKernel(ct.Euclidean(), 1.0), ct.GaussianKernel(bandwidth=1.5))
SUM = ONE + TWO + THREE


def test_description():
    assert ONE.describe() == "exp(-TV / 0.4) x [y = y']"
    assert (ONE + TWO).describe() == "exp(-TV / 0.4) x [y = y'] + exp(-L2^2 / (2 0.3^2)) x A[y, y'] (4 x 4)"
    assert ct.SKCE(ONE + TWO).describe(ct.Categorical(P)).endswith(f"k = {(ONE + TWO).describe()}")


def test_sums_of_sums_are_flat():
    assert SUM.products == (ONE, TWO, THREE)
    assert (ONE + (TWO + THREE)).products == (ONE, TWO, THREE)
    assert ct.kernels.SumOfProducts([ONE, TWO, THREE]) == SUM
    assert hash(ct.kernels.SumOfProducts([ONE, TWO, THREE])) == hash(SUM)
    assert SUM.bound == 1.0 + 2.0 + 1.0


def test_medians_are_replaced_in_every_term():
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation()), ct.GaussianKernel()) + ct.ProductKernel(
        ct.GaussianKernel(), ct.DeltaKernel()
    )
    assert kernel.uses_median
    first, second = kernel.resolve(ct.Categorical(P)).products
    assert first.prediction_kernel.bandwidth == ct.median_bandwidth(P, ct.TotalVariation())
    assert first.target_kernel.bandwidth == ct.Categorical(P).target_scale()
    assert second.prediction_kernel.bandwidth == ct.median_bandwidth(P, ct.Euclidean())
    assert (ONE + kernel).uses_median
    assert not ONE.uses_median
    with pytest.raises(ValueError, match=r'bandwidth: got "median", which depends on all predictions'):
        ct.AsymptoticBlockSKCETest(kernel).accumulator()
    found = ct.AsymptoticBlockSKCETest(kernel.resolve(ct.Categorical(P))).accumulator().update(P, Y).result()
    assert found.estimate == pytest.approx(ct.BlockSKCE(kernel)(P, Y), rel=1e-12)


ESTIMATORS = {
    "SKCE": ct.SKCE,
    "biased": lambda kernel: ct.SKCE(kernel, unbiased=False),
    "blocks": lambda kernel: ct.BlockSKCE(kernel, 3),
    "large blocks": lambda kernel: ct.BlockSKCE(kernel, 25, unbiased=False),
}
BINARY = [
    ONE,
    ct.ProductKernel(GAUSS, ct.kernels.MatrixKernel(MATRIX[:2, :2])),
    ct.ProductKernel(ct.ExponentialKernel(ct.Euclidean(), 1.0), ct.GaussianKernel(bandwidth=1.5)),
]


@pytest.mark.parametrize("make", ESTIMATORS.values(), ids=ESTIMATORS)
def test_estimates_of_a_sum_are_sums_of_estimates(make):
    for kernels, predictions, targets in (
        ((ONE, TWO, THREE), ct.Categorical(P), Y),
        (BINARY, ct.Bernoulli(P[:, 0]), (Y == 0).astype(int)),
    ):
        parts = [make(kernel)(predictions, targets) for kernel in kernels]
        whole = make(kernels[0] + kernels[1] + kernels[2])
        assert whole(predictions, targets) == pytest.approx(sum(parts), rel=1e-14, abs=1e-14)
        redraws = predictions.sample(3, 5)
        parts = [make(kernel).estimates(predictions, redraws) for kernel in kernels]
        assert whole.estimates(predictions, redraws) == pytest.approx(np.sum(parts, axis=0), rel=1e-13, abs=1e-14)


def test_products_with_the_same_target_kernel_are_summed_together():
    sharp = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.1), ct.DeltaKernel())
    redraws = ct.Categorical(P).sample(3, 5)
    values = [ct.SKCE(kernel).estimates(ct.Categorical(P), redraws) for kernel in (ONE, sharp, ONE + sharp + ONE)]
    assert values[2] == pytest.approx(2 * values[0] + values[1], rel=1e-13, abs=1e-14)


def test_deviations_and_bootstrap_of_a_sum():
    deviations = [ct.UCME(kernel, P[:3], Y[:3]).deviations(_sample()) for kernel in (ONE, TWO, THREE, SUM)]
    assert deviations[3] == pytest.approx(sum(deviations[:3]), abs=1e-14)
    draws = [ct.AsymptoticSKCETest(kernel, 9)(P, Y, rng=1).null_distribution for kernel in (ONE, TWO, THREE, SUM)]
    assert draws[3] == pytest.approx(sum(draws[:3]), rel=1e-11, abs=1e-13)
    binary = [*BINARY, BINARY[0] + BINARY[1] + BINARY[2]]
    draws = [ct.AsymptoticSKCETest(kernel, 9)(P[:, 0], Y == 0, rng=1).null_distribution for kernel in binary]
    assert draws[3] == pytest.approx(sum(draws[:3]), rel=1e-11, abs=1e-13)


def _sample():
    from caltest.predictions import Sample

    return Sample(ct.Categorical(P), Y)


@pytest.mark.parametrize(
    "test",
    [
        ct.MonteCarloTest(ct.SKCE(SUM), 19),
        ct.ConsistencyTest(ct.SKCE(SUM), 19),
        ct.AsymptoticSKCETest(SUM, 19),
        ct.AsymptoticBlockSKCETest(SUM, 5),
        ct.AsymptoticCMETest(ct.UCME(SUM, P[:3], Y[:3])),
        ct.DistributionFreeSKCETest(ct.SKCE(SUM, unbiased=False)),
        ct.DistributionFreeSKCETest(ct.BlockSKCE(SUM)),
    ],
    ids=lambda test: type(test).__name__,
)
def test_every_test_takes_sums(test):
    wrong = test(P, P.argmin(axis=1), rng=1)
    assert 0.0 < wrong.pvalue <= (0.05 if wrong.pvalue_kind != "bound" else 1.0)
    assert SUM.describe() in unfolded(wrong)


BAD_FACTORS = {
    "swapped": ((ct.DeltaKernel(), TV), "prediction_kernel: got DeltaKernel.* the prediction kernel comes first"),
    "sum of target kernels": ((ct.DeltaKernel() + ct.DeltaKernel(), TV), "prediction_kernel: got SumKernel"),
    "metric": ((ct.TotalVariation(), ct.DeltaKernel()), r"prediction_kernel: got TotalVariation\(\), wanted a kernel"),
    "no target kernel": ((TV, None), "target_kernel: got None, wanted a kernel of targets"),
    "target kernel of predictions": ((TV, TV), "target_kernel: got a kernel of the total variation distance"),
    "in a sum": ((TV, ct.DeltaKernel() + TV), "target_kernel: got a kernel of the total variation distance"),
    "tuple": (
        (ct.GaussianKernel(bandwidth=(1, 2)), GAUSS),
        r"prediction_kernel: got bandwidths \(1.0, 2.0\), wanted one",
    ),
}


@pytest.mark.parametrize(("factors", "message"), BAD_FACTORS.values(), ids=BAD_FACTORS)
def test_bad_factors(factors, message):
    with pytest.raises(TypeError, match=f"^{message}"):
        ct.ProductKernel(*factors)


@pytest.mark.parametrize("other", [1.0, TV, ct.DeltaKernel(), None], ids=repr)
def test_adding_what_is_no_product(other):
    with pytest.raises(TypeError, match=r"^kernel: got .*, wanted a ProductKernel"):
        ONE + other
    with pytest.raises(TypeError, match=r"^kernel: got .* in a sum, wanted ProductKernel"):
        ct.kernels.SumOfProducts((ONE, other))


def test_a_sum_of_nothing():
    with pytest.raises(ValueError, match="terms: got none, wanted product kernels"):
        ct.kernels.SumOfProducts(())


def test_sums_for_landmarks():
    with pytest.raises(TypeError, match="kernel: got a sum of product kernels, wanted a single ProductKernel"):
        ct.LowRankSKCE(SUM)


@pytest.mark.parametrize("kernel", [TV, ct.DeltaKernel(), None, "TV"], ids=repr)
@pytest.mark.parametrize("make", [ct.SKCE, ct.BlockSKCE, ct.LowRankSKCE, lambda kernel: ct.UCME(kernel, P[:1], Y[:1])])
def test_estimators_want_products(make, kernel):
    with pytest.raises(TypeError, match=r"^kernel: got .*, wanted a ProductKernel"):
        make(kernel)


def test_sums_of_kernels_of_targets_are_in_parentheses():
    narrow, wide = ct.GaussianKernel(bandwidth=0.5), ct.GaussianKernel(bandwidth=2.0)
    one, both, twice = (ct.ProductKernel(GAUSS, kernel) for kernel in (narrow, narrow + wide, 2.0 * narrow))
    left = "exp(-L2^2 / (2 0.3^2)) x "
    first, second = (one.describe_for_targets() for one in (narrow, wide))
    assert one.describe() == f"{left}{first}"
    assert both.describe() == f"{left}({first} + {second})"
    assert twice.describe() == f"{left}2 {first}"
