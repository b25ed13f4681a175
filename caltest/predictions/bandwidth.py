"""The median heuristic: exact medians of all pairwise distances, without storing them."""

from collections.abc import Callable, Iterator
from math import ceil, sqrt
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from caltest._basics.numerics import FloatArray, IntArray, ranges, upper_tiles
from caltest._basics.threads import threaded
from caltest._loops.counting import count_close, count_values
from caltest.kernels import Metric, VectorMetric

if TYPE_CHECKING:
    from caltest.predictions.base import Predictions

R = TypeVar("R")

TILE = 256
CELLS = 4096
MEDIAN_OF, LEAST_MEDIAN_OF = 10_000, 1000
"""A median bandwidth of more predictions than this is that of so many evenly spaced ones; and at least how many these
are where pairs take long."""
KEPT, FEW = 500_000, 50_000
"""The most distances kept in memory, 4 MB; above it the interval of the median is narrowed first, and from the second
number on random pairs say where it may be."""
DEVIATIONS, PAIRS_AT_ONCE, MOST_PAIRS = 4.0, 2**12, 2**19
"""An interval around the median of random pairs has so many standard deviations of its place to either side; so many
pairs are taken at a time, and at most so many."""


class ZeroBandwidth(ValueError):
    """A median that is to be a bandwidth is 0: most pairs of predictions are identical, or most targets certain."""


