"""Rows of a matrix, of probabilities above all: their sums, their maxima, draws from them.

Random numbers of rows and redraws are functions of a seed, the row and the redraw, whoever asks for them and when:
those of SplitMix64 (Steele, Lea and Flood 2014), started for each row at a number that depends on the seed and the row.
"""

import numpy as np

from caltest._basics.jit import jit
from caltest._basics.numerics import Array, FloatArray, IntArray

STEP = np.uint64(0x9E3779B97F4A7C15)
"""Odd, and 2**64 over the golden ratio: the states of a row are multiples of it apart."""

FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
UNIT = 2.0**-53


@jit
def mixed(state: np.uint64) -> np.uint64:
    """A bijection of 64-bit numbers whose results look independent."""
    state = (state ^ (state >> np.uint64(30))) * FIRST
    state = (state ^ (state >> np.uint64(27))) * SECOND
    return state ^ (state >> np.uint64(31))


@jit
def row_state(seed: np.uint64, row: int) -> np.uint64:
    """Where the numbers of a row start."""
    return mixed(mixed(seed + STEP) + STEP * np.uint64(row + 1))


@jit
def uniform(state: np.uint64, redraw: int) -> float:
    """The number in [0, 1) of a redraw, given the state of its row."""
    return np.float64(mixed(state + STEP * np.uint64(redraw + 1)) >> np.uint64(11)) * UNIT


@jit
def row_states(seed: np.uint64, rows: IntArray, states: Array) -> None:
    """Write where the numbers of some rows start."""
    for i in range(rows.shape[0]):
        states[i] = row_state(seed, rows[i])


@jit
def fill_uniforms(states: Array, first: int, out: FloatArray) -> None:
    """Write numbers in (0, 1) of redraws from ``first`` on, (B, n), given the states (n,) of the rows."""
    for b in range(out.shape[0]):
        for i in range(states.shape[0]):
            out[b, i] = max(uniform(states[i], first + b), 0.5 * UNIT)


VERY_FEW_CLASSES = 4
"""Up to so many it is faster to compare all numbers with the probabilities of a class at a time."""

FEW_CLASSES = 32
"""Up to so many cumulative probabilities it is faster to compare with all of them than to look one up."""

CELLS = 1024
"""Parts of the unit interval for each of which the first class that it can be is known."""


@jit
def maxima(matrix: FloatArray, values: FloatArray, columns: IntArray) -> None:
    """The largest value of each row and its column, the first one among equals."""
    for i in range(matrix.shape[0]):
        best, column = matrix[i, 0], 0
        for j in range(1, matrix.shape[1]):
            if matrix[i, j] > best:
                best, column = matrix[i, j], j
        values[i], columns[i] = best, column


def classes_from_uniforms(cumulative: FloatArray, uniforms: FloatArray, out: Array, first: int = 0) -> None:
    """``out[b, i]`` = the first class whose cumulative probability exceeds ``uniforms[b, i] * total``.

    A class of probability zero is never drawn: should rounding push the product up to the total, the
    last class of positive probability is taken. Of more than 32 classes the cumulative probabilities can be those of
    some of the rows only, from ``first`` on.
    """
    k = cumulative.shape[1]
    if k > FEW_CLASSES:
        look_up(cumulative, uniforms, out, first)
    elif k > VERY_FEW_CLASSES:
        _count(cumulative, uniforms, out)
    else:
        thresholds, out[:] = uniforms * cumulative[:, -1], 0
        for probabilities in cumulative[:, :-1].T:
            out += thresholds >= np.where(probabilities < cumulative[:, -1], probabilities, np.inf)


@jit
def _count(cumulative: FloatArray, uniforms: FloatArray, out: Array) -> None:
    n, k = cumulative.shape
    for b in range(uniforms.shape[0]):
        for i in range(n):
            total = cumulative[i, k - 1]
            threshold, label = uniforms[b, i] * total, 0
            for c in range(k - 1):
                label += 1 if cumulative[i, c] <= threshold and cumulative[i, c] < total else 0
            out[b, i] = label


def _guide() -> Array:
    """Room for the class of the smallest number of each cell of the unit interval."""
    return np.empty(CELLS + 1, dtype=np.int32)


@jit
def _fill_guide(cumulative: FloatArray, i: int, guide: Array) -> None:
    total, label = cumulative[i, cumulative.shape[1] - 1], 0
    for cell in range(CELLS + 1):
        label = _walk(cumulative, i, cell * (1.0 / CELLS) * total, label)
        guide[cell] = label


@jit
def _walk(cumulative: FloatArray, i: int, threshold: float, label: int) -> int:
    """The first class, from a label on, whose cumulative probability exceeds the threshold or is the total."""
    last = cumulative.shape[1] - 1
    while cumulative[i, label] <= threshold and cumulative[i, label] < cumulative[i, last]:
        label += 1
    return label


def look_up(cumulative: FloatArray, uniforms: FloatArray, out: Array, first: int) -> None:
    """The same for many classes: ``out[b, first + i]`` for the rows i of cumulative probabilities."""
    _look_up(cumulative, uniforms, first, _guide(), out)


@jit
def _look_up(cumulative: FloatArray, uniforms: FloatArray, first: int, guide: Array, out: Array) -> None:
    last = cumulative.shape[1] - 1
    for i in range(cumulative.shape[0]):
        _fill_guide(cumulative, i, guide)
        for b in range(uniforms.shape[0]):
            u = uniforms[b, first + i]
            out[b, first + i] = _walk(cumulative, i, u * cumulative[i, last], int(guide[int(u * CELLS)]))


def draw_by_row(cumulative: FloatArray, seed: np.uint64, rows: IntArray, out: Array) -> None:
    """Redraws ``out`` (B, m) of rows with these numbers, which depend on the seed, the row and the redraw only."""
    _draw_by_row(cumulative, seed, rows, _guide(), out)


@jit
def _draw_by_row(cumulative: FloatArray, seed: np.uint64, rows: IntArray, guide: Array, out: Array) -> None:
    last = cumulative.shape[1] - 1
    for i in range(cumulative.shape[0]):
        state = row_state(seed, rows[i])
        _fill_guide(cumulative, i, guide)
        for b in range(out.shape[0]):
            u = uniform(state, b)
            out[b, i] = _walk(cumulative, i, u * cumulative[i, last], int(guide[int(u * CELLS)]))
