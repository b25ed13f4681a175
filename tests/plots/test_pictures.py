"""Every picture in one column of a paper: nothing is cut or overprinted, and all is as it was when it was looked at.

``python tests/plots/test_pictures.py`` stores what is drawn now; look at it first, in the folder that it names.
"""

import json
import sys
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import caltest as ct
from caltest import plots
from caltest.fields import bayesian, clinical, weather

matplotlib = pytest.importorskip("matplotlib")
from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.ft2font import __freetype_version__  # noqa: E402

STORED, THUMBNAILS = Path(__file__).with_name("pictures.json"), Path(__file__).with_name("pictures.npz")
VERSIONS = f"matplotlib {matplotlib.__version__}, freetype {__freetype_version__}"
WIDTH, DPI, SIDE = 3.3, 100, 32
FEW = {"n_resamples": 39, "rng": 1}
LONG = "gradient boosting, trained on all hospitals of the north"


@cache
def data():
    rng = np.random.default_rng(1)
    rare = rng.choice([0.002, 0.01, 0.05], 400)
    p, scale = rng.dirichlet(np.ones(3), 200), rng.uniform(0.5, 2.0, 200)
    return {
        "rare": (rare, (rng.random(400) < 1.5 * rare).astype(int)),
        "binary": (p[:, 0], (rng.random(200) < p[:, 0] ** 2).astype(int)),
        "classes": (
            ct.Categorical(p, classes=["$x_1$", "a long name of a class", "c"]),
            rng.choice(["$x_1$", "c"], 200),
        ),
        "numbers": (ct.Normal(np.zeros(200), scale), 1.3 * scale * rng.normal(size=200)),
        "members": (0.6 * rng.normal(size=(100, 5)), rng.normal(size=100)),
    }


def several(draw, kind, **settings):
    def drawn(ax):
        draw(*data()[kind], label=LONG, ax=ax, **settings)
        draw(*data()["binary" if kind == "rare" else kind], label="forest_$x$", ax=ax, **settings)

    return drawn


def one(draw, kind, **settings):
    return lambda ax: draw(*data()[kind], ax=ax, **settings)


def result_of(kind):
    return ct.calibration_test(*data()[kind], n_resamples=39, rng=1)


def forest(ax):
    groups = [f"{name} {LONG}" for name in "abcdef"]
    plots.forest(ct.calibration_by_group(*data()["binary"], np.array(groups)[np.arange(200) % 6], **FEW), ax=ax)


def clinic(draw, of):
    def drawn(ax):
        for name, kind in ((LONG, "binary"), ("forest", "rare")):
            draw(of(*data()[kind], n_resamples=19, rng=1), label=name, ax=ax)

    return drawn


def latent(ax):
    fitted = {name: method.fit(*data()["binary"]) for name, method in (("beta", ct.recalibration.BetaCalibration()),)}
    plots.latent_function(fitted, ax=ax)


def power(ax):
    tests = {name: ct.MonteCarloTest(ct.ECE(), 19) for name in ("ECE", LONG)}
    models = [ct.generators.class_model("M3", 10).with_strength(s) for s in (0.5, 1.0)]
    plots.power_curve(ct.power_curve(tests, models, [10, 15, 20], n_simulations=5, rng=1), ax=ax)


def plane(ax):
    p, y = data()["binary"]
    plots.score_plane({name: ct.score_decomposition(p**k, y) for name, k in ((LONG, 1), ("b", 1.1))}, ax=ax)


def posterior(ax):
    rng = np.random.default_rng(1)
    draws, truths = rng.normal(size=(40, 20, 2)), rng.normal(size=(40, 2))
    plots.rank_ecdf(bayesian.simulation_based_calibration(draws, truths, rng=1), ax=ax)


def recalibration(axes):
    p, y = data()["binary"]
    found = ct.recalibration.report(p, y, ct.recalibration.BetaCalibration(), **FEW)
    plots.recalibration_report(found, axes=tuple(axes), **FEW)


def risks(axes):
    plots.risk_curves(ct.estimate_calibration_error(*data()["binary"], rng=1), axes=axes)


