"""Reliability diagrams, with bins and without, of each class, before and after recalibration, and calibration belts."""

from collections.abc import Callable, Sequence
from math import floor, log10
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from caltest._basics.calls import own_errstate
from caltest._basics.numerics import Array, ArrayLike, BoolArray, FloatArray, IntArray, generator_of, seed_of
from caltest._basics.threads import progress_bars, redrawn
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.report import pvalue_phrase
from caltest._results.tables import decimals
from caltest._validation import fraction, switch
from caltest.binning import Binning, QuantileBinning, UniformBinning, a_binning
from caltest.decompositions.score_decomposition import score_decomposition
from caltest.estimators import CalibrationBelt
from caltest.estimators.classical.belt import belt
from caltest.estimators.classical.corp import IsotonicGroups
from caltest.named_tests import MonteCarloTest
from caltest.plots._axes import (
    DARK,
    MODEL,
    OUTSIDE,
    Axes,
    Style,
    are_grades,
    beside_most,
    binary_of,
    finish,
    has_log_odds,
    limits_of,
    limits_of_odds,
    rank_of_ends,
    started,
    title_of,
)
from caltest.predictions import Bernoulli, Sample
from caltest.predictions.inputs.convert import as_sample


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
    label: str | None = None,
    color: str | None = None,
    progress: bool = False,
) -> "Axes":
    """Observed frequency against mean prediction, with bars that say how far chance alone moves the points.

    A bin b with n_b observations is a point at ``(sum p_i / n_b, sum y_i / n_b)``, whose area grows with n_b. Its
    consistency bar is the central part of the frequencies ``sum z_i / n_b`` for outcomes z_i drawn from the
    predictions p_i. Bins whose point lies outside their bar are vermillion diamonds, the others blue circles. The
    histogram below shows where the predictions are. Where all is in less than half of the unit interval, as for rare
    events, only that part is drawn. Where there are at most 20 different predictions, half of them in one spot near an
    end, as of rating grades, axes are of log-odds; frequencies of 0 and 1 are at their ends.

    Parameters
    ----------
    predictions
        Probabilities of class 1, (n,) or ``Bernoulli``; or of k classes, (n, k) or ``Categorical``, which are
        reduced to the confidence of the top label, or to the class in which the ``result`` found a fault.
        ``ct.classwise`` makes the ``Bernoulli`` of one class.
    targets
        (n,) array-like of outcomes, not yet reduced if the predictions are not.
    binning
        Default: ``UniformBinning(15)``, as in ``ECE``; ``QuantileBinning(10)`` for rare events, whose predictions are
        in fewer than four of these bins; a bin for each different prediction where axes are of log-odds.
    n_resamples
        Number B of redraws of the outcomes.
    confidence_level
        Probability that a point is inside its bar if the predictions are calibrated.
    result
        A test of these data, whose p-value and finding become the title.
    rng
        Seed or ``numpy.random.Generator`` of the redraws.
    label, color
        Of the model, for several in the same axes: their points have its colour and marker, and those outside of their
        bar a black edge.
    ax
        Where to draw; default: a new figure.
    classes, progress
        As in ``calibration_test``.

    Returns
    -------
    matplotlib.axes.Axes
        The histogram is its inset ``ax.child_axes[0]``.

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
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> ax = ct.plots.reliability_diagram(p, y, rng=1)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('confidence of the top label', 'accuracy')
    """
    sample = as_sample(predictions, targets, classes)
    title = title_of(result, len(sample))
    probabilities, outcomes = binary_of(sample, result)
    if binning is None:
        bins_of_rows = _usual_bins(probabilities)
    else:
        bins_of_rows = a_binning("binning", binning).assign(probabilities.probability[:, None])
    rank = rank_of_ends(n_resamples, confidence_level)
    with progress_bars(switch("progress", progress)):
        bins = _reliability(probabilities, outcomes, bins_of_rows, n_resamples, rank, rng)
    ax, style = started(ax, "reliability_diagram", (4.5, 5.0), color, label)
    shown, words = (bins.frequencies, bins.low, bins.high), f"{100 * confidence_level:g} % range if calibrated"
    if has_log_odds(ax, probabilities, style):
        _draw_bins(ax, bins, words, style, limits_of_odds(probabilities, shown), of_odds=True)
        return finish(ax, probabilities, title, style, shown)
    limits = limits_of([bins.predictions, *shown])
    _draw_bins(ax, bins, words, style, limits)
    return finish(ax, probabilities, title, style, shown, within=limits)


