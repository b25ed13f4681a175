import numpy as np
import pytest
import scipy

import caltest as ct
from caltest.recalibration import CalibrationMap, FamilyTemperatureScaling, QuantileRecalibration, ShiftAndScale
from caltest.recalibration.distributions import ShiftAndScaleMap

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


LEVELS = np.array([0.1, 0.3, 0.5, 0.9])
MOVED = FAMILIES | {
    "gumbel": ct.Continuous(scipy.stats.gumbel_r(X, np.exp(0.3 * X))),
    "cauchy": ct.StudentT(1.0, X, np.exp(0.3 * X)),
    "mixture": ct.Mixture([ct.Normal(X, 1.0), ct.Laplace(X, 0.3), ct.Normal(X + 3.0, 0.5)][::2]),
}


@pytest.mark.every(3)
@pytest.mark.parametrize("name", MOVED)
def test_the_shift_and_the_factor_of_the_targets_are_found(name):
    law = MOVED[name]
    y = law.sample(1)
    np.testing.assert_allclose(law.moved(0.0, 1.0).log_density(y), law.log_density(y), rtol=1e-6)
    fitted = ShiftAndScale().fit(law, law.moved(0.4, 1.5).sample(3))
    assert fitted.shift == pytest.approx(np.full(fitted.shift.size, 0.4), abs=0.25)
    assert fitted.factor == pytest.approx(np.full(fitted.shift.size, 1.5), rel=0.25)
    assert np.mean(fitted(law).losses(y)) > np.mean(law.losses(y))
    for one in (CalibrationMap.from_dict(fitted.to_dict()), fitted):
        assert one(law).losses(y) == pytest.approx(law.moved(fitted.shift, fitted.factor).losses(y))


def test_shifts_and_factors_are_means_and_deviations_of_normal_scores():
    """Of normal laws, the logarithms of log-normal ones and coordinates of vectors, however far the targets are."""
    for far in (0.0, 3.0, 1e6):
        y = X + far + 2.0 * RNG.normal(size=N)
        z = (y - X) / FAMILIES["normal"].scale
        fitted = ShiftAndScale().fit(FAMILIES["normal"], y)
        assert [fitted.shift[0], fitted.factor[0]] == pytest.approx([z.mean(), z.std()], rel=1e-6)
    vectors = FAMILIES["vectors"]
    y = vectors.sample(1) + np.array([0.5, 0.0])
    fitted = ShiftAndScale().fit(vectors, y)
    z = (y - vectors.mean) / np.sqrt([2.0, 1.0])
    assert fitted.shift == pytest.approx(z.mean(axis=0), rel=1e-6)
    assert fitted.factor == pytest.approx(z.std(axis=0), rel=1e-6)
    moved, (a, b) = fitted(vectors), fitted.factor
    np.testing.assert_allclose(moved.covariance[0], [[2.0 * a * a, 0.5 * a * b], [0.5 * a * b, b * b]])
    np.testing.assert_allclose(moved.mean, vectors.mean + fitted.shift * np.sqrt([2.0, 1.0]))


def test_members_are_moved_as_sums_over_all_cases_say():
    rng = np.random.default_rng(2)
    members = X[:, None] + rng.normal(size=(N, 6))
    y = X + 0.5 + 1.5 * rng.normal(size=N)
    fitted = ShiftAndScale().fit(ct.Ensemble(members), y)
    mean, spread = members.mean(axis=1), members.std(axis=1, ddof=1)
    shift = np.sum(y - mean) / np.sum(spread)
    factor = np.sqrt(np.sum((y - mean - shift * spread) ** 2) / ((1.0 + 1.0 / 6.0) * np.sum(spread**2)))
    assert [fitted.shift[0], fitted.factor[0]] == pytest.approx([shift, factor])
    wanted = mean[:, None] + shift * spread[:, None] + factor * (members - mean[:, None])
    np.testing.assert_allclose(fitted(ct.Ensemble(members)).to_array(), wanted)
    vectors = np.stack([members, -2.0 * members], axis=2)
    both = ShiftAndScale().fit(ct.Ensemble(vectors), np.stack([y, -2.0 * y], axis=1))
    np.testing.assert_allclose([both.shift, both.factor], [[shift, -shift], [factor, factor]])
    np.testing.assert_allclose(both(ct.Ensemble(vectors)).to_array()[..., 0], wanted)


