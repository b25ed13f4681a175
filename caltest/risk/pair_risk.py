"""Values of an error function at pairs, and its risk, a mean over pairs, in time linear in n."""

from dataclasses import dataclass

import numpy as np

from caltest._basics.types import FloatArray

SMALLEST = 3
"""Observations that a standard error needs: it leaves one out, and pairs of the others remain."""


@dataclass(frozen=True, eq=False)
class BilinearForm:
    """``h(x_i, x_j) = E_i' M E_j`` for n points: vectors E (n, r), and M (r, r), its diagonal (r,), or the identity.

    M is symmetric. Every error function here is of this form with r much less than n. Forms with the same vectors
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


@dataclass(frozen=True)
class RiskEstimate:
    """Estimated risk of an error function, and the standard error of the estimate.

    Attributes
    ----------
    value
        ``sum_{i != j} (D_i . D_j - h(x_i, x_j))**2 / (n (n - 1))``, unbiased for the risk of a function h that was
        fitted to other data.
    standard_error
        Jackknife standard error.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> half, rest = slice(0, 450), slice(450, None)
    >>> fitted = ct.risk.TwoStepRidgeErrorFunction(regularisation=0.01).fit(p.take(half), y[half])
    >>> risk = fitted.risk(p.take(rest), y[rest])
    >>> round(risk.value, 4), round(risk.standard_error, 4)
    (0.0019, 0.0003)
    """

    value: float
    standard_error: float


def risk_terms(form: BilinearForm, deviations: FloatArray) -> FloatArray:
    """``r_i = sum_{j != i} (D_i . D_j - h(x_i, x_j))**2 / (n - 1)`` for each observation, (n,); the risk is their mean.

    With the matrices D and E of all rows, the sums over j, i among them, are::

        D_i (D'D) D_i' - 2 (E_i M) (E'D) D_i' + (E_i M) (E'E) (E_i M)'

    Exact up to rounding. Time O(n (d + r)**2), memory O(n (d + r)). Source: Gruber and Bach 2024, eq. 20.
    """
    d, weighted = deviations, form.weighted()
    squares = np.einsum("id,id->i", d @ (d.T @ d), d)
    products = np.einsum("id,id->i", weighted @ (form.vectors.T @ d), d)
    values = np.einsum("ir,ir->i", weighted @ form.gram(), weighted)
    own = np.einsum("id,id->i", d, d) - np.einsum("ir,ir->i", weighted, form.vectors)
    # Sums of squares are not negative, but their differences can be by rounding.
    terms = np.maximum(squares - 2.0 * products + values - own**2, 0.0) / (len(d) - 1)
    return np.asarray(terms)
