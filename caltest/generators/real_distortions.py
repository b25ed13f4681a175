"""Distortions of predictions of any family, and of numbers and vectors."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from caltest._basics.numerics import generator_of
from caltest._basics.types import Array, FloatArray
from caltest.generators.base import Distortion
from caltest.predictions import Predictions

INSIDE = np.finfo(np.float64).tiny, 1.0 - 2.0**-53
"""Levels of quantiles other than 0 and 1."""


@dataclass(frozen=True)
class Tempering(Distortion):
    """Targets from densities proportional to ``p**(1 + s)``.

    With s > 0 the targets are more certain than predicted (underconfident predictions), with s < 0 less (overconfident
    ones). For classes s = -1 makes all possible classes equally likely.

    Parameters
    ----------
    strength
        s > -1.

    Raises
    ------
    TypeError
        When sampling, for families whose powers are of another family (``at_temperature``).

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
        """Targets drawn from the laws, or names of the classes if the predictions have some."""
        return self.law(predictions).sample(rng)


@dataclass(frozen=True, eq=False)
class Outliers(Distortion):
    """A share s of the targets is drawn from one distribution whatever the prediction; for families of any kind.

    Parameters
    ----------
    strength
        Share s, from 0 to 1.
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

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.fixed, Predictions):
            raise TypeError(f"fixed: got {self.fixed!r}, wanted predictions such as Normal([0.0], 10.0)")
        if self.fixed.shape != (1,):
            raise ValueError(f"fixed: got {self.fixed!r}, wanted one distribution")

    @property
    def description(self) -> str:
        return f"{100 * self.strength:g} % of the targets from one {self.fixed.family} distribution"

    def sample(self, predictions: Predictions, rng: Any = None) -> Array:
        """Targets of which the share is drawn from the fixed distribution."""
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
    def moved(self, z: FloatArray) -> FloatArray:
        """What becomes of standard normal values."""

    @abstractmethod
    def moved_residuals(self, residuals: FloatArray, scale: FloatArray) -> FloatArray:
        """What becomes of targets minus means, (n,) or (n, d), with the standard deviation (n,) of the first."""

    def sample(self, predictions: Predictions, rng: Any = None) -> Array:
        generator = generator_of(rng)
        scale = predictions.first_deviations()
        if scale is not None:
            means = predictions.moments()[0]
            return np.asarray(means + self.moved_residuals(predictions.sample(generator) - means, scale))
        z = self.moved(generator.standard_normal(len(predictions)))
        return predictions.quantile(np.clip(scipy.special.ndtr(z), *INSIDE))


@dataclass(frozen=True)
class Bias(_Moved):
    """Targets with the first coordinate s standard deviations above what is predicted.

    For a family with quantiles F^-1 the target is ``F^-1(Phi(E + s))`` with E standard normal, which is a shift by s
    standard deviations for normal predictions and stays in the range of the others (rates stay positive).

    Parameters
    ----------
    strength
        s, a number of either sign.

    Raises
    ------
    TypeError
        When sampling, for classes and other families without quantiles.

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

    def moved(self, z: FloatArray) -> FloatArray:
        return z + self.strength

    def moved_residuals(self, residuals: FloatArray, scale: FloatArray) -> FloatArray:
        moved = residuals.copy()
        first = moved if moved.ndim == 1 else moved[:, 0]
        first += self.strength * scale
        return moved


@dataclass(frozen=True)
class Scaling(_Moved):
    """Targets whose deviations from the mean are 1 + s times as large as predicted, in all coordinates.

    For a family with quantiles F^-1 the target is ``F^-1(Phi((1 + s) E))`` with E standard normal, which has 1 + s
    times the standard deviation for normal predictions and stays in the range of the others.

    Parameters
    ----------
    strength
        s > -1: above 0 the predictions are too narrow, below 0 too wide.

    Raises
    ------
    TypeError
        When sampling, for classes and other families without quantiles.

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

    def moved(self, z: FloatArray) -> FloatArray:
        return (1.0 + self.strength) * z

    def moved_residuals(self, residuals: FloatArray, scale: FloatArray) -> FloatArray:
        return (1.0 + self.strength) * residuals
