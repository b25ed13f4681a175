"""Sums of h for many targets of the same predictions: what Monte Carlo needs.

The kernel of the predictions is computed once for all targets, which come as an array (B, n), and several kernels that
differ in their predictions' part are summed in the same pass.
"""

from collections.abc import Sequence

import numpy as np

from caltest._basics.numerics import Array, FloatArray, IntArray, ranges, upper_tiles, weight_of_pairs
from caltest._basics.threads import threaded
from caltest._loops.pair_sums.members import redrawn_sums
from caltest._loops.stacks import redraws_last
from caltest.hstatistics.pair_tiles import (
    Kernels,
    ObservationKernel,
    Places,
    TileSums,
    tile_size,
    tiles_of_blocks,
    total_of_tiles,
    upper_kernel_tiles,
)
from caltest.hstatistics.redraws.of_labels import label_diagonal_sums, label_pair_sums
from caltest.hstatistics.sums.binary_line import Line, on_a_line, pair_sums_of_lines
from caltest.hstatistics.tiles import Place
from caltest.kernels import PairKernel, ProductKernel, TargetKernel
from caltest.kernels.radial import form_of
from caltest.predictions import Predictions, Sample

NUMBERS_AT_ONCE = 2**18
"""Targets of all redraws whose h with themselves is computed together."""


def _directly(kernels: Kernels, target_kernel: TargetKernel, predictions: Predictions, targets: Array) -> TileSums:
    """From the target part of h, redraw by redraw."""

    def tile_sums(place: Place) -> FloatArray:
        rows, columns = place
        weights = upper_kernel_tiles(kernels, predictions, place)
        left, right = predictions.law.take(rows), predictions.law.take(columns)
        tiles = (left.centred_kernel(target_kernel, y[rows], right, y[columns]) for y in targets)
        return np.stack([np.einsum("lij,ij->l", weights, tile) for tile in tiles], axis=1)

    return tile_sums


def _by_terms(kernels: Kernels, target_kernel: TargetKernel, predictions: Predictions, targets: Array) -> TileSums:
    predictions, y = predictions.prepared(target_kernel), redraws_last(targets)

    def tile_sums(place: Place) -> FloatArray:
        rows, columns = place
        left, right = predictions.take(rows), predictions.take(columns)
        weights = upper_kernel_tiles(kernels, predictions, place)
        left, right = left.law, right.law
        sums = _target_sums(target_kernel, left, weights, targets, y, place)
        sums -= left.expectation_sums(target_kernel, weights, targets[:, columns])
        sums -= right.expectation_sums(target_kernel, weights.swapaxes(1, 2), targets[:, rows])
        constants: FloatArray = np.einsum("lij,ij->l", weights, left.expected_kernel2(target_kernel, right))
        sums += constants[:, None]
        return sums

    return tile_sums


def _target_sums(
    kernel: TargetKernel, law: Predictions, weights: FloatArray, targets: Array, y: FloatArray, place: Place
) -> FloatArray:
    """``sum_ij w_lij k(y_bi, y_bj)`` over a tile, (L, B), compiled for kernels that are known functions.

    The targets come as (B, n) or (B, n, d), and as y (n, d, B).
    """
    rows, columns = place
    sums = np.zeros((weights.shape[0], targets.shape[0]))
    for weight, term in kernel.weighted_terms:
        form = form_of(term, y.shape[1], targets.ndim == 3)
        if form is None:
            tiles = (law.target_tile(term, one[rows], one[columns]) for one in targets)
            sums += weight * np.stack([np.einsum("lij,ij->l", weights, tile) for tile in tiles], axis=1)
        else:
            sums += weight * redrawn_sums(form.settings, weights, y[rows], y[columns], rows == columns)
    return sums


