import numpy as np
import pytest

from caltest._basics.numerics import upper_tiles
from caltest.hstatistics.pair_tiles import tiles_of_blocks


@pytest.mark.parametrize(("n", "tile"), [(1, 4), (4, 4), (5, 4), (9, 2), (12, 3)])
def test_tiles_cover_every_pair_above_the_diagonal_once(n, tile):
    covered = np.zeros((n, n), int)
    places, number = upper_tiles(n, tile)
    tiles = list(places)
    for place in tiles:
        covered[place] += 1
    assert covered.max() == 1
    assert np.triu(covered).sum() == n * (n + 1) / 2
    assert number == len(tiles)
    places, number = tiles_of_blocks(np.array([n]), tile)
    assert (list(places), number) == (tiles, len(tiles))