FEWEST_BINS, MOST_IN_A_BIN = 4, 0.9
"""Uniform bins that a picture needs, and the share of rows in one of them up to which it shows something."""


def _usual_bins(predictions: Bernoulli) -> IntArray:
    """Bins (n,) of the ECE, grades, or tenths of predictions near each other, nearly all in a few bins of the ECE."""
    p = predictions.probability
    if are_grades(predictions):
        return np.unique(p, return_inverse=True)[1]
    bins = UniformBinning().assign(p[:, None])
    sizes = np.bincount(bins)
    are_few = np.count_nonzero(sizes) < FEWEST_BINS or sizes.max() > MOST_IN_A_BIN * p.size
    if are_few and limits_of([p]) != (0.0, 1.0):
        return QuantileBinning(10).assign(p[:, None])
    return bins


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
    predictions: Bernoulli, outcomes: Array, bins: IntArray, n_resamples: int, rank: int, rng: Any
) -> _Reliability:
    p = predictions.probability
    sizes = np.bincount(bins)

    def frequencies(outcomes: Array) -> FloatArray:
        return np.stack([np.bincount(bins, y) / sizes for y in outcomes])

    low, high = _redrawn_ends(predictions, frequencies, n_resamples, rank, rng)
    return _Reliability(sizes, np.bincount(bins, p) / sizes, frequencies(outcomes[None])[0], low, high)


def _redrawn_ends(
    law: Bernoulli, function: Callable[[Array], FloatArray], n_resamples: int, rank: int, rng: Any
) -> tuple[FloatArray, FloatArray]:
    """The rank-th smallest and largest of the values (B, m) of a function of redrawn outcomes (B, n)."""
    values = np.sort(redrawn(law, function, n_resamples, generator_of(seed_of(rng))), axis=0)
    return values[rank - 1], values[-rank]


def _draw_bins(
    ax: "Axes", bins: _Reliability, bar_label: str, style: Style, limits: tuple[float, float], of_odds: bool = False
) -> None:
    width: Any = 0.02 * (limits[1] - limits[0])
    if of_odds:
        bins = _Reliability(*bins[:1], *(one.clip(*limits) for one in bins[1:]))
        half = 0.01 * float(np.diff(logit(limits))[0])
        left, right = (expit(logit(bins.predictions) + side * half) for side in (-1.0, 1.0))
        ax.bar(left, bins.high - bins.low, right - left, bins.low, align="edge", **style.band(bar_label, 0.25))
    else:
        ax.bar(bins.predictions, bins.high - bins.low, width, bins.low, **style.band(bar_label, 0.25))
    areas = np.maximum(130.0 * bins.sizes / bins.sizes.max(), 14.0)
    colour, marker, name = style.color, style.marker, style.name("bin")
    outside = f"{name}, outside", colour, marker, DARK
    if style.alone:
        outside = "bin outside its bar", OUTSIDE, "D", "none"
    kinds = (~bins.outside, name, colour, marker, "none"), (bins.outside, *outside)
    for chosen, what, colour, marker, edge in kinds:
        if chosen.any():
            x, y = bins.predictions[chosen], bins.frequencies[chosen]
            kind: dict[str, Any] = {"facecolors": colour, "marker": marker, "alpha": 0.8, "clip_on": False, "zorder": 3}
            ax.scatter(x, y, areas[chosen], edgecolors=edge, linewidths=1.5, label=what, **kind)
    # The ends of the bars are in front: the largest points belong to the shortest bars and would hide them.
    for ends in (bins.low, bins.high):
        ax.scatter(bins.predictions, ends, 40, c=DARK, marker="_", linewidths=1, clip_on=False, zorder=4)
    ax.collections[-1].set_gid(MODEL)


