"""What a calibration error is estimated from: points, deviations from the outcomes, and the spectrum of a kernel."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from caltest._basics.numerics import Array, FloatArray, IntArray, ranges
from caltest.predictions import Predictions, Sample

ROWS = 2048
"""Points whose kernel values are computed together."""


@dataclass(frozen=True, eq=False)
class KernelSpectrum:
    """``K = U diag(l) U'`` of rank r for ``K_ij = exp(-gamma |x_i - x_j|**2)``, and its eigenfunctions anywhere.

    Landmarks are chosen one after the other where the kernel is approximated worst (pivoted incomplete Cholesky), until
    the error of every ``k(x_i, x_i) = 1`` is at most the tolerance or there are as many as allowed. With the triangular
    factor L of the landmarks and F = K_{., landmarks} L'**-1, K = F F', and F = U diag(sqrt(l)) V' by singular values:
    the eigenvalues of F' F would lose half of the digits of the small ones.
    """

    landmarks: FloatArray
    gamma: float
    factor: FloatArray
    right: FloatArray
    roots: FloatArray
    residual: float
    """Largest error of a ``k(x_i, x_i)``."""

    @classmethod
    def of(cls, points: FloatArray, gamma: float, tolerance: float, max_rank: int) -> tuple[Self, FloatArray]:
        """The spectrum of points (n, d), and U (n, r). Time O(n r (d + r)), memory O(n r)."""
        columns, pivots, residual = pivoted_cholesky(points, gamma, tolerance, max_rank)
        orthogonal, triangle = np.linalg.qr(columns.T)
        inner, roots, right = np.linalg.svd(triangle)
        factor = np.tril(columns[:, pivots].T)
        return cls(points[pivots], gamma, factor, right.T, roots, residual), orthogonal @ inner

    def vectors(self, points: FloatArray) -> FloatArray:
        """``k(p)' U diag(1 / sqrt(l))`` for points (m, d), (m, r): their scalar products approximate the kernel."""
        from scipy.linalg import solve_triangular

        vectors = np.empty((len(points), self.roots.size))
        for part in ranges(len(points), ROWS):
            kernel = gaussian_kernel(self.landmarks, points[part], self.gamma)
            vectors[part] = solve_triangular(self.factor, kernel, lower=True, check_finite=False).T @ self.right
        return vectors


def pivoted_cholesky(
    points: FloatArray, gamma: float, tolerance: float, max_rank: int
) -> tuple[FloatArray, IntArray, float]:
    """Columns F' (r, n) with K = F F' up to the largest error on the diagonal, the pivots (r,), and that error."""
    n = len(points)
    columns = np.empty((min(max_rank, n), n))
    pivots = np.empty(len(columns), dtype=np.intp)
    errors = np.ones(n)
    for rank in range(len(columns)):
        pivot = int(np.argmax(errors))
        if errors[pivot] <= tolerance:
            return columns[:rank], pivots[:rank], float(errors[pivot])
        column = gaussian_kernel(points[pivot : pivot + 1], points, gamma)[0]
        column -= columns[:rank, pivot] @ columns[:rank]
        column /= np.sqrt(errors[pivot])
        column[pivots[:rank]] = 0.0
        columns[rank], pivots[rank] = column, pivot
        errors -= column * column
        errors[pivot] = 0.0
    return columns, pivots, float(errors.max())


def gaussian_kernel(rows: FloatArray, columns: FloatArray, gamma: float) -> FloatArray:
    """``exp(-gamma |x - x'|**2)`` for all pairs, (r, c)."""
    squares = np.einsum("id,id->i", rows, rows)[:, None] + np.einsum("id,id->i", columns, columns)
    distances = np.maximum(squares - 2.0 * (rows @ columns.T), 0.0)
    return np.asarray(np.exp(-gamma * distances))


@dataclass(frozen=True, eq=False)
class CalibrationData:
    """Points x_i (n, d), outcomes (n,) and deviations D_i (n, d) of n observations.

    Probability vectors p of k classes: d = k, x = p, D = p - e_y. Probabilities p of the outcome 1: d = 1, x = p,
    D = p - y. Top labels and single classes are of the second kind.
    """

    points: FloatArray
    outcomes: IntArray
    deviations: FloatArray
    _projected: dict[tuple[float, float, int], tuple[KernelSpectrum, FloatArray]] = field(
        default_factory=dict, init=False, repr=False
    )

    @classmethod
    def of(cls, sample: Sample) -> Self:
        """The data of checked predictions and labels."""
        points = points_of(sample.predictions)
        outcomes = np.asarray(sample.targets, dtype=np.intp)
        deviations = points.copy()
        if points.shape[1] == 1:
            deviations[:, 0] -= outcomes
        else:
            deviations[np.arange(outcomes.size), outcomes] -= 1.0
        return cls(points, outcomes, deviations)

    def __len__(self) -> int:
        return int(self.points.shape[0])

    @property
    def dimension(self) -> int:
        """Length d of a point: 1, or the number of classes."""
        return int(self.points.shape[1])

    def take(self, index: Array) -> Self:
        """The observations at an index."""
        return type(self)(self.points[index], self.outcomes[index], self.deviations[index])

    def projected(self, gamma: float, tolerance: float, max_rank: int) -> tuple[KernelSpectrum, FloatArray]:
        """Spectrum of the Gaussian kernel of the points, and ``U'D`` (r, d), computed once for all that need them."""
        key = (gamma, tolerance, max_rank)
        if key not in self._projected:
            spectrum, left = KernelSpectrum.of(self.points, *key)
            self._projected[key] = spectrum, left.T @ self.deviations
        return self._projected[key]


def points_of(predictions: Predictions) -> FloatArray:
    """Points (n, d) that predictions are; ``TypeError`` unless they are of classes."""
    return np.array(predictions.to_array(), dtype=np.float64).reshape(len(predictions), -1)
