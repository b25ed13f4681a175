"""Estimators of a calibration error, and the protocols by which they say what a null can build on."""

from abc import ABC, abstractmethod
from typing import Protocol, Self, runtime_checkable

import numpy as np

from caltest._numerics import check_finite
from caltest._types import Array, ArrayLike, FloatArray
from caltest.kernels import PredictionKernel, ProductKernel
from caltest.predictions import MEDIAN_OF, Predictions, Sample, as_sample


class Estimator(ABC):
    """A calibration error estimated from predictions and targets.

    Call it with user data: ``estimator(predictions, targets)``. Subclasses are frozen dataclasses that only
    reduce h, or bins, to a number.
    """

    def __call__(self, predictions: ArrayLike, targets: ArrayLike) -> float:
        """Estimate from ``Predictions`` (or arrays that become some) and targets, checked here."""
        sample = as_sample(predictions, targets)
        self.check(sample.predictions)
        estimate = self.resolve(sample.predictions).estimate(sample)
        check_finite(estimate)
        return estimate

    @abstractmethod
    def check(self, predictions: Predictions) -> None:
        """Raise ``ValueError`` for too few predictions, ``TypeError`` for a family without this estimator."""

    def resolve(self, predictions: Predictions) -> Self:
        """The same estimator with every setting that depends on the predictions replaced by its value."""
        return self

    @abstractmethod
    def estimate(self, sample: Sample) -> float:
        """The estimate from a checked sample; the estimator is resolved."""

    def estimates(self, predictions: Predictions, targets: Array) -> FloatArray:
        """Estimates for many targets (B, n) of the same predictions, (B,)."""
        return np.array([self.estimate(Sample(predictions, y)) for y in targets])

    def n_used(self, n: int) -> int:
        """How many of n observations enter the estimate."""
        return n

    def notes(self, predictions: Predictions) -> tuple[str, ...]:
        """What readers of the estimate should know, before the settings are resolved."""
        return ()

    def hypothesis(self, predictions: Predictions) -> str:
        """What is tested, as a formula."""
        return predictions.hypothesis

    @abstractmethod
    def describe(self, predictions: Predictions) -> str:
        """What is estimated, in one line."""


def median_notes(kernel: PredictionKernel, predictions: Predictions) -> tuple[str, ...]:
    """A note where the median bandwidth is not that of all pairs."""
    if not kernel.uses_median or len(predictions) <= MEDIAN_OF:
        return ()
    return (f"the median bandwidth is that of {MEDIAN_OF} evenly spaced predictions",)


@runtime_checkable
class MeanOfTerms(Protocol):
    """The estimate is a mean of independent, identically distributed terms."""

    unbiased: bool

    def terms(self, sample: Sample) -> FloatArray:
        """The terms, of mean 0 under the null hypothesis if ``unbiased``."""

    def n_terms(self, n: int) -> int:
        """How many terms n observations make."""


@runtime_checkable
class UStatistic(Protocol):
    """The estimate is the mean of h over all pairs of observations."""

    kernel: ProductKernel

    @property
    def is_u_statistic(self) -> bool:
        """Whether the diagonal is left out."""


@runtime_checkable
class VectorMean(Protocol):
    """The estimate is a function of a mean of n vectors that have mean 0 under the null hypothesis."""

    def deviations(self, sample: Sample) -> FloatArray:
        """The vectors, (n, J)."""

    @property
    def dimension(self) -> int:
        """Their dimension J."""


@runtime_checkable
class BoundedEstimator(Protocol):
    """The probability of a large estimate has a bound under the null hypothesis, whatever the distributions."""

    @property
    def has_tail_bound(self) -> bool:
        """Whether a bound is known for these settings."""

    def tail_bound(self, estimate: float, n: int) -> float:
        """Upper bound of P(estimator >= estimate) for calibrated predictions."""
