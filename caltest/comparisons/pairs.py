"""Which of several models are better calibrated than others: a table of all pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from caltest._basics.calls import own_errstate
from caltest._basics.numerics import ArrayLike
from caltest._results.measures import ends_of, short
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
from caltest._results.values import ConfidenceInterval, Entry, Stored
from caltest._validation import fraction
from caltest.comparisons.paired_test import (
    SQUARES,
    Difference,
    ModelSums,
    error_if_equal,
    far_off,
    is_farther,
    note_on_few,
)
from caltest.comparisons.samples import check_same_kind, notes_on_models, samples_of
from caltest.estimators.kernel_errors.kernel_estimator import shared_kernel
from caltest.kernels import PairKernel
from caltest.predictions import Sample


@dataclass(frozen=True)
class ComparedPair(Entry):
    """A row of a comparison of pairs.

    Attributes
    ----------
    estimate, interval
        Of ``SKCE(first) - SKCE(second)``; negative where the first one is better calibrated.
    pvalue, pvalue_holm, pvalue_bh
        Of the hypothesis that both have the same error; adjusted as in ``ComparedModel``.
    gap, other_gap
        How far each of the two is off on average, with 95 % intervals, as in ``ComparedModel``; None where predictions
        of this kind have no such number.

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
    gap: ConfidenceInterval | None = None
    other_gap: ConfidenceInterval | None = None

    @property
    def name(self) -> str:
        """Of the pair."""
        return f"{self.first} - {self.second}"

    @property
    def better(self) -> str:
        """The model with the smaller estimate; empty if both are the same."""
        return "" if self.estimate == 0.0 else self.first if self.estimate < 0.0 else self.second

    @property
    def is_against(self) -> bool:
        """Whether the better one is clearly farther off on average."""
        gaps = (self.gap, self.other_gap) if self.estimate < 0.0 else (self.other_gap, self.gap)
        return self.better != "" and is_farther(*gaps)


@dataclass(frozen=True, repr=False)
class PairComparison(Comparison[ComparedPair], Stored):
    """All pairs of several models side by side. Printing it gives a table.

    Attributes
    ----------
    rows
        One for each pair, in the order of the models.
    confidence_level
        Of the intervals of differences, each for itself.
    compared, unit
        What the gaps of the models are of, and their unit.
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
    compared: str = ""
    unit: str = ""
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
        off = [f"{short([self.unit])} off"] if self.compared else []
        header = ["pair", "better", *off, "p", "Holm", "difference", f"{100 * self.confidence_level:g} % interval"]
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

    @property
    def _far_off(self) -> list[str]:
        """What is how far off, and of which pairs the better one is farther off than the other."""
        if not self.compared:
            return []
        lines = [f"{short([self.unit])} off: 95 % intervals for how far {self.compared} are off on average"]
        against = [row.name for row in self.rows if row.is_against]
        if against:
            lines.append(f"{first_of(against, LISTED, ', ')}: the better one is farther off on average ({SQUARES})")
        return lines

    def __repr__(self) -> str:
        return f"<comparison of {self._counted} of models, n = {self.n}>"

    def summary(self, alpha: float = 0.05) -> str:
        what = {"Verdict": self.verdict(alpha), "Difference": f"of {self.estimator}"}
        what |= {"p-value": "normal limit, jackknife variance", "n": str(self.n)}
        better = "better: has the smaller estimate; whether that is more than chance is what p says"
        lines = ["", better, f"Holm: p adjusted for {self._counted}", *self._far_off]
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

    Returns
    -------
    PairComparison
        ``print`` it for a table; ``rows`` has one row for each pair, which says which model is ``better``.

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
    sums = {name: ModelSums.of(shared, sample) for name, sample in samples.items()}
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
    off = far_off(list(samples.values()))
    gaps = dict.fromkeys(samples) if off is None else dict(zip(samples, off.gaps, strict=True))
    rows = [
        ComparedPair(first, second, one.estimate, one.interval(level), one.pvalue, *both, gaps[first], gaps[second])
        for (first, second), one, both in zip(pairs, found, adjusted, strict=True)
    ]
    return PairComparison(
        rows=tuple(rows),
        estimator=f"SKCE (unbiased, all pairs), k = {shared.describe()}",
        n=len(next(iter(samples.values()))),
        confidence_level=level,
        compared="" if off is None else off.event,
        unit="" if off is None else off.unit,
        notes=(*notes_on_models(samples), *note_on_few(list(samples.values()))),
    )


def _cells(row: ComparedPair) -> list[str]:
    off = [f"{ends_of(row.gap)}, {ends_of(row.other_gap)}"] if row.gap and row.other_gap else []
    pvalues = [format_pvalue(p) for p in (row.pvalue, row.pvalue_holm)]
    interval = f"[{row.interval.low:.3g}, {row.interval.high:.3g}]"
    return [row.name, row.better, *off, *pvalues, f"{row.estimate:.3g}", interval]
