"""Maps as dictionaries and as files of numpy arrays."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import numpy as np

SEPARATOR = "/"


def plain(value: Any) -> Any:
    """A setting or array as it is, maps as dictionaries, tuples of maps as dictionaries by number."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, tuple):
        return {str(number): plain(item) for number, item in enumerate(value)}
    return value.copy() if isinstance(value, np.ndarray) else value


def restored(value: Any, read_map: Callable[[dict[str, Any]], Any]) -> Any:
    """What ``plain`` was given."""
    if isinstance(value, dict):
        if "map" in value:
            return read_map(value)
        return tuple(restored(value[str(number)], read_map) for number in range(len(value)))
    if isinstance(value, (list, np.ndarray)):
        array = np.array(value)
        if array.ndim == 0:
            return array.item()
        array.flags.writeable = False
        return array
    return value


def write_npz(path: str | Path, entries: dict[str, Any]) -> None:
    """Write nested entries under names such as ``maps/0/slope``."""
    with Path(path).open("wb") as file:
        np.savez(file, allow_pickle=False, **_flat(entries))


def read_npz(path: str | Path) -> dict[str, Any]:
    """The arrays of a file by name; ``ValueError`` for a file of another format."""
    if not is_zipfile(path):
        if not Path(path).exists():
            raise FileNotFoundError(f"path: got {str(path)!r}, which does not exist")
        raise ValueError(f"path: got {str(path)!r}, wanted a file that save() of a map wrote")
    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def nested(entries: dict[str, Any]) -> dict[str, Any]:
    """Entries with names such as ``maps/0/slope`` as dictionaries in dictionaries."""
    tree: dict[str, Any] = {}
    for name, value in entries.items():
        *folders, last = name.split(SEPARATOR)
        place = tree
        for folder in folders:
            place = place.setdefault(folder, {})
        place[last] = value
    return tree


def _flat(entries: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    arrays: dict[str, Any] = {}
    for name, value in entries.items():
        if isinstance(value, dict):
            arrays |= _flat(value, f"{prefix}{name}{SEPARATOR}")
        else:
            arrays[prefix + name] = np.asarray(value)
    return arrays
