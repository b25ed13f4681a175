"""The numbers of the omnibus statistic for many predictions of few classes, from counts of labels in cells of them.

Predictions are put into cells of similar ones, and the statistic sees of the labels how often each occurs in each cell,
how often each class occurs in groups of ranks of its probability, and a few sums: of their probabilities and
logarithms, and of hits times features of the confidence. Cells and groups depend on predictions, not on labels, and
observed and redrawn labels are treated alike, so that Monte Carlo p-values stay exact.
Counts and sums of parts of the data add up, without rounding where there are no weights.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise
from typing import Any, Self

import numpy as np

from caltest._basics.numerics import Array, FloatArray, IntArray, Sums, check_memory, normalised, ranges
from caltest._basics.threads import threaded
from caltest._loops.statistics.cell_counts import count_cells, find_cells
from caltest.estimators.combined.sums.parts import OfRows
from caltest.estimators.scores import log_mixture
from caltest.hstatistics.sums.binary_line import on_a_line, pair_sums_of_lines
from caltest.kernels import ProductKernel
from caltest.predictions import Predictions, alternatives
from caltest.predictions.bandwidth import MEDIAN_OF
from caltest.predictions.classes.finite import SMALLEST, FinitePredictions
from caltest.predictions.faults import Faults
from caltest.predictions.faults.classes.labels import PAIR_FLOOR, PAIR_SHARE, ClassView, LabelFaults, Seen
from caltest.predictions.faults.fault import GROUPS, group_edges, rank_groups

MOST_CLASSES = 32
"""Classes up to which labels are counted in cells."""

MANY_BINARY, MANY = 10_000, 100_000
"""Predictions of two, and of several classes from which on they are: cells of several classes blur some features."""

MOST_CELLS = {2: 1024}
"""Cells of predictions of so many classes, by default 512."""

ROWS = 4096
"""Predictions whose labels are counted together, at least."""

UNIT = 2.0**40
"""Probabilities are added as multiples of one over this, so that sums do not depend on their order."""

LARGEST = 2**29
"""Bytes of counts that are kept at a time; with more redraws the predictions are read again."""

TERM_UNIT = 2.0**24
"""The same of the numbers of labels, whose sums are those of many redraws."""

TERMS = 2
"""How many numbers of a label are added exactly, and not only by cells."""

COLUMNS = 128
"""Redraws whose residuals are multiplied by kernels together."""


@dataclass(frozen=True, eq=False)
class Cells:
    """A tree of comparisons of probabilities, ``p[column] <= limit``, whose leaves are cells of similar predictions."""

    columns: IntArray
    limits: FloatArray
    next_nodes: IntArray
    """Nodes (N, 2) where the comparison holds and where it does not; -1 - c stands for the cell c."""

    @classmethod
    def of(cls, p: FloatArray, number: int) -> Self:
        """At most so many cells: the one that varies most is cut at its mean, of ``arcsin sqrt(p)``, again and again.

        The variance of that of a frequency hardly depends on the probability.
        """
        angles = np.arcsin(np.sqrt(np.clip(p, 0.0, 1.0)))
        columns: list[int] = []
        limits: list[float] = []
        next_nodes: list[list[int]] = []
        leaves: list[tuple[float, int, int, IntArray, tuple[int, int] | None]] = []

        def add(rows: IntArray, parent: tuple[int, int] | None) -> None:
            variances = angles[rows].var(axis=0)
            column = int(variances.argmax())
            heappush(leaves, (-float(variances[column]) * rows.size, len(columns) + len(leaves), column, rows, parent))

        def link(parent: tuple[int, int] | None, node: int) -> None:
            if parent is not None:
                next_nodes[parent[0]][parent[1]] = node

        add(np.arange(len(p)), None)
        while len(leaves) < number and leaves[0][0] < -1e-12:
            _, _, column, rows, parent = heappop(leaves)
            values, limit = p[rows, column], float(np.sin(angles[rows, column].mean()) ** 2)
            # Rounding can take the mean of nearly equal ones beyond all of them.
            limit = limit if values.min() <= limit < values.max() else float(values.min())
            below = values <= limit
            node = len(columns)
            link(parent, node)
            columns.append(column)
            limits.append(limit)
            next_nodes.append([0, 0])
            add(rows[below], (node, 0))
            add(rows[~below], (node, 1))
        for cell, (_, _, _, _, parent) in enumerate(leaves):
            link(parent, -1 - cell)
        return cls(np.array(columns, dtype=np.intp), np.array(limits), np.array(next_nodes, np.intp).reshape(-1, 2))

    def __len__(self) -> int:
        return len(self.columns) + 1

    def find(self, p: FloatArray) -> IntArray:
        """The cell of each prediction, (n,)."""
        cells = np.empty(len(p), dtype=np.intp)
        find_cells(p, self.columns, self.limits, self.next_nodes, cells)
        return cells


@dataclass(frozen=True, eq=False)
class CellSums(Sums):
    """Sums over the predictions of each cell."""

    redrawn = {"counts": -1, "terms": -1, "grouped": -1}

    sizes: IntArray
    """Numbers of predictions, (C,)."""
    counts: FloatArray
    """Weight of each label for each redraw, (C, k, B)."""
    terms: FloatArray
    """Of the numbers of the labels, (C, TERMS, B): log p and p."""
    grouped: FloatArray
    """Weight of each label, and of hits, in groups of the ranks of its probability, (k + 1, GROUPS, B); none of two
    classes.
    """
    probabilities: IntArray
    """Of the probabilities, (C, k), in units of ``1 / UNIT``."""
    ratios: IntArray
    """Expected log ratios of each label, (C, k, 10), in the same units: five of random labels, five of that class."""
    constants: IntArray
    """``sum p log p``, ``sum p**2`` and log norms of temperatures, (C, 12), in units of ``1 / TERM_UNIT``."""
    squares: FloatArray
    """Of the weights, (C,)."""


class CountsSeen:
    """``Seen`` by the rows of faults, from the counts (C, k, B) of labels in cells, and other ``CellSums``."""

    def __init__(self, view: ClassView, counts: FloatArray, terms: FloatArray, in_groups: FloatArray) -> None:
        self.view, self._counts, size = view, counts, view.chosen.size
        self.totals = counts.sum(axis=0)
        hits, groups = counts[np.arange(view.n), view.top], view.places[view.top]
        self.top_sums = np.concatenate([_by_group(one, groups, size + 1)[:size] for one in (hits, terms[:, 0])])
        self.grouped = np.ascontiguousarray(in_groups.transpose(2, 0, 1))
        self.sums = np.stack([counts[:, c].T @ view.of_chosen for c in view.chosen], axis=1)
        self.pair_logs, p = np.empty((*self.sums.shape, 2)), np.maximum(view.of_chosen, PAIR_FLOOR)
        for place, c in enumerate(view.chosen):
            ratios = p / p[:, [place]]
            for one, gains in enumerate((ratios, ratios - 1.0)):
                self.pair_logs[:, place, :, one] = counts[:, c].T @ np.log1p(PAIR_SHARE * gains)

    @property
    def ones(self) -> FloatArray:
        """How often label 1 occurs, (B, C)."""
        return self._counts[:, 1].T

    def ones_by_group(self, groups: IntArray, n_groups: int) -> FloatArray:
        """How often label 1 occurs in each group of the cells, (n_groups, B)."""
        return _by_group(self._counts[:, 1], groups, n_groups)


def _claims(p: FloatArray) -> FloatArray:
    """Probabilities (n, k + 1) of all classes and of the most probable one, none of two classes."""
    return np.column_stack([p, p.max(axis=1)]) if p.shape[1] > 2 else p[:, :0]


def _terms_of(p: FloatArray) -> FloatArray:
    """Numbers (r, k, TERMS) of the labels of some rows: log p and p."""
    terms = np.stack([np.log(np.maximum(p, SMALLEST)), p], axis=2)
    return np.asarray(np.rint(terms * TERM_UNIT) / TERM_UNIT)


def _by_group(values: FloatArray, groups: IntArray, n_groups: int) -> FloatArray:
    return np.asarray((np.arange(n_groups)[:, None] == groups).astype(np.float64) @ values)


@dataclass(frozen=True, eq=False)
class FewClasses(OfRows[CellSums]):
    """Counts in cells of parts of the predictions, and the numbers (J, B) of all of them.

    Parameters
    ----------
    edges
        Where groups of ranks of the probabilities of each class, and of the most probable one, end, (k + 1, 63); of two
        classes none.
    kernels
        That of the estimate first.
    law
        Any of the predictions, for what is the same for all.
    faults
        The class of their faults.
    """

    cells: Cells
    edges: FloatArray
    kernels: tuple[ProductKernel, ...]
    law: FinitePredictions
    faults: Any
    weights: FloatArray | None = None

    kept_until = 2**16

    @property
    def note(self) -> str:
        return f"the test counts labels in {len(self.cells)} cells of similar predictions"

    @property
    def key(self) -> bytes:
        cells = self.cells
        numbers = cells.columns.tobytes() + cells.limits.tobytes() + self.edges.tobytes()
        return repr(self.kernels).encode() + numbers

    @classmethod
    def of(cls, kernels: Sequence[ProductKernel], law: FinitePredictions, faults: Any, weights: Any) -> Self:
        """With cells for some of the predictions."""
        p = np.asarray(law.evenly_spaced(MEDIAN_OF).stored, dtype=np.float64)
        cells = Cells.of(p, MOST_CELLS.get(law.n_classes, 512))
        edges = group_edges(_claims(normalised(p)))
        return cls(cells, edges, tuple(kernels), law.take(slice(0, 1)), faults, weights)

    def at_once(self) -> int:
        return max(256, LARGEST // (8 * self._n_sums))

    @property
    def _n_sums(self) -> int:
        """Numbers that are kept of each redraw."""
        return len(self.cells) * (self.law.n_classes + TERMS) + len(self.edges) * GROUPS

    def sums(
        self, law: FinitePredictions, observed: Array | None, rows: IntArray, seed: np.uint64, redraws: range
    ) -> CellSums:
        p, k = np.ascontiguousarray(law.stored), law.n_classes
        w = np.ones(len(p)) if self.weights is None else self.weights
        labels = np.zeros(0, dtype=np.intp) if observed is None else np.asarray(observed, dtype=np.intp)
        size = 8 * self._n_sums * len(redraws)
        check_memory(size, "counts of labels for all redraws", (len(redraws), "redraws"))
        cells = self.cells.find(p)
        order = np.argsort(cells, kind="stable")
        bounds = np.searchsorted(cells[order], np.arange(len(self.cells) + 1))
        counts = np.zeros((len(self.cells), k, len(redraws)))
        terms = np.zeros((len(self.cells), TERMS, len(redraws)))
        grouped = np.zeros((len(self.edges), GROUPS, len(redraws)))

        def count(part: slice) -> tuple[Array, ...]:
            """The sums of some cells that do not depend on labels."""
            ends = bounds[part.start : part.stop + 1]
            some = order[ends[0] : ends[-1]]
            own, weights, y = np.asarray(p[some], dtype=np.float64), w[some], labels[some] if labels.size else labels
            own /= own.sum(axis=1, keepdims=True)
            terms_of_labels, groups, ends = _terms_of(own), rank_groups(_claims(own), self.edges), ends - ends[0]
            kept = own, y, weights, terms_of_labels, rows[some], groups, own.argmax(axis=1)
            in_groups = np.zeros_like(grouped)
            count_cells(kept, ends, seed, redraws.start, counts[part], terms[part], in_groups)
            return in_groups, *(_by_cell(one, ends) for one in _expected(own, weights))

        parts = _parts(bounds)
        of_predictions = []
        for in_groups, *some in threaded(
            count, parts, len(parts), "labels of redraws", work=3.0 * len(p) * len(redraws)
        ):
            grouped += in_groups
            of_predictions.append(some)
        expected = (np.concatenate(one) for one in zip(*of_predictions, strict=True))
        return CellSums(np.diff(bounds), counts, terms, grouped, *expected)

    def values(self, sums: CellSums) -> FloatArray:
        full = sums.sizes > 0
        counts, expected = sums.counts[full], sums.probabilities[full] / UNIT
        totals = expected.sum(axis=1)
        law, weights = self.law.with_rows(expected / totals[:, None]), sums.squares[full] / totals
        faults = self.faults(law, None, sums.sizes[full])
        by_label, total = sums.terms.sum(axis=0), totals.sum()
        constants = sums.constants.sum(axis=0) / TERM_UNIT
        seen: Seen = CountsSeen(faults.view, counts, sums.terms[full], sums.grouped)
        return np.concatenate(
            [
                kernel_errors(self.kernels, law, counts, expected, weights),
                (constants[:2, None] - by_label) * np.array([[1.0], [2.0]]) / total,
                self._likelihood_ratio(counts, sums.ratios[full] / UNIT, expected, by_label[0], constants[2:])[None],
                *(one.rows(seen) for one in faults.compared),
            ]
        )

    @staticmethod
    def _likelihood_ratio(
        counts: FloatArray, ratios: FloatArray, expected: FloatArray, logs: FloatArray, norms: FloatArray
    ) -> FloatArray:
        """``log E``, (B,): of shares of random labels and of a class with the mean log ratio of a label in its cell."""
        k = counts.shape[1]
        means = np.divide(ratios, expected[..., None], out=np.zeros_like(ratios), where=expected[..., None] > 0.0)
        half = len(alternatives.SHARES)
        noisy = np.einsum("cks,ckb->sb", means[..., :half], counts, optimize=True)
        gains = np.stack([means[:, c, half:].T @ counts[:, c] for c in range(k)], axis=1)
        members = alternatives.ratios_from(np.concatenate([logs[None], noisy]), gains, norms, float(expected.sum()))
        return log_mixture(members, alternatives.weights_of_members(k))


def kernel_errors(
    kernels: Sequence[ProductKernel],
    law: FinitePredictions,
    counts: FloatArray,
    expected: FloatArray,
    weights: FloatArray,
) -> FloatArray:
    """Means of h over the pairs of different observations, (L, B), with the kernel of their cells.

    From the probabilities of C cells, how often each label occurs there (C, k, B) and is expected to (C, k). The mean
    weight (C,) of the observations of each cell stands for those of pairs of an observation with itself.
    """
    gram, p = law.gram(kernels[0].target_kernel), law.probabilities
    means = p @ gram
    own = (np.diag(gram) - 2.0 * means + np.einsum("ck,ck->c", means, p)[:, None]) * weights[:, None]
    total = float(expected.sum())
    n_pairs = total**2 - float(weights @ expected.sum(axis=1))
    forms = _quadratic_forms(kernels, law, gram)

    def errors(part: slice) -> FloatArray:
        diagonal = np.einsum("ck,ckb->b", own, counts[:, :, part])
        return np.asarray((forms(counts[:, :, part] - expected[:, :, None]) - diagonal) / n_pairs)

    parts = list(ranges(counts.shape[2], COLUMNS))
    return np.concatenate(list(threaded(errors, parts, len(parts), "kernel", products=True)), axis=1)


def _quadratic_forms(
    kernels: Sequence[ProductKernel], law: FinitePredictions, gram: FloatArray
) -> Callable[[FloatArray], FloatArray]:
    """``sum_cd K_cd r_c' A r_d`` for each kernel and residuals r (C, k, B), whose sums over classes are 0, (L, B)."""
    on_lines = [on_a_line(kernel, law) for kernel in kernels]
    lines = [one for one in on_lines if one is not None]
    if len(lines) == len(kernels):
        factors, order = np.array([one.factor for one in lines])[:, None], lines[0].order

        def along_lines(residuals: FloatArray) -> FloatArray:
            r = 0.5 * (residuals[order, 1] - residuals[order, 0])
            return np.asarray(2.0 * pair_sums_of_lines(lines, r) + factors * np.square(r).sum(axis=0))

        return along_lines
    tiles = [kernel.prediction_kernel.tile(law, law) for kernel in kernels]

    def by_tiles(residuals: FloatArray) -> FloatArray:
        rows = np.ascontiguousarray(residuals.transpose(0, 2, 1))
        flat, with_gram = rows.reshape(len(law), -1), (rows @ gram).reshape(len(law), -1)
        squares = (np.einsum("cx,cx->x", tile @ with_gram, flat).reshape(-1, gram.shape[0]) for tile in tiles)
        return np.stack([one.sum(axis=1) for one in squares])

    return by_tiles


