"""The centred kernel h and its sums: the only place where h is formed, tile by tile, never as an n x n array.

For a product kernel and observations (p, y), (p', y') (Widmann et al. 2021, section 3.2)::

    h = k_P(p, p') [ k_Y(y, y') - E k_Y(Z, y') - E k_Y(y, Z') + E k_Y(Z, Z') ],    Z ~ p, Z' ~ p'

If the predictions are calibrated, E[h | p, p', y] = 0.
"""

from collections.abc import Iterator

import numpy as np

from caltest._numerics import ranges
from caltest._types import Array, FloatArray
from caltest.kernels import ProductKernel
from caltest.predictions import Sample

TILE = 512
"""Rows and columns of a tile: 2 MB of float64, and a few tiles at a time."""


def h_tile(kernel: ProductKernel, rows: Sample, columns: Sample) -> FloatArray:
    """``h`` between all rows (..., r) and columns (..., c), of shape (..., r, c)."""
    tile = rows.predictions.centred_kernel(kernel.target_kernel, rows.targets, columns.predictions, columns.targets)
    tile *= kernel.prediction_kernel.tile(rows.predictions, columns.predictions)
    return tile


def h_diagonal(kernel: ProductKernel, sample: Sample) -> FloatArray:
    """``h`` of every observation with itself, (n,)."""
    return np.concatenate([_diagonal(kernel, sample.take(part)) for part in ranges(len(sample), TILE * TILE)])


def _diagonal(kernel: ProductKernel, sample: Sample) -> FloatArray:
    single = sample.take(np.arange(len(sample))[:, None])
    return h_tile(kernel, single, single)[:, 0, 0]


def upper_tiles(n: int, tile: int) -> Iterator[tuple[slice, slice]]:
    """Row and column ranges that cover the pairs i <= j: tiles on the diagonal come whole, none lies below it."""
    for rows in ranges(n, tile):
        for columns in ranges(n, tile):
            if columns.start >= rows.start:
                yield rows, columns


def h_sums(kernel: ProductKernel, sample: Sample, tile: int = TILE) -> tuple[float, float]:
    """Sum of ``h`` over the pairs i < j, and over the diagonal. Time O(n**2), memory O(tile**2)."""
    pairs, diagonal = 0.0, 0.0
    for rows, columns in upper_tiles(len(sample), tile):
        h = h_tile(kernel, sample.take(rows), sample.take(columns))
        if rows == columns:
            trace = float(np.trace(h))
            pairs += (float(h.sum()) - trace) / 2.0
            diagonal += trace
        else:
            pairs += float(h.sum())
    return pairs, diagonal


def mean_of_pairs(kernel: ProductKernel, sample: Sample, unbiased: bool) -> float:
    """Mean of ``h`` over the pairs i < j if ``unbiased``, else over all n**2 pairs."""
    n = len(sample)
    pairs, diagonal = h_sums(kernel, sample)
    return 2.0 * pairs / (n * (n - 1)) if unbiased else (2.0 * pairs + diagonal) / n**2


def block_means(kernel: ProductKernel, sample: Sample, block_size: int, unbiased: bool) -> FloatArray:
    """``mean_of_pairs`` of each of the floor(n / block_size) blocks of consecutive observations.

    The incomplete rest is dropped. Time O(n block_size).
    """
    n_blocks = len(sample) // block_size
    if block_size > TILE // 8:
        blocks = (sample.take(slice(b * block_size, (b + 1) * block_size)) for b in range(n_blocks))
        return np.array([mean_of_pairs(kernel, block, unbiased) for block in blocks])
    index = np.arange(n_blocks * block_size).reshape(n_blocks, block_size)
    size = max(1, TILE * TILE // block_size)
    return np.concatenate([_stacked_means(kernel, sample, index[part], unbiased) for part in ranges(n_blocks, size)])


def _stacked_means(kernel: ProductKernel, sample: Sample, index: Array, unbiased: bool) -> FloatArray:
    """Means of blocks that are the rows of an index array: one stack of tiles for each first partner of a pair."""
    block_size = index.shape[1]
    pairs = np.zeros(index.shape[0])
    for first in range(block_size - 1):
        rows, columns = sample.take(index[:, first : first + 1]), sample.take(index[:, first + 1 :])
        pairs += h_tile(kernel, rows, columns).sum(axis=(1, 2))
    if not unbiased:
        pairs += _diagonal(kernel, sample.take(index.ravel())).reshape(index.shape).sum(axis=1) / 2.0
    pairs /= block_size * (block_size - 1) / 2.0 if unbiased else block_size**2 / 2.0
    return pairs


def quadratic_forms(kernel: ProductKernel, sample: Sample, weights: FloatArray) -> FloatArray:
    """``w' H w`` for each column w of the weights (n, B). Time O(n**2 B) by matrix products, memory O(n B)."""
    forms = np.zeros(weights.shape[1])
    for rows, columns in upper_tiles(len(sample), TILE):
        h = h_tile(kernel, sample.take(rows), sample.take(columns))
        part = np.einsum("ib,ib->b", h @ weights[columns], weights[rows])
        forms += part if rows == columns else 2.0 * part
    return forms


def row_sums(kernel: ProductKernel, sample: Sample) -> FloatArray:
    """``sum_j h_ij``, (n,)."""
    sums = np.zeros(len(sample))
    for rows, columns in upper_tiles(len(sample), TILE):
        h = h_tile(kernel, sample.take(rows), sample.take(columns))
        sums[rows] += h.sum(axis=1)
        if rows != columns:
            sums[columns] += h.sum(axis=0)
    return sums


def deviations(kernel: ProductKernel, sample: Sample, locations: Sample) -> FloatArray:
    """``k_P(p, t) [k_Y(y, u) - E k_Y(Z, u)]`` at test locations (t, u): (n, J) (Widmann et al. 2021, app. C.2)."""
    predictions = sample.predictions
    deviation = kernel.target_kernel.target_tile(sample.targets, locations.targets)
    deviation -= predictions.expected_kernel(kernel.target_kernel, locations.targets)
    deviation *= kernel.prediction_kernel.tile(predictions, locations.predictions)
    return deviation
