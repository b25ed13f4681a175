"""Values of the Julia reference (CalibrationErrors.jl 0.6.4, CalibrationTests.jl 0.6.3, pycalibration) on data anyone
can draw, each reproduced to 15 digits by an independent implementation; labels are moved from 1..k to 0..k-1."""

import math
import random
import warnings

import numpy as np
import pytest

import caltest as ct

RTOL = 1e-9


def classes(metric, bandwidth=1.0):
    return ct.ProductKernel(ct.ExponentialKernel(metric, bandwidth=bandwidth), ct.DeltaKernel())


TV, L2, L1 = classes(ct.TotalVariation()), classes(ct.Euclidean()), classes(ct.kernels.Cityblock())


def normals(width=1.0):
    return ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), bandwidth=1.0), ct.GaussianKernel(bandwidth=width))


def test_readme_of_pycalibration():
    random.seed(1234)
    p, y = [random.random() for _ in range(100)], [bool(random.getrandbits(1)) for _ in range(100)]
    assert ct.SKCE(L2)(p, y) == pytest.approx(0.028399084017414655, rel=RTOL)
    rng = np.random.default_rng(1234)
    p, y = rng.random(100), rng.choice([True, False], 100)
    assert ct.SKCE(L2)(p, y) == pytest.approx(0.03320398246523166, rel=RTOL)
    p, y = [[0.1, 0.8, 0.1], [0.2, 0.5, 0.3]], [1, 2]
    assert ct.SKCE(L2)(p, y) == pytest.approx(-0.10317943453412069, rel=RTOL)
    random.seed(1234)
    parameters = np.array([(random.gauss(0, 1), random.random()) for _ in range(100)])
    targets = [random.gauss(0, 1) for _ in range(100)]
    predictions = ct.Normal(parameters[:, 0], parameters[:, 1])
    assert ct.SKCE(normals())(predictions, targets) == pytest.approx(0.02203618235964146, rel=RTOL)


@pytest.mark.parametrize(
    ("estimator", "value"),
    [
        (ct.SKCE(L2), 0.02015240706950358),
        (ct.SKCE(TV), 0.0212965088937351),
        (ct.SKCE(TV, unbiased=False), 0.0279381759026612),
        (ct.BlockSKCE(TV, block_size=2), -0.0118569897580498),
        (ct.BlockSKCE(TV, block_size=7), -0.00302600105452398),
        (ct.BlockSKCE(TV, block_size=7, unbiased=False), 0.0942720220874316),
        (ct.SKCE(L2, unbiased=False), 0.0268055150966719),
        (ct.BlockSKCE(L2), -0.0100612628263858),
        (ct.SKCE(L1), 0.0174512273329157),
        (ct.ECE(ct.binning.UniformBinning(10)), 0.347409421478614),
        (ct.ECE(ct.binning.UniformBinning(10), ct.Euclidean()), 0.43776801094522),
        (ct.ECE(ct.binning.UniformBinning(10), ct.kernels.SquaredEuclidean()), 0.268542550114679),
        (ct.ECE(ct.binning.UniformBinning(5)), 0.241058560629918),
        (ct.ECE(ct.binning.MedianVarianceBinning(10)), 0.192346158035283),
        (ct.ECE(ct.binning.MedianVarianceBinning(5)), 0.268435376471574),
        (ct.ECE(ct.binning.MedianVarianceBinning(5, max_bins=6)), 0.175298228108548),
        (ct.MMCE(unbiased=False), 0.0224713988983912),
        (ct.MMCE(), 0.0201389021096177),
    ],
)
def test_estimates_for_three_classes(ds1, estimator, value):
    assert estimator(*ds1) == pytest.approx(value, rel=RTOL)


def test_bins_for_three_classes(ds1):
    probabilities, _ = ds1
    assert np.unique(ct.binning.UniformBinning(10).assign(probabilities)).size == 42
    assert np.unique(ct.binning.UniformBinning(5).assign(probabilities)).size == 18

    def sizes(binning):
        return sorted(np.bincount(binning.assign(probabilities)).tolist())

    assert sizes(ct.binning.MedianVarianceBinning(10)) == [12] * 4 + [13] * 4
    assert len(sizes(ct.binning.MedianVarianceBinning(5))) == 16
    assert sizes(ct.binning.MedianVarianceBinning(5, max_bins=6)) == [6, 7, 12, 25, 25, 25]


