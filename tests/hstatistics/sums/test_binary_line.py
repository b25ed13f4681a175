"""Binary predictions in linear time: the same sums as from tiles of all pairs."""

import numpy as np
import pytest

import caltest as ct
from caltest._basics.numerics import upper_tiles
from caltest.hstatistics.redraws import of_all_families as hredraws
from caltest.hstatistics.sums import binary_line as hlines, pairs as hpairs
from caltest.hstatistics.tiles import h_tile
from caltest.predictions import Sample

NORMS = ct.TotalVariation(), ct.kernels.Cityblock(), ct.Euclidean()
DELTA, GAUSSIAN = ct.DeltaKernel(), ct.GaussianKernel(bandwidth=0.8)


def product(metric, bandwidth=0.3, target=DELTA):
    return ct.ProductKernel(ct.ExponentialKernel(metric, bandwidth), target)


def probabilities(shape):
    rng = np.random.default_rng(1)
    return {
        "spread": rng.random(37),
        "ties": rng.integers(0, 5, 38) / 4,
        "equal": np.full(9, 0.3),
        "two": np.array([0.9, 0.2]),
        "two equal": np.array([0.4, 0.4]),
        "certain": np.array([0.0, 1.0, 1.0, 0.0, 0.5]),
    }[shape]


def sample_of(shape, family):
    p = probabilities(shape)
    y = np.random.default_rng(2).integers(0, 2, p.size)
    predictions = ct.Bernoulli(p) if family == "Bernoulli" else ct.Categorical(np.stack([1 - p, p], axis=1))
    return Sample(predictions, y)


shapes = pytest.mark.parametrize("shape", ["spread", "ties", "equal", "two", "two equal", "certain"])
families = pytest.mark.parametrize("family", ["Bernoulli", "Categorical"])
norms = pytest.mark.parametrize("metric", NORMS, ids=lambda metric: metric.label)
targets = pytest.mark.parametrize("target", [DELTA, GAUSSIAN], ids=["delta", "gaussian"])


@pytest.mark.every(4)
@shapes
@families
@norms
@targets
def test_every_sum_equals_that_of_all_pairs(shape, family, metric, target):
    sample, kernel = sample_of(shape, family), product(metric, target=target)
    n = len(sample)
    h = h_tile(kernel, sample, sample)
    assert hlines.on_a_line(kernel, sample.predictions) is not None
    pairs = np.triu(h, 1).sum()
    assert hpairs.mean_of_pairs(kernel, sample, True) == pytest.approx(2 * pairs / (n * (n - 1)), abs=1e-14)
    assert hpairs.mean_of_pairs(kernel, sample, False) == pytest.approx(h.mean(), abs=1e-14)

    weights = np.random.default_rng(3).integers(0, 4, (n, 5)).astype(float)
    forms, rows = hpairs.weighted_sums(kernel, sample, weights)
    assert forms == pytest.approx(np.einsum("ib,ij,jb->b", weights, h, weights), rel=1e-11, abs=1e-12)
    assert rows == pytest.approx(h.sum(axis=1), abs=1e-13)

    redraws = sample.predictions.redraw(4, 6)
    tiles = upper_tiles(n, 10)
    parts = [kernel.prediction_kernel], kernel.target_kernel
    slow = hredraws.pair_sums(*parts, sample.predictions, redraws, tiles)[0]
    for unbiased in (True, False):
        means = hredraws.redrawn_means([kernel], sample.predictions, redraws, unbiased=unbiased)[0]
        if unbiased:
            assert means == pytest.approx(2 * slow / (n * (n - 1)), abs=1e-13)
        else:
            traces = [np.trace(h_tile(kernel, one, one)) for one in (Sample(sample.predictions, y) for y in redraws)]
            assert means == pytest.approx((2 * slow + traces) / n**2, abs=1e-13)


