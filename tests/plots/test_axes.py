"""What pictures share: names, styles, legends, fonts."""

import dataclasses
import io
import pickle
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import caltest as ct
from caltest import plots

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from caltest._results.tables import Bar  # noqa: E402
from caltest.plots import _axes  # noqa: E402
from caltest.predictions.inputs.convert import as_sample  # noqa: E402

NAMES = ["$\\alpha$ and $", "<script>alert(1)</script>", "_hidden", "long " * 60, "a\nb"]
P = np.linspace(0.05, 0.95, 60)
Y = (np.arange(60) % 3 == 0).astype(int)
NORMAL = ct.generators.GaussianModel(calibrated=False).sample(60, rng=1)


@pytest.fixture(autouse=True)
def no_open_figures():
    yield
    plt.close("all")


def new_axes():
    return Figure(figsize=(3.3, 3.6), layout="constrained").add_subplot()


def names(ax):
    return [" ".join(text.get_text().split("\n")) for text in ax.get_legend().get_texts()]


DRAWN = {
    "reliability_diagram": lambda **how: plots.reliability_diagram(P, Y, rng=1, n_resamples=39, **how),
    "reliability_curve": lambda **how: plots.reliability_curve(P, Y, rng=1, n_resamples=39, **how),
    "calibration_belt": lambda **how: plots.calibration_belt(P, Y, rng=1, n_resamples=39, **how),
    "pit_histogram": lambda **how: plots.pit_histogram(*NORMAL, **how),
    "coverage_curve": lambda **how: plots.coverage_curve(*NORMAL, **how),
    "murphy_diagram": lambda **how: plots.murphy_diagram(P, Y, rng=1, n_resamples=39, **how),
    "residual_spread": lambda **how: plots.residual_spread(*NORMAL, rng=1, n_resamples=39, **how),
    "windows": lambda **how: plots.windows(P, Y, rng=1, n_resamples=39, **how),
    "evidence": lambda **how: plots.evidence(ct.SequentialCalibrationTest().update(P, Y), **how),
}


def test_axes_have_the_size_of_their_columns_and_rows():
    figure = Figure(figsize=(6.0, 4.0))
    assert _axes.inches_of(figure.add_subplot(figure.add_gridspec(2, 3)[:, 1:])) == pytest.approx((4.0, 4.0))
    assert _axes.inches_of(figure.add_subplot(2, 3, 1)) == pytest.approx((2.0, 2.0))
    assert _axes.inches_of(figure.add_axes((0.1, 0.1, 0.2, 0.2))) == pytest.approx((6.0, 4.0))


@pytest.mark.every(5)
@pytest.mark.parametrize("function", DRAWN)
def test_models_share_axes_and_one_legend_below_them(function):
    ax = new_axes()
    for name in NAMES:
        DRAWN[function](ax=ax, label=name)
    ax.figure.savefig(io.BytesIO())
    shown = " | ".join(names(ax))
    for name in ("\\$\\alpha\\$ and \\$", "<script>alert(1)</script>", " _hidden", "long long", "a b"):
        assert name in shown
    assert max(map(len, names(ax))) <= 90
    assert ax.get_legend().get_window_extent().y1 <= ax.get_window_extent().y0
    assert not ax.texts
    assert len(names(ax)) == len(set(names(ax)))
    styles = [_axes.style_of(ax, None).number, *(one for one in ax.get_children() if one.get_gid() == _axes.MODEL)]
    assert styles[0] == len(styles) - 1 == len(NAMES)


@pytest.mark.every(2)
@pytest.mark.parametrize("function", DRAWN)
def test_colour_is_that_of_the_caller(function):
    ax = DRAWN[function](ax=new_axes(), label="mine", color="#123456")
    colours = [line.get_color() for line in ax.lines]
    colours += [matplotlib.colors.to_hex(c) for one in ax.collections for c in one.get_facecolor()]
    colours += [matplotlib.colors.to_hex(patch.get_edgecolor()) for patch in ax.patches]
    assert "#123456" in colours


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.0008, 0.2, [0.001, 0.01, 0.1]),
        (0.008, 0.2, [0.01, 0.03, 0.1]),
        (0.04, 0.13, [0.05, 0.1]),
        (0.02, 0.99, [0.1, 0.5, 0.9, 0.99]),
    ],
)
def test_ticks_of_odds_are_three_or_more_where_round_ones_are(low, high, ticks):
    assert _axes.ticks_of_odds(low, high) == pytest.approx(ticks)


