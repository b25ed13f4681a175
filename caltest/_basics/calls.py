"""What all calls of users share: floating-point errors, wrong arguments, and how much of their results is read."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import partial, wraps
from importlib import import_module
from inspect import Parameter, isclass, isfunction, signature
from typing import Any, Self, TypeVar, cast
from unicodedata import category

import numpy as np

MOST = 7
"""Calls that take an argument and are named where another one does not; what nearly all take belongs to none."""

Call = TypeVar("Call", bound=Callable[..., Any])

_is_inside: ContextVar[bool] = ContextVar("caltest_is_inside", default=False)
"""Whether a call of the user is under way, whose state of errors what it calls has already; threads begin anew."""


def own_errstate(function: Call) -> Call:
    """Decorate what users call: it computes alike whatever ``numpy.seterr`` they made, and checks its results itself.

    An argument that it does not take, or lacks, is an error that says what it takes.
    """

    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        try:
            if _is_inside.get():
                return function(*arguments, **named)
            # What is set in a copy of the context goes with it, wherever a call is interrupted.
            return copy_context().run(_inside, function, arguments, named)
        except TypeError:
            error = _wrong_argument(function, arguments, named)
            if error is None:
                raise
        raise error

    return cast("Call", call)


def _inside(function: Callable[..., Any], arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    _is_inside.set(True)
    with np.errstate(all="ignore"):
        try:
            return function(*arguments, **named)
        except (ValueError, TypeError) as error:
            # Names of users are in it.
            error.args = tuple(printable(one) if isinstance(one, str) else one for one in error.args)
            raise


def printable(text: str) -> str:
    """Text whose control and format characters, which terminals obey, are written as Python writes them."""
    plain = (one.isprintable() or one in "\n\t" or category(one)[0] != "C" for one in text)
    return "".join(one if is_plain else repr(one)[1:-1] for one, is_plain in zip(text, plain, strict=True))


def kept(method: Call) -> Call:
    """Decorate a method: an object keeps its values by the arguments, as ``cached_property`` does without any."""
    name = f"_{method.__name__}_kept"

    @wraps(method)
    def call(self: Any, *arguments: Any) -> Any:
        known = vars(self).setdefault(name, {})
        if arguments not in known:
            known[arguments] = method(self, *arguments)
        return known[arguments]

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

    def __new__(cls, *arguments: Any, **named: Any) -> Self:
        """The object, of a class whose ``__init__``, which ``dataclass`` writes last, says what it takes."""
        owner = next(kind for kind in cls.__mro__ if "__init__" in vars(kind))
        init = vars(owner)["__init__"]
        if isfunction(init) and not hasattr(init, "__wrapped__"):
            setattr(owner, init.__name__, own_errstate(init))
        return super().__new__(cls)


def _wrong_argument(
    function: Callable[..., Any], arguments: tuple[Any, ...], named: Mapping[str, Any]
) -> TypeError | None:
    """The error for an argument that a call does not take, by its name or its place, or that it lacks; None for none.

    Of several the first is named.
    """
    name, parameters = _name_of(function, arguments), signature(function).parameters
    wanted = ", ".join(argument for argument in parameters if argument != "self") or "none"
    unknown = next((argument for argument in named if argument not in parameters), None)
    if unknown is not None and all(one.kind is not Parameter.VAR_KEYWORD for one in parameters.values()):
        # What is called, and what it is given, may take the argument where it is made.
        kinds = dict.fromkeys(type(one) for one in (*arguments, *named.values()) if isinstance(one, OwnErrstate))
        makers = [f"{kind.__name__}(...), where it is made" for kind in kinds if _takes(kind, unknown)]
        takers = makers or _own_call(function, arguments, unknown) or _takers(unknown, _result_of(function, arguments))
        hint = f", which belongs to {', '.join(takers)}" if 0 < len(takers) <= MOST else ""
        if unknown == "n_bins" and not makers:
            bins = "ct.binning.UniformBinning(n_bins) or QuantileBinning(n_bins)"
            here = "binning" in parameters
            hint = f", which is binning={bins} here" if here else ", which is ct.ECE(ct.binning.UniformBinning(n_bins))"
        return TypeError(f"{name}: got an argument {unknown!r}{hint}; wanted {wanted}")
    by_place = [key for key, one in parameters.items() if one.kind in _WITH_A_PLACE and key != "self"]
    n_given = len(arguments) - ("self" in parameters)
    if n_given > len(by_place) and all(one.kind is not Parameter.VAR_POSITIONAL for one in parameters.values()):
        others = ", ".join(key for key in parameters if key not in ("self", *by_place))
        named_others = f", and by their names {others}" if others else ""
        model = any(hasattr(one, "predict") for one in arguments)
        hint = "; pass what the model predicts, such as model.predict_proba(X), in place of it" if model else ""
        return TypeError(f"{name}: got {n_given} values, wanted {', '.join(by_place) or 'none'}{named_others}{hint}")
    needed = [key for key, one in parameters.items() if one.default is one.empty and one.kind in _WITH_A_NAME]
    lacking = next((key for key in needed if key not in named and key not in list(parameters)[: len(arguments)]), None)
    if lacking is None:
        return None
    text = (type(arguments[0]) if function.__name__ == "__init__" else function).__doc__ or ""
    examples = re.findall(rf">>> (.*\b{name}\(.*)", text)
    example = next((f", as in {one}" for one in examples if one.count("(") == one.count(")")), "")
    return TypeError(f"{name}: got no {lacking!r}; wanted {wanted}{example}")


_WITH_A_PLACE = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_WITH_A_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def _own_call(function: Callable[..., Any], arguments: tuple[Any, ...], argument: str) -> list[str]:
    """The call with data of what is made, if that takes an argument."""
    kinds = type(arguments[0]).__mro__ if function.__name__ == "__init__" else ()
    call = next((vars(one)["__call__"] for one in kinds if "__call__" in vars(one)), None)
    takes_data = isfunction(call) and {"predictions", "targets", argument} <= set(signature(call).parameters)
    return [f"{kinds[0].__name__}(...)(predictions, targets, {argument}=...)"] if takes_data else []


def _result_of(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """What a call gives; of the making of a test, what the test gives."""
    made = type(arguments[0]) if function.__name__ == "__init__" else None
    call = next((one for key in ("result", "__call__") if (one := getattr(made, key, None)) is not None), function)
    return signature(call if isfunction(call) else function).return_annotation


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


PVALUES, COMPONENTS, FINDINGS, ALL = range(4)
"""What is read of results: p-values; those of components, too; what is wrong and how much; and what tests could have
found. Most of the time of a test goes into what is not its p-value; none of it takes random numbers from this."""

_read: ContextVar[int] = ContextVar("caltest_read", default=ALL)


@contextmanager
def _at_most(level: int) -> Iterator[None]:
    token = _read.set(min(level, _read.get()))
    try:
        yield
    finally:
        _read.reset(token)


pvalues_only = partial(_at_most, PVALUES)
"""Inside, only p-values of results are read, as in simulations."""

without_findings = partial(_at_most, COMPONENTS)
"""Inside, nobody reads what is wrong and how much, nor what tests could have found."""

without_power = partial(_at_most, FINDINGS)
"""Inside, nobody reads what tests could have found: about half of their time where they find nothing."""


def are_pvalues_enough() -> bool:
    """Whether nobody reads more of a result than its p-value."""
    return _read.get() == PVALUES


def are_findings_read() -> bool:
    """Whether somebody reads what is wrong and how much."""
    return _read.get() >= FINDINGS


def is_power_read() -> bool:
    """Whether somebody reads what a test could have found."""
    return _read.get() == ALL
