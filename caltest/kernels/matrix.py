"""Kernels of finitely many outcomes given by the matrix of their values."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from caltest._arrays import read_only
from caltest._types import Array, ArrayLike, FloatArray
from caltest._validation import positive_semidefinite
from caltest.kernels.base import PredictedDistributions, TargetKernel


@dataclass(frozen=True, eq=False)
class MatrixKernel(TargetKernel):
    """``k(y, y') = A[y, y']`` for classes 0..k-1 and a positive semi-definite matrix A: some mistakes are worse.

    ``ProductKernel(k_P, MatrixKernel(A))`` is the matrix-valued kernel ``k_P(p, p') A`` of the 2019 paper, and a sum of
    such products the general kernel of its Example D.1. It is universal, so that it sees every miscalibration, if the
    kernels of predictions are universal and the sum of the matrices is positive definite (Lemma D.3).

    Parameters
    ----------
    matrix
        (k, k) array-like.

    Raises
    ------
    ValueError
        For a matrix that is not square, symmetric and positive semi-definite, and at the call for another number of
        classes than k.

    Examples
    --------
    >>> import caltest as ct
    >>> kernel = ct.MatrixKernel([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> kernel.bound, kernel.squared_diameter
    (1.0, 2.0)
    """

    matrix: ArrayLike

    def __post_init__(self) -> None:
        values = positive_semidefinite(self.matrix, "matrix")
        object.__setattr__(self, "matrix", read_only(values, np.float64))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MatrixKernel) and np.array_equal(self.matrix, other.matrix)

    def __hash__(self) -> int:
        return hash(self.matrix.tobytes())

    def target_tile(self, rows: Array, columns: Array) -> FloatArray:
        """``A[y, y']`` for all rows (..., r) and columns (..., c), of shape (..., r, c)."""
        for labels in (rows, columns):
            if labels.dtype.kind not in "iu":
                raise TypeError(f"target_kernel: got {self!r} for targets that are no classes; it is for classes only")
        tile: FloatArray = self.matrix[rows[..., :, None], columns[..., None, :]]
        return tile

    @property
    def n_classes(self) -> int:
        """Number k of outcomes."""
        return int(self.matrix.shape[0])

    @property
    def bound(self) -> float:
        """Largest entry of the diagonal, which no other entry exceeds."""
        return float(np.diag(self.matrix).max())

    @property
    def squared_diameter(self) -> float:
        """``max A[a, a] - 2 A[a, b] + A[b, b]``: the supremum of ``(e_y - p)' A (e_y' - p')``.

        Predictions are mixtures of outcomes and A is positive semi-definite, so the bilinear form is largest between
        two corners of the simplex. It is at most ``2**(1 + 1/p - 1/q) |A|_{p;q}``, the bound of Lemma H.1 of Widmann
        et al. 2019, for all p and q.
        """
        diagonal = np.diag(self.matrix)
        return float((diagonal[:, None] + diagonal[None, :] - 2.0 * self.matrix).max())

    def resolve_for_targets(self, predictions: PredictedDistributions) -> Self:
        """The kernel itself: it has no settings."""
        return self

    def describe_for_targets(self) -> str:
        """Formula in one line."""
        return f"A[y, y'] ({self.n_classes} x {self.n_classes})"
