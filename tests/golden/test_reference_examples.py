"""Calls in the documents and tests of the reference software: pycalibration 0.4.0, rcalibration 0.1.0."""

import math

import numpy as np
import pytest
from scipy.special import ndtri

import caltest as ct

L2 = ct.ProductKernel(ct.ExponentialKernel(ct.Euclidean(), bandwidth=1.0), ct.DeltaKernel())


class NumbersOfR:
    """Random numbers of R 4 after ``set.seed``: Mersenne Twister, inversion, rejection (R's ``src/main/RNG.c``)."""

    def __init__(self, seed):
        words = []
        for _ in range(51 + 624):
            seed = (69069 * seed + 1) % 2**32
            words.append(seed)
        self.generator = np.random.RandomState()
        self.generator.set_state(("MT19937", np.array(words[51:], dtype=np.uint32), 624))

    def uniform(self):
        """``runif(1)``: 32 bits."""
        return self.generator.randint(0, 2**32, dtype=np.uint32) * 2.3283064365386963e-10

    def normal(self):
        """``rnorm(1)``: the quantile of a number of two draws."""
        high = int(134217728 * self.uniform())
        return float(ndtri((high + self.uniform()) / 134217728))

    def index(self, n):
        """A place of ``sample(..., replace=TRUE)`` among n, from 0."""
        bits = math.ceil(math.log2(n))
        while (value := int(self.uniform() * 65536) & (2**bits - 1)) >= n:
            pass
        return value


def test_numbers_of_r():
    """``set.seed(1234); runif(3)`` and ``set.seed(1234); rnorm(2)`` as R prints them."""
    r = NumbersOfR(1234)
    assert [r.uniform() for _ in range(3)] == pytest.approx([0.1137034, 0.6222994, 0.6092747], abs=5e-8)
    r = NumbersOfR(1234)
    assert [r.normal() for _ in range(2)] == pytest.approx([-1.2070657, 0.2774292], abs=5e-8)


def test_readme_of_rcalibration_probabilities():
    r = NumbersOfR(1234)
    p = [r.uniform() for _ in range(100)]
    y = [r.index(2) == 0 for _ in range(100)]
    assert ct.SKCE(L2)(p, y) == pytest.approx(0.01518318, abs=5e-9)


def test_readme_of_rcalibration_normal_predictions():
    r = NumbersOfR(1234)
    parameters = np.array([(r.normal(), r.uniform()) for _ in range(100)])
    targets = [r.normal() for _ in range(100)]
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), bandwidth=1.0), ct.GaussianKernel(bandwidth=1.0))
    estimate = ct.SKCE(kernel)(ct.Normal(parameters[:, 0], parameters[:, 1]), targets)
    assert estimate == pytest.approx(0.02301165, abs=5e-9)


@pytest.mark.parametrize(
    ("labels", "unbiased", "biased"),
    [((0, 1), 0.0, 0.0), ((0, 0), 0.0, 0.5), ((1, 0), -2 * math.exp(-1), 1 - math.exp(-1)), ((1, 1), 0.0, 0.5)],
)
def test_certain_predictions_of_pycalibration(labels, unbiased, biased):
    """Vectors, numbers, and the two of them ten times over in blocks of two."""
    vectors = ct.ProductKernel(ct.GaussianKernel(bandwidth=1.0), ct.DeltaKernel())
    numbers = ct.ProductKernel(ct.GaussianKernel(bandwidth=math.sqrt(0.5)), ct.DeltaKernel())
    outcomes = [label == 0 for label in labels]
    for kernel, p, y in ((vectors, np.eye(2), labels), (numbers, [1.0, 0.0], outcomes)):
        assert ct.SKCE(kernel)(p, y) == pytest.approx(unbiased, abs=1e-15)
        assert ct.SKCE(kernel, unbiased=False)(p, y) == pytest.approx(biased, abs=1e-15)
        often = np.concatenate([p] * 10), np.tile(y, 10)
        assert ct.BlockSKCE(kernel, 2)(*often) == pytest.approx(unbiased, abs=1e-15)


def test_binned_errors_of_pycalibration():
    ece = ct.ECE(ct.binning.UniformBinning(10))
    assert ece(np.eye(2), [0, 1]) == 0.0
    assert ece([[0.0, 1.0], [0.5, 0.5], [0.5, 0.5], [1.0, 0.0]], [1, 1, 0, 0]) == 0.0
    rng = np.random.default_rng(1)
    p, y = rng.dirichlet((5, 0.5), 1000), rng.integers(2, size=1000)
    for binning in (ct.binning.UniformBinning(10), ct.binning.MedianVarianceBinning(10)):
        assert 0.0 < ct.ECE(binning)(p, y) < 1.0


@pytest.mark.every(3)
@pytest.mark.parametrize("k", [2, 10, 100])
def test_uniform_labels_of_pycalibration(k):
    """With uniform predictions on the simplex and labels, means of unbiased estimates are 0 and biased ones above."""
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.Euclidean(), bandwidth=10.0), ct.DeltaKernel())
    rng = np.random.default_rng(1234)
    estimators = ct.SKCE(kernel, unbiased=False), ct.SKCE(kernel), ct.BlockSKCE(kernel, 2)
    samples = [(rng.dirichlet(np.ones(k), 20), rng.integers(k, size=20)) for _ in range(500)]
    biased, *unbiased = ([one(*sample) for sample in samples] for one in estimators)
    assert min(biased) > 0.0
    for estimates in unbiased:
        assert np.mean(estimates) == pytest.approx(0.0, abs=1e-2)


class TestTestsOfPycalibration:
    """p > 0.7 for labels drawn from the predictions, tiny ones where all labels are the second."""

    KERNEL = ct.ProductKernel(ct.ExponentialKernel(ct.Euclidean(), bandwidth=1 / 3), ct.DeltaKernel())

    @pytest.fixture(scope="class")
    def data(self):
        rng = np.random.default_rng(1234)
        p = rng.dirichlet((1, 1), 500)
        y = 1 - (rng.random(500) < p[:, 0])
        locations = ct.UCME(self.KERNEL, rng.dirichlet((1, 1), 5), rng.integers(1, 3, 5) - 1)
        return p, y, np.ones(500, dtype=int), locations

    def test_block_and_mean_embedding_tests(self, data):
        p, calibrated, constant, locations = data
        blocks = [ct.AsymptoticBlockSKCETest(self.KERNEL, size, known_variance=False) for size in (2, 10)]
        for test in (*blocks, ct.AsymptoticCMETest(locations, "chi2")):
            assert test(p, calibrated).pvalue > 0.7
            assert test(p, constant).pvalue < 1e-6

    def test_bounds(self, data):
        p, calibrated, constant, _ = data
        unbiased = [ct.SKCE(self.KERNEL), ct.BlockSKCE(self.KERNEL, 2)]
        for estimator, largest in zip([ct.SKCE(self.KERNEL, unbiased=False), *unbiased], (1e-6, 0.4, 0.4), strict=True):
            test = ct.DistributionFreeSKCETest(estimator)
            assert test(p, calibrated).pvalue > 0.7
            assert test(p, constant).pvalue < largest

    def test_resampling(self, data):
        """p is 0 there, and the smallest that there is here."""
        p, calibrated, constant, _ = data
        consistency = [ct.ConsistencyTest(ct.SKCE(self.KERNEL, unbiased=one), 199) for one in (False, True)]
        for test in (*consistency, ct.AsymptoticSKCETest(self.KERNEL, 199, known_variance=False)):
            assert test(p, calibrated, rng=1).pvalue > 0.7
            assert test(p, constant, rng=1).pvalue == 1 / 200
