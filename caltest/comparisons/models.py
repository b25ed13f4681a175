"""Comparisons of several models for the same outcomes, and of the classes of one model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import Any, TypeVar

import numpy as np

from caltest._basics.arrays import labelled_as
from caltest._basics.calls import own_errstate
from caltest._basics.numerics import ArrayLike, generator_apart, seed_of
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.measures import MISSED, amount, ends_of, is_missed, matters, telling
from caltest._results.report import (
    LISTED,
    at_level,
    benjamini_hochberg,
    first_of,
    format_pvalue,
    holm,
    listed,
    pvalue_phrase,
    remarks,
    undecided,
)
from caltest._results.tables import STANDS_OUT, AdjustedRows, Bar, Grid, Page, Table, sharper
from caltest._results.values import ConfidenceInterval, Finding, Stored
from caltest._validation import fraction, same_length, whole_number
from caltest._validation.groups import as_texts
from caltest.estimators import SKCE, Estimator
from caltest.estimators.kernel_errors.kernel_estimator import shared_kernel
from caltest.hypothesis_test import CalibrationTest
from caltest.intervals.kernel_errors import jackknife_interval
from caltest.intervals.noise_floor import noise_floor
from caltest.kernels import PairKernel
from caltest.named_tests import MonteCarloTest, OmnibusTest
from caltest.predictions import Predictions, Sample
from caltest.predictions.censored import Censored, as_times, censored_pit_values, in_rows_of, note_on_draws
from caltest.predictions.convert import as_sample
from caltest.predictions.labelled import named_one
from caltest.predictions.questions.misread import misread
from caltest.predictions.reductions import categorical_sample, one_against_rest

R = TypeVar("R")


@dataclass(frozen=True)
class ComparedModel:
    """A row of a comparison.

    Attributes
    ----------
    score
        Share of outcomes that are the most probable class, root mean square distance of outcomes and predicted means,
        or frequency of a class, as ``ModelComparison.score_name`` says; None where means are not known.
    estimate, interval
        Of the calibration error; the interval is None where there is none.
    noise_floor, noise_quantile
        Mean and 95 % quantile of the estimate if the predictions are calibrated. Beside an interval the estimate is
        unbiased, so the mean is 0, and the quantile, which takes redraws, is None.
    pvalue, pvalue_holm, pvalue_bh
        Of the hypothesis that they are calibrated, and adjusted for the number of rows: by Holm's method, which bounds
        the probability of any false rejection, and by that of Benjamini and Hochberg, which bounds the expected share
        of false rejections.
    finding
        What is wrong, in words, or None; it means something only where calibration is rejected.
    pvalue_otherwise
        As in ``CalibrationTestResult``.
    gap, margin, compared, unit
        Of the measure that decides whether the error matters, as in ``Measure``, what it is of, and in which unit; None
        and empty where there is none.
    matters
        Whether the error of some measure is larger than its margin, or what was said to be impossible occurred; None if
        that is open.
    power
        How often the test finds errors that just matter in such data at the 5 % level, if that is known.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["neural network"]
    >>> row = ct.compare_models({"network": p}, y, n_resamples=99, rng=1).rows[0]
    >>> row.name, round(row.score, 3), row.pvalue == row.pvalue_holm
    ('network', 0.962, True)
    """

    name: str
    score: float | None
    estimate: float
    interval: ConfidenceInterval | None
    noise_floor: float
    noise_quantile: float | None
    pvalue: float
    pvalue_holm: float
    pvalue_bh: float
    finding: Finding | None
    pvalue_otherwise: float | None = None
    gap: ConfidenceInterval | None = None
    margin: float | None = None
    compared: str = ""
    unit: str = ""
    matters: bool | None = None
    power: float | None = None

    @property
    def may_be_missed(self) -> bool:
        """Whether an error that matters could be there although calibration is not rejected."""
        return self.matters is not False and is_missed(self.gap is not None, self.power)

    @property
    def shown(self) -> float:
        """What the interval is about, if there is one: the estimate, cut at 0 as errors are at least that."""
        return self.estimate if self.interval is None or self.interval.estimate is None else self.interval.estimate


class Comparison(AdjustedRows[R]):
    """A comparison whose rows have p-values that are adjusted by Holm's method."""

    rows: tuple[Any, ...]
    _adjusted = "pvalue_holm"

    @property
    def pvalue(self) -> float:
        """Of the hypothesis that those of all rows hold: the smallest one adjusted by Holm's method."""
        return float(min(row.pvalue_holm for row in self.rows))

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, repr=False)
class ModelComparison(Comparison[ComparedModel], Stored):
    """Several models, or the classes of one, side by side. Printing it gives a table.

    Attributes
    ----------
    rows
        One for each model, in their order.
    kind
        ``"model"`` or ``"class"``.
    score_name, test, estimator
        What the scores are, and where p-values and estimates come from, in words.
    seed
        Integer that reproduces it as ``rng=seed``.

    Examples
    --------
    >>> import caltest as ct
    >>> models = ct.datasets.load_digits_predictions()
    >>> labels = models["random forest"][1]
    >>> comparison = ct.compare_models({name: p for name, (p, _) in models.items()}, labels, n_resamples=99, rng=1)
    >>> [row.name for row in comparison.rows if row.pvalue_holm <= 0.05]
    ['naive Bayes', 'random forest', 'neural network']
    """

    rows: tuple[ComparedModel, ...]
    kind: str
    score_name: str
    test: str
    estimator: str
    n: int
    confidence_level: float
    seed: int
    notes: tuple[str, ...] = ()
    citations: tuple[str, ...] = ()
    n_resamples: int | None = None

    derived = ("pvalue",)
    picture = "forest"

    def bars(self) -> list[Bar]:
        """How far the rows are off, beside what is too small to matter, for ``plots.forest``; or estimated errors."""
        if any(row.gap is None for row in self.rows):
            return self._errors
        what, unit = "too small to matter", f"{self.rows[0].unit} off on average"
        return [
            Bar(
                *(one.name, 100.0 * (one.gap.estimate or 0.0), [100.0 * end for end in one.gap], None, what, unit),
                *(one.pvalue_holm <= STANDS_OUT, (0.0, 100.0 * one.margin)),
            )
            for one in self.rows
            if one.gap is not None and one.margin is not None
        ]

    @property
    def _errors(self) -> list[Bar]:
        """Estimates with their intervals, beside what calibrated predictions give."""
        what = "mean if calibrated", "error"
        return [
            Bar(one.name, one.shown, one.interval, one.noise_floor, *what, one.pvalue_holm <= STANDS_OUT)
            for one in self.rows
        ]

    def table(self) -> Table:
        columns = {self.kind: [row.name for row in self.rows]}
        if any(row.score is not None for row in self.rows):
            columns[self.score_name] = [_score_cell(row) for row in self.rows]
        if any(row.gap for row in self.rows):
            columns[f"{_short(self.rows)} off"] = ["-" if row.gap is None else ends_of(row.gap) for row in self.rows]
        columns["p"] = [format_pvalue(row.pvalue, row.pvalue_otherwise) for row in self.rows]
        columns["Holm"] = [format_pvalue(row.pvalue_holm, row.pvalue_otherwise) for row in self.rows]
        columns["estimate"] = [f"{row.shown:.3g}" for row in self.rows]
        intervals = [row.interval for row in self.rows]
        if any(intervals):
            cells = ["-" if one is None else f"[{one.low:.3g}, {one.high:.3g}]" for one in intervals]
            columns[f"{100 * self.confidence_level:g} % interval"] = cells
        if not all(intervals):
            floors = ["-" if row.noise_quantile is None else f"{row.noise_quantile:.3g}" for row in self.rows]
            columns["if calibrated"] = floors
        return [list(columns), *map(list, zip(*columns.values(), strict=True))]

    def remarks(self) -> list[str]:
        """What is how far off; why p-values are 0, which is the smallest possible, and of which test they are not."""
        return [*_how_far(self.rows, self.kind), *remarks(self.rows, self.n_resamples), *sharper(self._errors)]

    def verdict(self, alpha: float = 0.05) -> str:
        """For which rows calibration is rejected at a level and whether their errors matter, in words."""
        names = self.rejected(alpha)
        if names:
            which = f"for {len(names)} of {self._counted}: {first_of(names, LISTED, ', ')}"
            return f"reject calibration {at_level(alpha)} {which}{_practical([self[name] for name in names])}"
        if few := undecided(self.pvalue, self.n_resamples, alpha):
            return few
        kept = f"calibration of none of {self._counted} is rejected {at_level(alpha)}"
        if all(row.matters is False for row in self.rows):
            return f"{kept}, and errors that matter are ruled out"
        missed = [row.name for row in self.rows if row.may_be_missed]
        of = "" if len(missed) == len(self.rows) else f" for {first_of(missed, LISTED, ', ')}"
        return f"{kept}, but {MISSED}{of}" if missed else kept

    def sentence(self, alpha: float = 0.05) -> str:
        """One sentence for a paper: for which rows calibration is rejected after Holm's adjustment."""
        level = fraction("alpha", alpha)
        said = [f"{row.name} ({pvalue_phrase(row.pvalue_holm, otherwise=row.pvalue_otherwise)})" for row in self.rows]
        rejected = [text for text, row in zip(said, self.rows, strict=True) if row.pvalue_holm <= level]
        kept = [text for text, row in zip(said, self.rows, strict=True) if row.pvalue_holm > level]
        found = f"was rejected for {listed(rejected)}" if rejected else f"was not rejected for {listed(kept)}"
        others = f" and not for {listed(kept)}" if rejected and kept else ""
        return (
            f"The calibration of {self._counted} was tested on n = {self.n} observations "
            f"({self.test}): at the {100 * level:g} % level, with p-values adjusted by Holm's method, calibration "
            f"{found}{others}."
        )

    def summary(self, alpha: float = 0.05) -> str:
        """The report that ``print`` shows, with the findings where calibration is rejected at a level."""
        level = fraction("alpha", alpha)
        what = {"Verdict": self.verdict(level), "Estimate": self.estimator, "p-value": self.test, "n": str(self.n)}
        lines = [""]
        if any(row.estimate < 0.0 <= row.shown for row in self.rows):
            lines.append("estimate: 0 where the unbiased estimate is negative, as the error is at least that")
        if any(row.interval is None for row in self.rows):
            lines.append("if calibrated: 95 % quantile of the estimate if the predictions are calibrated")
        lines += [f"Holm: p adjusted for {self._counted}", *self.remarks()]
        lines += [f"  {row.name}: {row.finding}" for row in self.rows if row.finding and row.pvalue_holm <= level]
        title = f"Comparison of {self._counted}"
        return Page(
            title, what, [""], Grid(self.table()), lines, [""], {"Reproduce": f"rng={self.seed}"}, notes=self.notes
        )

    @property
    def _counted(self) -> str:
        many = "classes" if self.kind == "class" else "models"
        return f"{len(self.rows)} {self.kind if len(self.rows) == 1 else many}"

    def __repr__(self) -> str:
        return f"<comparison of {self._counted}, n = {self.n}>"


