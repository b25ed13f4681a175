"""Sums of products of features where those of the targets are smooth functions of a number: at the nodes of a grid.

``sum_i psi_i phi(y_i)'`` takes r s additions for each observation. With phi interpolated by cubic polynomials between
nodes x_g it is ``sum_g S_g phi(x_g)'``, where S_g is the sum of psi_i times the weight of node g for y_i: 4 r additions
for each observation, and r s for each node.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

import numpy as np

from caltest._basics.numerics import Array, FloatArray, ranges
from caltest._basics.threads import threaded
from caltest._loops.pair_sums.lines import add_to_grid

STEPS = 8
"""Nodes in a bandwidth of a Gaussian kernel, between which functions of its unit ball are exact to 6e-5."""

LARGEST = 2048
"""Nodes of a grid."""

WORTH = 1.75
"""Observations for each node from which on a grid takes less time than the features of each of them."""

ROWS = 512
"""Observations whose features are added for all redraws before the next ones."""

SUMS = 2**19
"""Numbers in the sums at the nodes for the redraws of a thread, 4 MB."""


LEAST, PARTS = 8, 8
"""Redraws of a thread, at least, and parts into which all are divided if there are more."""


@dataclass(frozen=True)
class Grid:
    """Equidistant nodes (G,), the second of which is the smallest place and the last but one the largest."""

    start: float
    step: float
    size: int

    @classmethod
    def over(cls, low: float, high: float, bandwidth: float) -> "Grid | None":
        """Nodes from low to high for kernels of this bandwidth or larger ones; None where they are too many."""
        step = bandwidth / STEPS
        if not high - low < step * (LARGEST - 4):
            return None
        return cls(low - step, step, ceil((high - low) / step) + 3)

    @property
    def nodes(self) -> FloatArray:
        """All of them, (G,)."""
        return np.asarray(self.start + self.step * np.arange(self.size))

    def is_worth(self, n: int) -> bool:
        """Whether so many observations take less time with it."""
        return n >= WORTH * self.size

    def sums(self, places: Array, features: FloatArray, reduced: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """What becomes of the sums (B, G, s) of features (n, s) at the nodes, joined for all redraws of places (B, n).

        A number of redraws at a time, whose sums do not depend on which.
        """
        n_redraws, n = places.shape
        width = features.shape[1]

        def part_sums(part: slice) -> FloatArray:
            at_nodes = np.zeros((part.stop - part.start, self.size, width))
            for rows in ranges(n, ROWS):
                in_steps = np.asarray((places[part, rows] - self.start) / self.step, dtype=np.float64)
                add_to_grid(in_steps, features[rows], at_nodes)
            return reduced(at_nodes)

        at_once = min(SUMS // (self.size * width), max(LEAST, -(-n_redraws // PARTS)))
        parts = list(ranges(n_redraws, max(1, at_once)))
        work = 30.0 * places.size
        return np.concatenate(list(threaded(part_sums, parts, len(parts), "redraws", work=work, products=True)))
