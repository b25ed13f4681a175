"""Rows of faults of vectors, against sums over the observations."""

import numpy as np
import pytest

import caltest as ct
from caltest.predictions.faults.scores import VectorScores
from caltest.predictions.faults.vectors import products, radius_and_cubes


def test_products_and_cubes_are_sums_over_the_observations():
    rng = np.random.default_rng(1)
    z, features = rng.normal(size=(3, 7, 4)), rng.normal(size=(2, 7))
    seen = VectorScores(ct.MvNormal(np.zeros((7, 4)), 1.0), z, np.arange(7.0))
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    expected = [[np.sum(f * one[:, a] * one[:, b]) for one in z] for f in features for a, b in pairs]
    assert products(features, slice(None), seen) == pytest.approx(np.array(expected), rel=1e-12)
    assert products(features, slice(-1, None), seen) == pytest.approx(np.array(expected[6:]), rel=1e-12)
    assert products(features[1:], slice(None), seen) == pytest.approx(np.array(expected[6:]), rel=1e-12)
    assert radius_and_cubes(seen)[1] == pytest.approx((z**3).sum(axis=2) @ np.arange(7.0), rel=1e-12)
