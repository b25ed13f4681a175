"""Numbers and vectors: shifted and scaled normal scores."""

from math import prod

import numpy as np

from caltest._basics.types import Array, FloatArray
from caltest.predictions.alternatives.base import Alternatives
from caltest.predictions.base import Predictions

SHIFTS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Differences of means, in standard deviations."""

SCALES = (1 / 3, 1 / 2, 2 / 3, 0.8, 0.9, 1.1, 1.25, 1.5, 2.0, 3.0)
"""Ratios of standard deviations."""


class NormalAlternatives(Alternatives):
    """Shifted means, one coordinate at a time, and other scales of normal scores: half of the weight each.

    Targets are numbers, of the shape (), or vectors, of the shape (d,).
    """

    def __init__(self, law: Predictions, weights: FloatArray | None = None, target_shape: tuple[int, ...] = ()) -> None:
        self._law, self._target_shape = law, target_shape
        dimension = self._d = prod(target_shape)
        self._row_weights = np.ones(len(law)) if weights is None else weights
        shifts = [(sign * s, t) for s in SHIFTS for sign in (1.0, -1.0) for t in range(dimension)]
        self._shifts = np.array([shift for shift, _ in shifts])
        self._coordinates = np.array([t for _, t in shifts])
        halves = (len(shifts), len(SCALES))
        self.weights = np.concatenate([np.full(size, 0.5 / size) for size in halves])

    def log_ratios(self, targets: Array) -> FloatArray:
        """From the sums of the scores and of their squares."""
        z = self._law.standard_scores(targets)
        vectors = z[..., None] if z.ndim == 2 else z
        n, sums = self._row_weights.sum(), np.einsum("bid,i->bd", vectors, self._row_weights)
        shifted = self._shifts[:, None] * sums[:, self._coordinates].T - n * np.square(self._shifts)[:, None] / 2.0
        scales = np.array(SCALES)[:, None]
        squares = np.square(vectors).sum(axis=2) @ self._row_weights
        scaled = 0.5 * (1.0 - 1.0 / scales**2) * squares - n * self._d * np.log(scales)
        return np.concatenate([shifted, scaled])

    def log_ratio_terms(self, targets: Array) -> FloatArray:
        """From the scores."""
        z = self._law.standard_scores(targets[None])[0]
        vectors = z[:, None] if z.ndim == 1 else z
        shifted = self._shifts[:, None] * vectors[:, self._coordinates].T - np.square(self._shifts)[:, None] / 2.0
        scales = np.array(SCALES)[:, None]
        scaled = 0.5 * (1.0 - 1.0 / scales**2) * np.square(vectors).sum(axis=1) - self._d * np.log(scales)
        return np.concatenate([shifted, scaled]) * self._row_weights

    def sample(self, member: int, rng: np.random.Generator, size: int) -> Array:
        """Targets whose scores are normal with another mean or scale."""
        z = rng.standard_normal((size, len(self._law), *self._target_shape))
        if member < self._shifts.size:
            z[(..., self._coordinates[member]) if self._target_shape else ...] += self._shifts[member]
        else:
            z *= SCALES[member - self._shifts.size]
        return self._law.of_standard_scores(z)
