"""Columns of features as bins and categories, with words for each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from caltest._basics.numerics import Array, BoolArray, FloatArray, IntArray
from caltest._validation import same_length

MOST = 50
"""Categories of a column; of more the most frequent ones have a slice, and one is of all others."""


@dataclass(frozen=True)
class Column:
    """A column whose rows are in bins or categories: their numbers (n,), and words for each."""

    codes: IntArray = field(repr=False)
    words: tuple[str, ...]


def columns_of(features: Any, targets: Any, n: int, n_bins: int) -> tuple[list[Column], tuple[str, ...]]:
    """The columns of a data frame, a mapping or an (n, d) array that have two bins or more, and notes on the others."""
    columns, alone = [], []
    for name, values in named_columns(features, targets):
        same_length(n, len(values), f"features[{name!r}]")
        one = coded(str(name), values, n_bins)
        if len(one.words) > 1:
            columns.append(one)
        else:
            alone.append(str(name))
    notes = (f"columns with one value are left out: {', '.join(alone)}",) if alone else ()
    if not columns:
        raise ValueError("features: got no column with two different values, wanted at least one")
    return columns, notes


def named_columns(features: Any, targets: Any) -> list[tuple[Any, Array]]:
    """Names and values, in the order of targets where both have the same index of pandas."""
    order: Any = getattr(targets, "index", None)
    if hasattr(features, "loc") and hasattr(order, "equals") and _reordered(features.index, order):
        features = features.loc[order]
    if isinstance(features, Mapping) or hasattr(features, "columns"):
        names = list(features if isinstance(features, Mapping) else features.columns)
        return [(name, np.asarray(features[name])) for name in names]
    try:
        array = np.asarray(features)
    except ValueError:
        got = f"features: got {type(features).__name__} of {len(features)} parts of different lengths"
        raise ValueError(f"{got}, wanted a data frame, a mapping of columns, or (n, d)") from None
    if array.ndim not in (1, 2) or (array.dtype.kind == "O" and array.ndim == 0):
        raise ValueError(f"features: got shape {array.shape}, wanted a data frame, a mapping of columns, or (n, d)")
    return [(f"column {j}", column) for j, column in enumerate(np.atleast_2d(array.T))]


def _reordered(index: Any, order: Any) -> bool:
    """Whether two indices of pandas have the same different labels, in another order."""
    alike = order.is_unique and index.is_unique and set(order) == set(index)
    return bool(alike and not order.equals(index))


def coded(name: str, values: Array, n_bins: int) -> Column:
    """Quantile bins of numbers and times of more than ``n_bins`` values, else categories; missing ones are their own.

    Bins are ``[e_k, e_(k+1))`` with quantiles e_k, so that equal values are together.
    """
    values, missing = np.asarray(values), missing_in(name, values)
    numbers = numbers_in(values, missing)
    if numbers is not None and values.dtype.kind == "M":
        return _binned(name, numbers, missing, n_bins, lambda edge: str(np.datetime64(int(edge), "s")))
    if numbers is not None and np.unique(numbers[~missing]).size > n_bins:
        return _binned(name, numbers, missing, n_bins, lambda edge: f"{edge:.6g}")
    return _categories(name, values if numbers is None or values.dtype.kind != "O" else numbers, missing)


def missing_in(name: str, values: Array) -> BoolArray:
    """Which values of a column are missing: None, NaN, NaT; ``ValueError`` unless there is one for each row."""
    values = np.asarray(values)
    if values.ndim != 1:
        raise ValueError(f"features[{name!r}]: got shape {values.shape}, wanted one value for each row")
    if values.dtype.kind == "M":
        return np.isnat(values)
    return np.array([one is None or one != one for one in values.tolist()], dtype=bool)


def numbers_in(values: Array, missing: BoolArray) -> FloatArray | None:
    """Numbers and times, in seconds, as floats, NaN where they are missing; None for text, booleans and others."""
    if values.dtype.kind == "O" and not missing.all():
        present = [isinstance(one, (int, float, np.number)) and not isinstance(one, bool) for one in values[~missing]]
        return np.where(missing, np.nan, values).astype(np.float64) if all(present) else None
    if values.dtype.kind == "M":
        return np.where(missing, np.nan, values.astype("datetime64[s]").astype(np.float64))
    return values.astype(np.float64) if values.dtype.kind in "iuf" else None


def _binned(name: str, numbers: FloatArray, missing: Array, n_bins: int, text: Any) -> Column:
    levels = np.arange(1, n_bins) / n_bins
    edges = np.unique(np.quantile(numbers[~missing], levels, method="lower")) if not missing.all() else np.empty(0)
    codes = np.searchsorted(edges, numbers, side="right")
    shown = [text(edge) for edge in edges]
    words = [f"{name} < {shown[0]}"] if shown else [f"{name} known"]
    words += [f"{name} in [{low}, {high})" for low, high in pairwise(shown)]
    words += [f"{name} >= {shown[-1]}"] if shown else []
    return _packed(codes, words, name, missing)


def _categories(name: str, values: Array, missing: Array) -> Column:
    texts = np.array([str(one) for one in values.tolist()])
    kinds, codes, counts = np.unique(texts, return_inverse=True, return_counts=True)
    words = [f"{name} = {kind}" for kind in kinds]
    if kinds.size > MOST:
        frequent = np.argsort(-counts, kind="stable")[: MOST - 1]
        new = np.full(kinds.size, MOST - 1)
        new[frequent] = np.arange(MOST - 1)
        codes, words = new[codes], [words[kind] for kind in frequent] + [f"{name} = another value"]
    return _packed(codes, words, name, missing)


def _packed(codes: IntArray, words: list[str], name: str, missing: Array) -> Column:
    """With missing values as a bin of their own, and without bins that are empty."""
    codes = np.where(missing, len(words), codes)
    used, codes = np.unique(codes, return_inverse=True)
    words = [*words, f"{name} missing"]
    return Column(codes, tuple(words[code] for code in used))
