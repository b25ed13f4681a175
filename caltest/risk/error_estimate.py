"""What the choice among error functions found: frozen, complete, computed once."""

from dataclasses import dataclass
from typing import Any

from caltest._results.report import listed
from caltest._results.tables import Grid, Page, Table, aligned
from caltest._results.values import Entry, Stored

UNSEEN = "without the bias of the estimator and of its choice"
"""What the standard error does not know."""


@dataclass(frozen=True)
class CandidateRisk(Entry):
    """One error function with one setting.

    Attributes
    ----------
    estimator, parameter, value
        Name of the function, of its setting, and the value of that.
    risk, standard_error
        Mean risk over the folds, and its jackknife standard error.
    excess, excess_error
        Risk less that of the selected candidate, and the standard error of this difference, which is much smaller than
        those of the risks: both are computed from the same pairs of observations.
    squared_error
        Estimate of the squared calibration error, for the best setting of each function; otherwise None.
    fold_risks, fold_squared_errors
        Those that ``risk`` and ``squared_error`` are means of, one for each fold that a function is not fitted to.
        Their standard deviation over the root of the number of folds is the error bar of Gruber and Bach 2024.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> result = ct.estimate_calibration_error(p, y, notion="top_label", rng=1)
    >>> result.selections[0].selected.estimator
    'two-step ridge, gamma 4'
    """

    estimator: str
    parameter: str
    value: float
    risk: float
    standard_error: float
    excess: float
    excess_error: float
    squared_error: float | None
    fold_risks: tuple[float, ...]
    fold_squared_errors: tuple[float, ...] | None

    def describe(self) -> str:
        """Function and setting in a few words."""
        return f"{self.estimator}, {self.parameter} {self.value:.4g}" if self.parameter else self.estimator


