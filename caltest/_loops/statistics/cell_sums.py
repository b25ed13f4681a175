"""Sums of many numbers of rows over the cells of several tables."""

from caltest._basics.jit import jit
from caltest._basics.numerics import Array, FloatArray

ROWS = 256
"""Rows taken together, so that their numbers stay in the cache while the tables are gone through."""


@jit
def add_to_cells(layouts: Array, numbers: FloatArray, sums: FloatArray) -> None:
    """``sums[layouts[l, i]] += numbers[i]`` for all tables l and rows i, with numbers (n, W) and sums (cells, W)."""
    n, width = numbers.shape
    for start in range(0, n, ROWS):
        stop = min(start + ROWS, n)
        for table in range(layouts.shape[0]):
            for i in range(start, stop):
                cell = layouts[table, i]
                for w in range(width):
                    sums[cell, w] += numbers[i, w]
