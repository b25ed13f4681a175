"""GPcalib: fits, maps, and averages over draws."""

from dataclasses import replace

import numpy as np
import pytest
from grids import thinned
from scipy.special import softmax

import caltest as ct
from caltest._basics.numerics import normalised
from caltest.recalibration import CalibrationMap, GPCalibrator, TemperatureScaling
from caltest.recalibration.gaussian_process import fit as fits
from caltest.recalibration.gaussian_process.map import marginal_probabilities
from caltest.recalibration.gaussian_process.objective import LatentProcess, OnScale

QUICK = {"n_inducing": 5, "max_iterations": 100}
"""Enough for a map that is as good to three digits."""


def distorted(n=600, k=4, seed=5):
    """Logits of calibrated predictions, twice as far apart as they should be, and labels."""
    rng = np.random.default_rng(seed)
    logits = 1.5 * rng.normal(size=(n, k))
    labels = np.array([rng.choice(k, p=row) for row in softmax(logits, axis=1)])
    return 2.0 * logits, labels


def loss(probabilities, labels):
    return -np.log(probabilities[np.arange(labels.size), labels]).mean()


def test_too_confident_predictions_become_calibrated():
    z, y = distorted()
    p = softmax(z, axis=1)
    fitted = GPCalibrator(**QUICK).fit(p[:300], y[:300])
    best = loss(softmax(z[300:] / 2.0, axis=1), y[300:])
    assert loss(p[300:], y[300:]) > best + 0.1
    assert loss(fitted(p[300:]), y[300:]) < best + 0.02
    assert loss(fitted.marginal(p[300:], rng=1), y[300:]) < best + 0.02
    logits = GPCalibrator(input="logits", **QUICK).fit(z[:300], y[:300])
    assert loss(logits(z[300:]), y[300:]) < best + 0.02


def test_a_curved_function_is_found_that_no_temperature_fits():
    rng = np.random.default_rng(8)
    z = 3.0 * rng.normal(size=(2000, 3))
    y = np.array([rng.choice(3, p=row) for row in softmax(1.5 * np.tanh(z), axis=1)])
    methods = GPCalibrator(input="logits", n_inducing=8, max_iterations=150), TemperatureScaling(input="logits")
    gp, temperature = (method.fit(z[:1000], y[:1000])(z[1000:]) for method in methods)
    assert loss(gp, y[1000:]) < loss(temperature, y[1000:]) - 0.03
    assert loss(gp, y[1000:]) < loss(softmax(1.5 * np.tanh(z[1000:]), axis=1), y[1000:]) + 0.02


@pytest.mark.full
def test_calibrated_predictions_stay_nearly_as_they_are():
    z, y = distorted(n=2000)
    p = softmax(z / 2.0, axis=1)
    assert np.abs(GPCalibrator(**QUICK).fit(p, y)(p) - p).max() < 0.05


def test_the_map_is_the_softmax_of_prior_and_kernel_sums():
    z, y = distorted(n=100)
    p = softmax(z, axis=1)
    fitted = GPCalibrator(**QUICK).fit(p, y)
    prior, mean, deviation = fitted.latent_function(p.ravel())
    np.testing.assert_allclose(prior, np.log(p.ravel()), rtol=1e-12)
    np.testing.assert_allclose(fitted(p), softmax(mean.reshape(p.shape), axis=1), rtol=1e-10)
    assert (deviation > 0.0).all()
    np.testing.assert_allclose(deviation**2, fitted.process.moments(np.log(p.ravel()))[1], rtol=1e-10)
    for low, high in ((-0.5, 0.5), (0.5, 1.5)):
        with pytest.raises(ValueError, match=f"inputs: got {low} to {high}, wanted probabilities from 0 to 1"):
            fitted.latent_function([low, high])


def test_the_scale_with_the_larger_bound_is_kept():
    z, y = distorted(n=200)
    p = softmax(z, axis=1)
    both = [fits.best_fit(OnScale.of(normalised(p), y, scale), 5, 100) for scale in ("probability", "log")]
    fitted = GPCalibrator(keep_class=False, **QUICK).fit(p, y)
    assert fitted.evidence_bound == max(fit.bound for fit in both)
    assert fitted.scale == max(both, key=lambda fit: fit.bound).data.scale
    assert abs(both[0].bound - both[1].bound) > 0.01