def test_titles_and_legends_are_within_small_pictures():
    p, y = ct.datasets.load_digits_predictions()["random forest"]
    result = ct.calibration_test(p, y, n_resamples=39, rng=1)
    ax = plots.reliability_diagram(p, y, result=result, rng=1, ax=new_axes())
    ax.figure.savefig(io.BytesIO(), dpi="figure")
    for one in (ax.title, ax.get_legend()):
        box, page = one.get_window_extent(), ax.figure.bbox
        assert page.x0 <= box.x0 <= box.x1 <= page.x1
        assert page.y0 <= box.y0 <= box.y1 <= page.y1
    histogram, label = ax.child_axes[0].get_tightbbox(), ax.xaxis.label.get_window_extent()
    assert label.y1 <= histogram.y0 + 1.0
    assert ax.get_legend().get_window_extent().y1 <= label.y0


@pytest.mark.parametrize("size", [(3.0, 3.4), (4.5, 5.0)])
def test_long_titles_leave_room_for_the_picture_and_touch_no_marker(size):
    p, y = np.linspace(0.6, 1.0, 60), np.ones(60, int)
    result = ct.calibration_test(p, y, n_resamples=39, rng=1)
    assert len(result.finding.words) > 100
    figure = Figure(figsize=size, layout="constrained")
    ax = plots.reliability_diagram(p, y, result=result, n_resamples=39, rng=1, ax=figure.add_subplot())
    figure.draw_without_rendering()
    title = ax.title.get_window_extent()
    assert title.y1 < figure.bbox.height + 1
    assert title.height < 0.27 * figure.bbox.height
    # Half of the diagonal of the largest marker.
    assert title.y0 - ax.bbox.y1 > (130.0 / 2.0) ** 0.5 * figure.dpi / 72.0


@pytest.mark.parametrize(
    ("size", "words", "lines", "letters", "font"),
    [
        ((3.0, 9.0), 12, 2, 29, "medium"),  # In 30 letters for 3 inches,
        ((3.0, 9.0), 13, 2, 34, "small"),  # in 36 small ones where these take three lines,
        ((9.0, 9.0), 20, 2, 49, "medium"),  # in at most 52,
        ((9.0, 9.0), 21, 3, 49, "small"),
        ((9.0, 3.0), 36, 2, 89, "medium"),  # and in 90 of 104 for a wide picture.
    ],
)
def test_lines_of_titles_are_as_long_as_the_picture_is_wide(size, words, lines, letters, font):
    ax = Figure(figsize=size).add_subplot()
    _axes.set_title(ax, " ".join(["word"] * words))
    found = ax.get_title().split("\n")
    assert (len(found), len(found[0])) == (lines, letters)
    ax.set_xlabel("", fontsize=font)
    assert ax.title.get_fontsize() == ax.xaxis.label.get_fontsize()


def test_inducing_inputs_beyond_the_picture_do_not_collapse_it(recwarn):
    p, y = ct.datasets.load_digits_predictions()["random forest"]
    found = ct.recalibration.GPCalibrator(n_inducing=3, max_iterations=9).fit(p.take(slice(0, 30)), y[:30])
    figure = Figure(figsize=(15.0, 3.6), layout="constrained")
    for ax in figure.subplots(1, 4):
        plots.latent_function(replace(found, inducing=np.full_like(found.inducing, 500.0)), ax=ax)
    figure.savefig(io.BytesIO())
    assert not [one for one in recwarn if "layout" in str(one.message)]


def test_legends_of_a_grid_hide_no_points():
    figure, grid = plt.subplots(2, 2, figsize=(6.5, 7.0), layout="constrained")
    for ax in grid.flat:
        DRAWN["reliability_diagram"](ax=ax)
    figure.canvas.draw()
    for ax in grid.flat:
        for other in grid.flat:
            assert not ax.get_legend().get_window_extent().overlaps(other.get_window_extent())


def test_an_early_excluded_outcome_leaves_no_empty_frame():
    for zeros in ([1], [0, 1]):
        seen = ct.SequentialCalibrationTest().update([0.0] * len(zeros) + [0.5] * 8, [*zeros, *[0, 1] * 4])
        ax = plots.evidence(seen, ax=new_axes())
        assert ax.get_xlim() == (0.0, len(zeros) + 9.0)
        assert ax.get_ylim()[0] < 0.0 < -np.log10(0.05) < ax.get_ylim()[1]
        assert names(ax)[-1] == f"outcome {len(zeros)} was excluded, E is infinite"


@pytest.mark.parametrize("last", [1.0, np.inf])
def test_the_frame_holds_the_smallest_evidence(last):
    result = ct.SequentialCalibrationTest().update([0.5] * 4, [0, 1, 0, 1]).result()
    history = np.log(10.0) * np.array([0.0, -2.0, 1.0, last])
    ax = plots.evidence(dataclasses.replace(result, history=history), ax=new_axes())
    assert ax.get_ylim()[0] == -2.0