def number_diagonal_sums(kernel: ProductKernel, predictions: Predictions, targets: Array) -> FloatArray:
    """``sum_i k_P(p_i, p_i) (k(y_i, y_i) - 2 E k(Z_i, y_i) + E k(Z_i, Z~_i))`` for each of the targets."""
    n, target_kernel = len(predictions), kernel.target_kernel
    if predictions.law.centred_directly:
        single = predictions.take(np.arange(n)[:, None])
        weights, law = kernel.prediction_kernel.tile(single, single)[:, 0, 0], single.law
        columns = (np.asarray(y)[:, None] for y in targets)
        return np.array([weights @ law.centred_kernel(target_kernel, y, law, y)[:, 0, 0] for y in columns])
    each = predictions.prepared(target_kernel).take(np.arange(n)[:, None])
    weights, law = kernel.prediction_kernel.tile(each, each)[:, 0, 0], each.law
    constants = law.expected_kernel2(target_kernel, law)[:, 0, 0]
    sums = []
    for part in ranges(targets.shape[0], max(1, NUMBERS_AT_ONCE // n)):
        y = np.ascontiguousarray(np.moveaxis(targets[part], 0, 1))
        centred = law.target_tile(target_kernel, y[:, :, None], y[:, :, None])[..., 0, 0]
        centred -= 2.0 * law.expected_kernel(target_kernel, y)[:, 0]
        centred += constants[:, None]
        sums.append(weights @ centred)
    return np.concatenate(sums)


LABELS_AT_ONCE = 2**18
"""Labels turned into numbers together."""


def redrawn_means(
    kernels: Sequence[PairKernel],
    predictions: Predictions,
    targets: Array,
    weights: FloatArray | None = None,
    unbiased: bool = True,
) -> FloatArray:
    """``mean_of_pairs`` for each of the kernels and each of the targets (B, n): (L, B).

    With weights w of the observations, for unbiased means: ``sum_{i<j} w_i w_j h_ij / sum_{i<j} w_i w_j``. Products
    with the same target kernel are summed together. Time O(n**2) for the kernels and, with classes, O(n**2) for the
    pairs of redrawn labels that differ from the most probable class and, for the Delta kernel, agree with each other;
    O(n B) for binary predictions with an exponential kernel. Memory O(n B) labels of one byte.
    """
    places: dict[TargetKernel, list[tuple[int, ProductKernel]]] = {}
    for one, kernel in enumerate(kernels):
        for product in kernel.products:
            places.setdefault(product.target_kernel, []).append((one, product))
    means, n = np.zeros((len(kernels), targets.shape[0])), len(predictions)
    for owners in places.values():
        products = [product for _, product in owners]
        some = _factored_sums(products, None if weights is None else weights[:, None], predictions, targets)
        if weights is not None:
            some = some / weight_of_pairs(weights)
        elif unbiased:
            some *= 2.0 / (n * (n - 1))
        else:
            diagonals = np.stack([_diagonal_sums(product, predictions, targets) for product in products])
            some = (2.0 * some + diagonals) / n**2
        np.add.at(means, [one for one, _ in owners], some)
    return means


def redrawn_block_means(
    kernel: PairKernel, predictions: Predictions, targets: Array, block_size: int, unbiased: bool
) -> FloatArray:
    """Mean of ``mean_of_pairs`` over whole blocks, for each of the targets (B, n), (B,)."""
    n_blocks = len(predictions) // block_size
    used = n_blocks * block_size
    kept, targets = predictions.take(slice(0, used)), targets[:, :used]
    pairs = block_pair_sums(kernel, kept, targets, np.full(n_blocks, block_size))
    if unbiased:
        pairs *= 2.0 / (n_blocks * block_size * (block_size - 1))
        return pairs
    return np.asarray((2.0 * pairs + _diagonal_sums(kernel, kept, targets)) / (n_blocks * block_size**2))


def redrawn_deviation_means(
    kernel: PairKernel, predictions: Predictions, targets: Array, locations: Sample
) -> FloatArray:
    """Mean deviations at J test locations, for targets (B, n): (B, J). Time O(n J B)."""

    def means(one: ProductKernel) -> FloatArray:
        weights = one.prediction_kernel.tile(predictions, locations.predictions) / len(predictions)
        law, target_kernel = predictions.law.prepared(one.target_kernel), one.target_kernel
        constants = np.einsum("ij,ij->j", weights, law.expected_kernel(target_kernel, locations.targets))
        tiles = (law.target_tile(target_kernel, y, locations.targets) for y in targets)
        return np.asarray(np.stack([np.einsum("ij,ij->j", weights, tile) for tile in tiles]) - constants)

    return kernel.sum_of(means)


def _pair_sums_on_lines(lines: Sequence[Line], targets: Array, weights: FloatArray | None) -> FloatArray:
    """``sum_{i<j} w_i w_j h_ij`` for each line of the same predictions and each of the targets, in time O(n B)."""
    n_redraws, n = targets.shape
    parts = list(ranges(n_redraws, max(1, LABELS_AT_ONCE // n)))

    def part_sums(part: slice) -> FloatArray:
        residuals = lines[0].residuals(targets[part])
        if weights is not None:
            residuals *= weights[lines[0].order, None]
        return pair_sums_of_lines(lines, residuals)

    work = 5.0 * len(lines) * targets.size
    return np.concatenate(list(threaded(part_sums, parts, len(parts), "redraws", work=work)), axis=1)


def block_pair_sums(kernel: PairKernel, predictions: Predictions, targets: Array, sizes: IntArray) -> FloatArray:
    """``sum_{i<j} h_ij`` within blocks of these sizes, which follow each other, for each of the targets, (B,)."""
    blocks = np.repeat(np.arange(sizes.size), sizes)

    def sums(one: ProductKernel) -> FloatArray:
        line = on_a_line(one, predictions, blocks)
        if line is not None:
            return np.asarray(_pair_sums_on_lines([line], targets, None)[0])
        places = tiles_of_blocks(sizes, tile_size(predictions))
        return np.asarray(pair_sums([one.prediction_kernel], one.target_kernel, predictions, targets, places)[0])

    return kernel.sum_of(sums)


def factored_pair_sums(kernel: PairKernel, factors: FloatArray, predictions: Predictions, targets: Array) -> FloatArray:
    """``sum_{i<j} (r_i . r_j) h_ij`` with factors r (n, R) of the observations, for each of the targets (B, n), (B,).

    Time that of ``redrawn_means`` and O(n**2 R), or O(n B R) for binary predictions with an exponential kernel.
    """
    return kernel.sum_of(lambda one: _factored_sums([one], factors, predictions, targets)[0])


def _factored_sums(
    kernels: Sequence[ProductKernel], factors: FloatArray | None, predictions: Predictions, targets: Array
) -> FloatArray:
    """The same for kernels with the same target kernel, by default without factors, (L, B)."""
    sums = np.zeros((len(kernels), targets.shape[0]))
    found = [on_a_line(kernel, predictions) for kernel in kernels]
    lines, rest = [one for one in found if one is not None], [one for one, line in enumerate(found) if line is None]
    if lines:
        on_lines = [line is not None for line in found]
        for column in [None] if factors is None else factors.T:
            sums[on_lines] += _pair_sums_on_lines(lines, targets, column)
    if rest:
        some: Kernels = [kernels[one].prediction_kernel for one in rest]
        if factors is not None:
            some = [ObservationKernel(kernels[one].prediction_kernel, factors) for one in rest]
        places = upper_tiles(len(predictions), tile_size(predictions))
        sums[rest] = pair_sums(some, kernels[0].target_kernel, predictions, targets, places)
    return sums


def pair_sums(
    kernels: Kernels, target_kernel: TargetKernel, predictions: Predictions, targets: Array, places: Places
) -> FloatArray:
    """``sum_{i<j} h_ij`` over some tiles, for each of the kernels and targets (B, n) or (B, n, d): (L, B)."""
    law = predictions.law
    outcomes = law.outcomes(target_kernel, targets)
    if outcomes is not None:
        return label_pair_sums(kernels, predictions, outcomes, places)
    way = _directly if law.centred_directly else _by_terms
    return total_of_tiles(way(kernels, target_kernel, predictions, targets), places)


def _diagonal_sums(kernel: PairKernel, predictions: Predictions, targets: Array) -> FloatArray:
    """``sum_i h_ii`` for each of the targets."""

    def sums(one: ProductKernel) -> FloatArray:
        outcomes = predictions.law.outcomes(one.target_kernel, targets)
        if outcomes is None:
            return number_diagonal_sums(one, predictions, targets)
        return label_diagonal_sums(one.prediction_kernel, predictions, outcomes)

    return kernel.sum_of(sums)
