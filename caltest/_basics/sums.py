"""Sums over observations, which those of other parts of the data are added to."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import ClassVar, Self


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over observations, to which those of others are added field by field."""

    redrawn: ClassVar[Mapping[str, int]] = {}
    """Fields that are linear in what each observed or redrawn target adds, with the axis of these."""

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))