def test_the_alarm_is_where_the_test_first_rejects():
    p, y = ct.datasets.load_digits_predictions()["random forest"]
    ax = plots.evidence(ct.SequentialCalibrationTest().update(p, y), ax=new_axes())
    alarm = next(line for line in ax.lines if line.get_label() == "alarm after 21")
    assert alarm.get_xdata() == [21]
    assert alarm.get_ydata()[0] >= -np.log10(0.05)


def test_fonts_of_saved_pictures_are_no_type_3():
    ax = DRAWN["pit_histogram"](ax=new_axes())
    for save, found in ((ax.figure.savefig, True), (lambda file, **how: plots.save(ax, file, **how), False)):
        file = io.BytesIO()
        save(file, format="pdf", metadata={"CreationDate": None})
        assert (b"/Type3" in file.getvalue()) is found


@pytest.mark.parametrize("form", ["pdf", "ps"])
def test_figures_made_here_have_no_type_3_whatever_saves_them(form):
    """And the settings of the user stay as they are. To write PostScript takes seconds."""
    plt.switch_backend("agg")
    before = dict(plt.rcParams)
    ax = DRAWN["pit_histogram"]()
    again = pickle.loads(pickle.dumps(ax.figure))
    for save in (plt.savefig, ax.figure.savefig, again.savefig) if form == "pdf" else (again.savefig,):
        file = io.BytesIO()
        save(file, format=form)
        assert (b"/FontType 42" if form == "ps" else b"/CIDFontType2") in file.getvalue()
        assert b"/Type3" not in file.getvalue()
    plt.close("all")
    assert dict(plt.rcParams) == before


@pytest.mark.parametrize(
    ("values", "limits"),
    [
        ([[0.2, 0.3], [0.25, 0.4]], (0.19, 0.41)),
        ([[0.01, 0.21]], (0.0, 0.22)),
        ([[0.6], [0.99]], (0.5805, 1.0)),
        ([[0.2, 0.2]], (0.19, 0.21)),
        ([[0.25, 0.75]], (0.225, 0.775)),
        ([[0.2, 0.71]], (0.0, 1.0)),
    ],
)
def test_limits_are_a_part_that_is_at_most_half(values, limits):
    assert _axes.limits_of([np.array(one) for one in values]) == pytest.approx(limits, rel=1e-12)


@pytest.mark.parametrize("size", [(2.6, 2.6), (7.0, 3.0)])
def test_numbers_below_narrow_axes_do_not_touch(size):
    rng = np.random.default_rng(8)
    scale = rng.uniform(0.3, 3.0, 300)
    errors = ct.Normal(np.zeros(300), scale), 0.6 * scale * rng.normal(size=300)
    p = rng.dirichlet(np.ones(3), 2000)
    top = ct.top_label(p, np.where(rng.random(2000) < 0.8, p.argmax(axis=1), 0))
    test = ct.MonteCarloTest(ct.ECE(), n_resamples=39)(*top, rng=1)

    def spreads(ax):
        for name in ("logistic regression, all hospitals", "forest"):
            ct.plots.residual_spread(*errors, label=name, ax=ax)

    drawings = (spreads, lambda ax: ct.plots.null_histogram(test, ax=ax))
    for draw in drawings:
        figure = Figure(figsize=size, layout="constrained")
        canvas = FigureCanvasAgg(figure)
        draw(figure.add_subplot())
        canvas.draw()
        boxes = [one.get_window_extent() for one in figure.axes[0].get_xticklabels() if one.get_text()]
        assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def rare_events():
    rng = np.random.default_rng(0)
    risk = rng.beta(0.5, 400.0, 5000)
    return risk, rng.random(5000) < np.minimum(2.2 * risk, 1.0)


