"""The centred kernel h and its sums: the only place where h is formed, tile by tile, never as an n x n array.

For a product kernel and observations (p, y), (p', y') (Widmann et al. 2021, section 3.2)::

    h = k_P(p, p') [ k_Y(y, y') - E k_Y(Z, y') - E k_Y(y, Z') + E k_Y(Z, Z') ],    Z ~ p, Z' ~ p'

If the predictions are calibrated, E[h | p, p', y] = 0.
"""

from collections.abc import Iterator

import numpy as np

from caltest._loops.blocks import block_sums
from caltest._numerics import ranges
from caltest._threads import threaded
from caltest._types import Array, FloatArray
from caltest.hlines import on_a_line
from caltest.kernels import ProductKernel, RadialKernel
from caltest.predictions import FinitePredictions, Sample

TILE = 512
"""Rows and columns of a tile: 2 MB of float64, and a few tiles at a time for each thread."""

SMALL_BLOCK = 128
"""Blocks up to this size are summed many at once."""

PART = TILE * TILE
"""Probabilities in the small blocks that are summed together."""


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


def n_upper_tiles(n: int, tile: int) -> int:
    """How many tiles ``upper_tiles`` yields."""
    strips = -(-n // tile)
    return strips * (strips + 1) // 2


def h_sums(kernel: ProductKernel, sample: Sample, tile: int = TILE) -> tuple[float, float]:
    """Sum of ``h`` over the pairs i < j, and over the diagonal. Time O(n**2), memory O(tile**2) for each thread."""

    n = len(sample)
    tiles = upper_tiles(n, tile), n_upper_tiles(n, tile)
    pairs, diagonal = 0.0, 0.0
    for one, trace in threaded(lambda place: _tile_sums(kernel, sample, *place), *tiles, "kernel of all pairs"):
        pairs += one
        diagonal += trace
    return pairs, diagonal


def _tile_sums(kernel: ProductKernel, sample: Sample, rows: slice, columns: slice) -> tuple[float, float]:
    """Sums of ``h`` in a tile over the pairs i < j, and over the diagonal."""
    h = h_tile(kernel, sample.take(rows), sample.take(columns))
    if rows != columns:
        return float(h.sum()), 0.0
    trace = float(np.trace(h))
    return (float(h.sum()) - trace) / 2.0, trace


def mean_of_pairs(kernel: ProductKernel, sample: Sample, unbiased: bool) -> float:
    """Mean of ``h`` over the pairs i < j if ``unbiased``, else over all n**2 pairs."""
    n = len(sample)
    line = on_a_line(kernel, sample.predictions)
    if line is None:
        pairs, diagonal = h_sums(kernel, sample)
    else:
        residuals = line.residuals(sample.targets[None])
        pairs, diagonal = float(line.pair_sums(residuals)[0]), line.factor * float(np.vdot(residuals, residuals))
    return 2.0 * pairs / (n * (n - 1)) if unbiased else (2.0 * pairs + diagonal) / n**2


def block_means(kernel: ProductKernel, sample: Sample, block_size: int, unbiased: bool) -> FloatArray:
    """``mean_of_pairs`` of each of the floor(n / block_size) blocks of consecutive observations.

    The incomplete rest is dropped. Time O(n block_size), memory that of a few blocks.
    """
    n_blocks = len(sample) // block_size
    pairs = _sums_of_blocks(kernel, sample, block_size)
    if unbiased:
        return 2.0 * pairs / (block_size * (block_size - 1))
    diagonal = h_diagonal(kernel, sample.take(slice(0, n_blocks * block_size)))
    return (2.0 * pairs + diagonal.reshape(n_blocks, block_size).sum(axis=1)) / block_size**2


def _sums_of_blocks(kernel: ProductKernel, sample: Sample, block_size: int) -> FloatArray:
    """Sum of ``h`` over the pairs i < j of each block: tile by tile for large blocks, many small blocks at once."""
    n_blocks = len(sample) // block_size
    if block_size > SMALL_BLOCK:
        n_tiles = n_upper_tiles(block_size, TILE)
        tiles = block_tiles(n_blocks * block_size, block_size)
        sums = threaded(lambda place: _tile_sums(kernel, sample, *place)[0], tiles, n_blocks * n_tiles, "blocks")
        return np.fromiter(sums, float).reshape(n_blocks, n_tiles).sum(axis=1)
    width = sample.predictions.n_classes if isinstance(sample.predictions, FinitePredictions) else 8
    size = max(1, PART // (width * block_size))
    parts = (sample.take(slice(b.start * block_size, b.stop * block_size)) for b in ranges(n_blocks, size))
    sums = threaded(lambda part: _small_blocks(kernel, part, block_size), parts, -(-n_blocks // size), "blocks")
    return np.concatenate(list(sums))


def _small_blocks(kernel: ProductKernel, sample: Sample, block_size: int) -> FloatArray:
    predictions, metric_kernel = sample.predictions, kernel.prediction_kernel
    if isinstance(predictions, FinitePredictions) and isinstance(metric_kernel, RadialKernel):
        metric = metric_kernel.metric
        residuals = predictions.residuals(sample.targets)
        return block_sums(
            np.ascontiguousarray(predictions.embedding(metric)),
            metric.kind,
            metric.scale,
            metric.root,
            metric_kernel.power,
            metric_kernel.inverse_width,
            predictions.times_gram(residuals, kernel.target_kernel),
            residuals,
            block_size,
        )
    index = np.arange(len(sample)).reshape(-1, block_size)
    pairs = np.zeros(index.shape[0])
    for first in range(block_size - 1):
        rows, columns = sample.take(index[:, first : first + 1]), sample.take(index[:, first + 1 :])
        pairs += h_tile(kernel, rows, columns).sum(axis=(1, 2))
    return pairs


def block_tiles(n: int, block_size: int) -> Iterator[tuple[slice, slice]]:
    """Tiles that cover the pairs i <= j within blocks."""
    for block in ranges(n, block_size):
        for rows, columns in upper_tiles(block_size, TILE):
            yield (
                slice(block.start + rows.start, block.start + rows.stop),
                slice(block.start + columns.start, block.start + columns.stop),
            )


def quadratic_forms(kernel: ProductKernel, sample: Sample, weights: FloatArray) -> FloatArray:
    """``w' H w`` for each column w of the weights (n, B). Time O(n**2 B) by matrix products, memory O(n B)."""
    n = len(sample)
    line = on_a_line(kernel, sample.predictions)
    if line is not None:
        residuals = line.residuals(sample.targets[None]) * weights[line.order]
        return 2.0 * line.pair_sums(residuals) + line.factor * np.einsum("ib,ib->b", residuals, residuals)
    forms = np.zeros(weights.shape[1])

    def tile(place: tuple[slice, slice]) -> tuple[slice, slice, FloatArray]:
        rows, columns = place
        return rows, columns, h_tile(kernel, sample.take(rows), sample.take(columns))

    tiles = threaded(tile, upper_tiles(n, TILE), n_upper_tiles(n, TILE), "bootstrap")
    for rows, columns, h in tiles:
        part = np.einsum("ib,ib->b", h @ weights[columns], weights[rows])
        forms += part if rows == columns else 2.0 * part
    return forms


def row_sums(kernel: ProductKernel, sample: Sample) -> FloatArray:
    """``sum_j h_ij``, (n,)."""
    n = len(sample)
    line = on_a_line(kernel, sample.predictions)
    if line is not None:
        return line.row_sums(line.residuals(sample.targets[None])[:, 0])
    sums = np.zeros(n)

    def tile_sums(place: tuple[slice, slice]) -> tuple[slice, FloatArray, slice, FloatArray]:
        rows, columns = place
        h = h_tile(kernel, sample.take(rows), sample.take(columns))
        return rows, h.sum(axis=1), columns, h.sum(axis=0)

    tiles = threaded(tile_sums, upper_tiles(n, TILE), n_upper_tiles(n, TILE), "kernel of all pairs")
    for rows, across, columns, down in tiles:
        sums[rows] += across
        if rows != columns:
            sums[columns] += down
    return sums


def deviations(kernel: ProductKernel, sample: Sample, locations: Sample) -> FloatArray:
    """``k_P(p, t) [k_Y(y, u) - E k_Y(Z, u)]`` at test locations (t, u): (n, J) (Widmann et al. 2021, app. C.2)."""
    predictions = sample.predictions
    deviation = kernel.target_kernel.target_tile(sample.targets, locations.targets)
    deviation -= predictions.expected_kernel(kernel.target_kernel, locations.targets)
    deviation *= kernel.prediction_kernel.tile(predictions, locations.predictions)
    return deviation
