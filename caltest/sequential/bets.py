"""Bets against calibration: on alternatives such as other temperatures, and on the witness function of a kernel."""

from abc import ABC, abstractmethod
from copy import copy
from typing import Self

import numpy as np

from caltest._basics.numerics import ranges
from caltest._basics.types import FloatArray
from caltest.estimators.kernel_errors.kernel_estimator import default_kernel
from caltest.kernels import ProductKernel
from caltest.predictions import Predictions, Sample
from caltest.sequential.witness import Witness


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


def log_capital(bets_log: FloatArray, weights: FloatArray) -> FloatArray:
    """``log sum_k w_k exp(L_k)`` for each column of logarithms (K, b), (b,)."""
    logs = bets_log + np.log(weights)[:, None]
    largest = logs.max(axis=0)
    return np.asarray(largest + np.log(np.exp(logs - largest).sum(axis=0)))


class LikelihoodBets(Bets):
    """One gambler for each alternative Q_k of the predictions: factors ``Q_k(Y_t | P_t) / P_t(Y_t)``.

    The mean of their capitals is the likelihood ratio of the distribution that mixes the alternatives in proportion to
    how well they predicted so far.
    """

    def __init__(self, predictions: Predictions) -> None:
        alternatives = predictions.law.alternatives()
        assert alternatives is not None
        self.weights = alternatives.weights

    def describe(self) -> str:
        return f"likelihood ratios of {len(self.weights)} alternatives"

    def log_factors(self, sample: Sample) -> tuple[FloatArray, Self]:
        """``log Q_k(y) / P(y)``; they do not depend on the past."""
        alternatives = sample.predictions.law.alternatives()
        if alternatives is None:
            raise ValueError(
                "predictions: got some without spread after others with one, for which no likelihood ratios are known; "
                'wanted continuous distributions only, or strategy="kernel"'
            )
        return alternatives.log_ratio_terms(np.asarray(sample.targets)), self


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
        return later._played(sample), later

    def _played(self, sample: Sample) -> FloatArray:
        factors, start = np.zeros((len(FRACTIONS), len(sample))), 0
        while self._witness is None and start < len(sample):
            start += self._wait(sample.take(slice(start, None)))
        for part in ranges(len(sample) - start, ROWS):
            place = slice(start + part.start, start + part.stop)
            factors[:, place] = self._stakes(sample.take(place))
        return factors

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
        """The kernel with the bandwidths of some predictions; None if they are all alike."""
        try:
            if self._kernel is None:
                return default_kernel(predictions, identical=None)[0]
            return self._kernel.resolve(predictions)
        except ValueError:
            return None

    def _stakes(self, sample: Sample) -> FloatArray:
        assert self._witness is not None
        values, least, near, self._witness = self._witness.values(sample)
        gains = np.divide(values, -least, out=np.zeros(len(sample)), where=-least > NO_WITNESS * near)
        return np.asarray(np.log1p(np.array(FRACTIONS)[:, None] * gains))
