"""The number of observations at which a fitted power curve crosses a wanted power."""

from collections.abc import Sequence
from math import inf, sqrt
from typing import NamedTuple
from warnings import catch_warnings, simplefilter

import numpy as np
import scipy

from caltest._basics.types import FloatArray

Point = tuple[int, int, int]
"""Observations, rejections, simulations."""

WINDOWS = (1.7, 3.0, inf)
"""Powers at n within such a factor of the estimate are fitted: the narrowest window in which they increase."""


class Crossing(NamedTuple):
    """An estimate of n as a real number, and the ends of its confidence interval."""

    n: float
    low: float
    high: float


def fitted_size(points: Sequence[Point], power: float, centre: float, confidence_level: float) -> Crossing | None:
    """Where ``Phi(a + b sqrt(n))`` is the wanted power, from a probit regression; None if powers do not increase.

    Points near ``centre`` are used, three at least. Half a rejection and half an acceptance are added to each, so
    that rates of 0 and 1 have finite probits. The interval holds the n for which the line is not significantly above or
    below the wanted probit (Fieller 1954).
    """
    for factor in WINDOWS:
        used = [point for point in points if centre / factor <= point[0] <= centre * factor]
        if len(used) < 3:
            continue
        (a, b), covariance = _fit(used)
        if b > 0.0:
            a -= float(scipy.special.ndtri(power))
            low, high = _fieller(a, b, covariance, float(scipy.special.ndtri(0.5 + confidence_level / 2.0)))
            return Crossing(max(-a / b, 0.0) ** 2, max(low, 0.0) ** 2, high**2)
    return None


def _fit(points: Sequence[Point]) -> tuple[FloatArray, FloatArray]:
    """Coefficients (2,) of 1 and sqrt(n), and their covariance matrix."""
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.families.links import Probit
    from statsmodels.genmod.generalized_linear_model import GLM
    from statsmodels.tools.sm_exceptions import PerfectSeparationWarning

    sizes, counts, totals = np.array(points, dtype=np.float64).T
    outcomes = np.stack([counts + 0.5, totals - counts + 0.5], axis=1)
    design = np.stack([np.ones_like(sizes), np.sqrt(sizes)], axis=1)
    with catch_warnings():
        # Points on a line fit perfectly; the half counts keep it finite all the same.
        simplefilter("ignore", PerfectSeparationWarning)
        fit = GLM(outcomes, design, family=Binomial(link=Probit())).fit()
    return np.asarray(fit.params), np.asarray(fit.cov_params())


def _fieller(a: float, b: float, covariance: FloatArray, z: float) -> tuple[float, float]:
    """The x with ``(a + b x)**2 <= z**2 Var(a + b x)``, for estimates a and b with this covariance."""
    aa, ab, bb = covariance[0, 0], covariance[0, 1], covariance[1, 1]
    square, linear, constant = b * b - z * z * bb, a * b - z * z * ab, a * a - z * z * aa
    root = linear * linear - square * constant
    if square <= 0.0 or root < 0.0:
        return 0.0, inf
    return (-linear - sqrt(root)) / square, (-linear + sqrt(root)) / square
