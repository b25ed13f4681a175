"""Sums of h for many targets of the same predictions: what Monte Carlo needs.

The kernel of the predictions is computed once for all targets, which come as an array (B, n), and several kernels that
differ in their predictions' part are summed in the same pass.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from caltest._loops import redraws
from caltest._loops.gaussian import smoothed_gaussian_sums
from caltest._numerics import ranges
from caltest._threads import threaded
from caltest._types import Array, FloatArray, IntArray
from caltest.hlines import Line, on_a_line
from caltest.hstatistics import h_diagonal
from caltest.htiles import Place
from caltest.kernels import (
    DeltaKernel,
    GaussianKernel,
    Metric,
    PairKernel,
    PredictionKernel,
    ProductKernel,
    RadialKernel,
    TargetKernel,
)
from caltest.predictions import CountPredictions, FinitePredictions, Normal, Predictions, Sample

Places = tuple[Iterable[Place], int]
"""Places of tiles, and how many there are."""

TILE = 384
"""Rows and columns of a tile: 1.2 MB of float64 for each kernel, and a few tiles at a time for each thread.

Larger ones make longer lists of changed labels, which are faster, but come in fresh memory, which is slow.
"""

LABELS_AT_ONCE = 2**18
"""Labels turned into numbers together."""


def redrawn_means(
    kernels: Sequence[PairKernel], predictions: Predictions, targets: Array, unbiased: bool
) -> FloatArray:
    """``mean_of_pairs`` for each of the kernels and each of the targets (B, n): (L, B).

    All kernels have the same target kernel. Time O(n**2) for the kernels and, with classes, O(n**2) for the pairs of
    redrawn labels that differ from the most probable class and agree with each other; O(n B) for binary predictions
    with an exponential kernel. Memory O(n B) labels of one byte.
    """
    if any(len(kernel.products) > 1 for kernel in kernels):
        each = [
            [redrawn_means([product], predictions, targets, unbiased)[0] for product in kernel.products]
            for kernel in kernels
        ]
        return np.array([np.sum(means, axis=0) for means in each])
    return _redrawn_means([kernel.products[0] for kernel in kernels], predictions, targets, unbiased)


def _redrawn_means(
    kernels: Sequence[ProductKernel], predictions: Predictions, targets: Array, unbiased: bool
) -> FloatArray:
    n = len(predictions)
    lines = [on_a_line(kernel, predictions) for kernel in kernels]
    pairs = np.empty((len(kernels), targets.shape[0]))
    rest = [one for one, line in enumerate(lines) if line is None]
    for one, line in enumerate(lines):
        if line is not None:
            pairs[one] = _pair_sums_on_a_line(line, targets)
    if rest:
        places = upper_tiles(n, TILE), n_upper_tiles(n, TILE)
        pairs[rest] = pair_sums([kernels[one] for one in rest], predictions, targets, places)
    if unbiased:
        pairs *= 2.0 / (n * (n - 1))
        return pairs
    diagonals = np.stack([_diagonal_sums(kernel, predictions, targets) for kernel in kernels])
    return np.asarray((2.0 * pairs + diagonals) / n**2)


def redrawn_block_means(
    kernel: PairKernel, predictions: Predictions, targets: Array, block_size: int, unbiased: bool
) -> FloatArray:
    """Mean of ``mean_of_pairs`` over whole blocks, for each of the targets (B, n), (B,)."""
    n_blocks = len(predictions) // block_size
    used = n_blocks * block_size
    kept, targets = predictions.take(slice(0, used)), targets[:, :used]

    def places() -> Places:
        return block_tiles(used, block_size), n_blocks * n_upper_tiles(block_size, TILE)

    sums = [pair_sums([one], kept, targets, places())[0] for one in kernel.products]
    pairs: FloatArray = np.sum(sums, axis=0)
    if unbiased:
        pairs *= 2.0 / (n_blocks * block_size * (block_size - 1))
        return pairs
    means: FloatArray = (2.0 * pairs + _diagonal_sums(kernel, kept, targets)) / (n_blocks * block_size**2)
    return means


def upper_tiles(n: int, tile: int) -> Iterator[Place]:
    """Row and column ranges that cover the pairs i <= j: tiles on the diagonal come whole, none lies below it."""
    for rows in ranges(n, tile):
        for columns in ranges(n, tile):
            if columns.start >= rows.start:
                yield rows, columns


def n_upper_tiles(n: int, tile: int) -> int:
    """How many tiles ``upper_tiles`` yields."""
    strips = -(-n // tile)
    return strips * (strips + 1) // 2


def block_tiles(n: int, block_size: int) -> Iterator[Place]:
    """Tiles that cover the pairs i <= j within blocks."""
    for block in ranges(n, block_size):
        for rows, columns in upper_tiles(block_size, TILE):
            yield (
                slice(block.start + rows.start, block.start + rows.stop),
                slice(block.start + columns.start, block.start + columns.stop),
            )


def redrawn_deviation_means(
    kernel: PairKernel, predictions: Predictions, targets: Array, locations: Sample
) -> FloatArray:
    """Mean deviations at J test locations, for targets (B, n): (B, J). Time O(n J B)."""
    means = [_redrawn_deviation_means(one, predictions, targets, locations) for one in kernel.products]
    return np.asarray(np.sum(means, axis=0))


def _redrawn_deviation_means(
    kernel: ProductKernel, predictions: Predictions, targets: Array, locations: Sample
) -> FloatArray:
    weights = kernel.prediction_kernel.tile(predictions, locations.predictions) / len(predictions)
    law, target_kernel = predictions.law.prepared(kernel.target_kernel), kernel.target_kernel
    constants = np.einsum("ij,ij->j", weights, law.expected_kernel(target_kernel, locations.targets))
    tiles = (law.target_tile(target_kernel, y, locations.targets) for y in targets)
    sums = [np.einsum("ij,ij->j", weights, tile) for tile in tiles]
    means: FloatArray = np.stack(sums) - constants
    return means


def _pair_sums_on_a_line(line: Line, targets: Array) -> FloatArray:
    """``sum_{i<j} h_ij`` for each of the targets in time O(n B)."""
    n_redraws, n = targets.shape
    parts = list(ranges(n_redraws, max(1, LABELS_AT_ONCE // n)))
    sums = threaded(
        lambda part: line.pair_sums(line.residuals(targets[part])),
        parts,
        len(parts),
        "redraws",
        work=5.0 * targets.size,
    )
    return np.concatenate(list(sums))


def pair_sums(kernels: Sequence[ProductKernel], predictions: Predictions, targets: Array, places: Places) -> FloatArray:
    """``sum_{i<j} h_ij`` over some tiles, for each of the kernels and targets, (L, B)."""
    target_kernel = kernels[0].target_kernel
    prediction_kernels = [kernel.prediction_kernel for kernel in kernels]
    if isinstance(predictions, FinitePredictions):
        return _pair_sums_finite(prediction_kernels, target_kernel, predictions, targets, places)
    if isinstance(predictions.law, CountPredictions):
        return _pair_sums_counts(prediction_kernels, target_kernel, predictions, targets, places)
    if isinstance(predictions.law, Normal) and isinstance(target_kernel, GaussianKernel):
        return _pair_sums_normal(prediction_kernels, target_kernel, predictions, targets, places)
    return _pair_sums_one_by_one(prediction_kernels, target_kernel, predictions, targets, places)


def _total(tile_sums: Callable[[Place], FloatArray], places: Places) -> FloatArray:
    """Sum over all places, in their order."""
    sums = threaded(tile_sums, *places, "redraws", products=True)
    total = next(sums).copy()
    for one in sums:
        total += one
    return total


def _kernel_tiles(kernels: Sequence[PredictionKernel], left: Predictions, right: Predictions) -> FloatArray:
    """Tiles of the kernels of predictions, (L, r, c); each metric is computed once."""
    distances: dict[Metric, FloatArray] = {}
    tiles = np.empty((len(kernels), len(left), len(right)))
    for one, kernel in enumerate(kernels):
        if isinstance(kernel, RadialKernel):
            if kernel.metric not in distances:
                distances[kernel.metric] = left.distance(kernel.metric, right)
            tiles[one] = distances[kernel.metric]
            kernel.of_distance(tiles[one])
        else:
            tiles[one] = kernel.tile(left, right)
    return tiles


def _pair_sums_finite(
    kernels: Sequence[PredictionKernel],
    target_kernel: TargetKernel,
    predictions: FinitePredictions,
    targets: Array,
    places: Places,
) -> FloatArray:
    """One addition for each pair of redrawn labels that differ from their bases and agree.

    The residual of a redraw is e_y - p = q + d with q = e_m - p, where m is the base: the most probable class if its
    probability exceeds 1/2, else none (e_m = 0). With A the matrix of the target kernel, K that of the predictions
    and R = K q A over the pairs i != j of the tiles::

        sum_{i<j} h_ij = sum_i R_i . q_i / 2 + sum_i R_i . d_i + sum_{i<j} K_ij d_i' A d_j
    """
    labels = np.ascontiguousarray(targets, dtype=predictions.label_type)
    base, gram = predictions.bases, predictions.gram(target_kernel)

    def changes(values: FloatArray, rows: slice, columns: slice) -> FloatArray:
        begin = rows.start, columns.start
        if isinstance(target_kernel, DeltaKernel):
            return _equal_sums(values, base, labels, begin, gram.shape[0])
        return np.stack([redraws.gram_sums(tile, gram, base, labels, *begin) for tile in values])

    return _pair_sums_from(base, predictions.anchors, gram, kernels, predictions, labels, changes, places)


def _pair_sums_counts(
    kernels: Sequence[PredictionKernel],
    target_kernel: TargetKernel,
    predictions: Predictions,
    targets: Array,
    places: Places,
) -> FloatArray:
    """One look-up for each pair of redrawn counts: as for finitely many outcomes, where none is a base."""
    law = predictions.law
    assert isinstance(law, CountPredictions)
    outcomes = law.outcomes(target_kernel, targets)
    if outcomes is None:
        return _pair_sums_one_by_one(kernels, target_kernel, predictions, targets, places)
    probabilities, gram, labels = outcomes
    base = np.full(len(predictions), -1)

    def changes(values: FloatArray, rows: slice, columns: slice) -> FloatArray:
        begin = rows.start, columns.start
        return np.stack([redraws.table_sums(tile, gram, labels, *begin, rows == columns) for tile in values])

    return _pair_sums_from(base, -probabilities, gram, kernels, predictions, labels, changes, places)


def _pair_sums_from(
    base: IntArray,
    anchors: FloatArray,
    gram: FloatArray,
    kernels: Sequence[PredictionKernel],
    predictions: Predictions,
    labels: Array,
    changes: Callable[[FloatArray, slice, slice], FloatArray],
    places: Places,
) -> FloatArray:
    """All three sums; ``changes`` gives the last one for tiles of the kernels, with zeros unless i < j."""

    def tile_sums(place: Place) -> tuple[slice, slice, FloatArray, FloatArray, FloatArray]:
        rows, columns = place
        values = _kernel_tiles(kernels, predictions.take(rows), predictions.take(columns))
        if rows == columns:
            values[:, np.arange(values.shape[1]), np.arange(values.shape[1])] = 0.0
        across, down = values @ anchors[columns], values.swapaxes(1, 2) @ anchors[rows]
        if rows == columns:
            values = np.triu(values)
        return rows, columns, changes(values, rows, columns), across, down

    pairs = np.zeros((len(kernels), labels.shape[0]))
    smoothed = np.zeros((len(kernels), *anchors.shape))
    for rows_, columns, sums, across, down in threaded(tile_sums, *places, "redraws", products=True):
        pairs += sums
        smoothed[:, rows_] += across
        if rows_ != columns:
            smoothed[:, columns] += down
    smoothed = smoothed @ gram
    constants = np.einsum("lik,ik->l", smoothed, anchors) / 2.0
    rows = np.flatnonzero(base >= 0)
    for one, values in enumerate(smoothed):
        values[rows] -= values[rows, base[rows]][:, None]
        pairs[one] += constants[one] + redraws.gathered_sums(values, labels)
    return pairs


def _equal_sums(tiles: FloatArray, base: IntArray, labels: Array, begin: tuple[int, int], n_classes: int) -> FloatArray:
    """Sums over pairs of redrawn labels that agree, for each of the kernels, (L, B)."""
    sums = np.empty((tiles.shape[0], labels.shape[0]))
    for part in ranges(tiles.shape[0], redraws.LANES):
        some = tiles[part]
        if some.shape[0] == 1:
            sums[part] = redraws.equal_sums(some[0], base, labels, *begin, n_classes)
        else:
            together = redraws.equal_sums_of_kernels(some, base, labels, *begin, n_classes)
            sums[part] = together[:, : some.shape[0]].T
    return sums


def _pair_sums_normal(
    kernels: Sequence[PredictionKernel],
    gaussian: GaussianKernel,
    predictions: Predictions,
    targets: Array,
    places: Places,
) -> FloatArray:
    """Three Gaussians per pair and redraw, fused into one pass for all kernels."""
    law = predictions.law
    assert isinstance(law, Normal)
    means, precision = law.mean, 1.0 / gaussian.width
    precisions = 1.0 / np.hypot(law.scale, gaussian.width)
    y = np.ascontiguousarray(targets.T, dtype=np.float64)

    def tile_sums(place: Place) -> FloatArray:
        rows, columns = place
        values = _kernel_tiles(kernels, predictions.take(rows), predictions.take(columns))
        if rows == columns:
            values = np.triu(values, k=1)
        one, two = (means[rows], precisions[rows]), (means[columns], precisions[columns])
        sums = smoothed_gaussian_sums(values, precision, y[rows], y[columns], *one, *two, rows == columns)
        constants: FloatArray = np.einsum(
            "lij,ij->l", values, law.take(rows).expected_kernel2(gaussian, law.take(columns))
        )
        return sums + constants[:, None]

    return _total(tile_sums, places)


def _pair_sums_one_by_one(
    kernels: Sequence[PredictionKernel],
    target_kernel: TargetKernel,
    predictions: Predictions,
    targets: Array,
    places: Places,
) -> FloatArray:
    """Redraw by redraw, for families without a faster way."""
    predictions = predictions.prepared(target_kernel)

    def tile_sums(place: Place) -> FloatArray:
        rows, columns = place
        left, right = predictions.take(rows), predictions.take(columns)
        weights = _kernel_tiles(kernels, left, right)
        if rows == columns:
            weights = np.triu(weights, k=1)
        left, right = left.law, right.law
        constant = left.expected_kernel2(target_kernel, right)
        sums = np.empty((len(kernels), targets.shape[0]))
        for b, y in enumerate(targets):
            tile = left.target_tile(target_kernel, y[rows], y[columns])
            tile -= left.expected_kernel(target_kernel, y[columns])
            tile -= right.expected_kernel(target_kernel, y[rows]).T
            tile += constant
            sums[:, b] = np.einsum("lij,ij->l", weights, tile)
        return sums

    return _total(tile_sums, places)


def _diagonal_sums(kernel: PairKernel, predictions: Predictions, targets: Array) -> FloatArray:
    """``sum_i h_ii`` for each of the targets."""
    return np.asarray(np.sum([_product_diagonal_sums(one, predictions, targets) for one in kernel.products], axis=0))


def _product_diagonal_sums(kernel: ProductKernel, predictions: Predictions, targets: Array) -> FloatArray:
    law, target_kernel = predictions.law, kernel.target_kernel
    if isinstance(predictions, FinitePredictions):
        labels = np.ascontiguousarray(targets, dtype=predictions.label_type)
        return _diagonal_sums_from(
            predictions.probabilities, predictions.gram(target_kernel), kernel.prediction_kernel, predictions, labels
        )
    outcomes = law.outcomes(target_kernel, targets) if isinstance(law, CountPredictions) else None
    if outcomes is None:
        return np.array([h_diagonal(kernel, Sample(predictions, y)).sum() for y in targets])
    probabilities, gram, labels = outcomes
    return _diagonal_sums_from(probabilities, gram, kernel.prediction_kernel, predictions, labels)


def _diagonal_sums_from(
    probabilities: FloatArray, gram: FloatArray, kernel: PredictionKernel, predictions: Predictions, labels: Array
) -> FloatArray:
    means = probabilities @ gram
    centred = np.diag(gram) - 2.0 * means + np.einsum("ik,ik->i", means, probabilities)[:, None]
    itself = predictions.take(np.arange(len(predictions))[:, None])
    centred *= kernel.tile(itself, itself)[:, 0]
    return redraws.gathered_sums(centred, labels)
