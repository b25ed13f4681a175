"""Expectations of kernels under any continuous distributions of numbers, from a few quantiles of each.

With ``Z = Q(Phi(T))``, Q the quantile function of a distribution and T standard normal, ``E g(Z)`` is the integral of
``g(Q(Phi(t)))`` times the normal density, which the trapezoidal rule computes to more digits than any order has if the
function is smooth. Quantiles at a few t are exact; a polynomial through the nearest ones gives those between them.

``E k(Z, Z') = sum_f c_f (a_f a'_f + b_f b'_f)`` with the Fourier coefficients c_f of the kernel and the expectations
``a_f = E cos(f s Z)``, ``b_f = E sin(f s Z)`` by this rule, and alike ``E k(Z, y)``. Distributions are smooth, so few
frequencies matter also for kernels with a kink. Where this takes too many, as for distributions of very different
scales, kernels are summed over the points of the rule instead.
"""

from functools import cached_property
from math import erfc, isfinite, prod, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from caltest._basics.numerics import FloatArray, IntArray, evenly_spaced, ranges
from caltest.kernels import RadialKernel, TargetKernel
from caltest.predictions.measures.sums import MOST, Measures, Waves, kernel_sums, mixture_sums, radial_waves, reach

if TYPE_CHECKING:
    from caltest.predictions.numbers.univariate import Univariate

STEP = 0.3
"""Distance of the normal quantiles at whose levels quantiles are computed."""

N_QUANTILES = 32
"""Their number; the outermost ones have levels of 2e-6 and 1 - 2e-6."""

FINER = 8
"""How many times finer the rule is."""

NEAREST = 8
"""Quantiles that determine those between them, by a polynomial of degree 7."""


def _grid(step: float) -> FloatArray:
    last = STEP * (N_QUANTILES - 1) / 2.0
    return np.linspace(-last, last, round(2.0 * last / step) + 1)


def _weights(t: FloatArray) -> FloatArray:
    heights = np.exp(-0.5 * t**2)
    return np.asarray(heights / heights.sum())


def _interpolation(coarse: FloatArray, fine: FloatArray) -> FloatArray:
    """The matrix (fine, coarse) of Lagrange's polynomials of the nearest points."""
    start = np.floor((fine - coarse[0]) / STEP + 1e-9).astype(int) + 1 - NEAREST // 2
    places = np.clip(start, 0, len(coarse) - NEAREST)[:, None] + np.arange(NEAREST)
    near, itself = coarse[places], np.eye(NEAREST, dtype=bool)
    factors = (fine[:, None, None] - near[:, None]) / np.where(itself, 1.0, near[..., None] - near[:, None])
    matrix = np.zeros((len(fine), len(coarse)))
    np.put_along_axis(matrix, places, np.prod(np.where(itself, 1.0, factors), axis=-1), axis=1)
    return matrix


_COARSE, _FINE = _grid(STEP), _grid(STEP / FINER)

LEVELS = np.array([0.5 * erfc(-t / sqrt(2.0)) for t in _COARSE])
"""Levels at which quantiles are computed, (m,)."""

LEVEL_WEIGHTS = _weights(_COARSE)
"""Weights of the rule of these alone, (m,)."""

WEIGHTS = _weights(_FINE)
"""Weights of the finer rule."""

_BETWEEN = _interpolation(_COARSE, _FINE)


