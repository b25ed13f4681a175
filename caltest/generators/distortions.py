"""Distortions of predictions: of probabilities of classes, of numbers and vectors, and of any family; and their use."""

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, Self, cast

import numpy as np
import scipy

from caltest._basics.numerics import Array, ArrayLike, FloatArray, generator_of
from caltest._validation import instance_of, number_of_observations
from caltest.generators.base import Distortion, Generator, a_distortion, probabilities_of_classes
from caltest.predictions import Categorical, Predictions
from caltest.predictions.classes.finite import as_classes
from caltest.predictions.inputs.convert import as_predictions

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
        return Categorical(self.probabilities(as_classes(predictions, WANTED).probabilities))

    def sample(self, predictions: Predictions, rng: Any = None) -> Array:
        """Outcomes (n,) as the predictions take them: labels, or names of the classes if there are some."""
        generator = generator_of(rng)
        labels = self.law(predictions).redraw(generator)
        return as_classes(predictions, WANTED).observed(labels, generator)

    def total_variation(self, predictions: Predictions) -> float:
        """Mean total variation distance of predictions and laws: the true ECE if these are all predictions."""
        p = as_classes(predictions, WANTED).probabilities
        return float(np.abs(self.probabilities(p) - p).sum(axis=1).mean() / 2.0)


