"""The numbers of the omnibus statistic for many classes, as sums over parts of the rows that are added.

A part is all rows, whose labels are in memory, for all pairs of which there are kernels; or rows in blocks of similar
predictions, with labels that are drawn block by block and kept nowhere. In blocks the kernel is another one::

    K'_ij = f + [same block] (K_ij - f),   f = exp(-1 / b),

which is positive definite, as ``K = f exp(overlap / b)``, and equals K for predictions without a common class. Blocks
depend on predictions only.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from caltest._basics.calls import kept
from caltest._basics.numerics import Array, FloatArray, IntArray, Sums, ranges
from caltest._basics.threads import n_threads, threaded
from caltest._loops.rows import draw_by_row
from caltest._loops.statistics.label_sums import add_by_class, add_by_group, add_of_chosen
from caltest.estimators.combined.sums.parts import OfRows
from caltest.estimators.scores import log_mixture
from caltest.hstatistics.redraws.of_many_classes import FACTORS, N_KERNELS, Entries, Kept, pair_sums
from caltest.kernels import ProductKernel
from caltest.predictions import Predictions, alternatives
from caltest.predictions.classes.finite import FinitePredictions
from caltest.predictions.faults import Faults
from caltest.predictions.faults.classes.labels import FLOOR, PAIR_FLOOR, PAIR_SHARE, ClassView, Seen, log_norms_of
from caltest.predictions.faults.classes.several import ClassFaults
from caltest.predictions.faults.fault import GROUPS

MANY, WORTH = 33, 2**18
"""Classes, and probabilities in all, from which on sums over entries of the rows are faster."""

LEAST_BANDWIDTH = 1e-3
"""Below which single precision is too rough for distances."""

MOST = 2**12
"""Classes above which the matrix of a kernel of targets takes too much memory."""

KEPT = 2500
"""Observations of which kernels of all pairs are kept, 13 MB."""

ALL_PAIRS = 10_000
"""Predictions up to which kernels are those of all pairs."""

ROWS, COLUMNS = 96, 32
"""Rows whose tables are made together, and columns whose likelihood ratios are."""

AT_ONCE, SUMS = 256, 2**19
"""Redraws whose numbers are computed together; and sums of classes that are kept, or as many as an eighth of the
probabilities."""

SLICES = 4
"""The most parts of the columns, for which threads add tables."""

LARGEST_BLOCK, SMALLEST_BLOCK = 1000, 200
"""Rows of a block of similar predictions."""

AGREEING = 50.0
"""Rows with the same label as a row in its block, on average, above which blocks are smaller."""

PAIR, LISTED, PRODUCT = 4.0, 2.0, 0.5
"""Nanoseconds for a pair of equal labels, for one of lists of changes, and for a product of two probabilities."""

LOGS, SMOOTHED = [0, 2, 3, 4, 5, 6], slice(7, 12)
TERMS = 12
"""Numbers of each label: log p, p, five log ratios of random labels, and five smoothed probabilities."""

ORDER = [2, 4, 3, 1, 0]
"""The kernels as components have them: that in the middle, and the others by their bandwidths."""


@dataclass(frozen=True, eq=False)
class ClassSums(Sums):
    """Sums over some of the rows for B columns, the observed labels and redraws."""

    n: int
    kernels: FloatArray
    """``sum_{i<j} (K_ij - f) h_ij`` within blocks, (5, B), with f = 0 if there are none."""
    labels: FloatArray
    """Of the numbers of labels, (B, TERMS)."""
    by_class: Array
    """Gains of classes that are too frequent, and counts, (k, B, 6)."""
    tops: FloatArray
    """Hits and log losses of predictions of chosen classes, (S, B, 2)."""
    chosen: Array
    """What faults of chosen classes see, (B, S, GROUPS + 3 S)."""
    hits: FloatArray
    """Of the most probable class in groups of the ranks of its probability, (GROUPS, B, 1)."""
    expected: FloatArray
    """Expected counts, (k,)."""
    entropy: float
    squares: float
    """``sum_i |p_i|**2``."""
    log_norms: FloatArray
    """Of all temperatures, (10,)."""

    def of_columns(self, part: slice) -> "ClassSums":
        """Those of some of the columns."""
        return replace(
            self,
            kernels=self.kernels[:, part],
            labels=self.labels[part],
            by_class=self.by_class[:, part],
            tops=self.tops[:, part],
            chosen=self.chosen[part],
            hits=self.hits[:, part],
        )

    @classmethod
    def without_labels(
        cls, n_columns: int, view: ClassView, logs: float, squares: float, norms: FloatArray
    ) -> "ClassSums":
        """What follows from predictions alone, with ``logs = sum p log p``."""
        size = view.chosen.size
        return cls(
            view.n,
            np.zeros((N_KERNELS, n_columns)),
            np.zeros((n_columns, TERMS)),
            np.zeros((view.k, n_columns, len(alternatives.SHARES) + 1), dtype=np.float32),
            np.zeros((size, n_columns, 2)),
            np.zeros((n_columns, size, GROUPS + 3 * size), dtype=np.float32),
            np.zeros((GROUPS, n_columns, 1)),
            view.expected,
            -logs,
            squares,
            norms,
        )


class SumsSeen:
    """``Seen`` by the rows of faults, from the sums."""

    def __init__(self, view: ClassView, of: ClassSums) -> None:
        self.view, size = view, view.chosen.size
        self.totals = of.by_class[:, :, -1].astype(np.float64)
        self.top_sums = np.concatenate([of.tops[:, :, 0], of.tops[:, :, 1]])
        self.grouped = np.concatenate([of.chosen[:, :, :GROUPS], of.hits.transpose(1, 2, 0)], axis=1)
        self.sums = of.chosen[:, :, GROUPS : GROUPS + size]
        self.pair_logs = of.chosen[:, :, GROUPS + size :].reshape(len(of.chosen), size, size, 2)


class ManyClasses(OfRows[ClassSums]):
    """Sums over parts of the rows, and the numbers (J, B) of all of them, for multiples of the bandwidth of a kernel.

    Parameters
    ----------
    bandwidth
        Of the kernel of the total variation distance.
    faults
        Those of the predictions, or of some of them: their chosen classes are those of all parts.
    in_blocks
        Whether kernels are those of blocks of similar rows.
    """

    note = "kernels compare predictions in blocks of similar ones"

    @property
    def draws_by_row(self) -> bool:
        return self.in_blocks

    def __init__(self, bandwidth: float, faults: ClassFaults, in_blocks: bool) -> None:
        self.bandwidth, self.faults, self.in_blocks = bandwidth, faults, in_blocks
        self._tiles: Kept = {}  # Those of all rows, as other labels than the observed and redrawn ones may follow.
        with np.errstate(over="ignore"):
            self._apart = np.exp(-1.0 / (np.array(FACTORS) * bandwidth))

    @property
    def key(self) -> bytes:
        return repr(self.bandwidth).encode() + self.faults.view.chosen.tobytes()

    def sums(
        self, law: FinitePredictions, observed: Array | None, rows: IntArray, seed: np.uint64, redraws: range
    ) -> ClassSums:
        first = int(observed is not None)

        def drawn(block: IntArray) -> Array:
            """Labels (B, m) of some of the rows, as those of all are never in memory together."""
            labels = np.empty((first + redraws.stop, block.size), dtype=law.label_type)
            if observed is not None:
                labels[0] = observed[block]
            cumulative = np.cumsum(law.stored[block], axis=1, dtype=np.float64)
            draw_by_row(cumulative, seed, rows[block], labels[first:])
            return labels

        return self.of_blocks(law, first + redraws.stop, drawn)

    def of_labels(self, predictions: FinitePredictions, labels: Array, means: FloatArray | None = None) -> FloatArray:
        """The numbers (J, B) of labels (B, n) in memory, of all pairs; the kernel errors (5, B) can be known already.

        What pairs add is shared by all redraws, the rest is added for some of them at a time.
        """
        view = self._view(predictions)
        labels = np.ascontiguousarray(labels, dtype=predictions.label_type)
        entries, kernels = Entries.of(labels, view.k), np.empty((N_KERNELS, len(labels)))
        if means is None:
            tiles = self._tiles if view is self.faults.view and view.n <= KEPT else None
            pairs = pair_sums(view.stored, labels, entries, self.bandwidth, kept=tiles)
            smoothed = pairs.smoothed
            kernels[:] = pairs.agreeing[:, :N_KERNELS].T + pairs.constants[:, None]
        else:
            smoothed = np.zeros((len(entries), N_KERNELS), dtype=np.float32)
            kernels[ORDER] = means * (view.n * (view.n - 1) / 2.0)
        constants = _constants(view)
        values = np.empty((self._n_values, len(labels)))

        def of_columns(part: slice) -> None:
            some = replace(entries, codes=np.ascontiguousarray(entries.codes[:, part]))
            total = ClassSums.without_labels(some.codes.shape[1], view, *constants)
            total.kernels[:] += kernels[:, part]
            self._add(total, view, np.arange(view.n), some, smoothed)
            self._write_values(total, values[:, part])

        for part in ranges(len(labels), max(AT_ONCE, max(SUMS, view.stored.size // 8) // view.k)):
            of_columns(part)
        return values

    def of_blocks(
        self, predictions: FinitePredictions, n_columns: int, labels_of: Callable[[IntArray], Array]
    ) -> ClassSums:
        """Sums for all columns of the labels (B, m) of some rows, in blocks of similar rows."""
        view = self._view(predictions)
        total = ClassSums.without_labels(n_columns, view, *_constants(view))

        def of_block(block: IntArray) -> tuple[FloatArray, Entries, Array]:
            p, labels = view.stored[block], np.ascontiguousarray(labels_of(block), dtype=predictions.label_type)
            entries = Entries.of(labels, view.k)
            pairs = pair_sums(p, labels, entries, self.bandwidth, in_threads=False)
            # Of all pairs f is subtracted, the kernel of predictions without a common class.
            p = view.rows(block)
            expected, apart = p.sum(axis=0), self._apart[:, None]
            both = (expected @ expected - np.vdot(p, p)) / 2.0
            kernels = pairs.agreeing[:, :N_KERNELS].T - apart * pairs.agreeing[:, N_KERNELS] + pairs.constants[:, None]
            others = (expected[entries.classes] - p[entries.rows, entries.classes]).astype(np.float32)
            pairs.smoothed[...] -= self._apart.astype(np.float32) * others[:, None]
            return kernels - apart * both, entries, pairs.smoothed

        blocks = blocks_of(view)
        made = threaded(of_block, blocks, len(blocks), "kernel", products=True, ahead=1)
        # Not by zip, which keeps the tables of a block until the next ones are made.
        for block in blocks:
            self._add_block(total, view, block, *next(made))
        return total

    def _add_block(
        self, total: ClassSums, view: ClassView, block: IntArray, kernels: FloatArray, entries: Entries, smoothed: Array
    ) -> None:
        total.kernels[:] += kernels
        self._add(total, view, block, entries, smoothed)

    def values(self, sums: ClassSums) -> FloatArray:
        values = np.empty((self._n_values, sums.kernels.shape[1]))
        self._write_values(sums, values)
        return values

    def _write_values(self, sums: ClassSums, values: FloatArray) -> None:
        """Write the numbers (J, B), which are many, for some of the columns at a time."""
        for part in ranges(values.shape[1], AT_ONCE):
            self._write_columns(sums.of_columns(part), values[:, part])

    def _write_columns(self, sums: ClassSums, values: FloatArray) -> None:
        n, by_label = sums.n, sums.labels.T
        kernels = sums.kernels - by_label[SMOOTHED]
        if self.in_blocks:
            residuals = np.square(sums.by_class[:, :, -1] - sums.expected[:, None], dtype=np.float64).sum(axis=0)
            kernels += self._apart[:, None] * (residuals - (n - 2.0 * by_label[1] + sums.squares)) / 2.0
        log_loss, brier = -(by_label[0] + sums.entropy) / n, 2.0 * (sums.squares - by_label[1]) / n
        seen: Seen = SumsSeen(self.faults.view, sums)
        first = N_KERNELS + 3
        values[:N_KERNELS] = kernels[ORDER] * (2.0 / (n * (n - 1.0)))
        values[N_KERNELS:first] = log_loss, brier, self._likelihood_ratios(sums)
        for rows in self.faults.compared:
            values[first : first + rows.n_rows] = rows.rows(seen)
            first += rows.n_rows

    @property
    def _n_values(self) -> int:
        return N_KERNELS + 3 + sum(rows.n_rows for rows in self.faults.compared)

    def _likelihood_ratios(self, sums: ClassSums) -> FloatArray:
        """``log E``, (B,), for some columns at a time."""
        by_label = sums.labels.T[LOGS]
        weights, parts = alternatives.weights_of_members(len(sums.expected)), []
        for part in ranges(by_label.shape[1], COLUMNS):
            gains = sums.by_class[:, part, :-1].transpose(2, 0, 1).astype(np.float64)
            parts.append(
                log_mixture(alternatives.ratios_from(by_label[:, part], gains, sums.log_norms, sums.n), weights)
            )
        return np.concatenate(parts)

    def lists_are_faster(self, n_columns: int) -> bool:
        """Whether sums over lists of labels that differ from the most probable ones take less time for all pairs.

        They do where a class dominates, and nearly all pairs have equal labels.
        """
        view, pairs = self.faults.view, n_columns * self.faults.view.n**2 / 2.0
        if view.k > MOST:
            return False
        certain = view.confidence > 0.5
        listed = view.expected + np.bincount(view.top[certain], 1.0 - 2.0 * view.confidence[certain], minlength=view.k)
        seconds = LISTED * pairs * float(listed @ listed) / view.n**2 + PRODUCT * view.n**2 * view.k
        return bool(PAIR * pairs * float(view.expected @ view.expected) / view.n**2 > seconds)

    def _view(self, predictions: FinitePredictions) -> ClassView:
        view = self.faults.view
        return view if view.law is predictions else ClassView(predictions, None, view.chosen)

    def _add(self, total: ClassSums, view: ClassView, rows: IntArray, entries: Entries, smoothed: Array) -> None:
        """Add the numbers of the labels of some rows, of which the smoothed probabilities are given, (E, 5)."""

        def of_part(part: slice) -> Callable[[], None]:
            some, places = entries.part(part)
            return self._adder(total, view, rows[part], some, smoothed[places])

        parts = list(ranges(rows.size, ROWS))
        for add in threaded(of_part, parts, len(parts), "labels", work=50.0 * entries.codes.size, ahead=1):
            add()

    def _adder(
        self, total: ClassSums, view: ClassView, rows: IntArray, entries: Entries, smoothed: Array
    ) -> Callable[[], None]:
        """What adds the numbers of the entries of some rows, in threads that have some of the columns each."""
        of_rows, classes, codes, starts = rows[entries.rows], entries.classes, entries.codes, entries.starts
        p = view.stored[of_rows, classes] / view.totals[of_rows]
        logs, *noisy = alternatives.label_terms(p, view.k)
        hits = np.asarray(view.top[of_rows] == classes, dtype=np.float64)
        of_classes = np.ones((len(entries), len(alternatives.SHARES) + 1), dtype=np.float32)
        of_classes[:, :-1] = alternatives.gains_of_class(p)
        of_labels = np.column_stack([logs, p, *noisy, smoothed])
        hits_and_logs = np.column_stack([hits, logs])
        places = np.append(np.arange(view.chosen.size), -1)[view.places]
        of_entries, groups, together = places[classes], places[view.top[rows]], np.zeros(rows.size, dtype=np.intp)
        chosen, ranks = np.maximum(view.of_chosen[rows], PAIR_FLOOR), view.own_groups[rows]
        of_hits = ranks[:, -1].astype(np.intp)

        def add(part: slice) -> None:
            columns = part.start, part.stop
            add_by_group(codes, starts, together, of_labels, *columns, total.labels[None])
            add_by_class(codes, starts, classes, of_classes, *columns, total.by_class)
            add_by_group(codes, starts, groups, hits_and_logs, *columns, total.tops)
            add_by_group(codes, starts, of_hits, hits[:, None], *columns, total.hits)
            work = np.empty((view.chosen.size, 3 * view.chosen.size))
            add_of_chosen(codes, starts, of_entries, chosen, ranks, GROUPS, PAIR_SHARE, *columns, work, total.chosen)

        def add_all() -> None:
            parts = list(ranges(codes.shape[1], -(-codes.shape[1] // min(SLICES, n_threads()))))
            for _ in threaded(add, parts, len(parts), "labels", work=50.0 * codes.size):
                pass

        return add_all


@kept
def _constants(view: ClassView) -> tuple[float, float, FloatArray]:
    """``sum p log p``, ``sum_i |p_i|**2`` and log norms of all temperatures."""

    def of_part(part: slice) -> tuple[float, float, FloatArray]:
        p = view.rows(part)
        norms = log_norms_of(p, 1.0 / np.array(alternatives.TEMPERATURES)).sum(axis=1)
        return float(np.vdot(p, np.log(np.maximum(p, FLOOR)))), float(np.vdot(p, p)), norms

    parts = list(ranges(view.n, max(1, alternatives.PROBABILITIES_AT_ONCE // view.k)))
    made = threaded(of_part, parts, len(parts), "likelihood")
    logs, squares, norms = (np.sum(list(one), axis=0) for one in zip(*made, strict=True))
    return float(logs), float(squares), norms


def are_read_in_blocks(data: Any) -> bool:
    """Whether data are a matrix of scipy.sparse of which only blocks of rows are compared."""
    shape: tuple[int, ...] = data.shape if hasattr(type(data), "tocsr") else ()
    return len(shape) == 2 and shape[0] > ALL_PAIRS and shape[1] >= MANY


def blocks_of(view: ClassView) -> list[IntArray]:
    """Rows in the order of their two most probable classes, in blocks of up to 1000, or less if few classes occur."""
    second = np.empty(view.n, dtype=np.intp)
    for part in view.parts:
        p = view.rows(part)
        p[np.arange(len(p)), view.top[part]] = -1.0
        second[part] = p.argmax(axis=1)
    order = np.lexsort((second, view.top))
    blocks = [order[part] for part in ranges(view.n, LARGEST_BLOCK)]
    means = (view.rows(block).mean(axis=0) for block in blocks)
    agreeing = LARGEST_BLOCK / 2.0 * float(np.mean([mean @ mean for mean in means]))
    size = int(np.clip(LARGEST_BLOCK * AGREEING / agreeing, SMALLEST_BLOCK, LARGEST_BLOCK))
    return blocks if size == LARGEST_BLOCK else [order[part] for part in ranges(view.n, size)]


def many_classes(
    kernel: ProductKernel,
    predictions: Predictions,
    faults: Faults | None,
    weights: FloatArray | None,
    in_blocks: bool = False,
) -> ManyClasses | None:
    """The sums for predictions of many classes and a kernel of their total variation distance; None for others."""
    law, bandwidth = predictions.finite, kernel.total_variation_bandwidth
    if law is None or weights is not None or not isinstance(faults, ClassFaults):
        return None
    if bandwidth is None or bandwidth < LEAST_BANDWIDTH:
        return None
    is_small = law.n_classes <= MOST and law.n_classes * len(law) < WORTH and not in_blocks
    if not faults.are_sums or law.n_classes < MANY or is_small:
        return None
    return ManyClasses(bandwidth, faults, in_blocks or len(law) > ALL_PAIRS)
