"""Numbers that vectors are ranked by: functions of the m + 1 vectors of a date that do not depend on their order."""

from collections.abc import Callable
from typing import Any

import numpy as np

from caltest._basics.numerics import FloatArray

Prerank = Callable[[FloatArray], Any]
"""From vectors (m + 1, d) to (m + 1,) numbers."""


def average_rank(pool: FloatArray) -> FloatArray:
    """Mean over the coordinates of the ranks: low and high values."""
    return np.asarray(_ranks(pool).mean(axis=1))


def band_depth(pool: FloatArray) -> FloatArray:
    """Mean over the coordinates of ``(m + 1 - rank) (rank - 1)``: vectors in the middle have large ones."""
    ranks = _ranks(pool)
    return np.asarray(((len(pool) - ranks) * (ranks - 1.0)).mean(axis=1))


def variogram(pool: FloatArray) -> FloatArray:
    """Minus half the mean square of differences of neighbours, over the variance of the vector; 0 if that is 0.

    Small for vectors whose neighbours differ much: the dependence between coordinates in their order.
    """
    variances = pool.var(axis=1)
    halves = np.square(np.diff(pool, axis=1)).mean(axis=1) / 2.0
    return np.asarray(-np.divide(halves, variances, out=np.zeros(len(pool)), where=variances > 0.0))


PRERANKS: dict[str, Prerank] = {"average": average_rank, "band depth": band_depth, "variogram": variogram}
"""Average rank and band depth: Thorarinsdottir, Scheuerer and Heinz 2016; variogram: Allen et al. 2024, lag 1."""


def checked_prerank(prerank: Any) -> Prerank:
    """The function of a name; ``ValueError`` for another name, ``TypeError`` for what is neither."""
    if callable(prerank):
        return prerank  # type: ignore[no-any-return]
    if isinstance(prerank, str) and prerank in PRERANKS:
        return PRERANKS[prerank]
    kind = ValueError if isinstance(prerank, str) else TypeError
    raise kind(
        f"prerank: got {prerank!r}, wanted {', '.join(map(repr, PRERANKS))} or a function from (m + 1, d) to (m + 1,)"
    )


def reduced(pools: FloatArray, prerank: Prerank) -> FloatArray:
    """Pools (T, d, m + 1) of vectors to (T, 1, m + 1) of numbers, the same whichever value is the outcome."""
    n_dates, d, size = pools.shape
    if d < 2:
        raise ValueError("prerank: got forecasts of one station, wanted vectors of at least 2 stations")
    values = np.empty((n_dates, 1, size))
    for date, pool in enumerate(pools):
        found = np.asarray(prerank(pool.T.copy()), dtype=np.float64)
        if found.shape != (size,) or not np.isfinite(found).all():
            raise ValueError(f"prerank: got values of shape {found.shape}, wanted ({size},) finite numbers")
        values[date, 0] = found
    # What differs by rounding is equal.
    return np.round(values, 12 - int(np.ceil(np.log10(max(1.0, float(np.abs(values).max()))))))


def _ranks(pool: FloatArray) -> FloatArray:
    """Ranks (m + 1, d) from 1, the mean of them for ties."""
    below = (pool[None] < pool[:, None]).sum(axis=1)
    same = (pool[None] == pool[:, None]).sum(axis=1)
    return np.asarray(below + (same + 1.0) / 2.0)
