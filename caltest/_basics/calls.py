"""What all calls of users share: the state of floating-point errors, and the error for an argument they do not take."""

from collections.abc import Callable, Iterable
from functools import wraps
from importlib import import_module
from inspect import Parameter, isclass, isfunction, signature
from typing import Any, TypeVar, cast

import numpy as np

Call = TypeVar("Call", bound=Callable[..., Any])


def own_errstate(function: Call) -> Call:
    """Decorate what users call: it computes alike whatever ``numpy.seterr`` they made, and checks its results itself.

    An argument that it does not take is an error that says what it takes.
    """

    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        try:
            with np.errstate(all="ignore"):
                return function(*arguments, **named)
        except TypeError:
            error = unknown_argument(_name_of(function, arguments), function, named, arguments[:1]) if named else None
            if error is None:
                raise
        raise error

    return cast("Call", call)


def _name_of(function: Callable[..., Any], arguments: tuple[Any, ...]) -> str:
    """Of a function or method; of what is made or called, that of its class."""
    name: str = getattr(function, "__name__", "")
    return type(arguments[0]).__name__ if name in ("__init__", "__call__") else name


class OwnErrstate:
    """Base of what users make: all public methods of its subclasses are decorated with ``own_errstate``."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, value in list(vars(cls).items()):
            if isfunction(value) and (name[0] != "_" or name in ("__init__", "__post_init__", "__call__")):
                setattr(cls, name, own_errstate(value))


def unknown_argument(
    name: str, call: Callable[..., Any], given: Iterable[str], owner: tuple[Any, ...] = ()
) -> TypeError | None:
    """The error for the first named argument that a call does not take; None if it takes them all.

    ``owner`` is the object of a method, whose class may take the argument where it is made.
    """
    parameters = signature(call).parameters
    unknown = next((argument for argument in given if argument not in parameters), None)
    if unknown is None or any(one.kind is Parameter.VAR_KEYWORD for one in parameters.values()):
        return None
    makers = [type(one).__name__ for one in owner if "self" in parameters and _takes(type(one), unknown)]
    takers = [f"{maker}(...), where it is made" for maker in makers] or _takers(
        unknown, signature(call).return_annotation
    )
    hint = f", which belongs to {', '.join(takers)}" if takers else ""
    wanted = ", ".join(argument for argument in parameters if argument != "self") or "none"
    return TypeError(f"{name}: got an argument {unknown!r}{hint}; wanted {wanted}")


def _takers(argument: str, result: Any) -> list[str]:
    """Methods of the result that take an argument, or else functions of the front door that do."""
    methods = vars(result).items() if isclass(result) else ()
    found = [f"result.{key}()" for key, one in methods if key[0] != "_" and isfunction(one) and _takes(one, argument)]
    if found:
        return found
    front = import_module("caltest")
    calls = {key: getattr(front, key) for key in front.__all__}
    return [f"ct.{key}()" for key, one in calls.items() if isfunction(one) and _takes(one, argument)]


def _takes(call: Callable[..., Any], argument: str) -> bool:
    return argument in signature(call).parameters
