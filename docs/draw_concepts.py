"""Draw the pictures of the concept pages: ``python docs/draw_concepts.py``, or with names of some of them."""

import io
import sys
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

import caltest as ct
from caltest.plots import evidence, null_histogram, reliability_diagram

FOLDER = Path(__file__).parent / "concepts"
BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "0.55"
DIGITS = ct.datasets.load_digits_predictions()


def calibration(figure):
    """Predictions whose most probable class is right as often as claimed, and whose other classes are exchanged."""
    claimed, occurs = [0.6, 0.3, 0.1], [0.6, 0.1, 0.3]
    ax, places = figure.subplots(), np.arange(3)
    ax.bar(places - 0.2, claimed, 0.4, color=BLUE, label="predicted")
    ax.bar(places + 0.2, occurs, 0.4, color=ORANGE, hatch="//", label="occurs")
    ax.set(xticks=places, xticklabels=["cat (most probable)", "dog", "fox"], ylabel="probability")
    ax.legend()


def noise_floor(figure):
    """The ECE of calibrated predictions."""
    ax, rng = figure.subplots(), np.random.default_rng(1)
    for n, color, style in ((100, GREY, ":"), (1_000, ORANGE, "--"), (10_000, BLUE, "-")):
        values = [ct.ECE()(p := rng.random(n), (rng.random(n) < p).astype(int)) for _ in range(2000)]
        heights, edges = np.histogram(values, 40, density=True)
        ax.stairs(heights, edges, color=color, linestyle=style, linewidth=1.8, label=f"n = {n:,}")
    ax.set(xlabel="ECE of a calibrated model", ylabel="density", xlim=(0, None))
    ax.legend()


def kernels(figure):
    """How often the test of one bandwidth finds an error that varies slowly, and one that varies fast."""
    ax, widths = figure.subplots(), np.geomspace(0.01, 3.0, 7)
    for waves, color, style, words in ((1, BLUE, "-", "slow error"), (8, ORANGE, "--", "fast error")):
        shares = [np.mean([wave_pvalue(i, waves, width) <= 0.05 for i in range(100)]) for width in widths]
        ax.plot(widths, shares, style, color=color, marker="o", label=words)
    ax.set(xscale="log", xlabel="bandwidth", ylabel="share of data sets that are rejected", ylim=(0, 1.02))
    ax.legend()


def wave_pvalue(seed, waves, width):
    """Outcomes of 300 binary predictions whose probabilities differ by a wave from those that are predicted."""
    rng = np.random.default_rng(seed)
    p = rng.random(300)
    y = (rng.random(300) < np.clip(p + 0.13 * np.sin(2.0 * np.pi * waves * p), 0.0, 1.0)).astype(int)
    kernel = ct.ProductKernel(ct.ExponentialKernel(ct.TotalVariation(), width), ct.DeltaKernel())
    return ct.MonteCarloTest(ct.SKCE(kernel), 99)(p, y, rng=seed).pvalue


def redraws(figure):
    """A statistic among its values for redrawn labels."""
    result = ct.MonteCarloTest(ct.ECE())(*ct.top_label(*DIGITS["neural network"]), rng=1)
    null_histogram(result, ax=figure.subplots())


def power(figure):
    """Power over the number of observations for errors of several sizes."""
    ax, sizes = figure.subplots(), [50, 100, 200, 400, 800]
    predictions, test = DIGITS["neural network"][0], partial(ct.calibration_test, n_resamples=99)
    for temperature, color, style in ((1.25, GREY, ":"), (1.5, ORANGE, "--"), (2.0, BLUE, "-")):
        model = ct.generators.Resampled(predictions, ct.generators.Tempering(1.0 / temperature - 1.0))
        shares = [ct.power(test, model, n, n_simulations=100, rng=1).rate_at() for n in sizes]
        ax.plot(sizes, shares, style, color=color, marker="o", label=f"true temperature {temperature:g}")
    ax.set(xlabel="observations", ylabel="share of data sets that are rejected", ylim=(0, 1.02))
    ax.legend()


def effect_size(figure):
    """Intervals of an error beside the margin from which on it matters."""
    ax, rng = figure.subplots(), np.random.default_rng(4)
    rows = [(1_000, 0.0), (1_000, 0.05), (100_000, 0.0), (100_000, 0.01), (100_000, 0.05)]
    for place, (n, shift) in enumerate(rows):
        p = rng.uniform(0.1, 0.8, n)
        result = ct.calibration_test(p, (rng.random(n) < p + shift).astype(int), n_resamples=199, rng=1)
        gap = result.measures[0].gap
        low, high = 100.0 * gap.low, 100.0 * gap.high
        rejected = result.pvalue <= 0.05
        ax.plot([low, high], [place, place], color=ORANGE if rejected else BLUE, linewidth=4, solid_capstyle="butt")
        ax.text(max(high, 2.0) + 0.2, place, "rejected" if rejected else "not rejected", va="center")
    ax.axvline(2.0, color="0.3", linestyle="--")
    ax.text(2.0, 4.7, " matters from here on", va="center", color="0.3")
    names = [f"n = {n:,}, true error {100 * shift:g}" for n, shift in rows]
    ax.set(yticks=range(len(rows)), yticklabels=names, ylim=(-0.5, 5.0), xlim=(0, 13))
    ax.set_xlabel("distance of claimed and true probability, points")


