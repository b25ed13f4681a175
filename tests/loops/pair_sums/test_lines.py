import numpy as np
import pytest

from caltest._loops.pair_sums import lines
from caltest._loops.pair_sums.lines import add_from_the_left, add_mixtures_from_the_left, pair_sums, sums_to_the_left


@pytest.mark.parametrize("n", [1, 2, 3, 40])
@pytest.mark.parametrize("order", ["C", "F"])
def test_sums_to_the_left(n, order):
    rng = np.random.default_rng(n)
    x = np.sort(rng.normal(size=n) * 3)
    x[n // 2 :: 7] = x[n // 2]  # ties
    x.sort()
    weights = np.asarray(rng.normal(size=(n, 3)), order=order)
    expected = [[sum(np.exp(x[j] - x[i]) * weights[j, b] for j in range(i)) for b in range(3)] for i in range(n)]
    sums = sums_to_the_left(np.exp(-np.diff(x, prepend=x[0])), weights)
    assert sums == pytest.approx(np.array(expected, dtype=float), rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("short", [0, 1000], ids=["compiled", "arrays"])
def test_pair_sums_of_several_lines(short, monkeypatch):
    monkeypatch.setattr(lines, "SHORT", short)
    rng = np.random.default_rng(3)
    x = np.sort(rng.normal(size=12))
    decays = np.stack([np.exp(-rate * np.diff(x, prepend=x[0])) for rate in (0.5, 1.0, 900.0)])
    weights = rng.normal(size=(12, 4))
    kernels = np.exp(-np.abs(x[:, None] - x) * np.array([0.5, 1.0, 900.0])[:, None, None])
    expected = np.einsum("ib,lij,jb->lb", weights, np.tril(kernels, -1), weights)
    found = pair_sums(decays, weights)
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-13)
    assert np.array_equal(found[:, 1:3], pair_sums(decays, weights[:, 1:3]))
    assert pair_sums(decays[:1], weights) == pytest.approx(expected[:1], rel=1e-12, abs=1e-13)


RADIAL = (lambda x: np.exp(-x), lambda x: (1.0 + x) * np.exp(-x), lambda x: (1.0 + x + x**2 / 3.0) * np.exp(-x))
GAPS = {"close": 0.3, "cells": 2.0, "far": 9000.0}


def owned_points(gap, n_rows, n_columns):
    """Ascending points with owners, those of a third much farther apart, and their weights, of one batch."""
    rng = np.random.default_rng(5)
    gaps = rng.uniform(0.0, 1.0, 18) * np.where(np.arange(18) % 3 == 2, gap, 0.3)
    owners = rng.permutation(np.concatenate([np.arange(9) % n_rows, -1 - np.arange(9) % n_columns]))
    return 3.0 + np.cumsum(gaps), owners, rng.uniform(0.5, 2.0, 18)


@pytest.mark.parametrize("degree", [0, 1, 2])
@pytest.mark.parametrize("gap", GAPS.values(), ids=GAPS)
def test_sums_of_rows_to_the_left_of_columns(degree, gap):
    x, owners, weights = owned_points(gap, 2, 3)
    wanted = np.ones((1, 3, 2))
    for i, j in np.ndindex(18, 18):
        if i < j and owners[i] >= 0 > owners[j]:
            wanted[0, -1 - owners[j], owners[i]] += weights[i] * weights[j] * RADIAL[degree](0.7 * (x[j] - x[i]))
    out = np.ones((1, 3, 2))
    add_from_the_left(degree, 0.7, x[None], owners[None], weights[None], out)
    assert out == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("degree", [0, 1, 2])
@pytest.mark.parametrize("gap", GAPS.values(), ids=GAPS)
def test_sums_of_mixtures_to_the_left_of_columns(degree, gap):
    x, owners, _ = owned_points(gap, 2, 6)
    weights, wanted = np.random.default_rng(6).uniform(0.5, 2.0, (2, 3)), np.ones(2)
    for i, j in np.ndindex(18, 18):
        if i < j and owners[i] >= 0 > owners[j]:
            b, column = divmod(-1 - owners[j], 3)
            wanted[b] += weights[owners[i], column] * RADIAL[degree](0.7 * (x[j] - x[i]))
    out = np.ones(2)
    add_mixtures_from_the_left(degree, 0.7, x, owners, weights, out)
    assert out == pytest.approx(wanted, rel=1e-12)
