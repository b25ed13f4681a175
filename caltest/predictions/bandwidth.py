"""The median heuristic: exact medians of all pairwise distances, without storing them."""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from caltest._loops.selection import count_cells, keep_between
from caltest._numerics import ranges
from caltest._types import FloatArray
from caltest.kernels import Metric

TILE = 512
CELLS = 4096
MEDIAN_OF = 10_000
"""A median bandwidth of more predictions than this is that of so many evenly spaced ones."""
KEPT = 500_000
"""The most distances kept in memory, 4 MB; above it the interval of the median is narrowed first."""


class Distances(Protocol):
    """Predictions, as far as their distances go: they can be counted, taken apart and compared."""

    def __len__(self) -> int: ...

    def take(self, index: Any) -> Any:
        """The predictions at an index."""

    def embedding(self, metric: Metric) -> FloatArray:
        """The vectors that represent them."""


class ZeroBandwidth(ValueError):
    """More than half of the pairs of predictions are identical, so the median distance is 0."""


def median_distance(predictions: Distances, metric: Metric, include_diagonal: bool = False) -> float:
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
    if median <= _rounding(predictions, metric):
        raise ZeroBandwidth(
            'bandwidth: got "median" but the median distance of the predictions is 0, because most of them are '
            "identical; give the bandwidth as a number (if all are identical, every number gives the same test), "
            "e.g. kernel=ProductKernel(ExponentialKernel(TotalVariation(), 0.1), DeltaKernel()) for classes"
        )
    return median


def median_positive_distance(predictions: Distances, metric: Metric) -> float:
    """Median of the distances of the pairs that differ by more than rounding; ``ZeroBandwidth`` if none does."""
    n = len(predictions)
    pairs = n * (n - 1) // 2
    rounding = _rounding(predictions, metric)
    equal = sum(int(np.count_nonzero(values <= rounding)) for values in _pair_distances(predictions, metric))
    if equal == pairs:
        raise ZeroBandwidth(
            f"predictions: all {n} are identical, so their median distance gives no bandwidth; name a kernel with "
            "a number (every number gives the same test), e.g. "
            "kernel=ProductKernel(ExponentialKernel(TotalVariation(), 0.1), DeltaKernel()) for classes"
        )
    return _mean_of_ranks(predictions, metric, [equal + (pairs - equal - 1) // 2, equal + (pairs - equal) // 2], pairs)


def _rounding(predictions: Distances, metric: Metric) -> float:
    """Distances up to this are differences of rounding, such as those of renormalised rows."""
    return 1e-12 * float(np.abs(predictions.embedding(metric)).max())


def _mean_of_ranks(predictions: Distances, metric: Metric, ranks: list[int], pairs: int) -> float:
    """Mean of two order statistics of neighbouring ranks, where rank -1 stands for a zero of the diagonal."""
    low, high = ranks
    first = 0.0 if low < 0 else _order_statistic(predictions, metric, low, pairs)
    if high == low:
        return first
    return (first + _next_order_statistic(predictions, metric, first, high)) / 2.0


def _next_order_statistic(predictions: Distances, metric: Metric, value: float, rank: int) -> float:
    """The distance of a rank, given that of the rank before it: the same, or the next larger one."""
    up_to, larger = 0, np.inf
    for values in _pair_distances(predictions, metric):
        above = values[values > value]
        up_to += values.size - above.size
        larger = min(larger, float(above.min())) if above.size else larger
    return value if up_to > rank else larger


def _order_statistic(predictions: Distances, metric: Metric, rank: int, pairs: int) -> float:
    """The distance with ``rank`` smaller-or-equal ones before it, by narrowing an interval that contains it."""
    low, high, inside = 0.0, np.inf, pairs
    if pairs > KEPT:
        high = max(float(values.max()) for values in _pair_distances(predictions, metric))
    while inside > KEPT and high > np.nextafter(low, np.inf):
        counts = np.zeros(CELLS, dtype=np.intp)
        below = sum(count_cells(values, low, high, counts) for values in _pair_distances(predictions, metric))
        cell = int(np.searchsorted(below + np.cumsum(counts), rank, side="right"))
        width = (high - low) / CELLS
        # Half a cell of margin on either side covers the rounding of the cell's edges.
        narrowed = max(low, low + (cell - 0.5) * width), min(high, low + (cell + 1.5) * width)
        if narrowed == (low, high):
            break
        low, high = narrowed
        inside = int(counts[max(cell - 1, 0) : cell + 2].sum())
    below, kept = 0, []
    for values in _pair_distances(predictions, metric):
        below += int(np.count_nonzero(values < low))
        kept.append(keep_between(values, low, high))
    inner = np.concatenate(kept)
    inner.partition(rank - below)
    return float(inner[rank - below])


def _pair_distances(predictions: Distances, metric: Metric) -> Iterator[FloatArray]:
    """Distances of all pairs i < j, tile by tile."""
    upper = np.triu_indices(TILE, k=1)
    for rows in ranges(len(predictions), TILE):
        strip = predictions.take(rows)
        for columns in ranges(len(predictions), TILE):
            if columns.start < rows.start:
                continue
            tile = strip.distance(metric, predictions.take(columns))
            if columns.start > rows.start:
                yield tile.ravel()
            elif tile.shape[0] > 1:
                index = upper if tile.shape[0] == TILE else np.triu_indices(tile.shape[0], k=1)
                yield tile[index]
