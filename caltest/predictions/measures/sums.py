"""Kernels summed over all pairs of points of two finite sums of weighted points, in the fastest way there is."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod, sqrt

import numpy as np

from caltest._basics.numerics import FloatArray, ranges
from caltest._loops.formulas.kernels import IDENTITY
from caltest._loops.pair_sums import lines, members
from caltest._loops.pair_sums.tiles import PRODUCT, sum_over_coordinates
from caltest._loops.stacks import redraws_last
from caltest.kernels import TargetKernel
from caltest.kernels.radial import Form, form_of
from caltest.predictions.measures.waves import Waves, gaussian_waves

POINTS = 2**16
"""Points of rows, and of columns, that are taken together."""

TILE = 512
"""Rows, and columns, that are taken together at most."""

VALUES = 2**18
"""Values of kernels that compiled loops do not know, and targets, that are taken together."""

NANOSECONDS_PAIR = 1.2
"""Measured time of a Gaussian function of a pair of points."""

NANOSECONDS_WAVE, NANOSECONDS_PRODUCT, NANOSECONDS_CALL = 0.5, 0.12, 30_000.0
"""Measured times of a wave at a point, of the product of a wave of two measures, and of all the rest."""

LARGEST = 2**22
"""Numbers in the sums of waves of a block, 32 MB."""


@dataclass(frozen=True, eq=False)
class Measures:
    """n measures ``sum_a w_a delta(x_a)`` each, with points x_a of dimension d and the same m weights w_a for all."""

    points: FloatArray
    """(..., n, m, d)."""
    weights: FloatArray
    """(m,)."""

    @property
    def n_points(self) -> int:
        """Number m of points of each."""
        return int(self.points.shape[-2])

    @property
    def dimension(self) -> int:
        """Dimension d of the points."""
        return int(self.points.shape[-1])

    def __sub__(self, other: "Measures") -> "Measures":
        points = np.concatenate([self.points, other.points], axis=-2)
        return Measures(points, np.concatenate([self.weights, -other.weights]))


def kernel_sums(kernel: TargetKernel, rows: Measures, columns: Measures, vectors: bool) -> FloatArray:
    """``sum_ab u_a v_b k(x_a, y_b)`` for rows (..., r) and columns (..., c), of shape (..., r, c).

    With m and m' points of each of a block of r rows and c columns, a pair takes the time

    - O(min(m, m')) for numbers and the exponential and Matern kernels, beside a sort of the points of the block,
    - O(F) for numbers and the Gaussian kernel, beside O(F (m / c + m' / r)), where F is 12 and 1.4 times the range of
      the points in units of the bandwidth, if that is less than m m',
    - O(m m' d) for all others.
    """
    form = form_of(kernel, rows.dimension, vectors)
    if form is None:
        return _in_blocks(lambda left, right: _by_tiles(kernel, left, right, vectors), rows, columns)
    return _in_blocks(lambda left, right: _block_sums(form, left, right), rows, columns)


def distance_sums(rows: Measures, columns: Measures) -> FloatArray:
    """``sum_ab u_a v_b |x_a - y_b|``, (..., r, c), with the Euclidean norm. Time O(r c m m' d)."""
    form = Form(IDENTITY, np.ones(rows.dimension))
    return _in_blocks(lambda left, right: _by_pairs(form, left, right), rows, columns)


def mixture_sums(kernel: TargetKernel, rows: Measures, weights: FloatArray, targets: FloatArray) -> FloatArray | None:
    """``sum_ij w_lij sum_a k(x_ia, y_bj) / m`` for rows (r,) of m points: (L, B).

    Weights (L, r, c), and targets (B, c) for numbers or (B, c, d) for vectors. For numbers in time
    O(r c m + B c log(B c)) for the exponential and Matern kernels and O(F (r m + r c + B c)) for the Gaussian one, else
    O(r c m d B); None if no compiled loop knows the kernel.
    """
    form = form_of(kernel, rows.dimension, targets.ndim == 3)
    if form is None:
        return None
    if targets.ndim == 2 and form.is_exponential:
        return _part_by_part(lambda one, some: sweep_mixture_sums(form, rows, one, some), weights, targets)
    if targets.ndim == 2 and form.is_gaussian:
        most = VALUES // weights.shape[1]
        waves = gaussian_waves(sqrt(2.0) * float(form.factors[0]), most, rows.points, targets)
        if waves is not None:
            sums = waves.of(rows.points[..., 0], rows.weights)
            return _part_by_part(lambda one, some: waves.mixture_sums(sums, one, some), weights, targets)
    points, y = np.ascontiguousarray(rows.points), redraws_last(targets)
    sums = members.redrawn_member_sums(form.settings, weights, points, y)
    return np.asarray(sums / rows.n_points)


def _part_by_part(
    function: Callable[[FloatArray, FloatArray], FloatArray], weights: FloatArray, targets: FloatArray
) -> FloatArray:
    """A function of weights (r, c) and some of the targets, (L, B) for weights (L, r, c) and targets (B, c)."""
    parts = list(ranges(targets.shape[0], max(1, VALUES // targets.shape[1])))
    return np.stack([np.concatenate([function(one, targets[part]) for part in parts]) for one in weights])


def _in_blocks(function: Callable[[Measures, Measures], FloatArray], rows: Measures, columns: Measures) -> FloatArray:
    """A function of measures (B, r) and (B, c) with values (B, r, c), computed block by block."""
    batch = np.broadcast_shapes(rows.points.shape[:-3], columns.points.shape[:-3])
    left, right = (np.broadcast_to(one.points, (*batch, *one.points.shape[-3:])) for one in (rows, columns))
    left, right = left.reshape(-1, *left.shape[-3:]), right.reshape(-1, *right.shape[-3:])
    r, c = left.shape[1], right.shape[1]
    out = np.empty((prod(batch), r, c))
    height, width = (min(TILE, max(1, POINTS // one.n_points)) for one in (rows, columns))
    depth = max(1, POINTS // max(min(r, height) * rows.n_points, min(c, width) * columns.n_points))
    for some in ranges(len(out), depth):
        for part in ranges(r, height):
            for other in ranges(c, width):
                one, two = Measures(left[some, part], rows.weights), Measures(right[some, other], columns.weights)
                out[some, part, other] = function(one, two)
    return out.reshape(*batch, r, c)


def _block_sums(form: Form, rows: Measures, columns: Measures) -> FloatArray:
    if rows.dimension == 1 and form.is_exponential:
        return sweep_sums(form, rows, columns)
    if rows.dimension == 1 and form.is_gaussian:
        batch, r, c = rows.points.shape[0], rows.points.shape[1], columns.points.shape[1]
        of_pairs = NANOSECONDS_PAIR * float(rows.points.size) * c * columns.n_points
        of_points = NANOSECONDS_WAVE * batch * (r * rows.n_points + c * columns.n_points)
        of_wave = of_points + 2.0 * NANOSECONDS_PRODUCT * batch * r * c
        most = min(LARGEST / (2 * batch * (r + c)), (of_pairs - NANOSECONDS_CALL) / of_wave)
        waves = gaussian_waves(sqrt(2.0) * float(form.factors[0]), most, rows.points, columns.points)
        if waves is not None:
            return sums_of_waves(waves, rows, columns)
    return _by_pairs(form, rows, columns)


def sums_of_waves(waves: Waves, rows: Measures, columns: Measures) -> FloatArray:
    """Sums over all pairs of points of rows (B, r) and columns (B, c), (B, r, c)."""
    left, right = (waves.of(one.points[..., 0], one.weights) for one in (rows, columns))
    return sum_over_coordinates(PRODUCT, waves.weighted(left), right)


def _by_pairs(form: Form, rows: Measures, columns: Measures) -> FloatArray:
    left, right = np.ascontiguousarray(rows.points), np.ascontiguousarray(columns.points)
    out = np.empty((left.shape[0], left.shape[1], right.shape[1]))
    members.pair_sums(form.settings, (left, rows.weights), (right, columns.weights), out)
    return out


def _by_tiles(kernel: TargetKernel, rows: Measures, columns: Measures, vectors: bool) -> FloatArray:
    """From values of the kernel for all pairs of points, a few rows and columns at a time."""
    batch, m, k = rows.points.shape[0], rows.n_points, columns.n_points
    size = max(1, int(sqrt(VALUES / (batch * m * k))))
    out = np.empty((batch, rows.points.shape[1], columns.points.shape[1]))
    for part in ranges(out.shape[1], size):
        left = rows.points[:, part].reshape(batch, -1, rows.dimension)
        for other in ranges(out.shape[2], size):
            right = columns.points[:, other].reshape(batch, -1, columns.dimension)
            if vectors:
                values = kernel.vector_target_tile(left, right)
            else:
                values = kernel.target_tile(left[..., 0], right[..., 0])
            values = values.reshape(batch, -1, m, right.shape[1] // k, k)
            out[:, part, other] = np.einsum("xiajb,a,b->xij", values, rows.weights, columns.weights, optimize=True)
    return out


def sweep_sums(form: Form, rows: Measures, columns: Measures) -> FloatArray:
    """Sums over all pairs of points of rows (B, r) and columns (B, c), (B, r, c).

    Each pair is met once, on the way forth or back, also if its points are equal. Time O(r c) for each point of the
    rows or of the columns, whichever has less, beside that of the sort.
    """
    if columns.n_points > rows.n_points:
        return sweep_sums(form, columns, rows).swapaxes(1, 2)
    batch, r, c = rows.points.shape[0], rows.points.shape[1], columns.points.shape[1]
    points = np.concatenate([one.points.reshape(batch, -1) for one in (rows, columns)], axis=1)
    weights = np.concatenate([np.tile(rows.weights, r), np.tile(columns.weights, c)])
    owners = np.concatenate([np.repeat(np.arange(r), rows.n_points), -1 - np.repeat(np.arange(c), columns.n_points)])
    order = np.argsort(points, axis=1)
    points, owners, weights = np.take_along_axis(points, order, axis=1), owners[order], weights[order]
    factor, out = float(form.factors[0]), np.zeros((batch, c, r))
    lines.add_from_the_left(form.kind, factor, points, owners, weights, out)
    points, owners, weights = (np.ascontiguousarray(one[:, ::-1]) for one in (-points, owners, weights))
    lines.add_from_the_left(form.kind, factor, points, owners, weights, out)
    return out.swapaxes(1, 2)


def sweep_mixture_sums(form: Form, rows: Measures, weights: FloatArray, targets: FloatArray) -> FloatArray:
    """``sum_ij w_ij sum_a k(x_ia, y_bj) / m`` for rows (r,) of m points, weights (r, c) and targets (B, c): (B,).

    Time O(r c m + B c log(B c)).
    """
    points = np.concatenate([rows.points.ravel(), targets.ravel()])
    owners = np.concatenate([np.repeat(np.arange(weights.shape[0]), rows.n_points), -1 - np.arange(targets.size)])
    order = np.argsort(points)
    points, owners, weights = points[order], owners[order], np.ascontiguousarray(weights)
    factor, out = float(form.factors[0]), np.zeros(targets.shape[0])
    lines.add_mixtures_from_the_left(form.kind, factor, points, owners, weights, out)
    points, owners = np.ascontiguousarray(-points[::-1]), np.ascontiguousarray(owners[::-1])
    lines.add_mixtures_from_the_left(form.kind, factor, points, owners, weights, out)
    return np.asarray(out / rows.n_points)
