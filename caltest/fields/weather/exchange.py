"""Which of the m + 1 values of a date is the outcome: sums over dates, redrawn."""

from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np

from caltest._basics.numerics import Array, FloatArray, IntArray, ranges

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
