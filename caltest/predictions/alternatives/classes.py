"""Classes: other temperatures, random labels, classes that are too frequent."""

import numpy as np

from caltest._basics.numerics import ranges
from caltest._basics.threads import threaded
from caltest._basics.types import Array, FloatArray
from caltest._loops.pair_sums.redraws import gathered_tables, tables_by_label
from caltest.predictions.alternatives.base import Alternatives
from caltest.predictions.classes.categorical import Categorical
from caltest.predictions.classes.finite import FinitePredictions

TEMPERATURES = (1 / 3, 1 / 2, 2 / 3, 0.8, 0.9, 1.1, 1.25, 1.5, 2.0, 3.0)
"""Exponents of the predicted probabilities are 1 / T: below 1 outcomes are less certain than predicted."""

SHARES = (0.02, 0.05, 0.1, 0.2, 0.4)
"""Parts of the observations that follow another distribution."""

SMALLEST, FARTHEST_LOG = 5e-324, 1e3
"""Predicted probabilities of 0 count as the first in logarithms, and no ratio exceeds the exponential of the second."""

LABELS_AT_ONCE = 2**18
"""Labels whose ratios are summed by a thread at a time."""


class ClassAlternatives(Alternatives):
    """Other temperatures, labels at random, and too many labels of one class: a third of the weight each."""

    def __init__(self, law: FinitePredictions, weights: FloatArray | None = None) -> None:
        # Rows that sum to 1 only up to the rounding of single precision would add up over many observations.
        self._p = np.ascontiguousarray(law.probabilities / law.probabilities.sum(axis=1, keepdims=True))
        self._label_type = law.label_type
        k = law.n_classes
        parts = (np.ones(len(TEMPERATURES)), np.ones(len(SHARES)), np.ones(len(SHARES) * k))
        self.weights = np.concatenate([part / (3.0 * part.size) for part in parts])
        self._tables = np.stack([self._table(member) for member in range(len(TEMPERATURES) + len(SHARES))], axis=-1)
        with np.errstate(over="ignore"):
            odds = (np.array(SHARES) / (1.0 - np.array(SHARES))) / np.maximum(self._p, SMALLEST)[..., None]
        self._gains = np.minimum(np.log1p(odds), FARTHEST_LOG)
        self._row_weights = np.ones(len(law)) if weights is None else weights
        if weights is not None:
            self._tables *= weights[:, None, None]
            self._gains *= weights[:, None, None]

    def _table(self, member: int) -> FloatArray:
        """``log(Q / P)`` of each outcome, (n, k); 0 where both are 0."""
        q, p = self._law(member), np.maximum(self._p, SMALLEST)
        return np.asarray(np.where(q > 0.0, np.log(np.maximum(q, SMALLEST)) - np.log(p), 0.0))

    def _law(self, member: int) -> FloatArray:
        """Probabilities Q of a member, (n, k)."""
        n_temperatures, k = len(TEMPERATURES), self._p.shape[1]
        if member < n_temperatures:
            with np.errstate(divide="ignore"):
                logs = np.log(self._p) / TEMPERATURES[member]
            logs -= logs.max(axis=1, keepdims=True)
            q = np.exp(logs)
            q /= q.sum(axis=1, keepdims=True)
            return np.asarray(q)
        member -= n_temperatures
        if member < len(SHARES):
            return np.asarray((1.0 - SHARES[member]) * self._p + SHARES[member] / k)
        share, c = SHARES[(member - len(SHARES)) // k], (member - len(SHARES)) % k
        q = (1.0 - share) * self._p
        q[:, c] += share
        return q

    def log_ratios(self, targets: Array) -> FloatArray:
        """Sums of table entries, of all tables at once; those of classes that are too frequent for all classes."""
        labels = np.ascontiguousarray(targets, dtype=self._label_type)
        n_redraws, n = labels.shape
        parts = list(ranges(n_redraws, max(1, LABELS_AT_ONCE // n)))
        sums = threaded(lambda part: self._sums(labels[part]), parts, len(parts), "likelihood", work=8.0 * labels.size)
        return np.concatenate(list(sums), axis=1)

    def log_ratio_terms(self, targets: Array) -> FloatArray:
        """Entries of the tables; of classes that are too frequent, gains of the observed class."""
        n, k = self._p.shape
        rows, labels = np.arange(n), np.asarray(targets)
        shifted = np.zeros((len(SHARES), k, n)) + np.log1p(-np.array(SHARES))[:, None, None] * self._row_weights
        shifted[:, labels, rows] += self._gains[rows, labels].T
        return np.concatenate([self._tables[rows, labels].T, shifted.reshape(-1, n)])

    def _sums(self, labels: Array) -> FloatArray:
        shifted = tables_by_label(self._gains, labels)
        shifted += self._row_weights.sum() * np.log1p(-np.array(SHARES))
        by_member = shifted.transpose(2, 1, 0).reshape(-1, labels.shape[0])
        return np.concatenate([gathered_tables(self._tables, labels).T, by_member])

    def sample(self, member: int, rng: np.random.Generator, size: int) -> Array:
        """Labels (size, n)."""
        return Categorical.borrowed(self._law(member), None).sample(rng, size)
