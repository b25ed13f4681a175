"""Sums over pairs with equal labels, against their definition."""

import numpy as np
import pytest

from caltest._loops.pair_sums.equal_labels import equal_label_sums


@pytest.mark.parametrize("label_type", [np.uint8, np.int32])
@pytest.mark.parametrize("n_kernels", [1, 3, 5])
@pytest.mark.parametrize(
    ("i", "j", "r", "c"), [(0, 0, 7, 7), (9, 9, 8, 8), (3, 11, 6, 9), (20, 25, 6, 1), (0, 4, 1, 22)]
)
def test_sums_are_those_of_each_pair(n_kernels, i, j, r, c, label_type):
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, (11, 30)).astype(label_type)
    tiles = rng.normal(size=(n_kernels, r, c))
    by_row = np.ascontiguousarray(labels.T)
    found = equal_label_sums(tiles, by_row[i : i + r], by_row[j : j + c], i == j)
    counted = np.triu(tiles, 1) if i == j else tiles
    equal = labels[:, i : i + r, None] == labels[:, None, j : j + c]
    expected = np.einsum("lij,bij->lb", counted, equal)
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-13)
