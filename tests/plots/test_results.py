import numpy as np
import pytest

import caltest as ct

figure = pytest.importorskip("matplotlib.figure")
P, Y = ct.datasets.load_digits_predictions()["random forest"]
P, Y = P.take(slice(0, 200)), Y[:200]
TEST = ct.MonteCarloTest(ct.estimators.ExcessLogScore(), 9)

RESULTS = {
    "default test": lambda: ct.calibration_test(P, Y, n_resamples=19, rng=1),
    "test": lambda: TEST(P, Y, rng=1),
    "groups": lambda: ct.calibration_by_group(P, Y, np.arange(200) % 3, n_resamples=19, rng=1),
    "slices": lambda: ct.find_slices(P, Y, {"x$_1$": np.arange(200) % 3}, n_resamples=19, rng=1),
    "models": lambda: ct.compare_models({"a": P, "b": P.at_temperature(0.5)}, Y, n_resamples=19, rng=1),
    "pairs": lambda: ct.compare_pairs({"a": P, "b": P.at_temperature(0.5)}, Y),
    "decomposition": lambda: ct.score_decomposition(*ct.top_label(P, Y), confidence_level=0.9, n_resamples=19, rng=1),
    "confidence": lambda: ct.confidence_errors(P, Y, confidence_level=0.9, n_resamples=19, rng=1),
    "noise": lambda: ct.noise_floor(P, ct.ECE(), n_resamples=50, rng=1),
    "monitor": lambda: ct.CalibrationMonitor(20)(P, Y),
    "stream": lambda: ct.SequentialCalibrationTest().update(P, Y).result(),
    "power": lambda: ct.power(TEST, ct.generators.class_model("M1", 3), n=20, n_simulations=5, rng=1),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_draw_themselves(name):
    result = RESULTS[name]()
    ax = result.plot(ax=figure.Figure().add_subplot())
    assert ax.get_xlabel()
    if hasattr(result, "bars") and result.bars():
        lines = [line for line in ax.lines if line.get_marker() in ("o", "D")]
        assert [line.get_xdata()[0] for line in lines] == [bar.estimate for bar in result.bars()]
        assert [line.get_marker() == "D" for line in lines] == [bar.stands_out for bar in result.bars()]
        assert len(ax.get_yticklabels()) == len(result.bars())


def test_sums_of_counts_are_not_among_frequencies():
    result = ct.calibration_test(ct.Poisson(np.full(60, 2.5)), np.arange(60) % 5, n_resamples=19, rng=1)
    assert [bar.name for bar in result.bars() if bar.unit == "number"] == ["total count"]
    ax = result.plot(ax=figure.Figure().add_subplot())
    assert "total count" not in [label.get_text() for label in ax.get_yticklabels()]
    assert (ax.get_xlabel(), ax.get_xlim()[1] < 1.1) == ("frequency", True)


def test_results_without_a_picture_say_so():
    with pytest.raises(TypeError, match="no picture of Audit"):
        ct.audit([0.2, 0.7], [0, 1], n_resamples=9, rng=1).plot()
    with pytest.raises(TypeError, match="wanted a result with several estimates"):
        ct.plots.forest(3.0)
    with pytest.raises(TypeError, match="redraws"):
        ct.plots.null_histogram(ct.SpiegelhalterTest()(*ct.top_label(P, Y)))


def test_names_are_shortened_and_begin_no_formula():
    bars = ct.calibration_by_group(P, Y, {"$" + "x" * 60: np.arange(200) % 2 == 0}, n_resamples=19, rng=1)
    labels = [label.get_text() for label in bars.plot(ax=figure.Figure().add_subplot()).get_yticklabels()]
    assert all(len(label) <= 42 and label.startswith(r"\$x") for label in labels)


def test_shortened_names_still_differ():
    result = ct.calibration_test(ct.Normal(np.zeros(50), 1.0), np.linspace(-2.0, 2.0, 50), n_resamples=19, rng=1)
    ax = result.plot(ax=figure.Figure(figsize=(2.5, 3.0)).add_subplot())
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert len(set(names)) == len(names)
    assert "inside the 80 % interval" in names


@pytest.mark.parametrize(("highest", "is_all"), [(0.2, False), (1.0, True)])
def test_clinical_curves_fill_the_picture_up_to_1(highest, is_all):
    rng = np.random.default_rng(1)
    risk = highest * rng.beta(2.0, 2.0, 200)
    result = ct.fields.clinical.validate(risk, rng.random(200) < risk, n_resamples=19, rng=1)
    axes, curve = ct.plots.clinical_curve(result, ax=figure.Figure().add_subplot()), result.curve
    most = 1.05 * max(*curve.frequency, *curve.band[1], *curve.risk)
    assert axes.get_xlim() == axes.get_ylim() == (0.0, 1.0 if is_all else pytest.approx(most))
    assert (most > 1.0) == is_all


def test_parts_of_scores_are_bars_as_long_as_they_are():
    parts, new = RESULTS["decomposition"](), figure.Figure()
    ax = parts.plot(ax=new.add_subplot(1, 2, 1))
    assert [one.get_width() for one in ax.patches] == [one.estimate for one in parts.bars()]
    assert [label.get_text() for label in ax.get_yticklabels()] == [one.name for one in parts.bars()]
    assert not RESULTS["default test"]().plot(ax=new.add_subplot(1, 2, 2)).patches
