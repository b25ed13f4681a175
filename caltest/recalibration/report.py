"""What recalibration changes on data that it was not fitted to."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from caltest._basics.calls import own_errstate, without_power
from caltest._basics.numerics import ArrayLike, evenly_spaced, seed_of
from caltest._basics.threads import progress_bars
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.measures import Gap, fields_of_size, in_words
from caltest._results.report import decision, format_pvalue, pvalue_phrase, remarks
from caltest._results.tables import STANDS_OUT, Bar, Grid, Page, Table, in_decimals, sharper
from caltest._results.values import ConfidenceInterval, Entry, Finding, Stored
from caltest._validation import fraction, instance_of, switch, whole_number
from caltest.default_test import calibration_test
from caltest.estimators import ECE, SKCE
from caltest.estimators.dependence import cautions_on
from caltest.estimators.kernel_errors.kernel_estimator import shared_kernel
from caltest.intervals.kernel_errors import jackknife_interval
from caltest.intervals.noise_floor import noise_floor
from caltest.kernels import PairKernel
from caltest.named_tests import OmnibusTest
from caltest.predictions import Sample
from caltest.predictions.classes.finite import at_labels, outcome_scores
from caltest.predictions.reductions.classes import reduce_to_binary
from caltest.recalibration.base import CalibrationMap, Calibrator
from caltest.recalibration.shared.observed import Observed, scale_of

ALL_PAIRS = 20_000
"""Rows of which all pairs take about as long as a test."""

CLEAR = 2.0
"""Standard errors from which on a change of the log loss is not called chance."""


@dataclass(frozen=True)
class RecalibrationRow(Entry):
    """Predictions before or after recalibration.

    Attributes
    ----------
    name
        ``"before"`` or ``"after"``.
    score
        Mean log loss, or what the predictions have in its place, as ``RecalibrationReport.score_name`` says.
    brier, accuracy
        Mean Brier score, and share of outcomes that are the most probable class.
    ece, ece_noise
        Expected calibration error of the top label, and its mean if the predictions are calibrated.
    skce, interval
        Unbiased squared kernel calibration error and its confidence interval, None where there is none.
    pvalue, finding, pvalue_otherwise
        Of ``calibration_test``.
    gap, margin, compared, unit, matters
        How large the error is, as in the rows of ``compare_models``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> report = ct.recalibration.report(p, y, ct.recalibration.TemperatureScaling(), n_resamples=99, rng=1)
    >>> report.before.pvalue
    0.01
    """

    name: str
    score: float
    brier: float | None
    accuracy: float | None
    ece: float | None
    ece_noise: float | None
    skce: float
    interval: ConfidenceInterval | None
    pvalue: float
    finding: Finding | None
    pvalue_otherwise: float | None = None
    gap: ConfidenceInterval | None = None
    margin: float | None = None
    compared: str = ""
    unit: str = ""
    matters: bool | None = None

    @property
    def how_much(self) -> str | None:
        """How far what is off, in words; None where that is not known."""
        if self.gap is None or self.margin is None:
            return None
        return in_words(Gap(self.gap, self.margin, self.compared, self.unit))


@dataclass(frozen=True, repr=False, eq=False)
class RecalibrationReport(Stored):
    """Predictions before and after recalibration, on held-out data. Printing it gives a table.

    Attributes
    ----------
    n, n_fit
        Held-out observations, and those of the fit (None for a map that was fitted before).
    map, samples
        The fitted map, which has a ``save`` of its own, and the held-out data before and after; None in reports that
        ``from_dict`` read.
    score_name
        ``"log loss"``, of ensembles ``"fair CRPS"``, of those of vectors ``"fair energy score"``, and of quantile
        forecasts ``"quantile loss"``.
    notes
        Such as that the accuracy falls, or that the data are those of the fit.
    can_be_chance
        Whether the change of the loss is within 2 standard errors of 0.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> report = ct.recalibration.report(p, y, ct.recalibration.TemperatureScaling(), n_resamples=99, rng=1)
    >>> report.n, report.n_fit, report.before.accuracy == report.after.accuracy
    (450, 449, True)
    """

    derived = ("pvalue",)
    picture = "recalibration_report"

    before: RecalibrationRow
    after: RecalibrationRow
    method: str
    n: int
    n_fit: int | None
    confidence_level: float
    seed: int
    n_resamples: int
    score_name: str
    map: CalibrationMap | None = field(repr=False)
    samples: tuple[Sample, Sample] | None = field(repr=False)
    notes: tuple[str, ...] = ()
    can_be_chance: bool = False
    citations: tuple[str, ...] = ()

    not_stored = ("map", "samples")

    @property
    def rows(self) -> tuple[RecalibrationRow, RecalibrationRow]:
        """Before and after."""
        return self.before, self.after

    @property
    def pvalue(self) -> float:
        """That after recalibration."""
        return self.after.pvalue

    def verdict(self, alpha: float = 0.05) -> str:
        """Whether held-out predictions are better, calibration is rejected, and the error that remains matters."""
        first, second = self.before.score, self.after.score
        change = _change(self.score_name, first, second)
        if self.can_be_chance and first != second and np.isfinite([first, second]).all():
            change += ", which can be chance"
        before, after = (decision(one.pvalue, alpha) for one in self.rows)
        both = (
            f"{after}, before and after" if before == after else f"{before} before, and {after.split(' at')[0]} after"
        )
        remains = REMAINS[self.after.matters] if self.after.gap is not None and self.after.pvalue <= alpha else ""
        which = "" if self.n_fit is None else f" of the {self.n} rows held out"
        return f"recalibration {change}; calibration{which} is {both}{remains}"

    def table(self) -> Table:
        level = f"{100 * self.confidence_level:g} % interval"
        both = [(one.score, one.brier, one.accuracy, one.ece, one.ece_noise) for one in self.rows]
        scores = map(in_decimals, zip(*both, strict=True))
        columns = [[one.name for one in self.rows], *scores, *zip(*map(_cells, self.rows), strict=True)]
        header = ["", self.score_name, *SCORES, "SKCE", level, "p"]
        known = [[name, *column] for name, column in zip(header, columns, strict=True) if set(column) != {"-"}]
        return [list(row) for row in zip(*known, strict=True)]

    def __repr__(self) -> str:
        return f"<report on recalibration by {self.method}, n = {self.n}>"

    def remarks(self) -> list[str]:
        """What p-values are, and that they are not of the test of the intervals where the two disagree."""
        bars = (Bar(one.name, one.skce, one.interval, 0.0, "", "SKCE", one.pvalue <= STANDS_OUT) for one in self.rows)
        return [*remarks(self.rows, self.n_resamples), *sharper(list(bars))]

    def sentence(self, alpha: float = 0.05) -> str:
        """One sentence for a paper: scores and p-values of held-out data before and after."""
        fit = "" if self.n_fit is None else f", fitted to {self.n_fit} others,"
        before, after = (pvalue_phrase(one.pvalue, otherwise=one.pvalue_otherwise) for one in self.rows)
        return (
            f"{self.method}{fit} changed the {self.score_name} of n = {self.n} observations from "
            f"{self.before.score:.4g} to {self.after.score:.4g}; calibration was "
            f"{decision(self.before.pvalue, alpha)} before ({before}) and {decision(self.after.pvalue, alpha)} after "
            f"it ({after})."
        )

    def summary(self, alpha: float = 0.05) -> str:
        """The report that ``print`` shows, with the findings where calibration is rejected at a level."""
        level = fraction("alpha", alpha)
        fit = "" if self.n_fit is None else f", fitted to {self.n_fit} others"
        lines = [""]
        if self.before.ece_noise is not None:
            lines.append("if calibrated: mean of the ECE if the predictions are calibrated")
        lines += self.remarks()
        lines += [f"  {row.name}: {row.how_much}" for row in self.rows if row.how_much]
        lines += [f"  {row.name}: {row.finding}" for row in self.rows if row.finding and row.pvalue <= level]
        what, seed = {"Verdict": self.verdict(level), "n": f"{self.n} held out{fit}"}, {"Reproduce": f"rng={self.seed}"}
        table = Grid(list(zip(*self.table(), strict=True)))
        return Page(f"Recalibration by {self.method}", what, [""], table, lines, seed, notes=self.notes)


SCORES = "Brier", "accuracy", "ECE", "if calibrated"
"""What rows have beside the score that all predictions have."""

REMAINS = {
    True: "; the error that remains is large enough to matter",
    False: "; the error that remains is too small to matter",
    None: "; whether the error that remains matters is open",
}


def _change(name: str, before: float, after: float) -> str:
    """What becomes of a loss; the log loss is infinite where an outcome had probability 0."""
    if before == after:
        return f"leaves the {name} {'infinite' if np.isinf(after) else 'as it is'}"
    if np.isinf(before) or np.isinf(after):
        return f"makes the {name} {'infinite: an outcome has probability 0' if np.isinf(after) else 'finite'}"
    return f"{'lowers' if after < before else 'raises'} the {name} by {abs(before - after):.3g}"


def _cells(row: RecalibrationRow) -> list[str]:
    interval = "-" if row.interval is None else f"[{row.interval.low:.3g}, {row.interval.high:.3g}]"
    # What the interval is about, if there is one: the estimate, cut at 0.
    skce = row.skce if row.interval is None or row.interval.estimate is None else row.interval.estimate
    return [f"{skce:.3g}", interval, format_pvalue(row.pvalue, row.pvalue_otherwise)]


@own_errstate
def report(
    predictions: ArrayLike,
    targets: ArrayLike,
    method: Calibrator | CalibrationMap,
    *,
    classes: Sequence[Any] | None = None,
    held_out: float = 0.5,
    n_resamples: int = 999,
    confidence_level: float = 0.95,
    rng: Any = None,
    progress: bool = False,
) -> RecalibrationReport:
    """Scores, calibration errors and tests of predictions before and after recalibration, on held-out data.

    Parameters
    ----------
    predictions
        Predictions, or logits if the ``input`` of the method says so.
    targets, classes, n_resamples, rng, progress
        As in ``calibration_test``; the noise of the ECE takes as many redraws.
    method
        A method, which is fitted to a random part of the data and judged on the rest; or a fitted map, which is judged
        on all of the data: they must not be those of its fit, and a note says so if they are.
    held_out
        Share of the data that a method is judged on.
    confidence_level
        Of the intervals for the SKCE.

    Returns
    -------
    RecalibrationReport
        ``print`` it for a table; ``ct.plots.recalibration_report`` draws it.

    Raises
    ------
    ValueError
        For bad data or settings, or predictions that are all identical before and after.
    TypeError
        For a method whose predictions have another score, such as ``QuantileRecalibration`` of distributions.

    Notes
    -----
    Log loss ``-log p(y)``, Brier score ``|e_y - p|^2`` (``(y - p)^2`` for probabilities of class 1) and accuracy of
    the most probable class; ECE of the top label (of class 1 for binary predictions) with 15 uniform bins, beside its
    mean over outcomes drawn from the predictions; unbiased SKCE with one kernel for both rows and its jackknife
    interval; p-value of ``calibration_test``. For other predictions there are only a loss, SKCE and p-value: the log
    loss, of ensembles the fair CRPS or energy score, and of quantile forecasts the mean quantile loss. The
    p-value after recalibration is valid because the held-out data were not used to fit the map. Cost: two runs of
    ``calibration_test``, and O(n^2 k).

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> report = ct.recalibration.report(p, y, ct.recalibration.TemperatureScaling(), n_resamples=99, rng=1)
    >>> report.before.score > report.after.score
    True
    """
    wanted = "a method such as ct.recalibration.TemperatureScaling() or a fitted map"
    instance_of((Calibrator, CalibrationMap), wanted)("method", method)
    level, number = fraction("confidence_level", confidence_level), whole_number("n_resamples", n_resamples, 1)
    share = fraction("held_out", held_out)
    observed = Observed.of(predictions, targets, scale_of(method), classes)
    seed = seed_of(rng)
    split, *streams = np.random.SeedSequence(seed).spawn(3)
    rows, others = observed.split(method, share, np.random.default_rng(split))
    fitted = method if isinstance(method, CalibrationMap) else observed.take(others).fit(method)
    rest = observed.take(rows)
    samples = rest.before(), rest.after(fitted)
    families = [one.predictions.family for one in samples]
    if len({one.predictions.loss_name for one in samples}) > 1:
        raise TypeError(
            f"method: {method!r} makes {families[1]} of {families[0]} predictions, which have no score in common; fit "
            "it to some rows and pass map(predictions) of others to calibration_test"
        )
    with progress_bars(switch("progress", progress)):
        before, after = report_rows(samples, number, level, streams)
    asked, chance = (*replace(samples[0], rows=rows).questions, *cautions_on(samples[0])), _chance_note(*samples)
    return RecalibrationReport(
        before=before,
        after=after,
        method=repr(method) if isinstance(method, Calibrator) else type(method).__name__,
        n=len(rest),
        n_fit=others.size or None,
        confidence_level=level,
        seed=seed,
        n_resamples=number,
        score_name=samples[0].predictions.loss_name,
        map=fitted,
        samples=samples,
        notes=(*asked, *chance, *_accuracy_note(*samples), *rest.notes(fitted)),
        can_be_chance=bool(chance),
        citations=cited(method),
    )


def cited(method: Calibrator | CalibrationMap) -> tuple[str, ...]:
    """Sources of a report on a method: its own, and those of the test and the kernel error before and after it."""
    own = method.citations if isinstance(method, Calibrator) else ()
    return tuple(sorted({*own, *OmnibusTest().citations, *ECE.citations, *SKCE.citations}))


def _chance_note(before: Sample, after: Sample) -> tuple[str, ...]:
    """That the change of the log loss, if it is finite, is no larger than chance has it."""
    losses = [sample.losses for sample in (before, after)]
    if not np.isfinite(losses).all():
        return ()
    gains = losses[0] - losses[1]
    error = float(gains.std(ddof=1)) / np.sqrt(gains.size)
    if abs(gains.mean()) > CLEAR * error or not gains.any():
        return ()
    return (
        f"the change of the {before.predictions.loss_name} can be chance: it is within {CLEAR:g} standard errors of 0, "
        f"of {error:.2g} each",
    )


def report_rows(
    samples: tuple[Sample, Sample],
    n_resamples: int,
    level: float | None,
    streams: Sequence[np.random.SeedSequence],
    tested: CalibrationTestResult | None = None,
) -> list[RecalibrationRow]:
    """Scores and tests of the same observations before, which can be tested, and after recalibration.

    Intervals are for a level, if there is one. Else kernel errors are of at most ``ALL_PAIRS`` rows: those of all pairs
    of many take longer than all tests.
    """
    laws = [sample.predictions for sample in samples]
    # Negative binomial counts that were Poisson ones have kernels of their own.
    are_alike = laws[0].family == laws[1].family
    kernels = 2 * [shared_kernel(None, laws)] if are_alike else [shared_kernel(None, [law]) for law in laws]
    named = zip(("before", "after"), samples, kernels, streams, (tested, None), strict=True)
    return [_row(name, one, kernel, n_resamples, level, stream, result) for name, one, kernel, stream, result in named]


def _accuracy_note(before: Sample, after: Sample) -> tuple[str, ...]:
    """How many rows get another most probable class, and what that costs, if it costs something."""
    first, second = before.predictions.law.finite, after.predictions.law.finite
    if first is None or second is None:
        return ()
    tops = [law.probabilities.argmax(axis=1) for law in (first, second)]
    lost, won = (int(np.sum((one == before.targets) & (tops[0] != tops[1]))) for one in tops)
    if lost <= won:
        return ()
    return (
        f"recalibration makes another class the most probable one in {int(np.sum(tops[0] != tops[1]))} of "
        f"{len(before)} rows, of which {lost} were right before and {won} are right after; the most probable class "
        "stays with TemperatureScaling() or GPCalibrator()",
    )


def _row(
    name: str,
    sample: Sample,
    kernel: PairKernel,
    n_resamples: int,
    level: float | None,
    stream: np.random.SeedSequence,
    result: CalibrationTestResult | None,
) -> RecalibrationRow:
    test, floor = stream.spawn(2)
    if result is None:
        with without_power():
            result = calibration_test(sample.predictions, sample.as_given, n_resamples=n_resamples, rng=test)
    law, rows = sample.predictions.law, len(sample) if level is not None else ALL_PAIRS
    brier = accuracy = ece = noise = None
    if (classes := law.of_classes) is not None:
        squares = at_labels(outcome_scores(classes.probabilities, "brier"), sample.targets)
        brier = classes.brier_factor * float(squares.mean())
        accuracy = float(classes.hits(sample.targets).mean())
    if classes is not None and classes.probabilities_differ:
        confidence, chosen = reduce_to_binary(classes)
        ece = ECE().estimate(Sample(confidence, (chosen == sample.targets).astype(np.intp)))
        noise = noise_floor(confidence, ECE(), n_resamples=n_resamples, rng=floor).mean
    return RecalibrationRow(
        name=name,
        score=float(sample.losses.mean()),
        brier=brier,
        accuracy=accuracy,
        ece=ece,
        ece_noise=noise,
        skce=float(SKCE(kernel).estimate(sample.take(evenly_spaced(len(sample), rows)))),
        interval=None if level is None else jackknife_interval(kernel, sample, level, "two-sided", floor),
        pvalue=result.pvalue,
        finding=result.finding,
        pvalue_otherwise=result.pvalue_otherwise,
        **fields_of_size(result),
    )
