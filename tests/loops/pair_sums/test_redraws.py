"""Sums over pairs of redrawn labels against a loop over rows, columns and redraws."""

import numpy as np
import pytest

from caltest._loops.pair_sums import redraws as redraws_module
from caltest._loops.pair_sums.redraws import (
    LANES,
    equal_sums,
    features_by_class,
    gathered_sums,
    gathered_tables,
    gram_sums,
    sums_by_group,
    table_sums,
    tables_by_label,
)

N, B = 26, 5


def redraws(k, bases, label_type):
    """Bases and labels in which most redraws have the base, some keep it in all of them, and others have none."""
    rng = np.random.default_rng(k)
    base = rng.integers(0, k, N)
    if bases == "none":
        base[:] = -1
    elif bases == "some":
        base[rng.random(N) < 0.4] = -1
    labels = rng.integers(0, k, (B, N))
    labels = np.where((rng.random((B, N)) < 0.5) & (base >= 0), base, labels)
    labels[0] = np.where(base >= 0, base, labels[0])
    return base, labels.astype(label_type)


def change(label, base, k):
    d = np.zeros(k)
    d[label] += 1.0
    if base >= 0:
        d[base] -= 1.0
    return d


def slow_sums(tile, gram, base, labels, row_start, column_start):
    k = len(gram)
    sums = np.zeros(len(labels))
    for b, y in enumerate(labels):
        d = np.array([change(y[i], base[i], k) for i in range(N)])
        for i in range(tile.shape[0]):
            for j in range(tile.shape[1]):
                sums[b] += tile[i, j] * (d[row_start + i] @ gram @ d[column_start + j])
    return sums


def tiles_at(i, j, r, c, n_kernels):
    """Any numbers, but 0 below the diagonal of tiles on it."""
    tiles = np.random.default_rng(1).normal(size=(n_kernels, r, c))
    return np.triu(tiles, 1) if i == j else tiles


PLACES = [(0, 0, 7, 7), (3, 11, 6, 9), (20, 25, 6, 1), (0, 4, 1, 22)]
settings = pytest.mark.parametrize(
    ("k", "bases", "label_type"),
    [
        (2, "all", np.uint8),
        (2, "none", np.uint8),
        (3, "some", np.uint8),
        (3, "some", np.int32),
        (3, "none", np.int32),
        (300, "all", np.int32),
        (300, "some", np.int32),
    ],
)


@pytest.mark.every(5)
@settings
@pytest.mark.parametrize("n_kernels", [1, 2, 4, 5, LANES])
def test_several_kernels(k, bases, label_type, n_kernels):
    base, labels = redraws(k, bases, label_type)
    for i, j, r, c in PLACES:
        tiles = tiles_at(i, j, r, c, n_kernels)
        sums = equal_sums(tiles, base, labels, i, j, k)
        for tile, ours in zip(tiles, sums, strict=True):
            assert ours == pytest.approx(slow_sums(tile, np.eye(k), base, labels, i, j), rel=1e-12, abs=1e-13)


@pytest.mark.every(2)
@settings
def test_any_target_kernel(k, bases, label_type):
    base, labels = redraws(k, bases, label_type)
    gram = np.random.default_rng(1).normal(size=(k, k))
    for i, j, r, c in PLACES:
        (tile,) = tiles_at(i, j, r, c, 1)
        expected = slow_sums(tile, gram, base, labels, i, j)
        assert gram_sums(tile, gram, base, labels, i, j) == pytest.approx(expected, rel=1e-11, abs=1e-12)


@pytest.fixture(params=[False, True], ids=["compiled", "arrays"])
def few_labels(request, monkeypatch):
    """Both ways to the same sums."""
    if not request.param:
        monkeypatch.setattr(redraws_module, "FEW_LABELS", 0)


@pytest.mark.usefixtures("few_labels")
@pytest.mark.parametrize("label_type", [np.uint8, np.int32])
def test_gathered_sums(label_type):
    _, labels = redraws(3, "none", label_type)
    values = np.random.default_rng(1).normal(size=(N, 3))
    expected = [sum(values[i, y[i]] for i in range(N)) for y in labels]
    assert gathered_sums(values, labels) == pytest.approx(expected, rel=1e-13)


