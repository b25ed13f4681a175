"""Targets in units of what was predicted for them: standardised residuals and probability integral transforms."""

from typing import Any, Self

import numpy as np

from caltest._basics.numerics import Array, ArrayLike, BoolArray, FloatArray, generator_apart, own_errstate
from caltest.kernels import GaussianKernel, Metric, ProductKernel, TargetKernel
from caltest.predictions.base import Predictions, require_family
from caltest.predictions.convert import as_sample
from caltest.predictions.numbers.uniform import StandardUniform


class Residuals(Predictions):
    """The known distribution of residuals, given predictions by which they are compared.

    If predictions are calibrated, residuals have a distribution that does not depend on them: standardised ones that of
    the noise, probability integral transforms the uniform one. A test of ``(Residuals, residuals)`` compares residuals
    with that law, and predictions with each other. Made by ``standardised_residuals`` and ``pit_values``.

    Examples
    --------
    >>> import caltest as ct
    >>> residuals, z = ct.standardised_residuals(ct.Normal([1.0, 2.0], [0.5, 2.0]), [1.5, 0.0])
    >>> print(residuals, z)
    <Residuals of Normal, n = 2> [ 1. -1.]
    """

    family = "Residuals"

    def __init__(
        self, predictions: Predictions, law: Predictions, hypothesis: str, widths: tuple[float, ...] = (0.5, 1.0, 2.0)
    ) -> None:
        self._parameters = predictions, law
        self._hypothesis = hypothesis
        self._widths = widths
        self.notes = predictions.notes

    @property
    def predictions(self) -> Predictions:
        """The predictions that the residuals are of, (..., n)."""
        predictions: Predictions = self._parameters[0]
        return predictions

    @property
    def law(self) -> Predictions:
        law: Predictions = self._parameters[1]
        return law

    @property
    def hypothesis(self) -> str:
        return self._hypothesis

    @property
    def assumption(self) -> str:
        return self.predictions.assumption

    def sample(self, rng: Any = None, size: int | None = None) -> Array:
        return self.law.sample(rng, size)

    @property
    def target_bytes(self) -> int:
        return self.law.target_bytes

    def check_targets(self, targets: ArrayLike, name: str = "targets") -> Array:
        return self.law.check_targets(targets, name)

    def impossible(self, targets: Array) -> BoolArray:
        return self.law.impossible(targets)

    def check_compatible(self, other: Predictions, name: str) -> None:
        require_family(other, Residuals, name)
        assert isinstance(other, Residuals)
        self.predictions.check_compatible(other.predictions, name)
        self.law.check_compatible(other.law, name)

    def embedding(self, metric: Metric) -> FloatArray:
        return self.predictions.embedding(metric)

    def distance(self, metric: Metric, other: Any) -> FloatArray:
        self.check_compatible(other, "other")
        return self.predictions.distance(metric, other.predictions)

    def resolve_metric(self, metric: Metric) -> Metric:
        return self.predictions.resolve_metric(metric)

    def target_scale(self) -> float:
        return self.law.target_scale()

    def moments(self) -> tuple[FloatArray, FloatArray]:
        return self.law.moments()

    def cdf(self, targets: Array) -> FloatArray:
        return self.law.cdf(targets)

    def log_density(self, targets: Array) -> FloatArray:
        return self.law.log_density(targets)

    def prepared(self, kernel: TargetKernel) -> Self:
        return self._like(self.predictions, self.law.prepared(kernel))

    def target_tile(self, kernel: TargetKernel, rows: Array, columns: Array) -> FloatArray:
        return self.law.target_tile(kernel, rows, columns)

    def _expected_kernel(self, kernel: TargetKernel, targets: Array) -> FloatArray:
        return self.law.expected_kernel(kernel, targets)

    def _expected_kernel2(self, kernel: TargetKernel, other: Self) -> FloatArray:
        return self.law.expected_kernel2(kernel, other.law)

    def default_kernel(self) -> ProductKernel:
        """The default kernel of the predictions, times a sum of Gaussian kernels of several widths.

        They are 1/2, 1 and 2 standard deviations of standardised residuals; 1/4, 1/2 and 1 of integral transforms, the
        law of which has no tails.
        """
        scale = self.law.target_scale()
        first, *others = (GaussianKernel(bandwidth=width * scale) for width in self._widths)
        return ProductKernel(self.predictions.default_kernel().prediction_kernel, sum(others, start=first))

    def describe(self, n: int | None = None) -> str:
        return f"Residuals of {self.predictions.describe(n)}"


