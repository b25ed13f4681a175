"""Random numbers of rows and redraws: functions of a seed, the row and the redraw, whoever asks for them and when.

SplitMix64 (Steele, Lea and Flood 2014), started for each row at a number that depends on the seed and the row.
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