MOST_GROUPS = 20_000
"""Of neighbouring predictions, between which no picture can tell."""


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
    label: str | None = None,
    color: str | None = None,
    progress: bool = False,
) -> "Axes":
    """Recalibrated frequency against prediction, by isotonic regression: no bins have to be chosen (CORP).

    The curve is the increasing function of the predictions that fits the outcomes best; parts of it outside of the
    band, where curves of calibrated predictions are, are vermillion. The Brier score of the
    predictions and its parts are written over the legend, if there is one model in the axes.

    Parameters
    ----------
    predictions, targets, classes, n_resamples, result, rng, ax, label, color, progress
        As in ``reliability_diagram``.
    confidence_level
        Of the band around the diagonal, at each prediction by itself.

    Notes
    -----
    The ends of the band are order statistics as those of the bars of ``reliability_diagram``: at each prediction the
    curve of calibrated predictions is outside with probability at most 1 - confidence_level, for every n. Of more than
    20,000 distinct predictions, neighbours share a value of the curve. Time O(n B).

    Source: Dimitriadis, Gneiting and Jordan 2021.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> ax = ct.plots.reliability_curve(p, y, rng=1)
    >>> print(ax.get_legend().get_title().get_text())
    Brier score 0.098 = 0.078 miscalibration
    - 0.008 discrimination + 0.028 uncertainty
    """
    sample = as_sample(predictions, targets, classes)
    title = title_of(result, len(sample))
    probabilities, outcomes = binary_of(sample, result)
    rank = rank_of_ends(n_resamples, confidence_level)
    groups = IsotonicGroups.of(probabilities.probability, MOST_GROUPS)
    curve = groups.curves(outcomes[None])[0]
    # Both sides of the steps, and 1000 points between them: more are not seen, and take memory and large files.
    steps, even = np.flatnonzero(np.diff(curve)), np.linspace(0, curve.size - 1, min(1000, curve.size)).astype(np.intp)
    some = np.unique(np.concatenate([even, steps, steps + 1]))
    x, curve = groups.values[some], curve[some]
    with progress_bars(switch("progress", progress)):
        low, high = _redrawn_ends(probabilities, lambda drawn: groups.curves(drawn)[:, some], n_resamples, rank, rng)
    ax, style = started(ax, "reliability_curve", (4.5, 5.0), color, label)
    ax.fill_between(x, low, high, linewidth=0, **style.band(f"{100 * confidence_level:g} % range if calibrated", 0.2))
    line = style.line("observed frequency, isotonic")
    ax.plot(x, curve, linewidth=1.5, zorder=3, **line)
    outside = (curve < low) | (curve > high)
    if outside.any():
        mark, name = (OUTSIDE, "outside") if style.alone else (style.color, f"{line['label']}, outside")
        ax.plot(x, np.where(outside, curve, np.nan), color=mark, linewidth=3.0, label=name, zorder=4)
        # Single predictions outside have no line of their own.
        beside = np.concatenate([[False], outside, [False]])
        single = outside & ~beside[:-2] & ~beside[2:]
        ax.scatter(x[single], curve[single], 8, c=mark, linewidths=0, zorder=4)
    note = ""
    if style.alone:
        parts = score_decomposition(probabilities, Sample(probabilities, outcomes).as_given)
        digits = decimals([parts.score], least=3)
        if 0.0 < (least := min(parts.miscalibration, parts.discrimination)) < 0.0005:
            digits = max(digits, min(6, 1 - floor(log10(least))))
        more = f"{parts.miscalibration:.{digits}f} miscalibration\n- {parts.discrimination:.{digits}f} discrimination"
        note = f"Brier score {parts.score:.{digits}f} = {more} + {parts.uncertainty:.{digits}f} uncertainty"
    return finish(ax, probabilities, title, style, beside_most(x, probabilities, curve, low, high), note)


