"""Sums of h for many targets of the same predictions: what Monte Carlo needs.

The kernel of the predictions is computed once for all targets, which come as an array (B, n), and several kernels that
differ in their predictions' part are summed in the same pass.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from caltest._loops import redraws
from caltest._loops.gaussian import smoothed_gaussian_sums
from caltest._loops.members import redrawn_sums
from caltest._numerics import ranges
from caltest._threads import threaded
from caltest._types import Array, FloatArray, IntArray
from caltest.hlabels import features_are_faster, root_of, tile_sums_by_features
from caltest.hlines import Line, on_a_line
from caltest.htiles import Place
from caltest.kernels import (
    GaussianKernel,
    Metric,
    PairKernel,
    PredictionKernel,
    ProductKernel,
    RadialKernel,
    TargetKernel,
)
from caltest.kernels.forms import form_of
from caltest.predictions import FinitePredictions, Normal, Predictions, Sample

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

    Products with the same target kernel are summed together. Time O(n**2) for the kernels and, with classes, O(n**2)
    for the pairs of redrawn labels that differ from the most probable class and, for the Delta kernel, agree with each
    other; O(n B) for binary predictions with an exponential kernel. Memory O(n B) labels of one byte.
    """
    places: dict[TargetKernel, list[tuple[int, ProductKernel]]] = {}
    for one, kernel in enumerate(kernels):
        for product in kernel.products:
            places.setdefault(product.target_kernel, []).append((one, product))
    means = np.zeros((len(kernels), targets.shape[0]))
    for owners in places.values():
        some = _redrawn_means([product for _, product in owners], predictions, targets, unbiased)
        np.add.at(means, [one for one, _ in owners], some)
    return means


def _redrawn_means(
    kernels: Sequence[ProductKernel], predictions: Predictions, targets: Array, unbiased: bool
) -> FloatArray:
    """``redrawn_means`` for kernels with the same target kernel."""
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
        return _pair_sums_of_classes(prediction_kernels, target_kernel, predictions, targets, places)
    if isinstance(predictions.law, Normal) and _is_gaussian(target_kernel):
        return _pair_sums_normal(prediction_kernels, target_kernel, predictions, targets, places)
    if targets.ndim == 2:
        return _pair_sums_of_numbers(prediction_kernels, target_kernel, predictions, targets, places)
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


def _pair_sums_of_classes(
    kernels: Sequence[PredictionKernel],
    target_kernel: TargetKernel,
    predictions: FinitePredictions,
    targets: Array,
    places: Places,
) -> FloatArray:
    """In the faster of two ways, of which the Delta kernel, up to a factor, needs only one."""
    gram = predictions.gram(target_kernel)
    factor = _multiple_of_identity(gram)
    if factor is not None:
        return factor * _pair_sums_finite(kernels, None, predictions, targets, places)
    root = root_of(gram)
    if features_are_faster(predictions, root.shape[0]):
        return _pair_sums_by_features(kernels, root, predictions, targets, places)
    return _pair_sums_finite(kernels, gram, predictions, targets, places)


def _multiple_of_identity(gram: FloatArray) -> float | None:
    """a, if the matrix is ``a I + b`` with numbers a and b: b is of no effect on residuals, which sum to 0."""
    equal, other = gram[0, 0], gram[0, -1]
    if np.array_equal(gram, np.where(np.eye(gram.shape[0], dtype=bool), equal, other)):
        return float(equal - other)
    return None


def _pair_sums_by_features(
    kernels: Sequence[PredictionKernel],
    root: FloatArray,
    predictions: FinitePredictions,
    targets: Array,
    places: Places,
) -> FloatArray:
    """Matrix products, for labels that often change."""
    labels = np.ascontiguousarray(targets, dtype=predictions.label_type)
    means = predictions.probabilities @ root.T

    def tile_sums(place: Place) -> FloatArray:
        rows, columns = place
        values = _kernel_tiles(kernels, predictions.take(rows), predictions.take(columns))
        if rows == columns:
            values = np.triu(values, k=1)
        return tile_sums_by_features(values, root, means, labels, place)

    return _total(tile_sums, places)


