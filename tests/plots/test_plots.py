import io
import sys

import numpy as np
import pytest
from scipy.stats import binom
from slow import pooled

import caltest as ct
from caltest import plots
from caltest.estimators.classical.belt import belt
from caltest.plots import _axes, calibration_belt, reliability, reliability_diagram, simplex
from caltest.predictions.inputs.convert import as_sample

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402


def new_axes():
    return Figure().add_subplot()


def points(ax, label):
    """Positions of the points with a label."""
    found = [np.asarray(c.get_offsets()) for c in ax.collections if c.get_label() == label]
    return found[0] if found else np.empty((0, 2))


def all_points(ax):
    offsets = np.concatenate([points(ax, "bin"), points(ax, "bin outside its bar")])
    return offsets[np.argsort(offsets[:, 0])]


def bars(ax):
    """Prediction, low end and high end of every bar."""
    boxes = ax.containers[0].patches
    return np.array([(b.get_x() + b.get_width() / 2, b.get_y(), b.get_y() + b.get_height()) for b in boxes])


def means_by_hand(p, y, n_bins):
    """Mean prediction and frequency of each bin (j/b, (j+1)/b], with 0 in the first."""
    table = []
    for j in range(n_bins):
        members = [i for i, value in enumerate(p) if j / n_bins < value <= (j + 1) / n_bins or (j == 0 and value == 0)]
        if members:
            table.append((sum(p[i] for i in members) / len(members), sum(y[i] for i in members) / len(members)))
    return np.array(table)


@pytest.fixture
def binary():
    rng = np.random.default_rng(3)
    p = np.concatenate([rng.random(200), [0.0, 0.0, 1.0]])
    return p, (rng.random(203) < p**2).astype(int)


@pytest.fixture(autouse=True)
def no_open_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize("n_bins", [1, 8, 15])
def test_points_are_means_and_frequencies(binary, n_bins):
    ax = reliability_diagram(*binary, binning=ct.binning.UniformBinning(n_bins), rng=1, ax=new_axes())
    expected = means_by_hand(*binary, n_bins)
    np.testing.assert_allclose(all_points(ax), expected, rtol=1e-12)
    np.testing.assert_allclose(bars(ax)[:, 0], expected[:, 0], rtol=1e-12)


def test_fifteen_uniform_bins_by_default(binary):
    ax = reliability_diagram(*binary, rng=1, ax=new_axes())
    np.testing.assert_allclose(all_points(ax), means_by_hand(*binary, 15), rtol=1e-12)


def test_other_binnings():
    p, y = [0.1, 0.2, 0.3, 0.8, 0.9, 0.95], [0, 1, 0, 1, 1, 0]
    ax = reliability_diagram(p, y, binning=ct.binning.QuantileBinning(2), rng=1, ax=new_axes())
    np.testing.assert_allclose(all_points(ax), [(0.2, 1 / 3), (2.65 / 3, 2 / 3)], rtol=1e-12)


def test_colour_and_shape_follow_the_bars(binary):
    ax = reliability_diagram(*binary, rng=1, ax=new_axes())
    outside = [(x, f) for (x, f), (_, low, high) in zip(all_points(ax), bars(ax), strict=True) if f < low or f > high]
    assert 0 < len(outside) < len(bars(ax))
    np.testing.assert_array_equal(points(ax, "bin outside its bar"), outside)
    colours = {c.get_label(): matplotlib.colors.to_hex(c.get_facecolor()[0]) for c in ax.collections}
    assert colours["bin"].upper() == _axes.INSIDE
    assert colours["bin outside its bar"].upper() == _axes.OUTSIDE


def test_areas_are_proportional_to_counts():
    p, y = [0.1] * 10 + [0.9] * 40, [1] + [0] * 9 + [1] * 36 + [0] * 4
    ax = reliability_diagram(p, y, rng=1, ax=new_axes())
    small, large = next(c for c in ax.collections if c.get_label() == "bin").get_sizes()
    assert large == 4 * small


def test_histogram_counts_the_predictions():
    ax = reliability_diagram([0.0, 0.01, 0.5, 0.99, 1.0, 1.0], [0, 0, 1, 1, 1, 1], rng=1, ax=new_axes())
    heights = [b.get_height() for b in ax.child_axes[0].patches]
    assert heights == [2] + [0] * 14 + [1] + [0] * 13 + [3]
    assert ax.child_axes[0].get_yticks().tolist() == [3]


