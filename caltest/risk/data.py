"""What a calibration error is estimated from: points of a simplex or an interval, and deviations from the outcomes."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from caltest._basics.types import Array, FloatArray, IntArray
from caltest.predictions import Predictions, Sample
from caltest.risk.spectrum import KernelSpectrum

Projected = tuple[KernelSpectrum, FloatArray]
"""Eigenvalues and eigenfunctions of a kernel, and the deviations in the basis of its eigenvectors."""


@dataclass(frozen=True, eq=False)
class CalibrationData:
    """Points x_i (n, d), outcomes (n,) and deviations D_i (n, d) of n observations.

    Probability vectors p of k classes: d = k, x = p, D = p - e_y. Probabilities p of the outcome 1: d = 1, x = p,
    D = p - y. Top labels and single classes are of the second kind.
    """

    points: FloatArray
    outcomes: IntArray
    deviations: FloatArray
    _projected: dict[tuple[float, float, int], Projected] = field(default_factory=dict, init=False, repr=False)

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

    def projected(self, gamma: float, tolerance: float, max_rank: int) -> Projected:
        """Spectrum of the Gaussian kernel of the points, and ``U'D`` (r, d), computed once for all that need them."""
        key = (gamma, tolerance, max_rank)
        if key not in self._projected:
            spectrum, left = KernelSpectrum.of(self.points, *key)
            self._projected[key] = spectrum, left.T @ self.deviations
        return self._projected[key]


def points_of(predictions: Predictions) -> FloatArray:
    """Points (n, d) that predictions are; ``TypeError`` unless they are of classes."""
    return np.array(predictions.to_array(), dtype=np.float64).reshape(len(predictions), -1)
