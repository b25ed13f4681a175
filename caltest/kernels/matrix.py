"""Kernels of finitely many outcomes: given by the matrix of their values, or for classes without any order."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from caltest._basics.arrays import Table, read_only
from caltest._basics.numerics import Array, ArrayLike, FloatArray
from caltest._validation import positive_semidefinite
from caltest._validation.labels import require_order_of
from caltest.kernels.base import Predicted, TargetKernel

PRINTED = 10
"""Classes up to which a matrix is printed."""


@dataclass(frozen=True, eq=False)
class MatrixKernel(TargetKernel):
    """``k(y, y') = A[y, y']`` for classes 0..k-1 and a positive semi-definite matrix A: some mistakes are worse.

    ``ProductKernel(k_P, MatrixKernel(A))`` is the matrix-valued kernel ``k_P(p, p') A`` of the 2019 paper, and a sum of
    such products the general kernel of its Example D.1. It is universal, so that it sees every miscalibration, if the
    kernels of predictions are universal and the sum of the matrices is positive definite (Lemma D.3). As residuals
    e_y - p sum to 0, it is enough that it is so on vectors that sum to 0; results say where it is not.

    Parameters
    ----------
    matrix
        (k, k) array-like, in the order of the classes, which is checked where both have names.

    Raises
    ------
    ValueError
        For a matrix that is not square, symmetric and positive semi-definite, or that is 0, and at the call for another
        number of classes than k.

    Examples
    --------
    >>> import caltest as ct
    >>> kernel = ct.kernels.MatrixKernel([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> kernel.bound, kernel.squared_diameter
    (1.0, 2.0)
    """

    matrix: ArrayLike

    of_classes = True

    def __post_init__(self) -> None:
        table = Table.of(self.matrix, "matrix")
        values = positive_semidefinite(table, "matrix")
        object.__setattr__(self, "_names", table.names)
        object.__setattr__(self, "matrix", read_only(values, np.float64))
        if not self.matrix.any():
            raise ValueError("matrix: got 0 everywhere, wanted a matrix that tells classes apart")

    def __repr__(self) -> str:
        k = self.n_classes
        return f"MatrixKernel({self.matrix.tolist() if k <= PRINTED else f'<{k} x {k} matrix>'})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MatrixKernel) and np.array_equal(self.matrix, other.matrix)

    def __hash__(self) -> int:
        return hash(self.matrix.tobytes())

    def target_tile(self, rows: Array, columns: Array) -> FloatArray:
        for labels in (rows, columns):
            if labels.dtype.kind not in "iu":
                raise TypeError(f"target_kernel: got {self!r} for targets that are no classes; it is for classes only")
            if labels.size and labels.max() >= self.n_classes:
                raise ValueError(
                    f"matrix: got {self.n_classes} rows and columns for the target {labels.max()}, "
                    "wanted one for each class"
                )
        return np.asarray(self.matrix[rows[..., :, None], columns[..., None, :]])

    def check_classes(self, n_classes: int, names: list[str]) -> None:
        if n_classes != self.n_classes:
            raise ValueError(f"matrix: got {self.n_classes} rows and columns, wanted {n_classes}, one for each class")
        require_order_of(names, vars(self)["_names"], "matrix")

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
        """``max A[a, a] - 2 A[a, b] + A[b, b]``, as ``(e_y - p)' A (e_y' - p')`` is largest between two corners p, p'.

        It is at most all of the bounds by operator norms of Widmann et al. 2019, Lemma H.1.
        """
        return squared_diameter(self.matrix)

    def resolve_for_targets(self, predictions: Predicted) -> Self:
        return self

    def describe_for_targets(self) -> str:
        return f"A[y, y'] ({self.n_classes} x {self.n_classes})"


def squared_diameter(gram: FloatArray) -> float:
    """``max_ab A[a, a] - 2 A[a, b] + A[b, b]`` of a positive semi-definite matrix (k, k)."""
    diagonal = np.diag(gram)
    return float((diagonal[:, None] + diagonal[None, :] - 2.0 * gram).max())


def rank_on_residuals(matrix: FloatArray) -> int:
    """Rank of the bilinear form of a positive semi-definite matrix (k, k) on vectors that sum to 0, at most k - 1."""
    centred = matrix - matrix.mean(axis=0) - matrix.mean(axis=1)[:, None] + matrix.mean()
    return int(np.count_nonzero(np.linalg.eigvalsh(centred) > 1e-10 * np.abs(matrix).max()))


@dataclass(frozen=True)
class DeltaKernel(TargetKernel):
    """``1 if y == y' else 0``: classes without any order or similarity.

    With it the kernel calibration error is that of the 2019 paper with the matrix-valued kernel k(p, p') I
    (Widmann et al. 2021, appendix E). It suits classes only: continuous targets are equal with probability 0.

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> ct.DeltaKernel().target_tile(np.array([0, 1]), np.array([1, 1]))
    array([[0., 0.],
           [1., 1.]])
    """

    is_identity = True
    bound = 1.0

    def target_tile(self, rows: Array, columns: Array) -> FloatArray:
        return np.asarray(rows[..., :, None] == columns[..., None, :], dtype=np.float64)

    def resolve_for_targets(self, predictions: Predicted) -> Self:
        return self

    def describe_for_targets(self) -> str:
        return "[y = y']"
