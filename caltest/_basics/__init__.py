"""What everything else stands on: arrays and files of users, compiled loops, threads, progress, errors of numbers."""

from collections.abc import Mapping
from types import ModuleType
from typing import Any


def offered(namespace: Mapping[str, Any]) -> list[str]:
    """Public names of a package, which are those that it imports, but for modules: these come with a part of them."""
    return sorted(name for name, value in namespace.items() if name[0] != "_" and not isinstance(value, ModuleType))
