"""The result of a report on recalibration."""

from dataclasses import dataclass, field

from caltest._results.calibration_test_result import ConfidenceInterval
from caltest._results.pvalues import format_pvalue, remarks
from caltest._results.stored import Stored
from caltest._validation import fraction
from caltest.comparisons.formats import Table, TabularResult, aligned
from caltest.predictions import Sample
from caltest.recalibration.base import CalibrationMap


@dataclass(frozen=True)
class RecalibrationRow:
    """Predictions before or after recalibration.

    Attributes
    ----------
    name
        ``"before"`` or ``"after"``.
    log_score, brier, accuracy
        Mean log score and Brier score, and share of outcomes that are the most probable class.
    ece, ece_noise
        Expected calibration error of the top label, and its mean if the predictions are calibrated.
    skce, interval
        Unbiased squared kernel calibration error and its confidence interval, None where there is none.
    pvalue, finding, pvalue_otherwise
        Of ``calibration_test``.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> report = ct.recalibration.report(p, y, ct.recalibration.TemperatureScaling(), n_resamples=99, rng=1)
    >>> report.before.pvalue
    0.01
    """

    name: str
    log_score: float
    brier: float | None
    accuracy: float | None
    ece: float | None
    ece_noise: float | None
    skce: float
    interval: ConfidenceInterval | None
    pvalue: float
    finding: str | None
    pvalue_otherwise: float | None = None

    @property
    def skce_shown(self) -> float:
        """What the interval is about, if there is one: the estimate, cut at 0."""
        return self.skce if self.interval is None or self.interval.estimate is None else self.interval.estimate


@dataclass(frozen=True, repr=False, eq=False)
class RecalibrationReport(TabularResult, Stored):
    """Predictions before and after recalibration, on held-out data. Printing it gives a table.

    Attributes
    ----------
    before, after
        The rows.
    method
        In words.
    n, n_fit
        Held-out observations, and those of the fit (None for a map that was fitted before).
    confidence_level
        Of the intervals.
    seed
        Integer that reproduces it as ``rng=seed``.
    n_resamples
        Redraws of the tests.
    map
        The fitted map, which has a ``save`` of its own; None in reports that ``from_dict`` read.
    samples
        Held-out data before and after; None in the same.
    notes
        What a reader should know: that the accuracy falls, or that the data are those of the fit.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> report = ct.recalibration.report(p, y, ct.recalibration.TemperatureScaling(), n_resamples=99, rng=1)
    >>> report.n, report.n_fit, report.before.accuracy == report.after.accuracy
    (450, 449, True)
    """

    before: RecalibrationRow
    after: RecalibrationRow
    method: str
    n: int
    n_fit: int | None
    confidence_level: float
    seed: int
    n_resamples: int
    map: CalibrationMap | None = field(repr=False)
    samples: tuple[Sample, Sample] | None = field(repr=False)
    notes: tuple[str, ...] = ()

    not_stored = ("map", "samples")

    @property
    def rows(self) -> tuple[RecalibrationRow, RecalibrationRow]:
        """Before and after."""
        return self.before, self.after

    def table(self) -> Table:
        level = f"{100 * self.confidence_level:g} % interval"
        header = ["", "log score", "Brier", "accuracy", "ECE", "if calibrated", "SKCE", level, "p"]
        return [header, *(_cells(row) for row in self.rows)]

    def __repr__(self) -> str:
        return f"<report on recalibration by {self.method}, n = {self.n}>"

    def remarks(self) -> list[str]:
        return remarks(self.rows, self.n_resamples)

    def __str__(self) -> str:
        return self.summary()

    def summary(self, alpha: float = 0.05) -> str:
        """The report that ``print`` shows, with the findings where calibration is rejected at a level."""
        level = fraction("alpha", alpha)
        title = f"Recalibration by {self.method}"
        fit = "" if self.n_fit is None else f", fitted to {self.n_fit} others"
        lines = [title, "-" * len(title), f"{'n':<15}{self.n} held out{fit}", "", aligned(self.table()), ""]
        lines += ["if calibrated: mean of the ECE if the predictions are calibrated", *self.remarks()]
        lines += [f"  {row.name}: {row.finding}" for row in self.rows if row.finding and row.pvalue <= level]
        lines.append(f"{'Reproduce':<15}rng={self.seed}")
        return "\n".join([*lines, *(f"Note: {note}" for note in self.notes)])


def _cells(row: RecalibrationRow) -> list[str]:
    interval = "-" if row.interval is None else f"[{row.interval.low:.3g}, {row.interval.high:.3g}]"
    scores = [f"{row.log_score:.4f}", *("-" if value is None else f"{value:.4f}" for value in _binned(row))]
    pvalue = format_pvalue(row.pvalue, row.pvalue_otherwise)
    return [row.name, *scores, f"{row.skce_shown:.3g}", interval, pvalue]


def _binned(row: RecalibrationRow) -> tuple[float | None, ...]:
    return row.brier, row.accuracy, row.ece, row.ece_noise
