"""Anything array-like as a numpy array or a table: lists, numpy, pandas, polars, torch, files."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike

from caltest._basics.numerics import Array, ArrayLike, BoolArray, IntArray
from caltest._basics.warnings import warn


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of values, with the names of columns and the labels of rows of whatever holds them.

    Attributes
    ----------
    values
        (n,) or (n, k), possibly masked or objects, among which some can be missing.
    names
        Of the k columns of a data frame or a file with a header, unless they only count.
    index
        Labels of the rows: the index of a pandas object.
    """

    values: Array
    names: tuple[Any, ...] | None = None
    index: Any = None

    @classmethod
    def of(cls, data: ArrayLike, name: str) -> "Table":
        """The table that anything array-like is."""
        if isinstance(data, Table):
            return data
        is_frame = hasattr(data, "to_numpy") or hasattr(data, "columns")
        names = tuple(getattr(data, "columns", ())) if is_frame else ()
        index = getattr(data, "index", None) if is_frame else None
        return cls(
            _as_given(data, name),
            names if names and names != tuple(range(len(names))) else None,
            index if hasattr(index, "get_indexer") else None,
        )

    def take(self, rows: IntArray) -> Self:
        """Some of the rows, or all in another order."""
        return type(self)(self.values[rows], self.names, None if self.index is None else self.index[rows])

    def array(self, name: str) -> Array:
        """The values, none of which is missing; ``ValueError`` if one is, or for values of mixed types."""
        array = self.values
        if isinstance(array, np.ma.MaskedArray):
            if np.ma.getmaskarray(array).any():
                raise ValueError(
                    f"{name}: got a masked array with masked values, wanted complete data; drop those rows first"
                )
            array = np.asarray(array)
        return _from_objects(array, name) if array.dtype == object else array

    def missing(self) -> BoolArray:
        """Which rows lack a value: NaN, None, pandas.NA, NaT or masked, (n,)."""
        array = self.values
        data = np.ma.getdata(array)
        if data.dtype == object:
            lacking = np.array([_is_missing(value) for value in data.flat], dtype=bool).reshape(data.shape)
        elif data.dtype.kind in "fcmM":
            lacking = data != data
        else:
            lacking = np.zeros(data.shape, dtype=bool)
        if data.dtype.names is None:
            lacking = lacking | np.ma.getmaskarray(array)
        return np.asarray(lacking.any(axis=tuple(range(1, lacking.ndim))))

    def in_order_of(self, other: "Table", name: str, other_name: str) -> tuple[Self, tuple[str, ...]]:
        """The rows in the order of those of another table with the same labels, and notes if they were in another.

        As in the arithmetic of pandas. Rows without labels, or with other ones, are matched by their position.
        """
        index, wanted = self.index, other.index
        if index is None or wanted is None or len(index) != len(wanted) or index.equals(wanted):
            return self, ()
        if not (index.is_unique and wanted.is_unique):
            if sorted(map(repr, index)) == sorted(map(repr, wanted)):
                warn(
                    f"{name} and {other_name} have the same index in another order, in which labels repeat; "
                    "they are matched by position"
                )
            return self, ()
        rows = wanted.map({label: row for row, label in enumerate(index)}).to_numpy()
        if rows.dtype.kind not in "iu":
            return self, ()
        note = f"{name} and {other_name} were matched by their index, which is in another order"
        if any(type(one).__name__ == "RangeIndex" for one in (index, wanted)):
            warn(f"{note}; to match them by position pass to_numpy() of both")
        return self.take(rows), (note,)


def to_array(data: ArrayLike, name: str) -> Array:
    """Any array-like as a numpy array without missing values, by position."""
    return Table.of(data, name).array(name)


def column(array: Array) -> Array:
    """The numbers (n,) of one column (n, 1); other arrays as they are."""
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def in_one_order(data: Sequence[ArrayLike], names: Sequence[str]) -> list[Table]:
    """Tables whose rows have the order of the first one with an index, where they have its labels."""
    tables = [Table.of(one, name) for one, name in zip(data, names, strict=True)]
    first = next((i for i, table in enumerate(tables) if table.index is not None), 0)
    return [table.in_order_of(tables[first], name, names[first])[0] for table, name in zip(tables, names, strict=True)]


def read_only(array: Array, dtype: DTypeLike) -> Array:
    """A read-only, C-contiguous view of an array, or of a converted copy where type or layout differ.

    Loops that are given such views see one type of array and are compiled once.
    """
    view = np.require(array, dtype, ["C", "A"]).view()
    view.flags.writeable = False
    return view


def are_chunks(data: Any) -> bool:
    """Whether data are a dask array, series or data frame."""
    return hasattr(data, "to_delayed") and type(data).__module__.split(".")[0] in ("dask", "dask_expr")


def _as_given(data: ArrayLike, name: str) -> Array:
    """A numpy array of what is given, possibly masked or of objects."""
    if are_chunks(data):
        raise TypeError(
            f"{name}: got a dask {type(data).__name__}, which may not fit into memory; pass the result of compute(), "
            "or use AsymptoticBlockSKCETest(kernel) or MonteCarloTest(LowRankSKCE(kernel)), which take its chunks"
        )
    if _is_tensor(data):
        data = _from_tensor(data)
    elif isinstance(data, (list, tuple)) and any(_is_tensor(value) for value in data):
        data = [_from_tensor(value) if _is_tensor(value) else value for value in data]
    elif hasattr(data, "to_numpy"):
        data = data.to_numpy()
    if isinstance(data, np.ma.MaskedArray):
        return data
    try:
        array = np.asarray(data)
    except ValueError:
        raise ValueError(
            f"{name}: got rows of different lengths, wanted a rectangular array (concatenate batches first)"
        ) from None
    if array.dtype.kind in "US" and isinstance(data, (list, tuple)) and any(map(_is_missing, data)):
        # numpy makes the text "nan" of it.
        return np.array(data, dtype=object)
    return array


def _is_tensor(data: Any) -> bool:
    return hasattr(data, "detach") and hasattr(data, "cpu")


def _from_tensor(tensor: Any) -> Any:
    tensor = tensor.detach().cpu()
    if tensor.is_floating_point():
        tensor = tensor.double()
    return tensor.numpy()


def _from_objects(array: Array, name: str) -> Array:
    flat = array.ravel()
    if flat.size == 0:
        return array.astype(float)
    missing = next((i for i, value in enumerate(flat) if _is_missing(value)), None)
    if missing is not None:
        raise ValueError(f"{name}: got a missing value at position {missing}, wanted complete data; drop those rows")
    if all(isinstance(value, str) for value in flat):
        return array.astype(str)
    try:
        if any(isinstance(value, (str, bytes)) for value in flat):
            raise TypeError
        converted = np.array([value if isinstance(value, (bool, int, float)) else float(value) for value in flat])
    except (TypeError, ValueError):
        kinds = sorted({type(value).__name__ for value in flat})
        got = ", ".join(kinds)
        raise ValueError(f"{name}: got values of type {got}, wanted numbers, or text for all of them") from None
    return converted.reshape(array.shape)


def _is_missing(value: Any) -> bool:
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, (float, np.floating)) and bool(value != value))
        or (isinstance(value, (np.datetime64, np.timedelta64)) and bool(np.isnat(value)))
    )
