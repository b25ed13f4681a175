import numpy as np
import pytest

from caltest._loops.pair_sums import lines
from caltest._loops.pair_sums.lines import pair_sums, sums_to_the_left


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