def refined(quantiles: FloatArray) -> FloatArray:
    """Quantiles (..., m) at ``LEVELS`` as points of the finer rule, in ascending order as they are."""
    low = np.repeat(quantiles[..., :-1], FINER, axis=-1)
    high = np.repeat(quantiles[..., 1:], FINER, axis=-1)
    middle = quantiles[..., N_QUANTILES // 2, None]
    points = (quantiles - middle) @ _BETWEEN.T + middle
    points[..., :-1] = np.fmin(np.fmax(points[..., :-1], low), high)
    points[..., ::FINER] = quantiles
    return points


TAILS = 5, 8
"""Quantiles beyond these, of levels 8e-4 or else 0.012 from both ends, are left out if they are far from all others."""

CLOSE, FARTHEST = 1e-3, 50.0
"""Points from which a kernel of a central quantile is below the first, or so many bandwidths away, are far away."""

SWEPT = 1024
"""Frequencies at most where sums over points take a single pass."""

SAMPLE, FREQUENCIES = 32, 48
"""Distributions, and frequencies, of which characteristic functions tell how many waves are needed."""

KEPT, NUMBERS = 8, 2**23
"""Kernels whose sums of waves are kept, and numbers in those of one at most, 64 MB."""

AT_ONCE = 2**20
"""Waves at targets that are computed together."""

RESOLVED = 1e-12
"""The smallest bandwidth as a share of the largest number: smaller distances are rounded away."""


class TooFine(ArithmeticError):
    """The bandwidth of a kernel is lost in the rounding of targets."""


class Waved(NamedTuple):
    """Waves, the interval on which they are the kernel, and sums of waves of the distributions if they are kept."""

    waves: Waves
    low: float
    high: float
    sums: FloatArray | None


class LawSums:
    """What all parts of n distributions share, computed when it is needed first.

    Several threads may compute the same numbers; all of them are functions of the distributions alone.
    """

    def __init__(self, predictions: "Univariate") -> None:
        self.predictions = predictions
        """All of them, (n,), which share nothing with others themselves."""
        self._waved: dict[tuple[TargetKernel, LawSums], Waved | None] = {}

    @cached_property
    def quantiles(self) -> FloatArray:
        """Quantiles at ``LEVELS``, (n, m)."""
        largest = np.finfo(np.float64).max
        quantiles = np.ascontiguousarray(self.predictions.quantile(LEVELS[:, None]).T)
        return np.clip(quantiles, -largest, largest)

    @cached_property
    def vectors(self) -> FloatArray:
        """Vectors (n, d) for the 2-Wasserstein distance."""
        return self.predictions.quantile_vectors(self)

    def __reduce__(self) -> Any:
        return LawSums, (self.predictions,)

    def waved(self, kernel: TargetKernel, other: "LawSums") -> Waved | None:
        """The waves for these distributions and others; None if sums over points take their place."""
        key = kernel, other
        if key not in self._waved:
            while len(self._waved) >= KEPT:
                self._waved.pop(next(iter(self._waved)), None)
            radial = kernel.radial
            found = (self._waves_without(tail, radial, other) for tail in TAILS if radial is not None)
            self._waved[key] = next((one for one in found if one is not None), None)
        return self._waved[key]

    def _waves_without(self, tail: int, kernel: RadialKernel, other: "LawSums") -> Waved | None:
        (low, high), (lowest, highest) = self._interval(kernel, tail), other._interval(kernel, tail)
        low, high = min(low, lowest), max(high, highest)
        if not (isfinite(4.0 * (high - low)) and kernel.width >= RESOLVED * max(-low, high)):
            raise TooFine
        most = MOST if kernel.exponential is None else SWEPT
        waves = radial_waves(kernel, low, high, lambda w: (self.power(w) + other.power(w)) / 2.0, most)
        if waves is None:
            return None
        keep = 2 * waves.size * len(self.quantiles) <= NUMBERS
        waved = Waved(waves, low, high, None)
        return waved._replace(sums=self._sums_of(waved, np.arange(len(self.quantiles)))) if keep else waved

    def _interval(self, kernel: RadialKernel, tail: int) -> tuple[float, float]:
        """Where the distributions are, but for tails that are far from all the rest."""
        q, near = self.quantiles, min(reach(kernel, CLOSE), FARTHEST * kernel.width)
        margin = 0.1 * (q[:, -1] - q[:, 0])
        low = max((q[:, tail] - near).min(), (q[:, 0] - margin).min())
        return float(low), float(min((q[:, -1 - tail] + near).max(), (q[:, -1] + margin).max()))

    def power(self, frequencies: FloatArray) -> FloatArray:
        """Mean of ``|E exp(i w Z)|**2`` over some of the distributions, at frequencies w."""
        return np.interp(np.log(frequencies), *self._powers)

    @cached_property
    def _powers(self) -> tuple[FloatArray, FloatArray]:
        """Logarithms of some frequencies, and the means there."""
        q = refined(self.quantiles[evenly_spaced(len(self.quantiles), SAMPLE)])
        middle, one = q.shape[1] // 2, round(FINER / STEP)
        widths = (q[:, middle + one] - q[:, middle - one]) / 2.0
        widths = widths[widths > 0.0]
        if widths.size == 0:
            return np.zeros(1), np.ones(1)
        frequencies = np.geomspace(1e-2 / widths.max(), 1e3 / widths.min(), FREQUENCIES)
        # Each point stands for a normal distribution as wide as its distance to the next: so high frequencies vanish.
        gaps = np.gradient(q, axis=1)
        powers = np.empty((len(q), FREQUENCIES))
        for f, w in enumerate(frequencies):
            weights = WEIGHTS * np.exp(-0.18 * np.square(w * gaps))
            phases = w * (q - q[:, middle, None])
            powers[:, f] = (weights * np.cos(phases)).sum(axis=1) ** 2 + (weights * np.sin(phases)).sum(axis=1) ** 2
        powers[(q[:, -1] == q[:, 0])] = 1.0
        return np.log(frequencies), powers.mean(axis=0)

    def sums(self, waved: Waved, rows: IntArray) -> FloatArray:
        """Expectations of waves under some of the distributions (..., r): (..., r, 2F)."""
        return self._sums_of(waved, rows) if waved.sums is None else waved.sums[rows]

    def _sums_of(self, waved: Waved, rows: IntArray) -> FloatArray:
        sums = np.empty((rows.size, 2 * waved.waves.size))
        for part in ranges(rows.size, AT_ONCE // len(WEIGHTS)):
            points = refined(self.quantiles[rows.reshape(-1)[part]])
            inside = (points >= waved.low) & (points <= waved.high)
            sums[part] = waved.waves.of(
                np.clip(points, waved.low, waved.high), WEIGHTS * inside, np.gradient(points, axis=-1)
            )
        return sums.reshape(*rows.shape, -1)

    def measures(self, kernel: TargetKernel, rows: IntArray) -> Measures:
        """Points with weights in the place of distributions, more of them where sums over them take a single pass."""
        every = FINER // 2 if kernel.exponential is None else 1
        weights = WEIGHTS[::every]
        return Measures(refined(self.quantiles[rows])[..., ::every, None], weights / weights.sum())

    def expected(self, kernel: TargetKernel, rows: IntArray, targets: FloatArray) -> FloatArray:
        """``E k(Z, y)`` for distributions in rows (..., r) and targets (..., c): (..., r, c)."""
        waved = self.waved(kernel, self)
        if waved is None:
            points = Measures(targets[..., None, None], np.ones(1))
            return kernel_sums(kernel, self.measures(kernel, rows), points, False)
        left = waved.waves.weighted(self.sums(waved, rows))
        y = np.clip(targets, waved.low, waved.high)[..., None]
        out = np.empty((*np.broadcast_shapes(rows.shape[:-1], y.shape[:-2]), rows.shape[-1], targets.shape[-1]))
        for part in ranges(targets.shape[-1], AT_ONCE // (2 * waved.waves.size * prod(targets.shape[:-1]))):
            np.matmul(left, waved.waves.of(y[..., part, :], np.ones(1)).swapaxes(-1, -2), out=out[..., part])
        return out

    def expected_of_pairs(
        self, kernel: TargetKernel, rows: IntArray, other: "LawSums", columns: IntArray
    ) -> FloatArray:
        """``E k(Z, Z')`` for distributions in rows (..., r) and others in columns (..., c): (..., r, c)."""
        waved, others = self.waved(kernel, other), other.waved(kernel, self)
        if waved is None or others is None:
            return kernel_sums(kernel, self.measures(kernel, rows), other.measures(kernel, columns), False)
        sums = waved.waves.weighted(self.sums(waved, rows))
        return np.asarray(np.matmul(sums, other.sums(others, columns).swapaxes(-1, -2)))

    def sums_of_targets(
        self, kernel: TargetKernel, rows: IntArray, weights: FloatArray, targets: FloatArray
    ) -> FloatArray | None:
        """``sum_ij w_lij E k(Z_i, y_bj)`` for weights (L, r, c), targets (B, c): (L, B); None for unknown kernels."""
        waved = self.waved(kernel, self)
        if waved is None:
            return _sums_of_points(kernel, self.measures(kernel, rows), weights, targets)
        y = np.clip(targets, waved.low, waved.high)
        return waved.waves.mixture_sums(self.sums(waved, rows), weights, y)


def _sums_of_points(
    kernel: TargetKernel, laws: Measures, weights: FloatArray, targets: FloatArray
) -> FloatArray | None:
    """The same for each point as a row of its own."""
    points = Measures(laws.points.reshape(-1, 1, 1), np.ones(1))
    shares = np.tile(laws.weights, len(laws.points))[:, None]
    sums = [
        mixture_sums(kernel, points, np.repeat(one, laws.n_points, axis=0)[None] * shares, targets) for one in weights
    ]
    return None if sums[0] is None else np.concatenate([one for one in sums if one is not None])
