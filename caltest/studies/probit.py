"""The number of observations at which a fitted power curve crosses a wanted power."""

from collections.abc import Sequence
from math import inf, sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

NEAR = 1.7
"""Powers at n within this factor of the crossing enter the fit, if there are three of them."""
FAR = 3.0


class Crossing(NamedTuple):
    """An estimate of n as a real number, and the ends of its confidence interval."""

    n: float
    low: float
    high: float


def fitted_size(
    points: Sequence[tuple[int, int, int]], power: float, centre: float, confidence_level: float
) -> Crossing | None:
    """Where ``Phi(a + b sqrt(n))`` is the wanted power, from a probit regression; None if it does not increase.

    Points are (n, rejections, simulations); those near ``centre`` are used. Half a rejection and half an acceptance
    are added to each, so that rates of 0 and 1 have finite probits. The interval holds the n for which the line is
    not significantly above or below the wanted probit (Fieller).
    """
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.families.links import Probit
    from statsmodels.genmod.generalized_linear_model import GLM

    used = _within(points, centre, NEAR)
    if len(used) < 3:
        used = _within(points, centre, FAR)
    if len(used) < 2:
        return None
    sizes, counts, totals = np.array(used, dtype=np.float64).T
    roots = np.sqrt(sizes)
    outcomes = np.stack([counts + 0.5, totals - counts + 0.5], axis=1)
    design = np.stack([np.ones_like(roots), roots], axis=1)
    fit = GLM(outcomes, design, family=Binomial(link=Probit())).fit()
    (a, b), covariance = fit.params, fit.cov_params()
    if b <= 0.0:
        return None
    root = (float(ndtri(power)) - a) / b
    low, high = _fieller(a - float(ndtri(power)), b, covariance, float(ndtri(0.5 + confidence_level / 2.0)))
    return Crossing(max(root, 0.0) ** 2, max(low, 0.0) ** 2, high**2)


def _within(points: Sequence[tuple[int, int, int]], centre: float, factor: float) -> list[tuple[int, int, int]]:
    return [point for point in points if centre / factor <= point[0] <= centre * factor]


def _fieller(a: float, b: float, covariance: np.ndarray, z: float) -> tuple[float, float]:
    """The x with ``(a + b x)**2 <= z**2 Var(a + b x)``, for covariances of estimates a and b."""
    aa, ab, bb = covariance[0, 0], covariance[0, 1], covariance[1, 1]
    square, linear, constant = b * b - z * z * bb, a * b - z * z * ab, a * a - z * z * aa
    root = linear * linear - square * constant
    if square <= 0.0 or root < 0.0:
        return 0.0, inf
    return (-linear - sqrt(root)) / square, (-linear + sqrt(root)) / square
