"""Eigenvalues that make limit laws of sums of h over all pairs."""

from collections.abc import Callable

import numpy as np

from caltest._laws.tails import ChiSquaredSum
from caltest._numerics import check_memory
from caltest._types import FloatArray
from caltest.hstatistics.labels import root_of
from caltest.kernels import PairKernel
from caltest.predictions import Predictions

ALL = 1500
"""Rows up to which all eigenvalues of a matrix are computed, in about a second."""

LARGEST = 100
"""Eigenvalues that are computed of larger matrices; the others enter by their sum and the sum of their squares."""

INSTEAD = "use MonteCarloTest, which needs no matrix of all pairs"


def spectrum(matrix: FloatArray, n_eigenvalues: int | None) -> ChiSquaredSum:
    """``sum_r lambda_r (Z_r**2 - 1)`` of the eigenvalues of a positive semi-definite matrix (n, n).

    Of all of them, or of the largest ones, with ``g (C - m)`` for a chi-squared C with m degrees of freedom in place of
    the others, of which the sum and the sum of squares are known (Chen and Lumley 2019).
    """
    n = len(matrix)
    count = _number(n, n_eigenvalues)
    if count == n:
        values = np.linalg.eigvalsh(matrix)
        return ChiSquaredSum.of(np.where(np.abs(values) > 1e-14 * np.abs(values).max(), values, 0.0))
    values = _largest(lambda vector: matrix @ vector, n, count, "LA")
    mean = float(np.trace(matrix) - values.sum())
    squares = float(np.vdot(matrix, matrix) - values @ values)
    if min(mean, squares) <= 1e-12 * float(values.sum()):
        return ChiSquaredSum.of(values)
    return ChiSquaredSum.of(np.append(values, squares / mean), np.append(np.ones(count), mean**2 / squares))


def conditional_spectrum(kernel: PairKernel, predictions: Predictions, n_eigenvalues: int | None) -> ChiSquaredSum:
    """The law that ``sum_{i != j} h_ij`` has given the predictions if residuals are replaced by normal vectors.

    For one product with the matrix A = R' R of the target kernel, the residual ``R (e_Y - p)`` of an observation has
    the covariance ``C_i = R (diag(p) - p p') R' = B_i B_i'``. With normal vectors of these covariances the sum is
    ``sum_r lambda_r Z_r**2`` of the eigenvalues of the matrix of blocks ``K_ij B_i' B_j``, with K_ii = 0. Their sum is
    0 and the sum of their squares times 2 is the variance of the sum, exactly. A sum of products adds the blocks.

    Of large matrices the eigenvalues of the largest size are taken; the others are replaced by two of them, of both
    signs, as large as the smallest one that is taken and as often as their sum of squares needs.
    """
    blocks, weights = _blocks(kernel, predictions)
    n, rank = len(predictions), blocks[0].shape[2]
    size, count = n * rank, _number(n * rank, n_eigenvalues)

    def times(vector: FloatArray) -> FloatArray:
        total = np.zeros((n, rank))
        for one, weight in zip(blocks, weights, strict=True):
            vectors = (one @ vector.reshape(n, rank, 1))[:, :, 0]
            total += (one.swapaxes(1, 2) @ (weight @ vectors)[:, :, None])[:, :, 0]
        return total.reshape(-1)

    if count == size:
        check_memory(24 * size * size, "the matrix of all residuals", INSTEAD)
        matrix = np.zeros((n, rank, n, rank))
        for one, weight in zip(blocks, weights, strict=True):
            matrix += weight[:, None, :, None] * np.einsum("isr,jst->irjt", one, one, optimize=True)
        values = np.linalg.eigvalsh(matrix.reshape(size, size))
        return ChiSquaredSum.of(np.where(np.abs(values) > 1e-14 * np.abs(values).max(), values, 0.0))
    values = _largest(times, size, count, "LM")
    rest = _square_sum(blocks, weights) - float(values @ values)
    smallest = float(np.abs(values).min())
    if rest <= 1e-12 * float(values @ values) or smallest == 0.0:
        return ChiSquaredSum.of(values)
    often = rest / (2.0 * smallest**2)
    return ChiSquaredSum.of(np.append(values, [smallest, -smallest]), np.append(np.ones(count), [often, often]))


def _blocks(kernel: PairKernel, predictions: Predictions) -> tuple[list[FloatArray], list[FloatArray]]:
    """``B_i`` (n, s, r), with a common r, and K without its diagonal (n, n), of each product."""
    law = predictions.law.finite
    assert law is not None
    n, k = len(law), law.n_classes
    check_memory(24 * n * (n + k * k) * len(kernel.products), "the kernel of all pairs", INSTEAD)
    roots = np.sqrt(law.probabilities)
    # diag(p) - p p' is the square of diag(sqrt p) (I - sqrt(p) sqrt(p)'), whose last factor is a projection.
    projections = np.eye(k) - roots[:, :, None] * roots[:, None, :]
    blocks, weights = [], []
    for one in kernel.products:
        root = root_of(law.gram(one.target_kernel))
        blocks.append((root * roots[:, None, :]) @ projections)
        weight = one.prediction_kernel.tile(predictions, predictions)
        np.fill_diagonal(weight, 0.0)
        weights.append(weight)
    return _compressed(blocks), weights


def _compressed(blocks: list[FloatArray]) -> list[FloatArray]:
    """The same with fewer columns: the right singular vectors of all the blocks of an observation that matter."""
    stacked = np.concatenate(blocks, axis=1)
    _, singular, axes = np.linalg.svd(stacked, full_matrices=False)
    rank = max(1, int(np.count_nonzero(singular > 1e-12 * singular.max(initial=1e-300), axis=1).max()))
    turned = axes[:, :rank].swapaxes(1, 2)
    return [one @ turned for one in blocks]


def _square_sum(blocks: list[FloatArray], weights: list[FloatArray]) -> float:
    """``sum_ij |sum_l K_lij B_li' B_lj|**2``: the sum of the squares of all eigenvalues."""
    total = 0.0
    for one, weight in zip(blocks, weights, strict=True):
        for other, other_weight in zip(blocks, weights, strict=True):
            # tr(B_i' B_j C_j' C_i) is a scalar product of the matrices C_i B_i' and C_j B_j'.
            crossed = (one @ other.swapaxes(1, 2)).reshape(len(one), -1)
            total += float(np.vdot(weight * other_weight, crossed @ crossed.T))
    return total


def _number(size: int, n_eigenvalues: int | None) -> int:
    if n_eigenvalues is None:
        return size if size <= ALL else LARGEST
    return n_eigenvalues if n_eigenvalues < size - 1 else size


def _largest(times: Callable[[FloatArray], FloatArray], size: int, count: int, which: str) -> FloatArray:
    """The eigenvalues of the largest value ("LA") or size ("LM"), by Lanczos' method, from the same start always."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    start = np.random.default_rng(1).standard_normal(size)
    operator = LinearOperator((size, size), matvec=times, dtype=np.float64)
    values: FloatArray = eigsh(operator, k=count, which=which, v0=start, return_eigenvectors=False, tol=1e-6)
    return values
