"""Groups of observations: names, and who belongs to which."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Number
from typing import Any

import numpy as np
import scipy

from caltest._basics.arrays import Table, column
from caltest._basics.numerics import Array, ArrayLike, BoolArray, FloatArray, IntArray
from caltest._validation.columns import dates_in_words

SHOWN = 5
"""Names of groups that an error lists."""

MISSING = "missing"
"""The name of a group of observations without a label."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of n observations, which may overlap: their names (G,), and the rows of the members of each, ascending."""

    names: tuple[str, ...]
    rows: tuple[IntArray, ...]
    n: int

    @classmethod
    def of_masks(cls, names: Iterable[Any], masks: Iterable[BoolArray], n: int) -> "Groups":
        """Groups of n observations from masks (n,) of each."""
        return cls(as_texts(names), tuple(np.flatnonzero(mask) for mask in masks), n)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def sizes(self) -> IntArray:
        """Numbers of members, (G,)."""
        return np.array([rows.size for rows in self.rows], dtype=np.intp)

    def taken(self, rows: IntArray) -> "Groups":
        """Those of some of the observations, ascending; some may have no members."""
        places = np.full(self.n, -1)
        places[rows] = np.arange(rows.size)
        found = (places[members] for members in self.rows)
        return Groups(self.names, tuple(some[some >= 0] for some in found), rows.size)

    def at(self, places: IntArray) -> "Groups":
        """Some of the groups."""
        return Groups(tuple(self.names[g] for g in places), tuple(self.rows[g] for g in places), self.n)

    @property
    def lines(self) -> tuple[IntArray, IntArray]:
        """Members of all groups one after another, and their numbers (G,)."""
        return np.concatenate(self.rows), self.sizes

    @property
    def codes(self) -> IntArray:
        """The last group of each observation, (n,), -1 for those in none."""
        codes = np.full(self.n, -1)
        for group, rows in enumerate(self.rows):
            codes[rows] = group
        return codes

    @property
    def matrix(self) -> Any:
        """Memberships as a sparse matrix of numbers, (G, n)."""
        members, sizes = self.lines
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return scipy.sparse.csr_array((np.ones(members.size), members, starts), shape=(len(self), self.n))

    @property
    def factors(self) -> FloatArray:
        """Memberships as numbers, (n, G)."""
        return np.asarray(self.matrix.toarray().T)


def as_texts(names: Iterable[Any]) -> tuple[str, ...]:
    """Names as text, of dates without midnight, and as they are written in code where another one reads the same.

    Whole numbers that came as fractions, as of a column with missing values, are written as whole numbers.
    """
    given = list(names)
    if all(isinstance(name, float) and name.is_integer() for name in given):
        given = [int(name) for name in given]
    texts = [str(name) if str(name).strip() else MISSING for name in given]
    if not any(isinstance(name, str) for name in given):
        texts = dates_in_words(texts)
    if len(set(texts)) < len(texts):
        texts = [repr(name) for name in given]
    return tuple(texts)


def as_groups(groups: ArrayLike, targets: ArrayLike = None, *, fewest: int = 2) -> Groups:
    """Groups from labels (n,), masks (n, G), or a mapping from names to either (n,), of so many members or more.

    A data frame of several columns is such a mapping. Masks are booleans; a name of labels is followed by each of them:
    ``site = a``. Rows are those of targets, if some are given: by the index, where both have the same labels, else by
    position.
    """
    if isinstance(groups, Groups):
        return groups
    found = _found(groups, targets, may_lack=False)
    if fewest > 0:
        _check_sizes(found, found.sizes)
    return found


def large_enough(groups: Groups, sizes: IntArray | None = None, unit: str = "row") -> tuple[Groups, tuple[str, ...]]:
    """Groups of two rows or more, or of sizes (G,) in a unit, and a note on the others; an error if there are none."""
    sizes = groups.sizes if sizes is None else sizes
    large, small = np.flatnonzero(sizes >= 2), np.flatnonzero(sizes < 2)
    if not large.size:
        _check_sizes(groups, sizes, unit)
    if not small.size:
        return groups, ()
    names = ", ".join(groups.names[g] for g in small[:SHOWN]) + ", ..." * (small.size > SHOWN)
    count = f"{small.size} group{'s' if small.size > 1 else ''}"
    few = f"one {unit}" if sizes[small].all() else f"fewer than two {unit}s"
    return groups.at(large), (f"left out: {count} of {few}, {names}",)


