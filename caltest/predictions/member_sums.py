"""Kernels summed over all pairs of members of two ensembles, in the fastest way there is for the kernel.

A measure is a finite sum of weighted points: the members of an ensemble, an observed target, or their difference.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import pi, prod, sqrt

import numpy as np

from caltest._loops import members, sweeps, waves
from caltest._loops.tiles import PRODUCT, sum_over_coordinates
from caltest._numerics import ranges
from caltest._types import FloatArray, IntArray
from caltest.kernels import (
    ExponentialKernel,
    GaussianKernel,
    MaternKernel,
    RadialKernel,
    RationalQuadraticKernel,
    TargetKernel,
)

POINTS = 2**16
"""Points of rows, and of columns, that are taken together."""

TILE = 512
"""Rows, and columns, that are taken together at most."""

VALUES = 2**18
"""Values of other kernels that are computed together."""

PERIOD_BEYOND = 9.0
"""A sum of waves repeats the Gaussian function; so far from it, it is below 3e-18."""

LAST_FREQUENCY = 8.6
"""Waves of higher frequencies have weights that sum to 8e-18."""

NANOSECONDS_PAIR, NANOSECONDS_WAVE, NANOSECONDS_PRODUCT, NANOSECONDS_CALL = 1.2, 0.5, 0.12, 30_000.0
"""Measured times: a Gaussian of a pair of points, a wave at a point, a product of a pair of measures, and the rest."""


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
        """The differences, one by one."""
        points = np.concatenate([self.points, other.points], axis=-2)
        return Measures(points, np.concatenate([self.weights, -other.weights]))


@dataclass(frozen=True)
class Form:
    """A kernel as ``f(|factors (x - y)|)`` with f by the number of its kind."""

    kind: int
    factors: FloatArray
    shape: float = 0.0


def form_of(kernel: TargetKernel, d: int, vectors: bool) -> Form | None:
    """The kernel of numbers, or of vectors of d numbers, as a function known to compiled loops, or None."""
    if not isinstance(kernel, RadialKernel):
        return None
    with np.errstate(over="ignore"):
        # As finite numbers, so that their product with the distance 0 is 0.
        factors = np.minimum(1.0 / (kernel.widths(d) if vectors else np.array([kernel.width])), 1e300)
    if isinstance(kernel, GaussianKernel):
        return Form(members.GAUSSIAN, factors)
    if isinstance(kernel, ExponentialKernel) and kernel.exponent == 1.0:
        return Form(members.EXPONENTIAL, factors)
    if isinstance(kernel, ExponentialKernel) and kernel.exponent == 2.0:
        return Form(members.GAUSSIAN, sqrt(2.0) * factors)
    if isinstance(kernel, MaternKernel):
        kind = members.MATERN_3 if kernel.order == 1.5 else members.MATERN_5
        return Form(kind, sqrt(2.0 * kernel.order) * factors)
    if isinstance(kernel, RationalQuadraticKernel):
        return Form(members.RATIONAL, factors, kernel.shape)
    return None


def kernel_sums(kernel: TargetKernel, rows: Measures, columns: Measures, vectors: bool) -> FloatArray:
    """``sum_ab u_a v_b k(x_a, y_b)`` for rows (..., r) and columns (..., c), of shape (..., r, c).

    With m and m' points of each of a block of r rows and c columns, a pair takes the time

    - O(min(m, m')) for numbers and the exponential and Matern kernels, beside a sort of the points of the block,
    - O(F) for numbers and the Gaussian kernel, beside O(F (m / c + m' / r)), where F is 10 and a number proportional to
      the range of the points in units of the bandwidth, if that is less than m m',
    - O(m m' d) for all others.
    """
    form = form_of(kernel, rows.dimension, vectors)
    if form is None:
        return _in_blocks(lambda left, right: _by_tiles(kernel, left, right, vectors), rows, columns)
    return _in_blocks(lambda left, right: _block_sums(form, left, right), rows, columns)


def distance_sums(rows: Measures, columns: Measures) -> FloatArray:
    """``sum_ab u_a v_b |x_a - y_b|``, (..., r, c), with the Euclidean norm. Time O(r c m m' d)."""
    form = Form(members.DISTANCE, np.ones(rows.dimension))
    return _in_blocks(lambda left, right: _by_pairs(form, left, right), rows, columns)


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
    if rows.dimension == 1 and form.kind in (members.EXPONENTIAL, members.MATERN_3, members.MATERN_5):
        return _by_sweeps(form, rows, columns)
    if rows.dimension == 1 and form.kind == members.GAUSSIAN:
        factor = float(form.factors[0])
        low = min(float(one.points.min()) for one in (rows, columns))
        high = max(float(one.points.max()) for one in (rows, columns))
        frequencies = _frequencies(factor * (high - low), rows, columns)
        if frequencies is not None:
            return _by_waves(frequencies, factor, low / 2.0 + high / 2.0, rows, columns)
    return _by_pairs(form, rows, columns)


def _by_pairs(form: Form, rows: Measures, columns: Measures) -> FloatArray:
    """Pair of points by pair of points."""
    left, right = np.ascontiguousarray(rows.points), np.ascontiguousarray(columns.points)
    out = np.empty((left.shape[0], left.shape[1], right.shape[1]))
    members.pair_sums(form.kind, form.shape, form.factors, left, rows.weights, right, columns.weights, out)
    return out


def _by_sweeps(form: Form, rows: Measures, columns: Measures) -> FloatArray:
    """Along the sorted points of all rows and columns, forth and back; pairs are met once, points that tie too."""
    if columns.n_points > rows.n_points:
        return _by_sweeps(form, columns, rows).swapaxes(1, 2)
    batch, r, c = rows.points.shape[0], rows.points.shape[1], columns.points.shape[1]
    points = np.concatenate([rows.points.reshape(batch, -1), columns.points.reshape(batch, -1)], axis=1)
    weights = np.concatenate([np.tile(rows.weights, r), np.tile(columns.weights, c)])
    owners = np.concatenate([np.repeat(np.arange(r), rows.n_points), np.repeat(-1 - np.arange(c), columns.n_points)])
    order: IntArray = np.argsort(points, axis=1)
    points, owners, weights = np.take_along_axis(points, order, axis=1), owners[order], weights[order]
    out = np.zeros((batch, c, r))
    sweeps.add_from_the_left(form.kind, form.factors[0], points, owners, weights, out)
    points, owners, weights = (np.ascontiguousarray(one[:, ::-1]) for one in (-points, owners, weights))
    sweeps.add_from_the_left(form.kind, form.factors[0], points, owners, weights, out)
    return out.swapaxes(1, 2)


def _frequencies(spread: float, rows: Measures, columns: Measures) -> FloatArray | None:
    """Frequencies of waves that make a Gaussian function up to a distance, or None where pairs take less time."""
    step = 2.0 * pi / (spread + PERIOD_BEYOND)
    batch, r, c = rows.points.shape[0], rows.points.shape[1], columns.points.shape[1]
    n_points, pairs = batch * (r * rows.n_points + c * columns.n_points), float(batch * r * c)
    wave = NANOSECONDS_WAVE * n_points + 2.0 * NANOSECONDS_PRODUCT * pairs
    if NANOSECONDS_CALL + LAST_FREQUENCY / step * wave > NANOSECONDS_PAIR * pairs * rows.n_points * columns.n_points:
        return None
    frequencies: FloatArray = step * np.arange(int(LAST_FREQUENCY / step) + 1, dtype=np.float64)
    return frequencies


def _by_waves(frequencies: FloatArray, factor: float, centre: float, rows: Measures, columns: Measures) -> FloatArray:
    """Scalar products of sums of waves.

    By Poisson's formula ``sum_l g(x + 2 pi l / s)``, g(x) = exp(-x**2 / 2), is ``s / (2 pi)**0.5 sum_f g(f) cos(f x)``
    over all multiples f of s. For a small step s only l = 0 counts, and only few f do; and cos(f (x - y)) is
    cos(f x) cos(f y) + sin(f x) sin(f y).
    """
    step = frequencies[1]
    weights = step * sqrt(2.0 / pi) * np.exp(-0.5 * frequencies**2)
    weights[0] *= 0.5
    left, right = (_wave_sums(one, step * factor, centre, frequencies.size) for one in (rows, columns))
    return sum_over_coordinates(PRODUCT, left * np.tile(weights, 2), right)


def _wave_sums(measures: Measures, factor: float, centre: float, size: int) -> FloatArray:
    """Sums of cosines and of sines of ``size`` multiples of the phases, (B, n, 2 size)."""
    batch, n, m, _ = measures.points.shape
    phases = np.ascontiguousarray((factor * (measures.points - centre)).reshape(batch * n, m).T)
    out = np.empty((2 * size, batch * n))
    waves.wave_sums(np.cos(phases), np.sin(phases), measures.weights, out)
    return out.T.reshape(batch, n, 2 * size)


def _by_tiles(kernel: TargetKernel, rows: Measures, columns: Measures, vectors: bool) -> FloatArray:
    """From values of the kernel for all pairs of points, a few rows and columns at a time."""
    m, k = rows.n_points, columns.n_points
    height = max(1, int(sqrt(VALUES / (rows.points.shape[0] * m * k))))
    out = np.empty((rows.points.shape[0], rows.points.shape[1], columns.points.shape[1]))
    for part in ranges(out.shape[1], height):
        left = rows.points[:, part].reshape(out.shape[0], -1, rows.dimension)
        for other in ranges(out.shape[2], height):
            right = columns.points[:, other].reshape(out.shape[0], -1, columns.dimension)
            if vectors:
                values = kernel.vector_target_tile(left, right)
            else:
                values = kernel.target_tile(left[..., 0], right[..., 0])
            values = values.reshape(out.shape[0], -1, m, right.shape[1] // k, k)
            out[:, part, other] = np.einsum("xiajb,a,b->xij", values, rows.weights, columns.weights, optimize=True)
    return out
