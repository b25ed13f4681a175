"""Distortions applied to predictions: those of a generator, or those of a user."""

from dataclasses import dataclass, field, replace
from typing import Any, Self, cast

from caltest._basics.numerics import Array, ArrayLike, generator_of
from caltest._validation import instance_of, number_of_observations
from caltest.generators.base import Distortion, Generator, a_distortion
from caltest.generators.distortions import Tempering
from caltest.predictions import Predictions
from caltest.predictions.convert import as_predictions

NONE = Tempering(0.0)
"""The distortion that changes nothing, for families of any kind."""


class _WithDistortion(Generator):
    """A generator whose targets a distortion draws."""

    distortion: Distortion

    @property
    def strength(self) -> float:
        """That of the distortion."""
        return self.distortion.strength

    def with_strength(self, strength: float) -> Self:
        """The same with another strength of the distortion."""
        changed: Self = replace(cast("Any", self), distortion=self.distortion.with_strength(strength))
        return changed

    @property
    def is_calibrated(self) -> bool:
        return self.distortion.strength == 0.0

    def _targets_in_words(self) -> str:
        return "targets as predicted" if self.is_calibrated else self.distortion.description


@dataclass(frozen=True)
class Distorted(_WithDistortion):
    """The predictions of a generator, with targets that a distortion draws for them.

    Parameters
    ----------
    source
        Where the predictions come from; its targets are not used.
    distortion
        How the targets deviate.

    Examples
    --------
    >>> import caltest as ct
    >>> from caltest.generators import Bias, Distorted, GaussianModel
    >>> generator = Distorted(GaussianModel(dimension=10), Bias(0.3))
    >>> generator.is_calibrated, generator.with_strength(0.0).is_calibrated
    (False, True)
    """

    source: Generator
    distortion: Distortion
    _checks = {"source": instance_of(Generator, "a generator such as GaussianModel()"), "distortion": a_distortion}

    @property
    def description(self) -> str:
        return f"predictions of {self.predictions_in_words}; {self._targets_in_words()}"

    @property
    def predictions_in_words(self) -> str:
        return self.source.predictions_in_words

    def sample(self, n: int, rng: Any = None) -> tuple[Predictions, Array]:
        generator = generator_of(rng)
        predictions = self.source.sample(n, generator)[0].held_out(generator)
        return predictions, self.distortion.sample(predictions, generator)


@dataclass(frozen=True, eq=False)
class Resampled(_WithDistortion):
    """n of the predictions at hand, with targets that a distortion draws for them.

    Answers what a test would find in *these* predictions if the truth deviated from them in a given way.

    Parameters
    ----------
    predictions
        ``Predictions`` or an array-like that becomes some.
    distortion
        How the targets deviate; by default not at all, which is for sizes of tests.

    Notes
    -----
    Samples of as many predictions as there are hold each of them once, so that only the targets are random; others
    are drawn with replacement.

    Examples
    --------
    >>> import caltest as ct
    >>> predictions, _ = ct.datasets.load_digits_predictions()["neural network"]
    >>> generator = ct.generators.Resampled(predictions, ct.generators.Tempering(-0.4))
    >>> generator.description
    'Categorical, n = 899, 10 classes; targets from p^0.6'
    """

    predictions: ArrayLike = field(repr=False)
    distortion: Distortion = NONE
    _checks = {"distortion": a_distortion, "predictions": lambda _, predictions: as_predictions(predictions)}

    @property
    def description(self) -> str:
        return f"{self.predictions_in_words}; {self._targets_in_words()}"

    @property
    def predictions_in_words(self) -> str:
        return as_predictions(self.predictions).describe()

    def sample(self, n: int, rng: Any = None) -> tuple[Predictions, Array]:
        generator = generator_of(rng)
        predictions: Predictions = self.predictions
        if number_of_observations(n) != len(predictions):
            predictions = predictions.take(generator.integers(len(predictions), size=n))
        predictions = predictions.held_out(generator)
        return predictions, self.distortion.sample(predictions, generator)