def _pair_sums_finite(
    kernels: Sequence[PredictionKernel],
    matrix: FloatArray | None,
    predictions: FinitePredictions,
    targets: Array,
    places: Places,
) -> FloatArray:
    """One addition for each pair of redrawn labels that differ from their bases and, without a matrix, agree.

    The residual of a redraw is e_y - p = q + d with q = e_m - p, where m is the base: the most probable class if its
    probability exceeds 1/2, else none (e_m = 0). With A the matrix of the target kernel, by default I, K that of the
    predictions and R = K q A over the pairs i != j of the tiles::

        sum_{i<j} h_ij = sum_i R_i . q_i / 2 + sum_i R_i . d_i + sum_{i<j} K_ij d_i' A d_j
    """
    labels = np.ascontiguousarray(targets, dtype=predictions.label_type)
    base, anchors = predictions.bases, predictions.anchors

    def tile_sums(place: Place) -> tuple[slice, slice, FloatArray, FloatArray, FloatArray]:
        rows, columns = place
        values = _kernel_tiles(kernels, predictions.take(rows), predictions.take(columns))
        if rows == columns:
            values[:, np.arange(values.shape[1]), np.arange(values.shape[1])] = 0.0
        across, down = values @ anchors[columns], values.swapaxes(1, 2) @ anchors[rows]
        if rows == columns:
            values = np.triu(values)
        begin = rows.start, columns.start
        if matrix is None:
            pairs = _equal_sums(values, base, labels, begin, predictions.n_classes)
        else:
            pairs = np.stack([redraws.gram_sums(tile, matrix, base, labels, *begin) for tile in values])
        return rows, columns, pairs, across, down

    pairs = np.zeros((len(kernels), labels.shape[0]))
    smoothed = np.zeros((len(kernels), *anchors.shape))
    for rows_, columns, sums, across, down in threaded(tile_sums, *places, "redraws", products=True):
        pairs += sums
        smoothed[:, rows_] += across
        if rows_ != columns:
            smoothed[:, columns] += down
    if matrix is not None:
        smoothed = smoothed @ matrix
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


def _is_gaussian(kernel: TargetKernel) -> bool:
    return all(isinstance(term, GaussianKernel) for _, term in kernel.weighted_terms)


def _pair_sums_normal(
    kernels: Sequence[PredictionKernel],
    target_kernel: TargetKernel,
    predictions: Predictions,
    targets: Array,
    places: Places,
) -> FloatArray:
    """Three Gaussians per pair, redraw and term of the kernel of targets, in one pass for all kernels."""
    law = predictions.law
    assert isinstance(law, Normal)
    terms = []
    for weight, term in target_kernel.weighted_terms:
        assert isinstance(term, GaussianKernel)
        terms.append((weight, 1.0 / term.width, 1.0 / np.hypot(law.scale, term.width)))
    y = np.ascontiguousarray(targets.T, dtype=np.float64)

    def tile_sums(place: Place) -> FloatArray:
        rows, columns = place
        values = _kernel_tiles(kernels, predictions.take(rows), predictions.take(columns))
        if rows == columns:
            values = np.triu(values, k=1)
        both = law.take(rows).expected_kernel2(target_kernel, law.take(columns))
        sums: FloatArray = np.zeros((len(kernels), targets.shape[0])) + np.einsum("lij,ij->l", values, both)[:, None]
        for weight, precision, precisions in terms:
            one, two = (law.mean[rows], precisions[rows]), (law.mean[columns], precisions[columns])
            sums += weight * smoothed_gaussian_sums(values, precision, y[rows], y[columns], *one, *two, rows == columns)
        return sums

    return _total(tile_sums, places)


