"""Progress bars for long computations, shown only where the caller asked for them."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")

FORMAT = "{desc} {percentage:3.0f}% |{bar}| {elapsed} passed, {remaining} left"

_shown: ContextVar[bool] = ContextVar("caltest_progress", default=False)


@contextmanager
def progress_bars(shown: bool) -> Iterator[None]:
    """Show a bar on standard error for every long loop inside, or none at all."""
    token = _shown.set(shown)
    try:
        yield
    finally:
        _shown.reset(token)


def tracked(items: Iterable[T], total: int, what: str) -> Iterable[T]:
    """The items, with a bar that says ``what`` if bars are shown and the loop takes more than a second."""
    if not _shown.get():
        return items
    from tqdm import tqdm

    shown = _Screen(sys.stderr)
    bar: Iterable[T] = tqdm(items, total=total, desc=what, delay=1.0, leave=False, bar_format=FORMAT, file=shown)
    return bar


class _Screen:
    """Standard error for as long as it takes a bar: no computation fails because it is closed, full or not there."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        with suppress(Exception):
            self._stream.write(text)

    def flush(self) -> None:
        with suppress(Exception):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def in_terminal() -> bool:
    """Whether standard error is a terminal."""
    try:
        return bool(sys.stderr.isatty())
    except (AttributeError, OSError, ValueError):
        return False
