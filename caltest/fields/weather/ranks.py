"""Which of the m + 1 values of a date is the outcome: its rank, sums over dates, redrawn, and parts of their test."""

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple, Self

import numpy as np
import scipy

from caltest._basics.numerics import Array, BoolArray, FloatArray, IntArray, ranges

AT_ONCE = 2**21
"""Numbers in a table; results do not depend on it."""

Table = Callable[[IntArray], FloatArray]
"""For dates (t,) what each adds to q sums, (t, m + 1, q), if one of its values or another is the outcome."""


class Exchanged(NamedTuple):
    """Sums over dates of what is observed, and what they are if any of the m + 1 values could be the outcome.

    Sums (q,) that are ``observed``, ``draws`` (B, q) of outcomes that are redrawn, one value of each date for all
    stations, and over all redraws those ``expected`` (q,) and their ``covariance`` (q, q).
    """

    observed: FloatArray
    draws: FloatArray
    expected: FloatArray
    covariance: FloatArray

    @classmethod
    def of(cls, table: Table, dates: IntArray, choices: Array, width: int) -> Self:
        """From the table and redrawn places (T, B) of the outcomes of all dates; ``width`` is (m + 1) q."""
        some = (dates[part] for part in ranges(len(dates), max(1, AT_ONCE // width)))
        parts = [_sums(table(one), choices[one]) for one in some]
        return cls(*(np.asarray(sum(sums)) for sums in zip(*parts, strict=True)))

    def turned(self, matrix: FloatArray) -> "Exchanged":
        """The same of linear functions of the sums, with a matrix (p, q)."""
        observed, draws, expected = (one @ matrix.T for one in (self.observed, self.draws, self.expected))
        return Exchanged(observed, draws, expected, matrix @ self.covariance @ matrix.T)

    @property
    def deviations(self) -> FloatArray:
        """(B + 1, q) from what is expected, the observed one first."""
        return np.concatenate([self.observed[None], self.draws]) - self.expected


def _sums(values: FloatArray, choices: Array) -> tuple[FloatArray, ...]:
    """The sums over a few dates."""
    means = values.mean(axis=1)
    flat = (values - means[:, None]).reshape(-1, values.shape[2])
    draws = np.zeros((choices.shape[1], values.shape[2]))
    for of_date, chosen in zip(values, choices, strict=True):
        draws += of_date[chosen]
    return values[:, -1].sum(axis=0), draws, means.sum(axis=0), flat.T @ flat / values.shape[1]


def combined(pvalues: list[float]) -> float:
    """The smallest of several p-values that depend on each other in any way, times their number (Bonferroni).

    With a mean of them (Vovk and Wang 2020), which is as valid, less is found here.
    """
    return min(1.0, len(pvalues) * min(pvalues))


class Ranks(NamedTuple):
    """Ranks of all values of a lead time, from 0; those that are equal share theirs, or have them in random order.

    First and last ranks ``low`` and ``high`` (T, S, m + 1) of each value, and which cases count, ``given`` (T, S).
    """

    low: IntArray
    high: IntArray
    given: FloatArray

    @classmethod
    def of(cls, pools: FloatArray, given: BoolArray, rng: np.random.Generator | None) -> "Ranks":
        """Of pools (T, S, m + 1), equal values in random order unless there is no generator."""
        n_dates, n_stations, size = pools.shape
        low, high = np.empty((2, *pools.shape), dtype=np.intp)
        for part in ranges(n_dates, max(1, AT_ONCE // (n_stations * size * size))):
            rows = pools[part, :, :, None], pools[part, :, None, :]
            low[part] = (rows[1] < rows[0]).sum(axis=3)
            high[part] = (rows[1] <= rows[0]).sum(axis=3) - 1
        if rng is not None:
            low = np.argsort(np.lexsort((rng.random(pools.shape), low), axis=2), axis=2)
            high = low
        return cls(low, high, given.astype(np.float64))

    @property
    def size(self) -> int:
        """Number of values, m + 1."""
        return int(self.low.shape[2])

    def table(self) -> Table:
        """The histogram that each date adds: 1 for each station, in equal parts in the ranks of equal values."""

        def of(dates: IntArray) -> FloatArray:
            steps = np.zeros((len(dates), self.size, self.size + 1))
            rows, values = np.arange(len(dates))[:, None], np.arange(self.size)
            for station in range(self.low.shape[1]):
                low, high = self.low[dates, station], self.high[dates, station]
                share = self.given[dates, station, None] / (high - low + 1.0)
                steps[rows, values, low] += share
                steps[rows, values, high + 1] -= share
            return np.cumsum(steps, axis=2)[:, :, :-1]

        return of

    def scores(self) -> FloatArray:
        """(T, m + 1) sum over the stations of the mean rank of each value, less m / 2."""
        middles = (self.low + self.high) / 2.0 - (self.size - 1.0) / 2.0
        return np.asarray((middles * self.given[:, :, None]).sum(axis=1))


class Parts(NamedTuple):
    """Parts of a test: (P, B + 1) statistics, observed first, the same as minus logarithms of p-values, and df (P,)."""

    statistics: FloatArray
    surprises: FloatArray
    df: tuple[int, ...]


def contrasts(size: int) -> FloatArray:
    """Linear and quadratic functions of the rank, (2, m + 1), orthonormal."""
    ranks = np.arange(size) - (size - 1.0) / 2.0
    rows = np.stack([ranks, np.square(ranks) - np.square(ranks).mean()])
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300))


def parts_of(sums: Exchanged, rows: FloatArray) -> Parts:
    """Squares of contrasts and the rest of ``d' C^+ d``, with deviations d of covariance C, and their limit laws.

    Contrasts are orthogonal in the metric of C: each is what it adds to those before it.
    """
    values, vectors = np.linalg.eigh(sums.covariance)
    kept = values > 1e-9 * max(float(values[-1]), 1.0)
    roots = np.sqrt(values[kept])
    white = (sums.deviations @ vectors[:, kept]) / roots
    total = np.square(white).sum(axis=1)
    directions = (rows @ vectors[:, kept]) * roots
    basis: list[FloatArray] = []
    statistics, df = [], []
    for row, direction in zip(rows, directions, strict=True):
        left = direction - sum((one * (one @ direction) for one in basis), np.zeros_like(direction))
        length = float(np.linalg.norm(left))
        exists = length > 1e-6 * sqrt(max(float(np.abs(sums.covariance).max()), 1e-300)) * float(np.linalg.norm(row))
        if exists:
            basis.append(left / length)
        statistics.append(np.square(white @ basis[-1]) if exists else np.zeros(len(white)))
        df.append(int(exists))
    rest = int(kept.sum()) - sum(df)
    remainder = np.maximum(total - sum(statistics), 0.0) if rest else np.zeros(len(white))
    tails = [
        scipy.special.chdtrc(freedom, row) if freedom else np.ones(len(row))
        for freedom, row in zip((*df, rest), (*statistics, remainder), strict=True)
    ]
    return Parts(np.stack([*statistics, remainder]), -np.log(np.maximum(tails, 1e-300)), (*df, rest))


def serial(scores: FloatArray, dates: IntArray, choices: Array) -> FloatArray:
    """(B + 1,) correlations of scores of one date and the next, times the root of their number, observed first.

    In units of the squares of the same draw, so that ranks that are uneven, but independent, are not called correlated.
    """
    rows = scores[dates]
    chosen = np.concatenate([rows[:, -1:], np.take_along_axis(rows, choices[dates], axis=1)], axis=1)
    squares = np.square(chosen).sum(axis=0)
    products = sqrt(len(dates)) * (chosen[:-1] * chosen[1:]).sum(axis=0)
    return np.asarray(np.divide(products, squares, out=np.zeros(len(products)), where=squares > 0.0))