# The height in inches, the number of panels below each other, and what is drawn.
PICTURES = {
    "calibration_belt": (3.7, 1, one(plots.calibration_belt, "binary", **FEW)),
    "classwise_reliability": (6.0, 0, lambda: plots.classwise_reliability(*data()["classes"], **FEW)),
    "clinical_curve": (3.6, 1, clinic(plots.clinical_curve, clinical.validate)),
    "coverage_curve": (3.3, 1, one(plots.coverage_curve, "numbers")),
    "decision_curve": (3.4, 1, clinic(plots.decision_curve, clinical.decision_curve)),
    "evidence": (
        2.4,
        1,
        lambda ax: plots.evidence(ct.SequentialCalibrationTest().update(*data()["binary"]), label=LONG, ax=ax),
    ),
    "forest": (3.0, 1, forest),
    "groupwise_reliability": (
        3.5,
        0,
        lambda: plots.groupwise_reliability(*data()["numbers"], np.arange(len(data()["numbers"][1])) % 3, **FEW),
    ),
    "latent_function": (2.7, 1, latent),
    "murphy_diagram": (2.7, 1, several(plots.murphy_diagram, "rare", **FEW)),
    "null_histogram": (
        2.5,
        1,
        lambda ax: plots.null_histogram(ct.MonteCarloTest(ct.ECE(), 99)(*data()["binary"], rng=1), ax=ax),
    ),
    "pit_histogram": (2.5, 1, several(plots.pit_histogram, "numbers")),
    "power_curve": (4.0, 1, power),
    "rank_ecdf": (2.7, 1, posterior),
    "recalibration_report": (7.0, 2, recalibration),
    "reliability_curve": (3.7, 1, several(plots.reliability_curve, "rare", **FEW)),
    "reliability_diagram": (
        3.7,
        1,
        lambda ax: plots.reliability_diagram(*data()["rare"], result=result_of("rare"), ax=ax, **FEW),
    ),
    "residual_spread": (3.3, 1, one(plots.residual_spread, "numbers", **FEW)),
    "risk_curves": (7.5, 3, risks),
    "score_plane": (3.0, 1, plane),
    "simplex_map": (3.0, 1, one(plots.simplex_map, "classes", **FEW)),
    "verification": (
        2.7,
        1,
        lambda ax: plots.verification(weather.rank_histogram(*data()["members"], **FEW), axes=[ax]),
    ),
    "windows": (2.7, 1, several(plots.windows, "rare", **FEW)),
}


@cache
def drawn(name, size=None):
    """The figure, laid out, and its pixels in grey."""
    height, panels, draw = PICTURES[name]
    if panels:
        figure = Figure(figsize=size or (WIDTH, height), layout="constrained")
        axes = list(figure.subplots(panels, 1, squeeze=False)[:, 0])
        draw(axes[0] if panels == 1 else axes)
    else:
        figure = draw()[0].figure
    figure.set_dpi(DPI)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return figure, np.asarray(canvas.buffer_rgba())[:, :, :3].mean(axis=2)


def thumbnail(pixels):
    """Means over a grid."""
    rows, columns = (np.linspace(0, size, SIDE + 1).astype(int)[:-1] for size in pixels.shape)
    sums = np.add.reduceat(np.add.reduceat(pixels, rows, axis=0), columns, axis=1)
    counts = np.diff(np.append(rows, pixels.shape[0]))[:, None] * np.diff(np.append(columns, pixels.shape[1]))
    return np.round(sums / counts).astype(np.uint8)


def axes_in(figure):
    return [one for ax in figure.axes for one in (ax, *ax.child_axes)]


