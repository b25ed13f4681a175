"""Ranks of the truth among its draws, their distribution function, and what redraws of the truth make of it."""

from dataclasses import dataclass
from math import ceil

import numpy as np

from caltest._basics.numerics import FloatArray, IntArray

POINTS = 100
"""Ranks, at most, at which distribution functions are compared."""


@dataclass(frozen=True)
class RankLaw:
    """The law of how many of n ranks, uniform on 0 to m, are below each of some ``points`` (L,), ranks k.

    On average it is the share ``k / (m + 1)`` of them. ``surprises`` (L, n + 1) are
    ``-log(2 min(P(X <= x), P(X >= x)))`` for X binomial with n and the share, at least 0.
    """

    points: IntArray
    shares: FloatArray
    surprises: FloatArray

    @classmethod
    def of(cls, n: int, m: int) -> "RankLaw":
        """The law for n simulations of m draws."""
        from scipy.special import bdtr

        points = np.unique(np.linspace(1, m, min(m, POINTS)).round().astype(np.intp))
        shares = points / (m + 1.0)
        x = np.arange(n + 1.0)
        below = bdtr(x, n, shares[:, None])
        # P(X >= x) is the probability that the n - X others are at most n - x: no cancellation.
        above = bdtr(n - x, n, 1.0 - shares[:, None])
        tails = np.clip(2.0 * np.minimum(below, above), 1e-300, 1.0)
        return cls(points, shares, -np.log(tails))

    def counts(self, ranks: IntArray) -> IntArray:
        """(L, B) how many of ranks (n, B) are below each point."""
        n_points, size = self.points.size, ranks.shape[1]
        cells = np.searchsorted(self.points, ranks, side="right") * size + np.arange(size)
        table = np.bincount(cells.ravel(), minlength=(n_points + 1) * size).reshape(n_points + 1, size)
        counts: IntArray = np.cumsum(table, axis=0)[:-1]
        return counts

    def statistics(self, ranks: IntArray) -> FloatArray:
        """(B,) the largest surprise over all points."""
        counts = self.counts(ranks)
        return np.asarray(np.take_along_axis(self.surprises, counts, axis=1).max(axis=0))

    def band(self, maxima: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        """Shares (L,) between which all curves stay with the level, from observed and redrawn maxima (B + 1,)."""
        critical = np.sort(maxima)[ceil(level * maxima.size - 1e-9) - 1]
        inside = self.surprises <= critical
        n = inside.shape[1] - 1
        return inside.argmax(axis=1) / n, (n - inside[:, ::-1].argmax(axis=1)) / n


def ranks_of(pools: FloatArray, rng: np.random.Generator) -> IntArray:
    """(n, m + 1) the rank of each value of pools (n, m + 1), from 0 on, equal ones in random order."""
    order = np.lexsort((rng.random(pools.shape), pools), axis=1)
    return np.asarray(np.argsort(order, axis=1))


def chosen(ranks: IntArray, choices: IntArray) -> IntArray:
    """(n, B + 1) ranks of the truth, the last value of pools, and of redrawn ones (n, B)."""
    return np.concatenate([ranks[:, -1:], np.take_along_axis(ranks, choices, axis=1)], axis=1)


def normal_scores(pools: FloatArray) -> FloatArray:
    """Pools (n, m + 1, d) with each parameter as normal quantiles of its ranks, the mean of those of equal values."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    return np.asarray(ndtri((rankdata(pools, axis=1) - 0.5) / pools.shape[1]))


def shape_of(ranks: IntArray, m: int) -> tuple[float, float]:
    """Linear and quadratic contrast of ranks (n,) on 0 to m, in standard deviations; 0 where there is none."""
    u = (2.0 * ranks - m) / (m + 1.0)
    variance = m * (m + 2.0) / (3.0 * (m + 1.0) ** 2)
    every = np.square((2.0 * np.arange(m + 1) - m) / (m + 1.0))
    spread = every.std()
    quadratic = (np.square(u) - every.mean()).sum() / (spread * np.sqrt(u.size)) if spread > 1e-12 else 0.0
    return float(u.sum() / np.sqrt(variance * u.size)), float(quadratic)
