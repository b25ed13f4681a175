"""Sums at the nodes of a grid, against sums over the observations."""

import numpy as np
import pytest

import caltest as ct
from caltest.hstatistics.sums import grid as hgrid, residuals as hresiduals
from caltest.hstatistics.sums.grid import Grid
from caltest.hstatistics.sums.residuals import prediction_features, residual_means

GRID = Grid.over(-2.0, 3.0, 1.0)
RNG = np.random.default_rng(1)
PSI = RNG.random((40, 3))
PLACES = RNG.uniform(-2.0, 3.0, (6, 40))


def interpolated(function, places=PLACES):
    return GRID.sums(places, PSI, lambda nodes: np.einsum("g,bgs->bs", function(GRID.nodes), nodes))


def test_the_second_node_is_the_smallest_place_and_the_last_but_one_the_largest():
    assert GRID.nodes[1] == -2.0
    assert 3.0 <= GRID.nodes[-2] < 3.0 + GRID.step
    assert np.diff(GRID.nodes) == pytest.approx(1.0 / 8.0)
    assert Grid.over(0.0, 300.0, 1.0) is None
    assert Grid.over(0.0, 1e308, 1e-308) is None


def test_cubic_polynomials_are_exact():
    def cubic(x):
        return 1.0 + x - 2.0 * x**2 + 0.5 * x**3

    assert interpolated(cubic) == pytest.approx(cubic(PLACES) @ PSI, rel=1e-11)


def test_functions_of_the_unit_ball_are_nearly_exact():
    """Gaussian functions with centres on and off the grid."""
    rng, errors = np.random.default_rng(2), []
    for centre in rng.uniform(-3.0, 4.0, 50):

        def gaussian(x, centre=centre):
            return np.exp(-((x - centre) ** 2) / 2.0)

        errors.append(np.abs(interpolated(gaussian) - gaussian(PLACES) @ PSI) / PSI.sum(axis=0))
    assert 1e-7 < np.max(errors) < 2e-5


def test_places_outside_count_as_the_ends():
    far = np.array([[-2.0, 3.0, 0.5], [-1e300, 1e300, 0.5], [-np.inf, np.inf, 0.5]])
    psi = PSI[:3]
    sums = GRID.sums(far, psi, lambda nodes: nodes)
    end = GRID.nodes[-2]
    expected = np.square([-2.0, end, 0.5]) @ psi
    assert np.einsum("g,bgs->bs", np.square(GRID.nodes), sums)[1:] == pytest.approx(np.stack([expected, expected]))
    assert np.isfinite(sums).all()


def test_sums_do_not_depend_on_parts(monkeypatch):
    whole = interpolated(np.cos)
    monkeypatch.setattr(hgrid, "ROWS", 7)
    monkeypatch.setattr(hgrid, "SUMS", 1)
    monkeypatch.setattr(hgrid, "LEAST", 1)
    assert interpolated(np.cos) == pytest.approx(whole, rel=1e-12)


def many(kind):
    """Predictions that are odd, n = 400."""
    rng = np.random.default_rng(3)
    mean, scale = rng.normal(size=400), np.exp(0.3 * rng.normal(size=400))
    if kind == "constant":
        mean, scale = np.zeros(400), np.ones(400)
    if kind == "tied":
        mean, scale = np.round(mean), np.round(scale)
    return ct.Normal(mean, np.maximum(scale, 0.5))


@pytest.mark.every(4)
@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("kind", ["usual", "constant", "tied", "weighted"])
def test_low_rank_on_a_grid_is_that_of_each_observation(kind, unbiased, monkeypatch):
    p = many(kind)
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.Wasserstein(), 1.0), ct.GaussianKernel(bandwidth=1.0))
    estimator = ct.LowRankSKCE(kernel, 64, unbiased).resolve(p, 1)
    y = np.concatenate(
        [p.sample(1, 30), 1.2 * p.sample(2, 1), p.sample(2, 1) * np.where(np.arange(400) == 7, 1e200, 1)]
    )
    weights = np.random.default_rng(4).random(400) if kind == "weighted" else None
    on_grid = estimator.estimates(p, y, weights)
    sums = estimator.features.sums(p, y)
    monkeypatch.setattr(hgrid, "WORTH", np.inf)
    assert np.abs(on_grid - estimator.estimates(p, y, weights)).max() < 2e-3 * on_grid[:30].std()
    assert not np.array_equal(on_grid, estimator.estimates(p, y, weights))
    direct = estimator.features.sums(p, y)
    assert sums.diagonal == pytest.approx(direct.diagonal, rel=1e-4)