def texts_of(figure):
    """Texts that are seen, with their boxes in pixels."""
    found = [text for text in (figure._supxlabel, figure._supylabel) if text is not None]
    for ax in axes_in(figure):
        parts = [ax.title, *ax.texts]
        for axis in (ax.xaxis, ax.yaxis) if ax.axison else ():
            low, high = sorted(axis.get_view_interval())
            edge = 1e-9 * (high - low)
            parts.append(axis.label)
            for tick in axis.get_major_ticks():
                if low - edge <= tick.get_loc() <= high + edge:
                    parts += [tick.label1, tick.label2]
        if ax.get_legend() is not None:
            parts += [*ax.get_legend().get_texts(), ax.get_legend().get_title()]
        found += parts
    for legend in figure.legends:
        found += legend.get_texts()
    return [(text.get_text(), text.get_window_extent()) for text in found if text.get_visible() and text.get_text()]


def data_of(ax):
    """Sums of the places of lines, areas, points, bars and texts, in which each counts differently."""
    kinds = [
        [line.get_xydata() for line in ax.lines],
        [path.vertices for one in ax.collections for path in one.get_paths()],
        [one.get_offsets() for one in ax.collections],
        [one.get_patch_transform().transform(one.get_path().vertices) for one in ax.patches],
        [text.get_position() for text in ax.texts],
    ]
    return [weighted(np.concatenate([np.ravel(one) for one in places])) if places else 0.0 for places in kinds]


def weighted(values):
    values = np.ma.filled(values, 0.0).astype(float)
    return float((1.0 + np.arange(values.size) * 0.6180339887498949 % 1.0) @ np.where(np.isfinite(values), values, 9.0))


def structure(figure):
    axes = axes_in(figure)
    return {
        "texts": sorted(text for text, _ in texts_of(figure)),
        "lines": [len(ax.lines) for ax in axes],
        "data": [data_of(ax) for ax in axes],
        "limits": [[float(end) for end in (*ax.get_xlim(), *ax.get_ylim())] for ax in axes],
    }


def test_every_picture_is_here():
    assert set(PICTURES) == set(plots.__all__) - {"save"}


def check_texts(figure):
    texts = texts_of(figure)
    width, height = figure.bbox.width, figure.bbox.height
    cut = [text for text, box in texts if min(box.x0, box.y0) < -1 or box.x1 > width + 1 or box.y1 > height + 1]
    assert not cut
    # Boxes of letters are larger than the letters.
    shrunk = [(text, box.padded(-1.5)) for text, box in texts]
    assert not [(a, b) for (a, first), (b, second) in combinations(shrunk, 2) if first.overlaps(second)]


@pytest.mark.every(5)
@pytest.mark.parametrize("size", [(2.6, 2.6), (7.0, 3.0)])
@pytest.mark.parametrize("name", [name for name, (_, panels, _) in PICTURES.items() if panels == 1])
def test_nothing_is_cut_in_small_and_in_wide_pictures(name, size):
    figure, _ = drawn(name, size)
    check_texts(figure)
    assert min(figure.axes[0].bbox.height, figure.axes[0].bbox.width) > 0.2 * DPI * min(size)


@pytest.mark.every(5)
@pytest.mark.parametrize("name", PICTURES)
def test_nothing_is_cut_or_overprinted_and_all_is_as_it_was(name):
    figure, pixels = drawn(name)
    check_texts(figure)
    stored, found = json.loads(STORED.read_text())[name], structure(figure)
    if json.loads(STORED.read_text())["versions"] == VERSIONS:
        difference = np.abs(thumbnail(pixels).astype(float) - np.load(THUMBNAILS)[name])
        assert difference.max() < 30.0
        assert difference.mean() < 1.0
        assert found["texts"] == stored["texts"]
    assert found["lines"] == stored["lines"]
    np.testing.assert_allclose(found["data"], stored["data"], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found["limits"], stored["limits"], rtol=1e-6, atol=1e-9)


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/pictures")
    folder.mkdir(parents=True, exist_ok=True)
    for name in PICTURES:
        drawn(name)[0].savefig(folder / f"{name}.png", dpi=DPI)
    found = {name: structure(drawn(name)[0]) for name in PICTURES}
    STORED.write_text(json.dumps({"versions": VERSIONS, **found}, indent=1, ensure_ascii=False) + "\n")
    np.savez_compressed(THUMBNAILS, **{name: thumbnail(drawn(name)[1]) for name in PICTURES})
    print(f"stored; look at {folder.resolve()}")
