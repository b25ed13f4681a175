"""Numbers: types of arrays, sums, seeds, p-values of resampling, memory, warnings."""

import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cache
from hashlib import blake2b
from math import ceil
from pathlib import Path
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

FloatArray: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[np.float64]]
IntArray: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[np.intp]]
BoolArray: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[np.bool_]]
Array: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[Any]]
ArrayLike: TypeAlias = Any
"""Anything that becomes an array: lists, numpy, pandas, polars, torch."""

TIE_TOLERANCE = 1e-10
"""Relative difference below which two values of a statistic count as equal.

Equal configurations summed in another order differ in their last bits; without a tolerance such ties would be
broken by rounding.
"""


def resampling_pvalue(observed: float, draws: FloatArray) -> float:
    """``(1 + #{draw >= observed}) / (1 + B)`` for B draws, ties counted with a relative tolerance.

    Never 0. If the observed value and the draws are exchangeable under the null hypothesis, the rejection
    probability at level alpha is at most alpha for every B (Dwass 1957; Phipson and Smyth 2010).
    """
    return (1 + int(np.count_nonzero(at_least_as_large(observed, draws)))) / (1 + draws.size)


def resampling_pvalues(observed: FloatArray, draws: FloatArray, counts: FloatArray | None = None) -> FloatArray:
    """The same of many observed values (R,), where each draw counts once, or as often as numbers (B,) say."""
    order = np.argsort(draws)
    above = np.arange(draws.size + 1.0) if counts is None else np.cumsum(np.append(0.0, counts[order[::-1]]))
    below = np.searchsorted(draws[order], _least_tied(observed, draws))
    return np.asarray((1.0 + above[draws.size - below]) / (1.0 + above[-1]))


def step_down(statistics: FloatArray) -> FloatArray:
    """Adjusted p-values (G,) of statistics (G, B + 1), of which the first column is observed and the others redrawn.

    In the order of the observed statistics, the largest first, each is compared with the maximum of the redrawn ones of
    itself and those after it; no adjusted p-value is smaller than one before it.
    """
    order = np.argsort(-statistics[:, 0], kind="stable")
    largest = np.maximum.accumulate(statistics[order, 1:][::-1], axis=0)[::-1]
    pvalues = [resampling_pvalue(float(statistics[g, 0]), largest[i]) for i, g in enumerate(order)]
    return never_falling(pvalues, order)


def never_falling(pvalues: ArrayLike, order: IntArray) -> FloatArray:
    """P-values (G,) of which none is smaller than one before it, from those in an order (G,) to those as they come."""
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate(pvalues)
    return adjusted


def rows_by_size(values: FloatArray, number: int) -> list[IntArray]:
    """Rows of groups of about equal numbers of rows, the smallest values first; equal ones are together."""
    order = np.argsort(values, kind="stable")
    cuts = np.searchsorted(values[order], values[order][(np.arange(1, number) * values.size) // number])
    return [one for one in np.split(order, np.unique(cuts)) if one.size]


def normalised(rows: Array) -> FloatArray:
    """Rows (..., k) that sum to 1."""
    return np.asarray(rows / rows.sum(axis=-1, keepdims=True))


def band_of_redraws(values: FloatArray, level: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Ends (q,) that hold all of a row of observed and redrawn values (B + 1, q) with the level at least, for every n.

    Third, the largest deviations (B + 1,) from the means in standard deviations. The rows are exchangeable, so that the
    share of rows beyond a quantile of all of them is the probability of each to be beyond it.
    """
    centre, scale = values.mean(axis=0), values.std(axis=0)
    largest = (np.abs(values - centre) / np.where(scale > 1e-12 * np.abs(centre), scale, 1.0)).max(axis=1)
    last = min(len(values), ceil(level * len(values) - 1e-9))
    reach = (1.0 + 1e-9) * float(np.sort(largest)[last - 1]) * scale
    return centre - reach, centre + reach, largest


def at_least_as_large(observed: float, draws: FloatArray) -> BoolArray:
    """Which draws are larger than the observed value or equal to it up to rounding."""
    return np.asarray(draws >= _least_tied(observed, draws))


def _least_tied(observed: float | FloatArray, draws: FloatArray) -> FloatArray:
    """The smallest draws that are equal to observed values up to rounding; ``ValueError`` unless all are finite."""
    size = float(np.mean(np.abs(draws)))
    check_finite(*np.atleast_1d(observed), size)
    return np.asarray(observed - TIE_TOLERANCE * np.maximum(np.abs(observed), size))


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


def check_memory(n_bytes: int, what: str, of: tuple[int, str], instead: str = "", power: int = 1) -> None:
    """Raise ``MemoryError`` for an array larger than the memory, with how many of what it is made of would fit.

    Its size is proportional to a power of their number.
    """
    memory, (number, name) = memory_size(), of
    if n_bytes > memory:
        fitting = int(number * (memory / n_bytes) ** (1.0 / power))
        fits = f"{fitting:,} of the {number:,}" if fitting else "not even one of the"
        message = f"{what} would take {n_bytes / 1e9:.3g} GB of {memory / 1e9:.3g} GB of memory"
        raise MemoryError(f"{message}; {fits} {name} would fit" + (f"; else {instead}" if instead else ""))


LIMITS = "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"
"""Where Linux says how much a container may take."""


@cache
def memory_size() -> float:
    """Bytes of memory of the machine or container, infinite where the system does not tell."""
    try:
        memory = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        memory = float("inf")
    for path in LIMITS:
        with suppress(OSError, ValueError):
            memory = min(memory, float(Path(path).read_text()))
    return memory


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
    raise _no_rng(rng)


def check_rng(rng: Any) -> None:
    """Raise ``ValueError`` for what ``seed_of`` does not take, where no random numbers are needed."""
    if not isinstance(rng, np.random.Generator):
        seed_of(rng)


def _no_rng(rng: Any) -> ValueError:
    return ValueError(f"rng: got {rng!r}, wanted None, a non-negative integer, a SeedSequence or a numpy Generator")


def generator_of(rng: Any) -> np.random.Generator:
    """What ``numpy.random.default_rng`` makes of a seed, or the generator itself."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise _no_rng(rng) from None


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


def evenly_spaced(n: int, most: int) -> IntArray:
    """Rows of n, in their order: all, or at most so many at equal distances."""
    return np.arange(min(n, most)) * n // max(1, min(n, most))


def ranges(n: int, size: int) -> Iterator[slice]:
    """Consecutive slices of at most ``size``, and of 1 at least, that cover 0..n-1."""
    size = max(1, size)
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def upper_tiles(n: int, size: int) -> tuple[Iterable[tuple[slice, slice]], int]:
    """Row and column ranges that cover the pairs i <= j, and how many: tiles on the diagonal are whole, none below."""
    strips = -(-n // size)
    tiles = ((rows, columns) for rows in ranges(n, size) for columns in ranges(n, size) if columns.start >= rows.start)
    return tiles, strips * (strips + 1) // 2


INSIDE = {"caltest", "contextlib", "numpy"}
"""The package, and what decorates its functions."""


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line outside the package."""
    level = 2
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over observations, to which those of others are added field by field."""

    redrawn: ClassVar[Mapping[str, int]] = {}
    """Fields that are linear in what each observed or redrawn target adds, with the axis of these."""

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))