@dataclass(frozen=True)
class ErrorSelection(Entry):
    """The choice for one problem: all classes at once, the top label, or one class against the rest.

    Attributes
    ----------
    candidates, selected
        ``CandidateRisk`` of every function and setting, and the one with the least risk.
    zero
        The function h = 0 of calibrated predictions, which is not a candidate: its excess says whether the selected
        function found anything.
    squared_error
        Its estimate of the squared calibration error, from the data that were held out; it can be negative.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> result = ct.estimate_calibration_error(p, y, notion="classwise", rng=1)
    >>> [selection.problem for selection in result.selections][:2]
    ['class 0 against the rest', 'class 1 against the rest']
    """

    problem: str
    candidates: tuple[CandidateRisk, ...]
    selected: CandidateRisk
    zero: CandidateRisk
    squared_error: float

    @property
    def best(self) -> tuple[CandidateRisk, ...]:
        """The best setting of each function, in the order of their risks."""
        return tuple(sorted((c for c in self.candidates if c.squared_error is not None), key=lambda c: c.risk))

    def table(self, everything: bool = False) -> str:
        """Risks of the best settings, or of all, with a star at the selected one."""
        return "\n".join(aligned(self.rows(everything)))

    def rows(self, everything: bool = False) -> Table:
        """The same as rows of cells, the header first."""
        lines = [[self.problem, "risk", "(s.e.)", "excess", "(s.e.)", "squared error"]]
        for one in (*(self.candidates if everything else self.best), self.zero):
            star = "*" if one == self.selected else " "
            numbers = [f"{x:.3g}" for x in (one.risk, one.standard_error, one.excess, one.excess_error)]
            estimate = "" if one.squared_error is None else f"{one.squared_error:.4g}"
            lines.append([f"{star} {one.describe()}", *numbers, estimate])
        return lines


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationErrorEstimate(Stored):
    """A squared calibration error, from the estimator of least risk. Printing it gives a report.

    Attributes
    ----------
    notion, over_classes
        As in the call; ``over_classes`` is None but for class-wise errors.
    n, n_tuning, n_held_out, n_folds
        Observations, those that functions are fitted to and chosen with, those that the error is evaluated on, folds.
    squared_error, standard_error
        The estimate, negative values as they are, and its standard error from the variation of the observations held
        out and of the functions of the folds, which knows neither the bias of the estimate nor the choice: for an
        interval that covers take ``ct.risk.squared_error_interval`` (see ``estimate_calibration_error``).
    selections
        The choice of each problem: one, or one for each class.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> ct.estimate_calibration_error(p, y, notion="top_label", rng=1)
    <top label calibration error: squared 0.0744, n = 899>
    """

    picture = "risk_curves"

    notion: str
    over_classes: str | None
    predictions: str
    n: int
    n_tuning: int
    n_held_out: int
    n_folds: int
    squared_error: float
    standard_error: float
    selections: tuple[ErrorSelection, ...]
    seed: int
    notes: tuple[str, ...] = ()

    @property
    def error(self) -> float | None:
        """Root of the squared error, or None if that is negative: the data cannot tell the error from 0."""
        return None if self.squared_error < 0.0 else float(self.squared_error**0.5)

    @property
    def selected(self) -> CandidateRisk:
        """The selected function; ``ValueError`` for class-wise errors, where every class has its own."""
        if len(self.selections) > 1:
            raise ValueError(
                f"selected: got {len(self.selections)} classes; see selections[c].selected of each class c"
            )
        return self.selections[0].selected

    citations = ("gruber2025",)
    derived = ("error",)

    def sentence(self) -> str:
        """One sentence for a paper: the estimate, its standard error, and how the estimator was chosen.

        Examples
        --------
        >>> import caltest as ct
        >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
        >>> print(ct.estimate_calibration_error(p, y, "top_label", rng=1).sentence()[:79])
        The squared top-label calibration error was estimated as 0.0744 (standard error
        """
        root = "" if self.error is None else f", a calibration error of {self.error:.3g}"
        chosen = listed(list(dict.fromkeys(one.selected.describe() for one in self.selections))[:3])
        notion = self.notion.replace("_", "-")
        return (
            f"The squared {notion} calibration error was estimated as {self.squared_error:.3g} (standard error "
            f"{self.standard_error:.2g}, {UNSEEN}){root}, on {self.n_held_out} of n = {self.n} observations, by the "
            f"estimator of least risk on the others ({self.n_folds}-fold cross-validation; {chosen})."
        )

    def table(self) -> Table:
        """The function that was selected for each problem, its risk and its estimate of the squared error."""
        cells = [
            [name, selected, *map("{:.3g}".format, numbers)]
            for name, selected, *numbers in map(dict.values, self.row_entries())
        ]
        return [["problem", "selected", "risk", "(s.e.)", "squared error"], *cells]

    def row_entries(self) -> list[dict[str, Any]]:
        return [
            {"name": one.problem, "selected": one.selected.describe(), "risk": one.selected.risk}
            | {"standard_error": one.selected.standard_error, "squared_error": one.squared_error}
            for one in self.selections
        ]

    def __repr__(self) -> str:
        notion = self.notion.replace("_", " ")
        return f"<{notion} calibration error: squared {self.squared_error:.3g}, n = {self.n}>"

    def summary(self) -> str:
        title = f"Squared calibration error, {self.notion.replace('_', ' ')}"
        title += f", {self.over_classes} over the classes" if self.over_classes else ""
        split = f"{self.n_tuning} to fit and choose in {self.n_folds} folds, {self.n_held_out} to evaluate"
        squared = f"{self.squared_error:.4g} (standard error {self.standard_error:.3g}, {UNSEEN})"
        root = "none, since the squared error is negative" if self.error is None else f"{self.error:.4g}"
        interval = "that of risk.squared_error_interval, which estimates squared errors with less bias"
        found = {"Squared error": squared, "Error": root, "Interval": interval, "Reproduce": f"rng={self.seed}"}
        what = {"Predictions": self.predictions, "Split": split}
        table = self.selections[0].rows() if len(self.selections) == 1 else self.table()
        return Page(title, what, [""], Grid(table), [""], found, notes=self.notes)
