"""Counts: of observations in resamples of them, and of values in cells of equal width."""

from caltest._basics.jit import jit
from caltest._basics.numerics import Array, FloatArray, IntArray


@jit
def add_counts(indices: Array, counts: FloatArray) -> None:
    """Add to ``counts[i, b]`` how often i occurs in row b of the indices (B, n)."""
    for b in range(indices.shape[0]):
        for index in indices[b]:
            counts[index, b] += 1.0


@jit
def count_cells(values: FloatArray, low: float, high: float, counts: IntArray) -> int:
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