@own_errstate
def standardised_residuals(predictions: Predictions, targets: ArrayLike) -> tuple[Residuals, Array]:
    """Reduce to the question "are the errors, in units of what was predicted for them, as they should be?".

    ``z = (y - m) / s``, or ``S**-1/2 (y - m)`` for vectors, whose law is known if the predictions are calibrated. A
    kernel of z sees wrong scales that a kernel of y, in which wide and narrow predictions have the same bandwidth,
    does not.

    Parameters
    ----------
    predictions
        Continuous predictions with a location and a scale, such as ``Normal`` or ``MvNormal``.
    targets
        (n,) or (n, d) array-like of outcomes.

    Returns
    -------
    tuple
        ``(Residuals, z)``, to be passed to any estimator or test: ``test(*standardised_residuals(p, y))``.

    Raises
    ------
    ValueError
        For bad targets, or predictions without any spread.
    TypeError
        For families without location and scale.

    Examples
    --------
    >>> import caltest as ct
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> wide = ct.Normal(rng.random(100), 0.13)
    >>> y = wide.mean + 0.1 * rng.normal(size=100)  # the noise has the standard deviation 0.1, not 0.13
    >>> bool(ct.calibration_test(*ct.standardised_residuals(wide, y), rng=1).pvalue < 0.05)
    True
    """
    sample = as_sample(predictions, targets)
    law, residuals = sample.predictions.standardised(sample.targets)
    return Residuals(sample.predictions, law, "(Y - m) / s has its standard law given P_X"), residuals


def integral_transforms(law: Predictions, targets: Array, ties: FloatArray | None) -> FloatArray:
    """``P(Z < y) + v P(Z = y)`` of targets (..., n) and ties v (n,), uniform if v is; without jumps v is not needed."""
    u = law.cdf(targets)
    if law.has_jumps:
        assert ties is not None
        below = law.cdf_below(targets)
        u = below + ties * (u - below)
    return u


@own_errstate
def pit_values(predictions: Predictions, targets: ArrayLike, *, rng: Any = None) -> tuple[Residuals, Array]:
    """Reduce to the question "are the outcomes spread evenly over the predicted quantiles, whatever was predicted?".

    ``u = F(y)`` with the predicted distribution function F, the probability integral transform (Dawid 1984), which is
    uniform given the prediction if predictions are calibrated. Unlike a histogram of u, a kernel test of
    ``(Residuals, u)`` sees errors that cancel across predictions.

    Parameters
    ----------
    predictions
        Continuous predictions of real targets, counts or ensembles. The transform of a count, and of an outcome among
        its ensemble, is drawn from ``P(Z < y)`` to ``P(Z <= y)``: of an ensemble it is the rank of the outcome in the
        pool of m + 1 values, ties at random, less a random part of 1, over m + 1.
    targets
        (n,) array-like of outcomes.
    rng
        Seed or ``numpy.random.Generator`` of these draws.

    Returns
    -------
    tuple
        ``(Residuals, u)``, to be passed to any estimator or test: ``test(*pit_values(p, y))``.

    Raises
    ------
    ValueError
        For bad targets, or predictions without any spread.
    TypeError
        For families of classes or vectors, or without a distribution function.

    Examples
    --------
    >>> import caltest as ct
    >>> _, u = ct.pit_values(ct.Normal([1.0, 2.0], [0.5, 2.0]), [1.0, 4.0])
    >>> u.round(3)
    array([0.5  , 0.841])
    """
    sample = as_sample(predictions, targets)
    ties = None
    if sample.predictions.has_jumps:
        ties = generator_apart(rng).random(len(sample))
    else:
        sample.predictions.check_continuous()
    u = np.clip(integral_transforms(sample.predictions, sample.targets, ties), 0.0, 1.0)
    law = StandardUniform((len(sample),))
    return Residuals(sample.predictions, law, "F(Y) is uniform given P_X", (0.25, 0.5, 1.0)), u
