"""The validation of a clinical prediction model as a result."""

from dataclasses import dataclass

from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.measures import MISSED, matters, percent
from caltest._results.report import counted, decision, format_pvalue, in_cell, is_smallest, pvalue_phrase, with_interval
from caltest._results.tables import ASKED, Bar, NamedRows, Page, Table, asked_in, sharper
from caltest._results.values import ConfidenceInterval, Entry, Stored
from caltest._validation import fraction

UPDATED = "calibration in the large", "calibration slope"
"""Measures that an update of the model changes."""


@dataclass(frozen=True)
class ClinicalMeasure(Entry):
    """One measure of calibration or discrimination.

    Attributes
    ----------
    interval
        If there is one.
    ideal
        What a calibrated model has in large samples; None for the c-statistic.
    usual
        Between what calibrated models with these risks have it, with the level of the intervals.
    pvalue
        Exact, of this measure on its own.

    Examples
    --------
    >>> from caltest.fields import clinical
    >>> result = clinical.validate([0.1, 0.4, 0.2, 0.6, 0.3], [0, 1, 0, 0, 1], n_resamples=19, rng=1)
    >>> result["O:E ratio"].value
    1.25
    """

    name: str
    value: float
    interval: ConfidenceInterval | None
    ideal: float | None
    usual: tuple[float, float]
    pvalue: float


@dataclass(frozen=True)
class CalibrationCurve(Entry):
    """A flexible calibration curve.

    Attributes
    ----------
    method
        ``"splines"`` or ``"loess"``.
    risk, frequency
        Predicted risks, and the fitted frequency of the event there.
    band
        Below and above: between them the whole curve of a calibrated model is, with the level of the intervals.
    pvalue
        Exact, of the largest distance of the curve from those of calibrated models.

    Examples
    --------
    >>> from caltest.fields import clinical
    >>> result = clinical.validate([0.1, 0.4, 0.2, 0.6, 0.3], [0, 1, 0, 0, 1], n_resamples=19, rng=1)
    >>> len(result.curve.risk) == len(result.curve.frequency)
    True
    """

    method: str
    risk: tuple[float, ...]
    frequency: tuple[float, ...]
    band: tuple[tuple[float, ...], tuple[float, ...]]
    pvalue: float