def test_the_crps_of_members_is_that_of_pairs():
    rng = np.random.default_rng(2)
    members, y = rng.normal(size=(5, 4, 2)), rng.normal(size=(5, 2))
    for z, target in ((members, y), (members[..., :1], y[:, :1])):
        pairs = np.linalg.norm(z[:, :, None] - z[:, None], axis=-1).sum(axis=(1, 2)) / (2 * 4 * 3)
        wanted = np.linalg.norm(z - target[:, None], axis=-1).mean(axis=1) - pairs
        ensemble = ct.Ensemble(z if z.shape[-1] > 1 else z[..., 0])
        plain = target if z.shape[-1] > 1 else target[:, 0]
        np.testing.assert_allclose(ensemble.losses(plain), wanted)
        np.testing.assert_allclose(ensemble.pooled(plain).losses(plain), wanted)


def test_quantile_forecasts_are_moved_by_the_quantile_loss():
    rng = np.random.default_rng(2)
    scale = np.exp(0.3 * X)
    forecast = ct.QuantileForecast(LEVELS, ct.Normal(X, scale).quantile(LEVELS[:, None]).T)
    y = X + scale * (0.5 + 1.5 * rng.normal(size=N))
    losses = forecast.losses(y)
    pairs = zip(LEVELS, y[7] - forecast.values[7], strict=True)
    assert losses[7] == pytest.approx(2.0 * np.mean([max(p * error, (p - 1.0) * error) for p, error in pairs]))
    fitted = ShiftAndScale().fit(forecast, y)
    best = np.mean(fitted(forecast).losses(y))
    assert best < losses.mean()
    others = fitted.shift + np.array([0.1, -0.1, 0.0, 0.0]), fitted.factor * [1.0, 1.0, 1.1, 0.9]
    assert best <= min(np.mean(forecast.moved(*one).losses(y)) for one in zip(*others, strict=True))
    assert [fitted.shift[0], fitted.factor[0]] == pytest.approx([0.5, 1.5], abs=0.25)
    single = ct.QuantileForecast([0.5], X[:, None])
    lonely = ShiftAndScale().fit(single, X + np.arange(N))
    assert [lonely.shift[0], lonely.factor[0]] == pytest.approx([N / 2 - 1, 1.0])


def test_a_factor_that_changes_nothing_is_one():
    """Of counts that vary less than Poisson ones, and of distances from an end, whose mean says all."""
    rng = np.random.default_rng(2)
    rates = np.exp(1.0 + 0.5 * X)
    few = ShiftAndScale().fit(ct.Poisson(rates), np.round(1.5 * rates).astype(int))
    assert few.factor[0] == 1.0
    assert np.exp(few.shift[0]) == pytest.approx(np.round(1.5 * rates).sum() / rates.sum(), rel=1e-6)
    waits = ct.Continuous(scipy.stats.expon(loc=2.0, scale=rates))
    y = 2.0 + 1.5 * rates * rng.exponential(size=N)
    fitted = ShiftAndScale().fit(waits, y)
    assert fitted.factor[0] == 1.0
    assert np.exp(fitted.shift[0]) == pytest.approx(np.mean((y - 2.0) / rates), rel=1e-6)
    np.testing.assert_allclose(fitted(waits).moments()[0], 2.0 + np.exp(fitted.shift[0]) * rates)


def test_reports_of_ensembles_and_quantiles_have_their_own_loss():
    rng = np.random.default_rng(6)
    y = X + 0.8 + rng.normal(size=N)
    ensemble = ct.Ensemble(X[:, None] + rng.normal(size=(N, 9)))
    report = ct.recalibration.report(ensemble, y, ShiftAndScale(), n_resamples=39, rng=1)
    assert report.score_name == "fair CRPS"
    assert report.before.score > report.after.score
    assert report.before.pvalue == 0.025 < report.after.pvalue
    assert "lowers the fair CRPS by" in report.verdict()
    forecast = ct.QuantileForecast(LEVELS, ct.Normal(X, 1.0).quantile(LEVELS[:, None]).T)
    report = ct.recalibration.report(forecast, y, ShiftAndScale(), n_resamples=39, rng=1)
    assert report.before.score > report.after.score
    assert (report.before.accuracy, report.before.pvalue) == (None, 0.025)
    best = ct.recalibration.fit_best(forecast, y, [ShiftAndScale()], rng=1)
    assert best.to_pandas().columns[0] == "quantile loss"
    assert best.scores["ShiftAndScale"] == pytest.approx(report.after.score, rel=0.2)
    pairs = ct.Ensemble(X[:, None, None] + rng.normal(size=(N, 9, 2)))
    report = ct.recalibration.report(pairs, np.stack([y, y], axis=1), ShiftAndScale(), n_resamples=39, rng=1)
    assert report.table()[0][1] == report.score_name == "fair energy score"
    outcomes = report.samples[0].targets
    z = report.samples[0].predictions.without(outcomes).members
    between = np.linalg.norm(z[:, :, None] - z[:, None], axis=-1).sum(axis=(1, 2)) / (2 * 9 * 8)
    energy = np.mean(np.linalg.norm(z - outcomes[:, None], axis=-1).mean(axis=1) - between)
    assert report.table()[1][1] == f"{energy:.4f}"