def test_certain_predictions_are_kept():
    """Nothing is lost at 0 and 1, their bars are points, and an impossible outcome is outside."""
    ax = reliability_diagram([0.0, 0.0, 1.0, 1.0], [0, 0, 1, 0], rng=1, ax=new_axes())
    np.testing.assert_array_equal(bars(ax), [(0, 0, 0), (1, 1, 1)])
    np.testing.assert_array_equal(points(ax, "bin"), [(0, 0)])
    np.testing.assert_array_equal(points(ax, "bin outside its bar"), [(1, 0.5)])
    assert not any(c.get_clip_on() for c in ax.collections)


def test_single_observation_has_a_bar_from_0_to_1():
    ax = reliability_diagram([0.4], [1], rng=1, ax=new_axes())
    np.testing.assert_allclose(bars(ax), [(0.4, 0, 1)], rtol=1e-12)
    np.testing.assert_array_equal(all_points(ax), [(0.4, 1)])


def test_limits_and_diagonal(binary):
    ax = reliability_diagram(*binary, rng=1, ax=new_axes())
    assert ax.get_xlim() == ax.get_ylim() == ax.child_axes[0].get_xlim() == (0, 1)
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), [(0, 0), (1, 1)])


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_bars_are_binomial_quantiles_for_equal_predictions(level):
    n, p = 400, 0.3
    ax = reliability_diagram([p] * n, [0] * n, n_resamples=19_999, confidence_level=level, rng=1, ax=new_axes())
    tails = (1 - level) / 2, (1 + level) / 2
    # One step of the frequency is 1/400; the Monte Carlo error of these quantiles is below it.
    np.testing.assert_allclose(bars(ax)[0, 1:], binom.ppf(tails, n, p) / n, atol=1.01 / n)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_bars_hold_the_points_of_calibrated_predictions(level, replications):
    """Bins are independent, so the numbers below and above are binomial; ties make them smaller than their level."""
    below, above, sets = [], [], replications(100, 300)
    for seed in range(sets):
        rng = np.random.default_rng(seed)
        predictions = ct.Bernoulli(rng.uniform(0.1, 0.9, 1500))
        rank = _axes.rank_of_ends(199, level)
        tenths = ct.binning.UniformBinning(10).assign(predictions.probability[:, None])
        bins = reliability._reliability(predictions, predictions.sample(rng), tenths, 199, rank, rng)
        below.extend(bins.frequencies < bins.low)
        above.extend(bins.frequencies > bins.high)
    n, tail = sets * 8, (1 - level) / 2
    assert len(below) == n
    for outside in (below, above):
        assert binom.ppf(1e-3, n, 0.7 * tail) <= sum(outside) <= binom.isf(1e-3, n, tail)


def test_bars_depend_on_the_seed_and_not_on_the_number_of_threads(binary, monkeypatch):
    expected = bars(reliability_diagram(*binary, rng=7, ax=new_axes()))
    monkeypatch.setattr("caltest._basics.threads.n_threads", lambda: 1)
    np.testing.assert_array_equal(bars(reliability_diagram(*binary, rng=7, ax=new_axes())), expected)
    assert not np.array_equal(bars(reliability_diagram(*binary, rng=8, ax=new_axes())), expected)


def test_classes_are_reduced_to_the_top_label():
    p, y = ct.datasets.load_digits_predictions()["random forest"]
    confidence, correct = p.probabilities.max(axis=1), p.probabilities.argmax(axis=1) == y
    for arguments in [(p, y), (p.probabilities, y), ct.top_label(p, y)]:
        ax = reliability_diagram(*arguments, rng=1, ax=new_axes())
        np.testing.assert_allclose(all_points(ax), means_by_hand(confidence, correct, 15), rtol=1e-12)
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("confidence of the top label", "accuracy")


def test_labels_name_the_question():
    p, y = [[0.2, 0.8], [0.7, 0.3]], [1, 0]
    ax = reliability_diagram(*ct.classwise(p, y)[1], rng=1, ax=new_axes())
    assert (ax.get_xlabel(), ax.get_ylabel()) == (
        "predicted probability, class 1 against the rest",
        "observed frequency",
    )
    ax = reliability_diagram([0.2, 0.7], [0, 1], rng=1, ax=new_axes())
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("predicted probability of class 1", "observed frequency of class 1")
    ax = reliability_diagram(ct.Bernoulli([0.2, 0.7], classes=["dry", "rain"]), ["dry", "rain"], rng=1, ax=new_axes())
    assert ax.get_xlabel() == "predicted probability of class rain"


