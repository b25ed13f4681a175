"""h as a scalar product of features of finite length: sums over pairs in time proportional to n.

With r landmarks among the predictions and W the matrix of their kernel, ``psi(p) = W**-1/2 k_P(landmarks, p)`` has
``psi(p) . psi(p') = k_P(p, p')`` for landmarks and approximates it elsewhere (Williams and Seeger 2001). In the same
way ``phi(y)`` stands for ``k_Y(y, .) - E k_Y(Z, .)``: exactly for finitely many outcomes, from landmarks among the
targets otherwise. Then, with the matrix ``M = sum_i phi_i psi_i'``::

    sum_{i != j} h_ij = |M|**2 - sum_i |psi_i|**2 |phi_i|**2
"""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Self

import numpy as np

from caltest._basics.numerics import Array, FloatArray, Sums, check_memory, ranges, weight_of_pairs
from caltest._basics.threads import threaded
from caltest._loops.pair_sums.redraws import changes_by_class, gathered_sums
from caltest.hstatistics.sums.grid import Grid
from caltest.hstatistics.sums.single_precision import DIGITS, Gaussians, squared_sums
from caltest.kernels import ProductKernel
from caltest.predictions import Predictions
from caltest.predictions.bandwidth import MEDIAN_OF

ROWS = 8192
"""Observations whose features are computed together."""

NUMBERS = 512
"""The same for targets that are numbers or vectors, which take an exponential function for each landmark."""

AT_NODES = 2**16
"""The same for numbers whose features are known at the nodes of a grid."""

REACH = 6.0
"""Bandwidths beyond which Gaussian kernels are 0, to 2e-8."""

GOLDEN = (5.0**0.5 - 1.0) / 2.0
"""Rows whose multiples of it have the smallest fractional parts are spread evenly over all, and over every period."""

TILES = 2**18
"""Numbers in the kernel of the targets of the redraws that are summed together."""

SUMS = 2**22
"""Numbers in the matrices M of the redraws that are summed together, 32 MB for each thread."""


@dataclass(frozen=True, eq=False)
class FeatureSums(Sums):
    """What the pairs of n observations need: M, (B, t, s), and ``sum_i |psi_i|**2 |phi_i|**2``, (B,), for B targets."""

    n: int
    matrices: FloatArray
    diagonal: FloatArray


