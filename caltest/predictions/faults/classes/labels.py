"""What faults of classes see of predictions and labels."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from caltest._basics.numerics import Array, FloatArray, IntArray
from caltest._loops.pair_sums.redraws import changes_by_class
from caltest.predictions.classes.finite import FinitePredictions
from caltest.predictions.faults.fault import Fault, Faults, weights_or_ones

MOST_CLASSES = 32
"""Classes with rows of their own beside their totals, and that are compared in pairs: those predicted most often."""

FLOOR = 1e-300
"""Smallest probability in ratios and logarithms."""


class ClassView:
    """What the faults of classes see of n predictions and weights."""

    def __init__(self, law: FinitePredictions, weights: FloatArray | None) -> None:
        self.law, self.weights = law, weights_or_ones(weights, len(law))
        # Rows that sum to 1 only up to the rounding of single precision would add up over many observations.
        self.p = np.ascontiguousarray(law.probabilities / law.probabilities.sum(axis=1, keepdims=True))
        self.n, self.k = self.p.shape
        self.expected = self.weights @ self.p
        self.top = self.p.argmax(axis=1)
        self.confidence = self.p[np.arange(self.n), self.top]
        frequent = np.argsort(-self.expected, kind="stable")[:MOST_CLASSES]
        self.chosen: IntArray = np.sort(frequent)

    @cached_property
    def logs(self) -> FloatArray:
        """Logarithms of the probabilities, (n, k)."""
        return np.asarray(np.log(np.maximum(self.p, FLOOR)))

    @cached_property
    def bases(self) -> IntArray:
        """No outcome that redraws are compared with."""
        return np.full(self.n, -1)

    def named(self, c: int) -> str:
        """A class in words."""
        return self.law.outcome_in_words(c)


@dataclass
class Labels:
    """Labels (B, n), of one or two bytes each."""

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
    def probabilities(self) -> FloatArray:
        """Those of the labels, (n,)."""
        return np.asarray(np.maximum(self.view.p[np.arange(self.view.n), self.first], FLOOR))

    @cached_property
    def hits(self) -> FloatArray:
        """1 where the most probable class occurs, (B, n)."""
        return np.asarray(self.labels == self.view.top.astype(self.labels.dtype), dtype=np.float64)

    @cached_property
    def places(self) -> Array:
        """Labels (B, n) as places among the chosen classes, the last of which is all others."""
        view = self.view
        table = np.full(view.k, view.chosen.size, dtype=np.uint8)
        table[view.chosen] = np.arange(view.chosen.size)
        return table[self.labels]

    @cached_property
    def totals(self) -> FloatArray:
        """Weight of each class, (k, B)."""
        view = self.view
        return changes_by_class(view.weights[:, None], view.bases, self.labels, view.k)[:, :, 0].T

    @cached_property
    def sums(self) -> FloatArray:
        """``M[b, c, a]``: sum of the probabilities of class a over observations of class c, for chosen classes."""
        view, size = self.view, self.view.chosen.size
        features = np.ascontiguousarray(view.p[:, view.chosen] * view.weights[:, None])
        return changes_by_class(features, view.bases, self.places, size + 1)[:, :size]


class LabelFaults(Faults):
    """Faults that see labels."""

    at_once = 2**21
    view: ClassView

    def seen(self, targets: Array) -> Labels:
        return Labels(self.view, np.ascontiguousarray(targets, dtype=self.view.law.label_type))


class ClassFault(Fault[Labels]):
    """A fault of the classes of a view."""

    def __init__(self, view: ClassView) -> None:
        self.view = view


def remaining(weight: float, t: float) -> float:
    """``weight log(1 - t)``, 0 without weight."""
    return float(weight * np.log1p(-t)) if weight > 0.0 else 0.0


def gather(values: FloatArray, labels: Array) -> FloatArray:
    """``values[i, labels[b, i]]``, (B, n)."""
    return np.asarray(values[np.arange(labels.shape[1]), labels])
