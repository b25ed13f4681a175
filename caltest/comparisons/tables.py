"""The result of a comparison: a row for each model, or class."""

from dataclasses import dataclass

from caltest._results.report import format_pvalue, listed, pvalue_phrase, remarks
from caltest._results.tables import Bar, Page, Table, TabularResult, aligned
from caltest._results.values import ConfidenceInterval, Finding, Stored
from caltest._validation import fraction

LEVEL = 0.05
"""Level of what stands out in pictures."""


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
        Mean and 95 % quantile of the estimate if the predictions are calibrated.
    pvalue, pvalue_holm, pvalue_bh
        Of the hypothesis that they are calibrated, and adjusted for the number of rows: by Holm's method, which bounds
        the probability of any false rejection, and by that of Benjamini and Hochberg, which bounds the expected share
        of false rejections.
    finding
        What is wrong, in words, or None; it means something only where calibration is rejected.
    pvalue_otherwise
        As in ``CalibrationTestResult``.

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
    noise_quantile: float
    pvalue: float
    pvalue_holm: float
    pvalue_bh: float
    finding: Finding | None
    pvalue_otherwise: float | None = None

    @property
    def shown(self) -> float:
        """What the interval is about, if there is one: the estimate, cut at 0 as errors are at least that."""
        return self.estimate if self.interval is None or self.interval.estimate is None else self.interval.estimate


@dataclass(frozen=True, repr=False)
class ModelComparison(TabularResult, Stored):
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

    picture = "forest"

    def __getitem__(self, name: str) -> ComparedModel:
        """The row of a name; ``KeyError`` if there is none."""
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(f"got {name!r}, wanted one of {', '.join(repr(row.name) for row in self.rows)}")

    def bars(self) -> list[Bar]:
        """Estimated errors with their intervals, beside what calibrated predictions give, for ``plots.forest``."""
        ends = [None if one.interval is None else one.interval.ends for one in self.rows]
        return [
            Bar(one.name, one.shown, both, one.noise_floor, "mean if calibrated", "error", one.pvalue_holm <= LEVEL)
            for one, both in zip(self.rows, ends, strict=True)
        ]

    def table(self) -> Table:
        level = f"{100 * self.confidence_level:g} %"
        header = [self.kind, self.score_name, "estimate", f"{level} interval", "if calibrated", "p", "Holm", "BH"]
        return [header, *(_cells(row) for row in self.rows)]

    def remarks(self) -> list[str]:
        """Why p-values are 0, and which is the smallest possible."""
        return remarks(self.rows, self.n_resamples)

    def sentence(self, alpha: float = 0.05) -> str:
        """One sentence for a paper: for which rows calibration is rejected after Holm's adjustment."""
        level = fraction("alpha", alpha)
        said = [f"{row.name} ({pvalue_phrase(row.pvalue_holm)})" for row in self.rows]
        rejected = [text for text, row in zip(said, self.rows, strict=True) if row.pvalue_holm <= level]
        kept = [text for text, row in zip(said, self.rows, strict=True) if row.pvalue_holm > level]
        found = f"was rejected for {listed(rejected)}" if rejected else f"was not rejected for {listed(kept)}"
        others = f" and not for {listed(kept)}" if rejected and kept else ""
        return (
            f"The calibration of {len(self.rows)} {_plural(self.kind)} was tested on n = {self.n} observations "
            f"({self.test}): at the {100 * level:g} % level, with p-values adjusted by Holm's method, calibration "
            f"{found}{others}."
        )

    def summary(self, alpha: float = 0.05) -> str:
        """The report that ``print`` shows, with the findings where calibration is rejected at a level."""
        level = fraction("alpha", alpha)
        what = {"Estimate": self.estimator, "p-value": self.test, "n": str(self.n)}
        lines = ["", aligned(self.table()), ""]
        if any(row.shown != row.estimate for row in self.rows):
            lines.append("estimate: 0 where the unbiased estimate is negative, as the error is at least that")
        lines.append("if calibrated: 95 % quantile of the estimate if the predictions are calibrated")
        lines += [f"Holm, BH: p-values adjusted for {len(self.rows)} {_plural(self.kind)}", *self.remarks()]
        lines += [f"  {row.name}: {row.finding}" for row in self.rows if row.finding and row.pvalue_holm <= level]
        title = f"Comparison of {len(self.rows)} {_plural(self.kind)}"
        return Page(title, what, lines, [""], {"Reproduce": f"rng={self.seed}"}, notes=self.notes)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<comparison of {len(self.rows)} {_plural(self.kind)}, n = {self.n}>"


def _plural(kind: str) -> str:
    return "classes" if kind == "class" else "models"


def _cells(row: ComparedModel) -> list[str]:
    score = "-" if row.score is None else f"{row.score:.3f}"
    interval = "-" if row.interval is None else f"[{row.interval.low:.3g}, {row.interval.high:.3g}]"
    pvalues = [format_pvalue(p, row.pvalue_otherwise) for p in (row.pvalue, row.pvalue_holm, row.pvalue_bh)]
    return [row.name, score, f"{row.shown:.3g}", interval, f"{row.noise_quantile:.3g}", *pvalues]