def test_title_says_what_was_found():
    predictions, labels = ct.datasets.load_digits_predictions()["random forest"]
    result = ct.calibration_test(predictions, labels, n_resamples=39, rng=1)
    title = reliability_diagram(predictions, labels, result=result, rng=1, ax=new_axes()).get_title().split("\n")
    assert title[:2] == ["p = 0.025 (OmnibusTest)", "Categorical, n = 899, 10 classes"]
    assert " ".join(title[2:]) == result.finding.words
    assert max(map(len, title)) <= 60


def test_title_is_the_pvalue(binary):
    exact = ct.MonteCarloTest(ct.ECE(), n_resamples=99)(*binary, rng=1)
    assert exact.pvalue == 0.01
    ax = reliability_diagram(*binary, rng=1, result=exact, ax=new_axes())
    assert ax.get_title() == "p = 0.01 (MonteCarloTest)\nBernoulli, n = 203"
    bound = ct.DistributionFreeSKCETest(ct.SKCE(ct.Bernoulli(binary[0]).default_kernel(), unbiased=False))(*binary)
    ax = reliability_diagram(*binary, rng=1, result=bound, ax=new_axes())
    assert ax.get_title().startswith("p ≤ ")
    assert reliability_diagram(*binary, rng=1, ax=new_axes()).get_title() == ""


def test_axes_are_used_or_made(binary):
    ax = new_axes()
    plt.close("all")
    assert reliability_diagram(*binary, rng=1, ax=ax) is ax
    assert plt.get_fignums() == []
    made = reliability_diagram(*binary, rng=1)
    assert made.figure is plt.gcf()
    made.figure.savefig(io.BytesIO())


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"binning": 15}, TypeError, "binning: got 15"),
        ({"n_resamples": 38}, ValueError, "n_resamples: got 38, wanted at least 39"),
        ({"n_resamples": 18, "confidence_level": 0.9}, ValueError, "n_resamples: got 18, wanted at least 19"),
        ({"n_resamples": 9.5}, ValueError, "n_resamples: got 9.5"),
        ({"confidence_level": 95}, ValueError, "confidence_level: got 95"),
        ({"rng": "one"}, ValueError, "rng: got 'one'"),
        ({"ax": Figure()}, TypeError, "ax: got Figure"),
        ({"result": 0.05}, TypeError, "result: got 0.05"),
    ],
)
def test_bad_settings(binary, settings, error, message):
    with pytest.raises(error, match=message):
        reliability_diagram(*binary, **{"rng": 1, **settings})


@pytest.mark.parametrize(
    ("n_resamples", "level", "rank"), [(39, 0.95, 1), (19, 0.9, 1), (999, 0.95, 25), (998, 0.95, 24)]
)
def test_rank_of_the_ends(n_resamples, level, rank):
    assert _axes.rank_of_ends(n_resamples, level) == rank


@pytest.mark.parametrize(
    ("predictions", "targets", "error", "message"),
    [
        (ct.Normal([0.0, 1.0], 1.0), [0.1, 0.9], TypeError, "got Normal predictions"),
        ([0.1, np.nan], [0, 1], ValueError, "probabilities: got nan"),
        ([0.1, 1.5], [0, 1], ValueError, "got 1.5"),
        ([0.1, 0.5], [0, 1, 1], ValueError, "got 3 values, wanted 2"),
        ([0, 1], [0.1, 0.7], ValueError, "swapped"),
        ([], [], ValueError, "no values"),
    ],
)
def test_bad_data(predictions, targets, error, message):
    with pytest.raises(error, match=message):
        reliability_diagram(predictions, targets)


def test_result_of_other_data_is_refused(binary):
    other = ct.MonteCarloTest(ct.ECE(), n_resamples=9)([0.2, 0.7], [0, 1], rng=1)
    with pytest.raises(ValueError, match="got a test of 2 observations, wanted one of the 203"):
        reliability_diagram(*binary, result=other)