@pytest.mark.every(2)
@pytest.mark.parametrize("scale", ["logit", "probability"])
def test_a_fit_at_the_prior_is_repeated_from_elsewhere(scale, monkeypatch):
    z, y = distorted(n=200)
    scores = softmax(z, axis=1) if scale == "probability" else z
    data, flat = OnScale.of(scores, y, scale), fits.first_process(scores, 5, 10.0)
    assert fits.has_collapsed(flat, scores)
    found = fits.best_fit(data, 5, 200)
    assert not fits.has_collapsed(found.process, scores)
    search, calls = fits._search, []

    def first_fails(start, *arguments):
        calls.append(start)
        return fits.LatentFit(flat, data, -1e9, True) if len(calls) == 1 else search(start, *arguments)

    monkeypatch.setattr(fits, "_search", first_fails)
    again = fits.best_fit(data, 5, 200)
    assert len(calls) == 2
    assert calls[0].lengthscale != calls[1].lengthscale or calls[0].mean.any() != calls[1].mean.any()
    assert again.bound == pytest.approx(found.bound, abs=3.0)


@pytest.fixture(scope="module")
def by_grid():
    data = OnScale.of(*distorted(n=1100), "logit")
    return data, fits.best_fit(data, 4, 1000)


def test_the_grid_gives_the_fit_of_all_inputs(by_grid, monkeypatch):
    data, grid = by_grid
    monkeypatch.setattr(fits, "INPUTS_WITHOUT_GRID", data.inputs.size)
    exact = fits.best_fit(data, 4, 1000)
    assert grid.bound == pytest.approx(exact.bound, abs=0.2)
    assert fits.bound_at(grid.process, data) == pytest.approx(grid.bound, abs=fits.GRID_ERROR)


def test_a_coarse_grid_is_refined(by_grid, monkeypatch):
    data, grid = by_grid
    monkeypatch.setattr(fits, "GRIDS", (4, 2000))
    found = fits.best_fit(data, 4, 1000)
    assert fits.bound_at(found.process, data) == pytest.approx(found.bound, abs=fits.GRID_ERROR)
    assert found.bound == pytest.approx(grid.bound, abs=0.2)


def test_draws_have_the_moments_of_the_process():
    rng = np.random.default_rng(3)
    process = LatentProcess(
        np.array([-1.0, 0.5, 2.0]), np.array([0.3, -1.0, 0.5]), np.array([0.5, 0.9, 0.2]), 0.8, 1.3, 0.1
    )
    x, mu = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    lower = process.factor
    a = np.linalg.solve(lower, process.kernel(x.ravel()).T).T.reshape(2, 3, 3)
    expected = np.empty((2, 3))
    for i in range(2):
        own = 1.3 * np.exp(-((x[i][:, None] - x[i]) ** 2) / 1.28) + 0.1 * np.eye(3) - a[i] @ a[i].T
        own = np.diag(np.diag(own))
        total = own + (a[i] * process.scales**2) @ a[i].T
        values = rng.multivariate_normal(mu[i] + a[i] @ process.mean, total, size=200_000)
        expected[i] = softmax(values, axis=1).mean(axis=0)
    drawn = marginal_probabilities(process, x, mu, 200_000, np.random.default_rng(1))
    # Standard errors are below 0.25 / sqrt(200000) = 6e-4 each.
    np.testing.assert_allclose(drawn, expected, atol=4e-3)


def test_averages_do_not_depend_on_the_parts(monkeypatch):
    from caltest.recalibration.gaussian_process import map as fitted_map

    z, y = distorted(n=60)
    fitted = GPCalibrator(input="logits", **QUICK).fit(z, y)
    whole = fitted.marginal(z, n_draws=7, rng=2)
    monkeypatch.setattr(fitted_map, "NUMBERS", 100)
    np.testing.assert_allclose(fitted.marginal(z, n_draws=7, rng=2), whole, rtol=1e-10)
    assert np.abs(fitted.marginal(z, n_draws=7, rng=3) - whole).max() > 1e-6
    with pytest.raises(ValueError, match="n_draws: got 0"):
        fitted.marginal(z, n_draws=0)


