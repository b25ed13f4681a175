"""Dask arrays: data that lie in chunks on disk or on several machines. Dask is imported only for those who use it."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from caltest._basics.numerics import are_chunks


def evenly_spaced_rows(data: Any, n: int) -> Any:
    """At most n rows at equal distances, in memory."""
    array = _with_known_length(data, "predictions")
    length = array.shape[0]
    rows = array if length <= n else array[np.arange(n) * length // n]
    return rows.compute() if are_chunks(rows) else rows


def accumulate(
    make: Callable[[int], Sequence[Any]], predictions: Any, targets: Any, step: int, classes: Sequence[Any] | None
) -> Any:
    """The merged accumulator of all chunks: each is updated where its chunk is, then they are merged in pairs.

    ``make`` gives so many accumulators. Chunks are cut at multiples of ``step`` rows.
    """
    from dask.delayed import delayed

    predictions, targets, starts = _aligned(predictions, targets, step)
    blocks = zip(predictions.to_delayed().ravel(), targets.to_delayed().ravel(), strict=True)
    accumulators = make(len(starts))
    parts = [
        delayed(_updated)(*one, classes) for one in zip(accumulators, *zip(*blocks, strict=True), starts, strict=True)
    ]
    while len(parts) > 1:
        merged = [left.merge(right) for left, right in zip(parts[::2], parts[1::2], strict=False)]
        parts = merged + parts[len(merged) * 2 :]
    return parts[0].compute()


def _updated(accumulator: Any, predictions: Any, targets: Any, start: int, classes: Sequence[Any] | None) -> Any:
    try:
        numbered = {"start": start} if accumulator.is_by_row else {}
        return accumulator.update(predictions, targets, classes=classes, **numbered)
    except ValueError as error:
        raise ValueError(f"in the chunk that begins at row {start}: {error}") from error


def _aligned(predictions: Any, targets: Any, granularity: int) -> tuple[Any, Any, list[int]]:
    """Both as dask arrays with the same chunks of rows, whole multiples of ``granularity``, and where they begin."""
    import dask.array as da

    p, y = _with_known_length(predictions, "predictions"), _with_known_length(targets, "targets")
    n = p.shape[0]
    if y.shape[:1] != (n,) or y.ndim != 1:
        raise ValueError(f"targets: got shape {y.shape}, wanted ({n},), one target per prediction")
    if n == 0:
        raise ValueError(f"predictions: got no values (shape {p.shape}), wanted at least one observation")
    chunked = p if are_chunks(p) else y
    ends = np.cumsum(chunked.chunks[0]) // granularity * granularity
    bounds = np.unique([0, *ends[:-1], n])
    sizes = tuple(int(stop - start) for start, stop in pairwise(bounds))
    if not are_chunks(p):
        p = da.from_array(p)
    if not are_chunks(y):
        y = da.from_array(y)
    return p.rechunk((sizes, *p.shape[1:])), y.rechunk((sizes,)), [int(start) for start in bounds[:-1]]


def _with_known_length(data: Any, name: str) -> Any:
    """A dask array whose chunks have known sizes, or an array in memory."""
    if not are_chunks(data):
        in_memory = np.asarray(data)
        if in_memory.ndim == 0:
            raise TypeError(
                f"{name}: got {type(data).__name__} together with a dask array, wanted a dask array or an array too"
            )
        return in_memory
    array = data.to_dask_array(lengths=True) if hasattr(data, "to_dask_array") else data
    if np.isnan(array.shape[0]):
        raise ValueError(
            f"{name}: got a dask array with chunks of unknown size; call compute_chunk_sizes() on it first"
        )
    return array
