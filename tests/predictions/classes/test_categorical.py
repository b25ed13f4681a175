"""Rows of scipy.sparse beside arrays of all numbers."""

import numpy as np
import pytest
import scipy.sparse

from caltest.predictions.classes import categorical
from caltest.predictions.classes.categorical import SparseRows
from caltest.predictions.classes.finite import at_labels

P = np.array([[0.0, 0.25, 0.75, 0.0], [1.0, 0.0, 0.0, 0.0], [0.5, 0.0, 0.0, 0.5]])
LABELS = np.array([2, 1, 3])


def test_numbers_are_those_of_the_array(monkeypatch):
    rows, note = SparseRows.of(scipy.sparse.csr_array(P))
    assert (rows.shape, rows.size, rows.dtype, note) == (P.shape, P.size, P.dtype, "")
    for found, wanted in (
        (rows[1:], P[1:]),
        (rows[np.array([0, 2]), np.array([1, 3])], P[[0, 2], [1, 3]]),
        (rows.at(LABELS), P[np.arange(3), LABELS]),
        (at_labels(rows, LABELS), P[np.arange(3), LABELS]),
        (rows.argmax(), P.argmax(axis=1)),
        (rows.sum(0), P.sum(axis=0)),
        (rows.sum(1), P.sum(axis=1)),
        (np.asarray(rows), P),
    ):
        assert np.shape(found) == wanted.shape
        np.testing.assert_array_equal(found, wanted)
    monkeypatch.setattr(categorical, "DENSE", 8)
    assert isinstance(rows.take(slice(0, 2)), np.ndarray)
    np.testing.assert_array_equal(rows.take(slice(0, 2)), P[:2])
    assert isinstance(rows.take(np.arange(3)), SparseRows)
    np.testing.assert_array_equal(np.asarray(rows.take(np.array([2, 1, 0]))), P[::-1])


def test_rows_that_sum_to_one_only_nearly_are_renormalised():
    rows, note = SparseRows.of(scipy.sparse.csr_array(P * np.array([[1.0], [1.004], [0.998]])))
    np.testing.assert_allclose(np.asarray(rows), P, rtol=1e-15)
    assert note == "rows of the probabilities summed to 1 only within 0.004; they were renormalised"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({(2, 3): -0.5}, "got -0.5 at row 2, column 3, wanted probabilities of at least 0"),
        ({(1, 0): 0.9, (2, 0): 0.3}, "got row 1 that sums to 0.9, wanted rows that sum to 1"),
        ({(0, 1): np.nan}, "got row 0 that sums to nan"),
    ],
)
def test_rows_that_are_no_probabilities(changes, message):
    p = P.copy()
    for place, value in changes.items():
        p[place] = value
    with pytest.raises(ValueError, match=message):
        SparseRows.of(scipy.sparse.csr_array(p))
