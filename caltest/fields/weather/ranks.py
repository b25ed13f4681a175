"""Ranks of outcomes among members: sums over dates, and the parts of their test."""

from math import sqrt
from typing import NamedTuple

import numpy as np
import scipy

from caltest._basics.numerics import Array, BoolArray, FloatArray, IntArray, ranges
from caltest.fields.weather.exchange import AT_ONCE, Exchanged, Table


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

    def transforms(self) -> FloatArray:
        """(T, S) of the outcomes: middle of their ranks as a share, less 1/2; 0 where there is no case."""
        middles = (self.low[:, :, -1] + self.high[:, :, -1] + 1.0) / (2.0 * self.size) - 0.5
        return np.asarray(middles * self.given)


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
