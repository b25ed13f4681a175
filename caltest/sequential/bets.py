"""Bets against calibration: on alternatives such as other temperatures, and on the witness function of a kernel."""

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from math import sqrt
from typing import Self

import numpy as np

from caltest._basics.numerics import Array, FloatArray, evenly_spaced, normalised, ranges
from caltest.estimators.kernel_errors.kernel_estimator import default_kernel
from caltest.hstatistics.sums.features import inverse_root
from caltest.kernels import ProductKernel, TargetKernel
from caltest.predictions import Predictions, Sample


class Bets(ABC):
    """Some gamblers, who stake their capital on one outcome after the other, at odds that are fair if calibrated.

    The capital of each is multiplied by a factor of mean 1 given the prediction and all that came before, so it is a
    martingale that starts at 1, and so is a weighted mean of capitals.
    """

    weights: FloatArray
    """Of the gamblers, (K,), of sum 1."""

    @abstractmethod
    def log_factors(self, sample: Sample) -> tuple[FloatArray, Self]:
        """Logarithms of the factors (K, b) for the next b observations, and the bets with these in the past.

        Bets do not change, so that an update that is interrupted leaves no trace.
        """

    @abstractmethod
    def describe(self) -> str:
        """On what is bet, in words."""


class LikelihoodBets(Bets):
    """One gambler for each alternative Q_k of the predictions: factors ``Q_k(Y_t | P_t) / P_t(Y_t)``."""

    def __init__(self, predictions: Predictions) -> None:
        odds = predictions.law.odds()
        assert odds is not None
        self.weights = odds.weights

    def describe(self) -> str:
        return f"likelihood ratios of {len(self.weights)} alternatives"

    def log_factors(self, sample: Sample) -> tuple[FloatArray, Self]:
        odds = sample.predictions.law.odds()
        if odds is None:
            raise ValueError(
                "predictions: got some without spread after others with one, for which no likelihood ratios are known; "
                'wanted continuous distributions only, or strategy="kernel"'
            )
        return odds.log_ratio_terms(np.asarray(sample.targets)), self


LANDMARKS = 64
"""Past targets by which numbers and vectors are described."""


@dataclass(frozen=True, eq=False)
class ClassFeatures:
    """Vectors ``phi`` that stand for ``k_Y(y, .) - E k_Y(Z, .)``, Z drawn from the prediction, of classes.

    They are ``R (e_y - p)`` for a root R of the matrix of the target kernel, ``R' R = A``: all outcomes can be tried.
    """

    root: FloatArray

    def of(self, sample: Sample) -> FloatArray:
        """``phi`` of each observation, (b, r); of mean 0 if the predictions are calibrated."""
        return np.asarray(self.root.T[sample.targets] - _probabilities(sample.predictions) @ self.root.T)

    def least(self, predictions: Predictions, weights: FloatArray) -> FloatArray:
        """A lower bound of ``weights . phi`` over all outcomes, for each prediction and row of weights (b, r): (b,)."""
        values = weights @ self.root
        return np.asarray(values.min(axis=1) - np.einsum("ik,ik->i", _probabilities(predictions), values))


def _probabilities(predictions: Predictions) -> FloatArray:
    """Rows of sum 1 up to double precision."""
    law = predictions.law.finite
    assert law is not None
    return normalised(law.probabilities)


@dataclass(frozen=True, eq=False)
class LandmarkFeatures:
    """Such vectors from landmarks among past targets, for numbers and vectors."""

    kernel: TargetKernel
    landmarks: Array
    map: FloatArray

    def of(self, sample: Sample) -> FloatArray:
        """As of ``ClassFeatures``."""
        law = sample.predictions.law.prepared(self.kernel)
        values = law.target_tile(self.kernel, np.asarray(sample.targets), self.landmarks)
        return np.asarray((values - law.expected_kernel(self.kernel, self.landmarks)) @ self.map)

    def least(self, predictions: Predictions, weights: FloatArray) -> FloatArray:
        """By the inequality of Cauchy and Schwarz, as no feature is longer than ``k_Y(y, .) - E k_Y(Z, .)``."""
        longest = sqrt(predictions.law.squared_diameter(self.kernel))
        return np.asarray(-longest * np.sqrt(np.einsum("ir,ir->i", weights, weights)))


