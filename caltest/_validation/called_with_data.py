"""Tests and estimators are made of settings first, and called with data then."""

from collections.abc import Mapping
from inspect import signature
from typing import Any, Self

from caltest._basics.numerics import Table, index_of
from caltest._validation.columns import in_rows_of
from caltest._validation.settings import Settings

OF_ROWS = "clusters", "weights", "features"
"""Settings that belong to the rows of the data."""


class CalledWithData(Settings):
    """Base of what is called with data: ``TypeError`` if it is made of them, ``ECE(p, y)`` for ``ECE()(p, y)``."""

    def __new__(cls, *arguments: Any, **named: Any) -> Self:
        """The object, unless it is given two columns in place of settings."""
        if len(arguments) == 2 and all(hasattr(one, "__len__") and not isinstance(one, str) for one in arguments):
            name = cls.__name__
            raise TypeError(
                f"{name}: got data in place of settings; make it first and then call it with them, "
                f"{name}(...)(predictions, targets)"
            )
        new = super().__new__(cls)
        object.__setattr__(new, "_arguments", (arguments, named))
        return new

    def in_order_of(self, order: Table) -> Self:
        """The same with settings of rows in the order of a call, where pandas labels both."""
        arguments, named = vars(self).get("_arguments", ((), {}))
        if order.index is None or not (arguments or named):
            return self
        given = signature(type(self)).bind(*arguments, **named).arguments
        ordered = {name: _ordered(value, order, name) for name, value in given.items()}
        is_same = all(ordered[name] is given[name] for name in given)
        return self if is_same else type(self)(**ordered)


def _ordered(value: Any, order: Table, name: str) -> Any:
    """Itself, or with its rows in the order of a call."""
    if isinstance(value, CalledWithData):
        return value.in_order_of(order)
    if name not in OF_ROWS:
        return value
    if isinstance(value, Mapping):
        parts = {key: _ordered(one, order, name) for key, one in value.items()}
        return value if all(parts[key] is value[key] for key in value) else parts
    if isinstance(value, (list, tuple)):
        columns = [_ordered(one, order, name) for one in value]
        return value if all(one is other for one, other in zip(columns, value, strict=True)) else columns
    index = index_of(value)
    return value if index is None or index.equals(order.index) else in_rows_of(value, order, name)
