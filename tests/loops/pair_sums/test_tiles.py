import numpy as np
import pytest

from caltest._loops.pair_sums import tiles
from caltest._loops.pair_sums.tiles import CITYBLOCK, PRODUCT, SQUARED_EUCLIDEAN, sum_over_coordinates

OF_TWO = {
    CITYBLOCK: lambda a, b: np.abs(a - b),
    SQUARED_EUCLIDEAN: lambda a, b: (a - b) ** 2,
    PRODUCT: lambda a, b: a * b,
}


@pytest.fixture(autouse=True, params=[0, 2**60], ids=["compiled", "by numpy"])
def few(request, monkeypatch):
    """Tiles of these sizes are summed by numpy, or by the compiled loop that is for larger ones."""
    monkeypatch.setattr(tiles, "FEW", request.param)


def by_broadcasting(kind, rows, columns):
    return OF_TWO[kind](rows[..., :, None, :], columns[..., None, :, :]).sum(axis=-1)


@pytest.mark.every(4)
@pytest.mark.parametrize("kind", OF_TWO)
@pytest.mark.parametrize("d", [*range(1, 10), 63, 64, 65, 66, 130])
def test_against_broadcasting(kind, d):
    rng = np.random.default_rng(d)
    for r, c in ((1, 1), (1, 4), (2, 3), (3, 2), (4, 4), (5, 7)):
        rows, columns = rng.normal(size=(r, d)), rng.normal(size=(c, d))
        sums = sum_over_coordinates(kind, rows, columns)
        assert sums == pytest.approx(by_broadcasting(kind, rows, columns), rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("kind", OF_TWO)
@pytest.mark.parametrize(
    "batches", [((4,), (4,)), ((4,), (1,)), ((1,), (4,)), ((2, 1), (1, 3)), ((), (3,)), ((3,), ())]
)
def test_stacks_are_broadcast(kind, batches):
    rng = np.random.default_rng(1)
    rows, columns = rng.normal(size=(*batches[0], 3, 6)), rng.normal(size=(*batches[1], 5, 6))
    expected = by_broadcasting(kind, rows, columns)
    sums = sum_over_coordinates(kind, rows, columns)
    assert sums.shape == expected.shape
    assert sums == pytest.approx(expected, rel=1e-13, abs=1e-13)


def test_sums_do_not_depend_on_the_shape_of_the_tile():
    """To the last bit, so that equal configurations in different tiles tie."""
    rng = np.random.default_rng(2)
    rows, columns = rng.random((7, 70)), rng.random((9, 70))
    for kind in OF_TWO:
        whole = sum_over_coordinates(kind, rows, columns)
        for i in range(7):
            for j in range(9):
                assert sum_over_coordinates(kind, rows[i : i + 1], columns[j : j + 1])[0, 0] == whole[i, j]


def test_views_that_are_not_contiguous():
    array = np.random.default_rng(3).normal(size=(10, 12))
    rows, columns = array[::2, ::3], array.T[1:12:4, 1:9:2]
    assert sum_over_coordinates(PRODUCT, rows, columns) == pytest.approx(rows @ columns.T, rel=1e-13)