def features_for(kernel: ProductKernel, past: Sample) -> ClassFeatures | LandmarkFeatures:
    """Features of the family; landmarks are targets of the past."""
    law, target_kernel = past.predictions.law, kernel.target_kernel
    if law.finite is not None:
        from caltest.hstatistics.redraws.of_labels import root_of

        return ClassFeatures(root_of(law.finite.gram(target_kernel)))
    distinct = np.unique(np.asarray(past.targets), axis=0)
    targets = distinct[evenly_spaced(len(distinct), LANDMARKS)]
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


FRACTIONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
"""Parts of what a gambler could stake without ever losing more than all of it."""

FIRST = 50
"""Observations from which bandwidths and landmarks are computed, before the first bet; twice as many if too alike."""

ROWS = 256
"""Observations whose kernels with all past ones are computed together."""

NO_WITNESS = 1e-12
"""Bounds this small, relative to the sum of kernels, are rounding: then nothing is staked."""


class KernelBets(Bets):
    """Gamblers with factors ``1 + lambda g_t(Y_t) / -min g_t``, one for each part lambda of the largest stake.

    The mean of their capitals bets a part that is learnt: the mean of all lambda in proportion to the capitals (the
    universal portfolio of Cover 1991).
    """

    weights = np.full(len(FRACTIONS), 1.0 / len(FRACTIONS))

    def __init__(self, kernel: ProductKernel | None, first: Predictions) -> None:
        if first.law.source is not None:
            raise TypeError(
                "predictions: got draws made by to_ensemble, over which expectations are not those of the predictions; "
                "wanted the distributions themselves for bets on a kernel"
            )
        self._kernel = kernel
        self._past: Sample | None = None
        self._witness: Witness | None = None
        self._next_attempt = FIRST

    def log_factors(self, sample: Sample) -> tuple[FloatArray, Self]:
        """``log(1 + lambda g / -min g)``; 0 for the first observations."""
        later = copy(self)
        factors, start = np.zeros((len(FRACTIONS), len(sample))), 0
        while later._witness is None and start < len(sample):
            start += later._wait(sample.take(slice(start, None)))
        for part in ranges(len(sample) - start, ROWS):
            place = slice(start + part.start, start + part.stop)
            some = sample.take(place)
            assert later._witness is not None
            values, least, near, later._witness = later._witness.values(some)
            gains = np.divide(values, -least, out=np.zeros(len(some)), where=-least > NO_WITNESS * near)
            factors[:, place] = np.log1p(np.array(FRACTIONS)[:, None] * gains)
        return factors, later

    def describe(self) -> str:
        return f"witness of k = {'that of the family' if self._kernel is None else self._kernel.describe()}"

    def _wait(self, sample: Sample) -> int:
        """Keep observations until there are enough for the settings; returns how many were kept."""
        past = sample if self._past is None else self._past.followed_by(sample)
        seen = 0 if self._past is None else len(self._past)
        if len(past) >= self._next_attempt:
            past = past.take(slice(0, self._next_attempt))
            self._next_attempt *= 2
            kernel = self._resolved(past.predictions)
            self._witness = None if kernel is None else Witness(kernel, past)
        self._past = past if self._witness is None else None
        return len(past) - seen

    def _resolved(self, predictions: Predictions) -> ProductKernel | None:
        """The kernel with the bandwidths of some predictions; None if they are all alike, but not for long."""
        try:
            if self._kernel is None:
                return default_kernel(predictions, identical=None if len(predictions) <= FIRST else 1.0)[0]
            return self._kernel.resolve(predictions)
        except ValueError:
            return None
