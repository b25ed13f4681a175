"""Sums of h for many targets of the same predictions: what Monte Carlo needs.

The kernel of the predictions is computed once for all targets, which come as an array (B, n).
"""

from collections.abc import Iterable, Iterator

import numpy as np

from caltest import hstatistics
from caltest._loops.gaussian import smoothed_gaussian_sums
from caltest._loops.redraws import equal_sums, gram_sums
from caltest._numerics import ranges
from caltest._types import Array, FloatArray
from caltest.hstatistics import h_diagonal, upper_tiles
from caltest.kernels import DeltaKernel, GaussianKernel, ProductKernel
from caltest.predictions import FinitePredictions, Normal, Predictions, Sample

Tiles = Iterable[tuple[slice, slice]]


def redrawn_means(kernel: ProductKernel, predictions: Predictions, targets: Array, unbiased: bool) -> FloatArray:
    """``mean_of_pairs`` for each of the targets (B, n), (B,)."""
    n = len(predictions)
    pairs = _pair_sums(kernel, predictions, targets, upper_tiles(n, hstatistics.TILE))
    if unbiased:
        return 2.0 * pairs / (n * (n - 1))
    return (2.0 * pairs + _diagonal_sums(kernel, predictions, targets)) / n**2


def redrawn_block_means(
    kernel: ProductKernel, predictions: Predictions, targets: Array, block_size: int, unbiased: bool
) -> FloatArray:
    """Mean of ``mean_of_pairs`` over whole blocks, for each of the targets (B, n), (B,)."""
    n_blocks = len(predictions) // block_size
    used = n_blocks * block_size
    kept, targets = predictions.take(slice(0, used)), targets[:, :used]
    pairs = _pair_sums(kernel, kept, targets, block_tiles(used, block_size))
    if unbiased:
        return 2.0 * pairs / (n_blocks * block_size * (block_size - 1))
    return (2.0 * pairs + _diagonal_sums(kernel, kept, targets)) / (n_blocks * block_size**2)


def block_tiles(n: int, block_size: int) -> Iterator[tuple[slice, slice]]:
    """Tiles that cover the pairs i <= j within blocks."""
    for block in ranges(n, block_size):
        for rows, columns in upper_tiles(block_size, hstatistics.TILE):
            yield (
                slice(block.start + rows.start, block.start + rows.stop),
                slice(block.start + columns.start, block.start + columns.stop),
            )


def redrawn_deviation_means(
    kernel: ProductKernel, predictions: Predictions, targets: Array, locations: Sample
) -> FloatArray:
    """Mean deviations at J test locations, for targets (B, n): (B, J). Time O(n J B)."""
    weights = kernel.prediction_kernel.tile(predictions, locations.predictions) / len(predictions)
    expected = predictions.expected_kernel(kernel.target_kernel, locations.targets)
    constants = np.einsum("ij,ij->j", weights, expected)
    sums = [np.einsum("ij,ij->j", weights, kernel.target_kernel.target_tile(y, locations.targets)) for y in targets]
    means: FloatArray = np.stack(sums) - constants
    return means


def _pair_sums(kernel: ProductKernel, predictions: Predictions, targets: Array, tiles: Tiles) -> FloatArray:
    """``sum_{i<j} h_ij`` over some tiles, for each of the targets."""
    if isinstance(predictions, FinitePredictions):
        return _pair_sums_finite(kernel, predictions, targets, tiles)
    if isinstance(predictions, Normal) and isinstance(kernel.target_kernel, GaussianKernel):
        return _pair_sums_normal(kernel, kernel.target_kernel, predictions, targets, tiles)
    return _pair_sums_one_by_one(kernel, predictions, targets, tiles)


