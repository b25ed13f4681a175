import numpy as np
import pytest

import caltest as ct
from caltest.recalibration import CalibrationMap, FamilyTemperatureScaling, QuantileRecalibration

N = 400
RNG = np.random.default_rng(8)
X = RNG.normal(size=N)
FAMILIES = {
    "normal": ct.Normal(X, np.exp(0.3 * X)),
    "laplace": ct.Laplace(X, np.exp(0.3 * X)),
    "student": ct.StudentT(8.0, X, np.exp(0.3 * X)),
    "log-normal": ct.LogNormal(X, np.full(N, 0.5)),
    "gamma": ct.Gamma(2.0 + X**2, np.full(N, 1.5)),
    "beta": ct.Beta(2.0 + X**2, np.full(N, 3.0)),
    "poisson": ct.Poisson(1.0 + X**2),
    "negative binomial": ct.NegativeBinomial(size=np.full(N, 3.0), probability=3.0 / (4.0 + X**2)),
    "vectors": ct.MvNormal(np.stack([X, -X], axis=1), np.tile([[2.0, 0.5], [0.5, 1.0]], (N, 1, 1))),
    "diagonal": ct.MvNormal(np.stack([X, -X], axis=1), np.exp(np.stack([X, -X], axis=1))),
    "isotropic": ct.MvNormal(np.stack([X, -X], axis=1), np.exp(X)),
}


def fit(predictions, targets):
    return FamilyTemperatureScaling().fit(predictions, targets).temperature


def test_normal_and_laplace_have_closed_forms():
    y = X + 2.0 * RNG.normal(size=N)
    normal, laplace = FAMILIES["normal"], FAMILIES["laplace"]
    assert fit(normal, y) == pytest.approx(np.mean(((y - X) / normal.scale) ** 2), rel=1e-7)
    assert fit(laplace, y) == pytest.approx(np.mean(np.abs(y - X) / laplace.scale), rel=1e-7)
    for name in ("vectors", "diagonal", "isotropic"):
        vectors = FAMILIES[name]
        targets = vectors.sample(1) + RNG.normal(size=(N, 2))
        z = vectors.standardised(targets)[1]
        assert fit(vectors, targets) == pytest.approx(np.mean(np.square(z)), rel=1e-7)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_temperature_of_the_targets_is_found(name):
    predictions = FAMILIES[name]
    for temperature in (0.6, 1.4):
        targets = predictions.at_temperature(temperature).sample(3)
        fitted = FamilyTemperatureScaling().fit(predictions, targets)
        assert fitted.temperature == pytest.approx(temperature, rel=0.2)
        assert type(fitted(predictions)) is type(predictions)


def test_maps_are_saved_and_check_the_family(tmp_path):
    fitted = FamilyTemperatureScaling().fit(FAMILIES["normal"], X + 0.3)
    fitted.save(tmp_path / "map.npz")
    again = CalibrationMap.load(tmp_path / "map.npz")
    assert again.to_dict() == fitted.to_dict()
    with pytest.raises(ValueError, match="wanted Normal ones"):
        again(FAMILIES["gamma"])


def test_bad_input():
    assert fit(FAMILIES["normal"], X) == pytest.approx(1e-3)
    with pytest.raises(TypeError, match="TemperatureScaling"):
        fit(np.full((4, 3), 1 / 3), [0, 1, 2, 0])
    with pytest.raises(ValueError, match="positive scales"):
        fit(ct.Normal([0.0, 1.0], [0.0, 1.0]), [0.5, 1.0])
    with pytest.raises(ValueError, match="targets"):
        fit(FAMILIES["gamma"], -np.ones(N))
    assert 0.001 <= fit(ct.StudentT(1.0, np.zeros(50), 1.0), 1e3 * RNG.standard_t(0.3, 50)) < 2.0


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


def test_one_level_needs_no_list():
    assert QuantileRecalibration(0.5) == QuantileRecalibration([0.5])


def test_bad_input_of_quantiles():
    normal = ct.Normal(np.zeros(30), 1.0)
    for levels in ([0.5, 0.2], [0.5, 0.5], [], [0.0, 0.5]):
        with pytest.raises(ValueError, match="levels"):
            QuantileRecalibration(levels)
    with pytest.raises(ValueError, match="wanted enough"):
        QuantileRecalibration([0.01]).fit(normal, np.arange(30.0))
    for equal in (16, 30):
        with pytest.raises(ValueError, match="equal PIT values"):
            QuantileRecalibration().fit(normal, np.maximum(np.arange(30.0) - equal, 0.0))
    with pytest.raises(ValueError, match="scale"):
        QuantileRecalibration().fit(ct.Normal(np.zeros(30), 0.0), np.arange(30.0))
    with pytest.raises(TypeError, match="continuous"):
        QuantileRecalibration().fit(np.full(30, 0.5), np.zeros(30, int))
    far = QuantileRecalibration([0.2, 0.5]).fit(normal, np.arange(30) - 20.0)
    assert np.isfinite(far(normal).values).all()
