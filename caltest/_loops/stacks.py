"""Arrays as loops take them: stacks of tiles with one leading dimension, contiguous; assignment without helpers."""

from collections.abc import Callable

import numpy as np

from caltest._basics.jit import jit, jit_sums
from caltest._basics.numerics import Array, FloatArray

Two = tuple[FloatArray, FloatArray]
"""Arrays that a loop takes together, so that its arguments stay few."""


def stack(values: FloatArray, batch: tuple[int, ...], ndim: int) -> FloatArray:
    """Contiguous (m, ...) of arrays whose dimensions before the last ``ndim`` broadcast to ``batch``."""
    rest = values.shape[-ndim:]
    return frozen(np.broadcast_to(values, (*batch, *rest))).reshape(-1, *rest)


def frozen(values: FloatArray) -> FloatArray:
    """A contiguous view that cannot be written to: loops that are given such ones are compiled once."""
    view = np.ascontiguousarray(values, dtype=np.float64).view()
    view.flags.writeable = False
    return view


def over_pairs(
    loop: Callable[..., None],
    rows: tuple[FloatArray, ...],
    columns: tuple[FloatArray, ...],
    ndim: int,
    *settings: float | FloatArray,
) -> FloatArray:
    """What a loop writes to (m, r, c) for rows (m, r, ...) and columns (m, ..., c), both tuples, as (..., r, c).

    They are given as (..., r, ...) and (..., c, ...), the last ``ndim`` dimensions of which are not broadcast.
    """
    batch = np.broadcast_shapes(rows[0].shape[:-ndim], columns[0].shape[:-ndim])
    left = tuple(stack(values, batch, ndim) for values in rows)
    right = tuple(stack(values.swapaxes(-1, -ndim), batch, ndim) for values in columns)
    out = np.empty((*batch, rows[0].shape[-ndim], columns[0].shape[-ndim]))
    loop(left, right, *settings, out.reshape(-1, *out.shape[-2:]))
    return out


def redraws_last(targets: Array) -> FloatArray:
    """Redraws of numbers (B, c), or of vectors (B, c, d), as an array (c, d, B): loops run along the redraws."""
    vectors = targets[..., None] if targets.ndim == 2 else targets
    return np.ascontiguousarray(np.moveaxis(vectors, 0, -1), dtype=np.float64)


@jit
def assign(values: Array, out: Array) -> None:
    """Write values (n,) to ``out``."""
    for i in range(values.shape[0]):
        out[i] = values[i]


@jit_sums
def sum_of(values: FloatArray) -> float:
    """The sum of values (n,)."""
    total = 0.0
    for i in range(values.shape[0]):
        total += values[i]
    return total


@jit_sums
def sum_of_products(values: FloatArray, others: FloatArray) -> float:
    """The scalar product of values (n,) and others."""
    total = 0.0
    for i in range(values.shape[0]):
        total += values[i] * others[i]
    return total


@jit
def add_weighted(tiles: FloatArray, i: int, j: int, values: FloatArray, sums: FloatArray) -> None:
    """Add ``tiles[l, i, j] values[b]`` to sums (L, B)."""
    for one in range(sums.shape[0]):
        weight = tiles[one, i, j]
        for b in range(sums.shape[1]):
            sums[one, b] += weight * values[b]


@jit
def is_used(tiles: FloatArray, i: int, j: int) -> bool:
    """Whether one of the tiles has a number other than 0 at a place."""
    found = False
    for one in range(tiles.shape[0]):
        found = found or tiles[one, i, j] != 0.0
    return found
