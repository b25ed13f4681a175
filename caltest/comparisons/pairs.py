"""Which of two models is better calibrated, and which of several: a test, and a table of all pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.linalg import norm

from caltest._basics.arrays import labelled_as
from caltest._basics.calls import own_errstate
from caltest._basics.jobs import streams
from caltest._basics.numerics import ArrayLike, FloatArray, check_finite, seed_of
from caltest._basics.threads import progress_bars
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.model_comparison import Comparison
from caltest._results.report import (
    LISTED,
    at_level,
    benjamini_hochberg,
    counted,
    first_of,
    format_pvalue,
    holm,
    listed,
    pvalue_phrase,
)
from caltest._results.tables import STANDS_OUT, Bar, Grid, Page, Table, entries_of
from caltest._results.values import JACKKNIFE, ConfidenceInterval, EffectSize, Finding, Stored
from caltest._validation import CalledWithData, fraction, optional, switch
from caltest.comparisons.samples import check_family, check_same_kind, notes_of, sample_of, samples_of
from caltest.estimators.kernel_errors.kernel_estimator import shared_kernel
from caltest.hstatistics.bound import h_bound
from caltest.hstatistics.variances.jackknife import error_if_calibrated, jackknife, row_sums
from caltest.kernels import PairKernel
from caltest.kernels.product import a_pair_kernel
from caltest.predictions import Sample
from caltest.predictions.censored import Censored

FEW = 20.0
"""Outcomes of rare classes below which the jackknife misses those that did not occur by chance."""

REDRAWS = 10
"""Of the outcomes, where these are few."""


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


class Sums(NamedTuple):
    """Of a model: the sums of h over the rows (n,), and the standard error of their mean if it is calibrated.

    The jackknife alone is misled where the difference is degenerate: if a model that claims the same for all rows is
    right to the last outcome, the sums of its rows hardly differ.
    """

    of_rows: FloatArray
    error: float

    @classmethod
    def of(cls, kernel: PairKernel, sample: Sample) -> "Sums":
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
    def of(cls, one: "Sums", other: "Sums", if_equal: float = 0.0) -> "Difference":
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
        radius = float(scipy.special.ndtri((1.0 + level) / 2.0)) * self.standard_error
        return ConfidenceInterval(self.estimate - radius, self.estimate + radius, level, JACKKNIFE, self.estimate)

    @property
    def finding(self) -> Finding:
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
        return Finding(f"{words} ({ends[0]:.3g} to {ends[1]:.3g}, 95 %)", "difference", better, self.estimate, interval)


@dataclass(frozen=True)
class PairedSKCETest(CalledWithData):
    """Test of the hypothesis that two models have the same calibration error, for the same outcomes.

    The difference of the unbiased estimators ``U_A - U_B`` is a U-statistic of the kernel ``h_A - h_B``. With its
    jackknife standard error s the statistic is ``|U_A - U_B| / s`` and the p-value ``2 Phi(-|U_A - U_B| / s)``. What
    the models share, the noise of the outcomes above all, cancels in s, which is at least the difference of the
    standard errors that both have if they are calibrated. Where fewer than 20 outcomes are of other classes than the
    most frequent one, observed or expected by a model, it is at least what it is for outcomes of which each is drawn
    from A or B, for which the errors are about equal. Call it with the predictions of A, those of B, and the outcomes.

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
    the test conservative: at the 5 % level it rejected at most 0.2 % of 1500 simulated data sets for each of n = 50 and
    n = 250 (binary; models that know different parts of what the outcomes depend on), and 0.2 to 1.7 % for two models
    that are overconfident in the same way. Of rare events (``docs/validity.md``) few tell large errors apart only, as a
    note says for fewer than 20.

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
            sums = Sums.of(kernel, sample), Sums.of(kernel, other)
            found = Difference.of(*sums, error_if_equal(kernel, sample, other))
        means = [jackknife(one.of_rows).estimate for one in sums]
        largest = h_bound(kernel, sample.predictions)
        roots = [sqrt(max(0.0, mean) / largest) for mean in means]
        models = {"A": sample, "B": other}
        of_models = notes_of({name: (*one.remarks, *one.predictions.notes) for name, one in models.items()})
        notes = [*of_models, *note_on_few((sample, other)), *kernel.notes]
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
            findings=(found.finding,),
            effect_size=EffectSize(roots[0] - roots[1], "difference of the KCE as a share of its largest value"),
            notes=tuple(dict.fromkeys(notes)),
        )


