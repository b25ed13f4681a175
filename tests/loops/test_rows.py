import math

import numpy as np
import pytest
from scipy import stats

from caltest._basics.arrays import read_only
from caltest._loops.rows import (
    FEW_CLASSES,
    VERY_FEW_CLASSES,
    classes_from_uniforms,
    draw_by_row,
    fill_uniforms,
    maxima,
    mixed,
    row_state,
    row_states,
    uniform,
)
from caltest._loops.statistics.binned import sums_of_bins

RNG = np.random.default_rng(1)


def floats(array):
    return read_only(np.asarray(array), np.float64)


@pytest.mark.parametrize("k", [1, 2, 3, 10])
def test_maxima_of_rows(k):
    """Values on a coarse grid tie often; the first column among equals counts, as for numpy."""
    matrix = floats(RNG.integers(0, 3, (500, k)))
    values, columns = np.empty(500), np.empty(500, dtype=np.intp)
    maxima(matrix, values, columns)
    assert np.array_equal(values, matrix.max(axis=1))
    assert np.array_equal(columns, matrix.argmax(axis=1))


def test_sums_of_bins_do_not_drift():
    """Small numbers after large ones are lost one by one in a plain sum."""
    vectors = np.concatenate([np.full((1, 2), 2.0**53), RNG.random((30_000, 2))])
    bins = np.concatenate([[1], RNG.integers(0, 3, 30_000)])
    sums = sums_of_bins(floats(vectors), bins, 3)
    assert sums.tolist() == [[math.fsum(vectors[bins == m, j]) for j in range(2)] for m in range(3)]


N, B = 40, 200


def labels_of(cumulative, uniforms):
    out = np.empty(uniforms.shape, dtype=np.int32)
    classes_from_uniforms(cumulative, uniforms, out)
    return out


@pytest.mark.parametrize(
    "k", [2, 3, VERY_FEW_CLASSES, VERY_FEW_CLASSES + 1, FEW_CLASSES - 1, FEW_CLASSES, FEW_CLASSES + 1, 100, 300]
)
def test_all_ways_are_a_binary_search(k):
    """Comparison with all cumulative probabilities, and halving: sparse rows with runs of zeros at every place."""
    rng = np.random.default_rng(k)
    p = rng.dirichlet(np.full(k, 0.3), N) * (rng.random((N, k)) < 0.6)
    p[:, rng.integers(k)] += 0.1
    cumulative = np.cumsum(p, axis=1)
    uniforms = rng.random((B, N))
    edges = cumulative[:, rng.integers(0, k, B)].T / cumulative[:, -1]
    uniforms = np.concatenate([uniforms, np.minimum(edges, np.nextafter(1.0, 0.0)), np.zeros((1, N))])
    # 1 is what a product that rounds up to the total amounts to.
    uniforms = np.concatenate([uniforms, np.full((1, N), np.nextafter(1.0, 0.0)), np.ones((1, N))])
    labels = labels_of(cumulative, uniforms)
    last = p.shape[1] - 1 - (p[:, ::-1] > 0).argmax(axis=1)
    for i in range(N):
        found = np.searchsorted(cumulative[i], uniforms[:, i] * cumulative[i, -1], side="right")
        assert labels[:, i].tolist() == np.minimum(found, last[i]).tolist()
        assert (p[i, labels[:, i]] > 0).all()


@pytest.mark.parametrize("k", [VERY_FEW_CLASSES, FEW_CLASSES])
def test_the_number_of_classes_compared_does_not_change_the_labels(k):
    """Classes of probability 0 at the end move a row to the other way without changing its draws."""
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.full(k, 0.2), N)
    longer = np.hstack([p, np.zeros((N, 1))])
    uniforms = rng.random((B, N))
    assert np.array_equal(labels_of(np.cumsum(p, axis=1), uniforms), labels_of(np.cumsum(longer, axis=1), uniforms))


def test_labels_of_some_of_the_rows():
    """Cumulative probabilities of rows from some place on are enough for many classes."""
    p = np.random.default_rng(2).dirichlet(np.full(70, 0.1), N)
    uniforms = np.random.default_rng(3).random((B, N))
    out, cumulative = np.full((B, N), -1), np.cumsum(p, axis=1)
    for rows in (slice(0, 13), slice(13, N)):
        classes_from_uniforms(cumulative[rows], uniforms, out, rows.start)
    assert np.array_equal(out, labels_of(cumulative, uniforms))


@pytest.mark.parametrize("k", [3, 70, 3000])
def test_draws_by_row_are_those_of_their_uniform_numbers(k):
    p = np.random.default_rng(k).dirichlet(np.full(k, 0.1), 12)
    cumulative, rows, seed = np.cumsum(p, axis=1), np.arange(100, 112), np.uint64(7)
    out = np.empty((50, 12), dtype=np.uint16)
    draw_by_row(cumulative, seed, rows, out)
    states = [np.uint64(row_state(seed, row)) for row in rows]
    uniforms = np.array([[uniform(state, b) for state in states] for b in range(50)])
    assert np.array_equal(out, labels_of(cumulative, uniforms))


def drawn(seed, rows, redraws):
    states = [np.uint64(row_state(np.uint64(seed), row)) for row in rows]
    return np.array([[uniform(state, b) for b in redraws] for state in states])


def test_numbers_are_those_of_splitmix64():
    # The first three of the authors' generator started at 1234567.
    state, step = np.uint64(1234567), np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        numbers = [int(mixed(state + np.uint64(i) * step)) for i in (1, 2, 3)]
    assert numbers == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_numbers_look_uniform_and_independent_across_rows_redraws_and_seeds():
    u = drawn(1, range(400), range(400))
    assert stats.kstest(u.ravel(), "uniform").pvalue > 1e-3
    for other in (u[1:], u[:, 1:], drawn(2, range(400), range(400))):
        rows, columns = other.shape
        r = np.corrcoef(u[:rows, :columns].ravel(), other.ravel())[0, 1]
        assert abs(r) * np.sqrt(other.size) < 4.0
    assert np.unique(u).size == u.size


def test_the_number_of_a_row_does_not_depend_on_the_others():
    np.testing.assert_array_equal(drawn(5, [7, 10**12], [3])[0], drawn(5, [7], [3])[0])


def test_numbers_of_later_redraws_are_filled_in():
    states, found = np.empty(5, dtype=np.uint64), np.empty((3, 5))
    row_states(np.uint64(5), np.arange(5), states)
    fill_uniforms(states, 7, found)
    np.testing.assert_array_equal(found, drawn(5, range(5), range(7, 10)).T)


def test_a_number_of_0_is_filled_in_as_half_of_the_smallest_other_one():
    """The mixed state 0 is 0: that of the first redraw, or of the third."""
    for redraw in (0, 2):
        states, found = np.array([-(redraw + 1) * 0x9E3779B97F4A7C15 % 2**64], dtype=np.uint64), np.empty((1, 1))
        assert uniform(states[0], redraw) == 0.0
        fill_uniforms(states, redraw, found)
        assert found.item() == 2.0**-54