@shapes
def test_sums_within_blocks_take_no_tiles(shape, monkeypatch):
    """Those of very different sizes, one of a single prediction, and with a bandwidth that is next to nothing."""
    sample = sample_of(shape, "Bernoulli")
    sizes = np.array([1, len(sample) // 2, len(sample) - 1 - len(sample) // 2])
    codes = np.repeat(np.arange(3), sizes)
    monkeypatch.setattr(hredraws, "tiles_of_blocks", None)
    for bandwidth in (0.3, 1e-4):
        kernel = product(ct.TotalVariation(), bandwidth)
        h = h_tile(kernel, sample, sample)
        found = hredraws.block_pair_sums(kernel, sample.predictions, sample.targets[None], sizes)
        assert found == pytest.approx(np.triu(h, 1)[codes[:, None] == codes].sum(), abs=1e-14)


@families
def test_one_biased_observation(family):
    p = [0.3] if family == "Bernoulli" else [[0.7, 0.3]]
    assert ct.SKCE(product(ct.TotalVariation()), unbiased=False)(p, [1]) == pytest.approx(2 * 0.7**2, rel=1e-14)


def test_some_of_the_kernels_on_a_line():
    """Kernels on the line and others are summed in their own ways and come back in their order."""
    sample = sample_of("spread", "Bernoulli")
    kernels = [
        ct.ProductKernel(ct.GaussianKernel(bandwidth=0.3), DELTA),
        product(ct.TotalVariation(), 0.5),
        ct.ProductKernel(ct.GaussianKernel(bandwidth=0.1), DELTA),
        product(ct.Euclidean(), 0.2),
    ]
    redraws = sample.predictions.redraw(4, 3)
    means = hredraws.redrawn_means(kernels, sample.predictions, redraws, unbiased=True)
    for kernel, values in zip(kernels, means, strict=True):
        for y, value in zip(redraws, values, strict=True):
            one = Sample(sample.predictions, y)
            h = h_tile(kernel, one, one)
            assert value == pytest.approx(h[np.triu_indices(37, 1)].mean(), rel=1e-11, abs=1e-14)
    whole, y = ct.kernels.SumOfProducts(kernels), sample.targets
    alone = [ct.SKCE(kernel)(sample.predictions, y) for kernel in kernels]
    assert ct.SKCE(whole)(sample.predictions, y) == pytest.approx(sum(alone), rel=1e-11)


def test_order_of_the_predictions_does_not_matter():
    rng = np.random.default_rng(5)
    p, y = rng.random(500), rng.integers(0, 2, 500)
    order = rng.permutation(500)
    estimator = ct.SKCE(product(ct.TotalVariation()))
    assert estimator(p[order], y[order]) == pytest.approx(estimator(p, y), rel=1e-10)


@pytest.mark.parametrize("bandwidth", [1e-320, 1e-300, 1e300])
def test_extreme_bandwidths(bandwidth):
    """Only equal predictions are neighbours, or all are."""
    p, y = np.array([0.2, 0.2, 0.7, 0.9]), np.array([1, 0, 1, 1])
    r = y - p
    near = 2 * np.outer(r, r) * (p[:, None] == p if bandwidth < 1 else np.ones((4, 4)))
    estimate = ct.SKCE(product(ct.TotalVariation(), bandwidth), unbiased=False)(p, y)
    assert estimate == pytest.approx(near.mean(), rel=1e-13)


def test_what_is_not_on_a_line():
    p = np.random.default_rng(1).random(20)
    kernel = product(ct.TotalVariation())
    two = np.stack([1 - p, p], axis=1)
    assert hlines.on_a_line(kernel, ct.Categorical(two)) is not None
    rounded = two.copy()
    rounded[7, 0] += 1e-7
    assert hlines.on_a_line(kernel, ct.Categorical(rounded)) is None
    assert hlines.on_a_line(kernel, ct.Categorical(np.hstack([two, np.zeros((20, 1))]))) is None
    assert hlines.on_a_line(kernel, ct.Normal(p, 1.0)) is None
    assert hlines.on_a_line(ct.ProductKernel(ct.GaussianKernel(bandwidth=1.0), DELTA), ct.Bernoulli(p)) is None
    assert hlines.on_a_line(product(ct.kernels.SquaredEuclidean()), ct.Bernoulli(p)) is None


def test_rounded_rows_are_summed_as_they_are():
    """Rows that sum to 1 only within 1e-7 have other distances than points on a line."""
    p = np.random.default_rng(1).random(20)
    rows = np.stack([1 - p, p], axis=1)
    rows[7, 0] += 1e-7
    y = np.arange(20) % 2
    sample = Sample(ct.Categorical(rows), y)
    h = h_tile(product(ct.TotalVariation(), 0.01), sample, sample)
    estimate = ct.SKCE(product(ct.TotalVariation(), 0.01))(rows, y)
    assert estimate == pytest.approx(h[np.triu_indices(20, 1)].mean(), rel=1e-13)
