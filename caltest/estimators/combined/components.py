"""The components of the omnibus statistic, and which of them a family has."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from caltest._basics.numerics import Array, FloatArray
from caltest.estimators.combined.joint import standardised
from caltest.estimators.combined.sums.cells import MOST_CLASSES, few_classes
from caltest.estimators.combined.sums.many_classes import many_classes
from caltest.estimators.combined.sums.numbers import (
    FaultSums,
    KernelSums,
    KernelSumsOfClasses,
    LikelihoodSums,
    MeanSums,
    Numbers,
    NumberSums,
    ResidualKernelSums,
    ResidualMeanSums,
    Summand,
)
from caltest.estimators.combined.sums.parts import OfRows
from caltest.estimators.kernel_errors.low_rank import LowRankSKCE
from caltest.estimators.kernel_errors.max_skce import FACTORS
from caltest.estimators.scores import ExcessBrierScore, ExcessLogScore
from caltest.hstatistics.redraws.of_all_families import redrawn_means
from caltest.hstatistics.sums.binary_line import on_a_line
from caltest.kernels import ProductKernel
from caltest.predictions import Predictions
from caltest.predictions.bandwidth import MEDIAN_OF
from caltest.predictions.faults.classes.labels import LabelFaults
from caltest.predictions.reductions.standard_scores import mean_square, scores_of

MANY_CLASSES, MANY_OF_MORE, MANY_NUMBERS, MANY_COMPOSED = 2000, 10_000, 500, 128
"""Predictions of up to 32 classes, of more, of numbers or vectors, and of mixtures and members of vectors, a pair of
which takes many steps, from which on kernels of redraws have a low rank."""

BANDWIDTHS = (1.0, *(factor for factor in FACTORS if factor != 1.0))
"""Of kernels of classes, in units of the median."""

RANK, RANK_OF_NARROW = 64, 128
"""Of kernels of many predictions, and of those with less than the median bandwidth, which classes have: with 64 for all
a slow wave in the probabilities of five classes is found less often."""

MANY_IN_SUMS = 20_000
"""Predictions of numbers beyond which redraws are made by rows, where that is quick, and features follow from some."""

FAULTS, FAULTS_OF_NUMBERS = 0.5, 0.4
"""Weight of all rows of faults beside 1 of the other components together: what small biases lose by them is little."""

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


@dataclass(frozen=True)
class Component:
    """One of the statistics: some numbers for each redraw, of which the largest counts after they are standardised."""

    name: str
    numbers: Numbers
    n_values: int = 1
    """How many numbers J."""
    two_sided: bool = False
    weight: float = 1.0
    """Beside the other components that are no faults, and of faults beside all others together."""
    shares_kernel: bool = False
    """Whether redraws should be taken together, because they share a kernel of all pairs."""
    approximation: str = ""
    """What the kernels of redraws are, in words, if not those of the predictions themselves."""

    def values(self, predictions: Predictions, targets: Array, weights: FloatArray | None) -> FloatArray:
        """The numbers (J, B)."""
        return np.atleast_2d(self.numbers(predictions, targets, weights))

    def columns(self, values: FloatArray, null: FloatArray | None = None) -> list[Column]:
        """What counts of the numbers (J, B) for observed and redrawn targets; see ``standardised`` for ``null``."""
        ratios = standardised(values, null)
        return [Column(self.name, self.weight, np.asarray((np.abs(ratios) if self.two_sided else ratios).max(axis=0)))]


def _spread(predictions: Predictions, targets: Array, weights: FloatArray | None) -> FloatArray:
    """The mean square of residuals, which of ensembles are those of the pools, less its mean if calibrated."""
    return mean_square(scores_of(predictions.law, targets), weights) - 1.0


@dataclass(frozen=True)
class FaultsComponent(Component):
    """Of each fault the largest row and the sum of squares of all."""

    numbers: FaultSums

    def columns(self, values: FloatArray, null: FloatArray | None = None) -> list[Column]:
        """Two for each fault with several rows, which share its weight."""
        compared = self.numbers.faults.compared
        squares = standardised(values, null)
        np.square(np.clip(squares, -FARTHEST, FARTHEST, out=squares), out=squares)
        starts = np.cumsum([0, *(rows.n_rows for rows in compared)])
        total = sum(rows.weight for rows in compared)
        columns = []
        for rows, start, stop in zip(compared, starts[:-1], starts[1:], strict=True):
            some = squares[start:stop]
            numbers = [some.max(axis=0), some.sum(axis=0)][: rows.n_rows]
            weight = self.weight * rows.weight / total / len(numbers)
            columns += [Column(rows.name, weight, one) for one in numbers]
        return columns


def components_for(
    kernel: ProductKernel,
    predictions: Predictions,
    weights: FloatArray | None,
    rng: Any,
    are_many: bool = False,
    in_memory: bool = False,
) -> tuple[tuple[Component, ...], OfRows[Any] | None]:
    """The components for a family, with a resolved kernel, and what computes them together for many predictions.

    ``in_memory`` keeps each redrawn target, for components that need it.
    """
    alternatives = predictions.law.alternatives(weights)
    others: list[Component] = []
    if alternatives is not None:
        others.append(Component("likelihood ratio", LikelihoodSums(predictions, weights, alternatives)))
    faults = predictions.faults(weights)
    if faults is not None:
        n_rows = sum(one.n_rows for one in faults.compared)
        weight = FAULTS if predictions.law.finite is not None else FAULTS_OF_NUMBERS
        others.append(FaultsComponent("faults", FaultSums(predictions, weights, faults), n_rows, weight=weight))
    if predictions.law.finite is not None:
        many = None if in_memory else many_classes(kernel, predictions, faults, weights)
        kernels = _kernels(kernel, predictions, rng, many is None, are_many)
        alone = many is not None or in_memory
        few = None if alone else few_classes(_with_bandwidths(kernel, BANDWIDTHS), predictions, faults, weights)
        return (kernels, *SCORES, *others), many or few
    components = [_kernels(kernel, predictions, rng, True, are_many)]
    if predictions.law.has_normal_scores:
        sums = ResidualKernelSums(kernel.prediction_kernel, RESIDUAL_WIDTHS, predictions)
        components.append(Component("kernel error of residuals", sums, len(RESIDUAL_WIDTHS)))
    components.append(Component("mean residual", ResidualMeanSums(), weight=3.0))
    if predictions.law.has_spread:
        components.append(Component("spread of residuals", MeanSums(_spread), two_sided=True, weight=2.0))
    return (*components, *others), None


def come_in_chunks(predictions: Predictions) -> bool:
    """Whether sums over chunks are all that the statistic needs of such predictions."""
    try:
        predictions.redrawable.take(slice(0, 1)).drawer()
    except TypeError:
        return False
    return True


def _are_in_cells(predictions: Predictions) -> bool:
    """Whether sums over chunks are those of classes without an order."""
    faults = predictions.take(slice(0, 1)).faults() if predictions.finite is not None else None
    return isinstance(faults, LabelFaults) and faults.are_sums


def are_linear(predictions: Predictions) -> bool:
    """Whether all numbers are functions of sums that are linear in what each target adds."""
    law = predictions.finite
    is_large = law is not None and law.n_classes > MOST_CLASSES and _are_in_cells(predictions)
    return come_in_chunks(predictions) and not is_large


def are_many_numbers(predictions: Predictions) -> bool:
    """Whether redraws are made by rows, and never in memory together."""
    law = predictions.law
    if len(predictions) <= MANY_IN_SUMS or predictions.finite is not None or not law.inverts_quickly:
        return False
    # Where some have no spread, scores depend on which predictions are looked at together.
    return law.is_continuous or law.discrete or law.pool_size is not None


def components_in_chunks(
    kernel: ProductKernel, predictions: Predictions, rng: Any
) -> tuple[tuple[Component, ...], OfRows[Any] | None]:
    """The components for chunks of predictions like these, and their sums."""
    if _are_in_cells(predictions):
        return components_for(kernel, predictions, None, None)[0], in_chunks(kernel, predictions)
    components, _ = components_for(kernel, predictions, None, rng, are_many=True)
    return components, NumberSums([one.numbers for one in components if isinstance(one.numbers, Summand)], predictions)


def in_chunks(kernel: ProductKernel, predictions: Predictions) -> OfRows[Any]:
    """The sums over chunks of such predictions of classes."""
    faults = predictions.faults()
    many = many_classes(kernel, predictions, faults, None, in_blocks=True)
    summed = many or few_classes(_with_bandwidths(kernel, BANDWIDTHS), predictions, faults, None, least=1)
    if summed is None:
        raise TypeError(f"kernel: got {kernel.describe()} for many classes in chunks, wanted exp(-TV / b) x [y = y']")
    return summed


SCORES = tuple(
    Component(name, MeanSums(score.estimates), two_sided=True)
    for name, score in (("log loss", ExcessLogScore()), ("Brier score", ExcessBrierScore()))
)


def _kernels(kernel: ProductKernel, predictions: Predictions, rng: Any, may_be_low: bool, are_many: bool) -> Component:
    """The kernel first, of classes with other bandwidths too; of low rank for many predictions not on a line."""
    law = predictions.law.finite
    of_classes, is_composed = law is not None, predictions.law.default_median_of < MEDIAN_OF
    least = MANY_COMPOSED if is_composed else MANY_NUMBERS
    if law is not None:
        least = MANY_CLASSES if law.n_classes <= MOST_CLASSES else MANY_OF_MORE
    factors, many = BANDWIDTHS if of_classes else (1.0,), are_many or len(predictions) >= least
    kernels = _with_bandwidths(kernel, factors)
    component = Component("kernel error", partial(redrawn_means, kernels), len(kernels), shares_kernel=True)
    if not may_be_low or not many or on_a_line(kernel, predictions) is not None:
        return component
    # Pairs i = j of many numbers or vectors hardly add to the variance, and take as long as the others.
    ranks = [RANK_OF_NARROW if factor < 1.0 else RANK for factor in factors]
    pairs = zip(kernels, ranks, strict=False)
    low_rank = tuple(LowRankSKCE(one, rank, of_classes).resolve(predictions, rng) for one, rank in pairs)
    sums = (KernelSumsOfClasses if of_classes else KernelSums)(tuple(one.features for one in low_rank))
    is_large = are_many or len(predictions) >= MANY_NUMBERS
    why = "there are many predictions" if is_large else "pairs of predictions take long"
    known = " and ".join(dict.fromkeys(str(one.rank) for one in low_rank))
    said = f"kernels have rank {known} in the test, because {why}"
    return replace(component, numbers=sums, approximation=said)


def _with_bandwidths(kernel: ProductKernel, factors: Sequence[float]) -> tuple[ProductKernel, ...]:
    """The kernel with multiples of its bandwidth, of which the first is 1; alone where it has none."""
    radial = kernel.prediction_kernel
    others = [radial.scaled(factor) for factor in factors[1:]] if radial.has_bandwidth else []
    return (kernel, *(ProductKernel(other, kernel.target_kernel) for other in others))
