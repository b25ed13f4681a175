"""h of standard normal residuals: the kernel error of scores, whose distribution does not depend on the prediction.

With landmarks among the predictions and among the residuals, features ``psi`` of a prediction and ``phi`` of a
residual as in ``caltest.hstatistics.sums.features``, and ``M = sum_i psi_i phi_i'``, the sum of h over the pairs i != j
is ``|M|**2 - sum_i |psi_i|**2 |phi_i|**2``.
"""

from collections.abc import Sequence
from math import ceil, sqrt

import numpy as np

from caltest._basics.numerics import FloatArray, ranges, weight_of_pairs
from caltest._basics.threads import threaded
from caltest.hstatistics.sums.features import inverse_root
from caltest.kernels import GaussianKernel, PredictionKernel
from caltest.predictions import MvNormal, Normal, Predictions

LANDMARKS = 64
"""Landmarks among the predictions, evenly spaced in their order; and among residuals that are vectors."""

RANGE, SPACING = 4.0, 0.75
"""Landmarks among residuals that are numbers: between minus and plus so many standard deviations, in bandwidths."""

VALUES = 2**18
"""Numbers in the features of the redraws that are summed together."""


def residual_means(
    prediction_kernel: PredictionKernel,
    widths: Sequence[float],
    predictions: Predictions,
    scores: FloatArray,
    weights: FloatArray | None = None,
) -> FloatArray:
    """Means of h over the pairs for several bandwidths of a Gaussian kernel of residuals, (L, B).

    Scores (B, n) or (B, n, d) that are standard normal given the predictions; weights of the observations. Time
    O(n r (B s + r)).
    """
    if scores.ndim == 3 and scores.shape[2] == 1:
        scores = scores[:, :, 0]
    psi = _prediction_features(prediction_kernel, predictions)
    if weights is not None:
        psi *= weights[:, None]
    lengths = np.einsum("is,is->i", psi, psi)
    n, d = scores.shape[1], 1 if scores.ndim == 2 else scores.shape[2]
    sums = []
    for width in widths:
        landmarks = _ResidualLandmarks(width, d)

        def part_sums(part: slice, landmarks: "_ResidualLandmarks" = landmarks) -> FloatArray:
            phi = landmarks.features(scores[part])
            matrices = np.tensordot(psi.T, phi, axes=(1, 1))
            squares = np.einsum("sbt,sbt->b", matrices, matrices)
            return np.asarray(squares - np.einsum("bit,bit->bi", phi, phi) @ lengths)

        parts = list(ranges(scores.shape[0], max(1, VALUES // (n * landmarks.size))))
        sums.append(np.concatenate(list(threaded(part_sums, parts, len(parts), "residuals", products=True))))
    return np.asarray(np.stack(sums) / (n * (n - 1) if weights is None else 2.0 * weight_of_pairs(weights)))


def _prediction_features(kernel: PredictionKernel, predictions: Predictions) -> FloatArray:
    landmarks = predictions.evenly_spaced(LANDMARKS)
    return np.asarray(kernel.tile(predictions, landmarks) @ inverse_root(kernel.tile(landmarks, landmarks)))


class _ResidualLandmarks:
    """Residuals by which others are described, for one bandwidth."""

    def __init__(self, width: float, d: int) -> None:
        self._kernel = GaussianKernel(bandwidth=width * sqrt(d))
        self._law: Predictions
        if d == 1:
            self._points = np.linspace(-RANGE, RANGE, ceil(2.0 * RANGE / (SPACING * width)) + 1)
            self._law = Normal([0.0], 1.0)
        else:
            self._points = np.random.default_rng(0).standard_normal((LANDMARKS, d))
            self._law = MvNormal(np.zeros((1, d)), 1.0)
        self._map = inverse_root(self._law.target_tile(self._kernel, self._points, self._points))
        self._means = self._law.expected_kernel(self._kernel, self._points)[0]
        self.size = self._points.shape[0]

    def features(self, scores: FloatArray) -> FloatArray:
        """``phi`` of scores (B, n) or (B, n, d): (B, n, s)."""
        tile = self._law.target_tile(self._kernel, scores, self._points)
        tile -= self._means
        return np.asarray(tile @ self._map)
