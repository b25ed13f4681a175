"""What a list of alternatives to calibration is."""

from abc import ABC, abstractmethod

import numpy as np

from caltest._basics.types import Array, FloatArray


class Alternatives(ABC):
    """A list of alternatives for some predictions; with weights, which multiply what each observation adds."""

    weights: FloatArray
    """Of the alternatives, (K,), of sum 1."""

    @abstractmethod
    def log_ratios(self, targets: Array) -> FloatArray:
        """``sum_i log(Q_k(y_i | P_i) / P_i(y_i))`` for many targets (B, n) or (B, n, d): (K, B)."""

    @abstractmethod
    def log_ratio_terms(self, targets: Array) -> FloatArray:
        """``log(Q_k(y_i | P_i) / P_i(y_i))`` of each observation, for targets (n,) or (n, d): (K, n)."""

    @abstractmethod
    def sample(self, member: int, rng: np.random.Generator, size: int) -> Array:
        """Targets (size, n) or (size, n, d) drawn from one of the alternatives."""