@dataclass(frozen=True, eq=False)
class Features:
    """The maps psi and phi, from landmarks."""

    kernel: ProductKernel
    landmarks: Predictions
    prediction_map: FloatArray
    targets: Array
    target_map: FloatArray

    def __eq__(self, other: object) -> bool:
        """Whether the landmarks and the kernel are the same, so that sums of both add up."""
        if not isinstance(other, Features) or self.kernel != other.kernel:
            return False
        if type(self.landmarks) is not type(other.landmarks) or self.target_map.shape != other.target_map.shape:
            return False
        mine, theirs = (self.kernel.prediction_kernel.tile(self.landmarks, one.landmarks) for one in (self, other))
        return np.array_equal(mine, theirs) and np.array_equal(self.targets, other.targets)

    @classmethod
    def at_landmarks(cls, kernel: ProductKernel, predictions: Predictions, rank: int, rng: np.random.Generator) -> Self:
        """Features from at most ``rank`` of the predictions, spread over all, and a target drawn from each if real."""
        among = predictions.evenly_spaced(MEDIAN_OF)
        landmarks = among.take(np.sort(np.argsort(np.arange(len(among)) * GOLDEN % 1.0)[:rank]))
        prediction_map = inverse_root(kernel.prediction_kernel.tile(landmarks, landmarks))
        if predictions.finite is not None:
            return cls(kernel, landmarks, prediction_map, np.empty(0), predictions.finite.gram(kernel.target_kernel))
        targets = landmarks.redraw(rng)
        tile = landmarks.law.target_tile(kernel.target_kernel, targets, targets)
        target_map = inverse_root(tile, DIGITS) if targets.ndim == 2 else inverse_root(tile)
        return cls(kernel, landmarks, prediction_map, targets, target_map)

    def means(self, sums: FeatureSums, unbiased: bool) -> FloatArray:
        """Mean of h over the pairs i != j, or over all pairs, for each of the targets, (B,)."""
        n, matrices = sums.n, sums.matrices
        transformed = matrices if self._is_plain else self.target_map @ matrices
        squares: FloatArray = np.einsum("bts,bts->b", matrices, transformed)
        return (squares - sums.diagonal) / (n * (n - 1)) if unbiased else squares / n**2

    def estimates(
        self,
        predictions: Predictions,
        targets: Array,
        unbiased: bool,
        weights: FloatArray | None = None,
        dtype: type = np.float64,
    ) -> FloatArray:
        """``means`` for many targets (B, n) without keeping the sums of all. Time O(n r (d + r + B)).

        With weights w of the observations those of ``w_i w_j h_ij``. Sums over observations of a part, of labels and
        of numbers or vectors where each is computed, have the precision of a type.
        """
        n, is_gaussian = len(predictions), self.kernel.target_kernel.gaussian is not None
        if is_gaussian and targets.ndim == 3 and dtype == np.float32 and not unbiased:
            means = self._single_squares(predictions, targets, weights) / n**2
        else:
            groups = list(ranges(targets.shape[0], max(1, SUMS // self._size())))
            sums = (self._sums(predictions, targets[group], weights, unbiased, dtype) for group in groups)
            means = np.concatenate([self.means(one, unbiased) for one in sums])
        if weights is None:
            return means
        pairs, all_pairs = (n * (n - 1), 2.0 * weight_of_pairs(weights)) if unbiased else (n**2, weights.sum() ** 2)
        return np.asarray(means * (pairs / all_pairs))

    def sums(self, predictions: Predictions, targets: Array) -> FeatureSums:
        """Sums for many targets (B, n). Time O(n r (d + r + B)), memory O(B t r) and a few MB for each thread."""
        check_memory(
            8 * targets.shape[0] * self._size(),
            "sums of features for all redraws",
            (targets.shape[0], "redraws"),
            "take a lower rank",
        )
        groups = list(ranges(targets.shape[0], max(1, SUMS // self._size())))
        sums = [self._sums(predictions, targets[group], None, True, np.float64) for group in groups]
        matrices, diagonals = [one.matrices for one in sums], [one.diagonal for one in sums]
        return FeatureSums(len(predictions), np.concatenate(matrices), np.concatenate(diagonals))

    @property
    def _is_plain(self) -> bool:
        """Whether ``|M|**2`` sums h: of landmarks among the targets, and where only equal labels count."""
        return self.landmarks.finite is None or self.kernel.target_kernel.is_identity

    def _size(self) -> int:
        return int(self.prediction_map.shape[1] * self.target_map.shape[1])

    def _sums(
        self, predictions: Predictions, targets: Array, weights: FloatArray | None, diagonal: bool, dtype: type
    ) -> FeatureSums:
        is_finite, n = predictions.finite is not None, len(predictions)
        on_grid = self._grid is not None and self._grid.is_worth(n)

        def part_sums(part: slice) -> FeatureSums:
            here, some = predictions.take(part), targets[:, part]
            features = self._prediction_features(here)
            if weights is not None:
                features *= weights[part, None]
            if is_finite:
                return self._finite_sums(here, some, features, dtype)
            if on_grid:
                return self._grid_sums(here, some, features, self._expected(predictions, part), diagonal)
            return self._real_sums(here, some, features, diagonal, dtype)

        if on_grid:
            return reduce(operator.add, map(part_sums, ranges(n, AT_NODES)))
        # As many of one size for each of two threads, so that the small products of redraws are shared among both.
        pairs = -(-n // (2 * (ROWS if is_finite else NUMBERS)))
        parts = list(ranges(n, -(-n // (2 * pairs))))
        return reduce(operator.add, threaded(part_sums, parts, len(parts), "features", products=True))

    def adder(self, predictions: Predictions) -> Callable[[Array], FloatArray]:
        """What gives M, (B, t, s), for many real targets (B, n) or (B, n, d) of some predictions, whichever others are.

        That is on a grid if there is one, however few the predictions are.
        """
        kernel, grid = self.kernel.target_kernel, self._grid
        features, law = self._prediction_features(predictions), predictions.law
        means = (law.expected_at_few(kernel, self.targets) @ self.target_map).T @ features
        if grid is not None:
            phi = (law.target_tile(kernel, grid.nodes, self.targets) @ self.target_map).T
            return lambda targets: grid.sums(targets, features, lambda at_nodes: phi @ at_nodes) - means

        def one_by_one(targets: Array) -> FloatArray:
            tiles = (law.target_tile(kernel, y, self.targets) for y in targets)
            return np.stack([self.target_map.T @ (tile.T @ features) for tile in tiles]) - means

        return one_by_one

    def diagonal(self, predictions: Predictions, targets: Array) -> float:
        """``sum_i |psi_i|**2 |phi_i|**2`` of real targets (n,) or (n, d)."""
        features = self._prediction_features(predictions)
        return float(self._real_sums(predictions, targets[None], features, True, np.float64).diagonal[0])

    def _prediction_features(self, predictions: Predictions) -> FloatArray:
        """``psi``, (n, s)."""
        return np.asarray(self.kernel.prediction_kernel.tile(predictions, self.landmarks) @ self.prediction_map)

    def _finite_sums(self, predictions: Predictions, targets: Array, features: FloatArray, dtype: type) -> FeatureSums:
        """M with phi = e_y - p: that of the most probable labels, and of changes from them in some precision."""
        law = predictions.finite
        assert law is not None
        outcomes = law.outcomes(self.kernel.target_kernel, targets)
        rounded: Array = features.astype(dtype, copy=False)
        p, changes = outcomes.probabilities, changes_by_class(rounded, outcomes.base, outcomes.labels, law.n_classes)
        matrices = changes + outcomes.anchors.T @ features
        means = p if self._is_plain else p @ self.target_map
        norms = np.diag(self.target_map) - 2.0 * means + np.einsum("ik,ik->i", means, p)[:, None]
        norms *= np.einsum("is,is->i", features, features)[:, None]
        return FeatureSums(len(law), matrices, gathered_sums(norms, outcomes.labels))

    def _real_sums(
        self, predictions: Predictions, targets: Array, features: FloatArray, diagonal: bool, dtype: type
    ) -> FeatureSums:
        """M with phi from landmarks among the targets, of which products with psi have a precision."""
        law, target_kernel = predictions.law, self.kernel.target_kernel
        expected = law.expected_at_few(target_kernel, self.targets)
        matrices = np.empty((len(targets), self.target_map.shape[1], features.shape[1]))
        diagonals, lengths = np.zeros(len(matrices)), np.einsum("is,is->i", features, features)
        columns: Array = np.ascontiguousarray(features.T, dtype=dtype)
        for some in ranges(len(targets), max(1, TILES // expected.size)):
            tiles = law.target_tile(target_kernel, targets[some], self.targets)
            tiles -= expected
            matrices[some] = (columns @ tiles.astype(dtype, copy=False) @ self.target_map).swapaxes(1, 2)
            if diagonal:
                phi = tiles @ self.target_map
                diagonals[some] = np.einsum("bit,bit,i->b", phi, phi, lengths)
        return FeatureSums(len(features), matrices, diagonals)

    def _single_squares(self, predictions: Predictions, targets: Array, weights: FloatArray | None) -> FloatArray:
        """``|M|**2`` of many vectors (B, n, d) for a Gaussian kernel of targets, in single precision, (B,)."""
        kernel, features = self.kernel.target_kernel, self._prediction_features(predictions)
        assert kernel.gaussian is not None
        if weights is not None:
            features *= weights[:, None]
        gaussians = Gaussians(self.targets, kernel.gaussian.widths(self.targets.shape[1]))
        means = predictions.law.expected_at_few(kernel, self.targets)
        (squares,) = squared_sums(features, gaussians, [means], [self.target_map], targets)
        return np.asarray(squares)

    @cached_property
    def _grid(self) -> Grid | None:
        """Nodes where kernels of the targets, numbers, are not 0; None for others than Gaussian ones."""
        terms = self.kernel.target_kernel.gaussian_terms
        if self.landmarks.finite is not None or self.targets.ndim > 1 or terms is None:
            return None
        widths = [term.width for _, term in terms]
        reach = REACH * max(widths)
        return Grid.over(self.targets.min() - reach, self.targets.max() + reach, min(widths))

    def _expected(self, predictions: Predictions, part: slice) -> FloatArray:
        """``E phi`` of some predictions, (n, t). What was asked for last is kept: a test asks for it several times."""
        known: tuple[Predictions, slice, FloatArray] | None = vars(self).get("_latest")
        if known is None or known[0] is not predictions or known[1] != part:
            means = predictions.take(part).law.expected_at_few(self.kernel.target_kernel, self.targets)
            known = predictions, part, means @ self.target_map
            vars(self)["_latest"] = known
        return known[2]

    def _grid_sums(
        self, predictions: Predictions, targets: Array, features: FloatArray, expected: FloatArray, diagonal: bool
    ) -> FeatureSums:
        """M with phi interpolated between the nodes of a grid."""
        lengths, grid = np.einsum("is,is->i", features, features), self._grid
        assert grid is not None
        phi = predictions.law.target_tile(self.kernel.target_kernel, grid.nodes, self.targets) @ self.target_map
        columns = [features, expected * lengths[:, None], lengths[:, None]] if diagonal else [features]
        r, squares = features.shape[1], np.square(phi).sum(axis=1)

        def reduced(at_nodes: FloatArray) -> FloatArray:
            """M and the sum of ``|psi|**2 (|phi(y)|**2 - 2 E phi . phi(y))``, but for the constants of both."""
            matrices = (phi.T @ at_nodes[:, :, :r]).reshape(len(at_nodes), -1)
            if not diagonal:
                return matrices
            sums = at_nodes[:, :, -1] @ squares - 2.0 * np.einsum("gt,bgt->b", phi, at_nodes[:, :, r:-1])
            return np.concatenate([matrices, sums[:, None]], axis=1)

        sums = grid.sums(targets, np.concatenate(columns, axis=1), reduced)
        means, constant = expected.T @ features, float(lengths @ np.square(expected).sum(axis=1))
        matrices = sums[:, : means.size].reshape(-1, *means.shape) - means
        return FeatureSums(len(features), matrices, sums[:, -1] + constant if diagonal else np.zeros(len(sums)))


def inverse_root(matrix: FloatArray, least: float = 1e-10) -> FloatArray:
    """``V diag(w)**-1/2`` for the eigenvectors V with eigenvalues w above least of the largest, by default rounding."""
    values, vectors = np.linalg.eigh(matrix)
    kept = values > least * values[-1]
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))
