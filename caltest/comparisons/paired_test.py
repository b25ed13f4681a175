"""Which of two models is better calibrated: a test of the difference of their errors."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.linalg import norm

from caltest._basics.arrays import labelled_as
from caltest._basics.numerics import ArrayLike, FloatArray, check_finite, seed_of
from caltest._basics.threads import progress_bars, streams
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.measures import ends_of, judged
from caltest._results.values import JACKKNIFE, ConfidenceInterval, EffectSize, Finding, normal_interval
from caltest._validation import CalledWithData, optional, switch
from caltest.comparisons.samples import check_family, notes_on_models
from caltest.estimators.combined.measures import measures_of
from caltest.estimators.kernel_errors.kernel_estimator import shared_kernel
from caltest.hstatistics.tiles import h_bound
from caltest.hstatistics.variances.jackknife import error_if_calibrated, jackknife, row_sums
from caltest.kernels import PairKernel
from caltest.kernels.product import a_pair_kernel
from caltest.predictions import Sample
from caltest.predictions.censored import Censored, sample_of

FEW = 20.0
"""Outcomes of rare classes below which the jackknife misses those that did not occur by chance."""

REDRAWS = 10
"""Of the outcomes, where these are few."""

SQUARES = "SKCE averages products of errors of similar predictions"
"""Why the model with the smaller kernel error can have the larger mean error."""


def number_of_rare(samples: Sequence[Sample]) -> float:
    """Outcomes of other classes than the most frequent one: as observed, or expected by the model that has the least.

    Infinite for predictions of more than finitely many outcomes.
    """
    laws = [sample.predictions.finite for sample in samples]
    if any(law is None for law in laws):
        return float("inf")
    counts = [np.bincount(samples[0].targets), *(law.probabilities.sum(axis=0) for law in laws if law is not None)]
    return min(len(samples[0]) - float(np.max(one)) for one in counts)


def note_on_few(samples: Sequence[Sample]) -> tuple[str, ...]:
    """A note where all classes but one are rare, by the outcomes or by one of the models."""
    least = number_of_rare(samples)
    if least >= FEW:
        return ()
    classes = samples[0].predictions.finite
    which = "one class" if classes is not None and classes.n_classes == 2 else "all classes but one"
    return (
        f"{least:.2g} outcomes of {which}, observed or expected by a model, where {FEW:.0f} are wanted: the standard "
        "error is at least what it is for outcomes that are drawn from either model, and only large differences show",
    )


def error_if_equal(kernel: PairKernel, first: Sample, second: Sample) -> float:
    """Standard error of the difference if both errors are equal, where outcomes are few; else 0.

    The root of the mean jackknife variance for outcomes of which each is drawn from one or the other model.
    """
    if number_of_rare((first, second)) >= FEW:
        return 0.0
    rng = np.random.default_rng(0)
    laws = [first.predictions, second.predictions]
    drawn = [law.with_redraws(None, streams(rng, REDRAWS)) for law in laws]
    variances = []
    for targets in np.where(rng.random(drawn[0].shape) < 0.5, *drawn):
        one, other = (row_sums(kernel, Sample(law, targets)) for law in laws)
        variances.append(jackknife(one - other).standard_error ** 2)
    return sqrt(float(np.mean(variances)))


class FarOff(NamedTuple):
    """How far predictions of several models are off on average, in units of the reader, each with an interval."""

    gaps: Sequence[ConfidenceInterval]
    event: str = ""
    unit: str = ""


def is_farther(one: ConfidenceInterval | None, other: ConfidenceInterval | None) -> bool:
    """Whether the first of two models is clearly farther off."""
    return one is not None and other is not None and one.low > other.high


def far_off(samples: Sequence[Sample]) -> FarOff | None:
    """By what has a margin for all models: of several such things that of which one is the farthest off, in margins."""
    found = [{one.event: one for one in judged(measures_of(sample))} for sample in samples]
    shared = [event for event in found[0] if all(event in own for own in found)]
    if not shared:
        return None
    event = max(shared, key=lambda event: max((own[event].gap.estimate or 0.0) / own[event].margin for own in found))
    return FarOff([own[event].gap for own in found], event, found[0][event].unit)


class ModelSums(NamedTuple):
    """Of a model: the sums of h over the rows (n,), and the standard error of their mean if it is calibrated.

    The jackknife alone is misled where the difference is degenerate: if a model that claims the same for all rows is
    right to the last outcome, the sums of its rows hardly differ.
    """

    of_rows: FloatArray
    error: float

    @classmethod
    def of(cls, kernel: PairKernel, sample: Sample) -> "ModelSums":
        """For a resolved kernel; from redraws of a fixed seed where there is no formula for the error."""
        return cls(row_sums(kernel, sample), error_if_calibrated(kernel, sample, np.random.default_rng(0)))


@dataclass(frozen=True)
class Difference:
    """The difference of two estimates, its jackknife standard error, their absolute ratio and the p-value."""

    estimate: float
    standard_error: float
    statistic: float
    pvalue: float

    @classmethod
    def of(cls, one: "ModelSums", other: "ModelSums", if_equal: float = 0.0) -> "Difference":
        """From the sums of both models, and ``error_if_equal``; ``ValueError`` if their differences do not vary."""
        differences = one.of_rows - other.of_rows
        found = jackknife(differences)
        # Equal sums leave differences of the size of their rounding errors.
        same = norm(differences) <= 1e-12 * norm(one.of_rows)
        seen = max(found.standard_error, if_equal)
        if not same and seen == 0.0:
            raise ValueError(
                "predictions: got differences of h that do not vary over the observations, so the normal limit has "
                "no scale; compare distribution_free_interval(predictions, targets, SKCE(kernel)) of both"
            )
        error = found.standard_error if same else max(seen, abs(one.error - other.error))
        statistic = 0.0 if same else abs(found.estimate) / error
        check_finite(found.estimate, statistic)
        pvalue = min(1.0, 2.0 * float(scipy.special.ndtr(-statistic)))
        return cls(found.estimate, error, statistic, pvalue)

    def interval(self, level: float) -> ConfidenceInterval:
        """The normal confidence interval."""
        return normal_interval(self.estimate, self.standard_error, level, JACKKNIFE)

    def finding(self, off: FarOff | None) -> Finding:
        """Which of the models A and B is better calibrated, or that the 95 % interval does not tell."""
        interval = self.interval(0.95)
        (low, high), better = interval.ends, "A" if self.estimate < 0.0 else "B"
        if not interval.excludes(0.0):
            words = (
                f"which model is better calibrated cannot be told: SKCE(A) - SKCE(B) is from {low:.3g} to {high:.3g}"
            )
            return Finding(f"{words} (95 %)", "difference", "", self.estimate, interval)
        ends = sorted(map(abs, (low, high)))
        words = f"model {better} is better calibrated: its SKCE is smaller by {abs(self.estimate):.3g}"
        words += f" ({ends[0]:.3g} to {ends[1]:.3g}, 95 %)"
        if off is not None:
            one, other = map(ends_of, off.gaps)
            sizes = f"{one} {off.unit} for A, {other} for B"
            if is_farther(*(off.gaps if better == "A" else off.gaps[::-1])):
                words += f", although {off.event} are farther off on average, {sizes} ({SQUARES})"
            else:
                words += f"; {off.event} are off by {sizes} on average"
        return Finding(words, "difference", better, self.estimate, interval)


@dataclass(frozen=True)
class PairedSKCETest(CalledWithData):
    """Test of the hypothesis that two models have the same calibration error, for the same outcomes.

    The difference of the unbiased estimators ``U_A - U_B`` is a U-statistic of the kernel ``h_A - h_B``. With its
    jackknife standard error s the statistic is ``|U_A - U_B| / s`` and the p-value ``2 Phi(-|U_A - U_B| / s)``. What
    the models share, the noise of the outcomes above all, cancels in s. It is at least the difference of the standard
    errors that both have if they are calibrated. Where fewer than 20 outcomes are, or are expected by a model to be, of
    other classes than the most frequent one, s is also at least what it is for outcomes that are each drawn from A or
    B, for which the errors are about equal. Call it with the predictions of A, those of B, and the outcomes.

    Parameters
    ----------
    kernel
        Of predictions and targets, the same for both models; by default that of the family. A ``"median"`` bandwidth
        is that of the predictions of both together.

    Raises
    ------
    TypeError
        For predictions of different families, or anything other than a kernel.
    ValueError
        For bad data, different lengths, fewer than 3 observations, or differences of h that do not vary over the
        observations. Where all of them are 0 up to rounding, because the predictions are the same, the p-value is 1.

    Notes
    -----
    Assumes independent observations. Asymptotic. Where both models are calibrated, the difference is degenerate and
    the test conservative: at the 5 % level it rejected at most 0.4 % of 1000 simulated data sets each of events, ten
    classes and numbers, n = 100 and 400, and up to 5.8 % where two models are equally wrong (``docs/error-rates.md``).
    A few rare events tell only large errors apart (``docs/validity.md``), as a note says for fewer than 20.

    Time O(n**2 k), memory O(n k); eleven times that where so few outcomes are rare.

    Sources: Widmann et al. 2019, Theorem G.1, for the limit of one estimator; Bounliphone et al. 2016 compare two
    U-statistics of the same sample in this way.

    Examples
    --------
    >>> import caltest as ct
    >>> models = ct.datasets.load_digits_predictions()
    >>> (forest, labels), (bayes, _) = models["random forest"], models["naive Bayes"]
    >>> result = ct.PairedSKCETest()(forest, bayes, labels)
    >>> result.verdict()
    'the calibration errors of the models differ, at the 5 % level: A is better calibrated'
    """

    kernel: PairKernel | None = None

    citations = ("bounliphone2016", "efron1981", "widmann2019")
    _checks = {"kernel": optional(a_pair_kernel)}

    def __call__(
        self,
        predictions: ArrayLike,
        other_predictions: ArrayLike,
        targets: ArrayLike,
        *,
        classes: Sequence[Any] | None = None,
        rng: Any = None,
        progress: bool = False,
    ) -> CalibrationTestResult:
        """Test two models.

        Parameters
        ----------
        predictions, other_predictions
            Of the models A and B: ``Predictions``, or what becomes some, of the same family and length.
        targets
            (n,) outcomes, the same for both; n >= 3.
        classes, rng, progress
            As in ``calibration_test``: the same call as that of other tests. The result does not depend on rng.

        Returns
        -------
        CalibrationTestResult
            Its estimate is ``U_A - U_B``, negative where A is better calibrated; its interval is two-sided. Its
            ``finding`` says which model is better calibrated, or that its 95 % interval, which holds 0, does not tell.
        """
        shown = switch("progress", progress)
        seed_of(rng)
        if not isinstance(targets, Censored):
            targets = labelled_as(targets, (predictions, other_predictions))
        sample = sample_of(predictions, targets, classes, 0)
        try:
            other = sample_of(other_predictions, targets, classes, 0)
        except (ValueError, TypeError) as error:
            raise type(error)(f"other_predictions: {str(error).removeprefix('predictions: ')}") from None
        check_family(sample.predictions, other.predictions, "other_predictions")
        with progress_bars(shown):
            kernel = shared_kernel(self.kernel, [sample.predictions, other.predictions])
            sums = ModelSums.of(kernel, sample), ModelSums.of(kernel, other)
            found = Difference.of(*sums, error_if_equal(kernel, sample, other))
        means = [jackknife(one.of_rows).estimate for one in sums]
        largest = h_bound(kernel, sample.predictions)
        roots = [sqrt(max(0.0, mean) / largest) for mean in means]
        notes = [*notes_on_models({"A": sample, "B": other}), *note_on_few((sample, other)), *kernel.notes]
        return CalibrationTestResult(
            test=type(self).__name__,
            hypothesis="KCE(A) = KCE(B)",
            question="difference",
            predictions=f"A: {sample.predictions.describe()}; B: {other.predictions.describe()}",
            estimator=f"SKCE(A) - SKCE(B) (unbiased, all pairs), k = {kernel.describe()}",
            null="normal limit with jackknife variance, two-sided",
            n=len(sample),
            n_used=len(sample),
            estimate=found.estimate,
            statistic=found.statistic,
            statistic_name="|estimate| / standard error",
            pvalue=found.pvalue,
            pvalue_kind="asymptotic",
            standard_error=found.standard_error,
            citations=self.citations,
            findings=(found.finding(far_off((sample, other))),),
            effect_size=EffectSize(roots[0] - roots[1], "difference of the KCE as a share of its largest value"),
            notes=tuple(dict.fromkeys(notes)),
        )
