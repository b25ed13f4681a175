"""Variational errors: the formula with a known map, bounds and their coverage, ridge regression held out, bad input."""

import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest.predictions.inputs.convert import as_sample
from caltest.risk.base import CalibrationData, gaussian_kernel
from caltest.risk.interval import GAMMAS, REGULARISATIONS, smoothers
from caltest.risk.variational import _by_ridge


class Known:
    """A map that is known, which notes what it is fitted to."""

    def __init__(self, function):
        self.function, self.rows = function, []

    def fit(self, predictions, targets):
        self.rows.append((predictions.to_array(), targets))
        return lambda held: self.function(held.to_array())


def squared(n, seed):
    """A binary outcome with P(Y = 1 | p) = p**2."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(size=n)
    return p, (rng.random(n) < p**2).astype(int)


@pytest.mark.parametrize("order", [1, 1.5, 2, 3.0])
def test_is_the_mean_of_the_variational_form(order):
    p, y = squared(60, 1)
    method = Known(np.square)
    found = ct.risk.variational_error(p, y, order, calibrator=method, n_folds=4, rng=1)
    d = p - p**2
    terms = order * d ** (order - 1) * (p - y) - (order - 1) * d**order
    assert found.estimate == pytest.approx(terms.mean())
    assert found.low == pytest.approx(terms.mean() - stats.norm.ppf(0.95) * terms.std(ddof=1) * np.sqrt(2 / 60))
    assert found.high == np.inf
    assert [len(rows) for rows, _ in method.rows] == [45] * 4
    counts = {value: sum(value in rows for rows, _ in method.rows) for value in p}
    assert set(counts.values()) == {3}


def test_classes_count_all_their_deviations():
    p, y = np.random.default_rng(2).dirichlet(np.ones(3), 50), np.arange(50) % 3
    found = ct.risk.variational_error(p, y, calibrator=Known(lambda some: 0.5 * some + 0.5 / 3), rng=1)
    terms = (np.sign(p - 1 / 3) * (p - np.eye(3)[y])).sum(axis=1)
    assert found.estimate == pytest.approx(terms.mean())


@pytest.mark.parametrize("order", [1, 2])
def test_maps_that_change_nothing_find_no_error(order):
    p, y = squared(40, 3)
    found = ct.risk.variational_error(p, y, order, calibrator=Known(np.copy), rng=1)
    assert (found.low, found.estimate) == (0.0, 0.0)


@pytest.mark.every(3)
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("calibrator", [None, ct.recalibration.BetaCalibration()])
def test_lower_ends_hold_and_estimates_are_near(order, calibrator, replications):
    """The error of P(Y = 1 | p) = p**2 is 1/6 of the first order, and 1/30 of the second."""
    truth, found, sets = {1: 1 / 6, 2: 1 / 30}[order], [], replications(10, 25)
    for seed in range(sets):
        p, y = squared(400, seed)
        found.append(ct.risk.variational_error(p, y, order, calibrator=calibrator, rng=seed))
    assert sum(one.low > truth for one in found) <= stats.binom.ppf(0.999, sets, 0.05)
    assert np.mean([one.estimate for one in found]) == pytest.approx(truth, rel=0.2)


def test_calibrated_predictions_have_lower_ends_of_0(replications):
    lows, sets = [], replications(6, 60)
    for seed in range(sets):
        rng = np.random.default_rng(seed)
        p = rng.dirichlet(np.ones(4), 100)
        lows.append(ct.risk.variational_error(p, ct.Categorical(p).sample(rng), rng=seed).low)
    assert sum(low > 0.0 for low in lows) <= stats.binom.ppf(0.999, sets, 0.05)


def test_ridge_regression_held_out_is_that_of_dense_kernels():
    p, y = squared(80, 3)
    data = CalibrationData.of(as_sample(p, y))
    rest, held = np.arange(60), np.arange(60, 80)
    fitted = data.take(rest)
    tried = smoothers(fitted, 400)
    chosen = int(np.argmin([one.loss() for one in tried]))
    spectrum, place = tried[chosen].spectrum, chosen % len(REGULARISATIONS)
    assert spectrum.gamma in GAMMAS
    kernel = gaussian_kernel(fitted.points, fitted.points, spectrum.gamma)
    ridge = kernel + REGULARISATIONS[place] * 60 * np.eye(60)
    exact = gaussian_kernel(data.points[held], fitted.points, spectrum.gamma) @ np.linalg.solve(
        ridge, fitted.deviations
    )
    assert _by_ridge(data, rest, held) == pytest.approx(exact, abs=1e-4)


@pytest.mark.parametrize("faults", [1, 6])
def test_the_best_ridge_regression_predicts_each_row_best_from_all_others(faults):
    """By one regression without the row for each kernel, regularisation and row."""
    rng = np.random.default_rng(4)
    p = rng.uniform(size=40)
    y = (rng.random(40) < (np.sin(faults * np.pi * p) > 0.0)).astype(int)
    data = CalibrationData.of(as_sample(p, y))
    losses = {}
    for gamma in (1.0, 4.0, 16.0):
        kernel = gaussian_kernel(data.points, data.points, gamma)
        for place, ridge in enumerate(10.0 ** -np.arange(-1, 8)):
            errors = []
            for i in range(40):
                rest = np.arange(40) != i
                weights = np.linalg.solve(kernel[np.ix_(rest, rest)] + ridge * 40 * np.eye(39), data.deviations[rest])
                errors.append(data.deviations[i] - kernel[i, rest] @ weights)
            losses[gamma, place] = np.square(errors).sum(axis=1).mean()
    tried = smoothers(data, 400)
    assert len(tried) == len(losses) == 27
    chosen = int(np.argmin([one.loss() for one in tried]))
    assert (tried[chosen].spectrum.gamma, chosen % 9) == min(losses, key=losses.get)


def test_bad_input():
    p, y = squared(30, 1)
    with pytest.raises(ValueError, match=r"order: got 0\.5, wanted at least 1"):
        ct.risk.variational_error(p, y, 0.5)
    with pytest.raises(ValueError, match="n_folds"):
        ct.risk.variational_error(p, y, n_folds=31)
    with pytest.raises(TypeError, match="calibrator: got 3, wanted a method"):
        ct.risk.variational_error(p, y, calibrator=3)
    with pytest.raises(ValueError, match="20"):
        ct.risk.variational_error(p[:10], y[:10])
    with pytest.raises(TypeError):
        ct.risk.variational_error(ct.Normal(p, 1.0), y)
