"""One pass over the rows of a matrix."""

from caltest._basics.jit import jit
from caltest._basics.types import FloatArray, IntArray


@jit
def are_distributions(matrix: FloatArray, tolerance: float) -> bool:
    """Whether no value is negative and every row sums to 1 within ``tolerance``; never so with nan or infinity."""
    for i in range(matrix.shape[0]):
        total, lowest = 0.0, 0.0
        for j in range(matrix.shape[1]):
            total += matrix[i, j]
            if matrix[i, j] < lowest:
                lowest = matrix[i, j]
        if lowest < 0.0 or not abs(total - 1.0) <= tolerance:
            return False
    return True


@jit
def maxima(matrix: FloatArray, values: FloatArray, columns: IntArray) -> None:
    """The largest value of each row and its column, the first one among equals."""
    for i in range(matrix.shape[0]):
        best, column = matrix[i, 0], 0
        for j in range(1, matrix.shape[1]):
            if matrix[i, j] > best:
                best, column = matrix[i, j], j
        values[i], columns[i] = best, column
