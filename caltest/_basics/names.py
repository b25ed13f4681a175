"""What a package offers: its list of imports is the list of its public names."""

from collections.abc import Mapping
from types import ModuleType
from typing import Any


def offered(namespace: Mapping[str, Any]) -> list[str]:
    """Names without a leading underscore, but for modules, which are there whenever a part of them is imported."""
    return sorted(name for name, value in namespace.items() if name[0] != "_" and not isinstance(value, ModuleType))