def _parts(bounds: IntArray) -> list[slice]:
    """Consecutive cells with about so many predictions together as are taken at once."""
    last = np.searchsorted(bounds, np.arange(ROWS, bounds[-1], ROWS), side="right")
    ends = np.unique([0, *last.tolist(), bounds.size - 1])
    return [slice(int(start), int(stop)) for start, stop in pairwise(ends) if stop > start]


def _expected(p: FloatArray, weights: FloatArray) -> tuple[Array, ...]:
    """What does not depend on labels: probabilities (r, k), log ratios (r, k, 10), constants (r, 12), squares (r,)."""
    logs, *noisy = alternatives.label_terms(p, p.shape[1])
    ratios = np.empty((*p.shape, 2 * len(noisy)))
    np.stack(noisy, axis=-1, out=ratios[..., : len(noisy)])
    ratios[..., len(noisy) :] = alternatives.gains_of_class(p)
    ratios *= (p * weights[:, None])[..., None]
    constants = np.column_stack([(p * logs).sum(axis=1), np.square(p).sum(axis=1), *alternatives.log_norms(p)])
    constants *= weights[:, None]
    return (
        _multiples(p * weights[:, None], UNIT),
        _multiples(ratios, UNIT),
        _multiples(constants, TERM_UNIT),
        weights**2,
    )


def _multiples(values: FloatArray, unit: float) -> IntArray:
    """Of one over the unit, in the memory of the values: large arrays that come and go cost dask workers much time."""
    values *= unit
    return np.rint(values, out=values).astype(np.int64)


def _by_cell(values: Array, ends: IntArray) -> Array:
    """Sums of rows from each end to the next, 0 where there are none."""
    sums = np.zeros((ends.size - 1, *values.shape[1:]), dtype=values.dtype)
    full = np.diff(ends) > 0
    if full.any():
        sums[full] = np.add.reduceat(values, ends[:-1][full])
    return sums


def few_classes(
    kernels: Sequence[ProductKernel],
    predictions: Predictions,
    faults: Faults | None,
    weights: FloatArray | None,
    least: int | None = None,
) -> FewClasses | None:
    """The counts for many predictions of few classes without an order; None for others."""
    law = predictions.finite
    if law is None or law.n_classes > MOST_CLASSES or not isinstance(faults, LabelFaults) or not faults.are_sums:
        return None
    if least is None:
        least = MANY_BINARY if law.n_classes == 2 else MANY
    return None if len(law) < least else FewClasses.of(kernels, law, type(faults), weights)
