"""Sums of the centred kernel h over pairs of observations, strip by strip, never as an n x n array."""

from collections.abc import Iterator
from threading import local

import numpy as np

from caltest._basics.numerics import FloatArray, ranges
from caltest._basics.threads import threaded
from caltest.hstatistics.sums.binary_line import Line, lines_and_rest
from caltest.hstatistics.tiles import Place, Tiles, h_tile, sample_for, tiles_of
from caltest.kernels import PairKernel, ProductKernel
from caltest.predictions import Sample

ROWS, COLUMNS = 256, 4096
"""Shape of a tile that is multiplied by weights: 8 MB of float64 for each thread."""

NANOSECONDS = 0.25
"""For each number of each pair, about."""

SMALL_BLOCK = 128
"""Blocks up to this size are summed many at once."""

STRIP = 128
"""Rows of small tiles that are summed together; ``ROWS`` of others."""

PART = 2**18
"""Probabilities in the small blocks that are summed together."""

PREPARED = 2**13
"""Predictions in the large blocks that are prepared together for expectations of a kernel."""


def h_diagonal(kernel: PairKernel, sample: Sample) -> FloatArray:
    """``h`` of every observation with itself, (n,)."""
    size = max(1, 8 * PART // _width(kernel, sample))

    def diagonal(one: ProductKernel) -> FloatArray:
        prepared = sample_for(one, sample)
        singles = (prepared.take(np.arange(part.start, part.stop)[:, None]) for part in ranges(len(sample), size))
        return np.concatenate([h_tile(one, single, single)[:, 0, 0] for single in singles])

    return kernel.sum_of(diagonal)


def _width(kernel: PairKernel, sample: Sample) -> int:
    return max(sample.predictions.law.width(one.target_kernel) for one in kernel.products)


def strips(start: int, stop: int, size: int) -> Iterator[Place]:
    """Rows start..stop-1 in ranges, each with the columns from its first row on: all pairs i <= j, and a few others."""
    for rows in ranges(stop - start, size):
        yield slice(start + rows.start, start + rows.stop), slice(start + rows.start, stop)


def h_sums(kernel: PairKernel, sample: Sample) -> tuple[float, float]:
    """Sum of ``h`` over the pairs i < j, and over the diagonal: time O(n**2), memory O(n k)."""
    n = len(sample)
    pairs, diagonal = 0.0, 0.0
    tiles = tiles_of(kernel, sample)
    size = STRIP if tiles.are_strips else ROWS
    places, total = strips(0, n, size), -(-n // size)
    work = NANOSECONDS * n * n * _width(kernel, sample)
    parts = threaded(tiles.sums, places, total, "kernel of all pairs", work=work, products=tiles.products)
    for one, trace in parts:
        pairs += one
        diagonal += trace
    return pairs, diagonal


def mean_of_pairs(kernel: PairKernel, sample: Sample, unbiased: bool) -> float:
    """Mean of ``h`` over the pairs i < j if ``unbiased``, else over all n**2 pairs."""
    n = len(sample)
    lines, rest = lines_and_rest(kernel, sample.predictions)
    pairs, diagonal = (0.0, 0.0) if rest is None else h_sums(rest, sample)
    for line in lines:
        residuals = line.residuals(sample.targets[None])
        pairs += float(line.pair_sums(residuals)[0])
        diagonal += line.factor * float(np.vdot(residuals, residuals))
    return 2.0 * pairs / (n * (n - 1)) if unbiased else (2.0 * pairs + diagonal) / n**2


def block_means(kernel: PairKernel, sample: Sample, block_size: int, unbiased: bool) -> FloatArray:
    """``mean_of_pairs`` of each of the floor(n / block_size) blocks of consecutive observations.

    The incomplete rest is dropped. Time O(n block_size), memory that of a few blocks.
    """
    n_blocks = len(sample) // block_size
    pairs = _sums_of_blocks(kernel, sample, block_size)
    if unbiased:
        pairs *= 2.0 / (block_size * (block_size - 1))
        return pairs
    diagonal = h_diagonal(kernel, sample.take(slice(0, n_blocks * block_size)))
    return np.asarray((2.0 * pairs + diagonal.reshape(n_blocks, block_size).sum(axis=1)) / block_size**2)


def _sums_of_blocks(kernel: PairKernel, sample: Sample, block_size: int) -> FloatArray:
    """Sum of ``h`` over the pairs i < j of each block: tile by tile for large blocks, many small blocks at once."""
    n_blocks, is_large = len(sample) // block_size, block_size > SMALL_BLOCK
    size = max(1, PREPARED // block_size if is_large else PART // (_width(kernel, sample) * block_size))
    parts = (sample.take(slice(b.start * block_size, b.stop * block_size)) for b in ranges(n_blocks, size))
    if is_large:
        return np.concatenate([_sums_of_large_blocks(kernel, part, block_size) for part in parts])
    blocks = threaded(lambda part: tiles_of(kernel, part).block_sums(block_size), parts, -(-n_blocks // size), "blocks")
    return np.concatenate(list(blocks))


def _sums_of_large_blocks(kernel: PairKernel, sample: Sample, block_size: int) -> FloatArray:
    n, each, tiles = len(sample), -(-block_size // STRIP), tiles_of(kernel, sample)
    places = (place for start in range(0, n, block_size) for place in strips(start, start + block_size, STRIP))
    total = each * n // block_size
    sums = [pairs for pairs, _ in threaded(tiles.sums, places, total, "blocks", products=tiles.products)]
    return np.asarray(np.array(sums).reshape(-1, each).sum(axis=1))


def weighted_sums(kernel: PairKernel, sample: Sample, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``w' H w`` for each column w of the weights (n, B), and ``sum_j h_ij`` for each i: (B,) and (n,).

    Time O(n**2 B) by matrix products, O(n B) for binary predictions with an exponential kernel; memory O(n B).
    """
    lines, rest = lines_and_rest(kernel, sample.predictions)
    n, size = weights.shape
    forms, sums = (np.zeros(size), np.zeros(n)) if rest is None else _weighted_tiles(tiles_of(rest, sample), weights)
    for line in lines:
        residuals = line.residuals(sample.targets[None])
        forms += _weighted_line(line, residuals, weights)
        sums += line.row_sums(residuals[:, 0])
    return forms, sums


def _weighted_line(line: Line, residuals: FloatArray, weights: FloatArray) -> FloatArray:
    n, size = weights.shape

    def forms(part: slice) -> FloatArray:
        weighted = residuals * weights[line.order, part]
        diagonal: FloatArray = np.einsum("ib,ib->b", weighted, weighted)
        return 2.0 * line.pair_sums(weighted) + line.factor * diagonal

    parts = list(ranges(size, max(16, PART // n)))
    return np.concatenate(list(threaded(forms, parts, len(parts), "bootstrap", work=4.0 * n * size)))


def _weighted_tiles(tiles: Tiles, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    n, size = weights.shape
    buffers = local()

    def forms_and_sums(place: Place) -> tuple[Place, FloatArray, FloatArray, FloatArray]:
        rows, columns = place
        h = tiles.tile(place)
        across, down = h.sum(axis=1), h.sum(axis=0)
        if rows.start == columns.start:
            # Of the square on the diagonal only the pairs i < j and half of the diagonal count, as in w' H w / 2.
            square = h[:, : h.shape[0]]
            square[:] = np.triu(square)
            square[np.diag_indices_from(square)] *= 0.5
            down[: h.shape[0]] = 0.0
        if not hasattr(buffers, "product"):
            buffers.product = np.empty((ROWS, size))
        product = np.matmul(h, weights[columns], out=buffers.product[: h.shape[0]])
        return place, np.einsum("ib,ib->b", product, weights[rows]), across, down

    places = [
        (rows, slice(rows.start + part.start, rows.start + part.stop))
        for rows in ranges(n, ROWS)
        for part in ranges(n - rows.start, COLUMNS)
    ]
    forms, sums = np.zeros(size), np.zeros(n)
    parts = threaded(forms_and_sums, places, len(places), "bootstrap", products=True)
    for (rows, columns), part, across, down in parts:
        forms += 2.0 * part
        sums[rows] += across
        sums[columns] += down
    return forms, sums


def deviations(kernel: PairKernel, sample: Sample, locations: Sample) -> FloatArray:
    """``k_P(p, t) [k_Y(y, u) - E k_Y(Z, u)]`` at test locations (t, u): (n, J) (Widmann et al. 2021, app. C.2)."""

    def of_product(one: ProductKernel) -> FloatArray:
        law = sample.predictions.law.prepared(one.target_kernel)
        deviation = law.target_tile(one.target_kernel, sample.targets, locations.targets)
        deviation -= law.expected_kernel(one.target_kernel, locations.targets)
        deviation *= one.prediction_kernel.tile(sample.predictions, locations.predictions)
        return deviation

    return kernel.sum_of(of_product)
