"""The one place that imports numba: a decorator for the compiled loops of ``caltest._loops``."""

import glob
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np


@contextmanager
def _one_thread_at_least() -> Iterator[None]:
    """NUMBA_NUM_THREADS below 1, with which numba cannot be imported, stands for one thread."""
    asked = os.environ.get("NUMBA_NUM_THREADS", "")
    if asked.strip().removeprefix("-").isdecimal() and int(asked) < 1:
        os.environ["NUMBA_NUM_THREADS"] = "1"
        try:
            yield
        finally:
            os.environ["NUMBA_NUM_THREADS"] = asked
    else:
        yield


with _one_thread_at_least():
    from numba import __version__ as numba_version, config, njit
    from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache

F = TypeVar("F", bound=Callable[..., object])

SETTINGS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
"""A product and a sum may be rounded once instead of twice; nothing else that is fast and inexact is allowed."""

SUMS = {"contract", "reassoc", "nsz"}
"""What is allowed beside that where sums are taken in any order."""


@cache
def _digest() -> str:
    """What machine code depends on: all loops, which are compiled into one another, and how they are compiled.

    Names of types, all that loops take from elsewhere, do not change it.
    """
    here = Path(__file__)
    total = sha256(f"{SETTINGS} {sorted(SUMS)} {config.BOUNDSCHECK} {np.__version__}".encode())
    for path in (here, *sorted((here.parents[1] / "_loops").rglob("*.py"))):
        total.update(f"{path.name} {path.stat().st_size} ".encode() + path.read_bytes())
    return total.hexdigest()


class _Files(IndexDataCacheFile):  # type: ignore[misc]
    """One file for each signature and source, without numba's index of them.

    The index is read and written by several steps, between which another process can give the same file to another
    signature, or leave one of older sources in its place.
    """

    def save(self, key: Any, data: Any) -> None:
        """Write the code for a key as a whole, and remove that of other sources."""
        self._save_data(self._file(key), (key, data))
        for path in self._paths():
            if not path.name.startswith(self._file()):
                with suppress(OSError):
                    path.unlink()

    def load(self, key: Any) -> Any:
        """The code for a key, or None if there is none."""
        try:
            found, data = self._load_data(self._file(key))
        except FileNotFoundError:
            return None
        return data if found == key else None

    def flush(self) -> None:
        """Remove the code for all keys."""
        for path in self._paths():
            with suppress(OSError):
                path.unlink()

    def _file(self, key: Any = None) -> str:
        """The name of the file for a key, or what those of all keys begin with."""
        sources = f"{self._index_name.removesuffix('nbi')}{sha256(self._source_stamp.encode()).hexdigest()[:16]}"
        return sources if key is None else f"{sources}.{sha256(repr(key).encode()).hexdigest()[:16]}.nbc"

    def _paths(self) -> list[Path]:
        """The files of this loop, those of numba's own index among them."""
        return list(Path(self._cache_path).glob(f"{glob.escape(self._index_name.removesuffix('nbi'))}*nb[ci]"))


class _Cache(NullCache):  # type: ignore[misc]
    """Machine code on disk that is used as long as no loop changes, and compiled again where it cannot be read.

    The folder is looked for when a loop is called for the first time: for all of them that takes a tenth of the import.
    """

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function

    @cached_property
    def on_disk(self) -> FunctionCache:
        """``RuntimeError`` or ``OSError`` where no folder can be written to, or there are no source files."""
        cache = FunctionCache(self._function)
        cache._cache_file = _Files(cache.cache_path, cache._impl.filename_base, f"{numba_version} {_digest()}")
        return cache

    def load_overload(self, *place: Any) -> Any:
        """The code for a signature, or None if there is none or it is damaged."""
        with suppress(Exception):
            return self.on_disk.load_overload(*place)
        return None

    def save_overload(self, *code: Any) -> None:
        """Keep the code for a signature where that is possible."""
        with suppress(Exception):
            self.on_disk.save_overload(*code)


def jit(function: F) -> F:
    """Compile a plain function on arrays at its first call, without the interpreter lock, cached on disk.

    Where neither the package's folder nor the user's cache folder can be written to, or there are no source files, the
    function is compiled once a process.
    """
    return _compiled(function, SETTINGS)


def jit_sums(function: F) -> F:
    """The same for sums whose terms may be added in any order, many at a time."""
    return _compiled(function, SETTINGS | {"fastmath": SUMS})


def _compiled(function: F, settings: dict[str, Any]) -> F:
    function.__qualname__ = _name_of(function)
    compiled = njit(**settings)(function)
    compiled._cache = _Cache(function)
    return cast("F", compiled)


def _name_of(function: Callable[..., object]) -> str:
    """The name of a function with the values of its free variables.

    Symbols of machine code consist of it and of a number that numba counts up in each process. Without the values two
    loops that are made by one function, and kept on disk by two processes, can have the same symbol: a third process
    calls one of them in place of the other.
    """
    values = [cell.cell_contents for cell in function.__closure__ or ()]
    return f"{function.__qualname__}{tuple(values) if values else ''}"


def n_processors() -> int:
    """Processors this process may use, or less if the environment variable NUMBA_NUM_THREADS says so."""
    settings: Any = config
    return int(settings.NUMBA_NUM_THREADS)
