"""One quadrature rule for all continuous distributions of a number, on the scale of normal quantiles.

With ``Z = Q(Phi(T))``, Q the quantile function of a distribution and T standard normal, ``E g(Z)`` is the integral of
``g(Q(Phi(t)))`` times the normal density, which the trapezoidal rule computes to more digits than any order has if the
function is smooth. Quantiles at a few t are exact; a polynomial through the nearest ones gives those between them.
"""

from math import erfc, sqrt

import numpy as np

from caltest._basics.numerics import FloatArray

STEP = 0.3
"""Distance of the normal quantiles at whose levels quantiles are computed."""

N_QUANTILES = 32
"""Their number; the outermost ones have levels of 2e-6 and 1 - 2e-6."""

FINER = 8
"""How many times finer the rule is."""

NEAREST = 8
"""Quantiles that determine those between them, by a polynomial of degree 7."""


def _grid(step: float) -> FloatArray:
    last = STEP * (N_QUANTILES - 1) / 2.0
    return np.linspace(-last, last, round(2.0 * last / step) + 1)


def _weights(t: FloatArray) -> FloatArray:
    heights = np.exp(-0.5 * t**2)
    return np.asarray(heights / heights.sum())


def _interpolation(coarse: FloatArray, fine: FloatArray) -> FloatArray:
    """The matrix (fine, coarse) of Lagrange's polynomials of the nearest points."""
    start = np.floor((fine - coarse[0]) / STEP + 1e-9).astype(int) + 1 - NEAREST // 2
    places = np.clip(start, 0, len(coarse) - NEAREST)[:, None] + np.arange(NEAREST)
    near, itself = coarse[places], np.eye(NEAREST, dtype=bool)
    factors = (fine[:, None, None] - near[:, None]) / np.where(itself, 1.0, near[..., None] - near[:, None])
    matrix = np.zeros((len(fine), len(coarse)))
    np.put_along_axis(matrix, places, np.prod(np.where(itself, 1.0, factors), axis=-1), axis=1)
    return matrix


_COARSE, _FINE = _grid(STEP), _grid(STEP / FINER)

LEVELS = np.array([0.5 * erfc(-t / sqrt(2.0)) for t in _COARSE])
"""Levels at which quantiles are computed, (m,)."""

LEVEL_WEIGHTS = _weights(_COARSE)
"""Weights of the rule of these alone, (m,)."""

WEIGHTS = _weights(_FINE)
"""Weights of the finer rule."""

_BETWEEN = _interpolation(_COARSE, _FINE)


def refined(quantiles: FloatArray) -> FloatArray:
    """Quantiles (..., m) at ``LEVELS`` as points of the finer rule, in ascending order as they are."""
    low = np.repeat(quantiles[..., :-1], FINER, axis=-1)
    high = np.repeat(quantiles[..., 1:], FINER, axis=-1)
    middle = quantiles[..., N_QUANTILES // 2, None]
    points = (quantiles - middle) @ _BETWEEN.T + middle
    points[..., :-1] = np.fmin(np.fmax(points[..., :-1], low), high)
    points[..., ::FINER] = quantiles
    return points
