"""Models of predictions and targets whose calibration is known, to study tests and to teach with.

A generator is a frozen dataclass with a ``description`` and a method ``sample(n, rng)`` that returns n predictions and
their targets::

>>> import caltest as ct
>>> generator = ct.generators.GaussianModel(dimension=10, calibrated=False)
>>> generator.sample(50, rng=1)[0]
<MvNormal, n = 50, d = 10, isotropic covariances>
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import sqrt
from typing import Any, Self

import numpy as np

from caltest._types import Array, ArrayLike, FloatArray
from caltest._validation import positive_number, real_array, same_length, switch, whole_number
from caltest.kernels import ProductKernel
from caltest.predictions import MvNormal, Normal, Predictions

__all__ = ["Friedman1", "GaussianModel", "Generator", "HeteroscedasticSine", "LeastSquares", "RegressionProblem"]


class Generator(ABC):
    """A joint distribution of predictions and targets."""

    @property
    @abstractmethod
    def description(self) -> str:
        """The model in a few words."""

    @abstractmethod
    def sample(self, n: int, rng: Any = None) -> tuple[Predictions, Array]:
        """N independent predictions and their targets."""


@dataclass(frozen=True)
class GaussianModel(Generator):
    """Predictions ``N(c 1, 0.1**2 I)`` in d dimensions with c uniform on [0, 1], and normal targets.

    Calibrated: the targets are drawn from the predictions. Uncalibrated: the first coordinate of the targets is drawn
    from N(0.1, 0.1**2) whatever the prediction, the others from the predictions.

    Parameters
    ----------
    dimension
        d >= 1. Predictions are ``Normal`` for d = 1, else ``MvNormal``.
    calibrated
        Which of the two.

    Raises
    ------
    ValueError
        For another dimension than a whole number of at least 1.

    Notes
    -----
    Source: Widmann et al. 2021, appendix A.2.

    Examples
    --------
    >>> import caltest as ct
    >>> predictions, targets = ct.generators.GaussianModel(calibrated=False).sample(100, rng=1)
    >>> ct.calibration_test(predictions, targets, rng=1).pvalue
    0.001
    """

    dimension: int = 1
    calibrated: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "dimension", whole_number("dimension", self.dimension, 1))
        object.__setattr__(self, "calibrated", switch("calibrated", self.calibrated))

    @property
    def description(self) -> str:
        """The model in a few words."""
        return f"{'calibrated' if self.calibrated else 'uncalibrated'} Gaussian model, d = {self.dimension}"

    def sample(self, n: int, rng: Any = None) -> tuple[Predictions, Array]:
        """N predictions, and targets of shape (n,) for d = 1, else (n, d)."""
        generator = np.random.default_rng(rng)
        centres = generator.random(whole_number("n", n, 1))
        return self._predictions(centres), self._laws(centres).sample(generator)

    def skce(self, kernel: ProductKernel) -> float:
        """The squared kernel calibration error of the model, by quadrature; 0 if it is calibrated.

        With the law Q of the targets of a prediction P (Widmann et al. 2021, Lemma B.2)::

            E k_P(P, P') [E k_Y(Y, Y') - E k_Y(Z, Y') - E k_Y(Y, Z') + E k_Y(Z, Z')],    Y ~ Q, Z ~ P

        over independent pairs (P, Q), (P', Q'). Gauss-Legendre rule with 48 x 48 points on the triangle c' < c, on
        which exponential and Gaussian kernels of the predictions are smooth: accurate to 1e-12 for bandwidths of at
        least 0.2. ``TypeError`` for kernels without closed forms.
        """
        if self.calibrated:
            return 0.0
        nodes, weights = np.polynomial.legendre.leggauss(48)
        nodes, weights = (nodes + 1.0) / 2.0, weights / 2.0
        large = np.repeat(nodes, nodes.size)[:, None]
        small = large * np.tile(nodes, nodes.size)[:, None]
        p, q, other_p, other_q = (f(c) for c in (large, small) for f in (self._predictions, self._laws))
        target_kernel = kernel.target_kernel
        terms = q.expected_kernel2(target_kernel, other_q) + p.expected_kernel2(target_kernel, other_p)
        terms -= p.expected_kernel2(target_kernel, other_q) + q.expected_kernel2(target_kernel, other_p)
        terms *= kernel.prediction_kernel.tile(p, other_p)
        return float(2.0 * np.sum(np.outer(weights * nodes, weights).ravel() * terms.ravel()))

    def _predictions(self, centres: FloatArray) -> Predictions:
        """``N(c 1, 0.1**2 I)`` for centres of any shape (..., n)."""
        return self._normal(np.repeat(centres[..., None], self.dimension, axis=-1))

    def _laws(self, centres: FloatArray) -> Predictions:
        """The distributions of the targets for centres of any shape (..., n)."""
        means = np.repeat(centres[..., None], self.dimension, axis=-1)
        if not self.calibrated:
            means[..., 0] = 0.1
        return self._normal(means)

    def _normal(self, means: FloatArray) -> Predictions:
        flat = means.reshape(-1, self.dimension)
        index = np.arange(flat.shape[0]).reshape(means.shape[:-1])
        one: Predictions = Normal(flat[:, 0], 0.1) if self.dimension == 1 else MvNormal(flat, 0.1**2)
        return one.take(index)


class RegressionProblem(Generator):
    """Inputs and normal targets: ``data`` draws both, ``sample`` predicts what a perfect model would.

    Its predictions are the true distributions of the targets given the inputs, hence calibrated.
    """

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
        generator = np.random.default_rng(rng)
        x = self.inputs(n, generator)
        return x, self._truth(x).sample(generator)

    def sample(self, n: int, rng: Any = None) -> tuple[Normal, FloatArray]:
        """N true distributions of the targets given their inputs, and the targets (n,)."""
        generator = np.random.default_rng(rng)
        x, y = self.data(n, generator)
        return self._truth(x), y

    def _truth(self, x: FloatArray) -> Normal:
        return Normal(self.mean(x), self.scale(x))


@dataclass(frozen=True)
class HeteroscedasticSine(RegressionProblem):
    """``Y = sin(pi X) + |1 + X| E`` with X uniform on [-1, 1] and E ~ N(0, noise**2).

    Parameters
    ----------
    noise
        Standard deviation of E, 0.15 in the paper.

    Raises
    ------
    ValueError
        Unless the noise is positive.

    Notes
    -----
    Source: Widmann et al. 2021, appendix A.1, after Gustafsson et al. 2020.

    Examples
    --------
    >>> import caltest as ct
    >>> x, y = ct.generators.HeteroscedasticSine().data(100, rng=1)
    >>> x.shape, y.shape
    ((100,), (100,))
    """

    noise: float = 0.15

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", positive_number("noise", self.noise))

    @property
    def description(self) -> str:
        """The model in a few words."""
        return f"heteroscedastic sine, noise {self.noise:g}"

    def inputs(self, n: int, rng: Any = None) -> FloatArray:
        """N inputs (n,), uniform on [-1, 1]."""
        return np.random.default_rng(rng).uniform(-1.0, 1.0, whole_number("n", n, 1))

    def mean(self, inputs: ArrayLike) -> FloatArray:
        """``sin(pi x)``."""
        return np.asarray(np.sin(np.pi * real_array(inputs, "inputs", ndim=1)))

    def scale(self, inputs: ArrayLike) -> FloatArray:
        """``noise |1 + x|``."""
        return np.asarray(self.noise * np.abs(1.0 + real_array(inputs, "inputs", ndim=1)))


@dataclass(frozen=True)
class Friedman1(RegressionProblem):
    """``Y = 10 sin(pi X1 X2) + 20 (X3 - 0.5)**2 + 10 X4 + 5 X5 + E`` with ten uniform inputs and E ~ N(0, noise**2).

    The inputs X6 to X10 have no effect.

    Parameters
    ----------
    noise
        Standard deviation of E, 1 in the paper.

    Raises
    ------
    ValueError
        Unless the noise is positive.

    Notes
    -----
    Sources: Friedman 1991; Widmann et al. 2021, appendix A.3.

    Examples
    --------
    >>> import caltest as ct
    >>> x, y = ct.generators.Friedman1().data(100, rng=1)
    >>> x.shape, y.shape
    ((100, 10), (100,))
    """

    noise: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", positive_number("noise", self.noise))

    @property
    def description(self) -> str:
        """The model in a few words."""
        return f"Friedman 1, noise {self.noise:g}"

    def inputs(self, n: int, rng: Any = None) -> FloatArray:
        """N inputs (n, 10), uniform on [0, 1]."""
        return np.random.default_rng(rng).random((whole_number("n", n, 1), 10))

    def mean(self, inputs: ArrayLike) -> FloatArray:
        """The formula without noise; rows of five inputs or more, (n, ...)."""
        x = real_array(inputs, "inputs", ndim=2)
        if x.shape[1] < 5:
            raise ValueError(f"inputs: got shape {x.shape}, wanted rows of at least 5 inputs")
        waves = 10.0 * np.sin(np.pi * x[:, 0] * x[:, 1])
        return np.asarray(waves + 20.0 * (x[:, 2] - 0.5) ** 2 + 10.0 * x[:, 3] + 5.0 * x[:, 4])

    def scale(self, inputs: ArrayLike) -> FloatArray:
        """The noise, for every input."""
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

    Raises
    ------
    ValueError
        Unless the scale is positive.

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive_number("scale", self.scale))

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
        """The model in a few words."""
        return f"N({self.intercept:.3g} + {self.slope:.3g} x, {self.scale:.3g}^2) for {self.problem.description}"

    def predict(self, x: ArrayLike) -> Normal:
        """Predictions for inputs (n,)."""
        return Normal(self.intercept + self.slope * real_array(x, "x", ndim=1), self.scale)

    def sample(self, n: int, rng: Any = None) -> tuple[Normal, FloatArray]:
        """Predictions for n new inputs of the problem, and their targets (n,)."""
        x, y = self.problem.data(n, rng)
        return self.predict(x), y
