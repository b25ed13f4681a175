"""What the error says where a call does not take an argument: what it takes, and what takes that argument."""

from collections.abc import Callable, Iterable
from importlib import import_module
from inspect import Parameter, isclass, isfunction, signature
from typing import Any


def unknown_argument(name: str, call: Callable[..., Any], given: Iterable[str]) -> TypeError | None:
    """The error for the first named argument that a call does not take; None if it takes them all."""
    parameters = signature(call).parameters
    unknown = next((argument for argument in given if argument not in parameters), None)
    if unknown is None or any(one.kind is Parameter.VAR_KEYWORD for one in parameters.values()):
        return None
    takers = _takers(unknown, signature(call).return_annotation)
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
