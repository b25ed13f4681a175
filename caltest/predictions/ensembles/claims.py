"""What ensembles claim: outcomes are as far from the others as any value of their pools is, and as high."""

import numpy as np
import scipy

from caltest._basics.numerics import Array, BoolArray, FloatArray
from caltest.predictions.claims import LEVELS, POINTS, SHIFT, Checks, Claim, Score, by_spread, of_errors

FAR, LEAST_MEMBERS, FEW = 5.0, 4, 1e-3
"""Standard deviations of at least so many other members beyond which values of pools are far off, and the margin for
the share of these."""


def of_pools(members: FloatArray, targets: Array) -> Checks:
    """Ranks of outcomes among their ensembles, where each value of a pool (n, m + 1) may be the outcome.

    Values that are equal share the mean of their ranks. The CRPS is that of the m others as equally likely values.
    """
    n, m = members.shape
    ordered = np.sort(members, axis=1)
    middle = (scipy.stats.rankdata(ordered, axis=1) - 0.5) / m
    place = (ordered < targets[:, None]).sum(axis=1).clip(max=m - 1)
    rows = np.arange(n)
    order = by_spread(ordered[:, (3 * m) // 4] - ordered[:, m // 4], ordered[:, m // 2])

    def claim(name: str, occurs: BoolArray, order: FloatArray, margin: float = POINTS) -> Claim:
        return Claim(name, occurs.mean(axis=1), occurs[rows, place], order, margin)

    claims = []
    for level in LEVELS:
        # The nearest number of ranks that is left when as many are cut off at each end.
        cut = round((1.0 - level) * m / 2.0)
        inside = (middle > cut / m) & (middle < (m - cut) / m)
        if cut:
            claims.append(claim(f"inside the {100 * (m - 2 * cut) / m:.3g} % interval", inside, order))
    above = middle > 0.5
    claims.append(claim("above the median", above, ordered[:, m // 2], SHIFT).rare)
    sums = ordered.cumsum(axis=1)
    j = np.arange(m)
    distances = ordered * (2 * j - m + 2) + sums[:, -1:] - 2.0 * sums
    scores = distances / (m - 1) - (distances.sum(axis=1, keepdims=True) - 2.0 * distances) / (2.0 * (m - 1) ** 2)
    return claims, [Score("CRPS", float(scores.mean()), float(scores[rows, place].mean()))]


def of_far_values(members: FloatArray, targets: Array) -> list[Claim]:
    """Whether outcomes are far from their ensembles as often as values of the pools (n, m + 1) from all others."""
    n, m = len(members), members.shape[1] - 1
    if m < LEAST_MEMBERS:
        return []
    x = np.sort(members - np.median(members, axis=1, keepdims=True), axis=1)
    mean = (x.sum(axis=1, keepdims=True) - x) / m
    variance = np.maximum((np.square(x).sum(axis=1, keepdims=True) - np.square(x)) / m - np.square(mean), 0.0)
    near = np.square(x - mean) <= FAR**2 * m / (m - 1) * variance
    rows, place = np.arange(n), (np.sort(members, axis=1) < targets[:, None]).sum(axis=1).clip(max=m)
    name = f"within {FAR:g} deviations of the members"
    return [Claim(name, near.mean(axis=1), near[rows, place], members.mean(axis=1), FEW)]


def of_members(members: FloatArray, targets: Array) -> list[Score]:
    """The same of the means of m members, numbers or vectors: the mean squared error is ``1 + 1 / m`` variances.

    The variance has the divisor m - 1 (Fortin et al. 2014); one member has none.
    """
    m = members.shape[1]
    if m < 2:
        return []
    variance = members.var(axis=1, ddof=1).reshape(len(members), -1).sum(axis=1)
    return of_errors(targets - members.mean(axis=1), variance, True, 1.0 + 1.0 / m)