def test_fits_repeat_themselves_and_survive_files(tmp_path):
    z, y = distorted(n=150)
    p = ct.Categorical(softmax(z, axis=1))
    gp = GPCalibrator(n_inducing=5, max_iterations=30)
    fitted = gp.fit(p, y)
    np.testing.assert_array_equal(gp.fit(p, y)(p).probabilities, fitted(p).probabilities)
    fitted.save(tmp_path / "map.npz")
    loaded = CalibrationMap.load(tmp_path / "map.npz")
    np.testing.assert_array_equal(loaded(p).probabilities, fitted(p).probabilities)
    assert loaded.converged is fitted.converged
    assert isinstance(loaded.marginal(p, rng=1), ct.Categorical)


def test_binary_predictions():
    rng = np.random.default_rng(2)
    log_odds = 2.0 * rng.normal(size=1000)
    y = (rng.random(1000) < 1.0 / (1.0 + np.exp(-log_odds))).astype(int)
    p = 1.0 / (1.0 + np.exp(-2.0 * log_odds))
    assert np.abs(p - 1.0 / (1.0 + np.exp(-log_odds))).max() > 0.14  # the map is not to be the identity
    fitted = GPCalibrator(**QUICK).fit(ct.Bernoulli(p), y)
    assert isinstance(fitted(ct.Bernoulli(p)), ct.Bernoulli)
    np.testing.assert_allclose(fitted(p), 1.0 / (1.0 + np.exp(-log_odds)), atol=0.07)
    np.testing.assert_allclose(fitted(np.stack([1.0 - p, p], axis=1))[:, 1], fitted(p), rtol=1e-9)
    odds = GPCalibrator(input="logits", **QUICK).fit(2.0 * log_odds, y)
    np.testing.assert_allclose(odds(2.0 * log_odds), 1.0 / (1.0 + np.exp(-log_odds)), atol=0.07)


def few(n=60, k=4):
    rng = np.random.default_rng(1)
    return rng.dirichlet(np.full(k, 0.5), n), rng.integers(k, size=n)


def test_separated_labels_make_finite_sharper_predictions():
    p, _ = few()
    fitted = GPCalibrator(**QUICK).fit(p, p.argmax(axis=1))
    assert np.isfinite(fitted.evidence_bound)
    assert fitted(p).max(axis=1).mean() > p.max(axis=1).mean() + 0.1


def test_constant_predictions_stay():
    _, y = few()
    equal = np.full((60, 4), 0.25)
    np.testing.assert_allclose(GPCalibrator().fit(equal, y)(equal), equal, rtol=1e-12)
    half = GPCalibrator(input="logits").fit(np.full((60, 4), 3.0), y)
    np.testing.assert_allclose(half(np.full((2, 4), 3.0)), 0.25, rtol=1e-12)
    # With two different inputs, 0.3 and 0.7, the frequency of the labels can be met.
    share = GPCalibrator().fit(np.full(400, 0.3), np.arange(400) % 2)(np.full(1, 0.3))
    assert share[0] == pytest.approx(0.5, abs=0.02)


def test_classes_without_labels_and_probabilities_0_are_no_trouble():
    p, _ = few()
    labels = np.arange(60) % 2
    p[0], p[1] = [0.0, 0.0, 0.5, 0.5], [1.0, 0.0, 0.0, 0.0]
    gp = GPCalibrator(n_inducing=3, max_iterations=5)
    fitted = gp.fit(p, labels)
    assert np.isfinite(fitted(p)).all()
    assert np.isfinite(fitted.marginal(p, rng=1)).all()
    np.testing.assert_allclose(fitted(p).sum(axis=1), 1.0, rtol=1e-12)
    corners = np.eye(4)[labels]
    assert np.isfinite(gp.fit(corners, (labels + 1) % 4)(corners)).all()
    assert np.isfinite(gp.fit(p[:1], [2])(p)).all()


