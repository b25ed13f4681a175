"""Groups of observations: names, and who belongs to which."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from caltest._arrays import to_array
from caltest._types import Array, ArrayLike, BoolArray, FloatArray, IntArray

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

    @property
    def factors(self) -> FloatArray:
        """Memberships as numbers, (n, G)."""
        return self.members.astype(np.float64)


def as_groups(groups: ArrayLike) -> Groups:
    """Groups from labels (n,), masks (n, G), or a mapping from names to masks (n,), each of two members or more."""
    if isinstance(groups, Groups):
        return groups
    if isinstance(groups, Mapping):
        found = _from_masks(groups)
    else:
        array = to_array(groups, "groups")
        if array.size == 0:
            raise ValueError(f"groups: got no values (shape {array.shape}), wanted one label per observation")
        if array.ndim == 2:
            found = Groups(tuple(map(str, range(array.shape[1]))), _mask(array, "groups"))
        else:
            found = _from_labels(array)
    _check_sizes(found)
    return found


def labels_of(data: ArrayLike, name: str) -> tuple[Array, IntArray]:
    """Distinct labels (G,) of an (n,) array-like without missing values, and which of them each observation has."""
    array = to_array(data, name)
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


def _from_labels(array: Array) -> Groups:
    labels, codes = labels_of(array, "groups")
    return Groups(tuple(map(str, labels.tolist())), np.arange(len(labels)) == codes[:, None])


def _from_masks(groups: Mapping[Any, ArrayLike]) -> Groups:
    if not groups:
        raise ValueError("groups: got an empty mapping, wanted names and masks of groups")
    masks = {str(name): to_array(mask, f"groups[{name!r}]") for name, mask in groups.items()}
    n = max(mask.size for mask in masks.values())
    for name, mask in masks.items():
        if mask.shape != (n,):
            raise ValueError(f"groups[{name!r}]: got shape {mask.shape}, wanted ({n},), one boolean per observation")
    return Groups(tuple(masks), np.stack([_mask(mask, f"groups[{name!r}]") for name, mask in masks.items()], axis=1))


def _mask(array: Array, name: str) -> BoolArray:
    if array.dtype.kind != "b":
        raise ValueError(
            f"{name}: got values of type {array.dtype}, wanted booleans that say who belongs to the group; pass "
            "array.astype(bool), or (n,) labels"
        )
    return array


def _check_sizes(groups: Groups) -> None:
    small = np.flatnonzero(groups.sizes < 2)
    if small.size:
        shown = ", ".join(f"{groups.names[g]!r} ({groups.sizes[g]})" for g in small[:SHOWN])
        more = ", ..." if small.size > SHOWN else ""
        raise ValueError(
            f"groups: got {small.size} with fewer than two members: {shown}{more}; leave these groups out, or merge "
            "them with others"
        )
