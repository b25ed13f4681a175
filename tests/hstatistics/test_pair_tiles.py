import numpy as np
import pytest

from caltest.hstatistics.pair_tiles import n_upper_tiles, upper_tiles


@pytest.mark.parametrize(("n", "tile"), [(1, 4), (4, 4), (5, 4), (9, 2), (12, 3)])
def test_tiles_cover_every_pair_above_the_diagonal_once(n, tile):
    covered = np.zeros((n, n), int)
    tiles = list(upper_tiles(n, tile))
    for place in tiles:
        covered[place] += 1
    assert covered.max() == 1
    assert np.triu(covered).sum() == n * (n + 1) / 2
    assert n_upper_tiles(n, tile) == len(tiles)
