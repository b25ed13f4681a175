"""Distances between all rows and columns of a stack of tiles.

The columns come transposed, so the innermost loop runs along contiguous columns and vectorises, and each
distance is summed over the coordinates in the same order whatever the shape of the tile.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from caltest._jit import jit
from caltest._types import FloatArray

Loop: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray], None]


@jit
def cityblock(rows: FloatArray, columns: FloatArray, out: FloatArray) -> None:
    """``out[m, i, j] = sum_t |rows[m, i, t] - columns[m, t, j]|``."""
    for m in range(rows.shape[0]):
        for i in range(rows.shape[1]):
            line = out[m, i]
            line[:] = 0.0
            for t in range(rows.shape[2]):
                value = rows[m, i, t]
                column = columns[m, t]
                for j in range(line.shape[0]):
                    line[j] += abs(value - column[j])


@jit
def squared_euclidean(rows: FloatArray, columns: FloatArray, out: FloatArray) -> None:
    """``out[m, i, j] = sum_t (rows[m, i, t] - columns[m, t, j])**2``."""
    for m in range(rows.shape[0]):
        for i in range(rows.shape[1]):
            line = out[m, i]
            line[:] = 0.0
            for t in range(rows.shape[2]):
                value = rows[m, i, t]
                column = columns[m, t]
                for j in range(line.shape[0]):
                    difference = value - column[j]
                    line[j] += difference * difference


@jit
def euclidean(rows: FloatArray, columns: FloatArray, out: FloatArray) -> None:
    """``out[m, i, j] = sqrt(sum_t (rows[m, i, t] - columns[m, t, j])**2)``."""
    squared_euclidean(rows, columns, out)
    for m in range(out.shape[0]):
        for i in range(out.shape[1]):
            line = out[m, i]
            for j in range(line.shape[0]):
                line[j] = np.sqrt(line[j])
