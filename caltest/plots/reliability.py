"""Reliability diagrams, with bins and without."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from caltest._basics.numerics import Array, ArrayLike, BoolArray, FloatArray, IntArray, own_errstate
from caltest._basics.threads import progress_bars
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._validation import switch
from caltest.binning import Binning, UniformBinning
from caltest.decompositions.score_decomposition import score_decomposition
from caltest.estimators.binned_errors import checked_binning
from caltest.estimators.classical.corp import IsotonicGroups
from caltest.plots._axes import (
    DARK,
    INSIDE,
    OUTSIDE,
    PALE,
    Axes,
    axes_of,
    binary_of,
    finish,
    rank_of_ends,
    redrawn_ends,
    title_of,
)
from caltest.predictions import Bernoulli
from caltest.predictions.convert import as_sample

LARGEST, SMALLEST = 130.0, 14.0
BAR_WIDTH = 0.02


@own_errstate
def reliability_diagram(
    predictions: ArrayLike,
    targets: ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    binning: Binning | None = None,
    n_resamples: int = 999,
    confidence_level: float = 0.95,
    result: CalibrationTestResult | None = None,
    rng: Any = None,
    ax: "Axes | None" = None,
    progress: bool = False,
) -> "Axes":
    """Observed frequency against mean prediction, with bars that say how far chance alone moves the points.

    A bin b with n_b observations is a point at ``(sum p_i / n_b, sum y_i / n_b)``, whose area grows with n_b. Its
    consistency bar is the central part of the frequencies ``sum z_i / n_b`` for outcomes z_i drawn from the
    predictions p_i. Bins whose point lies outside their bar are vermillion diamonds, the others blue circles. The
    histogram above shows where the predictions are.

    Parameters
    ----------
    predictions
        Probabilities of class 1, (n,) or ``Bernoulli``; or of k classes, (n, k) or ``Categorical``, which are
        reduced to the confidence of the top label. ``ct.classwise`` makes the ``Bernoulli`` of one class.
    targets
        (n,) array-like of outcomes, not yet reduced if the predictions are not.
    binning
        Default: ``UniformBinning(15)``, as in ``ECE``.
    n_resamples
        Number B of redraws of the outcomes.
    confidence_level
        Probability that a point is inside its bar if the predictions are calibrated.
    result
        A test of these data, whose p-value and finding become the title.
    rng
        Seed or ``numpy.random.Generator`` of the redraws.
    ax
        Where to draw; default: a new figure.
    classes, progress
        As in ``calibration_test``.

    Returns
    -------
    matplotlib.axes.Axes
        The axes of the diagram; the histogram is its inset ``ax.child_axes[0]``.

    Raises
    ------
    ValueError
        For bad data or settings, or fewer redraws than the ends of the bars need.
    TypeError
        If the predictions are not of classes, or for a setting of another kind.

    Notes
    -----
    With r = floor((B + 1) (1 - confidence_level) / 2) the ends of a bar are the r-th smallest and the r-th largest
    redrawn frequency. If the predictions are calibrated, observed and redrawn frequencies are exchangeable, so a
    point falls outside its bar with probability at most 1 - confidence_level, for every n_b, however small. This
    holds for each bin on its own: of 20 bins of a calibrated model about one is outside a 95 % bar. The question
    whether all points together speak against calibration is that of a test.

    Assumes that the targets are independent given the predictions. Time O(n B), memory O(n + B).

    Source: consistency bars of Broecker and Smith 2007. Differs from the paper in that the predictions are kept
    and only the outcomes are redrawn, which makes the bars exact given the predictions.

    Examples
    --------
    >>> import caltest as ct
    >>> from matplotlib.figure import Figure
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> ax = ct.plots.reliability_diagram(p, y, rng=1, ax=Figure().add_subplot())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('confidence of the top label', 'accuracy')
    """
    probabilities, outcomes = binary_of(as_sample(predictions, targets, classes))
    binning = UniformBinning() if binning is None else binning
    checked_binning(binning)
    rank = rank_of_ends(n_resamples, confidence_level)
    title = "" if result is None else title_of(result, len(probabilities))
    with progress_bars(switch("progress", progress)):
        bins = _reliability(probabilities, outcomes, binning, n_resamples, rank, rng)
    ax = axes_of(ax, "reliability_diagram", (4.5, 5.0))
    _draw_bins(ax, bins, f"{100 * confidence_level:g} % range if calibrated")
    finish(ax, probabilities, title)
    return ax


class _Reliability(NamedTuple):
    """Arrays with one value per occupied bin."""

    sizes: IntArray
    predictions: FloatArray
    frequencies: FloatArray
    low: FloatArray
    high: FloatArray

    @property
    def outside(self) -> BoolArray:
        return (self.frequencies < self.low) | (self.frequencies > self.high)


def _reliability(
    predictions: Bernoulli, outcomes: Array, binning: Binning, n_resamples: int, rank: int, rng: Any
) -> _Reliability:
    p = predictions.probability
    bins = binning.assign(p[:, None])
    sizes = np.bincount(bins)

    def frequencies(outcomes: Array) -> FloatArray:
        return np.stack([np.bincount(bins, y) / sizes for y in outcomes])

    low, high = redrawn_ends(predictions, frequencies, n_resamples, rank, rng)
    return _Reliability(sizes, np.bincount(bins, p) / sizes, frequencies(outcomes[None])[0], low, high)


def _draw_bins(ax: "Axes", bins: _Reliability, bar_label: str) -> None:
    ax.bar(bins.predictions, bins.high - bins.low, BAR_WIDTH, bins.low, color=PALE, label=bar_label, zorder=1)
    areas = np.maximum(LARGEST * bins.sizes / bins.sizes.max(), SMALLEST)
    styles = ((~bins.outside, "bin", INSIDE, "o"), (bins.outside, "bin outside its bar", OUTSIDE, "D"))
    for chosen, label, colour, marker in styles:
        if chosen.any():
            x, y = bins.predictions[chosen], bins.frequencies[chosen]
            ax.scatter(x, y, areas[chosen], c=colour, marker=marker, alpha=0.8, label=label, clip_on=False, zorder=3)
    # The ends of the bars are in front: the largest points belong to the shortest bars and would hide them.
    for ends in (bins.low, bins.high):
        ax.scatter(bins.predictions, ends, 40, c=DARK, marker="_", linewidths=1, clip_on=False, zorder=4)
    ax.legend(fontsize="small", framealpha=0.85, edgecolor="none")


@own_errstate
def reliability_curve(
    predictions: ArrayLike,
    targets: ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    n_resamples: int = 999,
    confidence_level: float = 0.95,
    result: CalibrationTestResult | None = None,
    rng: Any = None,
    ax: "Axes | None" = None,
    progress: bool = False,
) -> "Axes":
    """Recalibrated frequency against prediction, by isotonic regression: no bins have to be chosen (CORP).

    The curve is the increasing function of the predictions that fits the outcomes best; parts of it outside of the
    band, where curves of calibrated predictions are, are vermillion. The Brier score of the
    predictions and its parts, miscalibration, discrimination and uncertainty, are written below it.

    Parameters
    ----------
    predictions, targets, classes, n_resamples, result, rng, ax, progress
        As in ``reliability_diagram``.
    confidence_level
        Of the band around the diagonal, at each prediction by itself.

    Returns
    -------
    matplotlib.axes.Axes
        The axes of the curve; the histogram of the predictions is its inset.

    Raises
    ------
    ValueError
        For bad data or settings, or fewer redraws than the ends of the band need.
    TypeError
        If the predictions are not of classes, or for a setting of another kind.

    Notes
    -----
    The ends of the band are order statistics of exchangeable values, as those of ``reliability_diagram``:
    at each prediction the curve of calibrated predictions is outside with probability at most 1 - confidence_level, for
    every n. Time O(n B).

    Source: Dimitriadis, Gneiting and Jordan 2021.

    Examples
    --------
    >>> import caltest as ct
    >>> from matplotlib.figure import Figure
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> ax = ct.plots.reliability_curve(p, y, rng=1, ax=Figure().add_subplot())
    >>> print(ax.texts[0].get_text())
    Brier score 0.098 = 0.078 - 0.008 + 0.028
    """
    probabilities, outcomes = binary_of(as_sample(predictions, targets, classes))
    rank = rank_of_ends(n_resamples, confidence_level)
    title = "" if result is None else title_of(result, len(probabilities))
    groups = IsotonicGroups.of(probabilities.probability)
    curve = groups.curves(outcomes[None])[0]
    with progress_bars(switch("progress", progress)):
        low, high = redrawn_ends(probabilities, groups.curves, n_resamples, rank, rng)
    ax = axes_of(ax, "reliability_curve", (4.5, 5.0))
    label = f"{100 * confidence_level:g} % range if calibrated"
    ax.fill_between(groups.values, low, high, color=PALE, linewidth=0, label=label, zorder=1)
    _draw_curve(ax, groups.values, curve, (curve < low) | (curve > high))
    parts = score_decomposition(probabilities, outcomes)
    numbers = f"{parts.miscalibration:.3f} - {parts.discrimination:.3f} + {parts.uncertainty:.3f}"
    ax.text(0.98, 0.03, f"Brier score {parts.score:.3f} = {numbers}", ha="right", fontsize="small")
    finish(ax, probabilities, title)
    return ax


def _draw_curve(ax: "Axes", x: FloatArray, y: FloatArray, outside: BoolArray) -> None:
    ax.plot(x, y, color=INSIDE, linewidth=1.5, label="observed frequency, isotonic", zorder=3)
    if outside.any():
        # Single predictions outside have no line of their own.
        ax.plot(x, np.where(outside, y, np.nan), color=OUTSIDE, linewidth=2.5, label="outside", zorder=4)
        ax.scatter(x[outside], y[outside], 8, c=OUTSIDE, linewidths=0, zorder=4)
    ax.legend(fontsize="small", framealpha=0.85, edgecolor="none")
