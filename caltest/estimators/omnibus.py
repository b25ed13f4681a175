"""Several statistics in one: kernels, scores and likelihood ratios."""

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from caltest._numerics import ranges, resampling_pvalue
from caltest._types import Array, FloatArray
from caltest._validation import at_least
from caltest.estimators.base import kernel_notes, share_of_bound
from caltest.estimators.components import Component, KernelComponent, components_for
from caltest.estimators.default_kernel import default_kernel
from caltest.estimators.joint import JointEstimator, standardised, tail_exponents
from caltest.hstatistics.lines import on_a_line
from caltest.hstatistics.pairs import mean_of_pairs
from caltest.kernels import ProductKernel
from caltest.kernels.product import check_product_kernel
from caltest.predictions import Predictions, Sample
from caltest.results.effect_size import EffectSize
from caltest.results.result import ComponentResult

ALL_PAIRS = 20_000
"""Predictions up to which the estimate that is reported is that of all pairs."""

TARGETS = 2**24
"""Numbers in the redrawn targets that are turned into scores together."""


@dataclass(frozen=True)
class Omnibus(JointEstimator):
    """Kernel errors of several bandwidths, scores and the likelihood ratio of common errors, as one statistic.

    For classes: the SKCE for five bandwidths, the excess of the log score and of the Brier score, and the likelihood
    ratio of ``LogLikelihoodRatio``. For numbers and vectors: the SKCE, that of standardised residuals or normal
    quantiles of ``F(Y)`` for three bandwidths, mean and spread of the residuals, and the likelihood ratio where the
    family has one.

    Every component is standardised by mean and variance of its observed and redrawn values together, and turned into a
    tail probability of the Pearson type III distribution of their skewness; the statistic is minus the logarithm of the
    smallest one. Observed and redrawn values are treated alike, so ``MonteCarloTest(Omnibus())`` is exact for every n,
    whatever the components are. The estimate that is reported is the SKCE with the first kernel.

    Parameters
    ----------
    kernel
        Product kernel of a distance of predictions; by default that of the family.

    Raises
    ------
    TypeError
        For a kernel of another kind.

    Notes
    -----
    Time and memory are those of ``MonteCarloTest(SKCE(kernel))`` and little more. From 10 000 predictions of several
    classes, or 500 of numbers, on the kernels of redraws have rank 64 (``LowRankSKCE``), which the result says: time
    O(n B). The p-value is exact for every rank.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.load_digits_predictions()["random forest"]
    >>> result = ct.MonteCarloTest(ct.Omnibus(), n_resamples=99)(p, y, rng=1)
    >>> print(result.finding)
    predictions are underconfident: outcomes follow them at temperature 0.33
    """

    citations = ("schrab2023", "spiegelhalter1986", "widmann2019", "widmann2021")

    kernel: ProductKernel | None = None
    impossible_excluded = True
    _components: tuple[Component, ...] = field(default=(), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.kernel is not None:
            check_product_kernel(self.kernel)

    def check(self, predictions: Predictions) -> None:
        """Raise unless there are two observations."""
        at_least(len(predictions), 2, "the unbiased SKCE")

    def resolve(self, predictions: Predictions) -> Self:
        """Choose the components for the family, with the median bandwidth of the predictions."""
        if self._components:
            return self
        kernel = default_kernel(predictions)[0] if self.kernel is None else self.kernel.resolve(predictions)
        resolved = replace(self, kernel=kernel)
        object.__setattr__(resolved, "_components", components_for(kernel, predictions))
        return resolved

    @property
    def components(self) -> tuple[Component, ...]:
        """The components of a resolved omnibus statistic."""
        return self._components

    def estimate(self, sample: Sample) -> float:
        """The SKCE with the kernel: of all pairs, or of low rank from 20 000 predictions on."""
        assert self.kernel is not None
        if len(sample) < ALL_PAIRS or on_a_line(self.kernel, sample.predictions) is not None:
            return mean_of_pairs(self.kernel, sample, unbiased=True)
        return super().estimate(sample)

    def values(self, predictions: Predictions, targets: Array) -> FloatArray:
        """The numbers of all components, one below the other; those that share no kernel for a part of the redraws."""
        size = max(1, TARGETS // targets[0].size)
        numbers = []
        for component in self._components:
            parts = [slice(None)] if component.shares_kernel else ranges(len(targets), size)
            numbers.append(np.concatenate([component.values(predictions, targets[part]) for part in parts], axis=1))
        return np.concatenate(numbers)

    def combined(self, values: FloatArray) -> FloatArray:
        """Minus the logarithm of the smallest tail probability of a component, (B,)."""
        return np.asarray(np.max([tail_exponents(column) for column in self.columns(values)], axis=0))

    def columns(self, values: FloatArray) -> list[FloatArray]:
        """The statistics (B,) of all components from their numbers."""
        return [one.combined(part) for one, part in zip(self._components, self.parts(values), strict=True)]

    def parts(self, values: FloatArray) -> list[FloatArray]:
        """The numbers of each component."""
        sizes = [one.n_values for one in self._components]
        return np.split(values, np.cumsum(sizes)[:-1])

    def found(self, sample: Sample, values: FloatArray) -> tuple[ComponentResult, ...]:
        """The standardised statistic, the p-value and the words of each component, the most extreme first."""
        results = []
        for component, part in zip(self._components, self.parts(values), strict=True):
            column = component.combined(part)
            z = standardised(column[None])[0, 0]
            pvalue = resampling_pvalue(float(column[0]), column[1:])
            found = ComponentResult(component.name, float(z), pvalue, component.finding(sample, part))
            results.append((float(tail_exponents(column)[0]), found))
        return tuple(found for _, found in sorted(results, key=lambda pair: -pair[0]))

    @property
    def statistic_name(self) -> str:
        """What the statistic is."""
        return "minus the log of the smallest tail probability of a component"

    def notes(self, n: int) -> tuple[str, ...]:
        """Notes on the bandwidth and the matrices of the kernel."""
        return () if self.kernel is None else kernel_notes(self.kernel, n)

    def resolved_notes(self) -> tuple[str, ...]:
        """Whether kernels have a low rank."""
        ranks = [one.low_rank[0].rank for one in self._components if isinstance(one, KernelComponent) and one.low_rank]
        return tuple(f"kernels have rank {rank} in the test, because there are many predictions" for rank in ranks)

    def effect_size(self, estimate: float, predictions: Predictions, mean: float | None) -> EffectSize:
        """The KCE as a share of its largest value."""
        assert self.kernel is not None
        return share_of_bound(estimate, self.kernel, predictions)

    def describe(self, predictions: Predictions) -> str:
        """What is estimated, in one line."""
        kernel = (predictions.default_kernel() if self.kernel is None else self.kernel).describe()
        return f"omnibus of {', '.join(one.name for one in self._components)}; k = {kernel}"