def groups_of_any_size(groups: ArrayLike, targets: ArrayLike = None) -> Groups:
    """The same of any size, with observations without a label in a group of their own."""
    return groups if isinstance(groups, Groups) else _found(groups, targets, may_lack=True)


def rows_of(data: ArrayLike, name: str, targets: ArrayLike) -> Table:
    """A table with its rows in the order of targets, if some are given and both have an index with the same labels."""
    table = Table.of(data, name)
    if targets is None:
        return table
    return table.in_order_of(Table.of(targets, "targets"), name, "targets")[0]


def _found(groups: ArrayLike, targets: ArrayLike, *, may_lack: bool) -> Groups:
    """Groups of whatever says so; observations may lack a label, and are then a group of their own."""
    if isinstance(groups, Mapping):
        if not groups:
            raise ValueError("groups: got an empty mapping, wanted names, and a mask or labels of each")
        columns = {name: rows_of(one, f"groups[{name!r}]", targets) for name, one in groups.items()}
        return _of_columns(columns, may_lack)
    table = rows_of(groups, "groups", targets)
    if table.values.size == 0:
        raise ValueError(f"groups: got no values (shape {table.values.shape}), wanted one label per observation")
    if table.values.ndim != 2 or (table.values.shape[1] == 1 and not _are_booleans(table)):
        return _of_labels(table, "groups", may_lack)
    if table.names is None:
        masks = _mask(_in_words(table).array("groups"), "groups")
        return Groups.of_masks(range(masks.shape[1]), masks.T, len(masks))
    if len(set(table.names)) < len(table.names):
        raise ValueError(f"groups: got columns named {list(table.names)!r}, wanted names that are all different")
    columns = {name: Table(values) for name, values in zip(table.names, table.values.T, strict=True)}
    return _of_columns(columns, may_lack)


def _of_columns(columns: Mapping[Any, Table], may_lack: bool) -> Groups:
    """Groups of the name of each mask, and of the name and each label of the others."""
    n = max(len(table.values) for table in columns.values())
    names, rows = list[str](), list[IntArray]()
    for key, text, table in zip(columns, as_texts(columns), columns.values(), strict=True):
        name, values = f"groups[{key!r}]", column(table.values)
        if values.shape != (n,):
            raise ValueError(f"{name}: got shape {values.shape}, wanted ({n},), a boolean or a label per observation")
        if _are_booleans(table):
            names.append(text)
            rows.append(np.flatnonzero(column(table.array(name))))
            continue
        if all(isinstance(one, (int, float, np.number)) and one in (0, 1) for one in values[~table.missing()].tolist()):
            raise ValueError(
                f"{name}: got numbers that are all 0 or 1, wanted booleans that say who belongs to the group, "
                "array.astype(bool), or text for a group of each"
            )
        found = _of_labels(table, name, may_lack)
        names += [f"{text} = {label}" for label in found.names]
        rows += found.rows
    if len(set(names)) < len(names):
        raise ValueError(f"groups: got several groups named {max(names, key=names.count)!r}, wanted different names")
    return Groups(tuple(names), tuple(rows), n)


def _of_labels(table: Table, name: str, may_lack: bool) -> Groups:
    """A group of each label of one column, and of observations without one if they may be."""
    values = column(table.values)
    if may_lack and values.ndim == 1:
        lacking = table.missing().reshape(len(values), -1).any(axis=1)
        lacking |= np.array([isinstance(one, str) and not one.strip() for one in values.tolist()])
        if lacking.any() and not lacking.all():
            known, rest = np.flatnonzero(~lacking), np.flatnonzero(lacking)
            found = _of_labels(Table(values[known]), name, may_lack=False)
            return Groups((*found.names, MISSING), (*(known[rows] for rows in found.rows), rest), values.size)
    labels, codes = labels_of(column(_in_words(table).array(name)), name)
    ends = np.cumsum(np.bincount(codes, minlength=len(labels)))
    rows = np.split(np.argsort(codes, kind="stable"), ends[:-1])
    return Groups(as_texts(labels.tolist()), tuple(rows), codes.size)


