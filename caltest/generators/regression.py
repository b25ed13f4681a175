"""Regression problems with known truth, and a model that is wrong."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import Any, Self

import numpy as np

from caltest._basics.numerics import ArrayLike, FloatArray, generator_of
from caltest._validation import instance_of, number_of_observations, positive_number, real_array, same_length
from caltest.generators.base import Generator, number_within
from caltest.predictions import Normal


class RegressionProblem(Generator):
    """Inputs and normal targets: ``data`` draws both, ``sample`` predicts what a perfect model would.

    Its predictions are the true distributions of the targets given the inputs, hence calibrated.
    """

    is_calibrated = True
    noise: float
    _checks = {"noise": positive_number}

    @abstractmethod
    def inputs(self, n: int, rng: Any = None) -> FloatArray:
        """N independent inputs."""

    @abstractmethod
    def mean(self, inputs: ArrayLike) -> FloatArray:
        """Means of the targets, (n,)."""

    @abstractmethod
    def scale(self, inputs: ArrayLike) -> FloatArray:
        """Standard deviations of the targets, (n,)."""

    def data(self, n: int, rng: Any = None) -> tuple[FloatArray, FloatArray]:
        """N independent inputs and their targets (n,)."""
        generator = generator_of(rng)
        x = self.inputs(n, generator)
        return x, self._truth(x).sample(generator)

    def sample(self, n: int, rng: Any = None) -> tuple[Normal, FloatArray]:
        generator = generator_of(rng)
        x, y = self.data(n, generator)
        return self._truth(x), y

    def _truth(self, x: FloatArray) -> Normal:
        return Normal(self.mean(x), self.scale(x))


@dataclass(frozen=True)
class HeteroscedasticSine(RegressionProblem):
    """``Y = sin(pi X) + |1 + X| E`` with X uniform on [-1, 1] and E ~ N(0, noise**2).

    Source: Widmann et al. 2021, appendix A.1, after Gustafsson et al. 2020, with the noise 0.15.

    Examples
    --------
    >>> import caltest as ct
    >>> x, y = ct.generators.HeteroscedasticSine().data(100, rng=1)
    >>> x.shape, y.shape
    ((100,), (100,))
    """

    noise: float = 0.15

    @property
    def description(self) -> str:
        return f"heteroscedastic sine, noise {self.noise:g}"

    def inputs(self, n: int, rng: Any = None) -> FloatArray:
        """N inputs (n,), uniform on [-1, 1]."""
        return generator_of(rng).uniform(-1.0, 1.0, number_of_observations(n))

    def mean(self, inputs: ArrayLike) -> FloatArray:
        return np.asarray(np.sin(np.pi * real_array(inputs, "inputs", ndim=1)))

    def scale(self, inputs: ArrayLike) -> FloatArray:
        return np.asarray(self.noise * np.abs(1.0 + real_array(inputs, "inputs", ndim=1)))


@dataclass(frozen=True)
class Friedman1(RegressionProblem):
    """``Y = 10 sin(pi X1 X2) + 20 (X3 - 0.5)**2 + 10 X4 + 5 X5 + E`` with ten uniform inputs and E ~ N(0, noise**2).

    The inputs X6 to X10 have no effect. Sources: Friedman 1991; Widmann et al. 2021, appendix A.3, with the noise 1.

    Examples
    --------
    >>> import caltest as ct
    >>> x, y = ct.generators.Friedman1().data(100, rng=1)
    >>> x.shape, y.shape
    ((100, 10), (100,))
    """

    noise: float = 1.0

    @property
    def description(self) -> str:
        return f"Friedman 1, noise {self.noise:g}"

    def inputs(self, n: int, rng: Any = None) -> FloatArray:
        """N inputs (n, 10), uniform on [0, 1]."""
        return generator_of(rng).random((number_of_observations(n), 10))

    def mean(self, inputs: ArrayLike) -> FloatArray:
        """The formula without noise; rows of five inputs or more, (n, ...)."""
        x = real_array(inputs, "inputs", ndim=2)
        if x.shape[1] < 5:
            raise ValueError(f"inputs: got shape {x.shape}, wanted rows of at least 5 inputs")
        waves = 10.0 * np.sin(np.pi * x[:, 0] * x[:, 1])
        return np.asarray(waves + 20.0 * (x[:, 2] - 0.5) ** 2 + 10.0 * x[:, 3] + 5.0 * x[:, 4])

    def scale(self, inputs: ArrayLike) -> FloatArray:
        return np.full(len(real_array(inputs, "inputs", ndim=2)), self.noise)


@dataclass(frozen=True)
class LeastSquares(Generator):
    """Predictions ``N(a + b X, s**2)`` of a straight line for a regression problem with scalar inputs: uncalibrated.

    ``LeastSquares.fitted(x, y)`` fits the line to data.

    Parameters
    ----------
    intercept, slope
        a and b.
    scale
        s > 0.
    problem
        Where inputs and targets come from.

    Notes
    -----
    Source: Widmann et al. 2021, appendix A.1.

    Examples
    --------
    >>> import caltest as ct
    >>> x, y = ct.generators.HeteroscedasticSine().data(100, rng=1)
    >>> model = ct.generators.LeastSquares.fitted(x, y)
    >>> predictions, targets = model.sample(50, rng=2)
    >>> predictions
    <Normal, n = 50>
    """

    intercept: float
    slope: float
    scale: float
    problem: RegressionProblem = HeteroscedasticSine()
    is_calibrated = False
    """False: a straight line with one scale is not the truth of these problems."""

    _checks = {
        **dict.fromkeys(("intercept", "slope"), partial(number_within, low=-np.inf, high=np.inf)),
        "scale": positive_number,
        "problem": instance_of(RegressionProblem, "a RegressionProblem such as ct.generators.HeteroscedasticSine()"),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if np.ndim(self.problem.inputs(1, 0)) > 1:
            raise ValueError(f"problem: got {self.problem!r}, wanted one of scalar inputs, for a line")

    @classmethod
    def fitted(cls, x: ArrayLike, y: ArrayLike, problem: RegressionProblem = HeteroscedasticSine()) -> Self:
        """The line of ordinary least squares through n >= 3 points, and the standard deviation of its residuals.

        The divisor of the variance is n - 1, as in the paper's software.
        """
        x, y = real_array(x, "x", ndim=1), real_array(y, "y", ndim=1)
        same_length(x.size, y.size, "y")
        if x.size < 3 or x.min() == x.max():
            raise ValueError(f"x: got {x.size} points from {x.min():g} to {x.max():g}, wanted 3 or more at two places")
        slope, intercept = np.polynomial.Polynomial.fit(x, y, 1).convert().coef[::-1]
        residuals = y - intercept - slope * x
        return cls(float(intercept), float(slope), sqrt(float(residuals @ residuals) / (x.size - 1)), problem)

    @property
    def description(self) -> str:
        return f"N({self.intercept:.3g} + {self.slope:.3g} x, {self.scale:.3g}^2) for {self.problem.description}"

    def predict(self, x: ArrayLike) -> Normal:
        """Predictions for inputs (n,)."""
        return Normal(self.intercept + self.slope * real_array(x, "x", ndim=1), self.scale)

    def sample(self, n: int, rng: Any = None) -> tuple[Normal, FloatArray]:
        x, y = self.problem.data(n, rng)
        return self.predict(x), y