def test_bad_settings_and_data_are_refused():
    p, y = few()
    with pytest.raises(ValueError, match="n_inducing: got 0"):
        GPCalibrator(n_inducing=0)
    with pytest.raises(ValueError, match=r"max_iterations: got 1\.5"):
        GPCalibrator(max_iterations=1.5)
    with pytest.raises(ValueError, match="wanted finite numbers"):
        GPCalibrator(input="logits").fit(np.full((3, 2), np.nan), [0, 1, 0])
    with pytest.raises(ValueError, match="got 3 classes, wanted 4"):
        GPCalibrator(n_inducing=2, max_iterations=2).fit(p, y).marginal(np.full((1, 3), 1 / 3))


def test_bad_maxima_are_left_from_shorter_length_scales(monkeypatch):
    """Where temperature scaling is far better than what is found, shorter length scales are tried, and only then."""
    z, y = distorted(n=200)
    p = softmax(2.0 * z, axis=1)
    scales = "probability", "log"
    search, starts = fits._search, []

    def poor_first(start, data, *settings):
        starts.append((data.scale, start.lengthscale / fits.SCALES[data.scale].lengthscale))
        found = search(start, data, *settings)
        return found if starts[-1][1] == fits.SHORTER else replace(found, bound=found.bound - 1000.0)

    good = fits.best_of_scales(normalised(p), y, scales, 4, 100, True)
    tempered = TemperatureScaling().fit(p, y)
    likelihood, best = fits.tempered_likelihood(fits.prior_of(p, "log", 1.0 / tempered.temperature), y), tempered(p)
    assert likelihood == pytest.approx(-loss(best, y) * y.size, rel=1e-5)
    assert good.bound > likelihood - fits.POOR * y.size
    monkeypatch.setattr(fits, "_search", poor_first)
    again = fits.best_of_scales(normalised(p), y, scales, 4, 100, True)
    assert [start for start in starts if start[1] == fits.SHORTER] == [(scale, fits.SHORTER) for scale in scales]
    assert again.bound == pytest.approx(good.bound, abs=20.0)


def test_the_search_stops_where_it_is_told_to():
    z, y = distorted(n=100)
    assert not GPCalibrator(input="logits", max_iterations=2).fit(z, y).converged


def cifar(cifar10, name):
    if name.endswith("npz"):
        data = np.load(cifar10.parent / name)
        return data["predictions"], data["ground_truth"].astype(int)
    labels = np.loadtxt(cifar10 / "labels.csv.gz", dtype=int) - 1
    return np.loadtxt(cifar10 / f"{name}.csv.gz", delimiter=","), labels


NETWORKS = ["cifar100/wideresnet-16-4.npz", "cifar10/wideresnet-16-4.npz", "vgg16_bn", "resnet18"]


@pytest.mark.parametrize("name", thinned(NETWORKS, ["vgg16_bn"]))
def test_networks_are_recalibrated_as_well_as_by_temperature_scaling(cifar10, name, replications):
    p, y = cifar(cifar10, name)
    gains = []
    for split in range(replications(1, 10)):
        order = np.random.default_rng(split).permutation(y.size)
        fit, rest = order[:1000], order[1000:]
        methods = GPCalibrator(**replications(QUICK, {})), TemperatureScaling()
        maps = [method.fit(p[fit], y[fit]) for method in methods]
        gp, temperature = (fitted(p[rest]) for fitted in maps)
        gains.append(loss(temperature, y[rest]) - loss(gp, y[rest]))
        assert (gp.argmax(axis=1) == p[rest].argmax(axis=1)).all()
    # One split differs from the mean of ten by about as much as the limit.
    assert np.mean(gains) >= replications(-0.004, -0.002)


def test_scales_at_the_end_of_the_search_are_those_of_a_map():
    """The search ends at rounded logarithms of these."""
    logits, labels = distorted(200)
    entries = GPCalibrator(input="logits", **QUICK).fit(logits, labels).to_dict()
    ends = {"lengthscale": 1e4, "variance": 1e4, "noise": 1e2}
    for name, end in ends.items():
        assert getattr(CalibrationMap.from_dict(entries | {name: end * (1.0 + 5e-7)}), name) > end
        with pytest.raises(ValueError, match=name):
            CalibrationMap.from_dict(entries | {name: end * (1.0 + 5e-6)})
    wide = entries | {"scales": [1e3 * (1.0 + 5e-7)] * len(entries["scales"])}
    assert CalibrationMap.from_dict(wide).scales.max() > 1e3
