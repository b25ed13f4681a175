"""Expectations of kernels of real targets under densities without closed forms, read off the trees of both."""

import numpy as np

from caltest._jit import jit
from caltest._loops.panels import inner_product, value
from caltest._loops.radial import Radial, radial_values
from caltest._types import FloatArray, IntArray

DENSITIES, MEANS = 0, 2
"""Where a row of roots holds those of densities and of expectations, one for each side; -1 for none."""

COLUMNS = 32
"""Columns whose trees are used together, which keeps them in fast memory."""

Forest = tuple[
    FloatArray,
    IntArray,
    IntArray,
    FloatArray,
    IntArray,
    FloatArray,
    IntArray,
    FloatArray,
    FloatArray,
    IntArray,
    IntArray,
]
"""Laws (n, LAW); roots and exponents of their intervals (n, 4); coefficients and ``skip`` of densities, and of
expectations; lower ends, lengths and nodes of the leaves of expectations, and where those of a tree begin (n, 3)."""

Settings = tuple[Radial, float, float]
"""A function of a distance, the inverse of its bandwidth, and where the side begins that is counted downwards."""


@jit
def leaf_at(lows: FloatArray, first: int, last: int, x: float) -> int:
    """The leaf of a tree that holds a point, of those from ``first`` to ``last - 1``."""
    while last - first > 1:
        middle = (first + last) >> 1
        if lows[middle] <= x:
            first = middle
        else:
            last = middle
    return first


@jit
def mean_tiles(forest: Forest, rows: IntArray, targets: FloatArray, settings: Settings, out: FloatArray) -> None:
    """``E k(Z, y)`` for densities (m, r) of a forest and targets (m, c), to ``out`` (m, r, c).

    Outside of the intervals of the trees it is the kernel at the distance of the centre, 0 to rounding; for densities
    without spread, which have no trees, everywhere.
    """
    laws, roots, exponents, _, _, coefficients, _, lows, widths, leaves, starts = forest
    radial, inverse, origin = settings
    distance = np.empty(1)
    for tile in range(out.shape[0]):
        for row in range(out.shape[1]):
            i, line = rows[tile, row], out[tile, row]
            for j in range(line.shape[0]):
                y = targets[tile, j]
                side = 1 if (y < 0.0 if origin == 0.0 else y > 0.5 * origin) else 0
                x = origin - y if side == 1 else y
                if roots[i, MEANS + side] < 0 or x > 2.0 ** exponents[i, MEANS + side]:
                    distance[0] = abs(y - laws[i, 0]) * inverse
                    radial_values(radial, distance, 1)
                    line[j] = distance[0]
                else:
                    leaf = leaf_at(lows, starts[i, side], starts[i, side + 1], x)
                    u = 2.0 * (x - lows[leaf]) / widths[leaf] - 1.0
                    line[j] = value(coefficients[leaves[leaf]], u)


@jit
def is_before(a: FloatArray, b: FloatArray) -> bool:
    """Whether one law comes before another in the order of their numbers."""
    for k in range(a.shape[0]):
        if a[k] != b[k]:
            before: bool = a[k] < b[k]
            return before
    return True


@jit
def product_tiles(one: Forest, rows: IntArray, two: Forest, columns: IntArray, out: FloatArray) -> None:
    """``E k(Z, Z')`` for densities (m, r) of a forest and (m, c) of another, to ``out`` (m, r, c).

    The integral of an expectation times a density: which is which does not depend on their order.
    """
    laws, roots, exponents, densities, skip, means, means_skip, _, _, _, _ = one
    laws2, roots2, exponents2, densities2, skip2, means2, means_skip2, _, _, _, _ = two
    for tile in range(out.shape[0]):
        for start in range(0, out.shape[2], COLUMNS):
            for row in range(out.shape[1]):
                i = rows[tile, row]
                for column in range(start, min(start + COLUMNS, out.shape[2])):
                    j = columns[tile, column]
                    total = 0.0
                    for side in range(2):
                        if is_before(laws[i], laws2[j]):
                            a, b = roots[i, MEANS + side], roots2[j, DENSITIES + side]
                            d, e = exponents[i, MEANS + side], exponents2[j, DENSITIES + side]
                            if a >= 0 and b >= 0:
                                total += inner_product(means, means_skip, a, d, densities2, skip2, b, e)
                        else:
                            a, b = roots2[j, MEANS + side], roots[i, DENSITIES + side]
                            d, e = exponents2[j, MEANS + side], exponents[i, DENSITIES + side]
                            if a >= 0 and b >= 0:
                                total += inner_product(means2, means_skip2, a, d, densities, skip, b, e)
                    out[tile, row, column] = total
