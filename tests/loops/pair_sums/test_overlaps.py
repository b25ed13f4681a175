"""Loops of many classes in single precision, against sums that are written out."""

import numpy as np
import pytest

from caltest._loops.pair_sums.overlaps import BUCKETS, FOUR, add_agreeing, add_smoothed, overlaps, sort_labels

RNG = np.random.default_rng(3)
SINGLE = 1e-5
"""Relative error that single precision is allowed."""


def probabilities(n, k):
    return RNG.dirichlet(np.full(k, 0.1), n).astype(np.float32)


@pytest.mark.parametrize(("r", "w", "k"), [(1, 1, 2), (5, 7, 33), (8, 3, 64), (6, 9, 257)])
def test_overlaps(r, w, k):
    rows, columns = probabilities(r, k), probabilities(w, k)
    out = np.full((-(-r // FOUR) * FOUR, w), np.nan, dtype=np.float32)
    overlaps(rows, np.ascontiguousarray(columns.T), out)
    assert out[:r] == pytest.approx(np.minimum(rows[:, None], columns).sum(axis=2), rel=SINGLE, abs=1e-7)


@pytest.mark.parametrize("n_classes", [3, 40, 70_000])
def test_pairs_that_agree(n_classes):
    """Classes that share a bucket are told apart."""
    r, w, first, second = 5, 9, 2, 4
    some = np.array([1, 2, 1 + BUCKETS if n_classes > BUCKETS else 0])
    labels = some[RNG.integers(0, 3, (6, 20))].astype(np.int32)
    tile = RNG.random((r, w)).astype(np.float32)
    starts = np.empty((6, min(n_classes, BUCKETS) + 1), dtype=np.uint16)
    members, sums = np.empty((6, w + FOUR), dtype=np.uint16), np.ones((6, 6))
    sort_labels(labels, second, second + w, starts, members)
    add_agreeing(tile, labels, first, second, starts, members, n_classes, sums)
    for line, y in zip(sums, labels, strict=True):
        t = tile[y[first : first + r, None] == y[second : second + w]].astype(float)
        wanted = [*((t**power).sum() for power in (1, 2, 4, 8, 16)), t.size]
        assert line - 1.0 == pytest.approx(np.array(wanted), rel=SINGLE, abs=1e-6)


def test_smoothed_probabilities():
    r, w, k = 4, 13, 20
    tile, columns = RNG.random((r, w)).astype(np.float32), probabilities(w, k)
    starts, classes = np.array([0, 3, 3, 4, 9]), RNG.integers(0, k, 9).astype(np.int32)
    out = np.zeros((9, 5), dtype=np.float32)
    add_smoothed(tile, np.ascontiguousarray(columns.T), starts, classes, out)
    rows = np.repeat(np.arange(r), np.diff(starts))
    wanted = [
        [tile[i].astype(float) ** power @ columns[:, c] for power in (1, 2, 4, 8, 16)]
        for i, c in zip(rows, classes, strict=True)
    ]
    assert out == pytest.approx(np.array(wanted), rel=SINGLE, abs=1e-7)
