import numpy as np
import pytest

import caltest as ct
from caltest.recalibration import CalibrationMap, QuantileRecalibration


def test_corrected_levels_are_order_statistics():
    rng = np.random.default_rng(1)
    mean = rng.normal(size=99)
    y = mean + 2.0 * rng.normal(size=99)
    predictions = ct.Normal(mean, 1.0)
    fitted = QuantileRecalibration([0.1, 0.25, 0.9]).fit(predictions, y)
    ordered = np.sort(predictions.cdf(y))
    np.testing.assert_allclose(fitted.corrected, ordered[[9, 24, 89]])
    forecast = fitted(predictions)
    np.testing.assert_allclose(forecast.values, predictions.quantile(ordered[[9, 24, 89], None]).T)
    assert [int((y <= values + 1e-9).sum()) for values in forecast.values.T] == [10, 25, 90]


def test_levels_between_the_first_and_the_last_rank_can_be_corrected():
    """1 / 49 times 49 is less than 1 by rounding."""
    predictions = ct.Normal(np.zeros(48), 1.0)
    y = np.random.default_rng(1).normal(size=48)
    fitted = QuantileRecalibration([1 / 49, 48 / 49]).fit(predictions, y)
    np.testing.assert_allclose(fitted.corrected, np.sort(predictions.cdf(y))[[0, -1]])
    for level in (1 / 49 - 1e-6, 48 / 49 + 1e-6):
        with pytest.raises(ValueError, match="got 48 observations, wanted enough"):
            QuantileRecalibration([level]).fit(predictions, y)


@pytest.mark.parametrize("family", [ct.Gamma, ct.LogNormal])
def test_new_observations_are_below_their_quantiles_as_often_as_they_should(family):
    parameters = (np.full(4000, 2.0), np.full(4000, 1.5)) if family is ct.Gamma else (np.zeros(4000), np.ones(4000))
    predictions = family(*parameters)
    y = predictions.sample(1) ** 1.3
    half = slice(2000)
    forecast = QuantileRecalibration().fit(predictions.take(half), y[half])(predictions.take(slice(2000, None)))
    shares = (y[2000:, None] <= forecast.values).mean(axis=0)
    np.testing.assert_allclose(shares, forecast.levels, atol=0.05)


def test_maps_are_saved(tmp_path):
    rng = np.random.default_rng(1)
    fitted = QuantileRecalibration().fit(ct.Normal(np.zeros(50), 1.0), rng.normal(size=50))
    fitted.save(tmp_path / "map.npz")
    again = CalibrationMap.load(tmp_path / "map.npz")
    new = ct.Normal([0.0, 1.0], 1.0)
    np.testing.assert_array_equal(again(new).values, fitted(new).values)
    with pytest.raises(ValueError, match="wanted Normal ones"):
        again(ct.Laplace([0.0], 1.0))


def test_bad_input():
    normal = ct.Normal(np.zeros(30), 1.0)
    for levels in ([0.5, 0.2], [0.5, 0.5], [], [0.0, 0.5], 0.5):
        with pytest.raises(ValueError, match="levels"):
            QuantileRecalibration(levels)
    with pytest.raises(ValueError, match="wanted enough"):
        QuantileRecalibration([0.01]).fit(normal, np.arange(30.0))
    with pytest.raises(ValueError, match="equal PIT values"):
        QuantileRecalibration().fit(normal, np.zeros(30))
    with pytest.raises(ValueError, match="scale"):
        QuantileRecalibration().fit(ct.Normal(np.zeros(30), 0.0), np.arange(30.0))
    with pytest.raises(TypeError, match="continuous"):
        QuantileRecalibration().fit(np.full(30, 0.5), np.zeros(30, int))
    far = QuantileRecalibration([0.2, 0.5]).fit(normal, np.arange(30) - 20.0)
    assert np.isfinite(far(normal).values).all()