def test_missing_matplotlib_is_named(binary, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)
    with pytest.raises(ImportError, match=r"pip install caltest\[plots\]"):
        reliability_diagram(*binary)


class TestPowerCurve:
    MODELS = [ct.generators.class_model("M3", 3).with_strength(s) for s in (0.6, 0.0)]
    TESTS = {
        "biased": ct.MonteCarloTest(ct.ECE(ct.binning.UniformBinning(5)), n_resamples=19),
        "MMCE": ct.MonteCarloTest(ct.MMCE(), n_resamples=19),
    }

    def test_over_n_there_is_a_line_for_each_test_and_generator(self):
        curve = ct.power_curve(self.TESTS, self.MODELS, [5, 20], n_simulations=15, rng=1)
        ax = plots.power_curve(curve, ax=Figure().add_subplot())
        lines = ax.get_lines()[:4]
        rates = curve.rates().reshape(4, 2)
        for line, row in zip(lines, rates, strict=True):
            assert line.get_xdata().tolist() == [5, 20]
            assert line.get_ydata() == pytest.approx(row)
        assert lines[0].get_label() == f"biased, {self.MODELS[0].description}"
        band = ax.collections[0].get_paths()[0].vertices
        cell = curve.cell("biased", 0, 5)
        ends = sorted({y for x, y in band if x == 5})
        assert (ends[0], ends[-1]) == pytest.approx(tuple(cell.interval))
        assert ax.get_lines()[4].get_ydata()[0] == 0.05
        assert ax.get_xscale() == "log"

    def test_over_strengths_where_n_is_fixed(self):
        curve = ct.power_curve(self.TESTS, self.MODELS, 10, n_simulations=15, rng=1)
        ax = plots.power_curve(curve, alpha=0.2, ax=Figure().add_subplot())
        line = ax.get_lines()[1]
        assert line.get_xdata().tolist() == [0.0, 0.6]
        assert line.get_ydata() == pytest.approx(curve.rates(0.2)[1, ::-1, 0])
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("strength", "power and size")
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["biased", "MMCE"]

    def test_bad_arguments(self):
        curve = ct.power_curve(self.TESTS["MMCE"], self.MODELS[0], 10, n_simulations=2, rng=1)
        with pytest.raises(TypeError, match=r"result: got 3, wanted what ct\.power_curve returns"):
            plots.power_curve(3)
        with pytest.raises(ValueError, match="alpha: got 2"):
            plots.power_curve(curve, alpha=2)
        with pytest.raises(TypeError, match="ax: got str, wanted matplotlib Axes"):
            plots.power_curve(curve, ax="here")


