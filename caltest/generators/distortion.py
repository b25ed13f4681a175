"""What a distortion is: a rule by which targets deviate from predictions."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import inf
from typing import Any, ClassVar, Self

from caltest._numerics import OwnErrstate
from caltest._types import Array
from caltest.generators.base import number_within
from caltest.predictions import Predictions


@dataclass(frozen=True)
class Distortion(OwnErrstate, ABC):
    """A rule that turns predictions P_X into laws of the targets; at strength 0 they are the predictions themselves.

    Subclasses are frozen dataclasses, whose first field is the strength.
    """

    strength: float

    least: ClassVar[float] = -inf
    most: ClassVar[float] = inf
    """Ends of the range of strengths."""
    is_open: ClassVar[bool] = False
    """Whether the least is not one of them."""

    def __post_init__(self) -> None:
        strength = number_within("strength", self.strength, self.least, self.most, open_low=self.is_open)
        object.__setattr__(self, "strength", strength)

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