@pytest.mark.parametrize("size", [(2.6, 2.6), (4.6, 4.6), (8.0, 4.5)])
@pytest.mark.parametrize("draw", [plots.reliability_diagram, plots.reliability_curve, plots.calibration_belt])
def test_pictures_of_rare_events_show_where_predictions_are_with_numbers_apart(draw, size):
    """One event among the highest predictions makes isotonic curves and bands go up to 1 there."""
    figure = Figure(figsize=size, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    ax = draw(*rare_events(), rng=1, ax=figure.add_subplot())
    canvas.draw()
    assert 0.0 == ax.get_xlim()[0] < ax.get_xlim()[1] < 0.1
    for axis in (ax, ax.child_axes[0]):
        boxes = [one.get_window_extent() for one in axis.get_xticklabels() if one.get_text() and one.get_visible()]
        assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_rare_events_have_several_bins():
    ax = plots.reliability_diagram(*rare_events(), rng=1)
    assert sum(len(one.get_offsets()) for one in ax.collections[:-2]) == 10
    few = plots.reliability_diagram(np.repeat([0.2, 0.8], 50), np.arange(100) % 2, rng=1)
    assert sum(len(one.get_offsets()) for one in few.collections[:-2]) == 2


def test_a_rare_event_has_a_brier_score_with_digits():
    note = plots.reliability_curve(*rare_events(), rng=1).get_legend().get_title().get_text()
    assert note.startswith("Brier score 0.001394 = 0.000005 miscalibration")


@pytest.mark.parametrize("size", [(4.6, 4.6), (8.0, 4.5)])
def test_why_intervals_and_p_values_disagree_is_not_cut_off(size):
    own = ct.results.ConfidenceInterval(-1.0, 2.0, 0.95, "exact")
    bar = Bar("a group with a long name, Sao Paulo", 0.5, own, 0.0, "as claimed", "points", True)
    figure = Figure(figsize=size, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    ax = plots.forest(SimpleNamespace(bars=lambda: [bar, bar]), ax=figure.add_subplot())
    canvas.draw()
    title = ax.get_legend().get_title()
    assert title.get_text().replace("\n", " ") == "p-values and intervals come from different tests and can disagree"
    assert 0.0 <= title.get_window_extent().x0 < title.get_window_extent().x1 <= figure.bbox.x1


def test_a_doubtful_finding_is_not_cut_down_to_perhaps():
    p, y = ct.datasets.load_digits_predictions()["neural network"]
    result = ct.calibration_test(p, y, rng=1)
    assert result.finding.is_doubtful
    ax = plots.reliability_diagram(p, y, result=result, rng=1, ax=Figure(figsize=(2.6, 2.4)).add_subplot())
    assert "perhaps" not in ax.get_title().split("\n")
    full = plots.reliability_diagram(p, y, result=result, rng=1)
    assert "perhaps predictions are overconfident" in full.get_title().replace("\n", " ")


def test_small_pictures_leave_out_what_does_not_fit_and_keep_room_for_what_is_drawn():
    rng = np.random.default_rng(0)
    p = rng.beta(1.0, 3.0, 800)
    y = (rng.random(800) < p**1.4).astype(int)
    result = ct.calibration_test(p, y, n_resamples=99, rng=1)
    for draw, inches in ((plots.reliability_diagram, 0.5), (plots.reliability_curve, 0.35)):
        figure = Figure(figsize=(2.6, 2.4), layout="constrained")
        ax = draw(p, y, result=result, rng=1, ax=figure.add_subplot())
        FigureCanvasAgg(figure).draw()
        assert ax.get_title() == "p = 0.01 (OmnibusTest)\nBernoulli, n = 800"
        assert ax.get_window_extent().width / figure.dpi > inches
        assert ax.title.get_window_extent().y1 <= figure.bbox.y1
        full = draw(p, y, result=result, rng=1, ax=Figure(figsize=(6.4, 4.8)).add_subplot())
        assert full.get_title().replace("\n", " ").endswith("on average come true 86 % of the time")


def test_infinite_evidence_fills_the_frame():
    p, y = np.r_[0.0, np.full(99, 0.5)], np.r_[1, np.arange(99) % 2]
    ax = ct.plots.evidence(ct.SequentialCalibrationTest().update(p, y).result(), ax=Figure().add_subplot())
    (span,) = [one for one in ax.patches if one.get_label().endswith("E is infinite")]
    assert span.get_width() == 100.0


def test_binary_predictions_are_those_of_what_a_result_names():
    """Of two classes always those of class 1; of several those of the one that is named, else of the top label."""
    rng = np.random.default_rng(1)
    two, three = rng.dirichlet(np.ones(2), 50), rng.dirichlet(np.ones(3), 50)
    result = ct.calibration_test(two, np.arange(50) % 2, n_resamples=9, rng=1)

    def of(p, kind, place):
        found = replace(result, findings=(ct.results.Finding("words", kind, place, None, None),))
        sample = as_sample(p, np.arange(50) % p.shape[1])
        return [one.tolist() for one in (lambda law, y: (law.to_array(), y))(*_axes.binary_of(sample, found))]

    y, y_of_three = np.arange(50) % 2, np.arange(50) % 3
    for place in ("", "claims from 0.1 to 0.2"):
        assert of(two, "window", place) == [two[:, 1].tolist(), y.tolist()]
    top = [three.max(axis=1).tolist(), (three.argmax(axis=1) == y_of_three).tolist()]
    for place in ("class 1, class 2", "class 2, class 1"):
        assert of(three, "frequency", place) == [three[:, 1].tolist(), (y_of_three == 1).tolist()]
    assert of(three, "random labels", "class 2") == of(three, "share", "") == top
