"""Arrays and numbers: types, what becomes an array, errors of floats, seeds, p-values of resampling, warnings."""

import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from math import ceil, prod
from pathlib import Path
from typing import Any, Self, TypeAlias

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


def resampling_pvalues(observed: FloatArray, draws: FloatArray) -> FloatArray:
    """The same of many observed values (R,)."""
    below = np.searchsorted(np.sort(draws), _least_tied(observed, draws))
    return np.asarray((1 + draws.size - below) / (1 + draws.size))


def step_down(statistics: FloatArray) -> FloatArray:
    """Adjusted p-values (G,) of statistics (G, B + 1), of which the first column is observed and the others redrawn.

    In the order of the observed statistics, the largest first, each is compared with the maximum of the redrawn ones of
    itself and those after it; no adjusted p-value is smaller than one before it.
    """
    order = np.argsort(-statistics[:, 0], kind="stable")
    largest = np.maximum.accumulate(statistics[order, 1:][::-1], axis=0)[::-1]
    pvalues = [resampling_pvalue(float(statistics[g, 0]), largest[i]) for i, g in enumerate(order)]
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate(pvalues)
    return adjusted


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
        counts = any(type(one).__name__ == "RangeIndex" for one in (index, wanted))
        if rows.dtype.kind not in "iu":
            shared = len(set(index) & set(wanted))
            if shared and not counts:
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


MEMBER = "member"
"""The dimension of the members of ensembles in xarray."""


def is_data_array(data: Any) -> bool:
    """Whether data have named dimensions, as those of xarray have."""
    return hasattr(data, "dims") and hasattr(data, "indexes") and not hasattr(data, "data_vars")


def index_of(data: Any) -> Any:
    """Labels of the rows of an object of pandas or xarray, or of predictions that are made of some; None without."""
    index = getattr(data, "index", None)
    if index is None and is_data_array(data):
        index = data.indexes.get(next((name for name in data.dims if name != MEMBER), None))
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
    elif type(data).__module__.partition(".")[0] in BRIDGED:
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
        way = "predict_proba" if hasattr(data, "predict_proba") else "predict"
        advice = f"; pass {name}.{way}(X), of rows that it was not fitted to"
    elif any(hasattr(data, one) for one in ("__array__", "__len__", "detach")) or np.asarray(data).dtype != object:
        return
    raise ValueError(f"{name}: got {got}, wanted an array or a table of numbers{advice}")


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
        raise ValueError(
            f"{name}: got rows of different lengths, wanted a rectangular array (concatenate batches first; "
            "where a row has fewer choices, fill it up with probabilities of 0)"
        ) from None
    if array.dtype.kind in "US" and isinstance(data, (list, tuple)) and not all(map(_is_text, data)):
        # numpy makes texts of numbers and of missing values, "1" of 1 and "nan" of nan.
        return np.array(data, dtype=object)
    return array


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
        at = [int(i) for i in np.unravel_index(missing, array.shape)]
        place = f"row {at[0]}, column {at[1]}" if len(at) == 2 else f"position {', '.join(map(str, at))}"
        raise ValueError(
            f"{name}: got a missing value at {place}, wanted complete data; drop those rows, if whether a value is "
            "missing does not depend on the outcome"
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
        raise ValueError(f"{name}: got values of type {got}, wanted numbers, or text for all of them{advice}") from None
    return converted.reshape(array.shape)


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
