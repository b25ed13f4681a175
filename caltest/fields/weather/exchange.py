"""Which of the m + 1 values of a date is the outcome: sums over dates, redrawn."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from caltest._basics.numerics import Array, FloatArray, IntArray, ranges

AT_ONCE = 2**21
"""Numbers in a table; results do not depend on it."""

Table = Callable[[IntArray], FloatArray]
"""For dates (t,) what each adds to q sums, (t, m + 1, q), if one of its values or another is the outcome."""


@dataclass(frozen=True)
class Exchanged:
    """Sums over dates of what is observed, and what they are if any of the m + 1 values could be the outcome.

    Attributes
    ----------
    observed
        (q,)
    draws
        (B, q) of outcomes that are redrawn, one value of each date for all stations.
    expected, covariance
        (q,) and (q, q) over all redraws.
    """

    observed: FloatArray
    draws: FloatArray
    expected: FloatArray
    covariance: FloatArray

    @classmethod
    def of(cls, table: Table, dates: IntArray, choices: Array, width: int) -> "Exchanged":
        """From the table and redrawn places (T, B) of the outcomes of all dates; ``width`` is (m + 1) q."""
        parts = [cls._of(table(some), choices[some]) for some in _parts(dates, width)]
        return cls(*(sum((getattr(one, name) for one in parts[1:]), getattr(parts[0], name)) for name in _SUMS))

    @classmethod
    def _of(cls, values: FloatArray, choices: Array) -> "Exchanged":
        means = values.mean(axis=1)
        flat = (values - means[:, None]).reshape(-1, values.shape[2])
        draws = np.zeros((choices.shape[1], values.shape[2]))
        for of_date, chosen in zip(values, choices, strict=True):
            draws += of_date[chosen]
        return cls(values[:, -1].sum(axis=0), draws, means.sum(axis=0), flat.T @ flat / values.shape[1])

    def turned(self, matrix: FloatArray) -> "Exchanged":
        """The same of linear functions of the sums, with a matrix (p, q)."""
        observed, draws, expected = (one @ matrix.T for one in (self.observed, self.draws, self.expected))
        return Exchanged(observed, draws, expected, matrix @ self.covariance @ matrix.T)

    @property
    def deviations(self) -> FloatArray:
        """(B + 1, q) from what is expected, the observed one first."""
        return np.concatenate([self.observed[None], self.draws]) - self.expected


_SUMS = "observed", "draws", "expected", "covariance"


def _parts(dates: IntArray, width: int) -> list[IntArray]:
    return [dates[part] for part in ranges(len(dates), max(1, AT_ONCE // width))]


def combined(pvalues: list[float]) -> float:
    """The smallest of several p-values that depend on each other in any way, times their number (Bonferroni).

    With a mean of them (Vovk and Wang 2020), which is as valid, less is found here.
    """
    return min(1.0, len(pvalues) * min(pvalues))