def _score_cell(row: ComparedModel) -> str:
    return "-" if row.score is None else f"{row.score:.3f}" if 0.001 <= row.score <= 1.0 else f"{row.score:.3g}"


def _short(rows: Sequence[ComparedModel]) -> str:
    """The unit of gaps, in short."""
    return next(row.unit for row in rows if row.gap).removeprefix("percentage ")


def _how_far(rows: Sequence[ComparedModel], kind: str) -> list[str]:
    """What the gaps of rows are of, a line for those that are of the same; those of classes are of each."""
    alike: dict[str, list[tuple[float, str]]] = {}
    for row in rows:
        if row.gap is not None and row.margin is not None:
            what = "probabilities of each class" if kind == "class" else row.compared
            alike.setdefault(what, []).append((row.margin, row.name))
    lines = []
    for what, some in alike.items():
        margins, names = zip(*some, strict=True)
        least, most = amount(min(margins)), amount(max(margins))
        which = "" if len(alike) == 1 else f" for {first_of(names, LISTED, ', ')}"
        too_much = f"more than {least if least == most else f'{least} to {most}'} matters"
        unit = f"{_short(rows)} off{which}"
        lines.append(f"{unit}: 95 % interval for how far {what} are off on average ({too_much})")
    return lines


ANSWERS = {True: "large enough to matter", False: "too small to matter", None: "open"}


