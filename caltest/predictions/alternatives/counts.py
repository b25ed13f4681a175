"""Counts: other means and dispersions."""

import numpy as np

from caltest._basics.numerics import ranges
from caltest._basics.types import Array, FloatArray
from caltest._loops.pair_sums.redraws import gathered_tables
from caltest.predictions.alternatives.base import Alternative, Alternatives
from caltest.predictions.counts import CountPredictions, NegativeBinomial, Poisson

FACTORS = (0.6, 0.7, 0.8, 0.9, 1.1, 1.25, 1.5, 2.0)
"""Ratios of means of counts."""

DISPERSIONS = (0.01, 0.03, 0.1, 0.3, 1.0)
"""Dispersions of negative binomial counts whose prediction is Poisson."""

SIZES = (0.2, 0.5, 0.8, 1.25, 2.0, 5.0)
"""Ratios of dispersions of negative binomial counts."""

TABLE = 2**22
"""Numbers in the tables of the counts of some predictions."""


class CountAlternatives(Alternatives):
    """Other means, half of the weight, and other dispersions."""

    def __init__(self, law: CountPredictions, weights: FloatArray | None = None) -> None:
        self._law, self._weights = law, weights
        mean, size = law.mean, law.size if isinstance(law, NegativeBinomial) else None
        laws: list[CountPredictions] = []
        members = []
        for factor in FACTORS:
            laws.append(
                Poisson(factor * mean) if size is None else NegativeBinomial.from_mean(factor * mean, 1.0 / size)
            )
            side = "more" if factor > 1.0 else "less"
            finding = f"counts are {side} than predicted: {factor:.2g} times as many"
            members.append(Alternative(0.5 / len(FACTORS), finding))
        spreads = DISPERSIONS if size is None else SIZES
        for spread in spreads:
            dispersion = np.full(len(law), spread) if size is None else spread / size
            laws.append(NegativeBinomial.from_mean(mean, dispersion))
            wrong = "too narrow" if size is None or spread > 1.0 else "too wide"
            how = f"the dispersion is {spread:.2g}" + ("" if size is None else " times that predicted")
            members.append(Alternative(0.5 / len(spreads), f"predictions are {wrong}: {how}"))
        self._laws, self.members = tuple(laws), tuple(members)

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
        if self._weights is not None:
            tables *= self._weights[part, None, None]
        return tables

    def sample(self, member: int, rng: np.random.Generator, size: int) -> Array:
        """Counts (size, n)."""
        return self._laws[member].sample(rng, size)
