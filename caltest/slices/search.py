"""Which slices of the data are wrong, with error rates that hold for all that are searched."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from caltest._basics.arrays import order_of
from caltest._basics.calls import own_errstate
from caltest._basics.numerics import Array, ArrayLike, BoolArray, FloatArray, IntArray, seed_of
from caltest._basics.threads import progress_bars
from caltest._loops.counting import add_to_cells
from caltest._results.report import counted
from caltest._validation import fraction, one_of, positive_number, switch, whole_number
from caltest._validation.columns import Column, columns_for, columns_of, notes_on_outcomes
from caltest.estimators.dependence import cautions_on
from caltest.predictions import Sample
from caltest.predictions.censored import sample_of
from caltest.predictions.ensembles.own_spread import notes_on_columns, refuse_spread
from caltest.predictions.own_errors import refuse_errors
from caltest.slices.errors import BinaryErrors, Errors, are_between_quantiles, errors_of
from caltest.slices.group_sums import AT_ONCE, adjusted_by_redraws
from caltest.slices.slice_result import Slice, SliceSearchResult

Kind = Literal["bias", "confidence", "both"]

WEIGHTS = np.array([1.0, 0.89])[:, None, None]
"""Of the two statistics: so weighed the second, which fewer faults need, has less than half of the false alarms."""

CHANCE, SHARE = 4.0, 0.2
"""How much larger the square of a statistic often is in a part of a wrong slice, of many, and at most of it."""

FOUND = 0.8416
"""How many standard deviations the mean of a statistic is beyond what is critical where it is that in 80 %."""

TINY, SMALLER = 1e-9, (2.0, 1.0, 0.5, 0.2, 0.1)
"""A variance that all slices have in which something can happen, and those that are advised where most have less."""

ALL = "all rows"
"""The words of the cell of all rows."""


@own_errstate
def find_slices(
    predictions: ArrayLike,
    targets: ArrayLike,
    features: Any,
    *,
    classes: Sequence[Any] | None = None,
    n_bins: int = 5,
    max_depth: int = 2,
    error: Kind = "both",
    min_variance: float = 5.0,
    n_resamples: int = 999,
    alpha: float = 0.05,
    rng: Any = None,
    progress: bool = False,
) -> SliceSearchResult:
    """Find the slices of the data in which predictions are wrong: bins, categories, pairs of them, or all rows.

    The statistic is the largest of all slices and directions, and its distribution comes from the same redrawn outcomes
    for all of them: however many slices are searched, the probability that any slice in which the predictions are right
    is reported is at most ``alpha``. The data need not be split.

    Parameters
    ----------
    predictions, targets, classes
        As in ``calibration_test``: of classes, numbers, counts, ensembles or censored times. Of several classes the
        question is whether the most probable class is right as often as claimed.
    features
        A data frame, a mapping of columns, or an (n, d) array. Numbers and times of more than ``n_bins`` values are cut
        at their quantiles; other columns have a slice for each value; with more than 50 values, for the 49 most
        frequent ones and one for all others. Missing values are a slice too. They may be functions of the predictions,
        not of the outcomes.
    n_bins
        Quantile bins of a column.
    max_depth
        1 for single columns, 2 for pairs of columns too.
    error
        ``"bias"``: claims too high or too low; ``"confidence"``: too sure or not sure enough, of numbers errors larger
        or smaller than predicted; ``"both"``.
    min_variance
        The least variance of the number of occurrences in a slice, if calibrated. Slices with less, or with fewer than
        10 rows, are left out.
    alpha
        Familywise error rate, and one minus the level at which all intervals hold together.
    n_resamples, rng, progress
        As in ``calibration_test``; B redraws.

    Returns
    -------
    SliceSearchResult
        ``print`` it for a ranked table; ``rejected(alpha)``, ``mask(i)``.

    Raises
    ------
    ValueError
        For bad data, columns of another length, or no slice that is large enough.
    TypeError
        For predictions of vectors.

    Notes
    -----
    With ``r = y - p`` and ``v = p (1 - p)`` the statistics of a slice are ``sum r / sqrt(sum v)`` and the excess of the
    log loss, freed of the first; of numbers mean and spread of the normal scores of ``F(y)``; of counts with means m
    and variances v the scores of a common factor of the means, ``sum (y - m) m / v``, and of a common dispersion, as
    normal scores hardly know rare counts. P-values are those of the step-down maximum of Westfall and Young 1993, exact
    for every n given predictions and features: they assume that outcomes are independent given these. The hypothesis of
    a slice is that the predictions are right for all of its rows, so that a slice that only overlaps a wrong one is
    wrong too: the table has the slices that are still wrong when predictions are corrected in those above them, and
    says how many others these explain; ``unpruned()`` has all. Where no part of a slice is clearly worse than the rest
    of it, the table has the whole slice.

    Intervals for the mean of true minus claimed probabilities are those of Clopper and Pearson at the level
    ``1 - alpha / S`` for S slices, and hold for all slices together whatever the truth is (Hoeffding 1956), so for
    those that the search found as well. For sureness they are for how often outcomes are on the side of one half that
    the claim is on; for numbers, for how often these are above the predicted median, or in the central 68.3 % of what
    is predicted.

    Time O(B (n L + S)) for L tables of the columns and their pairs, memory O(n + S).

    Examples
    --------
    >>> import caltest as ct
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> age, site = rng.integers(20, 80, 2000), rng.choice(["a", "b", "c"], 2000)
    >>> p = rng.uniform(0.1, 0.6, 2000)
    >>> y = rng.random(2000) < p + 0.25 * (site == "b")
    >>> found = ct.find_slices(p, y, {"age": age, "site": site}, rng=1)
    >>> found.rows[0].name, found.rows[0].direction
    ('site = b', 'claims too low')
    """
    one_of("error", error, get_args(Kind))
    depth, level = whole_number("max_depth", max_depth, 1, 2), fraction("alpha", alpha)
    bins, number = whole_number("n_bins", n_bins, 2), whole_number("n_resamples", n_resamples, 1)
    least, shown = positive_number("min_variance", min_variance), switch("progress", progress)
    seed = seed_of(rng)
    sample = sample_of(predictions, targets, classes, seed)
    n = len(sample)
    given = columns_for(features, order_of(targets, predictions), n, sample.targets)
    refuse_errors(given, sample)
    refuse_spread(given, sample)
    columns, notes = columns_of(dict(given), None, n, bins)
    notes += (*sample.predictions.notes, *_notes_on_impossible(sample), *sample.remarks)
    notes += notes_on_outcomes(given, sample.targets)
    notes += (*cautions_on(sample), *notes_on_columns(given, sample))
    if are_between_quantiles(sample):
        notes += ("where outcomes are between two quantiles is drawn, so that errors look nearer to those predicted",)
    errors, event = errors_of(sample, seed)
    tables = Tables.of(columns, depth)
    search = Search(errors, tables, error, least)
    _check_slices(search, least, n)
    notes += search.notes_on_small(least)
    with progress_bars(shown):
        tested = search.tested(number, level, seed)
    z, pvalues = tested.z, tested.pvalues
    kept, explained = search.pruned(pvalues <= level, tested.critical)
    ranked = np.lexsort((-np.abs(z).max(axis=0), pvalues))
    explains = Counter(explained.values())

    def found(some: Iterable[int]) -> tuple[Slice, ...]:
        return tuple(_slice(search, tested, level, i, explains[i], explained.get(i)) for i in some)

    return SliceSearchResult(
        rows=found(kept or ranked[:1].tolist()),
        others=found(i for i in ranked.tolist() if i in explained),
        n=n,
        n_columns=len(columns),
        n_slices=int(search.slices.size),
        n_left_out=int(tables.n_cells - search.slices.size),
        n_rejected=int(np.count_nonzero(pvalues <= level)),
        pvalue=tested.pvalue,
        critical=tested.critical,
        power=search.power(tested.critical),
        alpha=level,
        event=event,
        n_resamples=number,
        seed=seed,
        notes=notes,
        predictions=sample.predictions.describe(),
        members=Members(columns, {tables.words_of(cell): tables.bins_of(cell) for cell in search.slices.tolist()}),
    )


def _check_slices(search: "Search", least: float, n: int) -> None:
    """Raise where there is nothing to search in n rows."""
    if isinstance(search.errors, BinaryErrors) and not search.errors.v.any():
        got = f"predictions: got {n} probabilities that are all 0 or 1"
        raise ValueError(f"{got}, wanted some between, which can be wrong by a little: predict_proba, not predict")
    if not search.slices.size:
        many = search.n_of_variance(TINY)
        less = f"; predictions leave less to chance in the {counted(many, 'slice')} of 10 rows or more" if many else ""
        raise ValueError(
            f"features: got {n} rows without a slice that is large enough (10 rows, and a variance of {least:g} of "
            f"what occurs in it){less}; wanted more rows, recalibrated predictions if these are too sure, fewer "
            "n_bins, or a smaller min_variance"
        )


def _notes_on_impossible(sample: Sample) -> tuple[str, ...]:
    """That outcomes occurred which predictions exclude."""
    n = sample.impossible.size
    if not n:
        return ()
    had = "1 outcome had predicted probability 0; its row counts"
    if n > 1:
        had = f"{n} outcomes had predicted probability 0; their rows count"
    return (f"{had} as any other, but calibrated predictions exclude that",)


@dataclass(frozen=True)
class Tables:
    """Cells of columns and of pairs of columns: which one each row is in, (L, n), and words for each cell."""

    layouts: Array = field(repr=False)
    offsets: IntArray
    columns: Sequence[Column] = field(repr=False)
    members: Sequence[tuple[int, ...]] = field(repr=False)
    """Columns of each table."""

    @classmethod
    def of(cls, columns: Sequence[Column], depth: int) -> "Tables":
        """A cell of all rows, all columns, and all pairs of them for depth 2."""
        members: list[tuple[int, ...]] = [(), *((j,) for j in range(len(columns)))]
        if depth == 2:
            members += list(combinations(range(len(columns)), 2))
        sizes = [int(np.prod([len(columns[j].words) for j in some])) for some in members]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        layouts = np.empty((len(members), columns[0].codes.size), dtype=np.int32)
        for table, some in enumerate(members):
            codes = np.zeros_like(columns[0].codes)
            for j in some:
                codes = codes * len(columns[j].words) + columns[j].codes
            layouts[table] = codes + offsets[table]
        return cls(layouts, offsets, columns, members)

    @property
    def n_cells(self) -> int:
        """Number of cells, empty ones among them."""
        return int(self.offsets[-1])

    def sums(self, numbers: FloatArray) -> FloatArray:
        """Sums (cells, W) of numbers (n, W)."""
        out = np.zeros((self.n_cells, numbers.shape[1]))
        add_to_cells(self.layouts, np.ascontiguousarray(numbers), out)
        return out

    def _place(self, cell: int) -> tuple[int, int]:
        table = int(np.searchsorted(self.offsets, cell, side="right")) - 1
        return table, cell - int(self.offsets[table])

    def rows_of(self, cell: int) -> BoolArray:
        """Rows in a cell."""
        return np.asarray(self.layouts[self._place(cell)[0]] == cell)

    def bins_of(self, cell: int) -> list[tuple[int, int]]:
        """The columns of a cell and the bin of each."""
        table, code = self._place(cell)
        bins: list[tuple[int, int]] = []
        for j in reversed(self.members[table]):
            code, own = divmod(code, len(self.columns[j].words))
            bins.insert(0, (j, own))
        return bins

    def words_of(self, cell: int) -> str:
        """A cell in words."""
        return " and ".join(self.columns[j].words[own] for j, own in self.bins_of(cell)) or ALL


@dataclass(frozen=True)
class Members:
    """The rows of slices by their names."""

    columns: Sequence[Column] = field(repr=False)
    bins: Mapping[str, list[tuple[int, int]]] = field(repr=False)

    def __call__(self, name: str) -> BoolArray:
        """Which rows (n,) are in all bins of a slice."""
        every = [self.columns[j].codes == own for j, own in self.bins[name]]
        return np.asarray(np.logical_and.reduce([np.ones(self.columns[0].codes.size, dtype=np.bool_), *every]))


class Judged(NamedTuple):
    """Statistics (C, S) of slices, p-values (S,) adjusted for all, the critical value, and the p-value of all."""

    z: FloatArray
    pvalues: FloatArray
    critical: float
    pvalue: float


class Search:
    """The slices that take part, each set of rows once, and their statistics."""

    def __init__(self, errors: Errors, tables: Tables, error: Kind, least: float) -> None:
        self.errors, self.tables = errors, tables
        fixed = tables.sums(errors.fixed().T).T
        asked = np.array([error != "confidence", error != "bias"])
        parts = errors.take_part(fixed, least) & asked[:, None]
        self.slices = _different(tables, np.flatnonzero(parts.any(axis=0)))
        self.parts, self.fixed, self.of_all = parts[:, self.slices], fixed[:, self.slices], fixed

    def n_of_variance(self, least: float) -> int:
        """How many slices of enough rows have outcomes of so large a variance."""
        return int(np.count_nonzero(self.errors.take_part(self.of_all, least).any(axis=0)))

    def notes_on_small(self, least: float) -> tuple[str, ...]:
        """That most slices of enough rows are left out, as their outcomes have a variance below ``least``."""
        searched = self.n_of_variance
        enough, some = searched(TINY), searched(least)
        if 2 * some >= enough:
            return ()
        other = next((one for one in SMALLER if 2 * searched(one) >= enough), SMALLER[-1])
        return (
            f"{enough - some} of {enough} slices of 10 rows or more are not searched, as predictions leave little to "
            f"chance in them; min_variance={other:g} leaves out {enough - searched(other)}",
        )

    def statistics(self, numbers: FloatArray) -> FloatArray:
        """Statistics (C, S, W) of numbers (T, n, W), 0 where a statistic takes no part."""
        sums = np.stack([self.tables.sums(one)[self.slices] for one in numbers])
        return np.where(self.parts[..., None], WEIGHTS * self.errors.statistics(sums, self.fixed), 0.0)

    def with_errors(self, errors: Errors) -> "Search":
        """The same slices and statistics of other errors of the same rows."""
        other = copy(self)
        other.errors, other.fixed = errors, self.tables.sums(errors.fixed().T).T[:, self.slices]
        return other

    def observed(self) -> FloatArray:
        """Statistics (C, S) of the outcomes."""
        return np.asarray(self.statistics(self.errors.observed())[..., 0])

    def tested(self, n_resamples: int, alpha: float, seed: int) -> Judged:
        """What is found by the step-down maximum over redraws."""
        z = self.observed()
        sizes = np.abs(z).ravel()

        def redrawn(generator: np.random.Generator, size: int) -> FloatArray:
            return np.abs(self.statistics(self.errors.redrawn(generator, size))).reshape(sizes.size, -1)

        work = 50.0 * self.tables.layouts.size * AT_ONCE
        found = adjusted_by_redraws(sizes, redrawn, n_resamples, seed, "slices", work)
        largest = np.sort(found.maxima)
        rank = int(np.ceil((1.0 - alpha) * (n_resamples + 1)))
        critical = float(largest[rank - 1]) if rank <= n_resamples else float("inf")
        return Judged(z, found.adjusted.reshape(z.shape).min(axis=0), critical, float(found.adjusted.min()))

    def power(self, critical: float) -> str:
        """Of a slice of median size the wrong mean that is found in 80 % of data sets, in words, if it is asked for."""
        some = np.flatnonzero(self.parts[0])
        if not some.size or not np.isfinite(critical):
            return ""
        i = some[np.argsort(self.fixed[0, some], kind="stable")[(some.size - 1) // 2]]
        off = (critical / WEIGHTS[0, 0, 0] + FOUND) * self.errors.standard_errors(self.fixed)[i]
        return f"{off:.2g} {self.errors.unit} in a slice of {self.fixed[0, i]:.0f} rows"

    def pruned(self, rejected: BoolArray, critical: float) -> tuple[list[int], dict[int, int]]:
        """Rejected slices that remain when predictions are corrected in those before, and which explains each other."""
        left: set[int] = set(np.flatnonzero(rejected).tolist())
        kept: list[int] = []
        corrected: list[tuple[int, int]] = []
        explained: dict[int, int] = {}
        search = self
        while left:
            z = np.abs(search.observed())
            if corrected:
                gone = {i for i in left if z[:, i].max() < critical}
                explained |= dict.fromkeys(gone, corrected[-1][0])
                left -= gone
            if not left:
                break
            channels = z.argmax(axis=0).tolist()
            again = {i for i in kept if (i, channels[i]) not in corrected}
            first, following = search._simplest(left, again, z.max(axis=0), channels)
            kept += [first] if first in left else []
            left.discard(first)
            corrected.append((first, channels[first]))
            search = following
        return kept, explained

    def _simplest(
        self, left: set[int], again: set[int], sizes: FloatArray, channels: list[int]
    ) -> tuple[int, "Search"]:
        """The slice of the largest statistic, or one that it is a part of, and the search corrected in that slice.

        That one has a statistic that is not clearly smaller, and nothing is left of the largest one when predictions
        are corrected in it. It can be one which is already corrected, but for the other statistic.
        """

        def corrected(i: int) -> Search:
            rows = self.tables.rows_of(int(self.slices[i]))
            return self.with_errors(self.errors.without(rows, channels[i]))

        first = max(sorted(left), key=lambda i: float(sizes[i]))
        least = float(sizes[first]) ** 2 - min(CHANCE, SHARE * float(sizes[first]) ** 2)
        near = [i for i in sorted(left | again) if sizes[i] ** 2 >= least]
        bins = {i: set(self.tables.bins_of(int(self.slices[i]))) for i in near}
        wider = [i for i in near if bins[i] < bins[first]]
        for one in sorted(wider, key=lambda i: (len(bins[i]), -float(sizes[i]))):
            following = corrected(one)
            if following.observed()[channels[first], first] ** 2 <= CHANCE:
                return one, following
        return first, corrected(first)


def _different(tables: Tables, cells: IntArray) -> IntArray:
    """Cells with different rows, the first of each kind: those of equal sums of random numbers have the same rows."""
    marks = np.random.default_rng(0).random((tables.layouts.shape[1], 2))
    sums = tables.sums(marks)[cells]
    _, first = np.unique(sums, axis=0, return_index=True)
    return cells[np.sort(first)]


def _slice(search: Search, tested: Judged, alpha: float, i: int, explains: int, by: int | None) -> Slice:
    """A slice in words, with what is claimed and observed in it."""
    channel = int(np.abs(tested.z[:, i]).argmax())
    z = float(tested.z[channel, i] / WEIGHTS[channel, 0, 0])
    rows = search.tables.rows_of(int(search.slices[i]))
    n = int(rows.sum())
    shown = search.errors.shown(rows, channel, 1.0 - alpha / search.slices.size)
    direction = search.errors.directions[channel][0 if z > 0.0 else 1]
    name, *others = (search.tables.words_of(int(search.slices[one])) for one in (i, by) if one is not None)
    return Slice(name, n, n / rows.size, *shown, z, direction, float(tested.pvalues[i]), explains, *others)
