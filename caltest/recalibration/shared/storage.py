"""Maps as dictionaries and as files of numpy arrays, and the checks of what is in them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from caltest._basics.numerics import FloatArray
from caltest._validation import in_short

SEPARATOR = "/"

DEEPEST = 2
"""Separators in the name of a setting of a map inside a map."""

LARGEST = 1e100
"""Coefficients beyond this are none that a fit finds."""


def as_entries(value: Any) -> Any:
    """A setting as it is, arrays and names as lists, tuples of maps as dictionaries by number."""
    if isinstance(value, tuple):
        maps = all(hasattr(item, "to_dict") for item in value)
        return {str(number): item.to_dict() for number, item in enumerate(value)} if maps else list(value)
    return value.tolist() if isinstance(value, np.ndarray) else value


def from_entries(value: Any, read_map: Callable[[Any], Any]) -> Any:
    """What ``as_entries`` was given, but for lists, which the map makes arrays or names."""
    if isinstance(value, dict):
        if set(value) != {str(number) for number in range(len(value))}:
            raise ValueError(f"entries: got maps by the names {', '.join(map(repr, value))}, wanted '0', '1', ...")
        return tuple(read_map(value[str(number)]) for number in range(len(value)))
    return value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value


def as_kind(name: str, value: Any, kind: Any) -> Any:
    """A setting as a finite number, a switch, text or a read-only array of finite numbers, if it is to be one."""
    if kind is bool:
        require(isinstance(value, (bool, np.bool_)), name, value, "True or False")
        return bool(value)
    if kind is str:
        require(isinstance(value, str), name, value, "text")
        return str(value)
    if kind in (int, float):
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        require(whole or (kind is float and isinstance(value, (float, np.floating))), name, value, "a number")
        require(abs(value) <= np.finfo(np.float64).max, name, value, "a finite number")
        return kind(value)
    return _numbers(name, value) if kind is FloatArray else value


def require(holds: Any, name: str, got: Any, wanted: str) -> None:
    """Raise ``ValueError`` for a setting of a map that is not what it should be."""
    if not holds:
        raise ValueError(f"{name}: got {in_short(got)}, wanted {wanted}")


def require_increasing(name: str, values: FloatArray, low: float, high: float) -> None:
    """Raise ``ValueError`` unless numbers (m,) increase, or stay equal, between two others."""
    inside = values.ndim == 1 and (values >= low).all() and (values <= high).all()
    inside = inside and (values[1:] >= values[:-1]).all()
    require(inside, name, values, f"numbers from {low:g} to {high:g} in increasing order")


def require_range(name: str, values: Any, low: float, high: float) -> None:
    """Raise ``ValueError`` unless all numbers are between two others."""
    require(np.all((values >= low) & (values <= high)), name, values, f"numbers from {low:g} to {high:g}")


def _numbers(name: str, value: Any) -> FloatArray:
    try:
        array = np.array(value)
    except ValueError:
        array = np.array(None)
    require(array.dtype.kind in "fiu" or array.size == 0, name, value, "an array of real numbers")
    array = array.astype(np.float64)
    require(np.isfinite(array).all(), name, array, "finite numbers")
    array.flags.writeable = False
    return array


def write_npz(path: str | Path, entries: dict[str, Any]) -> None:
    """Write nested entries under names such as ``maps/0/slope``."""
    arrays: dict[str, Any] = {name: np.asarray(value) for name, value in _flat(entries).items()}
    for name, array in arrays.items():
        if array.dtype == object:
            raise TypeError(f"{name}: got {entries[name]!r}, which no file of arrays holds, wanted text or numbers")
    with Path(path).open("wb") as file:
        np.savez(file, **arrays)


def read_npz(path: str | Path) -> dict[str, Any]:
    """The arrays of a file by name; ``ValueError`` for a file of another format, or a damaged one."""
    if not Path(path).exists():
        raise FileNotFoundError(f"path: got {str(path)!r}, which does not exist")
    with Path(path).open("rb") as file:
        try:
            loaded = np.load(file, allow_pickle=False)
            return {name: loaded[name] for name in loaded.files}
        except Exception as error:
            # The readers of zip files and arrays raise a dozen kinds of errors for bytes that are wrong.
            raise ValueError(
                f"path: got {str(path)!r}, wanted a file that save() of a map wrote, complete and unchanged "
                f"({type(error).__name__}: {error})"
            ) from None


def nested(entries: dict[str, Any]) -> dict[str, Any]:
    """Entries with names such as ``maps/0/slope`` as dictionaries in dictionaries."""
    tree: dict[str, Any] = {}
    for name, value in entries.items():
        *folders, last = name.split(SEPARATOR)
        place = tree
        for folder in folders[: DEEPEST + 1]:
            place = place.setdefault(folder, {})
            if not isinstance(place, dict):
                break
        if len(folders) > DEEPEST or not isinstance(place, dict) or last in place:
            raise ValueError(f"entries: got the name {name[:200]!r}, wanted those of the settings of one map")
        place[last] = value
    return tree


def _flat(entries: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in entries.items():
        if isinstance(value, dict):
            values |= _flat(value, f"{prefix}{name}{SEPARATOR}")
        else:
            values[prefix + name] = value
    return values