def test_gaussian_of_the_total_variation_distance(ds1):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.kernels.KernelWarning)
        kernel = ct.ProductKernel(ct.GaussianKernel(ct.TotalVariation(), bandwidth=1.0), ct.DeltaKernel())
    assert ct.SKCE(kernel)(*ds1) == pytest.approx(0.0255179581830387, rel=RTOL)


def test_median_bandwidths(ds1):
    probabilities, _ = ds1
    tv = ct.TotalVariation()
    assert ct.median_bandwidth(probabilities, tv, include_diagonal=True) == pytest.approx(0.214140896702335, rel=RTOL)
    assert ct.median_bandwidth(probabilities, tv) == pytest.approx(0.215615417011079, rel=RTOL)


def test_pvalues_for_three_classes(ds1):
    assert ct.AsymptoticBlockSKCETest(TV, known_variance=False)(*ds1).statistic == pytest.approx(
        -0.195893425585331, rel=RTOL
    )
    assert ct.AsymptoticBlockSKCETest(TV, 7, known_variance=False)(*ds1).statistic == pytest.approx(
        -0.187410141182978, rel=RTOL
    )
    biased = ct.DistributionFreeSKCETest(ct.SKCE(TV, unbiased=False))(*ds1)
    assert biased.pvalue == pytest.approx(0.983590688657, rel=RTOL)
    unbiased = ct.DistributionFreeSKCETest(ct.SKCE(TV))(*ds1)
    assert unbiased.pvalue == pytest.approx(0.997169380709762, rel=RTOL)


def test_bootstrap_for_three_classes(ds1):
    """The reference's statistic is n/(n-1) times the unbiased minus the biased estimate; p from 2e5 draws."""
    result = ct.AsymptoticSKCETest(TV, n_resamples=20_000, known_variance=False)(*ds1, rng=1)
    biased = ct.SKCE(TV, unbiased=False)(*ds1)
    assert result.statistic / 99 - biased == pytest.approx(-0.00642655075747417, rel=RTOL)
    assert result.pvalue == pytest.approx(0.0066, abs=4 * math.sqrt(0.0066 / 20_000) + 5e-5)


def test_mean_embedding_test_for_three_classes(ds1):
    probabilities, _ = ds1
    ucme = ct.UCME(TV, probabilities[:3], [0, 1, 2])
    assert ucme(*ds1) == pytest.approx(0.00601313796752277, rel=RTOL)
    published = ct.AsymptoticCMETest(ucme, "chi2")(*ds1)
    assert published.statistic == pytest.approx(11.8019184007475, rel=RTOL)
    assert published.pvalue == pytest.approx(0.00809344303799804, rel=RTOL)
    assert ct.AsymptoticCMETest(ucme)(*ds1).pvalue == pytest.approx(0.0118340022785343, rel=RTOL)


@pytest.mark.parametrize(
    ("estimator", "value"),
    [
        (ct.SKCE(normals()), 0.0219383026850531),
        (ct.SKCE(normals(), unbiased=False), 0.0441973481131377),
        (ct.BlockSKCE(normals()), 0.0325493061087264),
        (ct.SKCE(normals(width=2.0)), 0.0188148736114771),
    ],
)
def test_estimates_for_normal_predictions(normal30, estimator, value):
    mean, scale, targets = normal30
    assert estimator(ct.Normal(mean, scale), targets) == pytest.approx(value, rel=RTOL)


def laplacians(width):
    return ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), bandwidth=1.0), ct.LaplacianKernel(width))


@pytest.mark.parametrize(
    ("estimator", "scale", "value"),
    [
        (ct.SKCE(laplacians(1.0)), None, 0.0141322920974042),
        (ct.SKCE(laplacians(1.0), unbiased=False), None, 0.0383957223280272),
        (ct.SKCE(laplacians(0.5)), 0.5, 0.0211365585476792),
    ],
)
def test_estimates_for_laplace_predictions(normal30, estimator, scale, value):
    """The last one has the scale of every prediction equal to the bandwidth."""
    mean, scales, targets = normal30
    assert estimator(ct.Laplace(mean, scales if scale is None else scale), targets) == pytest.approx(value, rel=RTOL)