def _pair_sums_finite(
    kernel: ProductKernel, predictions: FinitePredictions, targets: Array, tiles: Tiles
) -> FloatArray:
    """One comparison per pair and redraw.

    With A the matrix of the target kernel, K that of the predictions and R = K P A over the pairs i != j of the tiles::

        sum_{i<j} h_ij = sum_{i<j} K_ij A[y_i, y_j] - sum_i R[i, y_i] + sum_i R[i] . p_i / 2
    """
    gram, probabilities = predictions.gram(kernel.target_kernel), predictions.probabilities
    labels = np.ascontiguousarray(targets.T, dtype=predictions.label_type)
    pairs, smoothed = np.zeros(targets.shape[0]), np.zeros(probabilities.shape)
    for rows, columns in tiles:
        tile = kernel.prediction_kernel.tile(predictions.take(rows), predictions.take(columns))
        on_diagonal = rows == columns
        if isinstance(kernel.target_kernel, DeltaKernel):
            pairs += equal_sums(tile, labels[rows], labels[columns], on_diagonal)
        else:
            pairs += gram_sums(tile, gram, labels[rows], labels[columns], on_diagonal)
        if on_diagonal:
            np.fill_diagonal(tile, 0.0)
        else:
            smoothed[columns] += tile.T @ probabilities[rows]
        smoothed[rows] += tile @ probabilities[columns]
    smoothed = smoothed @ gram
    pairs += np.vdot(smoothed, probabilities) / 2.0 - _gathered_sums(smoothed, targets)
    return pairs


def _pair_sums_normal(
    kernel: ProductKernel, gaussian: GaussianKernel, predictions: Normal, targets: Array, tiles: Tiles
) -> FloatArray:
    """Three Gaussians per pair and redraw, fused into one pass."""
    means, precision = predictions.mean, 1.0 / gaussian.width
    precisions = 1.0 / np.hypot(predictions.scale, gaussian.width)
    y = np.ascontiguousarray(targets.T, dtype=np.float64)
    pairs = np.zeros(targets.shape[0])
    for rows, columns in tiles:
        left, right = predictions.take(rows), predictions.take(columns)
        tile = kernel.prediction_kernel.tile(left, right)
        on_diagonal = rows == columns
        one, two = (means[rows], precisions[rows]), (means[columns], precisions[columns])
        pairs += smoothed_gaussian_sums(tile, precision, y[rows], y[columns], *one, *two, on_diagonal)
        constants = tile * left.expected_kernel2(gaussian, right)
        pairs += np.triu(constants, k=1).sum() if on_diagonal else constants.sum()
    return pairs


def _pair_sums_one_by_one(kernel: ProductKernel, predictions: Predictions, targets: Array, tiles: Tiles) -> FloatArray:
    """Redraw by redraw, for families without a faster way."""
    pairs = np.zeros(targets.shape[0])
    for rows, columns in tiles:
        left, right = predictions.take(rows), predictions.take(columns)
        weights = kernel.prediction_kernel.tile(left, right)
        if rows == columns:
            weights = np.triu(weights, k=1)
        constant = float(np.vdot(weights, left.expected_kernel2(kernel.target_kernel, right)))
        for b, y in enumerate(targets):
            tile = kernel.target_kernel.target_tile(y[rows], y[columns])
            tile -= left.expected_kernel(kernel.target_kernel, y[columns])
            tile -= right.expected_kernel(kernel.target_kernel, y[rows]).T
            pairs[b] += float(np.vdot(weights, tile)) + constant
    return pairs


def _diagonal_sums(kernel: ProductKernel, predictions: Predictions, targets: Array) -> FloatArray:
    """``sum_i h_ii`` for each of the targets."""
    if not isinstance(predictions, FinitePredictions):
        return np.array([h_diagonal(kernel, Sample(predictions, y)).sum() for y in targets])
    gram, probabilities = predictions.gram(kernel.target_kernel), predictions.probabilities
    means = probabilities @ gram
    centred = np.diag(gram) - 2.0 * means + np.einsum("ik,ik->i", means, probabilities)[:, None]
    itself = predictions.take(np.arange(len(predictions))[:, None])
    centred *= kernel.prediction_kernel.tile(itself, itself)[:, 0]
    return _gathered_sums(centred, targets)


def _gathered_sums(values: FloatArray, targets: Array) -> FloatArray:
    """``sum_i values[i, targets[b, i]]`` for each b, without a float for every target."""
    rows = np.arange(values.shape[0])
    parts = ranges(targets.shape[0], max(1, hstatistics.TILE**2 // rows.size))
    return np.concatenate([values[rows, targets[part]].sum(axis=1) for part in parts])
