"""The Laplacian kernel averaged over Laplace distributions, without the cancellation of the textbook formulas.

The kernel exp(-|x| / b) is, but for a factor, the density of a Laplace distribution of scale b, so its average over
Laplace noise of other scales is a density of a sum of independent Laplace variables. In terms of the scales these are
divided differences, which lose all digits where scales are equal; here they are written as sums of positive terms, or
as the integral of a derivative.
"""

import numpy as np

from caltest._basics.jit import jit
from caltest._basics.numerics import FloatArray
from caltest._loops.formulas.exponential import exp_of_negative
from caltest._loops.stacks import Two, add_weighted, frozen, is_used

CLOSE = 0.02
"""Scales that differ by less than this, relatively, are close."""

FARTHEST = 750.0
"""Distances in units of the largest scale beyond this are taken as this: nothing is left of any kernel."""

NODES = (1.0 + np.polynomial.legendre.leggauss(5)[0]) / 2.0
WEIGHTS = np.polynomial.legendre.leggauss(5)[1] / 2.0
"""Gauss-Legendre rule on the unit interval."""

Parameters = tuple[FloatArray, FloatArray]
"""Means and scales."""


@jit
def one_noise(distance: float, b: float, scale: float) -> float:
    """``E exp(-|x + Z| / b)`` for Z of a Laplace distribution, at distance |x|.

    ``(b exp(-|x| / b) - s exp(-|x| / s)) b / (b**2 - s**2)`` for the scale s.
    """
    large = max(b, scale)
    x, small = min(distance / large, FARTHEST), min(b, scale) / large
    return b / large / (1.0 + small) * exp_of_negative(-x) * (1.0 + _ratio(x, 1.0, small))


@jit
def _ratio(distance: float, large: float, small: float) -> float:
    """``s (1 - exp(-x (1/s - 1/l))) / (l - s)``, which tends to ``x / l`` for equal scales s <= l."""
    gap = large - small
    if small == 0.0:
        return 0.0
    exponent = distance / small * (gap / large)
    if exponent > 1e-8:
        ratio: float = -small * np.expm1(-exponent) / gap
        return ratio
    return distance / large * (1.0 - 0.5 * exponent)


@jit
def two_noises(distance: float, b: float, scale: float, other: float) -> float:
    """``E exp(-|x + Z + Z'| / b)`` for independent Z, Z' of Laplace distributions, at distance |x|.

    b times the divided difference of ``s**(3/2) exp(-|x| / sqrt(s))`` at the squares of the three scales.
    """
    # In units of the largest scale, whose square is 1.
    large = max(b, max(scale, other))
    small = min(b, min(scale, other)) / large
    middle = max(min(b, scale), min(max(b, scale), other)) / large
    distance = min(distance / large, FARTHEST)
    b /= large
    if 1.0 - small > CLOSE:
        difference = _of_two(distance, 1.0, middle) - _of_two(distance, middle, small)
        return b * difference / ((1.0 - small) * (1.0 + small))
    if small == 1.0:
        return b * _second_derivative(distance, 1.0) / 2.0
    total = 0.0
    for i in range(NODES.shape[0]):
        u = NODES[i]
        for j in range(NODES.shape[0]):
            v = NODES[j]
            square = (1.0 - u) + u * ((1.0 - v) * middle * middle + v * small * small)
            total += WEIGHTS[i] * WEIGHTS[j] * u * _second_derivative(distance, np.sqrt(square))
    return b * total


@jit
def _second_derivative(distance: float, scale: float) -> float:
    """That of ``s**(3/2) exp(-|x| / sqrt(s))`` at the square of a scale."""
    x = distance / scale
    return exp_of_negative(-x) * (3.0 + x * (3.0 + x)) / (4.0 * scale)


@jit
def _of_two(distance: float, large: float, small: float) -> float:
    """Divided difference of ``s**(3/2) exp(-|x| / sqrt(s))`` at the squares of two scales."""
    if large == 0.0:
        return 0.0
    squares = large * large + large * small + small * small
    return (
        exp_of_negative(-distance / large)
        * (squares + small * small * _ratio(distance, large, small))
        / (large + small)
    )


@jit
def one_sided_tile(rows: Parameters, columns: tuple[FloatArray], b: float, out: FloatArray) -> None:
    """``E exp(-|Z - y| / b)`` for Laplace distributions (m, r) and targets (m, c), to ``out`` (m, r, c)."""
    (means, scales), (targets,) = rows, columns
    for tile in range(out.shape[0]):
        for i in range(out.shape[1]):
            for j in range(out.shape[2]):
                distance = abs(means[tile, i] - targets[tile, j])
                out[tile, i, j] = one_noise(distance, b, scales[tile, i])


def one_sided_sums(tiles: FloatArray, rows: Parameters, targets: FloatArray, b: float) -> FloatArray:
    """``sum_ij tile[i, j] E exp(-|Z_i - y_j| / b)`` for each tile (L, r, c) and redraw of targets (c, B): (L, B)."""
    n_redraws = targets.shape[1]
    sums = np.zeros((tiles.shape[0], n_redraws))
    means, scales = rows
    _add_one_sided(frozen(tiles), (frozen(means), frozen(scales)), frozen(targets), b, (np.empty(n_redraws), sums))
    return sums


@jit
def _add_one_sided(tiles: FloatArray, rows: Parameters, targets: FloatArray, b: float, work: Two) -> None:
    """By the formula of the textbook where the scale of a row and b are not close, as that vectorises."""
    (means, scales), (values, sums) = rows, work
    for i in range(tiles.shape[1]):
        mean, scale = means[i], scales[i]
        is_close = abs(b - scale) < CLOSE * max(b, scale)
        # In units of the larger of b and the scale.
        t = min(b, scale) / max(b, scale)
        gap = 1.0 if is_close else (1.0 - t) * (1.0 + t)
        first, second = (1.0 / gap, t / gap) if b > scale else (-t * t / gap, -t / gap)
        width = scale if scale > 0.0 else 1.0
        for j in range(tiles.shape[2]):
            if not is_used(tiles, i, j):
                continue
            if is_close:
                for q in range(values.shape[0]):
                    values[q] = one_noise(abs(targets[j, q] - mean), b, scale)
            else:
                for q in range(values.shape[0]):
                    x = abs(targets[j, q] - mean)
                    values[q] = first * exp_of_negative(-x / b) - second * exp_of_negative(-x / width)
            add_weighted(tiles, i, j, values, sums)


@jit
def two_sided_tile(rows: Parameters, columns: Parameters, b: float, out: FloatArray) -> None:
    """``E exp(-|Z - Z'| / b)`` for Laplace distributions (m, r) and (m, c), to ``out`` (m, r, c)."""
    (means, scales), (other_means, other_scales) = rows, columns
    for tile in range(out.shape[0]):
        for i in range(out.shape[1]):
            for j in range(out.shape[2]):
                distance = abs(means[tile, i] - other_means[tile, j])
                out[tile, i, j] = two_noises(distance, b, scales[tile, i], other_scales[tile, j])
