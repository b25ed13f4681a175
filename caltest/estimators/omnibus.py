"""Several statistics in one: kernels, scores and likelihood ratios."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Self

import numpy as np

from caltest._numerics import ranges, resampling_pvalue
from caltest._types import Array, FloatArray
from caltest._validation import at_least
from caltest.alternatives import Alternatives, alternatives_for
from caltest.estimators.base import kernel_notes
from caltest.estimators.joint import JointEstimator, standardised, tail_exponents
from caltest.estimators.likelihood_ratio import log_ratios_of
from caltest.estimators.low_rank import LowRankSKCE
from caltest.estimators.max_skce import FACTORS
from caltest.estimators.scores import ExcessBrierScore, ExcessLogScore, ResidualMean, ResidualSpread
from caltest.hstatistics.lines import on_a_line
from caltest.hstatistics.pairs import mean_of_pairs
from caltest.hstatistics.redraws import redrawn_means
from caltest.hstatistics.residuals import residual_means
from caltest.hstatistics.scores import are_normal, has_scores, scores_of
from caltest.kernels import PredictionKernel, ProductKernel, RadialKernel
from caltest.predictions import FinitePredictions, Predictions, Sample
from caltest.result import ComponentResult

MANY_CLASSES, MANY_NUMBERS = 10_000, 500
"""Predictions of classes, and of numbers or vectors, from which on kernels of redraws have a low rank."""

ALL_PAIRS = 20_000
"""Predictions up to which the estimate that is reported is that of all pairs."""

TARGETS = 2**24
"""Numbers in the redrawn targets that are turned into scores together."""

RESIDUAL_WIDTHS = (0.5, 1.0, 2.0)
"""Bandwidths of kernels of residuals, in units of their typical length."""


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
    def values(self, predictions: Predictions, targets: Array) -> FloatArray:
        """Numbers (J, B) for many targets."""

    @abstractmethod
    def finding(self, sample: Sample, values: FloatArray) -> str:
        """What large values of the statistic say of the sample, in words; the first column is that of the sample."""

    def combined(self, values: FloatArray) -> FloatArray:
        """Standardised statistic (B,) of numbers (J, B) for observed and redrawn targets."""
        ratios = standardised(values)
        return np.asarray((np.abs(ratios) if self.two_sided else ratios).max(axis=0))


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

    def values(self, predictions: Predictions, targets: Array) -> FloatArray:
        """The SKCE for each kernel."""
        if self.low_rank:
            return np.stack([one.estimates(predictions, targets) for one in self.low_rank])
        return redrawn_means(self.kernels, predictions, targets, True)

    def finding(self, sample: Sample, values: FloatArray) -> str:
        """The class or the direction that is most off overall, if one is."""
        return marginal_finding(sample)


@dataclass(frozen=True)
class ResidualComponent(Component):
    """The SKCE of the scores of targets, which are standard normal given the predictions, for several bandwidths."""

    prediction_kernel: PredictionKernel
    name: str = "kernel error of residuals"

    @property
    def n_values(self) -> int:
        """The widths."""
        return len(RESIDUAL_WIDTHS)

    def values(self, predictions: Predictions, targets: Array) -> FloatArray:
        """The SKCE for each width."""
        return residual_means(self.prediction_kernel, RESIDUAL_WIDTHS, predictions, scores_of(predictions, targets))

    def finding(self, sample: Sample, values: FloatArray) -> str:
        """The direction that is most off overall, if one is."""
        return marginal_finding(sample)


@dataclass(frozen=True)
class ScoreComponent(Component):
    """A number of mean 0 if calibrated whose sign has a meaning."""

    estimator: ExcessLogScore | ExcessBrierScore | ResidualSpread
    name: str
    positive: str
    negative: str
    two_sided = True

    def values(self, predictions: Predictions, targets: Array) -> FloatArray:
        """The estimate."""
        return self.estimator.estimates(predictions, targets)[None]

    def finding(self, sample: Sample, values: FloatArray) -> str:
        """By the sign of the observed value against its mean."""
        return self.positive if values[0, 0] > values.mean() else self.negative


@dataclass(frozen=True)
class BiasComponent(Component):
    """The squared mean residual."""

    name: str = "mean residual"

    def values(self, predictions: Predictions, targets: Array) -> FloatArray:
        """The estimate."""
        return ResidualMean().estimates(predictions, targets)[None]

    def finding(self, sample: Sample, values: FloatArray) -> str:
        """Above or below, and in which coordinate."""
        return bias_finding(sample)


@dataclass(frozen=True)
class LikelihoodRatioComponent(Component):
    """The log likelihood ratio of a mixture of alternatives."""

    alternatives: Alternatives
    name: str = "likelihood ratio"

    def values(self, predictions: Predictions, targets: Array) -> FloatArray:
        """``log E``."""
        return log_ratios_of(self.alternatives, targets)[None]

    def finding(self, sample: Sample, values: FloatArray) -> str:
        """The alternative with the largest share."""
        return self.alternatives.most_likely(sample.targets)


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

    kernel: ProductKernel | None = None
    impossible_excluded = True
    _components: tuple[Component, ...] = field(default=(), init=False, repr=False, compare=False)

    def check(self, predictions: Predictions) -> None:
        """Raise unless there are two observations."""
        at_least(len(predictions), 2, "the unbiased SKCE")

    def resolve(self, predictions: Predictions) -> Self:
        """Choose the components for the family, with the median bandwidth of the predictions."""
        if self._components:
            return self
        kernel = (predictions.default_kernel() if self.kernel is None else self.kernel).resolve(predictions)
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

    def describe(self, predictions: Predictions) -> str:
        """What is estimated, in one line."""
        kernel = (predictions.default_kernel() if self.kernel is None else self.kernel).describe()
        return f"omnibus of {', '.join(one.name for one in self._components)}; k = {kernel}"


def components_for(kernel: ProductKernel, predictions: Predictions) -> tuple[Component, ...]:
    """The components for a family, with a resolved kernel."""
    alternatives = alternatives_for(predictions)
    ratios = () if alternatives is None else (LikelihoodRatioComponent(alternatives),)
    if not has_scores(predictions):
        return (_kernels(kernel, predictions, FACTORS), *SCORES, *ratios)
    residuals = (ResidualComponent(kernel.prediction_kernel),) if are_normal(predictions) else ()
    return (_kernels(kernel, predictions, (1.0,)), *residuals, BiasComponent(), SPREAD, *ratios)


SCORES = (
    ScoreComponent(
        ExcessLogScore(),
        "log score",
        "predictions are overconfident: the log score is worse than they say",
        "predictions are underconfident: the log score is better than they say",
    ),
    ScoreComponent(
        ExcessBrierScore(),
        "Brier score",
        "predictions are overconfident: the Brier score is worse than they say",
        "predictions are underconfident: the Brier score is better than they say",
    ),
)

SPREAD = ScoreComponent(
    ResidualSpread(),
    "spread of residuals",
    "predictions are too narrow: errors are larger than predicted",
    "predictions are too wide: errors are smaller than predicted",
)


def _kernels(kernel: ProductKernel, predictions: Predictions, factors: tuple[float, ...]) -> KernelComponent:
    """The kernel first, and with other bandwidths; of low rank for many predictions that are not on a line."""
    kernels = [kernel]
    radial = kernel.prediction_kernel
    if isinstance(radial, RadialKernel):
        others = (radial.with_bandwidth(factor * radial.width) for factor in factors if factor != 1.0)
        kernels += [ProductKernel(other, kernel.target_kernel) for other in others]
    many = MANY_NUMBERS if has_scores(predictions) else MANY_CLASSES
    if len(predictions) < many or on_a_line(kernel, predictions) is not None:
        return KernelComponent(tuple(kernels))
    return KernelComponent(tuple(kernels), tuple(_of_low_rank(one, predictions) for one in kernels))


def _of_low_rank(kernel: ProductKernel, predictions: Predictions) -> LowRankSKCE:
    return LowRankSKCE(kernel, rng=0).resolve(predictions)


def marginal_finding(sample: Sample) -> str:
    """What is most off if all observations are taken together, or that nothing is."""
    law = sample.predictions.law
    if not isinstance(law, FinitePredictions):
        return bias_finding(sample)
    p = law.probabilities
    counts = np.bincount(sample.targets, minlength=law.n_classes)
    deviations = np.sqrt(np.maximum((p * (1.0 - p)).sum(axis=0), 1e-300))
    z = (counts - p.sum(axis=0)) / deviations
    # The last of equal ones: of two classes class 1 is named.
    c = z.size - 1 - int(np.argmax(np.abs(z[::-1])))
    if abs(z[c]) < CLEAR:
        return "errors depend on the predictions and cancel overall"
    more = "more" if z[c] > 0.0 else "less"
    return f"class {c} occurs {more} often than predicted: {counts[c]} times instead of {p[:, c].sum():.1f}"


CLEAR = 3.0
"""Standard errors from which on a difference is named."""


def bias_finding(sample: Sample) -> str:
    """Whether outcomes are above or below what was predicted overall, in units of the predicted spread."""
    z = scores_of(sample.predictions, np.asarray(sample.targets)[None])[0]
    vectors = z[:, None] if z.ndim == 1 else z
    means = vectors.mean(axis=0)
    t = int(np.argmax(np.abs(means)))
    if abs(means[t]) * sqrt(len(vectors)) < CLEAR:
        return "errors depend on the predictions and cancel overall"
    where = "" if z.ndim == 1 else f" in coordinate {t}"
    side = "above" if means[t] > 0.0 else "below"
    size = f"{abs(means[t]):.2g} predicted standard deviations on average"
    return f"outcomes are {side} what was predicted{where}, by {size}"
