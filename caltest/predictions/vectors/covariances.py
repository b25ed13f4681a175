"""Covariance matrices: checks, roots, and whether they commute."""

import numpy as np

from caltest._basics.types import Array, FloatArray
from caltest._validation import finite_array, refuse_rows

ROUNDING = 1e-10
"""Eigenvalues of correlation matrices between minus this and this, in units of the largest one, count as zeros."""


def checked_covariance(array: Array, n: int, d: int) -> FloatArray:
    """Variances (n,) or (n, d), or symmetric matrices (n, d, d)."""
    if array.ndim == 0:
        array = np.full(n, array)
    if array.shape not in ((n,), (n, d), (n, d, d)):
        raise ValueError(
            f"covariance: got shape {array.shape}, wanted ({n},) variances, ({n}, {d}) variances of the coordinates or "
            f"({n}, {d}, {d}) matrices for means of shape ({n}, {d}); one matrix for all: numpy.broadcast_to"
        )
    values = finite_array(array, "covariance")
    if values.ndim < 3:
        least = values.reshape(n, -1).min(axis=1)
        refuse_rows(least < 0.0, least, "covariance", "variances of at least 0")
        return values
    size = np.abs(values).max(axis=(1, 2))
    gaps = np.abs(values - values.swapaxes(1, 2)).max(axis=(1, 2))
    if (gaps > ROUNDING * size).any():
        i = int(np.argmax(gaps > ROUNDING * size))
        raise ValueError(f"covariance: got a matrix at row {i} that differs from its transpose by {gaps[i]:.3g}")
    return np.asarray(values / 2.0 + values.swapaxes(1, 2) / 2.0)


def in_standard_deviations(matrices: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Standard deviations (..., d), 1 in place of 0, and the correlation matrices (..., d, d) that are left.

    Rank is judged by the latter: it does not depend on the units of the coordinates.
    """
    variances = np.diagonal(matrices, axis1=-2, axis2=-1)
    scales = np.sqrt(np.where(variances > 0.0, variances, 1.0))
    return scales, matrices / scales[..., :, None] / scales[..., None, :]


def roots_of(matrices: FloatArray) -> FloatArray:
    """Square roots R (n, d, d), ``S = R R'``: the symmetric positive semi-definite ones, to rounding of large entries.

    ``R = F Q'`` with the root F of the correlation matrix, in units of the standard deviations, and the orthogonal
    factor Q of its polar decomposition: R R' has all digits of S, however much the standard deviations differ.
    """
    scales, correlations = in_standard_deviations(matrices)
    values, vectors = np.linalg.eigh(correlations)
    low = values[:, 0] < -ROUNDING * np.abs(values).max(axis=1)
    if low.any():
        i = int(np.argmax(low))
        raise ValueError(
            f"covariance: got a matrix at row {i} with the eigenvalue {np.linalg.eigvalsh(matrices[i])[0]:.3g}, wanted "
            "positive semi-definite matrices"
        )
    factors = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :] @ vectors.swapaxes(1, 2) * scales[..., None]
    left, _, right = np.linalg.svd(factors)
    return np.asarray(factors @ (left @ right).swapaxes(1, 2))


def do_commute(matrices: FloatArray) -> bool:
    """Whether all matrices commute: whether the eigenvectors of a generic weighted sum are those of each of them."""
    weights = 0.5 + np.modf(np.arange(1, len(matrices) + 1) * 0.6180339887498949)[0]
    sizes = np.maximum(np.abs(matrices).max(axis=(1, 2)), np.finfo(float).tiny)
    _, vectors = np.linalg.eigh(np.einsum("i,iab->ab", weights / sizes, matrices))
    rotated = vectors.T @ matrices @ vectors
    d = rotated.shape[1]
    rotated[:, np.arange(d), np.arange(d)] = 0.0
    return bool((np.abs(rotated).max(axis=(1, 2)) <= 1e-9 * sizes).all())
