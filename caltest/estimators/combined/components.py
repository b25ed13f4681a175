"""The components of the omnibus statistic, and which of them a family has."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from caltest._basics.numerics import ranges
from caltest._basics.threads import threaded
from caltest._basics.types import Array, FloatArray
from caltest.estimators.combined.joint import standardised
from caltest.estimators.kernel_errors.low_rank import LowRankSKCE
from caltest.estimators.kernel_errors.max_skce import FACTORS
from caltest.estimators.scores.excess_scores import ExcessBrierScore, ExcessLogScore
from caltest.estimators.scores.likelihood_ratio import log_ratios_of
from caltest.estimators.scores.residual_moments import ResidualMean, ResidualSpread
from caltest.hstatistics.redraws.of_all_families import redrawn_means
from caltest.hstatistics.sums.binary_line import on_a_line
from caltest.hstatistics.sums.residuals import residual_means
from caltest.kernels import PredictionKernel, ProductKernel
from caltest.predictions import Predictions
from caltest.predictions.alternatives import Alternatives
from caltest.predictions.faults import Faults
from caltest.predictions.standard_scores import mean_square

MANY_CLASSES, MANY_NUMBERS = 10_000, 500
"""Predictions of classes, and of numbers or vectors, from which on kernels of redraws have a low rank."""

RESIDUAL_WIDTHS = (0.5, 1.0, 2.0)
"""Bandwidths of kernels of residuals, in units of their typical length."""


@dataclass(frozen=True)
class Column:
    """Values (B,) of a statistic for observed and redrawn targets, with its name and its weight among all columns."""

    name: str
    weight: float
    values: FloatArray


FARTHEST = 20.0
"""Standard deviations beyond which a row of a fault counts no more: those of rare events are known badly."""


class Component(ABC):
    """One of the statistics: some numbers for each redraw, of which the largest counts after they are standardised."""

    name: str
    two_sided = False
    shares_kernel = False
    """Whether redraws should be taken together, because they share a kernel of all pairs."""

    @property
    def n_values(self) -> int:
        """How many numbers J."""
        return 1

    @abstractmethod
    def values(self, predictions: Predictions, targets: Array, weights: FloatArray | None) -> FloatArray:
        """Numbers (J, B) for many targets; weights of the observations that have the sum of their squares."""

    def columns(self, values: FloatArray) -> list[Column]:
        """What counts of the numbers (J, B) for observed and redrawn targets."""
        ratios = standardised(values)
        return [Column(self.name, 1.0, np.asarray((np.abs(ratios) if self.two_sided else ratios).max(axis=0)))]


@dataclass(frozen=True)
class KernelComponent(Component):
    """The SKCE with several kernels, all pairs of observations or, for many of them, with kernels of low rank."""

    kernels: tuple[ProductKernel, ...]
    low_rank: tuple[LowRankSKCE, ...] = ()
    name: str = "kernel error"
    shares_kernel = True

    @property
    def n_values(self) -> int:
        """The kernels."""
        return len(self.kernels)

    def values(self, predictions: Predictions, targets: Array, weights: FloatArray | None) -> FloatArray:
        """The SKCE for each kernel."""
        if self.low_rank:
            return np.stack([one.estimates(predictions, targets, weights) for one in self.low_rank])
        return redrawn_means(self.kernels, predictions, targets, True, weights)


@dataclass(frozen=True)
class ResidualComponent(Component):
    """The SKCE of the scores of targets, which are standard normal given the predictions, for several bandwidths."""

    prediction_kernel: PredictionKernel
    name: str = "kernel error of residuals"

    @property
    def n_values(self) -> int:
        """The widths."""
        return len(RESIDUAL_WIDTHS)

    def values(self, predictions: Predictions, targets: Array, weights: FloatArray | None) -> FloatArray:
        """The SKCE for each width."""
        scores = predictions.law.standard_scores(targets)
        return residual_means(self.prediction_kernel, RESIDUAL_WIDTHS, predictions, scores, weights)


@dataclass(frozen=True)
class ScoreComponent(Component):
    """A number of mean 0 if calibrated whose sign has a meaning."""

    estimator: ExcessLogScore | ExcessBrierScore | ResidualSpread
    name: str
    two_sided = True

    def values(self, predictions: Predictions, targets: Array, weights: FloatArray | None) -> FloatArray:
        """The estimate."""
        return self.estimator.estimates(predictions, targets, weights)[None]


@dataclass(frozen=True)
class SpreadComponent(ScoreComponent):
    """The mean square of residuals, which of ensembles are those of the pools."""

    def values(self, predictions: Predictions, targets: Array, weights: FloatArray | None) -> FloatArray:
        """Their mean square, less its mean if calibrated."""
        return mean_square(predictions.law.standard_scores(targets), weights)[None] - 1.0


@dataclass(frozen=True)
class BiasComponent(Component):
    """The squared mean residual."""

    name: str = "mean residual"

    def values(self, predictions: Predictions, targets: Array, weights: FloatArray | None) -> FloatArray:
        """The estimate."""
        return ResidualMean().estimates(predictions, targets, weights)[None]


@dataclass(frozen=True)
class LikelihoodRatioComponent(Component):
    """The log likelihood ratio of a mixture of alternatives, in which each observation has the power of its weight."""

    predictions: Predictions
    weights: FloatArray | None
    alternatives: Alternatives
    name: str = "likelihood ratio"

    def values(self, predictions: Predictions, targets: Array, weights: FloatArray | None) -> FloatArray:
        """``log E``."""
        return log_ratios_of(self._alternatives_for(predictions, weights), targets)[None]

    def _alternatives_for(self, predictions: Predictions, weights: FloatArray | None) -> Alternatives:
        """Those of all predictions, or of a group of them."""
        if predictions is self.predictions and weights is self.weights:
            return self.alternatives
        alternatives = predictions.law.alternatives(weights)
        assert alternatives is not None
        return alternatives


@dataclass(frozen=True)
class FaultsComponent(Component):
    """The rows of all faults of the family: of each fault the largest row and the sum of squares of all."""

    predictions: Predictions
    weights: FloatArray | None
    faults: Faults
    name: str = "faults"

    @property
    def n_values(self) -> int:
        """The rows."""
        return sum(fault.n_rows for fault in self.faults.with_rows)

    def values(self, predictions: Predictions, targets: Array, weights: FloatArray | None) -> FloatArray:
        """The rows of some of the faults after those of others, for a few of the redraws at a time."""
        faults = self.faults
        if predictions is not self.predictions or weights is not self.weights:
            some = predictions.faults(weights)
            assert some is not None
            faults = some

        parts = list(ranges(len(targets), max(1, faults.at_once // targets[0].size)))
        rows = threaded(lambda part: faults.rows(targets[part]), parts, len(parts), "faults", work=20.0 * targets.size)
        return np.concatenate(list(rows), axis=1)

    def columns(self, values: FloatArray) -> list[Column]:
        """Two for each fault with several rows, which share its weight."""
        columns, first = [], 0
        total = sum(fault.weight for fault in self.faults.with_rows)
        for fault in self.faults.with_rows:
            squares = np.square(np.clip(standardised(values[first : first + fault.n_rows]), -FARTHEST, FARTHEST))
            first += fault.n_rows
            numbers = [squares.max(axis=0), squares.sum(axis=0)][: fault.n_rows]
            weight = fault.weight / total / len(numbers)
            columns += [Column(self.faults.name(fault), weight, one) for one in numbers]
        return columns


def components_for(
    kernel: ProductKernel, predictions: Predictions, weights: FloatArray | None, rng: Any
) -> tuple[Component, ...]:
    """The components for a family, with a resolved kernel."""
    alternatives = predictions.law.alternatives(weights)
    others: list[Component] = []
    if alternatives is not None:
        others.append(LikelihoodRatioComponent(predictions, weights, alternatives))
    faults = predictions.faults(weights)
    if faults is not None:
        others.append(FaultsComponent(predictions, weights, faults))
    if predictions.law.finite is not None:
        return (_kernels(kernel, predictions, FACTORS, rng), *SCORES, *others)
    residuals = (ResidualComponent(kernel.prediction_kernel),) if predictions.law.has_normal_scores else ()
    spread = (SPREAD,) if predictions.law.has_spread else ()
    return (_kernels(kernel, predictions, (1.0,), rng), *residuals, BiasComponent(), *spread, *others)


SCORES = (ScoreComponent(ExcessLogScore(), "log score"), ScoreComponent(ExcessBrierScore(), "Brier score"))

SPREAD = SpreadComponent(ResidualSpread(), "spread of residuals")


def _kernels(kernel: ProductKernel, predictions: Predictions, factors: tuple[float, ...], rng: Any) -> KernelComponent:
    """The kernel first, and with other bandwidths; of low rank for many predictions that are not on a line."""
    kernels = [kernel]
    radial = kernel.prediction_kernel
    if radial.has_bandwidth:
        others = (radial.scaled(factor) for factor in factors if factor != 1.0)
        kernels += [ProductKernel(other, kernel.target_kernel) for other in others]
    many = MANY_CLASSES if predictions.law.finite is not None else MANY_NUMBERS
    if len(predictions) < many or on_a_line(kernel, predictions) is not None:
        return KernelComponent(tuple(kernels))
    return KernelComponent(tuple(kernels), tuple(LowRankSKCE(one).resolve(predictions, rng) for one in kernels))
