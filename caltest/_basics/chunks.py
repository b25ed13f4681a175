"""Dask arrays: data that lie in chunks on disk or on several machines. Dask is imported only for those who use it."""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from caltest._basics.arrays import Table, are_chunks
from caltest._basics.numerics import evenly_spaced


@dataclass(frozen=True, eq=False)
class ChunkedPredictions:
    """Predictions of a family that are made of chunks of dask arrays where these are.

    Dask arrays, and arrays of as many rows, are cut; other arguments are the same for all rows.
    """

    in_chunks: ClassVar[bool] = True
    family: Callable[..., Any]
    arguments: tuple[Any, ...]
    named: dict[str, Any]


@dataclass(frozen=True)
class Place:
    """Where a chunk of an array belongs among the arguments of a family, with the names of the columns of a frame."""

    number: int
    names: tuple[Any, ...] | None = None


def have_chunks(arguments: Sequence[Any]) -> bool:
    """Whether there is a dask array among the arguments of a family, or in a list of them."""
    return any(are_chunks(one[0] if isinstance(one, list) and one else one) for one in arguments)


def evenly_spaced_rows(data: Any, n: int) -> Any:
    """At most n rows at equal distances, in memory."""
    form, columns = _taken_apart(data)
    some = evenly_spaced(columns[0].shape[0], n)
    rows = [one[some] for one in columns]
    return _put_together(form, [one.compute() if are_chunks(one) else one for one in rows])


def accumulate(empty: Any, predictions: Any, targets: Any, step: int, classes: Sequence[Any] | None) -> Any:
    """The merged accumulator of all chunks: one for each is updated where its chunk is, then they are merged in pairs.

    ``empty`` is one without observations, which is sent once to each worker. Chunks are cut at multiples of ``step``
    rows. A task changes none of its arguments, so that one that is done again, because a worker died, does the same.
    """
    from dask.delayed import delayed

    form, columns = _taken_apart(predictions)
    *columns, targets, starts = _aligned(columns, targets, step, isinstance(form, Place))
    blocks = zip(*(one.to_delayed().ravel() for one in columns), strict=True)
    given = enumerate(zip(blocks, targets.to_delayed().ravel(), starts, strict=True))
    sent, update = delayed(empty), delayed(_updated)
    parts = [update(sent, part, form, list(block), y, start, classes) for part, (block, y, start) in given]
    while len(parts) > 1:
        merged = [delayed(_merged)(*pair) for pair in zip(parts[::2], parts[1::2], strict=False)]
        parts = merged + parts[len(merged) * 2 :]
    return parts[0].compute()


def _updated(
    empty: Any, part: int, form: Any, blocks: Sequence[Any], targets: Any, start: int, classes: Sequence[Any] | None
) -> Any:
    try:
        numbered = {"start": start} if empty.is_by_row else {}
        return empty.of_part(part).update(_put_together(form, blocks), targets, classes=classes, **numbered)
    except ValueError as error:
        raise ValueError(f"in the chunk that begins at row {start}: {error}") from error


def _merged(left: Any, right: Any) -> Any:
    return copy(left).merge(right)


def _taken_apart(data: Any) -> tuple[Any, list[Any]]:
    """What predictions are made of, with places for arrays that are cut into chunks, and these."""
    if not isinstance(data, ChunkedPredictions):
        return Place(0, _names_of(data)), [_with_known_length(data, "predictions")]
    columns: list[Any] = []

    def apart(value: Any, n: int | None) -> Any:
        if isinstance(value, ChunkedPredictions):
            named = {name: apart(one, n) for name, one in value.named.items()}
            return replace(value, arguments=tuple(apart(one, n) for one in value.arguments), named=named)
        if isinstance(value, list) and have_chunks(value):
            return [apart(one, n) for one in value]
        if not are_chunks(value) and (n is None or n not in getattr(value, "shape", ())[:1]):
            return value
        columns.append(_with_known_length(value, "predictions"))
        return Place(len(columns) - 1, _names_of(value))

    apart(data, None)
    n = columns[0].shape[0]
    columns.clear()
    form = apart(data, n)
    lengths = sorted({one.shape[0] for one in columns})
    if len(lengths) > 1:
        raise ValueError(f"predictions: got dask arrays of {' and '.join(map(str, lengths))} rows, wanted one length")
    return form, columns


def _names_of(data: Any) -> tuple[Any, ...] | None:
    """Names of the columns of a dask data frame, unless they only count."""
    if not (are_chunks(data) and hasattr(data, "columns") and data.ndim == 2):
        return None
    names = tuple(data.columns)
    return None if names == tuple(range(len(names))) else names


def _put_together(form: Any, blocks: Sequence[Any]) -> Any:
    if isinstance(form, Place):
        block = blocks[form.number]
        return block if form.names is None else Table(block, form.names)
    if isinstance(form, list):
        return [_put_together(one, blocks) for one in form]
    if not isinstance(form, ChunkedPredictions):
        return form
    named = {name: _put_together(one, blocks) for name, one in form.named.items()}
    return form.family(*(_put_together(one, blocks) for one in form.arguments), **named)


def _aligned(columns: Sequence[Any], targets: Any, granularity: int, are_classes: bool) -> list[Any]:
    """All as dask arrays with the same chunks of rows, whole multiples of ``granularity``, and where they begin."""
    import dask.array as da

    y, p = _with_known_length(targets, "targets"), columns[0]
    n = p.shape[0]
    if y.shape[:1] != (n,) or y.ndim > (1 if are_classes else 2):
        raise ValueError(f"targets: got shape {y.shape}, wanted ({n},), one target per prediction")
    if n == 0:
        raise ValueError(f"predictions: got no values (shape {p.shape}), wanted at least one observation")
    chunked = next(one for one in (*columns, y) if are_chunks(one))
    ends = np.cumsum(chunked.chunks[0]) // granularity * granularity
    bounds = np.unique([0, *ends[:-1], n])
    sizes = tuple(int(stop - start) for start, stop in pairwise(bounds))
    arrays = (one if are_chunks(one) else da.from_array(one) for one in (*columns, y))
    return [*(one.rechunk((sizes, *one.shape[1:])) for one in arrays), [int(start) for start in bounds[:-1]]]


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
