"""What a distortion is: a rule by which targets deviate from predictions."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

from caltest._numerics import OwnErrstate
from caltest._types import Array
from caltest.predictions import Predictions


@dataclass(frozen=True)
class Distortion(OwnErrstate, ABC):
    """A rule that turns predictions P_X into laws of the targets; at strength 0 they are the predictions themselves.

    Subclasses are frozen dataclasses, whose first field is the strength.
    """

    strength: float

    @property
    @abstractmethod
    def description(self) -> str:
        """The distortion in a few words."""

    @abstractmethod
    def sample(self, predictions: Predictions, rng: Any = None) -> Array:
        """Targets (n,), or (n, d) for vectors, drawn from the distorted laws of n predictions.

        ``TypeError`` for families that the distortion does not apply to.
        """

    def with_strength(self, strength: float) -> Self:
        """The same distortion with another strength."""
        return replace(self, strength=strength)
