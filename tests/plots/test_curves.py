from dataclasses import replace

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import caltest as ct
from caltest import plots
from caltest.plots import latent_function

pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def figures():
    from matplotlib import pyplot as plt

    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.mark.parametrize("scale", ["probabilities", "logits"])
def test_lines_are_mean_and_prior_up_to_constants(scale):
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.full(3, 0.5), 150)
    y = np.array([rng.choice(3, p=row) for row in p])
    fitted = ct.recalibration.GPCalibrator(input=scale).fit(3.0 * np.log(p) if scale == "logits" else p, y)
    axes = latent_function(fitted)
    prior_line, mean_line, ticks = axes.get_lines()
    inputs = prior_line.get_xdata()
    prior, mean, deviation = fitted.latent_function(inputs)
    np.testing.assert_allclose(prior_line.get_ydata(), prior - prior.mean(), atol=1e-12)
    np.testing.assert_allclose(mean_line.get_ydata(), mean - mean.mean(), atol=1e-12)
    heights = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert heights.max() == pytest.approx((mean - mean.mean() + 1.96 * deviation).max())
    assert 0 < len(ticks.get_xdata()) <= 10
    assert axes.get_xlabel() == ("logit" if scale == "logits" else "predicted probability")


def test_constant_predictions_and_other_maps():
    equal, labels = np.full((20, 4), 0.25), np.arange(20) % 4
    axes = latent_function(ct.recalibration.GPCalibrator().fit(equal, labels))
    assert np.isfinite(axes.get_lines()[1].get_ydata()).all()
    ones = np.ones((20, 4))
    axes = latent_function(ct.recalibration.GPCalibrator(input="logits").fit(3.0 * ones, labels))
    assert np.isfinite(axes.get_lines()[1].get_ydata()).all()
    assert axes.get_lines()[1].get_xdata()[[0, -1]] == pytest.approx([2.0, 4.0])


def test_latent_functions_of_several_maps_are_those_of_the_maps():
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.full(3, 0.5), 150)
    y = np.array([rng.choice(3, p=row) for row in p])
    methods = {"GPcalib": ct.recalibration.GPCalibrator(), "temperature": ct.recalibration.TemperatureScaling()}
    maps = {name: method.fit(p, y) for name, method in methods.items()}
    axes = latent_function(maps)
    lines = {line.get_label(): line for line in axes.get_lines()}
    x = lines["temperature"].get_xdata()
    expected = np.log(x) / maps["temperature"].temperature
    np.testing.assert_allclose(lines["temperature"].get_ydata(), expected - expected.mean(), atol=1e-12)
    assert np.ptp(lines["no change"].get_ydata()) == pytest.approx(np.log(x[-1] / x[0]))
    latent_function({"none": ct.recalibration.Identity(input="logits").fit(np.log(p), y)})
    with pytest.raises(ValueError, match="2 kinds"):
        latent_function({**maps, "logits": ct.recalibration.TemperatureScaling(input="logits").fit(np.log(p), y)})
    with pytest.raises(TypeError, match="got OneVsRestMap, wanted one that has the same function"):
        latent_function(ct.recalibration.OneVsRest(ct.recalibration.Isotonic()).fit(p, y))
    with pytest.raises(TypeError, match="got ndarray"):
        latent_function(p)


@pytest.mark.parametrize("method", ["Platt", "BetaCalibration", "Isotonic", "BBQ"])
def test_latent_functions_of_binary_maps_are_log_odds(method):
    rng = np.random.default_rng(6)
    p = rng.random(200)
    y = (rng.random(200) < p**1.5).astype(int)
    fitted = getattr(ct.recalibration, method)().fit(p, y)
    prior, mean, deviation = fitted.latent_function([0.2, 0.5, 0.9])
    np.testing.assert_allclose(prior, np.log([0.25, 1.0, 9.0]), atol=1e-12)
    q = fitted(np.array([0.2, 0.5, 0.9]))
    np.testing.assert_allclose(mean, np.log(q / (1.0 - q)), atol=1e-9)
    assert not deviation.any()
    assert np.isfinite(latent_function(fitted).get_lines()[1].get_ydata()).all()


matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(scope="module")
def result():
    p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    return ct.estimate_calibration_error(p, y, "top_label", rng=1)


def lines(ax):
    return {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}


def bands(ax):
    """Lower and upper ends of the bands of each curve, in the order of its settings."""
    for collection in ax.collections:
        vertices = collection.get_paths()[0].vertices
        x = np.unique(vertices[:, 0])
        ends = [vertices[vertices[:, 0] == place, 1] for place in x]
        yield np.array([end.min() for end in ends]), np.array([end.max() for end in ends])


