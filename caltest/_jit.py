"""The one place that imports numba: a decorator for the compiled loops of ``caltest._loops``."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import config, njit

F = TypeVar("F", bound=Callable[..., object])

SETTINGS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
"""A product and a sum may be rounded once instead of twice; nothing else that is fast and inexact is allowed."""


def jit(function: F) -> F:
    """Compile a plain function on arrays at its first call, without the interpreter lock, cached on disk.

    Where neither the package's folder nor the user's cache folder can be written to, numba refuses to cache;
    the function is then compiled once a process.
    """
    try:
        return cast("F", njit(cache=True, **SETTINGS)(function))
    except RuntimeError:
        return cast("F", njit(**SETTINGS)(function))


def n_processors() -> int:
    """Processors this process may use, or less if the environment variable NUMBA_NUM_THREADS says so."""
    settings: Any = config
    return int(settings.NUMBA_NUM_THREADS)
