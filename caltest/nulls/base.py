"""What a null is: a rule that turns an estimator and a sample into a p-value."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from caltest._basics.numerics import FloatArray, IntArray, resampling_pvalue
from caltest._results.calibration_test_result import ComponentResult, FeatureResult, PValueKind
from caltest._results.measures import Detectable, Measure
from caltest._results.values import Finding, impossible
from caltest._validation import Settings, whole
from caltest.estimators import SKCE, Estimator
from caltest.predictions import Predictions, Sample

E = TypeVar("E", bound=Estimator)
"""The estimators that a null is for."""


@dataclass(frozen=True)
class Outcome:
    """What a null computes; the fields are those of ``CalibrationTestResult``."""

    estimate: float
    statistic: float
    pvalue: float
    standard_error: float | None = None
    df: tuple[float, ...] | None = None
    null_distribution: FloatArray | None = None
    components: tuple[ComponentResult, ...] = ()
    features: tuple[FeatureResult, ...] = ()
    findings: tuple[Finding, ...] = ()
    measures: tuple[Measure, ...] = ()
    detectable: Detectable | None = None
    notes: tuple[str, ...] = ()
    is_excluded: bool = False
    """Whether an outcome occurred that its prediction excludes, which makes the p-value 0."""

    def excluding(self, exclusion: str | None) -> "Outcome":
        """With the p-value 0, and why, where an outcome occurred that its prediction excludes."""
        if exclusion is None:
            return self
        return replace(self, pvalue=0.0, findings=(impossible(exclusion), *self.findings), is_excluded=True)

    @property
    def null_mean(self) -> float | None:
        """Mean of the estimate if calibrated, where draws are those of the estimate."""
        if self.null_distribution is None or self.statistic != self.estimate:
            return None
        return float(self.null_distribution.mean())


class Null(Settings, ABC, Generic[E]):
    """The distribution of an estimator under the null hypothesis that the predictions are calibrated.

    Subclasses are frozen dataclasses. They own the scale of the statistic and name the estimators they are for.
    """

    pvalue_kind: ClassVar[PValueKind]
    statistic_name: ClassVar[str]
    uses_random_numbers: ClassVar[bool] = False
    citations: ClassVar[tuple[str, ...]] = ()
    """Sources, keys of ``caltest/_results/citations.bib``."""
    question: ClassVar[str] = "calibration"
    """What is tested, a key of ``caltest._results.report.QUESTIONS``."""

    requires: ClassVar[type] = Estimator
    """The class or protocol of the estimators that it applies to."""
    wanted: ClassVar[str] = "an estimator such as SKCE(kernel)"
    """How errors call these."""
    allows_clusters: ClassVar[bool] = False
    """Whether p-values are right for outcomes that depend on each other within clusters."""

    def draws_for(self, estimator: E, predictions: Predictions) -> bool:
        """Whether it uses random numbers for these predictions, by default if it ever does."""
        return self.uses_random_numbers

    def check_clusters(self, estimator: Estimator) -> None:
        """Raise ``TypeError`` for an estimator of clusters unless the null is right for them."""
        if estimator.is_clustered and not self.allows_clusters:
            raise self._illegal(
                estimator,
                "an estimator of independent outcomes; clusters need ClusterBootstrap() for ClusterSKCE and Omnibus, "
                "EValueBound() for ClusterLikelihoodRatio, or any test of what "
                "one_per_cluster(predictions, targets, clusters) keeps",
            )

    def check_estimator(self, estimator: Estimator) -> None:
        """Raise ``TypeError`` unless the null applies to the estimator."""
        if not isinstance(estimator, self.requires):
            raise self._illegal(estimator, self.wanted)

    def check_size(self, estimator: E, n: int) -> None:
        """Raise ``ValueError`` unless there are enough observations; the estimator checks what it needs itself."""

    @abstractmethod
    def outcome(self, estimator: E, sample: Sample, rng: np.random.Generator) -> Outcome:
        """Estimate, statistic and p-value for a resolved estimator and a checked sample.

        Random numbers come from children, ``rng.spawn``: those of ``rng`` itself may have made the data.
        """

    @abstractmethod
    def describe(self) -> str:
        """The null in one line."""

    def describe_for(self, predictions: Predictions) -> str:
        """The null for these predictions in one line."""
        return self.describe()

    def statistic_name_of(self, estimator: E) -> str:
        """What the statistic is."""
        return self.statistic_name

    def hypothesis(self, estimator: E, predictions: Predictions) -> str:
        """What is tested, as a formula."""
        return estimator.hypothesis(predictions)

    def pvalue_kind_of(self, estimator: E) -> PValueKind:
        """What kind of p-value it is."""
        return self.pvalue_kind

    def notes(self, estimator: E, n: int) -> tuple[str, ...]:
        """What readers of the p-value should know."""
        return ()

    def _check_unbiased(self, estimator: Estimator) -> None:
        """Raise unless the estimator is the unbiased SKCE."""
        if not isinstance(estimator, SKCE) or not estimator.unbiased:
            raise self._illegal(estimator, "the unbiased estimator SKCE(kernel)")

    def _illegal(self, estimator: Estimator, wanted: str) -> TypeError:
        return TypeError(f"estimator: got {type(estimator).__name__} for {type(self).__name__}, wanted {wanted}")


class SummableNull(Null[E]):
    """A null whose outcome is a function of sums over parts of the data, for estimators that are so too."""

    @abstractmethod
    def sums(self, estimator: E, sample: Sample, rng: np.random.Generator, place: tuple[int, IntArray]) -> Any:
        """What a part of the data adds; parts are added with ``+``.

        Random numbers are those of the part, ``rng``, or functions of a seed and of the number of the row, where the
        ``place`` has the seed and the numbers of the rows.
        """

    @abstractmethod
    def outcome_of(self, estimator: E, sums: Any) -> Outcome:
        """Estimate, statistic and p-value from the sums of all parts."""

    def excludes(self, estimator: E) -> bool:
        """Whether the p-value is 0 if an outcome occurred that its prediction excludes."""
        return False

    @abstractmethod
    def check_summable(self, estimator: E) -> None:
        """Raise ``TypeError`` for other estimators than those of sums, ``ValueError`` if one is not resolved."""


Resampled = tuple[float, float, FloatArray]
"""The estimate, the statistic, and its resampled values."""


@dataclass(frozen=True)
class ResamplingNull(Null[E]):
    """A null that compares the statistic with ``n_resamples`` values of it."""

    n_resamples: int = 999
    _checks = {"n_resamples": whole(1)}

    uses_random_numbers = True
    statistic_name = "the estimate"

    @abstractmethod
    def resample(self, estimator: E, sample: Sample, rng: np.random.Generator) -> Resampled:
        """The estimate, the statistic, and its resampled values."""

    def outcome(self, estimator: E, sample: Sample, rng: np.random.Generator) -> Outcome:
        return ranked(*self.resample(estimator, sample, rng))


def ranked(estimate: float, statistic: float, draws: FloatArray) -> Outcome:
    """The rank of a statistic among its resampled values as the p-value."""
    return Outcome(estimate, statistic, resampling_pvalue(statistic, draws), null_distribution=draws)


def kind_given(predictions: Predictions, kind: PValueKind, is_redrawn: bool) -> PValueKind:
    """The kind of a p-value, which is not exact where targets depend on each other given the predictions."""
    if kind != "exact" or not predictions.depends:
        return kind
    return "resampling" if is_redrawn else "asymptotic"