@own_errstate
def calibration_belt(
    predictions: ArrayLike,
    targets: ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    confidence_levels: Sequence[float] = (0.8, 0.95),
    max_degree: int = 4,
    n_resamples: int = 999,
    rng: Any = None,
    ax: "Axes | None" = None,
    label: str | None = None,
    color: str | None = None,
    progress: bool = False,
) -> "Axes":
    """Outcomes as a smooth function of predictions, with confidence bands: where they leave the diagonal, p is off.

    The curve is the logistic regression of the outcomes on a polynomial of the log-odds, whose degree is selected
    forward (``ct.estimators.CalibrationBelt``); the title has its degree and the p-value of its exact Monte Carlo test.

    Parameters
    ----------
    predictions, targets, classes, rng, ax, label, color, progress
        As in ``reliability_diagram``.
    confidence_levels
        Of the bands, between 0 and 1.
    max_degree
        Highest degree of the polynomial, 1 to 4.
    n_resamples
        Number of redraws of the outcomes for the p-value and the widths of the bands.

    Raises
    ------
    ValueError, TypeError
        As ``reliability_diagram`` does; also if the predictions separate outcomes of both kinds, so that no curve is
        best, or if there is only one prediction beside 0 and 1.

    Notes
    -----
    Each band holds all polynomials b' of the selected degree with ``(b' - b)' I (b' - b) <= c``, where b is the best
    one, I its information matrix, and c the quantile of the redrawn likelihood ratios, so that a band at 95 % goes with
    the test at 5 %, with the selection of the degree accounted for. They hold for the whole curve at once. The p-value
    is exact, the bands are asymptotic.

    If all outcomes are the same, the curve is 0 or 1, and bands hold all lines of log-odds in log-odds (rounded to two
    digits) whose twofold log-likelihood is at least -c, so that the diagonal is in them unless the test rejects.

    Predictions of 0 and 1 are left out. Time O(n B); the redraws of 100,000 predictions take a few seconds, as their
    log-likelihoods are summed over about 1000 places (``ct.estimators.CalibrationBelt``).

    Sources: Nattino, Finazzi and Bertolini 2014 for the test and the belt, whose bands come from likelihood ratios
    instead of the information matrix.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> ax = ct.plots.calibration_belt(p, y, n_resamples=99, rng=1)
    >>> print(ax.get_title())
    p = 0.01 (degree 1)
    Bernoulli (top label), n = 899
    """
    probabilities, outcomes = binary_of(as_sample(predictions, targets, classes))
    levels = np.sort([fraction("confidence_levels", level) for level in confidence_levels])[::-1]
    estimator = CalibrationBelt(max_degree)
    result = MonteCarloTest(estimator, n_resamples).on(Sample(probabilities, outcomes), rng=rng, progress=progress)
    assert result.null_distribution is not None
    critical = np.quantile(result.null_distribution, levels, method="higher")
    curve = belt(estimator, probabilities.probability, outcomes, critical)
    ax, style = started(ax, "calibration_belt", (4.5, 5.0), color, label)
    for low, high, level, shade in zip(curve.low, curve.high, levels, np.linspace(0.2, 0.4, levels.size), strict=True):
        name = f"{100 * level:g} % confidence" if style.first else None
        ax.fill_between(curve.predictions, low, high, color=style.color, alpha=shade, linewidth=0, label=name, zorder=1)
    p = pvalue_phrase(result.pvalue)
    ax.plot(curve.predictions, curve.curve, linewidth=1.5, zorder=2, **style.line("observed frequency, fitted", p))
    title = f"{p} (degree {curve.degree})\n{result.predictions}" if label is None else ""
    shown = beside_most(curve.predictions, probabilities, curve.curve, *curve.low, *curve.high)
    return finish(ax, probabilities, title, style, shown)
