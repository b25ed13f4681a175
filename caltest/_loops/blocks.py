"""Sums over the pairs within small blocks of consecutive observations, too small for tiles."""

from typing import TypeAlias

import numpy as np

from caltest._jit import jit
from caltest._loops.exponential import exp_of_negative
from caltest._loops.tiles import CITYBLOCK, SQUARED_EUCLIDEAN
from caltest._types import FloatArray

Settings: TypeAlias = tuple[int, float, bool, int, float]
"""What is summed over the coordinates, its scale, whether to take the root, power of the distance and its factor."""


@jit
def check_settings(settings: Settings) -> None:
    """Raise unless they say what is summed, and a known function of it."""
    if settings[0] not in (CITYBLOCK, SQUARED_EUCLIDEAN) or settings[3] not in (1, 2):
        raise ValueError("unknown kind of kernel")


@jit
def block_sums(
    points: FloatArray,
    left: FloatArray,
    right: FloatArray,
    settings: Settings,
    block_size: int,
) -> FloatArray:
    """``sum_{i<j} f(factor d_ij) left_i . right_j`` of each block, with distances d_ij of the points (n, d).

    f(x) is exp(-x) for power 1 and exp(-x**2 / 2) for power 2. A distance is ``scale`` times the sum over the
    coordinates of what ``kind`` says, or the square root of that sum.
    """
    kind, scale, root, power, factor = settings
    check_settings(settings)
    sums = np.zeros(points.shape[0] // block_size)
    for m in range(sums.shape[0]):
        total = 0.0
        for i in range(m * block_size, (m + 1) * block_size):
            p, u = points[i], left[i]
            for j in range(i + 1, (m + 1) * block_size):
                q, v = points[j], right[j]
                distance = product = 0.0
                if kind == CITYBLOCK:
                    for t in range(p.shape[0]):
                        distance += abs(p[t] - q[t])
                else:
                    for t in range(p.shape[0]):
                        distance += (p[t] - q[t]) ** 2
                for t in range(u.shape[0]):
                    product += u[t] * v[t]
                x = factor * (np.sqrt(distance) if root else scale * distance)
                total += exp_of_negative(-x if power == 1 else -0.5 * x * x) * product
        sums[m] = total
    return sums
