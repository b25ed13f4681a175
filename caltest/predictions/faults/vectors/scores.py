"""What faults of vectors see of targets: the scores of their coordinates, and predicted correlations of these."""

from functools import cached_property
from math import log

import numpy as np
import scipy

from caltest._basics.calls import kept
from caltest._basics.numerics import FloatArray
from caltest.predictions.faults.numbers.scores import Scores

MOST_PAIRED = 32
"""Coordinates that are compared in pairs."""

HARDLY = 0.05
"""Predicted correlations that are called none."""


class VectorScores(Scores):
    """Errors of vectors in standard deviations of their coordinates, and the predicted correlations of these."""

    _summed: tuple[FloatArray, FloatArray] | None = None

    @cached_property
    def _root(self) -> FloatArray | None:
        """Matrices F (n, d, d) with residuals ``F e`` of errors e, or None if these are the same."""
        roots: FloatArray | None = getattr(self.law, "precision_roots", None)
        return roots

    @cached_property
    def errors(self) -> FloatArray:
        """Those of the first targets, (n, d)."""
        if self.corrected is not None:
            return self.corrected
        return self.residuals if self._root is None else self.errors_of(self.residuals)

    def errors_of(self, residuals: FloatArray) -> FloatArray:
        """Errors with these residuals, (n, d)."""
        if self._root is None:
            return residuals
        return np.asarray(np.linalg.solve(self._root, residuals[..., None])[..., 0], dtype=np.float64)

    @cached_property
    def residuals(self) -> FloatArray:
        """The same without predicted correlations."""
        if self.corrected is None or self._root is None:
            return super().residuals
        return np.asarray((self._root @ self.errors[..., None])[..., 0])

    @cached_property
    def drifts(self) -> FloatArray:
        """``K e`` with the inverse correlations K, (n, d): minus the derivatives of the log density."""
        if self._root is None:
            return self.residuals
        return np.asarray((self.residuals[:, None] @ self._root)[:, 0])

    def precision(self, a: int, b: int) -> FloatArray:
        """Entries (n,) of the inverse correlations."""
        if self._root is None:
            return np.full(len(self.errors), float(a == b))
        return np.asarray(self._precisions[a, b])

    @cached_property
    def _precisions(self) -> FloatArray:
        """The inverse correlations, (d, d, n), of which an entry is asked for often."""
        assert self._root is not None
        return np.ascontiguousarray((self._root.swapaxes(1, 2) @ self._root).transpose(1, 2, 0))

    def log_moved(self, errors: FloatArray, moved: FloatArray, coordinates: list[int] | slice) -> FloatArray:
        if self._root is None:
            return super().log_moved(errors, moved, coordinates)
        steps = (moved - errors).T
        if isinstance(coordinates, slice):
            changes = (self._root @ steps[..., None])[..., 0]
            return np.asarray(-(steps * self.drifts).sum(axis=1) - 0.5 * np.square(changes).sum(axis=1))
        (a,), step = coordinates, steps[:, 0]
        return np.asarray(-step * self.drifts[:, a] - 0.5 * np.square(step) * self.precision(a, a))

    def correlation(self, a: int, b: int) -> FloatArray:
        """Predicted ones of two coordinates, (n,)."""
        return np.zeros(len(self.errors)) if self._root is None else np.asarray(self._correlations[:, a, b])

    def are_independent(self, a: int, b: int) -> bool:
        return bool((np.abs(self.precision(a, b)) < HARDLY).all())

    @cached_property
    def _correlations(self) -> FloatArray:
        return np.asarray(np.linalg.inv(self._precisions.transpose(2, 0, 1)), dtype=np.float64)

    def product_sums(self, features: FloatArray) -> FloatArray:
        """``sum_i f_ji z_ia z_ib`` for features (J, n) and each two of the first coordinates a < b, (J, pairs, B).

        Those of the features that were asked for last are kept, because several faults use parts of them.
        """
        if self._summed is None or self._summed[0] is not features:
            z = np.ascontiguousarray(self.clipped[:, :, :MOST_PAIRED].swapaxes(1, 2))
            n_redraws, d, n = z.shape
            memory = np.empty((n_redraws, d - 1, n))
            sums, first = np.empty((n_redraws, d * (d - 1) // 2, len(features))), 0
            for a in range(d - 1):
                some = slice(first, first + d - 1 - a)
                np.matmul(np.multiply(z[:, [a]], z[:, a + 1 :], out=memory[:, a:]), features.T, out=sums[:, some])
                first = some.stop
            self._summed = features, sums.transpose(2, 1, 0)
        return self._summed[1]

    @kept
    def in_coordinate(self, t: int) -> Scores:
        """Errors of a coordinate as those of numbers, which are asked for often."""
        return Scores(self.law, self.targets[..., t], self.given_weights, corrected=self.errors[:, t])

    @kept
    def recorded(self, t: int) -> Scores:
        """What faults see of the outcomes of a coordinate, before any correction."""
        law = self.law.coordinate(t)
        assert law is not None
        return Scores(law, self.targets[:1, :, t], self.given_weights)

    @kept
    def log_exchanged(self, a: int, b: int) -> FloatArray:
        """Log ratios (n,) of the densities of the first targets with two coordinates exchanged, and as they are."""
        y = self.targets[:1].copy()
        y[:, :, [a, b]] = y[:, :, [b, a]]
        return np.asarray(0.5 * (self.squares - np.square(self.law.standard_scores(y)[0])).sum(axis=1))

    @kept
    def correlation_of_members(self, a: int, b: int) -> float:
        """The most likely one of their errors."""
        errors = self.errors_of_members[:, [a, b]]
        found = scipy.optimize.minimize_scalar(
            lambda r: -float(self.log_of_correlation(errors, r).sum()), bounds=(-0.999, 0.999), method="bounded"
        )
        return float(found.x)

    def log_of_correlation(self, errors: FloatArray, r: float) -> FloatArray:
        """Log density of errors (N, 2) of two coordinates with this correlation, but for a constant."""
        assert self._m is not None
        df, rest = self._m - 1.0, 1.0 - r * r
        squares = (np.square(errors).sum(axis=1) - 2.0 * r * errors[:, 0] * errors[:, 1]) / rest
        return np.asarray(-0.5 * log(rest) - 0.5 * (df + 2.0) * np.log1p(squares / df))
