"""Columns of features as bins and categories, with words for each."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from math import log
from typing import Any

import numpy as np
import scipy

from caltest._basics.arrays import Table, is_missing, order_of, with_time_zone
from caltest._basics.numerics import Array, BoolArray, FloatArray, IntArray
from caltest._validation import same_length

MIDNIGHT = re.compile(r"[T ]00:00:00(\.0+)?([+-]\d\d:\d\d)?$")
"""How dates that are stored as times end, in any time zone."""

ISO = re.compile(r"\s*\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?\s*")
"""Text of dates and times, without a time zone."""

MOST = 50
"""Categories of a column; of more the most frequent ones have a slice, and one is of all others."""

BY_CHANCE = 1e6
"""Orders of outcomes from which on a column that has theirs is made from them."""

READ = 8
"""Characters of a number that one reads."""

ROUNDING = 1e-12
"""Correlations are 1 up to it, also of numbers in single precision."""


@dataclass(frozen=True)
class Column:
    """A column whose rows are in bins or categories: their numbers (n,), and words for each."""

    codes: IntArray = field(repr=False)
    words: tuple[str, ...]


def columns_of(features: Any, targets: Any, n: int, n_bins: int) -> tuple[list[Column], tuple[str, ...]]:
    """The columns of a data frame, a mapping or an (n, d) array that have two bins or more, and notes on the others."""
    found = columns_for(features, targets, n)
    columns = [one for name, values in found if len((one := coded(name, values, n_bins)).words) > 1]
    if not columns:
        raise ValueError(NONE_VARIES)
    return columns, notes_on(found)


NONE_VARIES = (
    "features: got no column with two different values, wanted at least one; a missing value counts as one of them"
)
"""What an error says."""


def notes_on(columns: Iterable[tuple[str, Array]]) -> tuple[str, ...]:
    """Which columns are left out, and which have more categories than are looked at one by one."""
    alone, notes = [], []
    for name, values in columns:
        missing = missing_in(name, values)
        if numbers_in(values, missing) is not None or missing.all():
            kinds: set[Any] = set(np.unique(values[~missing])[:2].tolist())
        else:
            kinds = {str(one) for one in values[~missing].tolist()}
        if len(kinds) + bool(missing.any()) < 2:
            alone.append(name)
        elif len(kinds) > MOST:
            types = {isinstance(one, str) for one in values[~missing].tolist()}
            are_mixed = " (text among others)" if len(types) > 1 else ""
            notes.append(
                f"{name} has {len(kinds):,} different values{are_mixed}, of which the {MOST - 1} most frequent are "
                "looked at one by one and all others together; group them, or make numbers of them"
            )
    return (*((f"columns with one value are left out: {', '.join(alone)}",) if alone else ()), *notes)


def columns_for(features: Any, targets: Any, n: int, outcomes: Array | None = None) -> list[tuple[str, Array]]:
    """Names and values of n rows; ``ValueError`` for another number of them, and for those that are the outcomes."""
    found = [(str(name), values) for name, values in named_columns(features, targets)]
    for name, values in found:
        _check_shape(name, values)
        same_length(n, len(values), f"features[{name!r}]")
    if outcomes is not None:
        refuse_outcomes(found, outcomes)
    return found


def refuse_outcomes(columns: Iterable[tuple[str, Array]], outcomes: Array, called: str = "features[{!r}]") -> None:
    """``ValueError`` for a column that is the outcomes (n,) where it is known, but not by chance.

    Of classes those by other names too, of numbers those in another unit: a linear function of them.
    """
    if outcomes.ndim != 1:
        return
    for name, values in columns:
        if len(values) == outcomes.size and np.ndim(values) == 1:
            missing = missing_in(name, values)
            # A missing value can say an outcome, or hide some.
            for rows in (slice(None), ~missing)[: 1 + missing.any()]:
                said = said_by(np.asarray(values)[rows], outcomes[rows])
                if said is not None:
                    raise ValueError(f"{called.format(name)}: got the targets{said}, wanted what is known without them")


def said_by(values: Array, outcomes: Array) -> str | None:
    """How a column is the outcomes, if it is and hardly by chance."""
    kinds, codes, counts = np.unique(outcomes, return_inverse=True, return_counts=True)
    orders = log_orders(counts)
    if orders < log(BY_CHANCE):
        return None
    if np.array_equal(values, outcomes):
        return ""
    if _are_linear(values, outcomes):
        return " in another unit"
    text = np.asarray([str(one) for one in values.tolist()]) if values.dtype.kind == "O" else values
    names, own = np.unique(text, return_inverse=True)
    if not names.size == kinds.size == np.unique(own * kinds.size + codes).size:
        return None
    # Of how many divisions of the rows into such parts they are one.
    parts = orders - scipy.special.gammaln(np.bincount(counts) + 1.0).sum()
    return " by other names, as each value has one outcome" if parts >= log(BY_CHANCE) else None


def log_orders(counts: IntArray) -> float:
    """The logarithm of the number of orders of outcomes of which so many are equal."""
    return float(scipy.special.gammaln(counts.sum() + 1.0) - scipy.special.gammaln(counts + 1.0).sum())


def notes_on_outcomes(columns: Iterable[tuple[str, Array]], outcomes: Array) -> tuple[str, ...]:
    """A question about columns of which each category, or interval of numbers, has one outcome, hardly by chance."""
    if outcomes.ndim != 1:
        return ()
    kinds, codes, counts = np.unique(outcomes, return_inverse=True, return_counts=True)
    orders = log_orders(counts)
    told = []
    for name, values in columns:
        numbers = numbers_in(values, missing_in(name, values))
        text = np.array([str(one) for one in values.tolist()]) if numbers is None else numbers
        different, own = np.unique(text, return_inverse=True)
        parts = different.size
        is_told = np.unique(own * kinds.size + codes).size == parts
        if numbers is not None:
            is_told &= np.count_nonzero(np.diff(codes[np.lexsort((codes, own))])) == kinds.size - 1
            parts = kinds.size
        # Each part of the rows could have any of the outcomes.
        if is_told and orders - parts * log(max(2, kinds.size)) >= log(BY_CHANCE):
            told.append(name)
    return tuple(f"{name} tells all outcomes; is it made from them?" for name in told)


def _are_linear(x: Array, y: Array) -> bool:
    """Whether numbers are a linear function of outcomes with more than two values, to rounding."""
    if not {x.dtype.kind, y.dtype.kind} <= set("iuf") or np.unique(y).size < 3 or not np.isfinite(x).all():
        return False
    one, other = (np.asarray(values, dtype=np.float64) / (float(np.abs(values).max()) or 1.0) for values in (x, y))
    one, other = one - one.mean(), other - other.mean()
    return bool(abs(one @ other) >= (1.0 - ROUNDING) * np.sqrt((one @ one) * (other @ other)) > 0.0)


def named_columns(features: Any, targets: Any) -> list[tuple[Any, Array]]:
    """Names and values, in the order of targets where both have the same index of pandas."""
    order = order_of(targets, None)
    features = in_rows_of(features, order, "features")
    if isinstance(features, Mapping) or hasattr(features, "columns"):
        names = list(features if isinstance(features, Mapping) else getattr(features, "column_names", features.columns))
        texts = [str(name) for name in names]
        if len(set(texts)) < len(texts):
            twice = next(name for name, text in zip(names, texts, strict=True) if texts.count(text) > 1)
            raise ValueError(f"features: got several columns named {twice!r}, wanted names that are all different")
        return [_with_unit(name, in_rows_of(features[name], order, f"features[{name!r}]")) for name in names]
    if isinstance(features, np.ndarray) and features.dtype.names:
        return [_with_unit(name, features[name]) for name in features.dtype.names]
    try:
        array = features if isinstance(features, np.ma.MaskedArray) else np.asarray(features)
        if isinstance(features, (list, tuple)) and array.dtype.kind in "US":
            # Rows with text among numbers, which stay numbers.
            array = np.asarray(features, dtype=object)
    except ValueError:
        got = f"features: got {type(features).__name__} of {len(features)} parts of different lengths"
        raise ValueError(f"{got}, wanted a data frame, a mapping of columns, or (n, d)") from None
    if array.ndim not in (1, 2) or (array.dtype.kind == "O" and array.ndim == 0):
        got = f"shape {array.shape}" if array.ndim else type(features).__name__
        raise ValueError(f"features: got {got}, wanted a data frame, a mapping of columns, or (n, d)")
    return [(f"column {j}", plain_column(column)) for j, column in enumerate(array.T if array.ndim == 2 else [array])]


def _with_unit(name: Any, column: Any) -> tuple[Any, Array]:
    """A name and values; of durations the name says that these are in seconds."""
    values = plain_column(column)
    are_durations = values.dtype.kind == "f" and np.asarray(column).dtype.kind == "m"
    return f"{name} in seconds" if are_durations else name, values


def plain_column(column: Any) -> Array:
    """A column as an array: dates and times as datetime64, durations in seconds, no pandas.NA.

    Text is dates if all of it is written as in ISO 8601. Times with a time zone stay objects, which know it; beside
    them times without one are in UTC. Of periods the start; what is masked is missing.
    """
    column = with_time_zone(column)
    if isinstance(column, np.ma.MaskedArray) and np.ma.getmaskarray(column).any():
        masked, column = np.ma.getmaskarray(column), np.ma.getdata(column).astype(object)
        column[masked] = None
    values = np.asarray(column)
    if values.dtype.kind == "m":
        return np.asarray(values / np.timedelta64(1, "s"))
    dates = _dates_in(values) if values.dtype.kind in "OU" and values.ndim == 1 else None
    if dates is not None:
        return dates
    if values.dtype.kind != "O" or values.ndim != 1:
        return values
    cells: list[Any] = [None if is_missing(one) else one for one in values.tolist()]
    cells = [one.to_timestamp() if type(one).__name__ == "Period" else one for one in cells]
    known = [one for one in cells if one is not None]
    if known and all(isinstance(one, date) for one in known):
        if not any(isinstance(one, datetime) and one.tzinfo for one in known):
            return np.array(["NaT" if one is None else np.datetime64(one, "s") for one in cells], dtype="datetime64[s]")
        cells = [None if one is None else _with_zone(one) for one in cells]
    nested = next((one for one in known if isinstance(one, (Mapping, list, tuple, set, np.ndarray))), None)
    if nested is not None:
        raise ValueError(
            f"features: got a {type(nested).__name__} in a row, wanted one number, text or time in each; "
            "pandas.DataFrame(rows) makes columns of rows that are dictionaries"
        )
    plain_column = np.empty(values.shape, dtype=object)
    plain_column[:] = cells
    return plain_column


def _dates_in(values: Array) -> Array | None:
    """Text (n,) of dates and times as these, empty text as missing; None for other values."""
    cells = ["NaT" if is_missing(one) or one == "" else one for one in values.tolist()]
    known = (one for one in cells if one != "NaT")
    if not all(isinstance(one, str) and ISO.fullmatch(one) for one in known) or set(cells) == {"NaT"}:
        return None
    try:
        return np.array([one.strip() for one in cells], dtype="datetime64[us]").astype("datetime64[s]")
    except ValueError:  # Such as February 30.
        return None


def dates_in_words(times: Iterable[str]) -> list[str]:
    """Times as they are written, without the time of day where all are at midnight, and dates tell them apart."""
    given = list(times)
    dates = [MIDNIGHT.sub("", one) for one in given]
    are_dates = all(one != other for one, other in zip(dates, given, strict=True))
    return dates if are_dates and len(set(dates)) == len(set(given)) else given


def _with_zone(moment: date) -> datetime:
    if not isinstance(moment, datetime):
        return datetime.combine(moment, time.min, UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def in_rows_of(data: Any, order: Table, name: str) -> Any:
    """What has an index of pandas with its rows in the order of the targets; all else as it is."""
    index: Any = getattr(data, "index", None)
    if order.index is None or not (hasattr(data, "iloc") and hasattr(index, "get_indexer")):
        return data
    return data.iloc[Table(np.arange(len(index)), index=index).in_order_of(order, name, "targets")[0].values]


@dataclass(frozen=True)
class Coding:
    """How values of a column become bins or categories, those of other rows too.

    Numbers and times have bins ``[e_k, e_(k+1))``, so that equal values are together; other values, and numbers of few
    values, a category each, the last of which is of all others.
    """

    name: str
    edges: tuple[float, ...] | None = None
    kinds: tuple[str, ...] = ()
    are_times: bool = False
    shown: tuple[str, ...] = ()
    """The edges in words, of times in their time zone."""

    @classmethod
    def of(cls, name: str, values: Array, n_bins: int) -> "Coding":
        """Quantile bins of times, and of numbers of more than ``n_bins`` values; else categories."""
        values, missing = np.asarray(values), missing_in(name, values)
        numbers, with_zone = numbers_in(values, missing), _have_zones(values[~missing])
        are_times = with_zone or values.dtype.kind == "M"
        if numbers is not None and (are_times or np.unique(numbers[~missing]).size > n_bins):
            found = cls.of_numbers(name, numbers[~missing], n_bins, are_times)
            moments = dict(zip(numbers.tolist(), values.tolist(), strict=True)) if with_zone else {}
            # Edges are values of the column.
            shown = dates_in_words(str(moments[one]) for one in found.edges or ()) if with_zone else ()
            return replace(found, shown=tuple(shown))
        if numbers is not None and values.dtype.kind == "O":
            values = numbers
        kinds, counts = np.unique([str(one) for one in values[~missing].tolist()], return_counts=True)
        if kinds.size > MOST:
            kinds = kinds[np.argsort(-counts, kind="stable")[: MOST - 1]]
        return cls(name, kinds=tuple(kinds.tolist()))

    @classmethod
    def of_numbers(cls, name: str, numbers: FloatArray, n_bins: int, are_times: bool = False) -> "Coding":
        """Quantile bins of numbers, however many values they have."""
        levels = np.arange(1, n_bins) / n_bins
        edges = np.unique(np.quantile(numbers, levels, method="lower")) if numbers.size else np.empty(0)
        return cls(name, tuple(edges.tolist()), are_times=are_times)

    @property
    def words(self) -> tuple[str, ...]:
        """Of each bin, and of missing values."""
        name = self.name
        if self.edges is None:
            kinds = _in_few_digits([*map(float, self.kinds)]) if _have_many_digits(self.kinds) else self.kinds
            return *(f"{name} = {kind}" for kind in kinds), f"{name} = another value", f"{name} missing"
        times = (str(np.datetime64(int(one), "s")) for one in self.edges)
        shown = self.shown or (dates_in_words(times) if self.are_times else _in_few_digits(self.edges))
        if not shown:
            return f"{name} known", f"{name} missing"
        between = (f"{name} in [{low}, {high})" for low, high in pairwise(shown))
        return f"{name} < {shown[0]}", *between, f"{name} >= {shown[-1]}", f"{name} missing"

    def codes(self, values: Array) -> IntArray:
        """The places in ``words`` of values (n,); ``ValueError`` for text in a column of numbers."""
        values, missing = np.asarray(values), missing_in(self.name, values)
        last = len(self.words) - 1
        if self.edges is not None:
            numbers = np.full(missing.shape, np.nan) if missing.all() else numbers_in(values, missing)
            if numbers is None:
                raise ValueError(
                    f"features[{self.name!r}]: got {str(values[~missing][0])!r}, wanted numbers as in the fit"
                )
            return np.where(missing, last, np.searchsorted(np.array(self.edges), numbers, side="right"))
        places = {kind: place for place, kind in enumerate(self.kinds)}
        others = [str(one) not in places for one in values.tolist()]
        # Numbers can be whole in the fit and real here: 1 and 1.0 are one category.
        numbers = numbers_in(values, missing) if any(others) else None
        if numbers is not None:
            places |= {str(float(kind)): place for kind, place in places.items() if _is_number(kind)}
            values = numbers
        return np.where(missing, last, [places.get(str(one), last - 1) for one in values.tolist()])


def _in_few_digits(numbers: Sequence[float]) -> list[str]:
    """Numbers in the fewest digits, three or more, that tell them apart; up to six before the point."""
    for digits in range(3, 18):
        shown = [f"{one:.{max(digits, min(6, len(str(int(abs(one))))))}g}" for one in numbers]
        if len(set(shown)) == len(shown):
            break
    return shown


def _have_many_digits(kinds: Sequence[str]) -> bool:
    """Whether categories are real numbers as these are written, some of them with more digits than one reads."""
    are_real = all(_is_number(kind) and str(float(kind)) == kind for kind in kinds)
    return are_real and max(map(len, kinds), default=0) > READ


def _have_zones(known: Array) -> bool:
    """Whether values are times with a time zone, which are all or none of them."""
    return bool(known.size) and isinstance(known[0], datetime) and known[0].tzinfo is not None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def coded(name: str, values: Array, n_bins: int) -> Column:
    """The bins or categories of a column, without those that are empty."""
    coding = Coding.of(name, values, n_bins)
    used, codes = np.unique(coding.codes(values), return_inverse=True)
    return Column(codes, tuple(coding.words[code] for code in used))


def missing_in(name: str, values: Array) -> BoolArray:
    """Which values of a column are missing: None, NaN, NaT; ``ValueError`` unless there is one for each row."""
    values = np.asarray(values)
    _check_shape(name, values)
    if values.dtype.kind == "M":
        return np.isnat(values)
    return np.array([is_missing(one) for one in values.tolist()], dtype=bool)


def _check_shape(name: str, values: Array) -> None:
    if values.ndim != 1:
        raise ValueError(f"features[{name!r}]: got shape {values.shape}, wanted one value for each row")


def numbers_in(values: Array, missing: BoolArray) -> FloatArray | None:
    """Numbers and times, in seconds, as floats, NaN where they are missing; None for text, booleans and others."""
    if _have_zones(values[~missing]):
        numbers = np.full(values.shape, np.nan)
        numbers[~missing] = np.floor([one.timestamp() for one in values[~missing].tolist()])
        return numbers
    if values.dtype.kind == "O" and not missing.all():
        kinds = int, float, np.number, Decimal, Fraction
        present = [isinstance(one, kinds) and not isinstance(one, bool) for one in values[~missing]]
        return np.where(missing, np.nan, values).astype(np.float64) if all(present) else None
    if values.dtype.kind == "M":
        return np.where(missing, np.nan, values.astype("datetime64[s]").astype(np.float64))
    return values.astype(np.float64) if values.dtype.kind in "iuf" else None