def _are_booleans(table: Table) -> bool:
    """Whether values are booleans, of which some may be missing."""
    values = np.ma.getdata(table.values)
    if values.dtype != object:
        return bool(values.dtype.kind == "b")
    known = values.ravel()[~table.missing()] if values.ndim == 1 else values.ravel()
    return bool(known.size) and all(isinstance(one, (bool, np.bool_)) for one in known)


def label_columns(clusters: ArrayLike, targets: ArrayLike = None) -> list[Table]:
    """One column of labels of clusters, or two: of an (n, 2) array-like, a data frame, or a pair of columns.

    Rows are those of targets, if some are given, as in ``rows_of``.
    """
    is_pair = isinstance(clusters, (list, tuple)) and len(clusters) == 2
    if is_pair and all(Table.of(one, "clusters").values.ndim == 1 for one in clusters):
        columns = [rows_of(one, f"clusters[{j}]", targets) for j, one in enumerate(clusters)]
    else:
        values = rows_of(clusters, "clusters", targets).values
        columns = [Table(one) for one in values.T] if values.ndim == 2 else [Table(values)]
        if len(columns) not in (1, 2):
            raise ValueError(
                f"clusters: got shape {values.shape}, wanted one label per observation, (n,), or two, (n, 2) or a pair "
                "of columns"
            )
    sizes = [len(one.values) if one.values.ndim else 0 for one in columns]
    if len(set(sizes)) > 1:
        raise ValueError(
            f"clusters: got columns of {sizes[0]} and {sizes[1]} labels, wanted one per observation in each"
        )
    return columns


def labels_of(data: ArrayLike, name: str) -> tuple[Array, IntArray]:
    """Distinct labels (G,) of an (n,) array-like without missing values, and which of them each observation has."""
    array = column(_in_words(Table.of(data, name)).array(name))
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name}: got shape {array.shape}, wanted one label per observation, (n,)")
    missing = array != array
    if missing.any():
        i = int(missing.argmax())
        raise ValueError(
            f"{name}: got a missing value at row {i} ({int(missing.sum())} in all), wanted a label for every "
            "observation; give them a label of their own, or leave them out"
        )
    labels, codes = np.unique(array, return_inverse=True)
    return _with_names(labels), codes


def _with_names(labels: Array) -> Array:
    """Times of which ``tolist`` makes times: of those in nanoseconds NumPy makes numbers."""
    if labels.dtype.kind not in "mM":
        return labels
    shorter = labels.astype(f"{labels.dtype.kind}8[us]")
    return shorter if (shorter == labels).all() else labels.astype(str)


def _in_words(table: Table) -> Table:
    """Objects that are neither numbers nor text, such as dates, periods and intervals of pandas, by their names.

    Several columns of which some are text become text too: their error is that they are no masks.
    """
    values = table.values
    if values.dtype != object or table.missing().any():
        return table
    has_text = any(isinstance(one, (str, bytes)) for one in values.flat)
    if values.ndim == 2 and values.shape[1] > 1:
        plain = not has_text
    else:
        plain = has_text or any(isinstance(one, Number) for one in values.flat)
    if plain:
        return table
    return replace(table, values=np.array(dates_in_words(str(one) for one in values.flat)).reshape(values.shape))


def _mask(array: Array, name: str) -> BoolArray:
    if array.dtype.kind != "b":
        raise ValueError(
            f"{name}: got values of type {array.dtype}, wanted booleans that say who belongs to the group; pass "
            "array.astype(bool), or (n,) labels, such as those of one column"
        )
    return np.asarray(array)


def _check_sizes(groups: Groups, sizes: IntArray, unit: str = "row") -> None:
    small = np.flatnonzero(sizes < 2)
    if small.size:
        shown = ", ".join(f"{groups.names[g]!r} ({sizes[g]})" for g in small[:SHOWN])
        more = ", ..." if small.size > SHOWN else ""
        members = "members" if unit == "row" else f"{unit}s"
        raise ValueError(
            f"groups: got {small.size} with fewer than two {members}: {shown}{more}; leave these groups out, or merge "
            "them with others"
        )
