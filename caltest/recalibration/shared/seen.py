"""Which rows a map was fitted to, so that it can say so when it is judged on them."""

import numpy as np
from scipy.special import bdtrc

from caltest._basics.numerics import FloatArray
from caltest.predictions import Predictions

KEPT = 1000
"""Hashes that are kept of more rows: the smallest ones, which are a random part."""

REPEATED = 0.05
"""Share of rows that equal others from which on equal rows need not be the same observations."""

CHANCE = 1e-6
"""Probability of as many equal rows in other data, below which they are taken for the same."""


def digest(rows: FloatArray) -> FloatArray:
    """At most 1000 hashes of rows (n, c), sorted numbers in [0, 1); none if rows repeat, as rounded ones do.

    The share of rows that occur once estimates how often a row of other data is a new one (Good 1953).
    """
    hashes, counts = np.unique(_hashes(rows), return_counts=True)
    if np.sum(counts == 1) < (1.0 - REPEATED) * rows.shape[0]:
        return np.empty(0)
    return np.asarray(hashes[:KEPT])


def share_seen(kept: FloatArray, rows: FloatArray) -> float:
    """Share of rows (n, c) that are among those of a digest; 0 if it has none, or that can be chance."""
    hashes = _hashes(rows)
    if kept.size == KEPT:
        hashes = hashes[hashes <= kept[-1]]
    equal = int(np.isin(hashes, kept).sum())
    return equal / hashes.size if equal and bdtrc(equal - 1, hashes.size, REPEATED) < CHANCE else 0.0


def seen_note(share: float, what: str = "recalibration map") -> tuple[str, ...]:
    """What to say of observations of which so many were used in the fit."""
    if share == 0.0:
        return ()
    return (
        f"{100.0 * share:.3g} % of the rows are among those that the {what} was fitted to, on which it looks better "
        "than on others; judge it on data that it has not seen",
    )


def moment_rows(predictions: Predictions) -> FloatArray:
    """Means and variances (n, c) of distributions of numbers and vectors; none where these are not known."""
    try:
        mean, variance = predictions.moments()
    except TypeError:
        return np.empty((0, 1))
    return np.column_stack([mean, variance])


def _hashes(rows: FloatArray) -> FloatArray:
    """Numbers in [0, 1) that are equal for rows that are equal in single precision, whatever was rounded before."""
    with np.errstate(over="ignore"):
        bits = (rows.astype(np.float32) + np.float32(0.0)).view(np.uint32).astype(np.uint64)
    mixed = np.zeros(rows.shape[0], dtype=np.uint64)
    for column in bits.T:
        mixed = (mixed ^ column) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return np.asarray((mixed ^ (mixed >> np.uint64(32))) >> np.uint64(11), dtype=np.float64) * 2.0**-53
