"""What a generator is."""

from abc import ABC, abstractmethod
from typing import Any

from caltest._numerics import OwnErrstate
from caltest._types import Array
from caltest.predictions import Predictions


class Generator(OwnErrstate, ABC):
    """A joint distribution of predictions and targets."""

    @property
    @abstractmethod
    def description(self) -> str:
        """The model in a few words."""

    @property
    @abstractmethod
    def is_calibrated(self) -> bool:
        """Whether P(Y | P_X) = P_X, so that rates of rejection are sizes and not powers."""

    @abstractmethod
    def sample(self, n: int, rng: Any = None) -> tuple[Predictions, Array]:
        """N independent predictions and their targets."""
