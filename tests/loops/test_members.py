import numpy as np
import pytest

from caltest._loops import members

FUNCTIONS = {
    members.EXPONENTIAL: lambda x: np.exp(-x),
    members.MATERN_3: lambda x: (1 + x) * np.exp(-x),
    members.MATERN_5: lambda x: (1 + x + x**2 / 3) * np.exp(-x),
    members.GAUSSIAN: lambda x: np.exp(-(x**2) / 2),
    members.RATIONAL: lambda x: (1 + x**2 / 3.4) ** -1.7,
    members.DISTANCE: lambda x: x,
}


@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.parametrize("n_tiles", [1, 3])
@pytest.mark.parametrize("skip_lower", [False, True])
@pytest.mark.parametrize("d", [1, 3])
def test_sums_of_redraws(kind, n_tiles, skip_lower, d):
    rng = np.random.default_rng(kind)
    tiles, rows, columns = rng.normal(size=(n_tiles, 6, 6)), rng.normal(size=(6, d, 9)), rng.normal(size=(6, d, 9))
    factors = np.array([1.3, 0.4, 2.0])[:d]
    values = FUNCTIONS[kind](np.linalg.norm(factors[:, None] * (rows[:, None] - columns[None]), axis=2))
    weights = np.triu(tiles, 1) if skip_lower else tiles
    expected = np.einsum("lij,ijb->lb", weights, values)
    sums = members.redrawn_sums(kind, 1.7, factors, tiles, rows, columns, skip_lower)
    assert sums == pytest.approx(expected, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.parametrize("n_tiles", [1, 3])
@pytest.mark.parametrize("d", [1, 3])
def test_sums_of_members_and_redraws(kind, n_tiles, d):
    rng = np.random.default_rng(kind)
    points, columns, weights = rng.normal(size=(5, 4, d)), rng.normal(size=(6, d, 9)), rng.normal(size=(n_tiles, 5, 6))
    weights[:, 0, 0] = 0.0
    factors = np.array([1.3, 0.4, 2.0])[:d]
    differences = points[:, None, :, :, None] - columns[None, :, None]
    values = FUNCTIONS[kind](np.linalg.norm(factors[:, None] * differences, axis=3)).sum(axis=2)
    sums = members.redrawn_member_sums(kind, 1.7, factors, weights, points, columns)
    assert sums == pytest.approx(np.einsum("lij,ijb->lb", weights, values), rel=1e-12, abs=1e-13)
