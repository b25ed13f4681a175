"""What faults of counts see of predictions and targets."""

from dataclasses import dataclass
from functools import cached_property
from math import frexp

import numpy as np

from caltest._basics.numerics import Array, BoolArray, FloatArray, IntArray, ranges
from caltest._loops.formulas.counts import chebyshev_moments
from caltest.predictions.counts.law import PART, CountPredictions
from caltest.predictions.faults.fault import cosines
from caltest.predictions.faults.numbers.scores import CLIPPED
from caltest.predictions.faults.values import SeesValues
from caltest.predictions.faults.waves import FASTEST, SLOW
from caltest.predictions.faults.words import instead
from caltest.predictions.reductions.standard_scores import in_units

NEVER = 1e-40
"""Probabilities that no sum over counts notices, tilted or not."""

WIDE = 5.0
"""Standard deviation beyond which sums over counts are those of polynomials: the same to all digits, in less time."""

END, DEGREES = 0.25, 24
"""Of the first panel of squared residuals, and of polynomials in it, a multiple of 4."""

_ANGLES = np.pi * (np.arange(DEGREES) + 0.5) / DEGREES
NODES = np.cos(_ANGLES)
TO_COEFFICIENTS = np.cos(_ANGLES[:, None] * np.arange(DEGREES)) * np.where(np.arange(DEGREES), 2.0, 1.0) / DEGREES
"""Chebyshev nodes, and what makes coefficients from values there."""


class CountView:
    """Means, standard deviations and probabilities of 0 of n predictions, and weights."""

    def __init__(
        self, law: CountPredictions, weights: FloatArray | None, among: CountPredictions | None = None
    ) -> None:
        self.law, self.weights = law, np.ones(len(law)) if weights is None else weights
        self.mean, self.deviation = law.mean, np.sqrt(law.variance)
        with np.errstate(under="ignore"):
            self.zero = np.exp(law.log_probabilities(np.zeros(1))[..., 0])
        means, w = (self.mean, self.weights * self.mean) if among is None else (among.mean, among.mean)
        waves = cosines(self.mean, FASTEST, among=means) * self.weights
        self.features, self.fast = np.concatenate([self.weights[None], waves[:SLOW]]), waves[SLOW:]
        middle = (w @ _log(means)) / max(float(w.sum()), 1e-300)
        self.log_mean = np.where(self.mean > 0.0, _log(self.mean) - middle, 0.0)

    def squares(self, counts: Array) -> FloatArray:
        """Squared residuals of counts (n, 1) or (1, U)."""
        return in_units(np.square(counts - self.mean[:, None]), np.square(self.deviation)[:, None])

    @cached_property
    def _is_wide(self) -> BoolArray:
        return self.deviation > WIDE

    @cached_property
    def _table(self) -> tuple[FloatArray, FloatArray, IntArray]:
        """Probabilities (m,) of the counts that narrow laws may have, their squared residuals, and starts (n,)."""
        law, deviation = self.law.take(~self._is_wide), self.deviation[~self._is_wide]
        p = law.probability_vectors()
        rows, counts = np.nonzero(p > NEVER)
        squares = np.square(counts + law.window[0] - law.mean[rows])
        return p[rows, counts], in_units(squares, np.square(deviation)[rows]), np.searchsorted(rows, range(len(p)))

    @cached_property
    def _moments(self) -> FloatArray:
        """Chebyshev moments (n, panels, K) of the squared residuals of wide laws."""
        law = self.law.take(self._is_wide)
        first, stop = law.window
        precisions = 1.0 / law.variance
        largest = float((np.maximum(stop - law.mean, law.mean - first) ** 2 * precisions).max())
        moments = np.zeros((len(law), max(frexp(largest / END)[1], 0) + 1, DEGREES))
        ends = _ends(moments)
        for part in ranges(len(law), PART // (stop - first)):
            some = law.take(part)
            p = some.probability_vectors()
            chebyshev_moments(p, some.mean, precisions[part], some.window[0], NEVER, ends, moments[part])
        used = np.flatnonzero(moments[:, :, 0].any(axis=0))
        return np.ascontiguousarray(moments[:, : used[-1] + 1])

    def tilted(self, t: float) -> tuple[FloatArray, FloatArray]:
        """Sums of the probabilities times exp(-t r) of squared residuals r, and of these times r, (n,).

        Of wide laws from polynomials that are as good as exp(-t r) to rounding.
        """
        norms, sums = np.empty((2, len(self.mean)))
        if not self._is_wide.all():
            p, squares, starts = self._table
            tilted = p * np.exp(-t * squares)
            narrow = ~self._is_wide
            norms[narrow], sums[narrow] = (np.add.reduceat(one, starts) for one in (tilted, tilted * squares))
        if self._is_wide.any():
            moments = self._moments
            ends = _ends(moments)
            starts = np.where(ends > END, ends / 2.0, 0.0)
            r = (starts + ends)[:, None] / 2.0 + (ends - starts)[:, None] / 2.0 * NODES
            functions = np.exp(-t * r) * np.stack([np.ones(r.shape), r])
            both = moments.reshape(len(moments), -1) @ (functions @ TO_COEFFICIENTS).reshape(2, -1).T
            norms[self._is_wide], sums[self._is_wide] = both.T
        return np.maximum(norms, 1e-300), sums


def _ends(moments: FloatArray) -> FloatArray:
    """Of the panels of squared residuals."""
    return np.asarray(END * 2.0 ** np.arange(moments.shape[1]))


def _log(means: FloatArray) -> FloatArray:
    return np.asarray(np.log(np.where(means > 0.0, means, 1.0)))


@dataclass
class Counts(SeesValues):
    """Counts (B, n)."""

    view: CountView
    targets: Array

    def __post_init__(self) -> None:
        self.law, self.weights = self.view.law, self.view.weights

    @cached_property
    def differences(self) -> FloatArray:
        """``y - m``, (B, n)."""
        return np.asarray(self.targets - self.view.mean)

    @cached_property
    def residuals(self) -> FloatArray:
        """In predicted standard deviations, for the rows."""
        return np.clip(in_units(self.differences, self.view.deviation), -CLIPPED, CLIPPED)

    @cached_property
    def squares(self) -> FloatArray:
        """Their squares."""
        return np.square(self.residuals)

    @cached_property
    def is_zero(self) -> FloatArray:
        """1 where the count is 0."""
        return np.asarray(self.targets == 0, dtype=np.float64)

    def zeros_in_words(self, some: BoolArray | slice = slice(None)) -> str:
        """How many of the first targets, or of some of them, are 0, and how many should be."""
        weights = self.view.weights[some]
        found, expected = (float(one[some] @ weights) for one in (self.is_zero[0], self.view.zero))
        return instead(found, expected, weights)

    @cached_property
    def first(self) -> Array:
        """Counts (n,) of the first targets."""
        return np.asarray(self.targets[0].astype(np.int64))

    @cached_property
    def log_probabilities(self) -> FloatArray:
        """Those of the first targets."""
        return self.view.law.log_density(self.first)

    def log_ratio(self, law: CountPredictions | None) -> FloatArray:
        """``log Q(y) / P(y)`` of the first targets, (n,)."""
        assert law is not None
        return law.log_density(self.first) - self.log_probabilities