@dataclass(frozen=True)
class ComparedPair:
    """A row of a comparison of pairs.

    Attributes
    ----------
    estimate, interval
        Of ``SKCE(first) - SKCE(second)``; negative where the first one is better calibrated.
    pvalue, pvalue_holm, pvalue_bh
        Of the hypothesis that both have the same error; adjusted as in ``ComparedModel``.

    Examples
    --------
    >>> import caltest as ct
    >>> models = {name: p for name, (p, _) in ct.datasets.load_digits_predictions().items()}
    >>> labels = ct.datasets.load_digits_predictions()["random forest"][1]
    >>> row = ct.compare_pairs(models, labels).rows[0]
    >>> row.first, row.second, row.better
    ('naive Bayes', 'random forest', 'random forest')
    """

    first: str
    second: str
    estimate: float
    interval: ConfidenceInterval
    pvalue: float
    pvalue_holm: float
    pvalue_bh: float

    @property
    def name(self) -> str:
        """Of the pair."""
        return f"{self.first} - {self.second}"

    @property
    def better(self) -> str:
        """The model with the smaller estimate; empty if both are the same."""
        return "" if self.estimate == 0.0 else self.first if self.estimate < 0.0 else self.second


@dataclass(frozen=True, repr=False)
class PairComparison(Comparison[ComparedPair], Stored):
    """All pairs of several models side by side. Printing it gives a table.

    Attributes
    ----------
    rows
        One for each pair, in the order of the models.
    confidence_level
        Of the intervals, each for itself.
    notes
        Such as that one of two classes is rare.

    Examples
    --------
    >>> import caltest as ct
    >>> models = {name: p for name, (p, _) in ct.datasets.load_digits_predictions().items()}
    >>> labels = ct.datasets.load_digits_predictions()["random forest"][1]
    >>> ct.compare_pairs(models, labels)
    <comparison of 3 pairs of models, n = 899>
    """

    derived = ("pvalue",)
    picture = "forest"

    rows: tuple[ComparedPair, ...]
    estimator: str
    n: int
    confidence_level: float
    notes: tuple[str, ...] = ()
    citations: tuple[str, ...] = ("benjamini1995", "bounliphone2016", "efron1981", "holm1979", "widmann2019")

    def bars(self) -> list[Bar]:
        """Differences of errors with their intervals, for ``plots.forest``."""
        words, unit = "no difference", "difference of squared errors"
        return [
            Bar(one.name, one.estimate, one.interval, 0.0, words, unit, one.pvalue_holm <= STANDS_OUT)
            for one in self.rows
        ]

    def table(self) -> Table:
        header = ["pair", "difference", f"{100 * self.confidence_level:g} % interval", "p", "Holm", "BH", "better"]
        return [header, *(_cells(row) for row in self.rows)]

    def row_entries(self) -> list[dict[str, Any]]:
        return [{"name": row.name} | entries_of(row) | {"better": row.better} for row in self.rows]

    def verdict(self, alpha: float = 0.05) -> str:
        """Which models differ at a level, in words."""
        names, pairs = self.rejected(alpha), f"{self._counted} of models"
        if not names:
            one = self.rows[0]
            where = f"in any of {pairs}" if len(self.rows) > 1 else f"between {one.first} and {one.second}"
            return f"no evidence that calibration errors differ {where}, {at_level(alpha)}"
        which = first_of(names, LISTED, ", ")
        return f"calibration errors differ in {len(names)} of {pairs}, {at_level(alpha)}: {which}"

    def sentence(self, alpha: float = 0.05) -> str:
        """One sentence for a paper: which models differ after Holm's adjustment."""
        level = fraction("alpha", alpha)
        different = [
            f"{row.name} ({row.better} is better calibrated, {pvalue_phrase(row.pvalue_holm)})"
            for row in self.rows
            if row.pvalue_holm <= level
        ]
        how = f"at the {100 * level:g} % level, with p-values adjusted by Holm's method"
        found = f"errors differ for {listed(different)}" if different else "no errors differ"
        return (
            f"The kernel calibration errors of {self._counted} of models were compared on the same n = {self.n} "
            f"outcomes: {how}, {found}."
        )

    @property
    def _counted(self) -> str:
        return counted(len(self.rows), "pair")

    def __repr__(self) -> str:
        return f"<comparison of {self._counted} of models, n = {self.n}>"

    def summary(self, alpha: float = 0.05) -> str:
        what = {"Verdict": self.verdict(alpha), "Difference": f"of {self.estimator}"}
        what |= {"p-value": "normal limit, jackknife variance", "n": str(self.n)}
        better = "better: has the smaller estimate; whether that is more than chance is what p says"
        lines = ["", better, f"Holm, BH: p-values adjusted for {self._counted}"]
        return Page(f"Comparison of {self._counted} of models", what, [""], Grid(self.table()), lines, notes=self.notes)


