"""Types of arrays, and numerical rules: errors of floats, random seeds, the p-value of resampling, ranges of tiles."""

import os
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from inspect import isfunction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.intp]
BoolArray: TypeAlias = NDArray[np.bool_]
Array: TypeAlias = NDArray[Any]
ArrayLike: TypeAlias = Any
"""Anything that becomes an array: lists, numpy, pandas, polars, torch."""

TIE_TOLERANCE = 1e-10
"""Relative difference below which two values of a statistic count as equal.

Equal configurations summed in another order differ in their last bits; without a tolerance such ties would be
broken by rounding.
"""

own_errstate = np.errstate(all="ignore")
"""Decorates what users call: it computes alike whatever ``numpy.seterr`` they made, and checks its results itself."""


class OwnErrstate:
    """Base of what users make: all public methods of its subclasses are decorated with ``own_errstate``."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, value in list(vars(cls).items()):
            if isfunction(value) and (name[0] != "_" or name in ("__init__", "__post_init__", "__call__")):
                setattr(cls, name, own_errstate(value))


def resampling_pvalue(observed: float, draws: FloatArray) -> float:
    """``(1 + #{draw >= observed}) / (1 + B)`` for B draws, ties counted with a relative tolerance.

    Never 0. If the observed value and the draws are exchangeable under the null hypothesis, the rejection
    probability at level alpha is at most alpha for every B (Dwass 1957; Phipson and Smyth 2010).
    """
    return (1 + int(np.count_nonzero(at_least_as_large(observed, draws)))) / (1 + draws.size)


def at_least_as_large(observed: float, draws: FloatArray) -> BoolArray:
    """Which draws are larger than the observed value or equal to it up to rounding."""
    return np.asarray(draws >= observed - _tie_tolerance(observed, draws))


def _tie_tolerance(observed: float, draws: FloatArray) -> float:
    size = float(np.mean(np.abs(draws)))
    check_finite(observed, size)
    return TIE_TOLERANCE * max(abs(observed), size)


def effective_number(weights: FloatArray) -> float:
    """``(sum_i w_i)**2 / sum_i w_i**2``: how many observations of equal weights have a mean of the same variance."""
    return float(weights.sum() ** 2 / (weights @ weights))


def weight_of_pairs(weights: FloatArray) -> float:
    """``sum_{i<j} w_i w_j``, without a difference of large numbers for very unequal weights."""
    return float(np.vdot(weights[:-1], np.cumsum(weights[:0:-1])[::-1]))


def check_finite(*values: float) -> None:
    """Raise ``ValueError`` for a result that is not a finite number."""
    if not np.isfinite(values).all():
        raise ValueError(
            "the result is not a finite number, because the data or the bandwidth are too extreme for double "
            "precision; rescale the targets and check the bandwidth"
        )


def check_memory(n_bytes: int, what: str, instead: str) -> None:
    """Raise ``MemoryError`` for an array that is larger than the memory of the machine, with what to use instead."""
    if n_bytes > _memory():
        raise MemoryError(f"{what} would take {n_bytes / 1e9:.3g} GB of {_memory() / 1e9:.3g} GB of memory; {instead}")


def _memory() -> float:
    """Bytes of memory of the machine, infinite where the system does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return float("inf")


def seed_of(rng: Any) -> int:
    """An integer that reproduces the random numbers of one call.

    An integer is its own seed; None takes fresh entropy; a generator gives its next 63 random bits; a seed
    sequence gives its state.
    """
    if rng is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> np.uint64(1))
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**63))
    if isinstance(rng, np.random.SeedSequence):
        return int(rng.generate_state(1, np.uint64)[0] >> np.uint64(1))
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0:
        return int(rng)
    raise ValueError(f"rng: got {rng!r}, wanted None, a non-negative integer, a SeedSequence or a numpy Generator")


def generator_of(rng: Any) -> np.random.Generator:
    """What ``numpy.random.default_rng`` makes of a seed, or the generator itself."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise ValueError(f"rng: got {rng!r}, wanted None, a non-negative integer or a numpy Generator") from None


APART = 2**32 - 1
"""Spawn key that no counting of the children of a seed reaches."""


def generator_apart(rng: Any) -> np.random.Generator:
    """Random numbers that are neither those of ``default_rng(rng)``, which may have made the data, nor of its children.

    The children make the redraws of a call, these what else is drawn in it.
    """
    return np.random.default_rng(np.random.SeedSequence(seed_of(rng), spawn_key=(APART,)))


def seed_from(seed: object, *arrays: Array) -> int:
    """A seed of 128 bits that follows from others and the numbers in some arrays."""
    digest = blake2b(str(seed).encode(), digest_size=16)
    for array in arrays:
        digest.update(f" {array.shape} ".encode())
        digest.update(np.asarray(array, dtype=np.float64).tobytes())
    return int.from_bytes(digest.digest(), "little")


def ranges(n: int, size: int) -> Iterator[slice]:
    """Consecutive slices of at most ``size`` that cover 0..n-1."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def upper_tiles(n: int, size: int) -> tuple[Iterable[tuple[slice, slice]], int]:
    """Row and column ranges that cover the pairs i <= j, and how many: tiles on the diagonal are whole, none below."""
    strips = -(-n // size)
    tiles = ((rows, columns) for rows in ranges(n, size) for columns in ranges(n, size) if columns.start >= rows.start)
    return tiles, strips * (strips + 1) // 2