def _practical(rows: Sequence[ComparedModel]) -> str:
    """Whether the errors of rows that are rejected matter, in words."""
    if not any(row.gap or row.matters for row in rows):
        return ""
    named = {answer: [row.name for row in rows if row.matters is answer] for answer in ANSWERS}
    said = {answer: some for answer, some in named.items() if some}
    if len(said) > 1:
        return "".join(f"; {ANSWERS[answer]}: {first_of(some, LISTED, ', ')}" for answer, some in said.items())
    (answer,) = said
    error, are, s = ("the error", "is", "s") if len(rows) == 1 else ("the errors", "are", "")
    return f"; whether {error} matter{s} remains open" if answer is None else f"; {error} {are} {ANSWERS[answer]}"


def compared(
    samples: dict[str, Sample],
    kind: str,
    n_resamples: int,
    rng: Any,
    progress: bool,
    confidence_level: float = 0.95,
    kernel: PairKernel | None = None,
    estimator: Estimator | None = None,
    test: CalibrationTest | None = None,
) -> ModelComparison:
    """Test every row, estimate its error, and adjust the p-values; with a kernel of all rows where one is missing."""
    check_same_kind(samples)
    if estimator is not None and not isinstance(estimator, Estimator):
        raise TypeError(f"estimator: got {type(estimator).__name__}, wanted an estimator such as SKCE(kernel)")
    if test is not None and not isinstance(test, CalibrationTest):
        raise TypeError(f"test: got {type(test).__name__}, wanted a test such as OmnibusTest()")
    number, level = whole_number("n_resamples", n_resamples, 1), fraction("confidence_level", confidence_level)
    if estimator is None or test is None:
        shared = shared_kernel(kernel, [sample.predictions for sample in samples.values()])
        estimator = SKCE(shared) if estimator is None else estimator
        if test is None:
            test = OmnibusTest(shared.single, number) if kernel is None else MonteCarloTest(SKCE(shared), number)
    seed = seed_of(rng)
    results, estimates = [], []
    for name, sample in samples.items():
        # The same random numbers for all: equal predictions have equal p-values, in any place.
        (stream,) = np.random.SeedSequence(seed).spawn(1)
        try:
            results.append(test.on(sample, rng=stream, progress=progress))
            estimates.append(_estimated(estimator, sample, number, level, stream.spawn(1)[0], progress))
        except (ValueError, TypeError) as error:
            raise type(error)(f"{kind} {name!r}: {error}") from None
    pvalues = [result.pvalue for result in results]
    scores = [float(np.mean(one.targets)) if kind == "class" else _score(one) for one in samples.values()]
    adjusted = zip(holm(pvalues), benjamini_hochberg(pvalues), strict=True)
    rows = [
        _row(name, score, found, both, result)
        for name, score, found, result, both in zip(samples, scores, estimates, results, adjusted, strict=True)
    ]
    first = next(iter(samples.values()))
    score_name = "RMSE" if first.predictions.law.finite is None else "accuracy"
    return ModelComparison(
        rows=tuple(rows),
        kind=kind,
        score_name="frequency" if kind == "class" else score_name,
        test=f"{results[0].test}, {results[0].null}",
        estimator=estimator.resolve(first.predictions).describe(first.predictions),
        n=len(first),
        confidence_level=level,
        seed=seed,
        notes=notes_of({name: one.notes for name, one in zip(samples, results, strict=True)}),
        n_resamples=results[0].n_resamples,
        citations=tuple(sorted({"benjamini1995", "efron1981", "holm1979", *test.citations, *estimator.citations})),
    )