def test_curves_are_the_candidates(result):
    panels = plots.risk_curves(result, axes=Figure().subplots(1, 3))
    assert [ax.get_xlabel() for ax in panels] == ["bins", "bandwidth", "regularisation"]
    assert panels[0].get_ylabel() == "risk, top label"
    drawn = {name: line for ax in panels for name, line in lines(ax).items()}
    zero = result.selections[0].zero
    assert [ax.lines[-1].get_ydata()[0] for ax in panels] == [zero.risk] * 3
    candidates = result.selections[0].candidates
    assert drawn.pop("h = 0").get_ydata()[0] == zero.risk
    assert set(drawn) == {one.estimator for one in candidates}
    all_bands = [band for ax in panels for band in bands(ax)]
    for (name, line), (low, high) in zip(drawn.items(), all_bands, strict=True):
        curve = sorted((one for one in candidates if one.estimator == name), key=lambda one: one.value)
        y = np.array([one.risk for one in curve])
        errors = np.array([one.standard_error for one in curve])
        assert np.array_equal(line.get_xdata(), [one.value for one in curve])
        assert np.array_equal(line.get_ydata(), y)
        assert low == pytest.approx(y - errors)
        assert high == pytest.approx(y + errors)


def test_the_selected_is_in_a_ring_and_the_best_are_filled(result):
    panels = plots.risk_curves(result, axes=Figure().subplots(1, 3))
    marks = [line for ax in panels for line in ax.lines[:-1] if line.get_label().startswith("_")]
    rings = [line for line in marks if line.get_markerfacecolor() == "none"]
    assert [(*ring.get_xdata(), *ring.get_ydata()) for ring in rings] == [(result.selected.value, result.selected.risk)]
    filled = {(*line.get_xdata(), *line.get_ydata()) for line in marks if line not in rings}
    assert filled == {(one.value, one.risk) for one in result.selections[0].best}


def test_scales(result):
    panels = plots.risk_curves(result)
    assert [ax.get_xscale() for ax in panels] == ["linear", "log", "log"]
    assert {ax.get_yscale() for ax in panels} == {"linear"}
    assert len(panels[0].figure.axes) == 3
    selection = result.selections[0]
    first, *others = selection.candidates
    far = replace(first, risk=30 * first.risk)
    wide = replace(result, selections=(replace(selection, candidates=(far, *others)),))
    assert {ax.get_yscale() for ax in plots.risk_curves(wide)} == {"log"}
    plt.close("all")


def test_classes_and_errors(result):
    p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    classes = ct.estimate_calibration_error(
        p, y, "classwise", error_functions=[ct.risk.TwoStepRidgeErrorFunction()], rng=1
    )
    ax = plots.risk_curves(classes, problem=7, axes=[Figure().add_subplot()])[0]
    assert ax.get_ylabel() == "risk, class 7 against the rest"
    with pytest.raises(ValueError, match="problem: got 10, wanted less than 10"):
        plots.risk_curves(classes, problem=10)
    with pytest.raises(ValueError, match="axes: got 1, wanted 3, such as those of"):
        plots.risk_curves(result, axes=[Figure().add_subplot()])
    with pytest.raises(TypeError, match=r"result: got 3, wanted what ct.estimate_calibration_error returns"):
        plots.risk_curves(3)
    with pytest.raises(TypeError, match="ax: got str"):
        plots.risk_curves(classes, axes=["here"])


def test_gaussian_processes_on_logits_are_drawn_over_the_range_of_their_data():
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.full(3, 0.5), 150)
    y = np.array([rng.choice(3, p=row) for row in p])
    fitted = ct.recalibration.GPCalibrator(input="logits").fit(3.0 * np.log(p), y)
    inputs = latent_function(fitted).get_lines()[0].get_xdata()
    assert (inputs[0], inputs[-1]) == pytest.approx((fitted.lowest, fitted.highest))
    assert inputs[0] < -3.0


def test_evidence_of_a_second_model_is_not_cut():
    rng = np.random.default_rng(1)
    predictions = rng.random(300)
    outcomes = [(rng.random(300) < true).astype(int) for true in (1.0 - predictions, predictions)]
    results = [ct.SequentialCalibrationTest().update(predictions, one).result() for one in outcomes]
    ax = Figure().add_subplot()
    for name, result in zip("ab", results, strict=True):
        plots.evidence(result, ax=ax, label=name)
    assert ax.get_ylim()[0] <= results[1].history.min() / np.log(10.0) < -0.5
