import numpy as np
import pytest
from scipy import special
from scipy.stats import dirichlet

import caltest as ct
from caltest.predictions.convert import as_sample
from caltest.risk.data import CalibrationData
from caltest.risk.density import BANDWIDTHS

K = 3


def data(n, seed=1):
    rng = np.random.default_rng(seed)
    return rng.dirichlet((2, 1, 3), n), rng.integers(0, K, n)


def frequencies(p, points, labels, bandwidth):
    """``sum_i w_i e_{y_i}`` with weights from the density at p of Dir(x_i / h + 1), one after the other."""
    weights = np.array([dirichlet.pdf(p / p.sum(), x / bandwidth + 1) for x in points])
    return weights @ np.eye(points.shape[1])[labels] / weights.sum()


@pytest.mark.parametrize("bandwidth", [0.05, 1.0])
def test_frequencies_are_weighted_by_densities(bandwidth):
    (x, y), (p, _) = data(40), data(15, 2)
    residuals = np.array([one - frequencies(one, x, y, bandwidth) for one in p])
    fitted = ct.risk.DirichletErrorFunction(bandwidth).fit(x, y)
    assert fitted.matrix(p) == pytest.approx(residuals @ residuals.T, rel=1e-9, abs=1e-12)


def test_binary_outcomes_are_points_of_a_simplex():
    (x, y), (p, _) = data(40), data(15, 2)
    pairs = np.stack([1 - x[:, 0], x[:, 0]], axis=1)
    outcomes = (y == 0).astype(int)
    residuals = [c - frequencies(np.array([1 - c, c]), pairs, outcomes, 0.1)[1] for c in p[:, 0]]
    fitted = ct.risk.DirichletErrorFunction(0.1).fit(x[:, 0], outcomes)
    assert fitted.matrix(p[:, 0]) == pytest.approx(np.outer(residuals, residuals), rel=1e-9, abs=1e-12)


def test_plug_in():
    x, y = data(30)
    included = [np.sum((one - frequencies(one, x, y, 0.1)) ** 2) for one in x]
    assert ct.risk.DirichletErrorFunction(0.1).plug_in(x, y) == pytest.approx(np.mean(included), rel=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3, 200])
@pytest.mark.parametrize("bandwidth", [*BANDWIDTHS, 1e-9, 1e9])
def test_finite_for_exact_predictions(n_classes, bandwidth):
    rng = np.random.default_rng(3)
    p = np.concatenate([np.eye(n_classes)[rng.integers(0, n_classes, 20)], rng.dirichlet(np.ones(n_classes), 5)])
    y = rng.integers(0, n_classes, 25)
    for data in [(p, y), (p[:, 0], y == 0)]:
        value = ct.risk.DirichletErrorFunction(bandwidth).plug_in(*data)
        assert np.isfinite(value)
        assert 0.0 <= value <= 2.0


def test_probabilities_below_the_floor_count_as_1e_30():
    """Weights in closed form: with h = 1 that of (1 - c, c) at (1 - p, p) is p**c (1 - p)**(1 - c) but for a factor."""
    centres, y = np.array([0.0, 0.1]), np.array([0, 1])

    def frequency(p):
        densities = p**centres * (1.0 - p) ** (1.0 - centres) / special.beta(centres + 1.0, 2.0 - centres)
        return densities[1] / densities.sum()

    fitted = ct.risk.DirichletErrorFunction(1.0).fit(centres, y)
    wide = ct.risk.DirichletErrorFunction(1.0).fit(np.stack([1.0 - centres, centres], axis=1), y)
    for p, counts_as in ((1e-3, 1e-3), (1e-20, 1e-20), (1e-29, 1e-29), (1e-35, 1e-30), (0.0, 1e-30)):
        assert fitted.values(np.array([p])) == pytest.approx([(p - frequency(counts_as)) ** 2], rel=1e-9)
        both = wide.values(np.array([[1.0 - p, p]]))
        assert both == pytest.approx([2.0 * (p - frequency(counts_as)) ** 2], rel=1e-9)


def test_small_bandwidths_follow_the_data_and_large_ones_average():
    x, y = data(50)
    nearest = ct.risk.DirichletErrorFunction(1e-7).fit(x, y)
    assert nearest.values(x) == pytest.approx(np.sum((x - np.eye(K)[y]) ** 2, axis=1), rel=1e-6)
    average = ct.risk.DirichletErrorFunction(1e9).fit(x, y)
    assert average.values(x) == pytest.approx(np.sum((x - np.bincount(y) / 50) ** 2, axis=1), rel=1e-6)


def test_errors():
    with pytest.raises(ValueError, match="bandwidth: got 0, wanted a positive number"):
        ct.risk.DirichletErrorFunction(0)
    with pytest.raises(ValueError, match="bandwidth: got 20 values, wanted one"):
        ct.risk.DirichletErrorFunction().plug_in(*data(5))
    with pytest.raises(TypeError, match="got Normal predictions, wanted Categorical"):
        ct.risk.DirichletErrorFunction(0.1).fit(ct.Normal([0.0, 1.0], [1.0, 1.0]), [0.0, 1.0])


@pytest.mark.parametrize("bandwidth", [*BANDWIDTHS, 1e-9, 1e9])
def test_short_sums_are_the_long_ones(bandwidth):
    """Probabilities with ties and next to 0 and 1, by the concave weights of one outcome and by all weights."""
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.beta(0.05, 0.05, 150), np.round(rng.uniform(size=100), 1), 1 - rng.uniform(0, 1e-12, 50)])
    y, p = rng.integers(0, 2, 300), np.concatenate([x[::3], rng.uniform(size=20), [0.0, 1.0]])
    function = ct.risk.DirichletErrorFunction(bandwidth)
    short = next(function.fits(CalibrationData.of(as_sample(x, y))).forms(p[:, None], [0]))
    pairs, places = (np.stack([1.0 - values, values], axis=1) for values in (x, p))
    long = next(function.fits(CalibrationData.of(as_sample(pairs, y))).forms(places, [0]))
    assert short.vectors == pytest.approx(long.vectors[:, 1:], abs=1e-6 if bandwidth < 1e-6 else 1e-9)