@pytest.mark.filterwarnings("ignore::caltest.kernels.KernelWarning")
def test_estimates_for_multivariate_normal_predictions():
    rng = np.random.default_rng(1234)
    mean, factors, y = rng.normal(size=(30, 3)), rng.normal(size=(30, 3, 3)), rng.normal(size=(30, 3))
    full = factors @ factors.swapaxes(1, 2)
    predictions = ct.MvNormal(mean, full)
    assert ct.SKCE(normals(2.0))(predictions, y) == pytest.approx(0.00626758086425566, rel=RTOL)
    # In the reference the distance of a distribution to itself is about 7e-8 by rounding, where it is 0 here.
    assert ct.SKCE(normals(2.0), unbiased=False)(predictions, y) == pytest.approx(0.0299916439093323, rel=1e-7)
    diagonal = ct.MvNormal(mean, np.einsum("iaa->ia", full))
    assert ct.SKCE(normals(2.0))(diagonal, y) == pytest.approx(0.0107083273649841, rel=RTOL)


@pytest.mark.filterwarnings("ignore::caltest.kernels.KernelWarning")
def test_estimates_for_mixtures():
    """Corrected values: the reference skips pairs of components and returns 0.000313767465140139 for equal weights."""
    rng = np.random.default_rng(1234)
    weights, means = rng.dirichlet(np.ones(3), 30), rng.normal(size=(30, 3))
    scales, y = rng.uniform(0.2, 1.5, (30, 3)), rng.normal(size=30)
    components = [ct.Normal(means[:, a], scales[:, a]) for a in range(3)]
    kernel = ct.ProductKernel(
        ct.ExponentialKernel(ct.kernels.MixtureWasserstein(), 1.0), ct.GaussianKernel(bandwidth=1.0)
    )
    unbiased, biased = ct.SKCE(kernel), ct.SKCE(kernel, unbiased=False)
    weighted, equal = ct.Mixture(components, weights), ct.Mixture(components)
    assert unbiased(weighted, y) == pytest.approx(0.00759046873843412, rel=RTOL)
    assert biased(weighted, y) == pytest.approx(0.0256484958046713, rel=RTOL)
    assert unbiased(equal, y) == pytest.approx(0.00095850917325588, rel=RTOL)
    assert biased(equal, y) == pytest.approx(0.0165109546348014, rel=RTOL)


def test_closed_forms():
    corners = ct.Categorical([[1.0, 0.0], [0.0, 1.0]])
    kernel = ct.ProductKernel(ct.GaussianKernel(bandwidth=1.0), ct.DeltaKernel())
    assert ct.SKCE(kernel)(corners, [1, 0]) == pytest.approx(-2 / math.e, rel=RTOL)
    assert ct.SKCE(kernel, unbiased=False)(corners, [1, 0]) == pytest.approx(1 - 1 / math.e, rel=RTOL)
    assert ct.SKCE(kernel)(corners, [0, 0]) == 0.0
    assert ct.SKCE(kernel, unbiased=False)(corners, [0, 0]) == pytest.approx(0.5, rel=RTOL)
    same = ct.SKCE(normals())(ct.Normal([0.0, 0.0], 1.0), [0.0, 0.0])
    assert same == pytest.approx(1 - math.sqrt(2) + 1 / math.sqrt(3), rel=RTOL)
    different = ct.SKCE(normals())(ct.Normal([0.0, 1.0], [1.0, 2.0]), [0.0, 1.0])
    assert different == pytest.approx(0.00651220001294024, rel=RTOL)


def test_tests_of_pycalibration():
    """The reference squares negative estimates, so it returns .9999957895 and .9900759122 where the bound is 1."""
    rng = np.random.default_rng(1234)
    p = rng.dirichlet((1, 1), 500)
    y = 1 - (rng.random(500) < p[:, 0])
    kernel = classes(ct.Euclidean(), 1 / 3)
    for estimator, reference in ((ct.SKCE(kernel), 0.9999957895), (ct.BlockSKCE(kernel), 0.9900759122)):
        result = ct.DistributionFreeSKCETest(estimator)(p, y)
        assert result.estimate < 0
        assert result.pvalue == 1.0
        assert math.exp(-250 * result.estimate**2 / 8) == pytest.approx(reference, abs=1e-10)
    assert ct.AsymptoticBlockSKCETest(kernel, 2, known_variance=False)(p, y).pvalue == pytest.approx(
        0.9562732276, abs=1e-10
    )
    assert ct.AsymptoticBlockSKCETest(kernel, 10, known_variance=False)(p, y).pvalue == pytest.approx(
        0.9852419908, abs=1e-10
    )
    ucme = ct.UCME(kernel, rng.dirichlet((1, 1), 5), rng.integers(1, 3, 5) - 1)
    assert ct.AsymptoticCMETest(ucme, "chi2")(p, y).pvalue == pytest.approx(0.9542243374, abs=1e-10)
