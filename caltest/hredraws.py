"""Sums of h for many targets of the same predictions: what Monte Carlo needs.

The kernel of the predictions is computed once for all targets, which come as an array (B, n).
"""

from collections.abc import Iterable, Iterator

import numpy as np

from caltest import hstatistics
from caltest._loops.redraws import equal_sums, gram_sums
from caltest._numerics import ranges
from caltest._types import Array, FloatArray
from caltest.hstatistics import block_means, upper_tiles
from caltest.kernels import DeltaKernel, ProductKernel
from caltest.predictions import FinitePredictions, Predictions, Sample

OBSERVATIONS_AT_ONCE = 50_000
"""How many observations of several redraws are worked on together."""


def redrawn_sums(kernel: ProductKernel, predictions: Predictions, targets: Array) -> tuple[FloatArray, FloatArray]:
    """``h_sums`` for many targets of the same predictions: targets (B, n) give pair sums (B,), diagonals (B,).

    Kernel tiles of the predictions are computed once for all B. With finitely many outcomes a redraw costs one
    comparison per pair; otherwise it costs the target kernel and its expectations per pair.
    """
    if isinstance(predictions, FinitePredictions):
        return _redrawn_finite(kernel, predictions, targets, upper_tiles(len(predictions), hstatistics.TILE))
    return _redrawn(kernel, predictions, targets)


def redrawn_block_means(
    kernel: ProductKernel, predictions: Predictions, targets: Array, block_size: int, unbiased: bool
) -> FloatArray:
    """Mean over whole blocks of ``mean_of_pairs``, for targets (B, n): (B,). Time O(n B block_size)."""
    n_blocks = len(predictions) // block_size
    used = n_blocks * block_size
    kept, targets = predictions.take(slice(0, used)), targets[:, :used]
    if not isinstance(kept, FinitePredictions):
        return _stacked_block_means(kernel, kept, targets, block_size, unbiased)
    pairs, diagonal = _redrawn_finite(kernel, kept, targets, block_tiles(used, block_size))
    if unbiased:
        return 2.0 * pairs / (n_blocks * block_size * (block_size - 1))
    return (2.0 * pairs + diagonal) / (n_blocks * block_size**2)


def block_tiles(n: int, block_size: int) -> Iterator[tuple[slice, slice]]:
    """Tiles that cover the pairs i <= j within blocks."""
    for block in ranges(n, block_size):
        for rows, columns in upper_tiles(block_size, hstatistics.TILE):
            yield (
                slice(block.start + rows.start, block.start + rows.stop),
                slice(block.start + columns.start, block.start + columns.stop),
            )


def _stacked_block_means(
    kernel: ProductKernel, predictions: Predictions, targets: Array, block_size: int, unbiased: bool
) -> FloatArray:
    """Block means of a few redraws at a time, as if they were one long sample."""
    n = len(predictions)
    means = []
    for part in ranges(targets.shape[0], max(1, OBSERVATIONS_AT_ONCE // n)):
        repeated = predictions.take(np.tile(np.arange(n), part.stop - part.start))
        blocks = block_means(kernel, Sample(repeated, targets[part].ravel()), block_size, unbiased)
        means.append(blocks.reshape(part.stop - part.start, -1).mean(axis=1))
    return np.concatenate(means)


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


def _redrawn(kernel: ProductKernel, predictions: Predictions, targets: Array) -> tuple[FloatArray, FloatArray]:
    pairs, diagonals = np.zeros(targets.shape[0]), np.zeros(targets.shape[0])
    for rows, columns in upper_tiles(len(predictions), hstatistics.TILE // 2):
        left, right = predictions.take(rows), predictions.take(columns)
        weights = kernel.prediction_kernel.tile(left, right)
        constants = left.expected_kernel2(kernel.target_kernel, right)
        constant = float(np.vdot(weights, constants))
        on_diagonal = rows == columns
        for b, y in enumerate(targets):
            tile = kernel.target_kernel.target_tile(y[rows], y[columns])
            tile -= left.expected_kernel(kernel.target_kernel, y[columns])
            tile -= right.expected_kernel(kernel.target_kernel, y[rows]).T
            total = float(np.vdot(weights, tile)) + constant
            if on_diagonal:
                trace = float(np.vdot(np.diagonal(weights), np.diagonal(tile) + np.diagonal(constants)))
                pairs[b] += (total - trace) / 2.0
                diagonals[b] += trace
            else:
                pairs[b] += total
    return pairs, diagonals


def _redrawn_finite(
    kernel: ProductKernel, predictions: FinitePredictions, targets: Array, tiles: Iterable[tuple[slice, slice]]
) -> tuple[FloatArray, FloatArray]:
    """The sums over the pairs i < j of some tiles, by one comparison per pair and redraw.

    With A the matrix of the target kernel, K that of the predictions and R = K P A over the pairs i != j of the tiles::

        sum_{i<j} h_ij = sum_{i<j} K_ij A[y_i, y_j] - sum_i R[i, y_i] + sum_i R[i] . p_i / 2
    """
    n, k = len(predictions), predictions.n_classes
    gram, probabilities = predictions.gram(kernel.target_kernel), predictions.probabilities
    labels = np.ascontiguousarray(targets.T, dtype=predictions.label_type)
    pairs = np.zeros(targets.shape[0])
    smoothed = np.zeros((n, k))
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
    means = probabilities @ gram
    centred = np.diag(gram) - 2.0 * means + np.einsum("ik,ik->i", means, probabilities)[:, None]
    itself = predictions.take(np.arange(n)[:, None])
    centred *= kernel.prediction_kernel.tile(itself, itself)[:, 0]
    pairs += np.vdot(smoothed, probabilities) / 2.0 - _gathered_sums(smoothed, targets)
    return pairs, _gathered_sums(centred, targets)


def _gathered_sums(values: FloatArray, targets: Array) -> FloatArray:
    """``sum_i values[i, targets[b, i]]`` for each b, without a float for every target."""
    rows = np.arange(values.shape[0])
    parts = ranges(targets.shape[0], max(1, hstatistics.TILE**2 // rows.size))
    return np.concatenate([values[rows, targets[part]].sum(axis=1) for part in parts])