class TestSimplexMap:
    def test_arrows_go_from_mean_predictions_to_frequencies(self):
        p, y = ct.generators.class_model("OC", 3, 1.0).sample(400, rng=1)
        ax = plots.simplex_map(p, y, rng=1, n_resamples=99, min_size=1, ax=new_axes())
        starts, ends = [], []
        numbers = ct.binning.UniformBinning(5).assign(p.probabilities)
        for b in range(numbers.max() + 1):
            rows = numbers == b
            starts.append(p.probabilities[rows].mean(axis=0) @ simplex.CORNERS)
            ends.append(np.bincount(y[rows], minlength=3) / rows.sum() @ simplex.CORNERS)
        quivers = [c for c in ax.collections if hasattr(c, "U")]
        drawn = np.concatenate([np.column_stack([q.XY, q.XY + np.column_stack([q.U, q.V])]) for q in quivers])
        wanted = np.column_stack([starts, ends])
        order = np.lexsort(wanted.T)
        assert drawn[np.lexsort(drawn.T)] == pytest.approx(wanted[order], abs=1e-12)

    def test_circles_have_areas_of_the_numbers_of_rows(self):
        centres, sizes = np.array([[0.6, 0.3, 0.1], [0.1, 0.6, 0.3], [0.1, 0.3, 0.6], [0.3, 0.1, 0.6]]), [60, 30, 15, 1]
        p = np.repeat(centres, sizes, axis=0)
        assert np.unique(ct.binning.UniformBinning(5).assign(p)).size == 4
        ax = plots.simplex_map(p, p.argmax(axis=1), rng=1, n_resamples=9, min_size=1, ax=new_axes())
        areas = [c.get_sizes() for c in ax.collections if c.get_zorder() == 3]
        assert sorted(np.concatenate(areas)) == pytest.approx([6.0, 32.5, 65.0, 130.0])

    def test_arrows_of_calibrated_predictions_are_seldom_marked(self):
        model, marked, total, seen = ct.generators.class_model("M1", 3, 1.0), 0, 0, 0
        for seed in range(12):
            p, y = model.sample(300, rng=seed)
            arrows = simplex._arrows(as_sample(p, y), p.probabilities, ct.binning.UniformBinning(4), 99, 1, 0.05, seed)
            marked, total, seen = marked + int(arrows.long.sum()), total + arrows.long.size, seen + arrows.sizes.sum()
        assert seen == 12 * 300
        assert marked <= binom(total, 0.05).ppf(0.995)
        p, y = ct.generators.class_model("M3", 3, 0.2).sample(300, rng=1)
        arrows = simplex._arrows(as_sample(p, y), p.probabilities, ct.binning.UniformBinning(2), 99, 10, 0.05, 1)
        assert arrows.long.any()
        assert arrows.sizes.min() >= 10

    @pytest.mark.parametrize("y", [0, 1])
    def test_redraws_of_equal_length_are_as_long(self, y):
        """Half of the redraws of two rows are those of one class, with an arrow as long as the one of the outcomes."""
        p = np.array([[0.5, 0.5, 0.0]] * 2)
        arrows = simplex._arrows(as_sample(p, [y, y]), p, ct.binning.UniformBinning(1), 19, 1, 0.3, 1)
        assert not arrows.long.any()

    def test_bad_arguments(self):
        p, y = ct.generators.class_model("M1", 4).sample(20, rng=1)
        with pytest.raises(ValueError, match="got 4 classes, wanted three"):
            plots.simplex_map(p, y)
        with pytest.raises(TypeError, match="Normal"):
            plots.simplex_map(ct.Normal([0.0], 1.0), [0.0])
        three = np.full((5, 3), 1 / 3)
        with pytest.raises(TypeError, match="wanted a binning"):
            plots.simplex_map(three, [0, 1, 2, 0, 1], binning=4)
        with pytest.raises(ValueError, match="min_size"):
            plots.simplex_map(three, [0, 1, 2, 0, 1], min_size=0)


def test_calibration_belt(binary):
    p, y = binary
    ax = calibration_belt(p, y, n_resamples=99, rng=1, ax=new_axes())
    result = ct.MonteCarloTest(ct.estimators.CalibrationBelt(), 99)(p, y, rng=1)
    assert ax.get_title().startswith(f"p = {result.pvalue:.3g} (degree ")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "95 % confidence",
        "80 % confidence",
        "observed frequency, fitted",
    ]
    wide, narrow = (band.get_paths()[0].vertices for band in ax.collections[:2])
    curve = ax.lines[0].get_xydata()
    assert np.isin(narrow[:, 0], wide[:, 0]).all()
    for place in curve[20:-20:40]:
        ends = [np.sort(band[np.isclose(band[:, 0], place[0], atol=1e-12), 1])[[0, -1]] for band in (wide, narrow)]
        assert ends[0][0] < ends[1][0] < place[1] < ends[1][1] < ends[0][1]
    assert ax.get_xlabel() == "predicted probability of class 1"
    # The smallest of the 99 redraws that at least 95 % and 80 % of them do not exceed.
    redraws = np.sort(result.null_distribution)
    expected = belt(ct.estimators.CalibrationBelt(), p, y, redraws[[94, 79]])
    for band, low, high in zip((wide, narrow), expected.low, expected.high, strict=True):
        outline = np.concatenate([low, high])
        assert np.sort(np.unique(band[:, 1])) == pytest.approx(np.unique(outline), rel=1e-9)


def test_calibration_belt_of_classes_is_that_of_the_top_label():
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.ones(3), 150)
    ax = calibration_belt(p, rng.integers(0, 3, 150), n_resamples=19, confidence_levels=[0.9], rng=1, ax=new_axes())
    assert ax.get_xlabel() == "confidence of the top label"
    assert len(ax.collections) == 1


