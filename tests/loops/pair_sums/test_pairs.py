"""Sums of h over strips that end, begin and turn the corner of a column tile at every place."""

import numpy as np
import pytest

from caltest._loops.formulas.kernels import EXPONENTIAL, MATERN_3, MATERN_5, RATIONAL
from caltest._loops.pair_sums.pairs import CACHED, PAIRS, Settings, block_sums, finite_sums, finite_tile
from caltest._loops.pair_sums.tiles import CITYBLOCK, SQUARED_EUCLIDEAN

# Column tiles of 512, 128, 127, 109, 65 and 64 columns: more and fewer than a strip has rows, odd and even.
DIMENSIONS = [1, 64, 256, 257, 300, 500, 513]


KERNELS = {
    EXPONENTIAL: lambda u, _: np.exp(-u),
    MATERN_3: lambda u, _: (1 + u) * np.exp(-u),
    MATERN_5: lambda u, _: (1 + u + u**2 / 3) * np.exp(-u),
    RATIONAL: lambda u, shape: (1 + u / shape) ** -shape,
}


def vectors(n, d, u):
    rng = np.random.default_rng(d)
    return rng.random((n, d)) / d, rng.normal(size=(n, u)), rng.normal(size=(n, u))


def slow_h(points, left, right, settings):
    kind, root, function, factor, square, shape = settings
    difference = points[:, None] - points[None]
    distance = np.abs(difference).sum(axis=2) if kind == CITYBLOCK else (difference**2).sum(axis=2)
    u = factor * (np.sqrt(distance) if root else distance)
    u = u**2 if square else u
    return KERNELS[function](u, shape) * (left @ right.T)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_tiles_of_columns_have_these_widths(d):
    assert max(64, min(512, CACHED // d)) == dict(zip(DIMENSIONS, [512, 512, 128, 127, 109, 65, 64], strict=True))[d]


@pytest.mark.every(4)
@pytest.mark.parametrize("d", DIMENSIONS)
def test_sums_over_strips(d):
    n = 270
    points, left, right = vectors(n, d, 3)
    settings = Settings(CITYBLOCK, False, EXPONENTIAL, 1.0, False, 0.0)
    h = slow_h(points, left, right, settings)
    for rows, stop in (((0, 128), n), ((128, 256), n), ((0, 127), 200), ((3, 134), 140), ((5, 6), 6), ((0, n), n)):
        pairs, diagonal = finite_sums((points, left, right), rows, stop, settings)
        strip = h[rows[0] : rows[1], rows[0] : stop]
        scale = np.abs(strip).sum()
        assert pairs == pytest.approx(np.triu(strip, 1).sum(), abs=1e-13 * scale)
        assert diagonal == pytest.approx(np.trace(strip), rel=1e-12)


@pytest.mark.parametrize(
    "settings",
    [
        Settings(CITYBLOCK, False, EXPONENTIAL, 1.0, False, 0.0),
        Settings(CITYBLOCK, False, EXPONENTIAL, 2.0, True, 0.0),
        Settings(SQUARED_EUCLIDEAN, True, EXPONENTIAL, 3.0, False, 0.0),
        Settings(SQUARED_EUCLIDEAN, True, EXPONENTIAL, 3.0, True, 0.0),
        Settings(SQUARED_EUCLIDEAN, False, EXPONENTIAL, 3.0, False, 0.0),
        Settings(SQUARED_EUCLIDEAN, True, MATERN_3, 3.0, False, 0.0),
        Settings(CITYBLOCK, False, MATERN_5, 3.0, False, 0.0),
        Settings(SQUARED_EUCLIDEAN, True, RATIONAL, 3.0, True, 1.0),
        Settings(SQUARED_EUCLIDEAN, True, RATIONAL, 3.0, True, 0.4),
    ],
)
def test_every_metric_and_power(settings):
    points, left, right = vectors(21, 5, 6)
    h = slow_h(points, left, right, settings)
    for (i, j), (k, m) in (((0, 21), (0, 21)), ((2, 7), (9, 21)), ((4, 5), (0, 1))):
        out = np.empty((j - i, m - k))
        finite_tile((points, left, right), (i, j), (k, m), settings, out)
        assert out == pytest.approx(h[i:j, k:m], rel=1e-12, abs=1e-14)
    pairs, diagonal = finite_sums((points, left, right), (0, 21), 21, settings)
    assert pairs == pytest.approx(np.triu(h, 1).sum(), rel=1e-12)
    assert diagonal == pytest.approx(np.trace(h), rel=1e-12)


@pytest.mark.parametrize("block_size", [1, 2, 5, 91, 128])
@pytest.mark.parametrize("kind", [CITYBLOCK, SQUARED_EUCLIDEAN])
def test_sums_of_blocks(block_size, kind):
    """As many blocks as need several rounds, the last of which is not full; blocks with more pairs than fit in one."""
    n_blocks = 3 if block_size > 5 else 2 * PAIRS // block_size + 1
    points, left, right = vectors(n_blocks * block_size, 3, 4)
    settings = Settings(kind, kind == SQUARED_EUCLIDEAN, MATERN_3, 3.0, False, 0.0)
    sums = block_sums((points, left, right), settings, block_size)
    assert sums.shape == (n_blocks,)
    for m in {0, 1, n_blocks // 2, n_blocks - 1}:
        part = slice(m * block_size, (m + 1) * block_size)
        expected = np.triu(slow_h(points[part], left[part], right[part], settings), 1).sum()
        assert sums[m] == pytest.approx(expected, rel=1e-11, abs=1e-13)
