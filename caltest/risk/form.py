"""The values of a calibration estimation function at pairs of points, without an array of all pairs."""

from dataclasses import dataclass

import numpy as np

from caltest._types import FloatArray


@dataclass(frozen=True, eq=False)
class BilinearForm:
    """``h(x_i, x_j) = E_i' M E_j`` for n points: vectors E (n, r), and M (r, r), its diagonal (r,), or the identity.

    M is symmetric. Every estimation function here is of this form with r much less than n. Forms with the same vectors
    can share ``products``, which are E'E.
    """

    vectors: FloatArray
    coefficients: FloatArray | None = None
    products: FloatArray | None = None

    def gram(self) -> FloatArray:
        """``E'E``, (r, r)."""
        return self.vectors.T @ self.vectors if self.products is None else self.products

    def weighted(self) -> FloatArray:
        """``E M``, (n, r)."""
        if self.coefficients is None:
            return self.vectors
        if self.coefficients.ndim == 1:
            return self.vectors * self.coefficients
        return self.vectors @ self.coefficients

    def diagonal(self) -> FloatArray:
        """``h(x_i, x_i)``, (n,). Time O(n r**2)."""
        return np.asarray(np.einsum("ir,ir->i", self.weighted(), self.vectors))

    def matrix(self) -> FloatArray:
        """All values, (n, n). Time O(n**2 r)."""
        return self.weighted() @ self.vectors.T
