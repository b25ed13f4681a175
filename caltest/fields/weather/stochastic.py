"""Isotonic regression of distributions under the stochastic order, and what it says of the CRPS."""

import numpy as np
import scipy

from caltest._basics.numerics import BoolArray, FloatArray, IntArray

MOST_CASES = 2_000
"""At most: the order of forecasts is a matrix, and gains of cuts are whole numbers up to a quarter of the square."""


def stochastic_parts(members: FloatArray, outcomes: FloatArray, crps: float) -> dict[str, float]:
    """Miscalibration, discrimination and uncertainty of the CRPS of members (N, m), and the share of ordered pairs.

    Of distributions that are in the stochastic order of the forecasts (one is above another if each of its members in
    ascending order is at least that of the other), those with the smallest mean CRPS of the outcomes are recalibrated:
    at each threshold z the isotonic regression of ``1[y > z]``, which changes at outcomes alone.
    """
    if len(members) > MOST_CASES:
        raise ValueError(
            f"predictions: got {len(members)} cases of a lead time, wanted at most {MOST_CASES} for isotonic "
            'regression of distributions; isotonic="thresholds" takes more'
        )
    forecasts, numbers = np.unique(np.sort(members, axis=1), axis=0, return_inverse=True)
    numbers = numbers.reshape(-1)
    sizes = np.bincount(numbers)
    above = np.ones((len(forecasts), len(forecasts)), dtype=bool)
    for one in forecasts.T:
        above &= one[:, None] <= one
    np.fill_diagonal(above, False)
    pairs = _covers(above)
    knots = np.unique(outcomes)
    potential = uncertainty = 0.0
    for low, width in zip(knots[:-1], np.diff(knots), strict=True):
        hits = np.bincount(numbers[outcomes > low], minlength=len(sizes))
        fitted = _regression(hits, sizes, *pairs)
        share = hits.sum() / len(numbers)
        potential += float(width * (hits * (1.0 - fitted) ** 2 + (sizes - hits) * fitted**2).sum()) / len(numbers)
        uncertainty += float(width * share * (1.0 - share))
    return {
        "miscalibration": crps - potential,
        "discrimination": uncertainty - potential,
        "uncertainty": uncertainty,
        "ordered pairs": float((above | above.T).sum()) / max(1, len(sizes) * (len(sizes) - 1)),
    }


def _covers(above: BoolArray) -> tuple[IntArray, IntArray]:
    """Pairs of rows and columns above them with no third in between, which are enough for the whole order."""
    paths = above.astype(np.float32)
    low, high = np.nonzero(above & (paths @ paths == 0.0))
    return low, high


def _regression(hits: IntArray, sizes: IntArray, low: IntArray, high: IntArray) -> FloatArray:
    """The isotonic regression of shares ``hits / sizes`` with weights ``sizes``, where high ones are above low ones.

    A block is split while it has an upper set with a mean above its own: that of the largest sum is a minimal cut.
    """
    fitted = np.empty(len(hits))
    blocks = [(np.arange(len(hits)), low, high)]
    while blocks:
        block, low, high = blocks.pop()
        total, hit = int(sizes[block].sum()), int(hits[block].sum())
        upper = _upper(total * hits[block] - hit * sizes[block], low, high)
        if not upper.any():
            fitted[block] = hit / total
            continue
        for part in (upper, ~upper):
            place = np.cumsum(part) - 1
            kept = part[low] & part[high]
            blocks.append((block[part], place[low[kept]], place[high[kept]]))
    return fitted


def _upper(gains: IntArray, low: IntArray, high: IntArray) -> BoolArray:
    """The smallest upper set with the largest sum of gains, which sum to 0; empty if none has a positive sum."""
    q = len(gains)
    wins, loses = np.flatnonzero(gains > 0), np.flatnonzero(gains < 0)
    most = int(gains[wins].sum())
    rows = np.concatenate([np.full(len(wins), q), loses, low])
    columns = np.concatenate([wins, np.full(len(loses), q + 1), high])
    capacities = np.concatenate([gains[wins], -gains[loses], np.full(len(low), most)])
    graph = scipy.sparse.csr_array((capacities.astype(np.int32), (rows, columns)), shape=(q + 2, q + 2))
    flow = scipy.sparse.csgraph.maximum_flow(graph, q, q + 1)
    if flow.flow_value == most:
        return np.zeros(q, dtype=bool)
    residual = scipy.sparse.csr_array(graph - flow.flow)
    residual.eliminate_zeros()
    reached = np.zeros(q + 2, dtype=bool)
    reached[scipy.sparse.csgraph.breadth_first_order(residual, q, return_predecessors=False)] = True
    return reached[:q]
