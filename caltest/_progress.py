"""Progress bars for long computations, shown only where the caller asked for them."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

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

    bar: Iterable[T] = tqdm(items, total=total, desc=what, delay=1.0, leave=False, bar_format=FORMAT)
    return bar
