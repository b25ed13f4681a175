"""Probabilities of many classes as rows of scipy.sparse, of which some at a time become an array of all numbers."""

from typing import Any

import numpy as np

from caltest._basics.numerics import Array, FloatArray, IntArray, check_memory
from caltest._validation import RENORMALISED_TOLERANCE, SUM_TOLERANCE

DENSE = 2**24
"""Numbers up to which rows that are taken become an array of all numbers."""


class SparseRows:
    """(n, k) numbers of which few are not 0: read in blocks of rows, or at given rows and classes, as an array is."""

    ndim = 2

    def __init__(self, matrix: Any) -> None:
        self._matrix = matrix
        self.shape: tuple[int, int] = matrix.shape
        self.dtype: np.dtype[Any] = matrix.dtype
        self.size = matrix.shape[0] * matrix.shape[1]

    @classmethod
    def of(cls, data: Any) -> tuple["SparseRows", str]:
        """Probabilities, and a note if they were renormalised; ``ValueError`` for rows that are none."""
        matrix = data.tocsr()
        matrix = matrix.astype(matrix.dtype if matrix.dtype == np.float32 else np.float64, copy=data.format == "csr")
        matrix.sum_duplicates()
        values = matrix.data
        sums = np.asarray(matrix.sum(axis=1, dtype=np.float64)).ravel()
        deviation = np.abs(sums - 1.0)
        wrong = ~np.isfinite(sums) | (deviation > RENORMALISED_TOLERANCE)
        negative = np.flatnonzero(values < 0.0)
        if negative.size:
            row = int(np.searchsorted(matrix.indptr, negative[0], side="right")) - 1
            got = f"{values[negative[0]]:.6g} at row {row}, column {matrix.indices[negative[0]]}"
            raise ValueError(f"probabilities: got {got}, wanted probabilities of at least 0")
        if wrong.any():
            row = int(wrong.argmax())
            raise ValueError(
                f"probabilities: got row {row} that sums to {sums[row]:.6g}, wanted rows that sum to 1 (within "
                f"{RENORMALISED_TOLERANCE:g}); check that every class has its column"
            )
        if deviation.max() <= SUM_TOLERANCE:
            return cls(matrix), ""
        values /= np.repeat(sums, np.diff(matrix.indptr)).astype(values.dtype)
        return cls(
            matrix
        ), f"rows of the probabilities summed to 1 only within {deviation.max():.1g}; they were renormalised"

    def __getitem__(self, index: Any) -> Array:
        found = self._matrix[index]
        return found.toarray() if hasattr(found, "toarray") else np.asarray(found).reshape(np.shape(index[0]))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        n_bytes = self.size * np.dtype(dtype or self.dtype).itemsize
        check_memory(n_bytes, "predictions as an array that is not sparse", (self.shape[0], "rows"))
        return np.asarray(self._matrix.toarray(), dtype=dtype)

    def take(self, index: slice | IntArray) -> Any:
        """Some of the rows: an array of all numbers if these are few."""
        rows = self._matrix[index]
        return rows.toarray() if rows.shape[0] * rows.shape[1] <= DENSE else SparseRows(rows)

    def at(self, labels: IntArray) -> FloatArray:
        """The number of one class of each row, (n,)."""
        return self[np.arange(self.shape[0]), labels]

    def argmax(self, axis: int = -1) -> IntArray:
        """The class of the largest number of each row, the first one among equals."""
        return np.asarray(self._matrix.argmax(axis=1)).ravel()

    def sum(self, axis: int, dtype: Any = None) -> FloatArray:
        """Sums of rows, or of columns."""
        return np.asarray(self._matrix.sum(axis=axis, dtype=dtype)).ravel()
