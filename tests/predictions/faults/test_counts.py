"""Sums over counts by faults of counts, against sums over all of them."""

import numpy as np
import pytest

import caltest as ct
from caltest.predictions.faults.counts import CountView

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("t", [0.0, 1e-3, 0.4, 3.0, 20.0])
@pytest.mark.parametrize(
    "law",
    [
        ct.Poisson(np.exp(RNG.normal(1.0, 2.0, 40))),
        ct.NegativeBinomial(RNG.gamma(2.0, 2.0, 40), RNG.uniform(0.1, 0.9, 40)),
        ct.Poisson(np.array([1e-9, 0.0, 300.0])),
        ct.NegativeBinomial.from_mean(RNG.uniform(20.0, 2000.0, 40), RNG.uniform(0.01, 1.0, 40)),
    ],
)
def test_tilted_sums(law, t):
    view, p = CountView(law, None), law.probability_vectors()
    counts = np.arange(*law.window)
    variance = np.where(law.variance > 0.0, law.variance, np.inf)
    squares = np.square(counts - law.mean[:, None]) / variance[:, None]
    terms = p * np.exp(-t * squares)
    norms, sums = view.tilted(t)
    assert norms == pytest.approx(terms.sum(axis=1), rel=1e-13)
    assert sums == pytest.approx((terms * squares).sum(axis=1), rel=1e-13)
