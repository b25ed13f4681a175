"""Debiased squared errors of cells against sums over pairs and enumeration."""

from itertools import product

import numpy as np
import pytest

import caltest as ct


def cell(p, n_bins):
    """The bins (j/b, (j+1)/b] of the coordinates, with 0 in the first; of P(Y = 1) for two classes."""
    coordinates = p[1:] if len(p) == 2 else p
    return tuple(next(j for j in range(n_bins) if value <= (j + 1) / n_bins) for value in coordinates)


def pair_sum(p, y, n_bins):
    """``sum_{i != j} delta_i . delta_j / n_c`` over pairs in the same cell, and its variance."""
    cells = [cell(row, n_bins) for row in p]
    delta = np.eye(p.shape[1])[y] - p
    covariances = [np.diag(row) - np.outer(row, row) for row in p]
    total = variance = 0.0
    for i in range(len(p)):
        for j in range(len(p)):
            if i != j and cells[i] == cells[j]:
                size = cells.count(cells[i])
                total += delta[i] @ delta[j] / size
                variance += 2.0 * np.trace(covariances[i] @ covariances[j]) / size**2
    return total, variance


@pytest.mark.parametrize("k", [2, 3])
def test_definition(k):
    rng = np.random.default_rng(1)
    p, y = rng.dirichlet(np.ones(k), 30), rng.integers(0, k, 30)
    ratios = []
    for n_bins in (2, 4, 8):
        total, variance = pair_sum(p, y, n_bins)
        ratios.append(total / variance**0.5)
        assert ct.estimators.TCal(n_bins)(p, y) == pytest.approx(ratios[-1], rel=1e-10)
    assert ct.estimators.TCal()(p, y) == pytest.approx(max(ratios), rel=1e-10)
    if k == 2:
        assert ct.estimators.TCal()(p[:, 1], y) == pytest.approx(max(ratios), rel=1e-10)


@pytest.mark.parametrize("n_bins", [1, 2])
def test_mean_0_and_variance_1_by_enumeration(n_bins):
    p = np.random.default_rng(2).dirichlet(np.ones(3), 5)
    first = second = 0.0
    for labels in product(range(3), repeat=5):
        weight, value = np.prod(p[np.arange(5), labels]), ct.estimators.TCal(n_bins)(p, np.array(labels))
        first, second = first + weight * value, second + weight * value**2
    assert first == pytest.approx(0.0, abs=1e-13)
    assert second == pytest.approx(1.0, rel=1e-11)


def test_finest_resolution_has_half_as_many_bins_as_observations(monkeypatch):
    from caltest.estimators.binned_errors import t_cal

    used = []
    monkeypatch.setattr(
        t_cal, "UniformBinning", lambda n_bins: used.append(n_bins) or ct.binning.UniformBinning(n_bins)
    )
    p = np.linspace(0.1, 0.9, 67)
    ct.estimators.TCal()(p, np.arange(67) % 2)
    assert used == [2, 4, 8, 16, 32]


def test_fast_and_slow_errors_are_found():
    rng = np.random.default_rng(3)
    p = rng.random(1500)
    for waves in (0.5, 6.0):
        y = (rng.random(1500) < np.clip(p + 0.25 * np.sin(2 * np.pi * waves * p), 0.0, 1.0)).astype(int)
        assert ct.MonteCarloTest(ct.estimators.TCal(), 99)(p, y, rng=1).pvalue == 0.01


def test_nothing_to_compare():
    for p, y in (([0.3], [1]), ([0.0, 0.0, 1.0, 1.0], [0, 0, 1, 1]), ([0.2, 0.8], [0, 1])):
        result = ct.MonteCarloTest(ct.estimators.TCal(), 9)(p, y, rng=1)
        assert (result.estimate, result.pvalue) == (0.0, 1.0)


def test_bad_input():
    with pytest.raises(ValueError, match="n_bins"):
        ct.estimators.TCal(0)
    with pytest.raises(TypeError, match="got Normal predictions, wanted Categorical or Bernoulli ones"):
        ct.estimators.TCal()(ct.Normal([0.0], 1.0), [0.0])
    with pytest.raises(TypeError, match="got TCal for TextbookNull"):
        ct.CalibrationTest(ct.estimators.TCal(), ct.nulls.TextbookNull())
