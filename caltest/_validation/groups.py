"""Groups of observations: names, and who belongs to which."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from caltest._basics.numerics import Array, ArrayLike, BoolArray, FloatArray, IntArray, Table, column, to_array

SHOWN = 5
"""Names of groups that an error lists."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of n observations, which may overlap.

    Attributes
    ----------
    names
        Of the groups, (G,).
    members
        Who belongs to which, (n, G).
    """

    names: tuple[str, ...]
    members: BoolArray

    def __len__(self) -> int:
        return len(self.names)

    @property
    def sizes(self) -> IntArray:
        """Numbers of members, (G,)."""
        return np.asarray(self.members.sum(axis=0))

    @property
    def rows(self) -> list[IntArray]:
        """The members of each group."""
        return [np.flatnonzero(column) for column in self.members.T]

    def of_rows(self, rows: IntArray) -> "Groups":
        """Those of some of the observations; ``ValueError`` if one has fewer than two of them."""
        some = Groups(self.names, self.members[rows])
        _check_sizes(some)
        return some

    @property
    def factors(self) -> FloatArray:
        """Memberships as numbers, (n, G)."""
        return self.members.astype(np.float64)


def as_texts(names: Iterable[Any]) -> tuple[str, ...]:
    """Names as text, those that are no text as they are written in code where another one reads the same."""
    given = list(names)
    texts = [str(name) for name in given]
    if len(set(texts)) < len(texts):
        texts = [repr(name) for name in given]
    return tuple(texts)


def as_groups(groups: ArrayLike, targets: ArrayLike = None) -> Groups:
    """Groups from labels (n,), masks (n, G), or a mapping from names to masks (n,), each of two members or more.

    Columns of a data frame of masks name the groups. Rows are those of targets, if some are given: by the index, where
    both have the same labels, else by position.
    """
    if isinstance(groups, Groups):
        return groups
    found = (
        _from_masks(groups, targets) if isinstance(groups, Mapping) else _from_table(rows_of(groups, "groups", targets))
    )
    _check_sizes(found)
    return found


def rows_of(data: ArrayLike, name: str, targets: ArrayLike) -> Table:
    """A table with its rows in the order of targets, if some are given and both have an index with the same labels."""
    table = Table.of(data, name)
    if targets is None:
        return table
    return table.in_order_of(Table.of(targets, "targets"), name, "targets")[0]


def _from_table(table: Table) -> Groups:
    array = table.array("groups")
    if array.size == 0:
        raise ValueError(f"groups: got no values (shape {array.shape}), wanted one label per observation")
    if array.ndim == 2 and (array.shape[1] > 1 or array.dtype.kind == "b"):
        return Groups(as_texts(table.names or range(array.shape[1])), _mask(array, "groups"))
    labels, codes = labels_of(column(array), "groups")
    return Groups(as_texts(labels.tolist()), np.arange(len(labels)) == codes[:, None])


def labels_of(data: ArrayLike, name: str) -> tuple[Array, IntArray]:
    """Distinct labels (G,) of an (n,) array-like without missing values, and which of them each observation has."""
    array = column(to_array(data, name))
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
    return labels, codes


def _from_masks(groups: Mapping[Any, ArrayLike], targets: ArrayLike) -> Groups:
    if not groups:
        raise ValueError("groups: got an empty mapping, wanted names and masks of groups")
    names = [f"groups[{name!r}]" for name in groups]
    tables = [rows_of(mask, name, targets) for name, mask in zip(names, groups.values(), strict=True)]
    masks = [column(table.array(name)) for name, table in zip(names, tables, strict=True)]
    n = max(mask.size for mask in masks)
    for name, mask in zip(names, masks, strict=True):
        if mask.shape != (n,):
            raise ValueError(f"{name}: got shape {mask.shape}, wanted ({n},), one boolean per observation")
    columns = [_mask(mask, name) for name, mask in zip(names, masks, strict=True)]
    return Groups(as_texts(groups), np.stack(columns, axis=1))


def _mask(array: Array, name: str) -> BoolArray:
    if array.dtype.kind != "b":
        raise ValueError(
            f"{name}: got values of type {array.dtype}, wanted booleans that say who belongs to the group; pass "
            "array.astype(bool), or (n,) labels"
        )
    return array.copy()


def _check_sizes(groups: Groups) -> None:
    small = np.flatnonzero(groups.sizes < 2)
    if small.size:
        shown = ", ".join(f"{groups.names[g]!r} ({groups.sizes[g]})" for g in small[:SHOWN])
        more = ", ..." if small.size > SHOWN else ""
        raise ValueError(
            f"groups: got {small.size} with fewer than two members: {shown}{more}; leave these groups out, or merge "
            "them with others"
        )
