"""Sums of h for many targets of the same predictions: what Monte Carlo needs.

The kernel of the predictions is computed once for all targets, which come as an array (B, n), and several kernels that
differ in their predictions' part are summed in the same pass.
"""

from collections.abc import Sequence

import numpy as np

from caltest._basics.numerics import Array, FloatArray, ranges, upper_tiles, weight_of_pairs
from caltest._basics.threads import threaded
from caltest.hstatistics.pair_tiles import Kernels, ObservationKernel, Places, tile_size, tiles_of_blocks
from caltest.hstatistics.redraws.of_labels import label_diagonal_sums, label_pair_sums
from caltest.hstatistics.redraws.of_numbers import number_diagonal_sums, number_pair_sums
from caltest.hstatistics.sums.binary_line import Line, on_a_line
from caltest.kernels import PairKernel, ProductKernel, TargetKernel
from caltest.predictions import Predictions, Sample

LABELS_AT_ONCE = 2**18
"""Labels turned into numbers together."""


def redrawn_means(
    kernels: Sequence[PairKernel],
    predictions: Predictions,
    targets: Array,
    unbiased: bool,
    weights: FloatArray | None = None,
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
    means = np.zeros((len(kernels), targets.shape[0]))
    for owners in places.values():
        some = _redrawn_means([product for _, product in owners], predictions, targets, unbiased, weights)
        np.add.at(means, [one for one, _ in owners], some)
    return means


def _redrawn_means(
    kernels: Sequence[ProductKernel],
    predictions: Predictions,
    targets: Array,
    unbiased: bool,
    weights: FloatArray | None,
) -> FloatArray:
    """``redrawn_means`` for kernels with the same target kernel."""
    n = len(predictions)
    lines = [on_a_line(kernel, predictions) for kernel in kernels]
    pairs = np.empty((len(kernels), targets.shape[0]))
    rest = [one for one, line in enumerate(lines) if line is None]
    for one, line in enumerate(lines):
        if line is not None:
            pairs[one] = _pair_sums_on_a_line(line, targets, None if weights is None else weights[line.order])
    if rest:
        places = upper_tiles(n, tile_size(predictions))
        some: Kernels = [kernels[one].prediction_kernel for one in rest]
        if weights is not None:
            some = [ObservationKernel(kernels[one].prediction_kernel, weights[:, None]) for one in rest]
        pairs[rest] = _sums_of_pairs(some, kernels[0].target_kernel, predictions, targets, places)
    if weights is not None:
        assert unbiased
        return np.asarray(pairs / weight_of_pairs(weights))
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
    sizes, tile = np.full(n_blocks, block_size), tile_size(predictions)
    pairs = kernel.sum_of(lambda one: pair_sums([one], kept, targets, tiles_of_blocks(sizes, tile))[0])
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


def _pair_sums_on_a_line(line: Line, targets: Array, weights: FloatArray | None = None) -> FloatArray:
    """``sum_{i<j} w_i w_j h_ij`` for each of the targets in time O(n B), with weights in the order of the line."""
    n_redraws, n = targets.shape
    parts = list(ranges(n_redraws, max(1, LABELS_AT_ONCE // n)))

    def part_sums(part: slice) -> FloatArray:
        residuals = line.residuals(targets[part])
        if weights is not None:
            residuals *= weights[:, None]
        return line.pair_sums(residuals)

    return np.concatenate(list(threaded(part_sums, parts, len(parts), "redraws", work=5.0 * targets.size)))


def pair_sums(kernels: Sequence[ProductKernel], predictions: Predictions, targets: Array, places: Places) -> FloatArray:
    """``sum_{i<j} h_ij`` over some tiles, for each of the kernels and targets, (L, B)."""
    return _sums_of_pairs(
        [one.prediction_kernel for one in kernels], kernels[0].target_kernel, predictions, targets, places
    )


def factored_pair_sums(kernel: PairKernel, factors: FloatArray, predictions: Predictions, targets: Array) -> FloatArray:
    """``sum_{i<j} (r_i . r_j) h_ij`` with factors r (n, R) of the observations, for each of the targets (B, n), (B,).

    Time that of ``redrawn_means`` and O(n**2 R), or O(n B R) for binary predictions with an exponential kernel.
    """
    total = np.zeros(targets.shape[0])
    for one in kernel.products:
        line = on_a_line(one, predictions)
        if line is not None:
            for column in factors.T:
                total += _pair_sums_on_a_line(line, targets, column[line.order])
            continue
        factored = ObservationKernel(one.prediction_kernel, factors)
        places = upper_tiles(len(predictions), tile_size(predictions))
        total += _sums_of_pairs([factored], one.target_kernel, predictions, targets, places)[0]
    return total


def _sums_of_pairs(
    kernels: Kernels, target_kernel: TargetKernel, predictions: Predictions, targets: Array, places: Places
) -> FloatArray:
    outcomes = predictions.law.outcomes(target_kernel, targets)
    if outcomes is None:
        return number_pair_sums(kernels, target_kernel, predictions, targets, places)
    return label_pair_sums(kernels, predictions, outcomes, places)


def _diagonal_sums(kernel: PairKernel, predictions: Predictions, targets: Array) -> FloatArray:
    """``sum_i h_ii`` for each of the targets."""

    def sums(one: ProductKernel) -> FloatArray:
        outcomes = predictions.law.outcomes(one.target_kernel, targets)
        if outcomes is None:
            return number_diagonal_sums(one, predictions, targets)
        return label_diagonal_sums(one.prediction_kernel, predictions, outcomes)

    return kernel.sum_of(sums)
