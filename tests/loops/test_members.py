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
def test_sums_of_redraws(kind, n_tiles, skip_lower):
    rng = np.random.default_rng(kind)
    tiles, rows, columns = rng.normal(size=(n_tiles, 6, 6)), rng.normal(size=(6, 9)), rng.normal(size=(6, 9))
    values = FUNCTIONS[kind](1.3 * np.abs(rows[:, None] - columns[None]))
    weights = np.triu(tiles, 1) if skip_lower else tiles
    expected = np.einsum("lij,ijb->lb", weights, values)
    sums = members.redrawn_sums(kind, 1.7, 1.3, tiles, rows, columns, skip_lower)
    assert sums == pytest.approx(expected, rel=1e-12, abs=1e-13)
