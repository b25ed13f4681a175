"""The c-statistic and its interval."""

import numpy as np
import scipy

from caltest._basics.numerics import Array, FloatArray
from caltest._results.values import ConfidenceInterval

FEW = 10
"""Events, and cases without, below which DeLong's variance is too small: his intervals hold in 70 % with 2 events."""


def concordance(y: FloatArray, ranks: FloatArray) -> FloatArray:
    """The share of pairs of a case with and one without the event whose risks have that order, ties half; or NaN."""
    ones = y.sum(axis=1)
    pairs = ones * (y.shape[1] - ones)
    wins = y @ ranks - ones * (ones + 1.0) / 2.0
    return np.asarray(np.divide(wins, pairs, out=np.full(len(y), np.nan), where=pairs > 0.0))


def interval_of_concordance(p: FloatArray, y: Array, c: float, level: float) -> ConfidenceInterval:
    """DeLong's, on the logit scale; for fewer than 10 of a kind, and for c of 0 or 1, Newcombe's score interval."""
    z = float(scipy.special.ndtri((1.0 + level) / 2.0))
    ones, zeros = np.sort(p[y == 1]), np.sort(p[y == 0])
    if min(ones.size, zeros.size) < FEW or c in (0.0, 1.0):
        return ConfidenceInterval(*_score_limits(c, ones.size, zeros.size, z), level, "Newcombe's score interval")
    of_ones = (np.searchsorted(zeros, ones, "left") + np.searchsorted(zeros, ones, "right")) / (2.0 * zeros.size)
    of_zeros = 1.0 - (np.searchsorted(ones, zeros, "left") + np.searchsorted(ones, zeros, "right")) / (2.0 * ones.size)
    error = float(np.sqrt(of_ones.var(ddof=1) / ones.size + of_zeros.var(ddof=1) / zeros.size)) / (c * (1.0 - c))
    centre = float(np.log(c / (1.0 - c)))
    low, high = (1.0 / (1.0 + np.exp(-(centre + sign * z * error))) for sign in (-1.0, 1.0))
    return ConfidenceInterval(float(low), float(high), level, "DeLong, on the logit scale")


def newcombe_variance(c: float, n_ones: float, n_zeros: float) -> float:
    """Variance of the c-statistic of exponential risks of both kinds, of which so many have the event and have not.

    ``c (1 - c) (1 + h (1 - c) / (2 - c) + h c / (1 + c)) / (n_1 n_0)`` with ``h = (n_1 + n_0) / 2 - 1``.
    """
    half = (n_ones + n_zeros) / 2.0 - 1.0
    return c * (1.0 - c) * (1.0 + half * (1.0 - c) / (2.0 - c) + half * c / (1.0 + c)) / (n_ones * n_zeros)


def _score_limits(c: float, n_ones: int, n_zeros: int, z: float) -> tuple[float, float]:
    """Where ``|c - t| = z sqrt(V(t))`` with Newcombe's variance V, his method 5."""

    def excess(t: float) -> float:
        return (c - t) ** 2 - z**2 * newcombe_variance(t, n_ones, n_zeros)

    # Where c is 0 or 1, it is a solution itself, beside the limit.
    low = float(scipy.optimize.brentq(excess, 0.0, min(c, 1.0 - 1e-9))) if c > 0.0 else 0.0
    return low, float(scipy.optimize.brentq(excess, max(c, 1e-9), 1.0)) if c < 1.0 else 1.0
