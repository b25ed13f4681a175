"""Quantiles of laws between those that are computed."""

import numpy as np
import pytest
from scipy import stats

from caltest.predictions.measures.law_sums import STEP, _grid, _interpolation, _weights


def test_numbers_between_are_polynomials_of_the_eight_nearest_ones():
    coarse, fine = _grid(STEP), _grid(STEP / 8)
    matrix = _interpolation(coarse, fine)
    for degree in range(8):
        assert matrix @ coarse**degree == pytest.approx(fine**degree, rel=1e-8, abs=1e-8)
    inside = np.flatnonzero(np.abs(fine) < coarse[-5])
    for row in inside[~np.isclose(inside % 8, 0)]:
        nearest = np.sort(np.argsort(np.abs(coarse - fine[row]))[:8])
        assert np.flatnonzero(matrix[row]).tolist() == nearest.tolist()
    assert matrix[::8] == pytest.approx(np.eye(coarse.size), abs=1e-12)


def test_quantiles_are_computed_at_equal_steps_of_normal_ones():
    for step in (STEP, STEP / 8):
        grid = _grid(step)
        assert np.diff(grid) == pytest.approx(step)
        assert stats.norm.cdf(grid[[0, -1]]) == pytest.approx([2e-6, 1.0 - 2e-6], abs=5e-7)
        assert _weights(grid) == pytest.approx(step * stats.norm.pdf(grid), rel=1e-4)