@own_errstate
def compare_pairs(
    models: Mapping[str, ArrayLike],
    targets: ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    kernel: PairKernel | None = None,
    confidence_level: float = 0.95,
) -> PairComparison:
    """Compare the calibration errors of all pairs of several models for the same outcomes.

    ``PairedSKCETest`` of each pair, with one kernel for all of them, and its p-values adjusted for the number of pairs.

    Parameters
    ----------
    models, targets, classes
        As in ``compare_models``, of at least two models and three outcomes.
    kernel
        As in ``PairedSKCETest``, of the predictions of all models together.
    confidence_level
        Of the intervals of the differences.

    Raises
    ------
    ValueError, TypeError
        For fewer than two models, and as ``compare_models`` and ``PairedSKCETest``.

    Notes
    -----
    Assumes independent observations. Asymptotic, and conservative for models that are both calibrated, as
    ``PairedSKCETest`` says. Time O(m n**2 k) for m models: the sums of h are computed once for each model.

    Examples
    --------
    >>> import caltest as ct
    >>> models = {name: p for name, (p, _) in ct.datasets.load_digits_predictions().items()}
    >>> labels = ct.datasets.load_digits_predictions()["random forest"][1]
    >>> [(row.better, row.pvalue_holm < 0.05) for row in ct.compare_pairs(models, labels).rows]
    [('random forest', True), ('neural network', True), ('neural network', True)]
    """
    samples = samples_of(models, targets, classes)
    return pairs_of_samples(samples, kernel, fraction("confidence_level", confidence_level))


def pairs_of_samples(samples: dict[str, Sample], kernel: PairKernel | None, level: float) -> PairComparison:
    """``compare_pairs`` for samples that are already checked, one by one."""
    check_same_kind(samples)
    if len(samples) < 2:
        raise ValueError(f"models: got only {next(iter(samples))!r}, wanted at least two to compare")
    shared = shared_kernel(kernel, [sample.predictions for sample in samples.values()])
    sums = {name: Sums.of(shared, sample) for name, sample in samples.items()}
    pairs = list(combinations(samples, 2))
    found = []
    for first, second in pairs:
        try:
            if_equal = error_if_equal(shared, samples[first], samples[second])
            found.append(Difference.of(sums[first], sums[second], if_equal))
        except ValueError as error:
            raise ValueError(f"models {first!r} and {second!r}: {error}") from None
    pvalues = [difference.pvalue for difference in found]
    adjusted = zip(holm(pvalues), benjamini_hochberg(pvalues), strict=True)
    rows = [
        ComparedPair(first, second, one.estimate, one.interval(level), one.pvalue, *both)
        for (first, second), one, both in zip(pairs, found, adjusted, strict=True)
    ]
    notes = notes_of({name: (*one.remarks, *one.predictions.notes) for name, one in samples.items()})
    return PairComparison(
        rows=tuple(rows),
        estimator=f"SKCE (unbiased, all pairs), k = {shared.describe()}",
        n=len(next(iter(samples.values()))),
        confidence_level=level,
        notes=(*note_on_few(list(samples.values())), *notes),
    )


def _cells(row: ComparedPair) -> list[str]:
    pvalues = [format_pvalue(p) for p in (row.pvalue, row.pvalue_holm, row.pvalue_bh)]
    return [row.name, f"{row.estimate:.3g}", f"[{row.interval.low:.3g}, {row.interval.high:.3g}]", *pvalues, row.better]
