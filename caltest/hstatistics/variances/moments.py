"""Moments of sums of h over pairs given the predictions, without sampling: what is random is the targets only.

If the predictions are calibrated and the targets independent given them, ``U = 2 / (n (n - 1)) sum_{i<j} h_ij`` has
mean 0. With the covariance operators ``C_i`` of ``k_Y(., Z_i)`` for ``Z_i ~ P_i`` its variance is
``4 / (n (n - 1))**2 sum_{i<j} K_ij**2 tr(C_i C_j)``. Its third moment is known for the Delta kernel of classes.
"""

from collections.abc import Callable, Sequence

import numpy as np

from caltest._basics.numerics import FloatArray, check_memory, upper_tiles
from caltest._basics.threads import threaded
from caltest.hstatistics.pair_tiles import TILE, Places, total_of_tiles, upper_kernel_tiles
from caltest.hstatistics.tiles import Place
from caltest.kernels import PredictionKernel, ProductKernel
from caltest.predictions import Predictions

PROBES = 64
"""Random vectors for each of the two parts of an estimated trace."""

FEW = 200
"""Predictions up to which the trace of a product of matrices is computed exactly, in time O(n**3 k)."""


def standard_deviations(kernels: Sequence[ProductKernel], predictions: Predictions) -> FloatArray | None:
    """Standard deviations of the unbiased SKCE given the predictions, for kernels with the same kernel of targets.

    For finitely many outcomes, counts, and normal predictions with a Gaussian kernel; None for others. Time O(n**2 k).
    """
    n = len(predictions)
    sums = known_squares(kernels, predictions, upper_tiles(n, TILE))
    return None if sums is None else np.asarray(2.0 / (n * (n - 1)) * np.sqrt(np.maximum(sums, 0.0)))


def known_squares(kernels: Sequence[ProductKernel], predictions: Predictions, places: Places) -> FloatArray | None:
    """``sum E h_ij**2`` over the pairs i < j of tiles on and above the diagonal, for each of the kernels, (L,)."""
    traces = predictions.law.traces(kernels[0].target_kernel)
    of_predictions = [one.prediction_kernel for one in kernels]
    if traces is None:
        return None

    def tile_sums(place: Place) -> FloatArray:
        weights = upper_kernel_tiles(of_predictions, predictions, place)
        np.square(weights, out=weights)
        return np.asarray(np.einsum("lij,ij->l", weights, traces(*place)))

    return total_of_tiles(tile_sums, places)


def third_moment(kernel: ProductKernel, predictions: Predictions, rng: np.random.Generator) -> float | None:
    """``E U**3`` given the predictions, for classes and the Delta kernel; None for others.

    With K the kernel of predictions without its diagonal and ``e_ij = E (d_i . d_j)**3`` for the residuals d of two
    independent labels::

        (n (n - 1))**3 E U**3 = 4 sum_ij K_ij**3 e_ij + 8 sum_ijk K_ij K_jk K_ki tr(C_i C_j C_k)

    The triple sum is the trace of products of n x n matrices: exact for up to 200 predictions, to a relative error of
    1e-3 for more (measured for 2 to 100 classes), in time O(n**2 k) with 128 random vectors. Memory O(n**2).
    """
    law = predictions.law
    if law.finite is None or not np.array_equal(law.finite.gram(kernel.target_kernel), np.eye(law.finite.n_classes)):
        return None
    n, p = len(predictions), np.ascontiguousarray(law.finite.probabilities)
    check_memory(8 * 4 * n * n, "matrices of all pairs", (n, "rows"), "use MonteCarloTest", power=2)
    weights = _all_pairs(kernel.prediction_kernel, predictions)
    np.fill_diagonal(weights, 0.0)
    total = 4.0 * _sum_of_cubes(weights, p) + 8.0 * _sum_over_triples(weights, p, None if n <= FEW else rng)
    return total / (float(n) * (n - 1)) ** 3


def _all_pairs(kernel: PredictionKernel, predictions: Predictions) -> FloatArray:
    n = len(predictions)
    matrix = np.empty((n, n))

    def fill(place: Place) -> None:
        rows, columns = place
        matrix[rows, columns] = kernel.tile(predictions.take(rows), predictions.take(columns))
        matrix[columns, rows] = matrix[rows, columns].T

    for _ in threaded(fill, *upper_tiles(n, TILE), "kernel of all pairs"):
        pass
    return matrix


def _sum_of_cubes(weights: FloatArray, p: FloatArray) -> float:
    """``sum_ij K_ij**3 e_ij``, row by row.

    With powers of the entries of P, ``G = P P'`` and ``A_r = P (P**r)'``::

        e = G + 3 G**2 + 4 G**3 - 3 (A_2 + A_2') - 6 G (A_2 + A_2') + 2 (A_3 + A_3') + 6 P**2 (P**2)'
    """
    p2, p3, total = p**2, p**3, 0.0
    for start in range(0, len(p), TILE):
        rows = slice(start, start + TILE)
        g = p[rows] @ p.T
        second, third = p[rows] @ p2.T + p2[rows] @ p.T, p[rows] @ p3.T + p3[rows] @ p.T
        e = g + 3.0 * g**2 + 4.0 * g**3 - 3.0 * second - 6.0 * g * second + 2.0 * third + 6.0 * (p2[rows] @ p2.T)
        total += float(np.vdot(weights[rows] ** 3, e))
    return total


def _sum_over_triples(weights: FloatArray, p: FloatArray, rng: np.random.Generator | None) -> float:
    """``sum_ijk K_ij K_jk K_ki tr(C_i C_j C_k)``, the trace of a matrix.

    With D_y = diag(P[:, y]), G = P P' and K G entry by entry the matrix is the sum over y of
    ``(K D_y)**2 K D_y (1 - 3 D_y) + 3 (K D_y)**2 (K G) D_y``, minus ``(K G)**3``.
    """
    smoothed = weights * (p @ p.T)
    if rng is not None:
        return _trace(lambda vectors: _times_vectors(weights, smoothed, p, vectors), len(p), rng)
    total = -float(np.vdot(smoothed @ smoothed, smoothed))
    for column in p.T:
        once = weights * column
        last = once * (1.0 - 3.0 * column) + 3.0 * smoothed * column
        total += float(np.vdot(once @ once, last.T))
    return total


def _times_vectors(weights: FloatArray, smoothed: FloatArray, p: FloatArray, vectors: FloatArray) -> FloatArray:
    """The matrix times the columns of ``vectors`` (n, m)."""
    product = -(smoothed @ (smoothed @ (smoothed @ vectors)))
    for column in p.T:
        d = column[:, None]
        last = weights @ (d * (1.0 - 3.0 * d) * vectors) + 3.0 * (smoothed @ (d * vectors))
        product += weights @ (d * (weights @ (d * last)))
    return product


def _trace(times: Callable[[FloatArray], FloatArray], n: int, rng: np.random.Generator) -> float:
    """Trace of a matrix whose products with vectors are known (Meyer, Musco, Musco and Woodruff 2021).

    Exact on the subspace that the products span, which has the large eigenvalues; by random signs on the rest.
    """
    basis, _ = np.linalg.qr(times(rng.choice([-1.0, 1.0], size=(n, PROBES))))
    probes = rng.choice([-1.0, 1.0], size=(n, PROBES))
    probes -= basis @ (basis.T @ probes)
    return float(np.vdot(basis, times(basis))) + float(np.vdot(probes, times(probes))) / PROBES
