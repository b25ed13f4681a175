"""Cells of equal width."""

from caltest._jit import jit
from caltest._types import FloatArray, IntArray


@jit
def uniform_cells(points: FloatArray, n_cells: int, cells: IntArray) -> None:
    """The cell c of each coordinate: ``c / n_cells < p <= (c + 1) / n_cells``, p <= 0 in the first, p > 1 in the last.

    Rounding is monotone, so ``int(p n_cells)`` is never below the cell, and above it by one only at its right edge.
    """
    for i in range(points.shape[0]):
        for j in range(points.shape[1]):
            p = points[i, j]
            place = p * n_cells
            cell = (int(place) if place > 0.0 else 0) if place < n_cells else n_cells - 1
            cells[i, j] = cell - (cell > 0 and p <= cell / n_cells)
