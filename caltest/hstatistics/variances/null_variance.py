"""Variances of sums of h if the predictions are calibrated: known given them, or from redraws of the targets.

Estimated variances fail where few outcomes can surprise: as long as no rare event has occurred, h looks as if it hardly
varied. The predictions say how much it does: the terms ``h_ij`` of different pairs are uncorrelated given them, so that
the variance of a sum over pairs is the sum of ``E h_ij**2 = K_ij**2 tr(C_i C_j)`` (see ``moments``).
"""

import numpy as np

from caltest._basics.numerics import FloatArray, IntArray, ranges, upper_tiles
from caltest._basics.threads import streams
from caltest.hstatistics.pair_tiles import TILE, Places, tiles_of_blocks, total_of_tiles
from caltest.hstatistics.redraws.within_clusters import Clusters
from caltest.hstatistics.sums.binary_line import on_a_line
from caltest.hstatistics.sums.pairs import block_means
from caltest.hstatistics.tiles import Place, tiles_of
from caltest.hstatistics.variances.moments import known_squares
from caltest.kernels import PairKernel, ProductKernel
from caltest.predictions import Predictions, Sample

REDRAWN = 2000
"""Targets, or blocks of them, that are redrawn at least where there is no formula."""

PART = 2**18
"""Numbers of the small blocks whose pairs are summed together."""


def has_formula(kernel: PairKernel, predictions: Predictions) -> bool:
    """Whether the variance is known without redraws."""
    single = kernel.single
    return single is not None and predictions.law.has_traces(single.target_kernel)


def variance_if_calibrated(kernel: PairKernel, predictions: Predictions, rng: np.random.Generator) -> float | None:
    """Variance of the unbiased SKCE of all pairs given the predictions; None if no targets can be drawn from them.

    By a formula for product kernels and finitely many outcomes, counts, and normal predictions with a Gaussian kernel
    of targets, in time O(n) for binary predictions with an exponential kernel; else from the squares of h for redrawn
    targets. Time O(n**2 k).
    """
    n = len(predictions)
    line = None if kernel.single is None else on_a_line(kernel.single, predictions)
    squares: float | None
    if line is not None:
        variances = (line.probabilities * (1.0 - line.probabilities))[:, None]
        squares = float(line.of_squares().pair_sums(variances)[0])
    else:
        squares = _squares(kernel, predictions, np.array([n]), rng)
    return None if squares is None else 4.0 * squares / (float(n) * (n - 1)) ** 2


def variance_between_clusters(
    kernel: PairKernel, clusters: Clusters, predictions: Predictions, rng: np.random.Generator
) -> float | None:
    """Variance of ``ClusterSKCE`` given the predictions, if outcomes within clusters are independent too."""
    n = len(predictions)
    whole = variance_if_calibrated(kernel, predictions, rng)
    if whole is None:
        return None
    between = whole * (n * (n - 1) / 2.0) ** 2
    for part, sign in clusters.terms:
        order, sizes = part.blocks
        within = _squares(kernel, predictions.take(order), sizes, rng) if sizes.size else 0.0
        if within is None:
            return None
        between -= sign * within
    return max(0.0, between) / float(clusters.n_pairs_between) ** 2


def variance_of_blocks(
    kernel: PairKernel, predictions: Predictions, block_size: int, rng: np.random.Generator
) -> float | None:
    """Sum over the blocks of ``BlockSKCE`` of their variances given the predictions; None as above. Time O(n b k)."""
    n_blocks = len(predictions) // block_size
    predictions = predictions.take(slice(0, n_blocks * block_size))
    if not has_formula(kernel, predictions):
        if not predictions.can_be_drawn:
            return None
        draws = predictions.with_redraws(None, streams(rng, -(-REDRAWN // n_blocks)))
        means = [block_means(kernel, Sample(predictions, one), block_size, True) for one in draws]
        return float(sum(one @ one for one in means)) / len(means)
    assert kernel.single is not None
    width = block_size + predictions.law.width(kernel.single.target_kernel)
    parts = ranges(n_blocks, max(1, PART // (block_size * width)))
    pairs = block_size * (block_size - 1) / 2.0
    return sum(_squares_of_blocks(kernel.single, predictions, part, block_size) for part in parts) / pairs**2


def _squares_of_blocks(kernel: ProductKernel, predictions: Predictions, part: slice, block_size: int) -> float:
    """``sum E h_ij**2`` over the pairs i < j within some blocks."""
    rows = predictions.take(slice(part.start * block_size, part.stop * block_size))
    if block_size > TILE:
        return _known_squares(kernel, rows, upper_tiles(len(rows), TILE))
    traces = rows.law.traces(kernel.target_kernel)
    assert traces is not None
    index = np.arange(len(rows)).reshape(-1, block_size)
    blocks = rows.take(index)
    squares = np.square(kernel.prediction_kernel.tile(blocks, blocks)) * traces(index, index)
    return float(np.triu(squares, k=1).sum())


def _squares(kernel: PairKernel, predictions: Predictions, sizes: IntArray, rng: np.random.Generator) -> float | None:
    """``sum E h_ij**2`` over the pairs i < j within blocks of these sizes."""
    if has_formula(kernel, predictions):
        assert kernel.single is not None
        return _known_squares(kernel.single, predictions, tiles_of_blocks(sizes, TILE))
    if not predictions.can_be_drawn:
        return None
    draws = predictions.with_redraws(None, streams(rng, -(-REDRAWN // len(predictions))))
    return float(np.mean([_observed_squares(kernel, Sample(predictions, one), sizes) for one in draws]))


def _known_squares(kernel: ProductKernel, predictions: Predictions, places: Places) -> float:
    squares = known_squares([kernel], predictions, places)
    assert squares is not None
    return float(squares[0])


def _observed_squares(kernel: PairKernel, sample: Sample, sizes: IntArray) -> float:
    tiles = tiles_of(kernel, sample)

    def squares(place: Place) -> FloatArray:
        tile = np.square(tiles.tile(place))
        return np.array([np.triu(tile, k=1).sum() if place[0] == place[1] else tile.sum()])

    return float(total_of_tiles(squares, tiles_of_blocks(sizes, TILE))[0])
