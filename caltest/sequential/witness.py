"""The witness function: where outcomes so far differed from what was predicted, as a function of the next outcome."""

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from math import sqrt
from typing import Self

import numpy as np

from caltest._basics.types import Array, FloatArray
from caltest.hstatistics.sums.features import inverse_root
from caltest.kernels import ProductKernel, TargetKernel
from caltest.predictions import Predictions, Sample
from caltest.predictions.classes.finite import FinitePredictions

LANDMARKS = 64
"""Past targets by which numbers and vectors are described."""


class TargetFeatures(ABC):
    """Vectors ``phi`` that stand for ``k_Y(y, .) - E k_Y(Z, .)``, Z drawn from the prediction."""

    @abstractmethod
    def of(self, sample: Sample) -> FloatArray:
        """``phi`` of each observation, (b, r); of mean 0 if the predictions are calibrated."""

    @abstractmethod
    def least(self, predictions: Predictions, weights: FloatArray) -> FloatArray:
        """A lower bound of ``weights . phi`` over all outcomes, for each prediction and row of weights (b, r): (b,)."""


@dataclass(frozen=True, eq=False)
class ClassFeatures(TargetFeatures):
    """``R (e_y - p)`` for a root R of the matrix of the target kernel, ``R' R = A``: all outcomes can be tried."""

    root: FloatArray

    def of(self, sample: Sample) -> FloatArray:
        law = sample.predictions.law.finite
        assert law is not None
        return np.asarray(self.root.T[sample.targets] - _probabilities(law) @ self.root.T)

    def least(self, predictions: Predictions, weights: FloatArray) -> FloatArray:
        assert predictions.law.finite is not None
        values = weights @ self.root
        return np.asarray(values.min(axis=1) - np.einsum("ik,ik->i", _probabilities(predictions.law.finite), values))


def _probabilities(law: FinitePredictions) -> FloatArray:
    """Rows of sum 1 up to double precision."""
    return np.asarray(law.probabilities / law.probabilities.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class LandmarkFeatures(TargetFeatures):
    """Features from landmarks among past targets, for numbers and vectors."""

    kernel: TargetKernel
    landmarks: Array
    map: FloatArray

    def of(self, sample: Sample) -> FloatArray:
        law = sample.predictions.law.prepared(self.kernel)
        values = law.target_tile(self.kernel, np.asarray(sample.targets), self.landmarks)
        return np.asarray((values - law.expected_kernel(self.kernel, self.landmarks)) @ self.map)

    def least(self, predictions: Predictions, weights: FloatArray) -> FloatArray:
        """By the inequality of Cauchy and Schwarz, as no feature is longer than ``k_Y(y, .) - E k_Y(Z, .)``."""
        longest = sqrt(predictions.law.squared_diameter(self.kernel))
        return np.asarray(-longest * np.sqrt(np.einsum("ir,ir->i", weights, weights)))


def features_for(kernel: ProductKernel, past: Sample) -> TargetFeatures:
    """Features of the family; landmarks are targets of the past."""
    law, target_kernel = past.predictions.law, kernel.target_kernel
    if law.finite is not None:
        from caltest.hstatistics.redraws.of_labels import root_of

        return ClassFeatures(root_of(law.finite.gram(target_kernel)))
    distinct = np.unique(np.asarray(past.targets), axis=0)
    targets = distinct[np.arange(min(LANDMARKS, len(distinct))) * len(distinct) // min(LANDMARKS, len(distinct))]
    return LandmarkFeatures(target_kernel, targets, inverse_root(law.target_tile(target_kernel, targets, targets)))


class Witness:
    """``g_t(y) = sum_{s<t} k_P(P_s, P_t) phi_s . phi_t(y)``, of mean 0 given P_t and the past, as phi is centred.

    Time O(t r) for an observation after t others, memory O(t r).
    """

    def __init__(self, kernel: ProductKernel, past: Sample) -> None:
        self._kernel = kernel
        self._features = features_for(kernel, past)
        self._predictions = past.predictions
        self._phi = self._features.of(past)

    def values(self, sample: Sample) -> tuple[FloatArray, FloatArray, FloatArray, Self]:
        """``g_t(y_t)``, a lower bound of ``g_t``, and ``sum_{s<t} k_P(P_s, P_t)`` of the next observations, (b,) each.

        Each of them is part of the past of those after it; last comes the witness with all of them in its past.
        """
        new = sample.predictions
        tile = self._kernel.prediction_kernel.tile
        phi = self._features.of(sample)
        before, among = tile(self._predictions, new), np.triu(tile(new, new), k=1)
        weights = before.T @ self._phi + among.T @ phi
        near = before.sum(axis=0) + among.sum(axis=0)
        later = copy(self)
        later._predictions = self._predictions.followed_by(new)
        later._phi = np.concatenate([self._phi, phi])
        return np.einsum("ir,ir->i", weights, phi), self._features.least(new, weights), near, later
