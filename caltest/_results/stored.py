"""Results as dictionaries that are ready for JSON, and back."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from math import isfinite
from types import UnionType
from typing import Any, ClassVar, Literal, Self, Union, get_args, get_origin, get_type_hints

import numpy as np

from caltest._basics.numerics import OwnErrstate
from caltest._results.citations import entries

SCHEMA = 1
"""Version of the form of the dictionaries; another one cannot be read."""


class Stored(OwnErrstate):
    """A result that becomes a dictionary of plain numbers, strings and lists, and is read back from it."""

    not_stored: ClassVar[tuple[str, ...]] = ()
    """Fields that are None in results that are read back."""
    derived: ClassVar[tuple[str, ...]] = ()
    """Properties that the dictionary has too."""

    citations: tuple[str, ...] = ()
    """Sources of the methods."""

    @abstractmethod
    def summary(self) -> str:
        """The report that ``print`` shows."""

    def __str__(self) -> str:
        return self.summary()

    def bibtex(self) -> str:
        """BibTeX entries of the methods."""
        return entries(self.citations)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings and lists, ready for JSON and for ``from_dict``; infinite numbers are strings."""
        from caltest import __version__

        header = {"result": type(self).__name__, "schema": SCHEMA, "caltest": __version__}
        return header | {name: plain(getattr(self, name)) for name in (*self._stored(), *self.derived)}

    @classmethod
    def from_dict(cls, entries: Mapping[str, Any]) -> Self:
        """The result that ``to_dict`` described; what else the dictionary holds is ignored.

        ``TypeError`` for anything other than a dictionary, ``ValueError`` for another result, another schema, missing
        entries, or entries of another type.
        """
        name = cls.__name__
        if not isinstance(entries, Mapping):
            raise TypeError(f"entries: got {type(entries).__name__}, wanted the dictionary of {name}.to_dict()")
        if entries.get("result") != name:
            raise ValueError(f"entries: got the result {entries.get('result')!r}, wanted {name!r}, as to_dict() gives")
        if entries.get("schema") != SCHEMA:
            raise ValueError(
                f"entries: got schema {entries.get('schema')!r} of caltest {entries.get('caltest')}, wanted {SCHEMA}; "
                "read it with that version of caltest"
            )
        missing = [field for field in cls._stored() if field not in entries]
        if missing:
            raise ValueError(f"entries: got no {', '.join(missing)}, wanted all that {name}.to_dict() gives")
        hints = get_type_hints(cls)
        found = {field: cls._restored(field, hints[field], entries[field]) for field in cls._stored()}
        return cls(**found, **dict.fromkeys(cls.not_stored))

    @classmethod
    def _stored(cls) -> list[str]:
        assert is_dataclass(cls)
        return [item.name for item in fields(cls) if item.name not in cls.not_stored]

    @classmethod
    def _restored(cls, name: str, hint: Any, value: Any) -> Any:
        """A field from its entry."""
        return restored(hint, value, name)


def plain(value: Any) -> Any:
    """What JSON knows: numbers, strings, lists and dictionaries."""
    if isinstance(value, Stored):
        return value.to_dict()
    if is_dataclass(value):
        return {item.name: plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list, np.ndarray)):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def restored(hint: Any, value: Any, name: str) -> Any:
    """A value of a type from what ``plain`` made of it; ``ValueError`` if it was made of something else."""
    origin, kinds = get_origin(hint) or hint, get_args(hint)
    if origin in (Union, UnionType):
        others = [kind for kind in kinds if kind is not type(None)]
        return None if value is None and len(others) < len(kinds) else restored(others[0], value, name)
    if origin is Literal:
        return _checked(value, value in kinds, name, f"one of {', '.join(map(repr, kinds))}")
    if origin is float:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and value == value
        return float(_checked(value, is_number or value in ("inf", "-inf"), name, "a number"))
    if origin is int:
        return _checked(value, isinstance(value, int) and not isinstance(value, bool), name, "a whole number")
    if origin in (str, bool):
        return _checked(value, isinstance(value, origin), name, "a string" if origin is str else "True or False")
    if is_dataclass(origin) or origin is Mapping:
        _checked(value, isinstance(value, Mapping), name, "a dictionary")
        return _from_entries(origin, kinds, value, name)
    _checked(value, isinstance(value, list), name, "a list")
    if origin is tuple:
        return tuple(restored(kinds[0], item, f"{name}[{i}]") for i, item in enumerate(value))
    array = np.array([restored(float, item, f"{name}[{i}]") for i, item in enumerate(value)], dtype=np.float64)
    array.flags.writeable = False
    return array


def _from_entries(kind: Any, kinds: tuple[Any, ...], entries: Mapping[str, Any], name: str) -> Any:
    """A dataclass, or a mapping."""
    if kind is Mapping:
        return {key: restored(kinds[1], item, f"{name}[{key!r}]") for key, item in entries.items()}
    if issubclass(kind, Stored):
        return kind.from_dict(entries)
    hints, names = get_type_hints(kind), [item.name for item in fields(kind)]
    missing = [field for field in names if field not in entries]
    _checked(dict(entries), not missing, name, f"{', '.join(missing)} too")
    return kind(**{field: restored(hints[field], entries[field], f"{name}.{field}") for field in names})


def _checked(value: Any, is_right: bool, name: str, wanted: str) -> Any:
    if not is_right:
        got = repr(value)
        raise ValueError(f"{name}: got {got if len(got) < 80 else got[:80] + ' ...'}, wanted {wanted}")
    return value
