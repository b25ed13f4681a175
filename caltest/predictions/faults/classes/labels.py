"""What faults of classes see of predictions and labels."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol, Self

import numpy as np

from caltest._basics.numerics import Array, BoolArray, FloatArray, IntArray, normalised, ranges
from caltest._basics.threads import threaded
from caltest._loops.pair_sums.redraws import counts_by_own_group, features_by_class, sums_by_group, tables_by_label
from caltest.predictions.classes.finite import FinitePredictions
from caltest.predictions.faults.fault import GROUPS, Fault, Faults, group_edges, rank_groups

CORRECTED = 2**22
"""Probabilities that are changed by a fault, to see what else is wrong."""

NODES = 32
"""Temperatures between whose logarithms sums of powers are interpolated."""

MOST_CLASSES = 32
"""Classes with rows of their own beside their totals, and that are compared in pairs: those predicted most often."""

FLOOR, SMALLEST = 1e-300, 1e-30
"""Smallest probability in ratios and logarithms, and in logarithms of single precision."""

PAIR_SHARE, PAIR_FLOOR = 0.2, 1e-12
"""Share of leaks and swaps in the likelihood of pairs, and the smallest probability there."""

TABLE = 2**20
"""Probabilities, or numbers in tables of some of the predictions, that are computed together."""

MANY, LARGE = 33, 2**18
"""Classes, and probabilities in all, from which on sums of their powers are interpolated between a few exponents."""


class ClassView:
    """What the faults of classes see of n predictions and weights: of many classes no array of all probabilities."""

    chosen: IntArray
    """Classes with rows of their own."""

    def __init__(
        self,
        law: FinitePredictions,
        weights: FloatArray | None,
        chosen: IntArray | None = None,
        sizes: FloatArray | None = None,
        among: "ClassView | None" = None,
        stored: Array | None = None,
        origin: "ClassView | None" = None,
    ) -> None:
        self.origin = origin or self
        """What the users' predictions look like, in whose terms places are named if these are corrected ones."""
        self.law, self.sizes, self.among = law, sizes, among
        self.weights = np.ones(len(law)) if weights is None else weights
        if among is not None:
            chosen = among.chosen
        self.stored = law.stored if stored is None else stored
        self.n, self.k = self.stored.shape
        self.totals, self.top = np.empty(self.n), np.empty(self.n, dtype=np.intp)
        self.confidence, self.expected = np.empty(self.n), np.zeros(self.k)
        for part in self.parts:
            self.totals[part] = self.stored[part].sum(axis=1, dtype=np.float64)
            p = self.rows(part)
            self.expected += (self.weights[part] if sizes is None else sizes[part]) @ p
            self.top[part] = p.argmax(axis=1)
            self.confidence[part] = p[np.arange(len(p)), self.top[part]]
        if chosen is None:
            chosen = np.sort(np.argsort(-self.expected, kind="stable")[:MOST_CLASSES])
        self.chosen = chosen
        self._columns: dict[int, FloatArray] = {}

    @property
    def parts(self) -> list[slice]:
        """Rows whose probabilities are computed together."""
        return list(ranges(self.n, TABLE // self.k))

    def corrected(self, stored: FloatArray) -> Self:
        """With other probabilities of the predictions, in the terms of these."""
        return type(self)(self.law, self.weights, self.chosen, stored=stored, origin=self.origin)

    def choosing(self, chosen: IntArray) -> Self:
        """The same predictions with other chosen classes, in whose terms places are named, too."""
        view = copy(self)
        for known in ("of_chosen", "places", "edges", "own_groups", "_pairs"):
            vars(view).pop(known, None)
        view.origin, view.chosen = view, chosen
        return view

    def rows(self, rows: slice | IntArray) -> FloatArray:
        """Probabilities of some rows, (r, k).

        Rows that sum to 1 only up to the rounding of single precision would add up over many observations.
        """
        return np.asarray(self.stored[rows] / self.totals[rows, None])

    def column(self, c: int) -> FloatArray:
        """Probabilities of a class, (n,), of which some are kept, or for c = k of the most probable one of each."""
        if c == self.k:
            return self.confidence
        if c not in self._columns:
            if len(self._columns) >= MOST_CLASSES:
                self._columns.clear()
            self._columns[c] = self.stored[:, c] / self.totals
        return self._columns[c]

    def at(self, labels: IntArray) -> FloatArray:
        """Probability of a class of each prediction, (n,)."""
        return np.asarray(self.stored[np.arange(self.n), labels] / self.totals)

    @cached_property
    def p(self) -> FloatArray:
        """All probabilities, (n, k)."""
        return np.ascontiguousarray(self.rows(slice(None)))

    @cached_property
    def of_chosen(self) -> FloatArray:
        """Probabilities of the chosen classes, (n, S)."""
        return np.asarray(self.stored[:, self.chosen] / self.totals[:, None])

    def pair_tables(self) -> Iterator[tuple[slice, FloatArray]]:
        """Rows, and what they gain by leaks and swaps of the chosen classes, (r, S + 1, S, 2): kept if in one part."""
        parts = list(ranges(self.n, TABLE // (2 * self.chosen.size**2)))
        for part in parts:
            yield part, self._pairs if len(parts) == 1 else self._pairs_of(part)

    @cached_property
    def _pairs(self) -> FloatArray:
        return self._pairs_of(slice(None))

    def _pairs_of(self, rows: slice) -> FloatArray:
        p = np.maximum(self.of_chosen[rows], PAIR_FLOOR)
        ratios = p[:, None, :] / p[:, :, None]
        tables = np.zeros((len(p), self.chosen.size + 1, self.chosen.size, 2))
        tables[:, :-1, :, 0] = np.log1p(PAIR_SHARE * ratios)
        tables[:, :-1, :, 1] = np.log1p(PAIR_SHARE * (ratios - 1.0))
        tables *= self.weights[rows, None, None, None]
        return tables

    @property
    def claims(self) -> FloatArray:
        """These, and the probability of the most probable class, (n, S + 1)."""
        return np.column_stack([self.of_chosen, self.confidence])

    @cached_property
    def edges(self) -> FloatArray:
        """Where the groups of ranks of these end, (S + 1, 63)."""
        return group_edges((self.among or self).claims)

    @cached_property
    def own_groups(self) -> Array:
        """Groups of the ranks of these, (n, S + 1)."""
        return rank_groups(self.claims, self.edges)

    @cached_property
    def places(self) -> IntArray:
        """Places of all classes among the chosen ones, (k,), the last of which is all others."""
        table = np.full(self.k, self.chosen.size)
        table[self.chosen] = np.arange(self.chosen.size)
        return table

    @cached_property
    def variances(self) -> FloatArray:
        """Variance of the weight of each class, (k,)."""
        total = np.zeros(self.k)
        for part in self.parts:
            p = self.rows(part)
            total += np.square(self.weights[part]) @ (p * (1.0 - p))
        return total

    def log_norms(self, rows: slice | IntArray) -> Callable[[float], float]:
        """``sum_i w_i log sum_c p_ic**exp(-t)`` of some rows, as a function of t."""
        weights = self.weights[rows]
        if self.k >= MANY and weights.size * self.k >= LARGE:
            # By a polynomial of t from -3 to 3: its error is below 1e-6 for each observation.
            points = np.polynomial.chebyshev.chebpts1(NODES)
            total = sum_of_log_norms(self, np.arange(self.n)[rows], np.exp(-3.0 * points))
            fitted = np.polynomial.Chebyshev(np.polynomial.chebyshev.chebfit(points, total, points.size - 1))
            return lambda t: float(fitted(t / 3.0))
        logs = np.log(np.maximum(self.rows(rows), FLOOR))

        def direct(t: float) -> float:
            powers = logs * np.exp(-t)
            largest = powers.max(axis=1)
            return float(weights @ (largest + np.log(np.exp(powers - largest[:, None]).sum(axis=1))))

        return direct

    def came(self, labels: Array, c: int) -> BoolArray:
        """Where labels (n,) are a class, or for c = k the most probable one."""
        return np.asarray(labels == (self.top if c == self.k else c))

    def named(self, c: int) -> str:
        """A class in words, or for c = k the most probable one."""
        return "the most probable class" if c == self.k else self.law.outcome_in_words(c)


def surprising(view: ClassView, labels: Array) -> IntArray:
    """Classes of labels (n,) with the largest log losses, those predicted instead, and then the most frequent ones."""
    excess, variances = np.zeros(view.k), np.full(view.k, FLOOR)
    for part in view.parts:
        p, w = view.rows(part).astype(np.float32), view.weights[part].astype(np.float32)
        losses = -np.log(np.maximum(p, np.float32(SMALLEST)))
        own = losses[np.arange(len(p)), labels[part]]
        excess += np.bincount(labels[part], w * own, minlength=view.k)
        p *= losses
        excess -= w @ p
        p *= losses
        variances += np.square(w) @ p
    chosen: list[int] = []
    for c in np.argsort(-excess / np.sqrt(variances), kind="stable")[: MOST_CLASSES // 4]:
        predicted = view.weights[labels == c] @ view.rows(np.flatnonzero(labels == c))
        predicted[c] = -1.0
        chosen += [int(c), int(predicted.argmax())]
    others = np.argsort(-view.expected, kind="stable")
    every = np.concatenate([np.array(chosen, dtype=np.intp), others])
    _, first = np.unique(every, return_index=True)
    return np.sort(every[np.sort(first)[:MOST_CLASSES]])


def log_norms_of(p: FloatArray, exponents: FloatArray) -> FloatArray:
    """``log sum_c p_ic**s`` of rows (r, k) for exponents s (S,), (S, r), with powers in single precision."""
    logs = np.log(np.maximum(p, FLOOR))
    largest, norms = logs.max(axis=1, keepdims=True), np.empty((exponents.size, len(p)))
    logs -= largest
    small = logs.astype(np.float32)
    powers = np.empty_like(small)
    for one, exponent in enumerate(exponents):
        np.multiply(small, np.float32(exponent), out=powers)
        np.exp(powers, out=powers)
        norms[one] = exponent * largest[:, 0] + np.log(powers.sum(axis=1, dtype=np.float32))
    return norms


def sum_of_log_norms(view: ClassView, rows: IntArray, exponents: FloatArray) -> FloatArray:
    """``sum_i w_i log sum_c p_ic**s`` over some rows for each of the exponents s."""

    def of_part(part: slice) -> FloatArray:
        return np.asarray(log_norms_of(view.rows(rows[part]), exponents) @ view.weights[rows[part]])

    parts = list(ranges(rows.size, TABLE // (4 * view.k)))
    return np.asarray(np.sum(list(threaded(of_part, parts, len(parts), "temperatures")), axis=0))


class Seen(Protocol):
    """What the rows of faults see of many redraws: sums over the observations, of labels, counts or sums of parts."""

    view: ClassView
    totals: FloatArray
    """Weight of each class, (k, B)."""
    top_sums: FloatArray
    """Hits, and then log losses, of the predictions of each chosen most probable class, (2 S, B)."""
    grouped: FloatArray
    """Weight of each chosen label, and of hits of the most probable class, in groups of the ranks of their probability,
    (B, S + 1, GROUPS).
    """
    sums: FloatArray
    """``M[b, c, a]``: probabilities of class a over observations of class c, chosen ones, (B, S, S)."""
    pair_logs: FloatArray
    """``L[b, c, a]``: over observations of class c what leaks from a, and swaps with it, gain, (B, S, S, 2)."""


@dataclass
class Labels:
    """Labels (B, n), of one or two bytes each, from which all follows that is ``Seen``."""

    view: ClassView
    labels: Array

    @cached_property
    def first(self) -> IntArray:
        """Labels (n,) of the first targets."""
        return np.asarray(self.labels[0].astype(np.intp))

    @cached_property
    def counts(self) -> FloatArray:
        """Weight of each class, (k,)."""
        return np.asarray(np.bincount(self.first, self.view.weights, minlength=self.view.k), dtype=np.float64)

    @cached_property
    def excess(self) -> FloatArray:
        """How much more often each class occurs than predicted, in standard errors, (k,)."""
        return np.asarray((self.counts - self.view.expected) / np.sqrt(np.maximum(self.view.variances, FLOOR)))

    @cached_property
    def probabilities(self) -> FloatArray:
        """Those of the labels, (n,)."""
        return np.asarray(np.maximum(self.view.at(self.first), FLOOR))

    @property
    def ones(self) -> FloatArray:
        """Where label 1 occurs, (B, n)."""
        return np.asarray(self.labels, dtype=np.float64)

    def ones_by_group(self, groups: IntArray, n_groups: int) -> FloatArray:
        """Weight of label 1 in each group of the predictions, (n_groups, B)."""
        return sums_by_group(np.outer(self.view.weights, [0.0, 1.0]), self.labels, groups, n_groups)

    @cached_property
    def places(self) -> Array:
        """Labels (B, n) as places among the chosen classes, the last of which is all others."""
        return self.view.places.astype(np.uint8)[self.labels]

    @cached_property
    def totals(self) -> FloatArray:
        """Weight of each class."""
        view = self.view
        return features_by_class(view.weights[:, None], self.labels, view.k)[:, :, 0].T

    @cached_property
    def top_sums(self) -> FloatArray:
        """Hits, and then log losses, by the most probable class."""
        view, size = self.view, self.view.chosen.size
        # Predictions of classes that are not chosen are counted together, and left out.
        groups, sums = view.places[view.top], np.zeros((2, size + 1, len(self.labels)))
        for part in view.parts:
            labels, weights = np.ascontiguousarray(self.labels[:, part]), view.weights[part, None]
            hits = (np.arange(view.k) == view.top[part, None]) * weights
            scores = np.log(np.maximum(view.rows(part), FLOOR)) * weights
            for one, table in enumerate((hits, scores)):
                sums[one] += sums_by_group(table, labels, groups[part], size + 1)
        return sums[:, :size].reshape(2 * size, -1)

    @cached_property
    def grouped(self) -> FloatArray:
        """Weights in groups of ranks."""
        view, groups = self.view, self.view.own_groups
        # Labels of all other classes are counted with those of hits, whose counts follow.
        sums = counts_by_own_group(groups, self.places, view.weights, GROUPS)
        hits = np.asarray(self.labels == view.top.astype(self.labels.dtype), dtype=np.uint8)
        sums[:, -1] = counts_by_own_group(np.repeat(groups[:, -1:], 2, axis=1), hits, view.weights, GROUPS)[:, 1]
        return sums

    @cached_property
    def sums(self) -> FloatArray:
        """Sums of probabilities."""
        view, size = self.view, self.view.chosen.size
        features = np.ascontiguousarray(view.of_chosen * view.weights[:, None])
        return features_by_class(features, self.places, size + 1)[:, :size]

    @cached_property
    def pair_logs(self) -> FloatArray:
        """Sums of what leaks and swaps gain."""
        size = self.view.chosen.size
        sums = np.zeros((len(self.labels), size, size, 2))
        for part, tables in self.view.pair_tables():
            labels = np.ascontiguousarray(self.places[:, part])
            sums += tables_by_label(tables.reshape(len(tables), size + 1, -1), labels)[:, :-1].reshape(sums.shape)
        return sums


class LabelFaults(Faults):
    """Faults that see labels."""

    at_once = 2**21
    view: ClassView
    are_sums: ClassVar[bool] = False
    """Whether all rows are functions of what ``Seen`` has, and the predictions can be cells of some sizes."""

    view_type: ClassVar[type[ClassView]] = ClassView

    def __init__(
        self,
        law: FinitePredictions,
        weights: FloatArray | None = None,
        sizes: FloatArray | None = None,
        *,
        among: FinitePredictions | None = None,
    ) -> None:
        """For cells of some sizes, or ranks among others, if any are given."""
        self.view = self.view_type(law, weights, sizes=sizes, among=None if among is None else ClassView(among, None))
        super().__init__(self.view.n, self.view.weights)
        self._fill()

    def _of(self, view: ClassView) -> Self:
        """The same of other probabilities or classes."""
        faults = copy(self)
        faults.view = view
        faults._fill()
        return faults

    @abstractmethod
    def _fill(self) -> None:
        """Set ``kinds`` and ``compared``."""

    def seen(self, targets: Array) -> Labels:
        return Labels(self.view, np.ascontiguousarray(targets, dtype=self.view.law.label_type))

    def after(self, seen: Labels, correction: FloatArray) -> tuple[Faults, Labels]:
        faults = self._of(self.view.corrected(correction))
        return faults, faults.seen(seen.labels[:1])

    def followed(self, seen: Labels) -> Faults:
        return self._with_following(seen.first)

    def to_name(self, targets: Array) -> Faults:
        """Of many classes those are compared in pairs, too, whose outcomes are surprising."""
        are_many = self.view.k > MOST_CLASSES
        faults = self._of(self.view.choosing(surprising(self.view, targets))) if are_many else self
        return faults._with_following(targets)


class ClassFault(Fault[Labels]):
    """A fault of the classes of a view."""

    def __init__(self, view: ClassView, n_siblings: int = 1) -> None:
        self.view, self.n_siblings = view, n_siblings

    def place(self, sibling: int) -> str:
        """The class, of faults with a sibling for each; empty for others."""
        return self.view.named(sibling) if self.n_siblings == self.view.k else ""

    def corrected(self, seen: Labels, sibling: int, t: float) -> FloatArray | None:
        """Probabilities (n, k), of not too many classes and predictions."""
        return normalised(self.law(seen, sibling, t)) if self.view.n * self.view.k <= CORRECTED else None

    @abstractmethod
    def law(self, seen: Labels, sibling: int, t: float) -> FloatArray:
        """Probabilities ``Q_t``, (n, k), or what is in proportion to them."""


class MixedLabels(ClassFault):
    """``Q = (1 - t) p + t m``: a share t of the labels is of another law m."""

    range = (0.0, 1.0)

    @abstractmethod
    def mixed(self, seen: Labels, sibling: int) -> FloatArray:
        """Probabilities m, (n, k), or (k,) that are the same for all."""

    def at_labels(self, seen: Labels, sibling: int) -> FloatArray:
        """Those of the labels, (n,)."""
        m = np.broadcast_to(self.mixed(seen, sibling), (self.view.n, self.view.k))
        return np.asarray(m[np.arange(self.view.n), seen.first])

    def log_ratio(self, seen: Labels, sibling: int, t: float) -> float:
        ratios = self.at_labels(seen, sibling) / seen.probabilities
        return float(self.view.weights @ np.log1p(t * (ratios - 1.0)))

    def law(self, seen: Labels, sibling: int, t: float) -> FloatArray:
        return np.asarray((1.0 - t) * self.view.p + t * self.mixed(seen, sibling))


class OddsFault(ClassFault):
    """``Q_c ~ p_c exp(t x)``: log odds of a class that are larger by t times a number x of each prediction."""

    def class_of(self, sibling: int) -> int:
        """The class c."""
        return sibling

    @abstractmethod
    def along(self, sibling: int) -> FloatArray | float:
        """The numbers x, (n,), or one for all."""

    def log_ratio(self, seen: Labels, sibling: int, t: float) -> float:
        c, x = self.class_of(sibling), t * self.along(sibling)
        came, p = self.view.came(seen.first, c), self.view.column(c)
        return float(self.view.weights @ (x * came - np.log1p(p * np.expm1(x))))

    def law(self, seen: Labels, sibling: int, t: float) -> FloatArray:
        c, q = self.class_of(sibling), np.array(self.view.p)
        q[np.arange(self.view.n), self.view.top if c == self.view.k else c] *= np.exp(t * self.along(sibling))
        return q


def remaining(weight: float, t: float) -> float:
    """``weight log(1 - t)``, 0 without weight."""
    return float(weight * np.log1p(-t)) if weight > 0.0 else 0.0