def median_of(parts: int) -> int:
    """Predictions that a default median is of, if each has some parts, all pairs of which a distance takes."""
    return max(LEAST_MEDIAN_OF, MEDIAN_OF // parts)


def median_distance(predictions: "Predictions", metric: Metric, include_diagonal: bool = False) -> float:
    """Median of the n(n-1)/2 distances of different predictions, or of all n**2 with the zeros of the diagonal."""
    n = len(predictions)
    if n < 2:
        raise ValueError('bandwidth: got "median" with 1 prediction, wanted at least 2, or the bandwidth as a number')
    pairs = n * (n - 1) // 2
    if include_diagonal:
        # The n**2 sorted distances are n zeros followed by every pair twice.
        ranks = [(rank - n) // 2 if rank >= n else -1 for rank in ((n * n - 1) // 2, n * n // 2)]
    else:
        ranks = [(pairs - 1) // 2, pairs // 2]
    median = _mean_of_ranks(predictions, metric, ranks, pairs)
    if median <= metric.rounding(predictions):
        raise ZeroBandwidth(
            'bandwidth: got "median" but the median distance of the predictions is 0, because most of them are '
            "identical; give the bandwidth as a number (if all are identical, every number gives the same test), "
            "e.g. kernel=ProductKernel(ExponentialKernel(TotalVariation(), 0.1), DeltaKernel()) for classes"
        )
    return median


def median_positive_distance(predictions: "Predictions", metric: Metric) -> float:
    """Median of the distances of the pairs that differ by more than rounding; ``ZeroBandwidth`` if none does."""
    n = len(predictions)
    pairs = n * (n - 1) // 2
    rounding = metric.rounding(predictions)
    equal = sum(_of_all_pairs(predictions, metric, lambda values: int(np.count_nonzero(values <= rounding))))
    if equal == pairs:
        raise ZeroBandwidth(
            f"predictions: all {n} are identical, so their median distance gives no bandwidth; name a kernel with "
            "a number (every number gives the same test), e.g. "
            "kernel=ProductKernel(ExponentialKernel(TotalVariation(), 0.1), DeltaKernel()) for classes"
        )
    return _mean_of_ranks(predictions, metric, [equal + (pairs - equal - 1) // 2, equal + (pairs - equal) // 2], pairs)


def _mean_of_ranks(predictions: "Predictions", metric: Metric, ranks: list[int], pairs: int) -> float:
    """Mean of two order statistics of neighbouring ranks, where rank -1 stands for a zero of the diagonal."""
    low, high = ranks
    if low < 0:
        return 0.0 if high < 0 else _order_statistics(predictions, metric, high, high, pairs)[0] / 2.0
    first, second = _order_statistics(predictions, metric, low, high, pairs)
    return (first + second) / 2.0


def _order_statistics(predictions: "Predictions", metric: Metric, rank: int, next_rank: int, pairs: int) -> list[float]:
    """The distance with ``rank`` others before it and that of the next rank, by narrowing an interval around them."""
    low, high = 0.0, np.inf
    if pairs > FEW:
        points = _on_a_line(predictions, metric)
        if points is not None:
            apart = np.array([_difference(points, rank), _difference(points, next_rank)])
            assert isinstance(metric, VectorMetric)
            return [float(value) for value in metric.tile(np.zeros((1, 1)), apart[:, None])[0]]
        # No distance exceeds the sum of two distances to the first prediction, nor a squared one twice that sum.
        largest = float(predictions.take(slice(0, 1)).distance(metric, predictions).max())
        high = min(4.0 * largest, np.finfo(float).max)
        found = _near_random_pairs(predictions, metric, [rank, next_rank], pairs)
        if found is not None:
            return found
    inside = pairs
    while inside > KEPT and high > np.nextafter(low, np.inf):
        below, counts = _count(predictions, metric, low, high)
        first, last = np.searchsorted(below + np.cumsum(counts), [rank, next_rank], side="right")
        width = (high - low) / CELLS
        # Half a cell of margin on either side covers the rounding of the cells' edges.
        narrowed = max(low, low + (first - 0.5) * width), min(high, low + (last + 1.5) * width)
        if narrowed == (low, high):
            break
        low, high = narrowed
        inside = int(counts[max(first - 1, 0) : last + 2].sum())

    if inside > KEPT:
        return _among_equal_ones(predictions, metric, [rank, next_rank], low, high)
    found = _among_those_between(predictions, metric, [rank, next_rank], low, high)
    assert found is not None
    return found


def _near_random_pairs(predictions: "Predictions", metric: Metric, ranks: list[int], pairs: int) -> list[float] | None:
    """Distances of some ranks in one pass, if they lie in an interval where random pairs have theirs; else None."""
    n, rng = len(predictions), np.random.default_rng(0)
    # At the median the interval has a share 2 DEVIATIONS / 2 / sqrt(size) of all pairs.
    size = max(PAIRS_AT_ONCE, ceil((1.25 * DEVIATIONS * pairs / KEPT) ** 2))
    if size > MOST_PAIRS:
        return None
    first = rng.integers(n, size=(size, 1))
    second = (first + rng.integers(1, n, size=(size, 1))) % n
    parts = ranges(size, PAIRS_AT_ONCE)
    some = [predictions.take(first[part]).distance(metric, predictions.take(second[part])).ravel() for part in parts]
    ordered, share = np.sort(np.concatenate(some)), ranks[0] / pairs
    spread, middle = ceil(DEVIATIONS * sqrt(size * share * (1.0 - share))) + 1, int(share * size)
    low, high = ordered[max(0, middle - spread)], ordered[min(size - 1, middle + spread)]
    if not np.count_nonzero((ordered >= low) & (ordered <= high)) <= size * KEPT / pairs:
        return None
    return _among_those_between(predictions, metric, ranks, float(low), float(high))


def _among_those_between(
    predictions: "Predictions", metric: Metric, ranks: list[int], low: float, high: float
) -> list[float] | None:
    """Distances of some ranks in an interval with few others; None where they are not in it."""
    fewer, kept = zip(*_of_all_pairs(predictions, metric, lambda values: _between(values, low, high)), strict=True)
    inner, places = np.concatenate(kept), [rank - sum(fewer) for rank in ranks]
    if not 0 <= places[0] <= places[1] < inner.size:
        return None
    inner.partition(places)
    return [float(inner[place]) for place in places]


def _on_a_line(predictions: "Predictions", metric: Metric) -> FloatArray | None:
    """Ascending points whose differences give the distances, as of binary predictions; None if there are none."""
    if not isinstance(metric, VectorMetric):
        return None
    vectors = predictions.embedding(metric)
    if vectors.shape[1:] != (1,) or not np.isfinite(np.ptp(vectors)):
        return None
    return np.sort(vectors[:, 0])


def _difference(points: FloatArray, rank: int) -> float:
    """The difference of two ascending points with ``rank`` others before it: numbers are in the order of their bits."""
    low, high = 0, int((points[-1] - points[0]).view(np.int64))
    while low < high:
        middle = (low + high) // 2
        if count_close(points, float(np.int64(middle).view(np.float64))) > rank:
            high = middle
        else:
            low = middle + 1
    return float(np.int64(low).view(np.float64))


def _between(values: FloatArray, low: float, high: float) -> tuple[int, FloatArray]:
    """How many values lie below an interval, and those inside it."""
    return int(np.count_nonzero(values < low)), values[(values >= low) & (values <= high)]


def _among_equal_ones(
    predictions: "Predictions", metric: Metric, ranks: list[int], low: float, high: float
) -> list[float]:
    """Distances of some ranks in an interval with very many of which few differ: each is kept once a tile."""

    def different(values: FloatArray) -> tuple[int, FloatArray, IntArray]:
        below, inside = _between(values, low, high)
        return below, *np.unique(inside, return_counts=True)

    fewer, kept, times = zip(*_of_all_pairs(predictions, metric, different), strict=True)
    inner = np.concatenate(kept)
    order = np.argsort(inner)
    ends = np.cumsum(np.concatenate(times)[order])
    places = np.searchsorted(ends, np.array(ranks) - sum(fewer), side="right")
    return [float(value) for value in inner[order[places]]]


def _count(predictions: "Predictions", metric: Metric, low: float, high: float) -> tuple[int, IntArray]:
    """How many distances lie below an interval, and in each of its cells."""

    def count(values: FloatArray) -> tuple[int, IntArray]:
        counts = np.zeros(CELLS, dtype=np.intp)
        return count_values(values, low, high, counts), counts

    below, total = 0, np.zeros(CELLS, dtype=np.intp)
    for fewer, counts in _of_all_pairs(predictions, metric, count):
        below += fewer
        total += counts
    return below, total


def _of_all_pairs(predictions: "Predictions", metric: Metric, function: Callable[[FloatArray], R]) -> Iterator[R]:
    """A function of the distances of all pairs i < j, tile by tile."""
    n = len(predictions)

    def of_tile(place: tuple[slice, slice]) -> R:
        rows, columns = place
        tile = predictions.take(rows).distance(metric, predictions.take(columns))
        if not np.isfinite(tile).all():
            raise ValueError(
                f"predictions: got some whose {metric.label} distance is not a finite number, wanted finite ones for "
                "their median as a bandwidth; rescale targets and predictions"
            )
        return function(tile.ravel() if rows != columns else tile[np.triu_indices(tile.shape[0], k=1)])

    return threaded(of_tile, *upper_tiles(n, TILE), "median distance", work=2.0 * n * n)
