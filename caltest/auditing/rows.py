"""Which rows an audit looks at, in which order and groups."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np

from caltest._basics.arrays import Table
from caltest._basics.numerics import Array, IntArray
from caltest._validation import same_length
from caltest._validation.columns import missing_in, plain_column
from caltest._validation.groups import Groups, groups_of_any_size
from caltest.auditing.section import Data
from caltest.default_test import are_tested_together
from caltest.estimators.kernel_errors.cluster_skce import check_clusters
from caltest.hstatistics.redraws.within_clusters import Clusters

FEWEST_CLUSTERS = 20
"""Of which one row each is looked at."""


def one_per_cluster(data: Data, clusters: Clusters) -> Data:
    """The data with one row of each cluster, and all rows beside them if these can be tested."""
    sample, known, n = data.sample, data.groups, data.n
    same_length(n, len(clusters), "clusters")
    check_clusters(clusters, sample.targets)
    kept = clusters.independent_rows(np.random.default_rng([data.seed, 1]).permutation(n))
    used = f"only one row of each of {kept.size} clusters is"
    if clusters.are_crossed:
        used = f"only {kept.size} rows that share neither of two clusters are"
    told, dependent = f"{used} used ({kept.size} of {n} rows), so that rows are independent", None
    if are_tested_together(clusters, sample):
        told = (
            f"the test, the groups and the size of the error are of all {n} rows in {kept.size} clusters; the other "
            "sections use one row of each cluster, so that rows are independent"
        )
        dependent = sample, clusters, known
    elif kept.size < FEWEST_CLUSTERS:
        raise ValueError(
            f"clusters: got {kept.size} of {n} rows, wanted {FEWEST_CLUSTERS} at least, as one row of each is looked "
            "at; calibration_test(p, y, clusters=labels) and calibration_by_group take all rows"
        )
    return replace(_some_of(data, kept), clusters=told, dependent=dependent)


def one_per_lag(data: Data, lag: int) -> Data:
    """The data with every lag-th row in the order of time, and all rows in that order beside them."""
    assert data.order is not None
    assert data.times is not None
    if np.unique(plain_column(data.times)).size < data.n:
        raise ValueError(
            "lag: got one where rows have the same time, wanted a time for each row; or pass clusters=time"
        )
    kept = np.sort(data.order[::lag])
    if kept.size < FEWEST_CLUSTERS:
        raise ValueError(
            f"lag: got {lag} for {data.n} rows, wanted {FEWEST_CLUSTERS} rows at least that are so far apart"
        )
    told = (
        f"the test and the size of the error are of all {data.n} rows, of which those fewer than {lag} apart in the "
        f"order of time may depend on each other; the other sections use every {lag}{_ordinal(lag)} row ({kept.size} "
        "rows)"
    )
    overlapping = data.sample.take(data.order)
    return replace(_some_of(data, kept), clusters=told, overlapping=overlapping, lag=lag)


def _ordinal(number: int) -> str:
    """What follows a number that says a place."""
    return "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def _some_of(data: Data, kept: IntArray) -> Data:
    known, when, survival = data.groups, data.order, data.survival
    return replace(
        data,
        sample=data.sample.take(kept),
        groups=known.taken(kept) if isinstance(known, Groups) else known,
        features=None if data.features is None else {name: one[kept] for name, one in data.features.items()},
        order=None if when is None else np.argsort(np.argsort(when, kind="stable")[kept], kind="stable"),
        times=None if data.times is None else data.times[kept],
        survival=None if survival is None else (survival[0].take(kept), survival[1].take(kept)),
        kept=kept,
    )


def groups_of(groups: Any, order: Table, n: int) -> Groups | str:
    """Groups of n rows, or why they are none; ``ValueError`` for another number of rows."""
    for column in groups.values() if isinstance(groups, Mapping) else [groups]:
        same_length(n, column.n if isinstance(column, Groups) else len(column), "groups")
    try:
        return groups_of_any_size(groups, order)
    except ValueError as error:
        return str(error)


def in_order(time: Array, n: int) -> Array:
    """Rows in the order of time; ``ValueError`` for missing times."""
    when = plain_column(time)
    if when.ndim != 1:
        raise ValueError(f"time: got shape {when.shape}, wanted (n,) numbers or dates")
    same_length(n, when.size, "time")
    missing = missing_in("time", when)
    if missing.any():
        raise ValueError(f"time: got a missing time at row {int(np.argmax(missing))}, wanted one for each row")
    if any(isinstance(one, str) for one in when.tolist()):
        when = _times_in(when)
    try:
        order = np.argsort(when, kind="stable")
    except TypeError:
        raise TypeError(f"time: got {when[0]!r} among values without an order, wanted numbers or dates") from None
    if n > 1 and when[order[0]] == when[order[-1]]:
        raise ValueError(f"time: got {when[0]!s} for all rows, wanted times that say their order; or leave it out")
    return order


def _times_in(texts: Array) -> Array:
    """Dates and times written as in ISO 8601; ``ValueError`` for others, whose order is not that of letters."""
    try:
        return plain_column(np.array([datetime.fromisoformat(one) for one in texts.tolist()], dtype=object))
    except (TypeError, ValueError):
        pass
    try:
        return np.array(texts, dtype="datetime64[us]")
    except ValueError:
        text = next(one for one in texts.tolist() if isinstance(one, str))
        raise ValueError(
            f"time: got text such as {text!r}, wanted numbers, dates, or text such as '2026-01-31' or "
            "'2026-01-31 13:00', of the same kind in all rows"
        ) from None
