"""The table of several models, or of the classes of one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from caltest._results.measures import MISSED, amount, ends_of, short
from caltest._results.report import LISTED, at_level, first_of, format_pvalue, listed, pvalue_phrase, remarks, undecided
from caltest._results.tables import STANDS_OUT, AdjustedRows, Bar, Grid, Page, Table, sharper
from caltest._results.values import ConfidenceInterval, Entry, Finding, Stored
from caltest._validation import fraction

R = TypeVar("R")


@dataclass(frozen=True)
class ComparedModel(Entry):
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
        and empty where there is none. Intervals hold for each row by itself.
    matters
        Whether the error of some measure is larger than its margin, or what was said to be impossible occurred; None if
        that is open.
    found_at
        The smallest level at which the test finds errors that just matter in 80 % of such data, if that is known.

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
    found_at: float | None = None

    def may_be_missed(self, alpha: float) -> bool:
        """Whether an error that matters could be there although a p-value is not below a level."""
        found = self.gap is None if self.found_at is None else self.found_at <= alpha
        return self.matters is not False and not found

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
            columns[f"{short(row.unit for row in self.rows)} off"] = [
                "-" if row.gap is None else ends_of(row.gap) for row in self.rows
            ]
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
        alike: dict[str, list[tuple[float, str]]] = {}
        for row in self.rows:
            if row.gap is not None and row.margin is not None:
                what = "probabilities of each class" if self.kind == "class" else row.compared
                alike.setdefault(what, []).append((row.margin, row.name))
        lines = []
        for what, some in alike.items():
            margins, names = zip(*some, strict=True)
            least, most = amount(min(margins)), amount(max(margins))
            which = "" if len(alike) == 1 else f" for {first_of(names, LISTED, ', ')}"
            too_much = f"more than {least if least == most else f'{least} to {most}'} matters"
            unit = f"{short(row.unit for row in self.rows)} off{which}"
            lines.append(f"{unit}: 95 % interval for how far {what} are off on average ({too_much})")
        return [*lines, *remarks(self.rows, self.n_resamples), *sharper(self._errors)]

    def verdict(self, alpha: float = 0.05) -> str:
        """For which rows calibration is rejected at a level and whether their errors matter, in words."""
        names = self.rejected(alpha)
        if names:
            which = f"for {len(names)} of {self._counted}: {first_of(names, LISTED, ', ')}"
            return f"reject calibration {at_level(alpha)} {which}{_practical([self[name] for name in names])}"
        if few := undecided(self.pvalue, self.n_resamples, alpha):
            return few
        kept = f"calibration of none of {self._counted} is rejected {at_level(alpha)}"
        if len(self.rows) == 1:
            kept = f"calibration is not rejected {at_level(alpha)}"
        if all(row.matters is False for row in self.rows):
            return f"{kept}, and errors that matter are ruled out"
        # The level of Holm's method at which the first row is rejected.
        missed = [row.name for row in self.rows if row.may_be_missed(alpha / len(self.rows))]
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
