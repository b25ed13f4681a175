"""Counts: other means and dispersions."""

import numpy as np

from caltest._basics.numerics import ranges
from caltest._basics.types import Array, FloatArray
from caltest._loops.pair_sums.redraws import gathered_tables
from caltest.predictions.alternatives.base import Alternatives
from caltest.predictions.counts.law import CountPredictions

FACTORS = (0.6, 0.7, 0.8, 0.9, 1.1, 1.25, 1.5, 2.0)
"""Ratios of means of counts."""

DISPERSIONS = (0.01, 0.03, 0.1, 0.3, 1.0)
"""Dispersions of negative binomial counts whose prediction is Poisson."""

SIZES = (0.2, 0.5, 0.8, 1.25, 2.0, 5.0)
"""Ratios of dispersions of negative binomial counts."""

TABLE = 2**22
"""Numbers in the tables of the counts of some predictions."""


class CountAlternatives(Alternatives):
    """Other means, half of the weight, and other dispersions, of a family that knows these."""

    def __init__(self, law: CountPredictions, weights: FloatArray | None = None) -> None:
        self._law, self._row_weights = law, weights
        own = law.dispersion
        dispersions = [np.full(len(law), a) for a in DISPERSIONS] if own is None else [a * own for a in SIZES]
        laws = [law.with_mean(factor * law.mean) for factor in FACTORS]
        laws += [law.with_dispersion(dispersion) for dispersion in dispersions]
        self._laws = tuple(one for one in laws if one is not None)
        halves = (len(FACTORS), len(dispersions))
        self.weights = np.concatenate([np.full(size, 0.5 / size) for size in halves])

    def log_ratios(self, targets: Array) -> FloatArray:
        """Sums of table entries, for some of the predictions at a time."""
        counts, places = np.unique(targets, return_inverse=True)
        labels = places.reshape(targets.shape).astype(np.min_scalar_type(counts.size))
        sums = np.zeros((targets.shape[0], len(self._laws)))
        values = counts.astype(np.float64)
        for part in ranges(targets.shape[1], max(1, TABLE // (counts.size * len(self._laws)))):
            sums += gathered_tables(self._tables(part, values), np.ascontiguousarray(labels[:, part]))
        return sums.T

    def log_ratio_terms(self, targets: Array) -> FloatArray:
        """Entries of the tables, for some of the predictions at a time."""
        counts, labels = np.unique(targets, return_inverse=True)
        values = counts.astype(np.float64)
        parts = list(ranges(labels.size, max(1, TABLE // (counts.size * len(self._laws)))))
        rows = [self._tables(part, values)[np.arange(part.stop - part.start), labels[part]] for part in parts]
        return np.concatenate(rows).T

    def _tables(self, part: slice, counts: FloatArray) -> FloatArray:
        """``log(Q / P)`` of counts (U,), (n, U, K); 0 where both are 0."""
        logs = self._law.take(part).log_probabilities(counts)
        tables = np.zeros((*logs.shape, len(self._laws)))
        possible = logs > -np.inf
        for member, law in enumerate(self._laws):
            np.subtract(law.take(part).log_probabilities(counts), logs, out=tables[..., member], where=possible)
        if self._row_weights is not None:
            tables *= self._row_weights[part, None, None]
        return tables

    def sample(self, member: int, rng: np.random.Generator, size: int) -> Array:
        """Counts (size, n)."""
        return self._laws[member].sample(rng, size)
