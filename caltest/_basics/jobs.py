"""Resamples in parts: random streams that do not depend on the parts, and parts on the workers that joblib provides."""

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from caltest._basics.numerics import Array
from caltest._basics.threads import threaded, tracked

R = TypeVar("R")

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
