import numpy as np
import pytest

from caltest._loops.pair_sums.lines import LONG_LINE, sums_to_the_left


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
    long = sums_to_the_left(np.exp(-np.diff(x, prepend=x[0])), np.tile(weights, LONG_LINE))
    assert np.array_equal(long, np.tile(sums, LONG_LINE))