def _row(
    name: str,
    score: float | None,
    estimated: tuple[float, ConfidenceInterval | None, float, float | None],
    adjusted: tuple[float, float],
    result: CalibrationTestResult,
) -> ComparedModel:
    """That of a model; to say that an outcome is impossible matters however small the error is on average."""
    gap, margin, compared, unit = telling(result.measures) or (None, None, "", "")
    return ComparedModel(
        name=name,
        score=score,
        estimate=estimated[0],
        interval=estimated[1],
        noise_floor=estimated[2],
        noise_quantile=estimated[3],
        pvalue=result.pvalue,
        pvalue_holm=adjusted[0],
        pvalue_bh=adjusted[1],
        finding=result.finding,
        pvalue_otherwise=result.pvalue_otherwise,
        gap=gap,
        margin=margin,
        compared=compared,
        unit=unit,
        matters=matters(result.measures) if result.pvalue_otherwise is None else True,
        power=None if result.detectable is None else result.detectable.power(),
    )


def _estimated(
    estimator: Estimator, sample: Sample, n_resamples: int, level: float, rng: Any, progress: bool
) -> tuple[float, ConfidenceInterval | None, float, float | None]:
    """The estimate, its jackknife interval where it has one and h varies, and mean and quantile of the noise floor."""
    estimator, seed = estimator.in_order_of(sample.order), seed_of(rng)
    resolved = estimator.resolve(sample.predictions, seed)
    if isinstance(resolved, SKCE) and resolved.unbiased and len(sample) >= 3:
        interval = jackknife_interval(resolved.kernel, sample, level, "two-sided", seed)
        if interval is not None:
            return resolved.estimate(sample), interval, 0.0, None
    floor = noise_floor(sample.predictions, estimator, n_resamples=n_resamples, rng=seed, progress=progress)
    return resolved.estimate(sample), None, floor.mean, floor.quantile


