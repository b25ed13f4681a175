"""What rows and outcomes of predictions are called: labels of pandas, and names of classes and columns."""

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from caltest._basics.arrays import index_of
from caltest._validation import class_order

if TYPE_CHECKING:
    from caltest.predictions.base import Predictions


class Labelled:
    """Names of outcomes and labels of rows of what was made of parameters, which can have labels themselves."""

    _parameters: tuple[Any, ...]
    classes: tuple[Any, ...] | None = None
    """Names of the outcomes, if these are classes."""
    _columns: tuple[Any, ...] | None = None
    """Names of the columns of the data frame of probabilities, which name classes if the targets are such names."""
    _coordinates: tuple[Any, ...] | None = None
    """Names of the columns of the data frame of means of vectors."""
    _indices: tuple[Any, ...] = ()
    """Those of the pandas objects among the arguments."""

    if TYPE_CHECKING:

        def __len__(self) -> int: ...

    @property
    def index(self) -> Any:
        """Labels of the rows: those of the first pandas object with n rows that they were made of, or None.

        Predictions that are made of others have theirs.
        """
        parts = (one.index for one in self._parameters if isinstance(one, Labelled))
        return next((one for one in (*self._indices, *parts) if one is not None and len(one) == len(self)), None)

    def _labelled(self, index: Any, rows: Any = None) -> Self:
        """These, with the labels of an index of pandas, or of some rows of one; without any for None and for stacks."""
        known = index is not None and np.ndim(rows) < 2
        self._indices = (index if rows is None else index[rows],) if known else ()
        return self

    @property
    def _names(self) -> list[str]:
        """Those of the classes, else of the columns that the probabilities were in, as text; empty without any."""
        return [str(name) for name in self.classes or self._columns or ()]


def indices_of(kind: type, arguments: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
    """Indices of the pandas objects among the arguments of a constructor, in its order."""
    labelled = {name: index for name, data in named.items() if (index := index_of(data)) is not None}
    if labelled:
        labelled = {name: labelled[name] for name in signature(kind.__init__).parameters if name in labelled}  # type: ignore[misc]
    return tuple(index for index in (*map(index_of, arguments), *labelled.values()) if index is not None)


def require_same_classes(classes: Sequence[Any] | None, wanted: Sequence[Any] | None, name: str) -> None:
    """Raise ``ValueError`` if two families name their classes differently, or order them differently."""
    if classes is not wanted and class_order(classes, wanted, name) is not None:
        given, asked = ("0, 1, ... without names" if names is None else f"{names!r}" for names in (classes, wanted))
        raise ValueError(
            f"{name}: got classes {given}, wanted {asked} as in the predictions, in that order; bring the columns into "
            "the same order"
        )


def named_one(known: "Predictions | None", new: "Predictions") -> "Predictions":
    """One of the new predictions, to check others against, or the known one if it has more names of its classes."""
    if known is None or (known.classes is None and (known._columns is None or new.classes is not None)):
        return new.take(slice(0, 1))
    return known
