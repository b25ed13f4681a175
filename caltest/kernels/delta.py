"""The kernel of classes without any order."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from caltest._types import Array, FloatArray
from caltest.kernels.base import PredictedDistributions, TargetKernel


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
        """``[y == y']`` for all rows (..., r) and columns (..., c), of shape (..., r, c)."""
        equal: FloatArray = (rows[..., :, None] == columns[..., None, :]).astype(np.float64)
        return equal

    def resolve_for_targets(self, predictions: PredictedDistributions) -> Self:
        """The kernel itself: it has no settings."""
        return self

    def describe_for_targets(self) -> str:
        return "[y = y']"