def notes_of(models: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Notes on some models, each of them once, with the names of those that it is about if these are not all."""
    names: dict[str, list[str]] = {}
    for name, notes in models.items():
        for note in dict.fromkeys(notes):
            names.setdefault(note, []).append(name)
    return tuple(note if len(some) == len(models) else f"{', '.join(some)}: {note}" for note, some in names.items())


@own_errstate
def compare_models(
    models: Mapping[str, ArrayLike],
    targets: ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    kernel: PairKernel | None = None,
    estimator: Estimator | None = None,
    test: CalibrationTest | None = None,
    n_resamples: int = 999,
    confidence_level: float = 0.95,
    rng: Any = None,
    progress: bool = False,
) -> ModelComparison:
    """Compare the calibration of several models for the same outcomes.

    For each model: its score, how far its probabilities are off, the p-value of calibration, this p-value adjusted for
    the number of models, and the estimated calibration error with an interval, or where there is none with what
    calibrated predictions would give.

    Parameters
    ----------
    models
        Predictions of each model by its name: ``Predictions``, or what becomes some, all of one family.
    targets
        (n,) outcomes, the same for all models; ``ct.Censored(time, event)`` for times, as in ``calibration_test``: then
        ``F(time)`` is compared, with the same random numbers for all models.
    classes, rng, progress
        As in ``calibration_test``.
    kernel
        Of the unbiased SKCE that is estimated; by default that of the family. A ``"median"`` bandwidth is that of the
        predictions of all models together, so that errors are comparable.
    estimator
        Another estimator instead of the SKCE. Only the unbiased SKCE has an interval.
    test
        By default ``OmnibusTest`` with the shared kernel, or ``MonteCarloTest(SKCE(kernel))`` if a kernel is given.
    n_resamples
        Redraws of the test, if none is given, and of the noise floor of an estimator without an interval.
    confidence_level
        Of the intervals.

    Raises
    ------
    ValueError
        For no models, bad predictions or outcomes; the message names the model.
    TypeError
        For names that are not strings, or models of different families.

    Notes
    -----
    Models are tested one by one, with the same random numbers: the outcomes cannot be drawn from all of them at once,
    so the adjustments are Holm's, valid for any dependence, and that of Benjamini and Hochberg. Whether two errors
    differ is another question, for ``compare_pairs``: intervals of models with the same outcomes can overlap although
    the errors differ. Cost: for each model that of the test, and O(n**2 k) for the interval, or ``n_resamples`` redraws
    of the estimate if it has none; for many rows pass ``estimator=LowRankSKCE(kernel)``.

    Sources: Holm 1979; Benjamini and Hochberg 1995.

    Examples
    --------
    >>> import caltest as ct
    >>> models = ct.datasets.load_digits_predictions()
    >>> labels = models["random forest"][1]
    >>> predictions = {name: p for name, (p, _) in models.items() if name != "naive Bayes"}
    >>> comparison = ct.compare_models(predictions, labels, n_resamples=99, rng=1)
    >>> [(row.name, row.pvalue, row.pvalue_holm) for row in comparison.rows]
    [('random forest', 0.01, 0.02), ('neural network', 0.02, 0.02)]
    """
    seed = seed_of(rng)
    samples = samples_of(models, targets, classes, seed)
    return compared(samples, "model", n_resamples, seed, progress, confidence_level, kernel, estimator, test)


def sample_of(predictions: ArrayLike, targets: ArrayLike, classes: Sequence[Any] | None, seed: int) -> Sample:
    """Of one of the models: for times, some of them censored, that of ``F(time)``, drawn alike for all models."""
    times = as_times(predictions, targets)
    if not isinstance(times, Censored):
        return as_sample(predictions, targets, classes)
    laws = in_rows_of(times, predictions)
    residuals, u = censored_pit_values(laws, times, rng=generator_apart(seed))
    residuals.notes = (note_on_draws(laws, times), *residuals.notes)
    return as_sample(residuals, u)


def samples_of(
    models: Mapping[str, ArrayLike], targets: ArrayLike, classes: Sequence[Any] | None, seed: int = 0
) -> dict[str, Sample]:
    """Samples by name."""
    if not isinstance(models, Mapping):
        of_frame = "; of a frame with a column for each model pass dict(frame)" if hasattr(models, "columns") else ""
        kind = type(models).__name__
        raise TypeError(f'models: got {kind}, wanted a dictionary {{"name": predictions, ...}}{of_frame}')
    if not models:
        raise ValueError('models: got none, wanted at least one {"name": predictions}')
    samples: dict[str, Sample] = {}
    targets = targets if isinstance(targets, Censored) else labelled_as(targets, models.values())
    for name, predictions in models.items():
        if not isinstance(name, str):
            raise TypeError(f"models: got the name {name!r}, wanted names that are strings")
        try:
            samples[name] = sample_of(predictions, targets, classes, seed)
        except (ValueError, TypeError) as error:
            raise type(error)(f"models[{name!r}]: {error}") from None
    return samples


def check_same_kind(samples: dict[str, Sample]) -> None:
    """Raise unless all models are of the same family and length as the first one."""
    first = next(iter(samples.values()))
    known = first.predictions
    for name, sample in samples.items():
        try:
            same_length(len(first), len(sample), "predictions")
            check_family(known, sample.predictions, "predictions")
            known = named_one(known, sample.predictions)
        except (ValueError, TypeError) as error:
            raise type(error)(f"models[{name!r}]: {error}") from None


def check_family(known: Predictions, other: Predictions, name: str) -> None:
    """Raise unless kernels can compare predictions with those that are known; families of numbers have a way out."""
    try:
        known.check_compatible(other, name)
    except TypeError as error:
        if known.discrete or other.discrete:
            raise
        advice = "of other families take draws, ct.Ensemble(p.to_ensemble(100, rng=1).members)"
        if any(getattr(one, "predictions", one).longest < inf for one in (known, other)):
            advice = "give curves of all models at the same times, ct.predictions.SurvivalCurve(times, survival)"
        raise TypeError(f"{error}; {advice}") from None


def _score(sample: Sample) -> float | None:
    """Accuracy of classes; else the root mean square distance of outcomes and predicted means, if these are known."""
    law = sample.predictions.law
    if law is not sample.predictions:
        # Of levels F(y) those of a model that is wrong can have the smaller distance.
        return None
    hits = law.hits(sample.targets)
    if hits is not None:
        return float(hits.mean())
    try:
        means = sample.predictions.moments()[0]
    except TypeError:
        return None
    return sample.predictions.weight * sqrt(float(np.sum(np.square(sample.targets - means))) / len(sample))


@own_errstate
def compare_classes(
    predictions: ArrayLike,
    targets: ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    kernel: PairKernel | None = None,
    estimator: Estimator | None = None,
    test: CalibrationTest | None = None,
    n_resamples: int = 999,
    confidence_level: float = 0.95,
    rng: Any = None,
    progress: bool = False,
) -> ModelComparison:
    """Compare the calibration of the classes of one model, each against the rest.

    As ``compare_models``, for the binary predictions of ``classwise``; the scores are frequencies of the classes.

    Parameters
    ----------
    predictions, targets, classes
        As in ``calibration_test``: predictions of k classes, (n, k) or ``Categorical``.
    kernel, estimator, test, n_resamples, confidence_level, rng, progress
        As in ``compare_models``, for binary predictions.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.generators.class_model("M2", n_classes=3).sample(200, rng=1)
    >>> comparison = ct.compare_classes(p, y, n_resamples=99, rng=1)
    >>> comparison
    <comparison of 3 classes, n = 200>
    >>> comparison["0"].pvalue_holm
    0.03
    """
    categorical, y = categorical_sample(predictions, targets, classes)
    pairs = one_against_rest(categorical, y)
    names = as_texts(categorical.classes or range(len(pairs)))
    samples = {name: Sample(*pair) for name, pair in zip(names, pairs, strict=True)}
    found = compared(samples, "class", n_resamples, rng, progress, confidence_level, kernel, estimator, test)
    return replace(found, notes=(*misread(categorical, y), *found.notes))
