"""What a bet against calibration is."""

from abc import ABC, abstractmethod
from typing import Self

import numpy as np

from caltest._types import FloatArray
from caltest.predictions import Sample


class Bets(ABC):
    """Some gamblers, who stake their capital on one outcome after the other, at odds that are fair if calibrated.

    The capital of each is multiplied by a factor of mean 1 given the prediction and all that came before, so it is a
    martingale that starts at 1, and so is a weighted mean of capitals.
    """

    weights: FloatArray
    """Of the gamblers, (K,), of sum 1."""

    findings: tuple[str, ...]
    """What it means if a gambler wins, in words."""

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