@pytest.mark.parametrize("event", [0, 1])
def test_calibration_belt_of_outcomes_that_are_all_the_same(event):
    p = np.linspace(0.3, 0.9, 60)
    ax = calibration_belt(p, np.full(60, event), n_resamples=39, rng=1, ax=new_axes())
    assert ax.get_title().startswith("p = 0.025 (degree 1)")
    assert (ax.lines[0].get_ydata() == event).all()
    wide, narrow = (np.ptp(band.get_paths()[0].vertices[:, 1]) for band in ax.collections[:2])
    assert wide >= narrow > 0.0


def test_calibration_belt_refuses(binary):
    p, y = binary
    with pytest.raises(ValueError, match="confidence_levels: got"):
        calibration_belt(p, y, confidence_levels=[1.5], ax=new_axes())
    with pytest.raises(ValueError, match="separate the outcomes"):
        calibration_belt([0.2, 0.4, 0.6, 0.8], [0, 0, 1, 1], n_resamples=19, ax=new_axes())
    with pytest.raises(TypeError, match="got Normal predictions"):
        calibration_belt(ct.Normal([0.0], 1.0), [0.0], ax=new_axes())


class TestReliabilityCurve:
    def test_curve_and_band_by_hand(self, binary):
        p, y = binary
        ax = plots.reliability_curve(p, y, n_resamples=99, rng=1, ax=new_axes())
        x, curve = ax.lines[0].get_xdata(), ax.lines[0].get_ydata()
        assert x.tolist() == np.unique(p).tolist()
        assert curve == pytest.approx(pooled(p, y)[np.unique(p, return_index=True)[1]], abs=1e-12)
        vertices = ax.collections[0].get_paths()[0].vertices
        low, high = vertices[:, 1].min(), vertices[:, 1].max()
        assert 0.0 <= low <= high <= 1.0

    def test_consistency_band_holds_curves_of_calibrated_predictions(self):
        outside, total, rng = 0, 0, np.random.default_rng(2)
        for seed in range(20):
            p = np.round(rng.random(80), 1)
            y = (rng.random(80) < p).astype(int)
            groups = reliability.IsotonicGroups.of(p)
            low, high = reliability._redrawn_ends(ct.Bernoulli(p), groups.curves, 99, 2, seed)
            curve = groups.curves(y[None])[0]
            outside, total = outside + int(((curve < low) | (curve > high)).sum()), total + curve.size
        assert outside <= binom(total, 0.04).ppf(0.9999)
        assert outside > 0

    def test_overconfident_predictions_are_outside(self, binary):
        p, y = binary
        ax = plots.reliability_curve(p, y, n_resamples=99, rng=1, ax=new_axes())
        labels = [text.get_text() for text in ax.get_legend().get_texts()]
        assert labels == ["95 % range if calibrated", "observed frequency, isotonic", "outside"]
        parts = ct.score_decomposition(p, y)
        assert ax.get_legend().get_title().get_text() == (
            f"Brier score {parts.score:.3f} = {parts.miscalibration:.3f} miscalibration\n"
            f"- {parts.discrimination:.3f} discrimination + {parts.uncertainty:.3f} uncertainty"
        )

    def test_bad_arguments(self, binary):
        with pytest.raises(ValueError, match="n_resamples: got 9, wanted at least 39"):
            plots.reliability_curve(*binary, n_resamples=9)
        with pytest.raises(TypeError, match="Normal"):
            plots.reliability_curve(ct.Normal([0.0], 1.0), [0.0])


@pytest.mark.parametrize("draw", [reliability_diagram, plots.reliability_curve])
def test_the_class_that_a_result_names_is_drawn(draw):
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(3), 600)
    often = np.where(rng.random(600) < 0.4, 2, ct.Categorical(p).sample(rng))
    result = ct.calibration_test(p, often, n_resamples=19, rng=1)
    assert result.finding.place == "class 2"
    assert (
        draw(p, often, rng=1, result=result, ax=new_axes()).get_xlabel()
        == "predicted probability, class 2 against the rest"
    )
    assert draw(p, often, rng=1, ax=new_axes()).get_xlabel() == "confidence of the top label"
    own = ct.Categorical(p**0.3 / (p**0.3).sum(axis=1, keepdims=True)).sample(rng)
    other = ct.calibration_test(p, own, n_resamples=19, rng=1)
    assert other.finding.kind == "temperature"
    assert draw(p, own, rng=1, result=other, ax=new_axes()).get_xlabel() == "confidence of the top label"
