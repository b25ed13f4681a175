"""h of standard normal residuals: the kernel error of scores, whose distribution does not depend on the prediction.

With landmarks among the predictions and among the residuals, features ``psi`` of a prediction and ``phi`` of a
residual as in ``caltest.hstatistics.sums.features``, and ``M = sum_i psi_i phi_i'``, the sum of h over the pairs i != j
is ``|M|**2 - sum_i |psi_i|**2 |phi_i|**2``.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import ceil, sqrt

import numpy as np

from caltest._basics.numerics import FloatArray, ranges, weight_of_pairs
from caltest._basics.threads import threaded
from caltest.hstatistics.sums.features import inverse_root
from caltest.hstatistics.sums.grid import Grid
from caltest.hstatistics.sums.single_precision import DIGITS, Gaussians, squared_sums
from caltest.kernels import GaussianKernel, PredictionKernel
from caltest.predictions import MvNormal, Normal, Predictions

LANDMARKS, POINTS = 32, 64
"""Landmarks among the predictions, evenly spaced in their order, and among residuals that are vectors."""

RANGE, SPACING = 4.0, 0.75
"""Landmarks among residuals that are numbers: between minus and plus so many standard deviations, in bandwidths."""

FARTHEST = 8.0
"""Residuals that are numbers count as at most this far away on a grid."""

VALUES = 2**18
"""Numbers in the features of the redraws that are summed together."""

MANY = 100
"""Vectors from which on features have single precision, and pairs i = j stay in, which hardly add to the variance."""


def residual_means(
    psi: FloatArray, widths: Sequence[float], scores: FloatArray, weights: FloatArray | None = None
) -> FloatArray:
    """Means of h over the pairs for several bandwidths of a Gaussian kernel of residuals, (L, B).

    From ``prediction_features``, scores (B, n) or (B, n, d) that are standard normal given the predictions, and weights
    of the observations. Time O(n r B) for many numbers, O(n r (B s + r)) else.
    """
    if scores.ndim == 3 and scores.shape[2] == 1:
        scores = scores[:, :, 0]
    if weights is not None:
        psi = psi * weights[:, None]
    n, d = scores.shape[1], 1 if scores.ndim == 2 else scores.shape[2]
    on_grid = _OnGrid.of(tuple(widths)) if d == 1 else None
    if on_grid is not None and on_grid.grid.is_worth(n):
        sums = on_grid.sums(psi, scores)
    else:
        landmarks = [_ResidualLandmarks.of(width, d) for width in widths]
        if d > 1 and n >= MANY:
            sums = _sums_of_many(psi, landmarks, scores)
        else:
            parts = list(ranges(scores.shape[0], max(1, VALUES // (n * max(one.size for one in landmarks)))))
            some = threaded(
                lambda part: _sums(psi, landmarks, scores[part]), parts, len(parts), "residuals", products=True
            )
            sums = np.concatenate(list(some), axis=1)
    return np.asarray(sums / (n * (n - 1) if weights is None else 2.0 * weight_of_pairs(weights)))


def _sums(psi: FloatArray, landmarks: "list[_ResidualLandmarks]", scores: FloatArray) -> FloatArray:
    """Sums (L, B) from the features of each of the scores."""
    lengths, sums = np.einsum("is,is->i", psi, psi), []
    for one in landmarks:
        phi = one.features(scores)
        matrices = psi.T @ phi
        squares = np.einsum("bst,bst->b", matrices, matrices)
        sums.append(squares - np.einsum("bit,bit->bi", phi, phi) @ lengths)
    return np.stack(sums)


def _sums_of_many(psi: FloatArray, landmarks: "list[_ResidualLandmarks]", scores: FloatArray) -> FloatArray:
    """``|M|**2`` (L, B) for vectors, in single precision but for the sums."""
    order = sorted(range(len(landmarks)), key=lambda place: -landmarks[place].width)
    falling = [landmarks[place] for place in order]
    gaussians = Gaussians(falling[0].points, falling[0].width, [one.width / falling[0].width for one in falling])
    means, maps = [one.means for one in falling], [one.single_map for one in falling]
    sums = np.empty((len(landmarks), len(scores)))
    sums[order] = squared_sums(psi, gaussians, means, maps, scores)
    return sums


def prediction_features(kernel: PredictionKernel, predictions: Predictions) -> FloatArray:
    """``psi`` (n, r), from landmarks."""
    landmarks = predictions.evenly_spaced(LANDMARKS)
    return np.asarray(kernel.tile(predictions, landmarks) @ inverse_root(kernel.tile(landmarks, landmarks)))


class ResidualSums:
    """``M`` and the pairs i = j for parts of the observations, whose landmarks are among some of the predictions.

    For scores that are numbers, or vectors of d numbers; for several bandwidths of a Gaussian kernel of them.
    """

    def __init__(self, kernel: PredictionKernel, widths: Sequence[float], predictions: Predictions, d: int) -> None:
        self._kernel, self._predictions, self._d = kernel, predictions.evenly_spaced(LANDMARKS), d
        self._map = inverse_root(kernel.tile(self._predictions, self._predictions))
        self._landmarks = [_ResidualLandmarks.of(width, d) for width in widths]
        self._grid = _OnGrid.of(tuple(widths)) if d == 1 else None

    def adder(self, predictions: Predictions) -> Callable[[FloatArray], FloatArray]:
        """What gives the sums (B, W) for scores (B, n) or (B, n, d) of some predictions."""
        psi = np.asarray(self._kernel.tile(predictions, self._predictions) @ self._map)
        with_lengths = np.concatenate([psi, np.einsum("is,is->i", psi, psi)[:, None]], axis=1)
        grid = self._grid
        if grid is not None:
            return lambda scores: grid.grid.sums(scores, with_lengths, grid.totals)

        def one_by_one(scores: FloatArray) -> FloatArray:
            return np.stack(
                [np.concatenate([self._of(z, with_lengths, one) for one in self._landmarks]) for z in scores]
            )

        return one_by_one

    @staticmethod
    def _of(scores: FloatArray, with_lengths: FloatArray, landmarks: "_ResidualLandmarks") -> FloatArray:
        phi = landmarks.features(scores[None])[0]
        lengths = np.einsum("it,it->i", phi, phi) @ with_lengths[:, -1]
        return np.append(phi.T @ with_lengths[:, :-1], lengths)

    def means(self, sums: FloatArray, n: int) -> FloatArray:
        """Means of h over the pairs, (L, B), from the sums of all n observations."""
        r, first, means = self._map.shape[1], 0, []
        for size in (one.length for one in self._landmarks):
            squares = np.square(sums[:, first : first + size * r]).sum(axis=1)
            first += size * r + 1
            means.append((squares - sums[:, first - 1]) / (n * (n - 1.0)))
        return np.stack(means)


class _ResidualLandmarks:
    """Residuals by which others are described, for one bandwidth."""

    @staticmethod
    @lru_cache(16)
    def of(width: float, d: int) -> "_ResidualLandmarks":
        """Kept, as tests ask for them with every few redraws."""
        return _ResidualLandmarks(width, d)

    def __init__(self, width: float, d: int) -> None:
        self.width = width * sqrt(d)
        self._kernel = GaussianKernel(bandwidth=self.width)
        self._law: Predictions
        if d == 1:
            self.points = np.linspace(-RANGE, RANGE, ceil(2.0 * RANGE / (SPACING * width)) + 1)
            self._law = Normal([0.0], 1.0)
        else:
            self.points = np.random.default_rng(0).standard_normal((POINTS, d))
            self._law = MvNormal(np.zeros((1, d)), 1.0)
        gram = self._law.target_tile(self._kernel, self.points, self.points)
        self._map, self.single_map = inverse_root(gram), inverse_root(gram, DIGITS)
        self.means = self._law.expected_kernel(self._kernel, self.points)[0]
        self.size, self.length = self._map.shape

    def features(self, scores: FloatArray) -> FloatArray:
        """``phi`` of scores (B, n) or (B, n, d): (B, n, s)."""
        tile = self._law.target_tile(self._kernel, scores, self.points)
        tile -= self.means
        return np.asarray(tile @ self._map)


class _OnGrid:
    """Features of residuals that are numbers, for all bandwidths, at the nodes of a grid."""

    @staticmethod
    @lru_cache(4)
    def of(widths: tuple[float, ...]) -> "_OnGrid | None":
        """None for bandwidths that are too small."""
        grid = Grid.over(-FARTHEST, FARTHEST, min(widths))
        return None if grid is None else _OnGrid(grid, widths)

    def __init__(self, grid: Grid, widths: tuple[float, ...]) -> None:
        self.grid = grid
        phis = [_ResidualLandmarks.of(width, 1).features(grid.nodes[None])[0] for width in widths]
        self._phi = np.ascontiguousarray(np.concatenate(phis, axis=1).T)
        self._starts = np.cumsum([phi.shape[1] for phi in phis]) - [phi.shape[1] for phi in phis]
        self._squares = np.add.reduceat(np.square(self._phi), self._starts, axis=0)

    def sums(self, psi: FloatArray, scores: FloatArray) -> FloatArray:
        """``_sums`` with features interpolated between the nodes."""
        with_lengths = np.concatenate([psi, np.einsum("is,is->i", psi, psi)[:, None]], axis=1)
        return self.grid.sums(scores, with_lengths, self._reduced).T

    def totals(self, at_nodes: FloatArray) -> FloatArray:
        """M and the pairs i = j for each bandwidth, (B, W)."""
        matrices, diagonals = (self._phi @ at_nodes)[:, :, :-1], at_nodes[:, :, -1] @ self._squares.T
        parts = zip(np.split(matrices, self._starts[1:], axis=1), diagonals.T, strict=True)
        flat = [np.column_stack([matrix.reshape(len(matrix), -1), lengths]) for matrix, lengths in parts]
        return np.concatenate(flat, axis=1)

    def _reduced(self, at_nodes: FloatArray) -> FloatArray:
        matrices = self._phi @ at_nodes
        squares = np.add.reduceat(np.square(matrices[:, :, :-1]).sum(axis=2), self._starts, axis=1)
        return np.asarray(squares - at_nodes[:, :, -1] @ self._squares.T)
