"""Tiles that cover all pairs of observations, and the kernels of predictions on them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from caltest._basics.numerics import FloatArray, IntArray, upper_tiles
from caltest._basics.threads import threaded
from caltest.hstatistics.tiles import Place
from caltest.kernels import PredictionKernel
from caltest.kernels.base import Distances
from caltest.predictions import Predictions

Places = tuple[Iterable[Place], int]
"""Places of tiles, and how many there are."""

TileSums = Callable[[Place], FloatArray]
"""Sums over a tile of pairs."""

TILE = 384
"""Rows and columns of a tile: 1.2 MB of float64 for each kernel, and a few tiles at a time for each thread.

Larger ones make longer lists of changed labels, which are faster, but come in fresh memory, which is slow.
"""


NUMBERS_TILE = 128
"""The same for targets that are numbers or vectors, of which loops keep all redraws of a row of a tile in the cache."""


def tile_size(predictions: Predictions) -> int:
    """Rows and columns of the tiles that redraws are summed over."""
    return TILE if predictions.law.discrete else NUMBERS_TILE


def tiles_of_blocks(sizes: IntArray, tile: int) -> Places:
    """Tiles that cover the pairs i <= j within blocks of these sizes, which follow each other."""
    strips, starts = -(-sizes // tile), np.cumsum(sizes) - sizes
    places = (
        (slice(start + rows.start, start + rows.stop), slice(start + columns.start, start + columns.stop))
        for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)
        for rows, columns in upper_tiles(size, tile)[0]
    )
    return places, int((strips * (strips + 1) // 2).sum())


def total_of_tiles(tile_sums: TileSums, places: Places) -> FloatArray:
    """Sum over all places, in their order."""
    sums = threaded(tile_sums, *places, "redraws", products=True)
    total = next(sums).copy()
    for one in sums:
        total += one
    return total


@dataclass(frozen=True, eq=False)
class ObservationKernel:
    """``k_P(p_i, p_j) (r_i . r_j)`` with factors r of the observations, (n, R): weights, or memberships of groups."""

    kernel: PredictionKernel
    factors: FloatArray


Kernels = Sequence[PredictionKernel | ObservationKernel]
"""What is summed over the pairs of one sample, all of them in one pass."""


def kernel_tiles(kernels: Kernels, predictions: Predictions, place: Place) -> FloatArray:
    """Tiles of the kernels of predictions, (L, r, c); each metric is computed once."""
    rows, columns = place
    left, right = predictions.take(rows), predictions.take(columns)
    distances: Distances = {}
    tiles = np.empty((len(kernels), len(left), len(right)))
    for one, owner in enumerate(kernels):
        kernel = owner.kernel if isinstance(owner, ObservationKernel) else owner
        kernel.fill(tiles[one], left, right, distances)
        if isinstance(owner, ObservationKernel):
            tiles[one] *= owner.factors[rows] @ owner.factors[columns].T
    return tiles


def upper_kernel_tiles(kernels: Kernels, predictions: Predictions, place: Place) -> FloatArray:
    """``kernel_tiles`` of the pairs i < j: tiles on the diagonal are 0 on it and below."""
    tiles = kernel_tiles(kernels, predictions, place)
    return np.triu(tiles, k=1) if place[0] == place[1] else tiles
