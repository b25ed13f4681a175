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


def test_logarithm_is_exact_to_two_units_in_the_last_place():
    x = np.concatenate([1 + np.logspace(-15, 0, 500), np.logspace(0, 300, 3001), 2.0 ** np.arange(100), [np.sqrt(2.0)]])
    exact = np.log(x.astype(np.longdouble))
    values = np.array([members.log_from_one(one) for one in x])
    positive = exact > 0
    assert np.abs(values[positive] / exact[positive] - 1).max() < 5e-16
    assert members.log_from_one(1.0) == 0.0


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
