"""Student's t that is not central: errors in units of a spread that is estimated, of outcomes with another mean.

For ``r = (z + c) / u`` with standard normal z and ``df u**2`` of a chi-squared distribution of df degrees of freedom

    log f(r; c) - log f(r; 0) = -c**2 / 2 + H(c r / sqrt(df + r**2)) - H(0)

with ``H(x) = log int v**df exp(x v - v**2 / 2) dv``.
"""

import numpy as np
import scipy

from caltest._basics.numerics import FloatArray

NODES, WEIGHTS = np.polynomial.hermite.hermgauss(40)
"""Of integrals of functions like that of a normal distribution, around their maximum."""

FARTHEST = 1e6
"""Means from which on scipy takes up to ten seconds for a probability, only to say that it is unknown."""


def log_ratio_of_noncentral(residuals: FloatArray, shifts: FloatArray, df: float) -> FloatArray:
    """Log ratio of the density with means c, that broadcast against the residuals, to that with means of 0."""
    x = shifts * residuals / np.sqrt(df + np.square(residuals))
    return np.asarray(-0.5 * np.square(shifts) + _log_integral(x, df) - _log_integral(np.zeros(1), df))


def _log_integral(x: FloatArray, df: float) -> FloatArray:
    """``H(x)``, by nodes around the maximum of the integrand."""
    mode = 0.5 * (x + np.sqrt(np.square(x) + 4.0 * df))
    width = np.sqrt(2.0 / (1.0 + df / np.square(mode)))
    v = mode[..., None] + width[..., None] * NODES
    inside = v > 0.0
    logs = df * np.log(np.where(inside, v / mode[..., None], 1.0)) + x[..., None] * (v - mode[..., None])
    logs += -0.5 * (np.square(v) - np.square(mode)[..., None]) + np.square(NODES)
    total = np.where(inside, np.exp(np.minimum(logs, 700.0)), 0.0) @ WEIGHTS
    return np.asarray(np.log(total * width) + df * np.log(mode) + x * mode - 0.5 * np.square(mode))


def centred(residuals: FloatArray, shifts: FloatArray, df: float) -> FloatArray:
    """Residuals with means of 0 that have the same probabilities below them as these with means c."""
    shifts = np.broadcast_to(shifts, residuals.shape)
    near = np.where(np.abs(shifts) < FARTHEST, shifts, np.nan)
    below = scipy.special.nctdtr(df, near, residuals)
    above = scipy.special.nctdtr(df, -near, -residuals)
    tail = np.minimum(below, above)
    found = np.where(below < above, 1.0, -1.0) * scipy.special.stdtrit(df, np.maximum(tail, 1e-300))
    return np.where((tail > 0.0) & np.isfinite(found), found, residuals - shifts)
