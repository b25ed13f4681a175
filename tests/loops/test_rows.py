import math

import numpy as np
import pytest

from caltest._basics.arrays import read_only
from caltest._loops.counting import uniform_cells
from caltest._loops.rows import are_distributions, maxima
from caltest._loops.statistics.binned import sums_of_bins

RNG = np.random.default_rng(1)
P = RNG.dirichlet(np.ones(5), 50)


def floats(array):
    return read_only(np.asarray(array), np.float64)


@pytest.mark.parametrize("row", [0, 17, 49])
@pytest.mark.parametrize("column", [0, 3, 4])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1e-300, 0.5, 1.5])
def test_one_bad_value_makes_a_matrix_bad(row, column, value):
    assert are_distributions(floats(P), 1e-6)
    bad = P.copy()
    bad[row, column] = value
    assert not are_distributions(floats(bad), 1e-6)


def test_bad_values_that_cancel():
    for rows in ([[np.inf, -np.inf]], [[1.5, -0.5]], [[-1e-17, 1.0]], [[np.nan, np.nan], [0.5, 0.5]]):
        assert not are_distributions(floats(rows), 1e-6)
    assert are_distributions(floats([[0.0, 1.0], [-0.0, 1.0]]), 0.0)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-6])
def test_sums_of_rows_are_held_to_the_tolerance(tolerance):
    for sign in (-1, 1):
        assert are_distributions(floats([[0.5, 0.5 + 0.999 * sign * tolerance]]), tolerance)
        assert not are_distributions(floats([[0.5, 0.5 + 1.001 * sign * tolerance]]), tolerance)


@pytest.mark.parametrize("k", [1, 2, 3, 10])
def test_maxima_of_rows(k):
    """Values on a coarse grid tie often; the first column among equals counts, as for numpy."""
    matrix = floats(RNG.integers(0, 3, (500, k)))
    values, columns = np.empty(500), np.empty(500, dtype=np.intp)
    maxima(matrix, values, columns)
    assert np.array_equal(values, matrix.max(axis=1))
    assert np.array_equal(columns, matrix.argmax(axis=1))


@pytest.mark.parametrize("b", range(1, 61))
def test_uniform_cells_are_those_of_the_edges(b):
    edges = np.arange(b + 1) / b
    points = np.concatenate([edges, np.nextafter(edges, 2.0), np.nextafter(edges, -1.0), RNG.random(200), [1.0 + 1e-6]])
    points = np.clip(points, 0.0, None).reshape(-1, 1)
    cells = np.empty(points.shape, dtype=np.intp)
    uniform_cells(floats(points), b, cells)
    assert np.array_equal(cells, np.searchsorted(edges[1:-1], points, side="left"))


def test_sums_of_bins_do_not_drift():
    """Small numbers after large ones are lost one by one in a plain sum."""
    vectors = np.concatenate([np.full((1, 2), 2.0**53), RNG.random((30_000, 2))])
    bins = np.concatenate([[1], RNG.integers(0, 3, 30_000)])
    sums = sums_of_bins(floats(vectors), bins, 3)
    assert sums.tolist() == [[math.fsum(vectors[bins == m, j]) for j in range(2)] for m in range(3)]