def _pair_sums_of_numbers(
    kernels: Sequence[PredictionKernel],
    target_kernel: TargetKernel,
    predictions: Predictions,
    targets: Array,
    places: Places,
) -> FloatArray:
    """Term by term, each for all redraws at once: what families with targets on the line can have in common."""
    predictions = predictions.prepared(target_kernel)

    def tile_sums(place: Place) -> FloatArray:
        rows, columns = place
        left, right = predictions.take(rows), predictions.take(columns)
        weights = _kernel_tiles(kernels, left, right)
        if rows == columns:
            weights = np.triu(weights, k=1)
        left, right = left.law, right.law
        sums = _target_sums(target_kernel, left, weights, targets, place)
        sums -= left.expectation_sums(target_kernel, weights, targets[:, columns])
        sums -= right.expectation_sums(target_kernel, weights.swapaxes(1, 2), targets[:, rows])
        constants: FloatArray = np.einsum("lij,ij->l", weights, left.expected_kernel2(target_kernel, right))
        sums += constants[:, None]
        return sums

    return _total(tile_sums, places)


def _target_sums(
    kernel: TargetKernel, law: Predictions, weights: FloatArray, targets: Array, place: Place
) -> FloatArray:
    """``sum_ij w_lij k(y_bi, y_bj)`` over a tile, (L, B), compiled for kernels that are known functions."""
    rows, columns = place
    sums = np.zeros((weights.shape[0], targets.shape[0]))
    y = targets.T
    for weight, term in kernel.weighted_terms:
        form = form_of(term)
        if form is None:
            tiles = (law.target_tile(term, one[rows], one[columns]) for one in targets)
            sums += weight * np.stack([np.einsum("lij,ij->l", weights, tile) for tile in tiles], axis=1)
        else:
            left, right = (np.ascontiguousarray(y[part], dtype=np.float64) for part in place)
            function = form.kind, form.shape, float(form.factors[0])
            sums += weight * redrawn_sums(*function, weights, left, right, rows == columns)
    return sums


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
    if not isinstance(predictions, FinitePredictions):
        sums = [_diagonal_sums_of_terms(one, predictions, targets) for one in kernel.products]
        return np.asarray(np.sum(sums, axis=0))
    return np.asarray(np.sum([_finite_diagonal_sums(one, predictions, targets) for one in kernel.products], axis=0))


def _diagonal_sums_of_terms(kernel: ProductKernel, predictions: Predictions, targets: Array) -> FloatArray:
    """``sum_i k_P(p_i, p_i) (k(y_i, y_i) - 2 E k(Z_i, y_i) + E k(Z_i, Z~_i))`` for each of the targets."""
    n, target_kernel = len(predictions), kernel.target_kernel
    each = predictions.prepared(target_kernel).take(np.arange(n)[:, None])
    weights, law = kernel.prediction_kernel.tile(each, each)[:, 0, 0], each.law
    constants = law.expected_kernel2(target_kernel, law)[:, 0, 0]
    sums = []
    for part in ranges(targets.shape[0], max(1, LABELS_AT_ONCE // n)):
        y = np.ascontiguousarray(np.moveaxis(targets[part], 0, 1))
        centred = law.target_tile(target_kernel, y[:, :, None], y[:, :, None])[..., 0, 0]
        centred -= 2.0 * law.expected_kernel(target_kernel, y)[:, 0]
        centred += constants[:, None]
        sums.append(weights @ centred)
    return np.concatenate(sums)


def _finite_diagonal_sums(kernel: ProductKernel, predictions: FinitePredictions, targets: Array) -> FloatArray:
    gram, probabilities = predictions.gram(kernel.target_kernel), predictions.probabilities
    means = probabilities @ gram
    centred = np.diag(gram) - 2.0 * means + np.einsum("ik,ik->i", means, probabilities)[:, None]
    itself = predictions.take(np.arange(len(predictions))[:, None])
    centred *= kernel.prediction_kernel.tile(itself, itself)[:, 0]
    return redraws.gathered_sums(centred, np.ascontiguousarray(targets, dtype=predictions.label_type))
