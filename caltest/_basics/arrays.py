"""Arrays and tables that users give, with the labels of their rows."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Self

import numpy as np

from caltest._basics.numerics import Array, ArrayLike, BoolArray, IntArray, check_memory, warn


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of values, with the names of columns and the labels of rows of whatever holds them."""

    values: Array
    """(n,) or (n, k), possibly masked or objects, among which some can be missing."""
    names: tuple[Any, ...] | None = None
    """Of the k columns of a data frame or a file with a header, unless they only count."""
    index: Any = None
    """Labels of the rows: the index of a pandas object."""

    @classmethod
    def of(cls, data: ArrayLike, name: str) -> "Table":
        """The table that anything array-like is."""
        if isinstance(data, Table):
            return data
        _check_can_be_read(data, name)
        is_frame = hasattr(data, "to_numpy") or hasattr(data, "columns")
        names = tuple(getattr(data, "column_names", getattr(data, "columns", ()))) if is_frame else ()
        if is_data_array(data) and len(data.dims) == 2:
            labels = data.indexes.get(data.dims[1], ())
            names = tuple(labels) if all(isinstance(one, str) for one in labels) else ()
        return cls(
            _as_given(data, name),
            names if names and names != tuple(range(len(names))) else None,
            index_of(data) if is_frame else None,
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
            lacking = np.array([is_missing(value) for value in data.flat], dtype=bool).reshape(data.shape)
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
        ``ValueError`` if their numbers of rows differ and some labels are in both.
        """
        index, wanted = self.index, other.index
        if index is None or wanted is None:
            return self, ()
        counts = any(type(one).__name__ == "RangeIndex" for one in (index, wanted))
        if len(index) != len(wanted):
            if not counts and (shared := len(set(index) & set(wanted))):
                raise ValueError(
                    f"{name} and {other_name}: got {len(index)} and {len(wanted)} rows, {shared} of whose labels are "
                    "in both, wanted the same rows; leave the others out first"
                )
            return self, ()
        if index.equals(wanted):
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
            shared = len(set(index) & set(wanted))
            # Times that have none in common, as in other time zones, are no mere numbers of rows.
            if (shared or (are_times(index) and are_times(wanted))) and not counts:
                warn(
                    f"{name} and {other_name} have {shared} of {len(index)} labels of their indices in common, and are "
                    "matched by position; if rows are left out of one of them, bring both to the same rows first, "
                    "else pass to_numpy() of both"
                )
            return self, ()
        note = f"{name} and {other_name} were matched by their index, which is in another order"
        if counts:
            warn(f"{note}; to match them by position pass to_numpy() of both")
        return self.take(rows), (note,)


MEMBERS = "member", "members", "number", "realization", "realisation", "ensemble", "ens", "draw", "sample"
"""The dimensions of the members of ensembles in xarray, as models call them; a sample that is first counts rows."""


def is_data_array(data: Any) -> bool:
    """Whether data have named dimensions, as those of xarray have."""
    return hasattr(data, "dims") and hasattr(data, "indexes") and not hasattr(data, "data_vars")


def member_dimension(data: Any) -> Any:
    """The dimension of members of data with named dimensions, one of several; None if none is called so."""
    names = [name for name in MEMBERS if name in data.dims and (name != "sample" or data.dims[0] != name)]
    return names[0] if names and len(data.dims) > 1 else None


def with_members_second(data: Any) -> Any:
    """Data with named dimensions with that of members as the second one; others as given."""
    if not is_data_array(data) or (members := member_dimension(data)) is None:
        return data
    first, *others = (name for name in data.dims if name != members)
    return data.transpose(first, members, *others)


def members_elsewhere(shape: tuple[int, ...], wanted: tuple[int, ...], name: str, members: str = "members") -> str:
    """Advice where another axis than the second is that of members: without it the shape is that of the targets."""
    for axis, called in ((0, "first"), (2, "last")):
        if axis < len(shape) and shape[:axis] + shape[axis + 1 :] == wanted:
            return f"; pass numpy.moveaxis({name}, {axis}, 1) if the {called} axis is that of the {members}"
    return ""


def index_of(data: Any) -> Any:
    """Labels of the rows of an object of pandas or xarray, or of predictions that are made of some; None without."""
    if type(data).__module__.startswith("narwhals."):
        data = data.to_native()
    index = getattr(data, "index", None)
    if index is None and is_data_array(data):
        members = member_dimension(data)
        index = data.indexes.get(next((name for name in data.dims if name != members), None))
    return index if hasattr(index, "get_indexer") else None


def order_of(targets: Any, predictions: Any) -> Table:
    """Labels of the rows of a call without their values: those of the targets, else of the predictions, or none."""
    indices = index_of(targets), index_of(predictions)
    return Table(np.empty(0), index=next((one for one in indices if one is not None), None))


def are_times(index: Any) -> bool:
    """Whether an index of pandas has times."""
    return type(index).__name__ in ("DatetimeIndex", "PeriodIndex")


def last_time(index: Any, latest: Any = None) -> Any:
    """The last time of an index of times, else the one before; ``ValueError`` if times go backwards."""
    if not are_times(index):
        return latest
    zones = [getattr(one, "tz", None) for one in (index, latest)]
    if latest is not None and len({zone is None for zone in zones}) > 1:
        now, before = (f"the time zone {zone}" if zone else "no time zone" for zone in zones)
        raise ValueError(f"targets: got times with {now} after some with {before}, wanted the same")
    times = index if latest is None else index.insert(0, latest)
    if not times.is_monotonic_increasing:
        late = next(i for i in range(1, len(times)) if not times[i - 1] <= times[i])
        raise ValueError(
            f"targets: got a row of {times[late]} after one of {times[late - 1]}, wanted rows in the order of time; "
            "sort both by their index, or pass to_numpy() of both if it is not the time of the outcomes"
        )
    return index[-1]


def labelled_as(targets: Any, models: Iterable[Any]) -> Any:
    """Targets of several models with labels of rows: their own, else those of the first model that has some."""
    index = next((one for one in map(index_of, (targets, *models)) if one is not None), None)
    return targets if index is index_of(targets) else Table(Table.of(targets, "targets").values, index=index)


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


def read_only(array: Array, dtype: Any) -> Array:
    """A read-only, C-contiguous view of an array, or of a converted copy where type or layout differ.

    Loops that are given such views see one type of array and are compiled once.
    """
    view = np.require(array, dtype, ["C", "A"]).view()
    view.flags.writeable = False
    return view


def are_chunks(data: Any) -> bool:
    """Whether data are a dask array, series or data frame, or predictions that are made of some."""
    kind = type(data)
    return getattr(kind, "in_chunks", False) or (
        hasattr(data, "to_delayed") and kind.__module__.split(".")[0] in ("dask", "dask_expr")
    )


BRIDGED = ("statsmodels", "lifelines", "ngboost", "skpro", "arviz")
"""Libraries whose models and forecasts ``bridges.predictions_of`` takes."""


def _check_can_be_read(data: Any, name: str) -> None:
    """Raise ``ValueError`` for what holds numbers, or predicts some, but is no array of them, with what to pass."""
    if isinstance(data, (np.ndarray, list, tuple)) or are_chunks(data):
        return
    got, advice = f"a {type(data).__name__}", ""
    if data is None:
        got = "None"
    elif isinstance(data, (str, os.PathLike)) and Path(data).suffix:
        got, advice = repr(data), "; read the file first, or test it with caltest test in a shell"
    elif type(data).__module__.partition(".")[0] in BRIDGED or getattr(data, "children", None):
        advice = f"; pass ct.bridges.predictions_of({name}), which says what it takes beside it"
    elif hasattr(data, "collect"):
        advice = f"; pass {name}.collect()"
    elif hasattr(data, "data_vars"):
        advice = "".join(f"; pass one of its variables, such as {name}[{one!r}]" for one in list(data.data_vars)[:1])
    elif isinstance(data, Mapping):
        advice = f"; pass pandas.DataFrame({name})"
    elif isinstance(data, Iterator):
        advice = f"; pass list({name})"
    elif hasattr(data, "predict"):
        advice = _of_a_model(data, name)
    elif any(hasattr(data, one) for one in ("__array__", "__len__", "detach")) or np.asarray(data).dtype != object:
        return
    raise ValueError(f"{name}: got {got}, wanted an array or a table of numbers{advice}")


def _of_a_model(model: Any, name: str) -> str:
    """What to pass in place of a model that predicts; those with ``get_params`` are of scikit-learn's kind."""
    unseen = "of rows that it was not fitted to"
    if hasattr(model, "predict_survival_function"):
        return "; pass its survival curves at some times: ct.predictions.SurvivalCurve(times, probabilities)"
    if hasattr(model, "predict_proba"):
        return f"; pass {name}.predict_proba(X), {unseen}"
    if not hasattr(model, "get_params"):
        return f"; pass {name}.predict(X), {unseen}"
    if hasattr(model, "classes_"):
        makes = 'ct.recalibration.CalibratedModel(model, ct.recalibration.Platt(input="logits"))'
        return f"; it predicts no probabilities: fit {makes}, which does, to rows that are not tested"
    code = getattr(model.predict, "__code__", None)  # None of compiled methods.
    if code is not None and "return_std" in code.co_varnames:
        return f"; pass ct.Normal(*{name}.predict(X, return_std=True)), {unseen}"
    return "; its predict(X) has no uncertainty to test: pass ct.Normal(mean, scale), quantiles or intervals"


def _as_given(data: ArrayLike, name: str) -> Array:
    """A numpy array of what is given, possibly masked or of objects."""
    if are_chunks(data):
        raise TypeError(
            f"{name}: got a dask {type(data).__name__}, which may not fit into memory; pass the result of compute(), "
            "or use AsymptoticBlockSKCETest(kernel) or MonteCarloTest(LowRankSKCE(kernel)), which take its chunks"
        )
    if hasattr(data, "tocsr") and hasattr(data, "toarray"):
        # Of scipy.sparse. Arrays of all numbers, of which there are more than of those that are not 0.
        advice = "pass some of the rows at a time to the accumulator of a test that has one"
        size, rows = data.dtype.itemsize * prod(data.shape), (data.shape[0], "rows")
        check_memory(size, f"{name} as an array that is not sparse", rows, advice)
        data = data.toarray()
    data = with_time_zone(data)
    if _is_tensor(data):
        data = _from_tensor(data)
    elif isinstance(data, (list, tuple)) and any(_is_tensor(value) for value in data):
        data = [_from_tensor(value) if _is_tensor(value) else value for value in data]
    elif hasattr(data, "to_numpy") and type(data).__module__.partition(".")[0] != "pyarrow":
        data = data.to_numpy()  # that of pyarrow refuses what has to be copied
    if isinstance(data, np.ma.MaskedArray):
        return data
    try:
        array = np.asarray(data)
    except ValueError:
        advice = " (concatenate batches first; where a row has fewer choices, fill it up with probabilities of 0)"
        are_classes = name in ("predictions", "probabilities")
        raise ValueError(
            f"{name}: got rows of different lengths, wanted a rectangular array{advice * are_classes}"
        ) from None
    if array.dtype.kind in "US" and isinstance(data, (list, tuple)) and not all(map(_is_text, data)):
        # numpy makes texts of numbers and of missing values, "1" of 1 and "nan" of nan.
        return np.array(data, dtype=object)
    return array


def with_time_zone(column: Any) -> Any:
    """Times of polars and pyarrow with a time zone as objects that know it, as arrays of numpy do not; others as given.

    Of pandas numpy makes such objects itself.
    """
    if getattr(getattr(column, "dtype", None), "time_zone", None):
        return column.to_list()
    return column.to_pylist() if getattr(getattr(column, "type", None), "tz", None) else column


def _is_tensor(data: Any) -> bool:
    return hasattr(data, "detach") and hasattr(data, "cpu")


def _from_tensor(tensor: Any) -> Any:
    """On the processor, without a copy if it is there."""
    tensor = tensor.detach().cpu()
    try:
        return tensor.numpy()
    except TypeError:
        # Types of 16 bits that numpy does not know.
        return tensor.double().numpy()


def _from_objects(array: Array, name: str) -> Array:
    flat = array.ravel()
    if flat.size == 0:
        return array.astype(float)
    missing = next((i for i, value in enumerate(flat) if is_missing(value)), None)
    if missing is not None:
        raise ValueError(
            f"{name}: got a missing value at {_place(missing, array)}, wanted complete data; drop those rows, if "
            "whether a value is missing does not depend on the outcome"
        )
    if all(isinstance(value, str) for value in flat):
        return array.astype(str)
    try:
        if any(isinstance(value, (str, bytes)) for value in flat):
            raise TypeError
        converted = np.array([value if isinstance(value, (bool, int, float)) else float(value) for value in flat])
    except (TypeError, ValueError):
        got = ", ".join(sorted({type(value).__name__ for value in flat}))
        rows = isinstance(flat[0], (list, tuple, np.ndarray))
        advice = f"; pass numpy.stack(list({name})) if each is a row of numbers" if rows else ""
        text = next((i for i, value in enumerate(flat) if isinstance(value, str)), None)
        if text is not None:
            advice = f"; {flat[text]!r} is at {_place(text, array)}"
        if type(flat[0]).__module__.startswith("scipy.stats"):
            advice = f"; pass distributions as a list: list({name})"
        raise ValueError(f"{name}: got values of type {got}, wanted numbers, or text for all of them{advice}") from None
    return converted.reshape(array.shape)


def _place(i: int, array: Array) -> str:
    """Where the i-th value of an array is, in words."""
    at = [int(one) for one in np.unravel_index(i, array.shape)]
    return f"row {at[0]}, column {at[1]}" if len(at) == 2 else f"position {', '.join(map(str, at))}"


def _is_text(value: Any) -> bool:
    """Whether a value, or a row of values, is text."""
    if isinstance(value, (list, tuple)):
        return all(map(_is_text, value))
    return isinstance(value, (str, bytes, np.ndarray))


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT, or pandas.NA, of which no comparison is true or false."""
    if value is None or type(value).__name__ == "NAType":
        return True
    try:
        differs = value != value
    except TypeError:
        # Lazy tables have no values to compare.
        return False
    return isinstance(differs, (bool, np.bool_)) and bool(differs)