@dataclass(frozen=True, eq=False, repr=False)
class ClinicalValidation(NamedRows[ClinicalMeasure], Stored):
    """What ``clinical.validate`` found. Printing it gives the verdict and a table.

    Attributes
    ----------
    rows
        The measures.
    default_test
        The default test, which decides.
    events, expected
        Observed and expected number of events.
    event
        The name of its class, if it has one.
    confidence_level
        Of intervals, ranges and band.

    Examples
    --------
    >>> from caltest.fields import clinical
    >>> clinical.validate([0.1, 0.4, 0.2, 0.6, 0.3], [0, 1, 0, 0, 1], n_resamples=19, rng=1)
    <clinical validation: p = 0.75, 2 events in n = 5>
    """

    rows: tuple[ClinicalMeasure, ...]
    curve: CalibrationCurve
    default_test: CalibrationTestResult
    events: int
    expected: float
    confidence_level: float
    n_resamples: int
    seed: int
    notes: tuple[str, ...] = ()
    event: str = ""

    picture = "clinical_curve"
    citations = (
        "austin2019",
        "blaker2000",
        "calster2019",
        "cleveland1979",
        "cox1958",
        "delong1988",
        "dwass1957",
        "miller1991",
        "newcombe2006",
    )

    def __repr__(self) -> str:
        p = pvalue_phrase(self.pvalue, otherwise=self.default_test.pvalue_otherwise)
        return f"<clinical validation: {p}, {self.events} events in n = {self.n}>"

    @property
    def n(self) -> int:
        """Number of cases."""
        return self.default_test.n

    @property
    def pvalue(self) -> float:
        """Of the default test."""
        return self.default_test.pvalue

    def verdict(self, alpha: float = 0.05) -> str:
        """That of the default test."""
        return self.default_test.verdict(alpha)

    def _next(self, alpha: float = 0.05) -> str | None:
        """What to do after the verdict: look at the data, update what is wrong, find more cases, or nothing."""
        if asked_in(self.default_test.notes)[0] is not None:
            return f"answer what is asked under {ASKED!r}, on which all else depends"
        if self.pvalue > fraction("alpha", alpha):
            more = "more cases; clinical.validation_size(risks) says how many"
            return more if MISSED in self.verdict(alpha) else None
        if self.default_test.pvalue_otherwise is None and matters(self.default_test.measures) is False:
            return None
        wrong = {one.name: f"{one.value:.3g}" for one in self.rows if one.pvalue <= alpha}
        if "calibration slope" in wrong:
            how = "refit intercept and slope of the log-odds (recalibration.Platt)"
        elif "calibration in the large" in wrong:
            how = f"add {wrong['calibration in the large']} to the log-odds"
        else:
            return "look at the curve (plot()) and at patients (find_slices): intercept and slope do not show the error"
        # P-values of the curve have one tail, those of the others two.
        updated = min(one.pvalue for one in self.rows if one.name in UPDATED)
        beyond = "; the curve (plot()) shows an error beyond that" if 2.0 * self.curve.pvalue < updated else ""
        return f"{how}, and validate on new cases{beyond}"

    def sentence(self, alpha: float = 0.05) -> str:
        p = pvalue_phrase(self.pvalue, otherwise=self.default_test.pvalue_otherwise)
        rows = [one for one in self.rows if one.name[0] != "E"]
        words = [f"the {one.name} was {with_interval(one.value, one.interval)}" for one in rows]
        return (
            f"With {counted(self.events, 'event')} in {self.n} cases ({self.expected:.4g} expected), "
            f"{', '.join(words)}; "
            f"calibration was {decision(self.pvalue, alpha)} (exact test by {self.default_test.n_resamples} redraws of "
            f"the outcomes, {p})."
        )

    def bars(self) -> list[Bar]:
        return [self._bar(one) for one in self.rows if one.ideal == 1.0]

    def _bar(self, one: ClinicalMeasure) -> Bar:
        stands_out = one.pvalue <= 1.0 - self.confidence_level
        return Bar(one.name, one.value, one.interval, one.ideal, "if calibrated", "", stands_out)

    def table(self) -> Table:
        level = f"{100 * self.confidence_level:g} %"
        rows = [["measure", f"value ({level} interval)", "ideal", f"{level} of calibrated models", "p-value"]]
        for one in self.rows:
            low, high = one.usual
            usual = f"up to {high:.3g}" if one.ideal == low == 0.0 else f"{low:.3g} to {high:.3g}"
            ideal = "" if one.ideal is None else f"{one.ideal:g}"
            rows.append([one.name, in_cell(one.interval, one.value), ideal, usual, format_pvalue(one.pvalue)])
        return rows

    def remarks(self) -> list[str]:
        exact = "p-values are exact, each for its measure alone; the verdict is that of the default test"
        of_ideals = [self._bar(one) for one in self.rows if one.ideal is not None]
        return [exact, *sharper(of_ideals)]

    def summary(self, alpha: float = 0.05) -> Page:
        p = format_pvalue(self.pvalue, self.default_test.pvalue_otherwise)
        p += " (the smallest possible)" if is_smallest(self.pvalue, self.default_test.n_resamples) else ""
        found = {
            "Verdict": self.verdict(alpha),
            "Why": self.default_test.why(alpha),
            "Event": self.event or None,
            "Events": f"{self.events} of {self.n} ({percent(self.events / self.n)}); expected {self.expected:.4g} "
            f"({percent(self.expected / self.n)})",
            "p-value": f"{p}; of the calibration curve alone {format_pvalue(self.curve.pvalue)}",
            "Next": self._next(alpha),
        }
        what = {
            "Curve": "logistic regression on restricted cubic splines" if self.curve.method == "splines" else "loess",
            "Null": f"outcomes redrawn from the risks, {self.n_resamples} redraws; for O:E and calibration in the "
            "large the Poisson-binomial law of the number of events",
            "Assumes": self.default_test.assumes,
            "Reproduce": f"rng={self.seed}",
        }
        return self._page("Validation of predicted risks", found, what, notes=(*self.notes, *self.default_test.notes))
