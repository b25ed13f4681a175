"""Counting values into cells, for order statistics of more values than fit into memory."""

from caltest._jit import jit
from caltest._types import FloatArray, IntArray


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
