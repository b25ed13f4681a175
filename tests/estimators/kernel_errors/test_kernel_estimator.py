"""The kernel of the family, where a call names none."""

import numpy as np
import pytest

import caltest as ct


def normal(rng):
    return ct.Normal(rng.normal(size=30), np.full(30, 0.7)), rng.normal(size=30)


def classes(rng):
    return ct.Categorical(rng.dirichlet(np.ones(3), 30)), rng.integers(0, 3, 30)


def counts(rng):
    return ct.Poisson(rng.uniform(1, 9, 30)), rng.poisson(4, 30)


@pytest.mark.parametrize("data", [normal, classes, counts])
@pytest.mark.parametrize("estimator", [ct.SKCE, ct.BlockSKCE, ct.estimators.CrossSKCE])
def test_default_is_the_kernel_of_the_family(data, estimator):
    predictions, targets = data(np.random.default_rng(1))
    assert estimator()(predictions, targets) == estimator(predictions.default_kernel())(predictions, targets)


TESTS = [ct.AsymptoticSKCETest, ct.AsymptoticBlockSKCETest, ct.PearsonSKCETest, ct.named_tests.CertifiedCrossSKCETest]


@pytest.mark.parametrize("test", TESTS)
def test_named_tests_need_no_kernel(test):
    predictions, targets = classes(np.random.default_rng(1))
    default, named = (
        test()(predictions, targets, rng=1),
        test(predictions.default_kernel())(predictions, targets, rng=1),
    )
    assert (default.pvalue, default.estimator) == (named.pvalue, named.estimator)


def test_replaced_bandwidth_is_noted():
    """More than half of the distances are 0, and so is their median."""
    same = np.repeat([[0.2, 0.8], [0.5, 0.5]], [40, 5], axis=0)
    result = ct.MonteCarloTest(ct.SKCE(), 19)(same, [0, 1, 1] * 15, rng=1)
    assert any("the bandwidth is the median of the others" in note for note in result.notes)
    with pytest.raises(ValueError, match="median"):
        ct.SKCE(ct.Categorical(same).default_kernel())(same, [0, 1, 1] * 15)


def test_it_is_no_kernel_without_predictions():
    with pytest.raises(ValueError, match=r"wanted a ProductKernel such as predictions\.default_kernel\(\)"):
        ct.SKCE().kernel + ct.Normal([0.0], [1.0]).default_kernel()
    with pytest.raises(ValueError, match="data that come in chunks"):
        ct.AsymptoticBlockSKCETest().accumulator()


def test_the_kernel_of_the_family_is_what_none_stands_for():
    family = ct.estimators.FamilyKernel()
    assert ct.OmnibusTest(family) == ct.OmnibusTest(None) == ct.OmnibusTest()
    for kind in (ct.SequentialCalibrationTest, ct.CalibrationMonitor):
        assert repr(kind(kernel=family)) == repr(kind(kernel=None)) == repr(kind())


@pytest.mark.parametrize("kind", [ct.LowRankSKCE, ct.estimators.MaxSKCE])
def test_the_kernel_of_the_family_is_no_sum(kind):
    with pytest.raises(TypeError, match=r"kernel: got FamilyKernel\(\), wanted a single ProductKernel, such as pred"):
        kind(ct.estimators.FamilyKernel())
