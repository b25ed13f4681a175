"""Counts: of observations in resamples, of values in cells of equal width, of close points; sums of rows in cells."""

from caltest._basics.jit import jit
from caltest._basics.numerics import Array, FloatArray, IntArray


@jit
def add_counts(indices: Array, counts: FloatArray) -> None:
    """Add to ``counts[i, b]`` how often i occurs in row b of the indices (B, n)."""
    for b in range(indices.shape[0]):
        for index in indices[b]:
            counts[index, b] += 1.0


@jit
def count_values(values: FloatArray, low: float, high: float, counts: IntArray) -> int:
    """Add the number of values in each of the equal cells of [low, high]; return how many lie below ``low``."""
    cells = counts.shape[0]
    below = 0
    for value in values:
        if value < low:
            below += 1
        elif value <= high:
            # Divided first, as the inverse of a small width is infinite; what is no number counts in the last cell.
            place = (value - low) / (high - low) * cells
            counts[int(place) if place < cells else cells - 1] += 1
    return below


@jit
def count_close(points: FloatArray, most: float) -> int:
    """How many pairs of ascending points (n,) are at most so far apart."""
    count = first = 0
    for i in range(points.shape[0]):
        while points[i] - points[first] > most:
            first += 1
        count += i - first
    return count


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
