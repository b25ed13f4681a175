"""Published results for neural networks on CIFAR-10 (Widmann et al. 2019, Figures 35 and 36)."""

import csv
from functools import cache

import numpy as np
import pytest
from grids import thinned

import caltest as ct

MODELS = ["densenet121", "googlenet", "mobilenet_v2", "resnet18", "vgg16_bn"]


@cache
def loaded(folder, name):
    return np.loadtxt(folder / f"{name}.csv.gz", delimiter=","), np.loadtxt(folder / "labels.csv.gz", dtype=int) - 1


@pytest.fixture(scope="module", params=thinned(MODELS, ["googlenet"]))
def model(request, cifar10):
    probabilities, labels = loaded(cifar10, request.param)
    predictions = ct.Categorical(probabilities)
    # Renormalising the float32 rows would move the SKCE by 1.6e-8 of its value.
    assert np.array_equal(predictions.probabilities, probabilities)
    bandwidth = ct.median_bandwidth(predictions, ct.TotalVariation(), include_diagonal=True)
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), bandwidth), ct.DeltaKernel())
    return request.param, predictions, labels, kernel


def published(cifar10, table, model):
    with open(cifar10 / table) as file:
        row = next(row for row in csv.DictReader(file) if row["model"] == model)
    return {name: float(value) for name, value in row.items() if name != "model"}


def test_errors(model, cifar10):
    name, predictions, labels, kernel = model
    values = {
        "ECE_uniform": ct.ECE(ct.binning.UniformBinning(10)),
        "ECE_dynamic": ct.ECE(ct.binning.MedianVarianceBinning(100)),
        "SKCEb_median": ct.SKCE(kernel, unbiased=False),
        "SKCEuq_median": ct.SKCE(kernel),
        "SKCEul_median": ct.BlockSKCE(kernel),
    }
    computed = {key: estimator(predictions, labels) for key, estimator in values.items()}
    assert computed == pytest.approx(published(cifar10, "published_errors.csv", name), rel=1e-9)


def test_pvalues(model, cifar10):
    name, predictions, labels, kernel = model
    paper = published(cifar10, "published_pvalues.csv", name)
    linear = ct.AsymptoticBlockSKCETest(kernel, population_variance=True, known_variance=False)(predictions, labels)
    assert linear.pvalue == pytest.approx(paper["SKCEul_median_asymptotic"], rel=1e-9)
    bounds = {
        "SKCEb_median_distribution_free": ct.SKCE(kernel, unbiased=False),
        "SKCEuq_median_distribution_free": ct.SKCE(kernel),
        "SKCEul_median_distribution_free": ct.BlockSKCE(kernel),
    }
    for key, estimator in bounds.items():
        result = ct.DistributionFreeSKCETest(estimator)(predictions, labels)
        if result.estimate > 0:
            assert result.pvalue == pytest.approx(paper[key], rel=1e-9)
        else:
            # The paper's software squares a negative estimate.
            assert result.pvalue == 1.0
            assert np.exp(-5000 * result.estimate**2 / 8) == pytest.approx(paper[key], rel=1e-9)


def test_resampled_pvalues(cifar10):
    """Published as 0; here the smallest possible value 1 / (B + 1)."""
    probabilities, labels = loaded(cifar10, "densenet121")
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), 0.997333388885), ct.DeltaKernel())
    bootstrap = ct.AsymptoticSKCETest(kernel, n_resamples=39, known_variance=False)(probabilities, labels, rng=1)
    assert bootstrap.pvalue == 1 / 40
    for binning in (ct.binning.UniformBinning(10), ct.binning.MedianVarianceBinning(100)):
        assert ct.ConsistencyTest(ct.ECE(binning), n_resamples=19)(probabilities, labels, rng=1).pvalue == 1 / 20


@pytest.mark.parametrize(
    ("with_diagonal", "expected", "error"),
    thinned([(True, 0.997333388885, 5e-13), (False, 0.9973336261085, 5e-14)], [(False, 0.9973336261085, 5e-14)]),
)
def test_median_bandwidths(with_diagonal, expected, error, cifar10):
    """Bandwidths of the paper's software to 13 digits; with the diagonal they are those of the errors above too."""
    predictions = ct.Categorical(loaded(cifar10, "densenet121")[0])
    found = ct.median_bandwidth(predictions, ct.TotalVariation(), include_diagonal=with_diagonal)
    assert found == pytest.approx(expected, abs=error)
