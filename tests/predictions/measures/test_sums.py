"""Every way to sum a kernel over pairs of points equals the sum over arrays of all pairs."""

from itertools import product

import numpy as np
import pytest

import caltest as ct
from caltest.predictions.measures import sums as measure_sums
from caltest.predictions.measures.sums import Measures, distance_sums, gaussian_waves, kernel_sums, mixture_sums

KERNELS = {
    "Gaussian": ct.GaussianKernel(bandwidth=0.8),
    "Laplacian": ct.LaplacianKernel(0.8),
    "squared exponential": ct.ExponentialKernel(bandwidth=0.8, exponent=2.0),
    "power": ct.ExponentialKernel(bandwidth=0.8, exponent=0.7),
    "Matern 3/2": ct.MaternKernel(bandwidth=0.8),
    "Matern 5/2": ct.MaternKernel(bandwidth=0.8, order=2.5),
    "rational quadratic 1": ct.kernels.RationalQuadraticKernel(bandwidth=0.8),
    "rational quadratic 1.3": ct.kernels.RationalQuadraticKernel(bandwidth=0.8, shape=1.3),
}
kernels = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
lines = pytest.mark.parametrize("name", ["Gaussian", "Laplacian", "Matern 3/2", "Matern 5/2"])
SHAPES = [(1, 1, 1, 1), (3, 1, 4, 7), (3, 7, 4, 1), (5, 8, 6, 8), (2, 3, 9, 5), (1, 40, 11, 2)]


def measures(rng, *shape, scale=1.0, centre=0.0):
    return Measures(centre + scale * rng.normal(size=shape), rng.normal(size=shape[-2]))


def slow(kernel, rows, columns):
    """The definition; distances in units of the bandwidth by one coordinate after the other."""
    differences = rows.points[..., :, None, :, None, :] - columns.points[..., None, :, None, :, :]
    distances = np.sqrt(np.square(differences).sum(axis=-1))
    return np.einsum("...ijab,a,b->...ij", kernel.of_distance(distances), rows.weights, columns.weights)


def forced(monkeypatch, way):
    """Waves always, or never."""
    monkeypatch.setattr(measure_sums, "NANOSECONDS_PAIR", {"waves": np.inf, "pairs": 0.0}[way])


@pytest.mark.every(3)
@kernels
@pytest.mark.parametrize("way", ["waves", "pairs"])
def test_against_arrays_of_all_pairs(kernel, way, monkeypatch):
    forced(monkeypatch, way)
    for shape, d in product(SHAPES, [1, 2, 5]):
        rng = np.random.default_rng(sum(shape))
        r, m, c, k = shape
        rows, columns = measures(rng, r, m, d), measures(rng, c, k, d)
        size = np.abs(rows.weights).sum() * np.abs(columns.weights).sum()
        near = pytest.approx(slow(kernel, rows, columns), rel=1e-13, abs=2e-15 * size)
        assert kernel_sums(kernel, rows, columns, True) == near, (shape, d)
        if d == 1:
            assert kernel_sums(kernel, rows, columns, False) == near, shape
        near = pytest.approx(slow(Identity(), rows, columns), rel=1e-13, abs=1e-14 * size)
        assert distance_sums(rows, columns) == near, (shape, d)


class Identity:
    def of_distance(self, distance):
        return distance


@kernels
@pytest.mark.parametrize("batches", [((4,), (4,)), ((4,), ()), ((), (3,)), ((2, 1), (1, 3))])
def test_stacks_are_broadcast(kernel, batches):
    rng = np.random.default_rng(1)
    rows, columns = measures(rng, *batches[0], 3, 5, 1), measures(rng, *batches[1], 4, 6, 1)
    sums = kernel_sums(kernel, rows, columns, False)
    assert sums.shape == (*np.broadcast_shapes(*batches), 3, 4)
    assert sums == pytest.approx(slow(kernel, rows, columns), rel=1e-12, abs=1e-14)


@kernels
def test_sums_do_not_depend_on_the_blocks(kernel, monkeypatch):
    rng = np.random.default_rng(2)
    rows, columns = measures(rng, 3, 11, 6, 1), measures(rng, 3, 8, 7, 1)
    whole = kernel_sums(kernel, rows, columns, False)
    for name, value in (("TILE", 4), ("POINTS", 20), ("VALUES", 100)):
        monkeypatch.setattr(measure_sums, name, value)
        assert kernel_sums(kernel, rows, columns, False) == pytest.approx(whole, rel=1e-12, abs=1e-14)


@kernels
def test_sums_are_fresh_arrays_that_can_be_written_to(kernel):
    rng = np.random.default_rng(3)
    for shape in ((5, 3, 6, 9), (5, 9, 6, 3)):
        sums = kernel_sums(kernel, measures(rng, *shape[:2], 1), measures(rng, *shape[2:], 1), False)
        assert sums.flags.c_contiguous
        assert sums.flags.writeable


@kernels
def test_points_that_are_equal(kernel):
    """Rounded members tie within ensembles and between them."""
    rng = np.random.default_rng(4)
    rows = Measures(rng.integers(0, 3, (6, 9, 1)).astype(float), np.full(9, 1 / 9))
    columns = Measures(rng.integers(0, 3, (5, 4, 1)).astype(float), np.full(4, 1 / 4))
    assert kernel_sums(kernel, rows, columns, False) == pytest.approx(slow(kernel, rows, columns), rel=1e-13)


