"""Estimators of a calibration error, and the protocols by which they say what a null can build on."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np

from caltest._basics.arrays import are_chunks
from caltest._basics.numerics import Array, ArrayLike, FloatArray, Sums, check_finite, seed_of
from caltest._basics.threads import progress_bars
from caltest._results.calibration_test_result import PValueKind
from caltest._results.report import ASSUMPTIONS
from caltest._results.values import EffectSize
from caltest._validation import CalledWithData, instance_of, switch
from caltest.estimators.dependence import cautions_on
from caltest.predictions import Predictions, Sample
from caltest.predictions.inputs.convert import as_sample


class Estimator(CalledWithData, ABC):
    """A calibration error estimated from predictions and targets.

    Call it with user data: ``estimator(predictions, targets)``. Subclasses are frozen dataclasses that only
    reduce h, or bins, to a number. ``TypeError`` for settings of another kind and predictions that it is not for,
    ``ValueError`` for settings of other values, too few observations, and data that do not fit together.
    """

    two_sided: ClassVar[bool] = False
    """Whether small values speak against calibration as large ones do; the mean is then 0 if calibrated."""

    citations: ClassVar[tuple[str, ...]] = ()
    """Sources, keys of ``caltest/_results/citations.bib``."""

    effect_unit: ClassVar[str] = "estimate above its mean if calibrated"
    """What ``effect_size`` is, unless the estimator has one of its own."""

    biased_error: ClassVar[str] = ""
    """What a biased estimate is called, of which noise is a part where its mean if calibrated is not known."""

    is_clustered: ClassVar[bool] = False
    """Whether outcomes may depend on each other within clusters."""

    def __call__(
        self,
        predictions: ArrayLike,
        targets: ArrayLike,
        *,
        classes: Sequence[Any] | None = None,
        features: Any = None,
        rng: Any = None,
        progress: bool = False,
    ) -> float:
        """Estimate from ``Predictions`` (or arrays that become some) and targets, checked here.

        ``classes``, ``features`` and ``progress`` are those of ``calibration_test``; with features ``SKCE`` estimates
        what ``FeatureSKCE`` does. ``rng`` is for what an estimator draws: landmarks of real targets in ``LowRankSKCE``,
        ties of counts in ``PIT``. They draw anew at each call without it; all others draw nothing. With the seed of the
        result of a test it is the estimate of that test. ``TypeError`` for dask arrays, which tests take.
        """
        shown, seed = switch("progress", progress), seed_of(rng)
        if are_chunks(predictions) or are_chunks(targets):
            raise TypeError(
                f"estimator: got dask arrays for {type(self).__name__}, wanted arrays in memory, or a test of "
                "BlockSKCE or LowRankSKCE, whose result has the estimate"
            )
        sample = as_sample(predictions, targets, classes)
        estimator = self.in_order_of(sample.order)
        if features is not None:
            from caltest.estimators.combined.features import features_of

            estimator = estimator.given_features(features_of(features, sample)[0])
        estimator.check_sample(sample)
        with progress_bars(shown):
            estimate = estimator.resolve(sample.predictions, seed).estimate(sample)
        check_finite(estimate)
        return estimate

    @abstractmethod
    def check(self, predictions: Predictions) -> None:
        """Raise ``ValueError`` for too few predictions, ``TypeError`` for a family without this estimator."""

    def check_sample(self, sample: Sample) -> None:
        """As ``check``, and ``ValueError`` for settings of the rows that are made from their outcomes."""
        self.check(sample.predictions)

    def cautions(self, sample: Sample) -> tuple[str, ...]:
        """What readers should ask about rows that look as if they depended on each other, and about their settings."""
        return () if self.is_clustered else cautions_on(sample)

    def given_features(self, features: Any) -> "Estimator":
        """The same error given features of the rows too; ``TypeError`` for estimators without one."""
        raise TypeError(
            f"features: got some for {type(self).__name__}, wanted a test of SKCE(kernel) or Omnibus(), or "
            "find_slices(predictions, targets, features)"
        )

    def resolve(self, predictions: Predictions, rng: Any = None) -> Self:
        """The same estimator with every setting that depends on the predictions, or is drawn, replaced by its value.

        Estimators hold no seed: what is drawn follows from ``rng``, that of the call, by ``generator_apart``.
        """
        return self

    def resolve_for_chunks(self, predictions: Predictions, rng: Any = None) -> Self:
        """The same from some of the predictions, for data that come in chunks."""
        return self.resolve(predictions, rng)

    def uses_random_numbers(self, predictions: Predictions) -> bool:
        """Whether ``resolve`` draws something for these predictions."""
        return False

    def for_rows(self, rows: Any) -> Self:
        """The resolved estimator for some of the predictions it was resolved with."""
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

    def notes(self, n: int) -> tuple[str, ...]:
        """What readers of an estimate from n observations should know, before the settings are resolved."""
        return ()

    def resolved_notes(self) -> tuple[str, ...]:
        """What readers should know of the settings that were computed from the predictions."""
        return ()

    def hypothesis(self, predictions: Predictions) -> str:
        """What is tested, as a formula."""
        return predictions.hypothesis

    def effect_size(self, estimate: float, predictions: Predictions, mean: float | None) -> EffectSize | None:
        """The size of the error, given the mean of the estimate if the predictions are calibrated, where it is known.

        The estimate above that mean, which is 0 for two-sided estimators; None where it is not known, unless it is an
        error.
        """
        if self.biased_error:
            noise = ", noise included" if mean is None else " above its mean if calibrated"
            return EffectSize(estimate - (mean or 0.0), self.biased_error + noise)
        if self.two_sided:
            mean = 0.0
        return None if mean is None else EffectSize(estimate - mean, self.effect_unit)

    def effect_size_of(self, estimate: float, sample: Sample, mean: float | None) -> EffectSize | None:
        """``effect_size`` where the targets are at hand, for estimators that need them."""
        return self.effect_size(estimate, sample.predictions, mean)

    @property
    def assumptions(self) -> str:
        """What a test with this estimator assumes of the data, besides what it tests."""
        return ASSUMPTIONS

    @abstractmethod
    def describe(self, predictions: Predictions) -> str:
        """What is estimated, in one line."""


an_estimator = instance_of(Estimator, "an estimator such as SKCE(kernel)")


class RedrawnEstimator(Estimator):
    """An estimator that takes many targets of the same predictions at once; what only needs these is computed once."""

    def estimate(self, sample: Sample) -> float:
        return float(self.estimates(sample.predictions, np.asarray(sample.targets)[None])[0])

    @abstractmethod
    def estimates(self, predictions: Predictions, targets: Array) -> FloatArray: ...


class SummableEstimator(Estimator):
    """An estimator that is a function of sums over observations, so that data can come in chunks."""

    def check_summable(self) -> None:
        """Raise ``TypeError`` for settings that depend on all predictions, ``ValueError`` if it is not resolved."""

    @abstractmethod
    def sums(self, predictions: Predictions, targets: Array) -> Sums:
        """What a part of the data adds, for many targets (B, n)."""

    @abstractmethod
    def of_sums(self, sums: Any) -> FloatArray:
        """Estimates (B,) from the sums of all parts."""


@dataclass(frozen=True)
class TextbookTail:
    """A statistic, the probability that it is as large if calibrated, ``df`` of its law, and ``notes`` on its size."""

    statistic: float
    pvalue: float
    df: tuple[float, ...] | None = None
    notes: tuple[str, ...] = ()


@runtime_checkable
class HasTextbookLaw(Protocol):
    """The statistic has a law that does not depend on the predictions, at least for many observations."""

    @property
    def textbook_statistic(self) -> str:
        """What the statistic is, and its law."""

    @property
    def textbook_kind(self) -> PValueKind:
        """``"exact"`` if the law holds for every n, otherwise ``"asymptotic"``."""

    def textbook_tail(self, estimate: float, sample: Sample) -> TextbookTail:
        """The tail beyond the estimate from a sample."""
