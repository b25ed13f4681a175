"""Loops over the parts of a computation: in threads on all processors, or on the workers that joblib provides.

Compiled loops and numpy run without the interpreter lock. Random streams do not depend on the parts, and a bar shows
progress where one is asked for.
"""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from functools import lru_cache
from itertools import islice, pairwise
from math import inf
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from caltest._basics.calls import own_errstate
from caltest._basics.jit import n_processors
from caltest._basics.numerics import Array

T = TypeVar("T")
R = TypeVar("R")

WORTH_THREADS = 5e6
"""Nanoseconds of work below which it takes longer to start threads than they save."""

AHEAD = 4
"""Parts that wait for each thread: enough to keep it busy, few enough to keep their results small."""


_alone: ContextVar[bool] = ContextVar("caltest_alone", default=False)


def n_threads() -> int:
    """Number of processors, or less if the environment variable NUMBA_NUM_THREADS or OMP_NUM_THREADS says so.

    Programs that start several worker processes set these variables to share the processors among them. Inside
    ``one_thread()`` it is 1.
    """
    if _alone.get():
        return 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(n_processors(), int(limit) if limit.isdecimal() else n_processors()))


@lru_cache(1)
def _pools(n_modules: int) -> Any:
    """The thread pools of libraries, looked for again when modules may have loaded others: it takes a millisecond."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class _OneBlasThread:
    """Keeps matrix products to one thread each while threads are at work: several pools slow each other down.

    The setting is that of the whole process, so the first user makes it and the last one undoes it. Both do so in a
    thread that ends at once: threadpoolctl lets no other thread change the setting as long as the last one to do so
    lives, and the users can be different threads.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._undo: Callable[[], None] = lambda: None

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                pools = _pools(len(sys.modules))
                self._undo = _elsewhere(lambda: pools.limit(limits=1, user_api="blas").restore_original_limits)
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                _elsewhere(self._undo)


@contextmanager
def one_thread() -> Iterator[None]:
    """No other threads inside, neither for loops nor for matrix products: several workers share the processors."""
    token = _alone.set(True)
    try:
        with one_blas_thread:
            yield
    finally:
        _alone.reset(token)


def _elsewhere(function: Callable[[], R]) -> R:
    """The result of a function that is called in a thread of its own."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(function).result()


one_blas_thread = _OneBlasThread()
"""One thread for each matrix product inside: many small products in turn are slower in several."""


def threaded(
    function: Callable[[T], R],
    items: Iterable[T],
    total: int,
    what: str,
    *,
    work: float = inf,
    products: bool = False,
    ahead: int = AHEAD,
) -> Iterator[R]:
    """``function`` of each of ``total`` items, in their order: sums of the results do not depend on the threads.

    ``what`` names the loop in progress bars, ``work`` is about how many nanoseconds it takes, ``products`` says whether
    the function multiplies matrices, and ``ahead`` how many items each thread has, results among them.
    """
    if total <= 1:
        yield from map(function, items)
        return
    if n_threads() == 1 or work < WORTH_THREADS:
        yield from tracked(map(function, items), total, what)
        return
    with one_blas_thread if products else nullcontext(), ThreadPoolExecutor(min(n_threads(), total)) as pool:
        yield from tracked(_in_order(pool, own_errstate(function), iter(items), ahead), total, what)


def _in_order(pool: ThreadPoolExecutor, function: Callable[[T], R], items: Iterator[T], ahead: int) -> Iterator[R]:
    waiting: deque[Future[R]] = deque(pool.submit(function, item) for item in islice(items, ahead * n_threads()))
    while waiting:
        ready = [waiting.popleft().result()]
        waiting.extend(pool.submit(function, item) for item in islice(items, 1))
        # Results can be large, and are not kept here while the next one is made.
        yield ready.pop()


FORMAT = "about {remaining} left: {desc}, {n_fmt} of {total_fmt} |{bar}|"

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


Stream = tuple[np.random.Generator, int]
"""A generator and how many resamples it makes."""

RESAMPLES_OF_A_STREAM = 32


def streams(rng: np.random.Generator, n_resamples: int) -> list[Stream]:
    """Independent generators, each for a few of the resamples, so that results do not depend on who makes which."""
    sizes = [min(RESAMPLES_OF_A_STREAM, n_resamples - i) for i in range(0, n_resamples, RESAMPLES_OF_A_STREAM)]
    return list(zip(rng.spawn(len(sizes)), sizes, strict=True))


def redrawn(law: Any, function: Callable[[Array], Array], n_resamples: int, rng: np.random.Generator) -> Array:
    """Values (B, m) of a function of outcomes (B, n) that are redrawn from predictions."""
    parts = streams(rng, n_resamples)

    def values(part: Stream) -> Array:
        return function(law.with_redraws(None, [part]))

    return np.concatenate(list(threaded(values, parts, len(parts), "redraws", products=True)))


def n_jobs() -> int:
    """Workers inside ``joblib.parallel_config(...)``, else 1: threads of this process do the work then."""
    if "joblib" not in sys.modules:
        return 1
    from joblib import effective_n_jobs

    return int(effective_n_jobs(None))


def in_parts(items: Sequence[R], at_most: int) -> list[Sequence[R]]:
    """The items in consecutive parts: of at most so many, and not fewer parts than there are workers."""
    n_parts = min(len(items), max(n_jobs(), -(-len(items) // max(1, at_most))))
    bounds = [len(items) * part // n_parts for part in range(n_parts + 1)]
    return [items[start:stop] for start, stop in pairwise(bounds)]


def run(function: Callable[..., R], calls: Sequence[tuple[Any, ...]], what: str) -> list[R]:
    """``function`` of the arguments of each call, by joblib's workers if there are several."""
    return list(results(function, calls, what))


def results(function: Callable[..., R], calls: Sequence[tuple[Any, ...]], what: str) -> Iterator[R]:
    """The same one after the other, in the order of the calls, each as soon as it is there."""
    if n_jobs() == 1 or len(calls) == 1:
        shown = tracked(calls, len(calls), what) if len(calls) > 1 else calls
        yield from (function(*arguments) for arguments in shown)
        return
    from joblib import Parallel, delayed

    made = Parallel(return_as="generator")(delayed(function)(*arguments) for arguments in calls)
    yield from tracked(made, len(calls), what)