@kernels
@pytest.mark.parametrize(("scale", "centre"), [(1.0, 1e6), (30.0, 0.0), (1e4, 0.0), (1e-9, 3.0), (1e100, 0.0)])
def test_points_in_other_places(kernel, scale, centre):
    """Far from zero, far from each other, or next to each other."""
    rng = np.random.default_rng(5)
    rows, columns = (measures(rng, *shape, 1, scale=scale, centre=centre) for shape in ((7, 20), (6, 15)))
    size = np.abs(rows.weights).sum() * np.abs(columns.weights).sum()
    with np.errstate(over="ignore"):
        expected = slow(kernel, rows, columns)
    assert kernel_sums(kernel, rows, columns, False) == pytest.approx(expected, rel=1e-12, abs=3e-15 * size)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("bandwidth", [5e-324, 1e-300, 1e300])
def test_extreme_bandwidths(name, bandwidth):
    """Only equal points are neighbours, or all are."""
    kernel = KERNELS[name].with_bandwidth(bandwidth)
    rows = Measures(np.array([[[0.0], [1.0]], [[2.0], [2.0]]]), np.array([0.5, 0.5]))
    columns = Measures(np.array([[[2.0]], [[1.0]], [[7.0]]]), np.ones(1))
    expected = np.array([[0.0, 0.5, 0.0], [1.0, 0.0, 0.0]]) if bandwidth < 1.0 else np.ones((2, 3))
    assert kernel_sums(kernel, rows, columns, False) == pytest.approx(expected, abs=1e-15)


def test_differences_of_measures_have_no_mass():
    rng = np.random.default_rng(6)
    one, other = (
        Measures(rng.normal(size=(4, 3, 1)), np.full(3, 1 / 3)),
        Measures(rng.normal(size=(4, 1, 1)), np.ones(1)),
    )
    both = other - one
    assert both.weights.sum() == pytest.approx(0.0, abs=1e-15)
    kernel = KERNELS["Matern 3/2"]
    pairs = [(a, b) for a in (other, one) for b in (other, one)]
    four = sum(sign * slow(kernel, a, b) for sign, (a, b) in zip((1, -1, -1, 1), pairs, strict=True))
    assert kernel_sums(kernel, both, both, False) == pytest.approx(four, abs=1e-15)


@pytest.mark.parametrize("spread", [0.0, 1.0, 20.0, 300.0])
def test_waves_make_a_gaussian_function(spread):
    """Up to the largest distance there is, and beyond it not."""
    rows, columns = np.zeros((1, 1, 1, 1)), np.linspace(0.0, spread, 50).reshape(1, 50, 1, 1)
    waves = gaussian_waves(1.0, 1e4, rows, columns)
    one = np.ones(1)
    sums = measure_sums.sums_of_waves(waves, Measures(rows, one), Measures(columns, one))[0, 0]
    assert sums == pytest.approx(np.exp(-0.5 * columns.ravel() ** 2), abs=3e-15)
    period = 2.0 * np.pi / waves.step
    again = measure_sums.sums_of_waves(waves, Measures(rows, one), Measures(columns + period, one))[0, 0]
    assert again == pytest.approx(sums, abs=1e-13)


@pytest.mark.parametrize("far", [2.0**30, -(2.0**30)])
def test_waves_lose_no_digits_far_from_0(far):
    columns = far + np.arange(50.0).reshape(1, 50, 1, 1) / 4.0
    rows = columns[:, :1]
    waves, one = gaussian_waves(1.0, 1e4, rows, columns), np.ones(1)
    sums = measure_sums.sums_of_waves(waves, Measures(rows, one), Measures(columns, one))[0, 0]
    assert sums == pytest.approx(np.exp(-0.5 * (np.arange(50.0) / 4.0) ** 2), abs=3e-15)


def test_more_waves_than_are_allowed_are_not_made():
    assert gaussian_waves(1.0, 1e6, np.array([0.0, 1e9])) is None


@lines
@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (4, 6, 5, 7), (1, 30, 3, 2)])
def test_mixtures(name, shape, monkeypatch):
    kernel = KERNELS[name]
    r, m, c, n_targets = shape
    rng = np.random.default_rng(7)
    rows, weights = Measures(rng.normal(size=(r, m, 1)), np.full(m, 1 / m)), rng.normal(size=(r, c))
    targets = 2.0 * rng.normal(size=(n_targets, c))
    targets[0, 0] = rows.points[0, 0, 0]
    tiles = (slow(kernel, rows, Measures(y[:, None, None], np.ones(1))) for y in targets)
    weights = np.stack([weights, weights**2])
    expected = np.array([[np.vdot(one, tile) for one in weights] for tile in tiles]).T
    assert mixture_sums(kernel, rows, weights, targets) == pytest.approx(expected, rel=1e-12, abs=1e-14)
    if n_targets > 1:
        monkeypatch.setattr(measure_sums, "VALUES", max(2 * c, r * 50))
        assert mixture_sums(kernel, rows, weights, targets) == pytest.approx(expected, rel=1e-12, abs=1e-14)


def test_mixtures_without_a_faster_way():
    rng = np.random.default_rng(8)
    rows = Measures(rng.normal(size=(3, 4, 1)), np.full(4, 0.25))
    weights, targets = rng.normal(size=(1, 3, 2)), 1e9 * rng.normal(size=(5, 2))
    assert mixture_sums(KERNELS["power"], rows, weights, targets) is None
    for name in ("rational quadratic 1", "Gaussian"):
        tiles = (slow(KERNELS[name], rows, Measures(y[:, None, None], np.ones(1))) for y in targets)
        expected = np.array([[np.vdot(weights[0], tile) for tile in tiles]])
        assert mixture_sums(KERNELS[name], rows, weights, targets) == pytest.approx(expected, rel=1e-12, abs=1e-300)