@dataclass(frozen=True)
class Contamination(ClassDistortion):
    """A share s of the labels, from 0 to 1, is drawn from one law b whatever the prediction: ``(1 - s) p + s b``.

    Parameters
    ----------
    strength
        The share s.
    fixed
        The k probabilities b (``ValueError`` if they are none, or not k).

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
    _checks = {"fixed": probabilities_of_classes}

    @property
    def description(self) -> str:
        return f"{100 * self.strength:g} % of the labels from ({', '.join(f'{b:.3g}' for b in self.fixed)})"

    def probabilities(self, p: FloatArray) -> FloatArray:
        if p.shape[1] != len(self.fixed):
            raise ValueError(f"fixed: got {len(self.fixed)} probabilities, wanted {p.shape[1]}, one for each class")
        return np.asarray((1.0 - self.strength) * p + self.strength * np.array(self.fixed))


@dataclass(frozen=True)
class LabelNoise(ClassDistortion):
    """A share s of the labels, from 0 to 1, is replaced by labels uniform on all k classes: ``(1 - s) p + s / k``.

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
    """A share s, from 0 to 1, of each class carries the next label: ``(1 - s) p_j + s p_(j - 1)``, cyclically.

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

    The amplitude s is from -1 to 1. Values outside [0, 1] are taken as 0 or 1, which happens for s above 1 / (4 pi).
    ``ValueError`` for other than two classes.

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
        if p.shape[1] != 2:
            raise ValueError(f"predictions: got {p.shape[1]} classes, wanted 2 for Wave")
        ones = np.clip(p[:, 1] + self.strength * np.sin(4.0 * np.pi * p[:, 1]), 0.0, 1.0)
        return np.stack([1.0 - ones, ones], axis=1)


INSIDE = np.finfo(np.float64).tiny, 1.0 - 2.0**-53
"""Levels of quantiles other than 0 and 1."""


@dataclass(frozen=True)
class Tempering(Distortion):
    """Targets from densities proportional to ``p**(1 + s)``.

    With s > 0 the targets are more certain than predicted (underconfident predictions), with s < 0, but above -1, less
    (overconfident ones). Densities are with respect to the measure that ``at_temperature`` of the family names: powers
    of gamma and beta ones keep the mean, and those of counts change it. ``TypeError`` when sampling for families whose
    powers are of another family.

    Examples
    --------
    >>> import caltest as ct
    >>> overconfident = ct.generators.Tempering(-0.4)
    >>> overconfident.law(ct.Categorical([[0.9, 0.1]])).probabilities.round(4)
    array([[0.7889, 0.2111]])
    """

    least, is_open = -1.0, True

    @property
    def description(self) -> str:
        return f"targets from p^{1.0 + self.strength:g}"

    def law(self, predictions: Predictions) -> Predictions:
        """The distributions of the targets."""
        return predictions if self.strength == 0.0 else predictions.at_temperature(1.0 / (1.0 + self.strength))

    def sample(self, predictions: Predictions, rng: Any = None) -> Array:
        return self.law(predictions).sample(rng)


@dataclass(frozen=True, eq=False)
class Outliers(Distortion):
    """A share s of the targets, from 0 to 1, is drawn from one law whatever the prediction; for families of any kind.

    Parameters
    ----------
    strength
        The share s.
    fixed
        ``Predictions`` that hold that one distribution.

    Examples
    --------
    >>> import caltest as ct
    >>> wild = ct.generators.Outliers(0.1, fixed=ct.Normal([0.0], 10.0))
    >>> wild.sample(ct.Normal([0.0, 1.0, 2.0], 0.1), rng=1).shape
    (3,)
    """

    fixed: Predictions

    least, most = 0.0, 1.0
    _checks = {"fixed": instance_of(Predictions, "predictions such as Normal([0.0], 10.0)")}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.fixed.shape != (1,):
            raise ValueError(f"fixed: got {self.fixed!r}, wanted one distribution")

    @property
    def description(self) -> str:
        return f"{100 * self.strength:g} % of the targets from one {self.fixed.family} distribution"

    def sample(self, predictions: Predictions, rng: Any = None) -> Array:
        generator = generator_of(rng)
        n = len(predictions)
        own = predictions.sample(generator)
        others = self.fixed.take(np.zeros(n, dtype=np.intp)).sample(generator)
        if others.shape != own.shape:
            raise ValueError(
                f"fixed: got {self.fixed!r} for {predictions!r}, wanted a distribution of targets of the same shape"
            )
        chosen = generator.random(n) < self.strength
        return np.where(chosen.reshape(n, *[1] * (own.ndim - 1)), others, own)


@dataclass(frozen=True)
class _Moved(Distortion):
    """Targets moved on the scale on which a prediction is standard normal."""

    @abstractmethod
    def moved(self, residuals: FloatArray, scale: FloatArray | float) -> FloatArray:
        """What becomes of targets minus means, (n,) or (n, d), with the standard deviation (n,) of the first."""

    def sample(self, predictions: Predictions, rng: Any = None) -> Array:
        generator = generator_of(rng)
        first = predictions if predictions.normal is not None else predictions.coordinate(0)
        if first is not None:
            means, scale = predictions.moments()[0], np.sqrt(first.moments()[1])
            return np.asarray(means + self.moved(predictions.sample(generator) - means, scale))
        z = self.moved(generator.standard_normal(len(predictions)), 1.0)
        return predictions.quantile(np.clip(scipy.special.ndtr(z), *INSIDE))


@dataclass(frozen=True)
class Bias(_Moved):
    """Targets with the first coordinate s standard deviations above what is predicted, for s of either sign.

    For a family with quantiles F^-1 the target is ``F^-1(Phi(E + s))`` with E standard normal, which is a shift by s
    standard deviations for normal predictions and stays in the range of the others (rates stay positive). ``TypeError``
    when sampling for classes and other families without quantiles.

    Examples
    --------
    >>> import caltest as ct
    >>> targets = ct.generators.Bias(3.0).sample(ct.Normal([0.0] * 1000, 2.0), rng=1)
    >>> round(float(targets.mean()), 1)
    5.9
    """

    @property
    def description(self) -> str:
        return f"targets {self.strength:+g} standard deviations off"

    def moved(self, residuals: FloatArray, scale: FloatArray | float) -> FloatArray:
        moved = residuals.copy()
        first = moved if moved.ndim == 1 else moved[:, 0]
        first += self.strength * scale
        return moved


@dataclass(frozen=True)
class Scaling(_Moved):
    """Targets whose deviations from the mean are 1 + s times as large as predicted, in all coordinates.

    For a family with quantiles F^-1 the target is ``F^-1(Phi((1 + s) E))`` with E standard normal, which has 1 + s
    times the standard deviation for normal predictions and stays in the range of the others: with s > 0 the predictions
    are too narrow, with s < 0, but above -1, too wide. ``TypeError`` as for ``Bias``.

    Examples
    --------
    >>> import caltest as ct
    >>> targets = ct.generators.Scaling(0.5).sample(ct.Normal([0.0] * 1000, 2.0), rng=1)
    >>> round(float(targets.std()), 1)
    3.0
    """

    least, is_open = -1.0, True

    @property
    def description(self) -> str:
        return f"targets spread {1.0 + self.strength:g} times as far"

    def moved(self, residuals: FloatArray, scale: FloatArray | float) -> FloatArray:
        return (1.0 + self.strength) * residuals


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
    _checks = {
        "source": instance_of(Generator, "a generator such as ct.generators.GaussianModel()"),
        "distortion": a_distortion,
    }

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
