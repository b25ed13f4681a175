"""Sums of h over strips that end, begin and turn the corner of a column tile at every place."""

import numpy as np
import pytest

from caltest._loops.pairs import CACHED, finite_sums, finite_tile
from caltest._loops.tiles import CITYBLOCK, SQUARED_EUCLIDEAN

# Column tiles of 512, 128, 127, 109, 65 and 64 columns: more and fewer than a strip has rows, odd and even.
DIMENSIONS = [1, 64, 256, 257, 300, 500, 513]


def vectors(n, d, u):
    rng = np.random.default_rng(d)
    return rng.random((n, d)) / d, rng.normal(size=(n, u)), rng.normal(size=(n, u))


def slow_h(points, left, right, settings):
    kind, scale, root, power, factor = settings
    difference = points[:, None] - points[None]
    distance = np.abs(difference).sum(axis=2) if kind == CITYBLOCK else (difference**2).sum(axis=2)
    x = factor * (np.sqrt(distance) if root else scale * distance)
    return np.exp(-x if power == 1 else -(x**2) / 2) * (left @ right.T)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_tiles_of_columns_have_these_widths(d):
    assert max(64, min(512, CACHED // d)) == dict(zip(DIMENSIONS, [512, 512, 128, 127, 109, 65, 64], strict=True))[d]


@pytest.mark.parametrize("d", DIMENSIONS)
def test_sums_over_strips(d):
    n = 270
    points, left, right = vectors(n, d, 3)
    settings = CITYBLOCK, 0.5, False, 1, 2.0
    h = slow_h(points, left, right, settings)
    for rows, stop in (((0, 128), n), ((128, 256), n), ((0, 127), 200), ((3, 134), 140), ((5, 6), 6), ((0, n), n)):
        pairs, diagonal = finite_sums(points, left, right, rows, stop, settings)
        strip = h[rows[0] : rows[1], rows[0] : stop]
        scale = np.abs(strip).sum()
        assert pairs == pytest.approx(np.triu(strip, 1).sum(), abs=1e-13 * scale)
        assert diagonal == pytest.approx(np.trace(strip), rel=1e-12)


@pytest.mark.parametrize(
    "settings",
    [
        (CITYBLOCK, 0.5, False, 1, 2.0),
        (CITYBLOCK, 1.0, False, 2, 2.0),
        (SQUARED_EUCLIDEAN, 1.0, True, 1, 3.0),
        (SQUARED_EUCLIDEAN, 1.0, True, 2, 3.0),
        (SQUARED_EUCLIDEAN, 1.0, False, 1, 3.0),
    ],
)
def test_every_metric_and_power(settings):
    points, left, right = vectors(21, 5, 6)
    h = slow_h(points, left, right, settings)
    for (i, j), (k, m) in (((0, 21), (0, 21)), ((2, 7), (9, 21)), ((4, 5), (0, 1))):
        out = np.empty((j - i, m - k))
        finite_tile(points, left, right, (i, j), (k, m), settings, out)
        assert out == pytest.approx(h[i:j, k:m], rel=1e-12, abs=1e-14)
    pairs, diagonal = finite_sums(points, left, right, (0, 21), 21, settings)
    assert pairs == pytest.approx(np.triu(h, 1).sum(), rel=1e-12)
    assert diagonal == pytest.approx(np.trace(h), rel=1e-12)