def test_bad_input_of_shifts():
    with pytest.raises(TypeError, match=r"for classes use VectorScaling\(\)"):
        ShiftAndScale().fit(np.full((4, 3), 1 / 3), [0, 1, 2, 0])
    with pytest.raises(TypeError, match=r"with an end, jumps .* recalibration.QuantileRecalibration corrects"):
        ShiftAndScale().fit(ct.Continuous(scipy.stats.weibull_max(np.full(9, 1.5))), -np.arange(1.0, 10.0))
    with pytest.raises(TypeError, match=r"change their parameters instead$"):
        ct.Ordinal(np.full((2, 3), 1 / 3)).moved(0.0, 1.0)
    with pytest.raises(ValueError, match="wanted at least 2: one has no spread"):
        ShiftAndScale().fit(ct.Ensemble(X[:, None]), X)
    with pytest.raises(ValueError, match="without spread in all"):
        ShiftAndScale().fit(ct.Ensemble(np.ones((5, 3))), np.arange(5.0))
    with pytest.raises(ValueError, match="positive scales"):
        ShiftAndScale().fit(ct.Normal([0.0, 1.0], [0.0, 1.0]), [0.5, 1.0])
    with pytest.raises(ValueError, match="got 1 observation, wanted at least 2"):
        ShiftAndScale().fit(ct.Normal([0.0], [1.0]), [1.0])
    vectors = ShiftAndScale().fit(FAMILIES["isotropic"], FAMILIES["isotropic"].sample(1))
    with pytest.raises(ValueError, match="got targets of dimension 3, wanted 2 as in the fit"):
        vectors(ct.MvNormal(np.zeros((2, 3)), np.ones(2)))
    none = ShiftAndScale().fit(ct.Poisson(np.full(9, 2.0)), np.zeros(9, dtype=int))
    assert -21.0 < none.shift[0] < -10.0
    far = ShiftAndScale().fit(ct.Ensemble(RNG.normal(size=(9, 4))), RNG.normal(size=9) * 1e12)
    assert far.factor[0] == 5e8
    exact = ShiftAndScale().fit(FAMILIES["normal"], X)
    assert exact.factor[0] < 1e-6
    with pytest.raises(ValueError, match="factor"):
        ShiftAndScaleMap("Normal", [0.0], [0.0])


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("law", "drawn"),
    [
        (FAMILIES["normal"], "predicted quantile of the outcome"),
        (FAMILIES["poisson"], "predicted quantile of the outcome"),
        (FAMILIES["vectors"], "predicted quantile of the outcome"),
        (ct.Ensemble(RNG.normal(size=(N, 5))), "predicted quantile of the outcome"),
        (ct.QuantileForecast(LEVELS, ct.Normal(X, 1.0).quantile(LEVELS[:, None]).T), "level"),
    ],
    ids=["normal", "poisson", "vectors", "ensemble", "quantiles"],
)
def test_reports_have_pictures_before_and_after(law, drawn):
    figure = pytest.importorskip("matplotlib.figure")
    y = X + 0.5 if not isinstance(law, ct.Poisson | ct.MvNormal) else law.sample(1)
    report = ct.recalibration.report(law, y, ShiftAndScale(), n_resamples=19, rng=1)
    axes = ct.plots.recalibration_report(report, rng=1, axes=figure.Figure().subplots(1, 2))
    assert [one.get_title().partition(":")[0] for one in axes] == ["before", "after"]
    assert all(drawn in one.get_xlabel().replace("\n", " ") for one in axes)


@pytest.mark.parametrize("scaling", [FamilyTemperatureScaling(), ShiftAndScale()])
@pytest.mark.parametrize("shape", [0.5, 2.0])
def test_targets_of_no_finite_density_are_named(scaling, shape):
    """The density of gamma laws at 0 is infinite or 0."""
    with pytest.raises(ValueError, match="got one of density 0 or infinity at row 2, wanted positive finite"):
        scaling.fit(ct.Gamma(np.full(5, shape), 1.0), [0.3, 1.0, 0.0, 0.0, 2.0])
