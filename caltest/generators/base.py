"""What a generator is, what a distortion is, and checks of the settings of both."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import inf
from typing import Any, ClassVar, Self

import numpy as np

from caltest._basics.arrays import to_array
from caltest._basics.numerics import Array
from caltest._validation import Settings, instance_of, probability_matrix, real_array, real_number
from caltest.predictions import Predictions


class Generator(Settings, ABC):
    """A joint distribution of predictions and targets."""

    @property
    @abstractmethod
    def description(self) -> str:
        """The model in a few words."""

    @property
    def predictions_in_words(self) -> str:
        """What the predictions are, whatever the targets; the whole model unless a class says less."""
        return self.description

    @property
    @abstractmethod
    def is_calibrated(self) -> bool:
        """Whether P(Y | P_X) = P_X, so that rates of rejection are sizes and not powers."""

    @abstractmethod
    def sample(self, n: int, rng: Any = None) -> tuple[Predictions, Array]:
        """N independent predictions and their targets."""


def number_within(name: str, value: Any, low: float, high: float, *, open_low: bool = False) -> float:
    """A number from ``low`` to ``high``, both included but for an open lower end."""
    number = real_number(value)
    above = number > low if open_low else number >= low
    if not (above and number <= high and np.isfinite(number)):
        least = f"above {low:g}" if open_low else f"of at least {low:g}" if np.isfinite(low) else ""
        most = "" if np.isinf(high) else f" and at most {high:g}"
        raise ValueError(f"{name}: got {value!r}, wanted a finite number{' ' * bool(least)}{least}{most}")
    return number


def k_positive_numbers(name: str, values: Any, k: int) -> tuple[float, ...]:
    """A tuple of k positive numbers, from those or from one number for all."""
    array = to_array(values, name)
    numbers = real_array(np.full(k, array) if array.ndim == 0 else array, name, ndim=1)
    if numbers.size != k or numbers.min() <= 0.0:
        raise ValueError(f"{name}: got {values!r}, wanted {k} positive numbers, or one for all")
    return tuple(numbers.tolist())


def probabilities_of_classes(name: str, values: Any) -> tuple[float, ...]:
    """A tuple of k >= 2 probabilities that sum to 1."""
    array = real_array(to_array(values, name), name, ndim=1)
    return tuple(probability_matrix(array[None], name)[0][0].tolist())


@dataclass(frozen=True)
class Distortion(Settings, ABC):
    """A rule that turns predictions P_X into laws of the targets; at strength 0 they are the predictions themselves.

    Subclasses are frozen dataclasses, whose first field is the strength s, a number between ends that each of them
    names (``ValueError`` otherwise).
    """

    strength: float

    least: ClassVar[float] = -inf
    most: ClassVar[float] = inf
    """Ends of the range of strengths."""
    is_open: ClassVar[bool] = False
    """Whether the least is not one of them."""

    def __post_init__(self) -> None:
        super().__post_init__()
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


a_distortion = instance_of(Distortion, "a distortion such as ct.generators.Tempering(-0.4)")
