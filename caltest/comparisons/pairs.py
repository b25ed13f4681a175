"""Which of several models differ: a table of all pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from caltest._basics.numerics import ArrayLike, own_errstate
from caltest._results.report import benjamini_hochberg, format_pvalue, holm, listed, page, pvalue_phrase
from caltest._results.values import ConfidenceInterval, Stored
from caltest._validation import fraction
from caltest.comparisons.formats import Table, TabularResult, aligned, entries_of
from caltest.comparisons.models import check_same_kind, samples_of
from caltest.comparisons.paired import Difference
from caltest.estimators.kernel_errors.kernel_estimator import shared_kernel
from caltest.hstatistics.variances.jackknife import row_sums
from caltest.kernels import PairKernel
from caltest.predictions import Sample


@dataclass(frozen=True)
class ComparedPair:
    """A row of a comparison of pairs.

    Attributes
    ----------
    first, second
        Names of the models.
    estimate
        ``SKCE(first) - SKCE(second)``; negative where the first one is better calibrated.
    interval
        ``ConfidenceInterval`` of the difference.
    pvalue
        Of the hypothesis that both have the same error.
    pvalue_holm, pvalue_bh
        Adjusted for the number of pairs by the methods of Holm and of Benjamini and Hochberg.

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
        """The model with the smaller estimate; the second one of equal ones."""
        return self.first if self.estimate < 0.0 else self.second


@dataclass(frozen=True, repr=False)
class PairComparison(TabularResult, Stored):
    """All pairs of several models side by side. Printing it gives a table.

    Attributes
    ----------
    rows
        One for each pair, in the order of the models.
    estimator
        What is estimated, in words.
    n
        Observations.
    confidence_level
        Of the intervals, each for itself.
    citations
        Sources of the methods, keys of their BibTeX entries.

    Examples
    --------
    >>> import caltest as ct
    >>> models = {name: p for name, (p, _) in ct.datasets.load_digits_predictions().items()}
    >>> labels = ct.datasets.load_digits_predictions()["random forest"][1]
    >>> ct.compare_pairs(models, labels)
    <comparison of 3 pairs of models, n = 899>
    """

    rows: tuple[ComparedPair, ...]
    estimator: str
    n: int
    confidence_level: float
    citations: tuple[str, ...] = ("benjamini1995", "bounliphone2016", "efron1981", "holm1979", "widmann2019")

    def table(self) -> Table:
        header = ["pair", "difference", f"{100 * self.confidence_level:g} % interval", "p", "Holm", "BH", "better"]
        return [header, *(_cells(row) for row in self.rows)]

    def row_entries(self) -> list[dict[str, Any]]:
        return [{"name": row.name} | entries_of(row) | {"better": row.better} for row in self.rows]

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
            f"The kernel calibration errors of {len(self.rows)} {_pairs(self.rows)} of models were compared on the "
            f"same n = {self.n} outcomes: {how}, {found}."
        )

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<comparison of {len(self.rows)} {_pairs(self.rows)} of models, n = {self.n}>"

    def summary(self) -> str:
        pairs, limit = f"{len(self.rows)} {_pairs(self.rows)}", "normal limit, jackknife variance"
        what = {"Difference": f"of {self.estimator}", "p-value": limit, "n": str(self.n)}
        better = "better: has the smaller estimate; whether that is more than chance is what p says"
        lines = ["", aligned(self.table()), "", better, f"Holm, BH: p-values adjusted for {pairs}"]
        return page(f"Comparison of {pairs} of models", what, lines)


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
    models
        Predictions of at least two models by name: ``Predictions``, or what becomes some, all of one family.
    targets, classes
        As in ``calibration_test``, the same for all models; n >= 3.
    kernel
        By default that of the family. A ``"median"`` bandwidth is that of the predictions of all models together.
    confidence_level
        Of the intervals of the differences.

    Raises
    ------
    ValueError
        For fewer than two models, bad predictions or outcomes, and as ``PairedSKCETest``.
    TypeError
        For names that are not strings, models of different families, or anything other than a kernel.

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
    sums = {name: row_sums(shared, sample) for name, sample in samples.items()}
    pairs = list(combinations(samples, 2))
    found = []
    for first, second in pairs:
        try:
            found.append(Difference.of(sums[first], sums[second]))
        except ValueError as error:
            raise ValueError(f"models {first!r} and {second!r}: {error}") from None
    pvalues = [difference.pvalue for difference in found]
    adjusted = zip(holm(pvalues), benjamini_hochberg(pvalues), strict=True)
    rows = [
        ComparedPair(first, second, one.estimate, one.interval(level), one.pvalue, *both)
        for (first, second), one, both in zip(pairs, found, adjusted, strict=True)
    ]
    n = len(next(iter(samples.values())))
    return PairComparison(tuple(rows), f"SKCE (unbiased, all pairs), k = {shared.describe()}", n, level)


def _pairs(rows: tuple[ComparedPair, ...]) -> str:
    return "pair" if len(rows) == 1 else "pairs"


def _cells(row: ComparedPair) -> list[str]:
    pvalues = [format_pvalue(p) for p in (row.pvalue, row.pvalue_holm, row.pvalue_bh)]
    return [row.name, f"{row.estimate:.3g}", f"[{row.interval.low:.3g}, {row.interval.high:.3g}]", *pvalues, row.better]
