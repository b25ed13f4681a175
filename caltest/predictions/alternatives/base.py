"""What a list of alternatives to calibration is."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from caltest._basics.types import Array, FloatArray


@dataclass(frozen=True)
class Alternative:
    """One of the distributions, in words: how outcomes differ from what was predicted."""

    weight: float
    finding: str


class Alternatives(ABC):
    """A list of alternatives for some predictions; with weights, which multiply what each observation adds."""

    members: tuple[Alternative, ...]

    @property
    def log_weights(self) -> FloatArray:
        """Logarithms of the weights, (K,)."""
        return np.asarray(np.log([member.weight for member in self.members]))

    def most_likely(self, targets: Array) -> str:
        """The alternative with the largest share of the likelihood ratio of targets (n,) or (n, d), in words."""
        shares = self.log_ratios(targets[None])[:, 0] + self.log_weights
        return str(self.members[int(np.argmax(shares))].finding)

    @abstractmethod
    def log_ratios(self, targets: Array) -> FloatArray:
        """``sum_i log(Q_k(y_i | P_i) / P_i(y_i))`` for many targets (B, n) or (B, n, d): (K, B)."""

    @abstractmethod
    def log_ratio_terms(self, targets: Array) -> FloatArray:
        """``log(Q_k(y_i | P_i) / P_i(y_i))`` of each observation, for targets (n,) or (n, d): (K, n)."""

    @abstractmethod
    def sample(self, member: int, rng: np.random.Generator, size: int) -> Array:
        """Targets (size, n) or (size, n, d) drawn from one of the alternatives."""
