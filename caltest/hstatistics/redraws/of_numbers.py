"""Sums of h over tiles for many redraws of targets that are numbers or vectors."""

import numpy as np

from caltest._basics.numerics import Array, FloatArray, ranges
from caltest._loops.pair_sums.gaussian import smoothed_gaussian_sums
from caltest._loops.pair_sums.members import redrawn_sums
from caltest._loops.stacks import redraws_last
from caltest.hstatistics.pair_tiles import Kernels, Places, TileSums, total_of_tiles, upper_kernel_tiles
from caltest.hstatistics.tiles import Place
from caltest.kernels import ProductKernel, TargetKernel
from caltest.kernels.radial import form_of
from caltest.predictions import Predictions

NUMBERS_AT_ONCE = 2**18
"""Targets of all redraws whose h with themselves is computed together."""


def number_pair_sums(
    kernels: Kernels, target_kernel: TargetKernel, predictions: Predictions, targets: Array, places: Places
) -> FloatArray:
    """``sum_{i<j} h_ij`` over some tiles, for each of the kernels and targets (B, n) or (B, n, d): (L, B)."""
    way = _by_terms
    if predictions.law.centred_directly:
        way = _directly
    elif predictions.law.normal is not None and target_kernel.gaussian_terms is not None:
        way = _normal
    return total_of_tiles(way(kernels, target_kernel, predictions, targets), places)


def _directly(kernels: Kernels, target_kernel: TargetKernel, predictions: Predictions, targets: Array) -> TileSums:
    """From the target part of h, redraw by redraw."""

    def tile_sums(place: Place) -> FloatArray:
        rows, columns = place
        weights = upper_kernel_tiles(kernels, predictions, place)
        left, right = predictions.law.take(rows), predictions.law.take(columns)
        tiles = (left.centred_kernel(target_kernel, y[rows], right, y[columns]) for y in targets)
        return np.stack([np.einsum("lij,ij->l", weights, tile) for tile in tiles], axis=1)

    return tile_sums


def _normal(kernels: Kernels, target_kernel: TargetKernel, predictions: Predictions, targets: Array) -> TileSums:
    """Three Gaussians per pair, redraw and term of the kernel of targets, in one pass for all kernels."""
    law, normal, gaussians = predictions.law, predictions.law.normal, target_kernel.gaussian_terms
    assert normal is not None
    assert gaussians is not None
    mean, scale = normal
    terms = [(weight, 1.0 / term.width, 1.0 / np.hypot(scale, term.width)) for weight, term in gaussians]
    y = np.ascontiguousarray(targets.T, dtype=np.float64)

    def tile_sums(place: Place) -> FloatArray:
        rows, columns = place
        values = upper_kernel_tiles(kernels, predictions, place)
        both = law.take(rows).expected_kernel2(target_kernel, law.take(columns))
        sums: FloatArray = np.zeros((len(kernels), targets.shape[0])) + np.einsum("lij,ij->l", values, both)[:, None]
        for weight, precision, precisions in terms:
            one, two = ((y[part], mean[part], precisions[part]) for part in place)
            sums += weight * smoothed_gaussian_sums(values, precision, one, two, rows == columns)
        return sums

    return tile_sums


def _by_terms(kernels: Kernels, target_kernel: TargetKernel, predictions: Predictions, targets: Array) -> TileSums:
    """Term by term, each for all redraws at once."""
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