def small_pvalues(figure):
    """P-values by 999 redraws and by the likelihood ratio, over the number of observations."""
    ax, rng = figure.subplots(), np.random.default_rng(2)
    p, sizes = rng.random(5_000), [50, 100, 200, 500, 1_000, 2_000, 5_000]
    y = (rng.random(p.size) < p**2 / (p**2 + (1.0 - p) ** 2)).astype(int)
    for test, color, style, words in (
        (ct.calibration_test, BLUE, "-", "default test, 999 redraws"),
        (ct.LikelihoodRatioTest(), ORANGE, "--", "likelihood ratio test"),
    ):
        ax.plot(sizes, [test(p[:n], y[:n], rng=1).pvalue for n in sizes], style, color=color, marker="o", label=words)
    ax.set(xscale="log", yscale="log", xlabel="observations", ylabel="p-value")
    ax.axhline(1e-3, color=GREY, linestyle=":")
    ax.legend()


def many_groups(figure):
    """How often calibrated predictions of 600 observations are rejected in some group."""
    ax, numbers = figure.subplots(), [1, 5, 10, 20]
    alone, together = zip(*(false_alarms(m) for m in numbers), strict=True)
    ax.plot(numbers, alone, "--", color=ORANGE, marker="o", label="each group at 5 %")
    ax.plot(numbers, together, "-", color=BLUE, marker="s", label="calibration_by_group")
    ax.axhline(0.05, color=GREY, linestyle=":")
    ax.set(xlabel="groups", xticks=numbers, ylabel="share of calibrated data sets with an alarm", ylim=(0, None))
    ax.legend()


def false_alarms(m):
    """Shares of 300 data sets in which some group is rejected by itself, and after the adjustment."""
    alone = together = 0
    for i in range(300):
        rng = np.random.default_rng([m, i])
        p, group = rng.random(600), np.arange(600) % m
        y = (rng.random(600) < p).astype(int)
        groups = [group == one for one in range(m)]
        alone += any(ct.calibration_test(p[one], y[one], n_resamples=99, rng=i).pvalue <= 0.05 for one in groups)
        together += ct.calibration_by_group(p, y, group, n_resamples=99, rng=i).pvalue <= 0.05
    return alone / 300, together / 300


def sequences(figure):
    """Evidence against a model that becomes overconfident after 300 observations."""
    rng = np.random.default_rng(5)
    p = rng.random(600)
    true = np.where(np.arange(600) < 300, p, 0.5 + 0.4 * (p - 0.5))
    stream = ct.SequentialCalibrationTest().update(p, (rng.random(600) < true).astype(int))
    evidence(stream, ax=figure.subplots())


def recalibration(figure):
    """The random forest of the demo on rows that the map has not seen, before and after."""
    p, y = DIGITS["random forest"]
    repaired = ct.recalibration.TemperatureScaling().fit(p.take(slice(450)), y[:450])
    rest, labels = p.take(slice(450, None)), y[450:]
    for ax, (name, some) in zip(figure.subplots(1, 2), (("before", rest), ("after", repaired(rest))), strict=True):
        reliability_diagram(some, labels, rng=1, ax=ax)
        ax.set_title(name)


def limits(figure):
    """Two calibrated models, of which one knows nothing about the cases."""
    rng = np.random.default_rng(1)
    p = rng.beta(0.4, 0.9, 3_000)
    y = (rng.random(p.size) < p).astype(int)
    for ax, name, some in zip(
        figure.subplots(1, 2),
        ("knows the cases", "predicts the base rate"),
        (p, np.full(p.size, p.mean())),
        strict=True,
    ):
        reliability_diagram(some, y, rng=1, ax=ax)
        score = np.mean((some - y) ** 2)
        ax.set_title(f"{name}: Brier score {score:.2f}")


PICTURES = {
    one.__name__: one
    for one in (
        calibration,
        noise_floor,
        kernels,
        redraws,
        power,
        effect_size,
        small_pvalues,
        many_groups,
        sequences,
        recalibration,
        limits,
    )
}
WIDE = ("recalibration", "limits")
COLOURS = 128
"""Of pictures, which have few: a palette makes files a third as large."""


def save(figure, path, dpi):
    """Write a picture with a palette of its colours."""
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=dpi)
    palette = Image.open(buffer).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    palette.save(path, optimize=True)


if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        figure = plt.figure(figsize=(9, 4.6) if name in WIDE else (6.4, 4.0), layout="constrained")
        PICTURES[name](figure)
        save(figure, FOLDER / f"{name.replace('_', '-')}.png", dpi=90)
        plt.close(figure)
