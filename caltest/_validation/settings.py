"""Single numbers and switches, and what is made of them before it is called with data."""

import operator
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import partial
from inspect import signature
from math import inf, nan
from typing import Any, ClassVar, Self, get_args

import numpy as np

from caltest._basics.arrays import Table, index_of, to_array
from caltest._basics.calls import OwnErrstate
from caltest._basics.numerics import ArrayLike, FloatArray
from caltest._validation.columns import in_rows_of

Check = Callable[[str, Any], Any]
"""What is kept of a value that is given for a setting of a name; errors say what was wanted."""

LONGEST = 200
"""Letters of a value in an error."""


def in_short(value: Any) -> str:
    """What an error says of a value that it got: on one line, and cut where it is long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


class Settings(OwnErrstate):
    """Base of frozen dataclasses whose settings are checked when they are made."""

    _checks: ClassVar[Mapping[str, Check]] = {}
    """Checks of settings by their names; classes have those of their bases, too."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        of_all = (vars(kind).get("_checks", {}) for kind in reversed(cls.__mro__))
        cls._checks = {name: check for some in of_all for name, check in some.items()}

    def __post_init__(self) -> None:
        for name, check in self._checks.items():
            object.__setattr__(self, name, check(name, getattr(self, name)))

    def _with(self, **values: Any) -> Self:
        """A copy with other values of some fields, which are not checked."""
        changed = copy(self)
        for name, value in values.items():
            object.__setattr__(changed, name, value)
        return changed


def real_number(value: Any) -> float:
    """A number as a float; nan for what is none: booleans, text, bytes, arrays that are not of one number."""
    if isinstance(value, (bool, np.bool_, str, bytes, bytearray)) or getattr(value, "ndim", 0) > 0:
        return nan
    try:
        return float(value) if np.asarray(value).dtype.kind in "uifO" else nan
    except (TypeError, ValueError, OverflowError):
        return nan


def positive_number(name: str, value: Any, also: str = "") -> float:
    """A finite number above 0."""
    number = real_number(value)
    if not 0.0 < number < inf:
        raise ValueError(f"{name}: got {in_short(value)}, wanted a positive number{' ' + also if also else ''}")
    return number


def positive_numbers(name: str, values: Any) -> tuple[float, ...]:
    """Finite numbers above 0, at least one."""
    is_list = isinstance(values, (list, tuple)) or (isinstance(values, np.ndarray) and values.ndim == 1)
    if not is_list or len(values) == 0:
        raise ValueError(f"{name}: got {in_short(values)}, wanted positive numbers")
    return tuple(positive_number(name, value) for value in values)


def one_of(name: str, value: Any, choices: Sequence[str]) -> str:
    """One of some texts."""
    if not isinstance(value, str) or value not in choices:
        *others, last = (f'"{choice}"' for choice in choices)
        raise ValueError(f"{name}: got {in_short(value)}, wanted {', '.join(others)} or {last}")
    return value


def choice(choices: Any) -> Check:
    """The check of a text that is one of a tuple, or of a ``Literal``."""
    return partial(one_of, choices=get_args(choices) or choices)


def instance_of(kind: type | tuple[type, ...], wanted: str) -> Check:
    """A check that raises ``TypeError`` for anything else."""

    def check(name: str, value: Any) -> Any:
        if not isinstance(value, kind):
            raise TypeError(f"{name}: got {in_short(value)}, wanted {wanted}")
        return value

    return check


def optional(check: Check) -> Check:
    """A check of what can be None."""
    return lambda name, value: None if value is None else check(name, value)


MOST = 10_000_000
"""Resamples, simulations, bins and the like; more would take hours and many GB without a sign of it."""

MOST_OBSERVATIONS = 2**40
"""The largest number of observations that are drawn; whether they fit into memory is another question."""


def whole_number(name: str, value: Any, minimum: int, maximum: float = MOST) -> int:
    """An integer of at least ``minimum``."""
    try:
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{name}: got {in_short(value)}, wanted a whole number of at least {minimum}") from None
    if isinstance(value, bool) or number < minimum:
        raise ValueError(f"{name}: got {in_short(value)}, wanted a whole number of at least {minimum}")
    if number > maximum:
        raise ValueError(f"{name}: got {in_short(value)}, wanted at most {maximum}")
    return number


def whole(minimum: int, maximum: float = MOST) -> Check:
    """The check of an integer."""
    return partial(whole_number, minimum=minimum, maximum=maximum)


def number_of_observations(n: Any) -> int:
    """How many to draw: a whole number that arrays can have as a length."""
    return whole_number("n", n, 1, MOST_OBSERVATIONS)


def at_least(n: int, minimum: int, what: str) -> None:
    """Raise ``ValueError`` if there are fewer observations than an estimator needs."""
    if n < minimum:
        raise ValueError(
            f"predictions: got {n} observation{'s' if n != 1 else ''}, wanted at least {minimum} for {what}"
        )


def fraction(name: str, value: Any) -> float:
    """A number strictly between 0 and 1."""
    number = float(value) if isinstance(value, (float, np.floating)) else 0.0
    if not 0.0 < number < 1.0:
        raise ValueError(f"{name}: got {in_short(value)}, wanted a number between 0 and 1")
    return number


def levels(name: str, data: ArrayLike) -> FloatArray:
    """Numbers strictly between 0 and 1, of any shape."""
    array = to_array(data, name)
    values = np.asarray(array, dtype=np.float64) if array.dtype.kind in "buif" else np.full(1, np.nan)
    outside = ~((values > 0.0) & (values < 1.0))
    if outside.any():
        got = np.ravel(array)[np.argmax(outside)] if array.dtype.kind in "buif" else data
        raise ValueError(f"{name}: got {in_short(got)}, wanted numbers between 0 and 1")
    return values


def increasing_levels(name: str, data: ArrayLike) -> tuple[float, ...]:
    """Increasing numbers strictly between 0 and 1, at least one."""
    values = np.atleast_1d(levels(name, data))
    if values.ndim != 1 or values.size == 0 or (np.diff(values) <= 0.0).any():
        raise ValueError(f"{name}: got {in_short(data)}, wanted increasing numbers between 0 and 1")
    return tuple(values.tolist())


def switch(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name}: got {in_short(value)}, wanted True or False")
    return bool(value)


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
        new = super().__new__(cls, *arguments, **named)
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
