"""Kernels summed over all pairs of points of two finite sums of weighted points, in the fastest way there is.

On the line kernels of a difference can be sums of waves, and their sums scalar products of those of the waves.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, pi, prod, sqrt

import numpy as np

from caltest._basics.arrays import read_only
from caltest._basics.numerics import FloatArray, ranges
from caltest._loops.formulas.kernels import IDENTITY
from caltest._loops.pair_sums import lines, members
from caltest._loops.pair_sums.tiles import PRODUCT, sum_over_coordinates
from caltest._loops.stacks import redraws_last
from caltest.kernels import TargetKernel
from caltest.kernels.radial import Form, RadialKernel, form_of

PERIOD_BEYOND = 9.0
"""A sum of waves repeats the Gaussian function; so far from it, it is below 3e-18."""

LAST_FREQUENCY = 8.6
"""Waves of higher frequencies have weights that sum to 8e-18."""

FADING = 2.2
"""Radians from one point to the next from which on a wave fades, up to twice that."""

IN_CACHE = 2**15
"""Numbers in sums of waves that are added to at once."""


@dataclass(frozen=True, eq=False)
class Waves:
    """A function of the difference of points of an interval as a sum of products of waves.

    A function of period L is ``sum_f c_f cos(f s x)``, s = 2 pi / L, and cos(f s (x - y)) is
    cos(f s x) cos(f s y) + sin(f s x) sin(f s y).
    """

    centre: float
    """Of the interval."""
    step: float
    """The frequency s, in radians."""
    heights: FloatArray
    """The coefficients c_f, (F,)."""

    @property
    def size(self) -> int:
        """Number F of frequencies."""
        return int(self.heights.size)

    def weighted(self, sums: FloatArray) -> FloatArray:
        """Sums of waves (..., 2F) times the coefficients, whose scalar products with others are sums of kernels."""
        return sums * np.tile(self.heights, 2)

    def mixture_sums(self, rows: FloatArray, weights: FloatArray, targets: FloatArray) -> FloatArray:
        """``sum_ij w_lij E k(Z_i, y_bj)`` for sums of waves (r, 2F), weights (L, r, c) and targets (B, c): (L, B)."""
        left = self.weighted(rows).T

        def values(one: FloatArray, some: FloatArray) -> FloatArray:
            phases, out = self._phases(some), np.empty(len(some))
            lines.values_of_waves(np.cos(phases), np.sin(phases), left @ one, np.empty((3, phases.shape[1])), out)
            return out

        return _by_parts(values, weights, targets)

    def _phases(self, points: FloatArray) -> FloatArray:
        return np.asarray(self.step * (points - self.centre))

    def of(self, points: FloatArray, weights: FloatArray, gaps: FloatArray | float = 0.0) -> FloatArray:
        """Sums of cosines and of sines over points (..., n, m) with weights that broadcast to them, (..., n, 2F).

        Points that stand for all numbers between their neighbours, at distances (..., n, m), have no part in waves that
        are shorter: these cancel between them.
        """
        shape, m = points.shape[:-1], points.shape[-1]
        fades = np.broadcast_to(self.step / FADING * np.asarray(gaps), points.shape).reshape(-1, m).T
        phases, weights = (
            one.reshape(-1, m).T for one in (self._phases(points), np.broadcast_to(weights, points.shape))
        )
        sums = np.empty((phases.shape[1], 2 * self.size))
        for part in ranges(len(sums), max(8, IN_CACHE // self.size)):
            out = np.zeros((2 * self.size, part.stop - part.start))
            some = np.ascontiguousarray(phases[:, part])
            share, fade = (read_only(one[:, part], np.float64) for one in (weights, fades))
            lines.wave_sums(np.cos(some), np.sin(some), share, fade, np.empty((2, out.shape[1])), out)
            sums[part] = out.T
        return sums.reshape(*shape, sums.shape[1])


def gaussian_waves(factor: float, most: float, *points: FloatArray) -> Waves | None:
    """``exp(-(factor (x - y))**2 / 2)`` to 1e-15 for the interval of some points; None for more than ``most`` waves.

    By Poisson's formula ``sum_l g(x + 2 pi l / s)``, g(x) = exp(-x**2 / 2), is ``s / (2 pi)**0.5 sum_f g(f) cos(f x)``
    over all multiples f of s. For a small step s only l = 0 counts, and only few f do.
    """
    low, high = min(float(one.min()) for one in points), max(float(one.max()) for one in points)
    step = max(2.0 * pi / (factor * (high - low) + PERIOD_BEYOND), 1e-300)
    size = int(LAST_FREQUENCY / step) + 1
    if size > most:
        return None
    heights = step * sqrt(2.0 / pi) * np.exp(-0.5 * (step * np.arange(size)) ** 2)
    heights[0] *= 0.5
    return Waves(low / 2.0 + high / 2.0, step * factor, heights)


MOST = 4096
"""Frequencies at most."""

FINER = 16
"""Points at which a kernel is computed, for each of so many frequencies."""

BIAS, NOISE = 1e-6, 1e-8
"""Of the waves that are left out: their share in the mean of h, and in its variance, at most."""

TOLERATED = 10.0
"""So many times these shares are left out where less takes too many waves."""

NEGLIGIBLE = 1e-12
"""A kernel below it is taken as 0 around a period."""

FAR = np.logspace(-3.0, 12.0, 601)
"""Distances in bandwidths at which the reach of a kernel is looked for."""

Power = Callable[[FloatArray], FloatArray]
"""Mean over predictions of ``|E exp(i w Z)|**2`` at frequencies w."""


def reach(kernel: RadialKernel, value: float) -> float:
    """The distance from which on a kernel is at most a value; infinite if it is so nowhere."""
    distances = FAR * kernel.width
    below = kernel.of_distance(distances.copy()) <= value
    return float(distances[np.argmax(below)]) if below[-1] else inf


def radial_waves(kernel: RadialKernel, low: float, high: float, power: Power, most: int) -> Waves | None:
    """The waves of a kernel that predictions on an interval tell apart; None if these are more than ``most``.

    The period is twice the interval, so that no two points are closer around it than within it, or the interval and the
    reach of the kernel, whichever takes less waves: in the middle of the first the series has a kink, which costs
    nothing more if the kernel has one, and the second can be much longer.
    """
    size = max(high - low, 1e-3 * kernel.width)
    periods = 2.0 * size, size + min(reach(kernel, NEGLIGIBLE), 1e3 * size)
    choices = [_series(kernel, low / 2.0 + high / 2.0, period, power, most) for period in periods]
    return min((one for one in choices if one is not None), key=lambda one: one.size, default=None)


def _series(kernel: RadialKernel, centre: float, period: float, power: Power, most: int) -> Waves | None:
    step, n = 2.0 * pi / period, FINER * MOST
    values = kernel.of_distance(np.linspace(0.0, period / 2.0, n + 1))
    # The cosine series of an even function on a circle of 2 n points.
    heights = np.fft.irfft(values)[: n + 1] * 2.0
    heights[0] *= 0.5
    places = np.unique(np.round(np.geomspace(1.0, n, 400)))
    powers = np.interp(np.log(np.arange(1, n + 1)), np.log(places), power(step * places))
    if _needed(np.abs(heights[1:]), powers, TOLERATED) > most:
        return None
    size = min(_needed(np.abs(heights[1:]), powers, 1.0), most)
    return Waves(centre, step, heights[:size])


def _needed(heights: FloatArray, powers: FloatArray, tolerated: float) -> int:
    """How many frequencies, with 0, leave out at most shares of ``sum_f (c_f (1 - P_f))**a``, a = 1 and 2."""
    needed = 1
    for exponent, share in ((1, BIAS), (2, NOISE)):
        left_out = np.cumsum((heights**exponent * powers)[::-1])[::-1]
        total = float(np.sum((heights * (1.0 - powers)) ** exponent))
        needed = max(needed, 1 + int(np.count_nonzero(left_out > tolerated**exponent * share * total)))
    return needed


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
        return _by_parts(lambda one, some: sweep_mixture_sums(form, rows, one, some), weights, targets)
    if targets.ndim == 2 and form.is_gaussian:
        most = VALUES // weights.shape[1]
        waves = gaussian_waves(sqrt(2.0) * float(form.factors[0]), most, rows.points, targets)
        if waves is not None:
            return waves.mixture_sums(waves.of(rows.points[..., 0], rows.weights), weights, targets)
    points, y = np.ascontiguousarray(rows.points), redraws_last(targets)
    sums = members.redrawn_member_sums(form.settings, weights, points, y)
    return np.asarray(sums / rows.n_points)


def _by_parts(
    function: Callable[[FloatArray, FloatArray], FloatArray], weights: FloatArray, targets: FloatArray
) -> FloatArray:
    """A function of weights (r, c) and some of the targets, (L, B) for weights (L, r, c) and targets (B, c)."""
    parts = list(ranges(targets.shape[0], VALUES // targets.shape[1]))
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
    size = int(sqrt(VALUES / (batch * m * k)))
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
