from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate

import caltest as ct

KERNEL = ct.ProductKernel(ct.kernels.OverlapKernel(), ct.DeltaKernel())


def test_it_is_the_average_over_two_bins():
    """Of the squared mean residuals of the predictions up to a threshold and of those above it."""
    rng = np.random.default_rng(1)
    p = rng.random(30)
    y = (rng.random(30) < 0.8 * p).astype(int)

    def two_bins(t):
        low, high = ((y - p)[side].sum() / 30 for side in (p <= t, p > t))
        return low**2 + high**2

    ends = np.concatenate([[0.0], np.sort(p), [1.0]])
    average = sum(integrate.quad(two_bins, a, b)[0] for a, b in pairwise(ends))
    assert ct.SKCE(KERNEL, unbiased=False)(p, y) == pytest.approx(2.0 * average)


def test_it_is_the_sum_of_the_smaller_probabilities():
    rng = np.random.default_rng(2)
    p, q = rng.dirichlet(np.ones(4), 5), rng.dirichlet(np.ones(4), 3)
    expected = np.minimum(p[:, None], q).sum(axis=-1)
    assert ct.kernels.OverlapKernel().tile(ct.Categorical(p), ct.Categorical(q)) == pytest.approx(expected)


def test_other_families_are_refused():
    with pytest.raises(TypeError):
        ct.SKCE(KERNEL)(ct.Normal([0.0, 1.0], 1.0), [0.0, 1.0])
