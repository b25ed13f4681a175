"""Distortions of predicted probabilities of classes."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from caltest._basics.numerics import generator_of
from caltest._basics.types import Array, FloatArray
from caltest.generators.base import Distortion, probabilities_of_classes
from caltest.predictions import Categorical, Predictions
from caltest.predictions.classes.finite import of_classes

WANTED = "Categorical, Bernoulli or Ordinal ones; for others use Tempering, Outliers, Bias or Scaling"


@dataclass(frozen=True)
class ClassDistortion(Distortion):
    """A distortion that turns probability vectors p into others, from which labels are drawn."""

    least, most = 0.0, 1.0

    @abstractmethod
    def probabilities(self, p: FloatArray) -> FloatArray:
        """Laws of the labels (n, k) for predicted probabilities (n, k)."""

    def law(self, predictions: Predictions) -> Categorical:
        """The distributions of the labels; ``TypeError`` unless the predictions are of classes."""
        return Categorical(self.probabilities(of_classes(predictions, WANTED).probabilities))

    def sample(self, predictions: Predictions, rng: Any = None) -> Array:
        """Outcomes (n,) as the predictions take them: labels, or names of the classes if there are some."""
        generator = generator_of(rng)
        labels = self.law(predictions).redraw(generator)
        return of_classes(predictions, WANTED).observed(labels, generator)

    def total_variation(self, predictions: Predictions) -> float:
        """Mean total variation distance of predictions and laws: the true ECE if these are all predictions."""
        p = of_classes(predictions, WANTED).probabilities
        return float(np.abs(self.probabilities(p) - p).sum(axis=1).mean() / 2.0)


@dataclass(frozen=True)
class Contamination(ClassDistortion):
    """A share s of the labels is drawn from one distribution b whatever the prediction: ``(1 - s) p + s b``.

    Parameters
    ----------
    strength
        Share s, from 0 to 1.
    fixed
        The k probabilities b.

    Raises
    ------
    ValueError
        For a share outside of [0, 1], for numbers that are not probabilities, and if there are not k of them.

    Notes
    -----
    Source: the generative model of Widmann et al. 2019, appendix J.2, for any distribution of the predictions.

    Examples
    --------
    >>> import caltest as ct
    >>> half_first = ct.generators.Contamination(0.5, fixed=(1.0, 0.0))
    >>> half_first.law(ct.Categorical([[0.2, 0.8]])).probabilities
    array([[0.6, 0.4]])
    """

    fixed: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "fixed", probabilities_of_classes("fixed", self.fixed))

    @property
    def description(self) -> str:
        return f"{100 * self.strength:g} % of the labels from ({', '.join(f'{b:.3g}' for b in self.fixed)})"

    def probabilities(self, p: FloatArray) -> FloatArray:
        if p.shape[1] != len(self.fixed):
            raise ValueError(f"fixed: got {len(self.fixed)} probabilities, wanted {p.shape[1]}, one for each class")
        return np.asarray((1.0 - self.strength) * p + self.strength * np.array(self.fixed))


@dataclass(frozen=True)
class LabelNoise(ClassDistortion):
    """A share s of the labels is replaced by labels that are uniform on all k classes: ``(1 - s) p + s / k``.

    Parameters
    ----------
    strength
        Share s, from 0 to 1 (``ValueError`` otherwise).

    Examples
    --------
    >>> import caltest as ct
    >>> ct.generators.LabelNoise(0.2).law(ct.Categorical([[1.0, 0.0]])).probabilities
    array([[0.9, 0.1]])
    """

    @property
    def description(self) -> str:
        return f"{100 * self.strength:g} % of the labels uniform"

    def probabilities(self, p: FloatArray) -> FloatArray:
        return np.asarray((1.0 - self.strength) * p + self.strength / p.shape[1])


@dataclass(frozen=True)
class Rotation(ClassDistortion):
    """A share s of the labels of each class carries the next one: ``(1 - s) p_j + s p_(j - 1)``, cyclically.

    Parameters
    ----------
    strength
        Share s, from 0 to 1 (``ValueError`` otherwise).

    Examples
    --------
    >>> import caltest as ct
    >>> ct.generators.Rotation(0.3).law(ct.Categorical([[1.0, 0.0, 0.0]])).probabilities
    array([[0.7, 0.3, 0. ]])
    """

    @property
    def description(self) -> str:
        return f"{100 * self.strength:g} % of each class labelled as the next"

    def probabilities(self, p: FloatArray) -> FloatArray:
        return np.asarray((1.0 - self.strength) * p + self.strength * np.roll(p, 1, axis=1))


@dataclass(frozen=True)
class Wave(ClassDistortion):
    """Two classes; probabilities of class 1 that are right at 0, 1/4, 1/2, 3/4 and 1 only: ``p + s sin(4 pi p)``.

    Values outside [0, 1] are taken as 0 or 1, which happens for s above 1 / (4 pi).

    Parameters
    ----------
    strength
        Amplitude s, from -1 to 1 (``ValueError`` otherwise, and for other than two classes).

    Examples
    --------
    >>> import caltest as ct
    >>> ct.generators.Wave(0.2).law(ct.Bernoulli([0.25, 0.375])).probabilities
    array([[0.75 , 0.25 ],
           [0.825, 0.175]])
    """

    least = -1.0

    @property
    def description(self) -> str:
        return f"p + {self.strength:g} sin(4 pi p)"

    def probabilities(self, p: FloatArray) -> FloatArray:
        """``p + s sin(4 pi p)`` for class 1, the rest for class 0."""
        if p.shape[1] != 2:
            raise ValueError(f"predictions: got {p.shape[1]} classes, wanted 2 for Wave")
        ones = np.clip(p[:, 1] + self.strength * np.sin(4.0 * np.pi * p[:, 1]), 0.0, 1.0)
        return np.stack([1.0 - ones, ones], axis=1)