@pytest.mark.every(3)
@pytest.mark.usefixtures("few_labels")
@pytest.mark.parametrize("label_type", [np.uint8, np.int32])
def test_sums_of_groups_and_classes(label_type):
    """Groups of observations, of which some have none, and features of the observations of each class."""
    _, labels = redraws(3, "none", label_type)
    rng = np.random.default_rng(1)
    values, features, groups = rng.normal(size=(N, 3)), rng.normal(size=(N, 2)), rng.choice([0, 1, 3], N)
    chosen = values[np.arange(N), labels]
    by_group = [[line[groups == g].sum() for line in chosen] for g in range(5)]
    assert sums_by_group(values, labels, groups, 5) == pytest.approx(np.array(by_group), rel=1e-12, abs=1e-13)
    by_class = [[features[y == c].sum(axis=0) for c in range(4)] for y in labels]
    assert features_by_class(features, labels, 4) == pytest.approx(np.array(by_class), rel=1e-12, abs=1e-13)


@pytest.mark.usefixtures("few_labels")
@pytest.mark.parametrize("label_type", [np.uint8, np.int32])
def test_sums_of_tables(label_type):
    """Entries of several tables at once, of all labels together and of each label."""
    _, labels = redraws(3, "none", label_type)
    values = np.random.default_rng(1).normal(size=(N, 3, 4))
    chosen = values[np.arange(N), labels]
    by_label = [[entries[y == c].sum(axis=0) for c in range(3)] for entries, y in zip(chosen, labels, strict=True)]
    assert gathered_tables(values, labels) == pytest.approx(chosen.sum(axis=1), rel=1e-12, abs=1e-13)
    assert tables_by_label(values, labels) == pytest.approx(np.array(by_label), rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("n_labels", [2, 7])
def test_infinite_values_count_where_they_are_chosen_only(n_labels):
    values = np.ones((3, n_labels))
    values[0, 1] = -np.inf
    labels = np.array([[0, 1, 0], [1, 0, 0]])
    assert gathered_sums(values, labels).tolist() == [3.0, -np.inf]
    assert gathered_tables(values[:, :, None], labels)[:, 0].tolist() == [3.0, -np.inf]
    assert tables_by_label(values[:, :, None], labels)[0, :2, 0].tolist() == [2.0, 1.0]
    assert sums_by_group(values, labels, np.array([0, 0, 1]), 2).tolist() == [[2.0, -np.inf], [1.0, 1.0]]


def test_no_sum_depends_on_the_other_redraws():
    rng = np.random.default_rng(2)
    values, labels = rng.normal(size=(20_000, 2, 3)), rng.integers(0, 2, (7, 20_000))
    assert np.array_equal(tables_by_label(values, labels)[3:5], tables_by_label(values, labels[3:5]))


@pytest.mark.every(7)
@pytest.mark.parametrize("place", [*PLACES, (5, 5, 9, 9), (2, 2, 1, 1)])
@pytest.mark.parametrize(("k", "label_type"), [(3, np.uint8), (300, np.uint16), (40, np.int64)])
def test_tables_of_the_kernel_of_labels(place, k, label_type):
    row_start, column_start, r, c = place
    rng = np.random.default_rng(r)
    table, labels = rng.normal(size=(k, k)), rng.integers(0, k, (B, N)).astype(label_type)
    tile = rng.normal(size=(r, c))
    for skip_lower in {False, row_start == column_start}:
        weights = np.triu(tile, 1) if skip_lower else tile
        expected = [
            sum(weights[i, j] * table[y[row_start + i], y[column_start + j]] for i in range(r) for j in range(c))
            for y in labels
        ]
        sums = table_sums(weights, table, labels, row_start, column_start, skip_lower)
        assert sums == pytest.approx(expected, rel=1e-12, abs=1e-12)
