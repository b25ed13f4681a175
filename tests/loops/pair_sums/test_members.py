import numpy as np
import pytest

from caltest._loops.formulas import kernels
from caltest._loops.pair_sums import members

# By the kind, and whether u is a distance (else its square).
FUNCTIONS = {
    (kernels.EXPONENTIAL, True): lambda u: np.exp(-u),
    (kernels.MATERN_3, True): lambda u: (1 + u) * np.exp(-u),
    (kernels.MATERN_5, True): lambda u: (1 + u + u**2 / 3) * np.exp(-u),
    (kernels.EXPONENTIAL, False): lambda u: np.exp(-(u**2)),
    (kernels.RATIONAL, False): lambda u: (1 + u**2 / 1.7) ** -1.7,
    (kernels.IDENTITY, True): lambda u: u,
}


@pytest.mark.every(4)
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("n_tiles", [1, 3])
@pytest.mark.parametrize("skip_lower", [False, True])
@pytest.mark.parametrize("d", [1, 3])
def test_sums_of_redraws(function, n_tiles, skip_lower, d):
    rng = np.random.default_rng(sum(function))
    tiles, rows, columns = rng.normal(size=(n_tiles, 6, 6)), rng.normal(size=(6, d, 9)), rng.normal(size=(6, d, 9))
    factors = np.array([1.3, 0.4, 2.0])[:d]
    values = FUNCTIONS[function](np.linalg.norm(factors[:, None] * (rows[:, None] - columns[None]), axis=2))
    weights = np.triu(tiles, 1) if skip_lower else tiles
    expected = np.einsum("lij,ijb->lb", weights, values)
    sums = members.redrawn_sums((function[0], 1.7, function[1], factors), tiles, rows, columns, skip_lower)
    assert sums == pytest.approx(expected, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("n_tiles", [1, 3])
@pytest.mark.parametrize("d", [1, 3])
def test_sums_of_members_and_redraws(function, n_tiles, d):
    rng = np.random.default_rng(sum(function))
    points, columns, weights = rng.normal(size=(5, 4, d)), rng.normal(size=(6, d, 9)), rng.normal(size=(n_tiles, 5, 6))
    weights[:, 0, 0] = 0.0
    factors = np.array([1.3, 0.4, 2.0])[:d]
    differences = points[:, None, :, :, None] - columns[None, :, None]
    values = FUNCTIONS[function](np.linalg.norm(factors[:, None] * differences, axis=3)).sum(axis=2)
    sums = members.redrawn_member_sums((function[0], 1.7, function[1], factors), weights, points, columns)
    assert sums == pytest.approx(np.einsum("lij,ijb->lb", weights, values), rel=1e-12, abs=1e-13)