def test_grids_are_for_gaussian_kernels_of_numbers_that_are_not_too_far_apart():
    p, wide = many("usual"), ct.Normal([0.0, 1e6], [1.0, 1e-3])
    radial = ct.ExponentialKernel(ct.Wasserstein(), 1.0)
    both = ct.GaussianKernel(bandwidth=1.0) + 2.0 * ct.GaussianKernel(bandwidth=3.0)
    grids = [
        ct.LowRankSKCE(ct.ProductKernel(radial, kernel)).resolve(predictions, 1).features._grid
        for kernel, predictions in ((both, p), (ct.LaplacianKernel(1.0), p), (ct.GaussianKernel(bandwidth=1.0), wide))
    ]
    assert grids[0].step == 1.0 / 8.0
    assert grids[1:] == [None, None]


def test_residuals_on_a_grid_are_those_of_each_observation(monkeypatch):
    p, scores = many("usual"), np.random.default_rng(5).normal(size=(40, 400))
    scores[0, 3] = 1e140
    psi = prediction_features(ct.ExponentialKernel(ct.Wasserstein(), 1.0), p)
    monkeypatch.setattr(hgrid, "WORTH", 1.0)
    on_grid = residual_means(psi, (0.5, 1.0, 2.0), scores)
    monkeypatch.setattr(hgrid, "WORTH", np.inf)
    direct = residual_means(psi, (0.5, 1.0, 2.0), scores)
    errors = np.abs(on_grid - direct) / direct.std(axis=1, keepdims=True)
    assert errors[:, 1:].max() < 1e-3
    assert 0.0 < errors[:, 0].max() < 0.01


@pytest.mark.parametrize("d", [2, 10])
def test_residuals_of_many_vectors_have_the_pairs_of_equal_ones_and_single_precision(d, monkeypatch):
    rng = np.random.default_rng(6)
    p, scores = ct.MvNormal(rng.normal(size=(90, d)), 1.0), rng.normal(size=(30, 90, d))
    scores[0, 3, 1] = 1e140
    kernel, widths = ct.ExponentialKernel(ct.Wasserstein(), 2.0), (0.5, 1.0, 2.0)
    psi = prediction_features(kernel, p)
    expected = []
    for width in widths:
        landmarks = hresiduals._ResidualLandmarks.of(width, d)
        squares = np.square(np.clip(scores, -1e3, 1e3)[:, :, None] - landmarks.points).sum(axis=3)
        phi = (np.exp(-squares / (2.0 * width**2 * d)) - landmarks.means) @ landmarks.single_map
        expected.append(np.square(psi.T @ phi).sum(axis=(1, 2)) / (90 * 89))
    monkeypatch.setattr(hresiduals, "MANY", 90)
    monkeypatch.setattr("caltest.hstatistics.sums.single_precision.ROWS", 40)
    means = residual_means(psi, widths, scores)
    errors = np.abs(means - expected).max(axis=1)
    assert (errors < 2e-3 * np.std(expected, axis=1)).all()
    assert errors.min() > 0.0


def test_real_sums_without_the_diagonal_are_the_same():
    rng = np.random.default_rng(7)
    p = ct.MvNormal(rng.normal(size=(50, 2)), 1.0)
    estimator = ct.LowRankSKCE(p.default_kernel(), 20).resolve(p, 1)
    y, features = p.sample(1, 5), estimator.features
    with_diagonal = features._sums(p, y[:5], None, True, np.float64).matrices
    assert features._sums(p, y[:5], None, False, np.float64).matrices == pytest.approx(
        with_diagonal, rel=1e-6, abs=1e-8
    )
