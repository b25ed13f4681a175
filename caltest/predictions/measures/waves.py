"""Gaussian kernels summed over points of the line as scalar products of sums of waves."""

from dataclasses import dataclass
from math import inf, pi, sqrt
from typing import Self

import numpy as np

from caltest._loops import waves
from caltest._loops.tiles import PRODUCT, sum_over_coordinates
from caltest._types import FloatArray
from caltest.predictions.measures.measures import Measures

PERIOD_BEYOND = 9.0
"""A sum of waves repeats the Gaussian function; so far from it, it is below 3e-18."""

LAST_FREQUENCY = 8.6
"""Waves of higher frequencies have weights that sum to 8e-18."""

LARGEST = 2**22
"""Numbers in the sums of waves of a block, 32 MB."""

NANOSECONDS_WAVE, NANOSECONDS_PRODUCT, NANOSECONDS_CALL = 0.5, 0.12, 30_000.0
"""Measured times of a wave at a point, of the product of a wave of two measures, and of all the rest."""


@dataclass(frozen=True)
class Waves:
    """``exp(-(factor (x - y))**2 / 2)`` for points of an interval as a sum of products of waves, to 1e-15.

    By Poisson's formula ``sum_l g(x + 2 pi l / s)``, g(x) = exp(-x**2 / 2), is ``s / (2 pi)**0.5 sum_f g(f) cos(f x)``
    over all multiples f of s. For a small step s only l = 0 counts, and only few f do; and cos(f (x - y)) is
    cos(f x) cos(f y) + sin(f x) sin(f y).
    """

    factor: float
    centre: float
    step: float

    @classmethod
    def between(cls, factor: float, *points: FloatArray) -> Self:
        """Waves for the interval of some points."""
        low, high = min(float(one.min()) for one in points), max(float(one.max()) for one in points)
        return cls(factor, low / 2.0 + high / 2.0, max(2.0 * pi / (factor * (high - low) + PERIOD_BEYOND), 1e-300))

    @property
    def size(self) -> int:
        """Number F of frequencies."""
        return int(LAST_FREQUENCY / self.step) + 1

    def nanoseconds(self, rows: Measures, columns: Measures) -> float:
        """About how long ``sums`` takes; infinite if it takes too much memory."""
        batch, r, c = rows.points.shape[0], rows.points.shape[1], columns.points.shape[1]
        if 2.0 * LAST_FREQUENCY * batch * (r + c) > LARGEST * self.step:
            return inf
        n_points = batch * (r * rows.n_points + c * columns.n_points)
        one = NANOSECONDS_WAVE * n_points + 2.0 * NANOSECONDS_PRODUCT * batch * r * c
        return float(NANOSECONDS_CALL + self.size * one)

    def sums(self, rows: Measures, columns: Measures) -> FloatArray:
        """Sums over all pairs of points of rows (B, r) and columns (B, c), (B, r, c)."""
        return sum_over_coordinates(PRODUCT, self._of(rows) * self._weights(), self._of(columns))

    def mixture_sums(self, rows: Measures, weights: FloatArray, targets: FloatArray) -> FloatArray:
        """``sum_ij w_ij sum_a u_a k(x_ia, y_bj)`` for rows (r,), weights (r, c) and targets (B, c): (B,)."""
        mixtures = (self._of(rows) * self._weights()).T @ weights
        phases = self._phases(targets)
        out = np.empty(targets.shape[0])
        waves.values_of_waves(np.cos(phases), np.sin(phases), mixtures, out)
        return out

    def _weights(self) -> FloatArray:
        """Weights of cosines and sines, (2F,)."""
        weights = self.step * sqrt(2.0 / pi) * np.exp(-0.5 * (self.step * np.arange(self.size)) ** 2)
        weights[0] *= 0.5
        return np.tile(weights, 2)

    def _phases(self, points: FloatArray) -> FloatArray:
        return np.asarray(self.step * self.factor * (points - self.centre))

    def _of(self, measures: Measures) -> FloatArray:
        """Sums of cosines and of sines over the points, (..., n, 2F)."""
        shape = measures.points.shape[:-2]
        phases = np.ascontiguousarray(self._phases(measures.points).reshape(-1, measures.n_points).T)
        out = np.empty((2 * self.size, phases.shape[1]))
        waves.wave_sums(np.cos(phases), np.sin(phases), measures.weights, out)
        return out.T.reshape(*shape, out.shape[0])
