"""Pictures of numbers: their integral transforms, coverage, errors by predicted spread; and windows of time."""

from collections.abc import Sequence
from math import log, sqrt
from typing import Any

import numpy as np

from caltest._basics.arrays import last_time
from caltest._basics.calls import own_errstate
from caltest._basics.numerics import Array, ArrayLike, FloatArray, evenly_spaced, rows_by_size
from caltest._validation import fraction, whole_number
from caltest.plots._axes import DARK, MODEL, OUTSIDE, PALE, Axes, Style, binary_of, ended, observed_and_band, started
from caltest.predictions import Predictions, Sample, pit_values
from caltest.predictions.inputs.convert import as_sample

COVERAGE, DRAWS = ("coverage_curve", (4.5, 4.5)), 999
"""Name and size of the picture of levels, and redraws for its bars."""


@own_errstate
def pit_histogram(
    predictions: Predictions,
    targets: ArrayLike,
    *,
    n_bins: int = 10,
    confidence_level: float = 0.95,
    rng: Any = None,
    ax: "Axes | None" = None,
    label: str | None = None,
    color: str | None = None,
) -> "Axes":
    """Where outcomes are among the predicted quantiles: a histogram of ``u = F(y)``, flat for calibrated predictions.

    A U shape means too narrow predictions, a hump too wide ones, a slope a bias. Of an ensemble it is the rank
    histogram. Bars outside of the band are vermillion.

    Parameters
    ----------
    predictions
        Of numbers: continuous, counts, or ensembles; see ``pit_values``.
    targets
        (n,) array-like of outcomes.
    n_bins
        Number b of bins of equal width.
    confidence_level
        Probability, at least, that all that is drawn of calibrated predictions is in the band.
    rng
        Seed or ``numpy.random.Generator`` of the transforms of counts and ensembles.
    ax, label, color
        As in ``reliability_diagram``; all models but the first are drawn as outlines.

    Notes
    -----
    The count of a bin is binomial with n and 1/b if the predictions are calibrated. The band is from its quantiles at
    ``(1 - confidence_level) / (2 b)`` on either side, so that all bars are in it with at least that level, for every n
    (Bonferroni). Time O(n).

    Source: Dawid 1984; Gneiting, Balabdaoui and Raftery 2007.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.generators.GaussianModel(calibrated=False).sample(100, rng=1)
    >>> ct.plots.pit_histogram(p, y).get_ylabel()
    'share of outcomes'
    """
    from scipy.stats import binom

    bins, level = whole_number("n_bins", n_bins, 2), fraction("confidence_level", confidence_level)
    u = _transforms(as_sample(predictions, targets), rng)
    n, tail = u.size, (1.0 - level) / (2.0 * bins)
    counts = np.bincount(np.minimum((u * bins).astype(np.intp), bins - 1), minlength=bins)
    low, high = binom(n, 1.0 / bins).ppf([tail, 1.0 - tail])
    ax, style = started(ax, "pit_histogram", (4.5, 3.4), color, label)
    outside, edges, heights = (counts < low) | (counts > high), np.arange(bins + 1) / bins, counts / n
    if style.first:
        name = f"{100 * level:g} % range of all bars if calibrated"
        ax.axhspan(low / n, high / n, color=PALE, label=name, zorder=1)
        ax.axhline(1.0 / bins, color=DARK, linewidth=0.8, zorder=3)
    if style.alone:
        colours, hatches = np.where(outside, OUTSIDE, style.color), np.where(outside, "//", "")
        look: dict[str, Any] = {"color": colours.tolist(), "hatch": hatches.tolist(), "edgecolor": "white"}
        ax.bar(edges[:-1], heights, 1.0 / bins, align="edge", alpha=0.75, zorder=2, **look)
        ax.plot([], [], gid=MODEL)
    else:
        ax.stairs(heights, edges, baseline=None, linewidth=1.8, zorder=4, **style.line("outcomes"))
    top = 0.0 if style.first else ax.get_ylim()[1]
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, max(top, 1.08 * max(float(counts.max()), high) / n)))
    return ended(ax, "predicted quantile of the outcome", "share of outcomes")


@own_errstate
def coverage_curve(
    predictions: Predictions,
    targets: ArrayLike,
    *,
    confidence_level: float = 0.95,
    rng: Any = None,
    ax: "Axes | None" = None,
    label: str | None = None,
    color: str | None = None,
) -> "Axes":
    """How many outcomes are in the central intervals of all levels, beside how many should be.

    Below the diagonal predictions are too narrow, above it too wide. Of a ``QuantileForecast`` it is how many outcomes
    are up to each quantile, beside its level: below the diagonal the quantile is too low, above it too high.

    Parameters
    ----------
    predictions, targets, rng, ax, label, color
        As in ``pit_histogram``.
    confidence_level
        Probability, at least, that the whole curve of calibrated predictions is in the band.

    Notes
    -----
    The curve is the distribution function of ``|2 u - 1|``, uniform for calibrated predictions. The band
    ``+- sqrt(log(2 / (1 - confidence_level)) / (2 n))`` holds for every n (Massart 1990). Time O(n log n). The bars of
    quantiles are those of 999 redraws, and hold all quantiles together; time O(999 n K).

    Examples
    --------
    >>> import caltest as ct
    >>> from matplotlib.figure import Figure
    >>> p, y = ct.generators.GaussianModel(calibrated=False).sample(100, rng=1)
    >>> ct.plots.coverage_curve(p, y, ax=Figure().add_subplot()).get_xlabel()
    'level of the central interval'
    """
    level, sample = fraction("confidence_level", confidence_level), as_sample(predictions, targets)
    if sample.predictions.levels is not None:
        return _quantile_coverage(sample, sample.predictions.levels, level, rng, *started(ax, *COVERAGE, color, label))
    reached = np.sort(np.abs(2.0 * _transforms(sample, rng) - 1.0))
    n = reached.size
    reach = sqrt(log(2.0 / (1.0 - level)) / (2.0 * n))
    ax, style = started(ax, *COVERAGE, color, label)
    ends = np.array([0.0, 1.0])
    shade: dict[str, Any] = {"color": PALE} if style.first else {"color": style.color, "alpha": 0.15}
    name = f"{100 * level:g} % range of the curve if calibrated" if style.first else None
    ax.fill_between(ends, ends - reach, ends + reach, label=name, linewidth=0.0, **shade)
    if style.first:
        ax.plot(ends, ends, color=DARK, linewidth=0.8)
    x, y = [0.0, *reached, 1.0], [0.0, *(np.arange(1, n + 1) / n), 1.0]
    line = style.line("outcomes") | ({"label": None} if style.alone else {})
    ax.step(x, y, where="post", **line)
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), box_aspect=1.0)
    return ended(ax, "level of the central interval", "share of outcomes inside")


def _quantile_coverage(sample: Sample, levels: FloatArray, level: float, rng: Any, ax: "Axes", style: Style) -> "Axes":
    """Shares of the outcomes up to each quantile, of which J are below the outcome."""

    def shares(below: Array) -> FloatArray:
        k = levels.size + 1
        counts = [np.bincount(one, minlength=k) for one in below]
        return np.asarray(np.cumsum(counts, axis=1)[:, :-1] / below.shape[1])

    observed, low, high = observed_and_band(sample, shares, DRAWS, level, rng)
    if style.first:
        ax.plot([0.0, 1.0], [0.0, 1.0], color=DARK, linewidth=0.8)
        name = f"{100 * level:g} % range of all if calibrated"
        ax.vlines(levels, low, high, color=PALE, linewidth=7.0, label=name)
    ax.plot(levels, observed, marker="o", **style.line("outcomes") | ({"label": None} if style.alone else {}))
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), box_aspect=1.0)
    return ended(ax, "level of the quantile", "share of outcomes up to it")


def _transforms(sample: Sample, rng: Any) -> FloatArray:
    return np.asarray(pit_values(sample.predictions.law, sample.as_given, rng=rng)[1])


@own_errstate
def residual_spread(
    predictions: Predictions,
    targets: ArrayLike,
    *,
    n_bins: int = 10,
    n_resamples: int = 999,
    confidence_level: float = 0.95,
    rng: Any = None,
    ax: "Axes | None" = None,
    label: str | None = None,
    color: str | None = None,
) -> "Axes":
    """How large errors are where they were predicted to be small, and where large.

    Rows are in bins of equal size by their predicted standard deviation; each point is the root mean square of
    ``y - mean`` in a bin beside the root mean predicted variance. Above the diagonal predictions are too narrow; a flat
    line says that the predicted spread knows nothing of the errors.

    Parameters
    ----------
    predictions, targets, rng, ax, label, color
        As in ``pit_histogram``: predictions of numbers with a mean and a variance.
    n_bins
        Number of bins; equal predictions are in one.
    n_resamples
        Number of redraws of the targets.
    confidence_level
        Probability, at least, that all points of calibrated predictions are in the band together.

    Raises
    ------
    TypeError
        For predictions of classes or vectors, and for those without a variance.

    Notes
    -----
    Time O(n B).

    Examples
    --------
    >>> import caltest as ct
    >>> from matplotlib.figure import Figure
    >>> p, y = ct.generators.GaussianModel(calibrated=False).sample(100, rng=1)
    >>> ct.plots.residual_spread(p, y, rng=1, ax=Figure().add_subplot()).get_ylabel()
    'root mean squared error'
    """
    number = whole_number("n_bins", n_bins, 1)
    sample = as_sample(predictions, targets)
    law = sample.predictions.law
    mean, variance = law.moments()
    if mean.ndim != 1 or law.finite is not None:
        raise TypeError(f"predictions: got {law.family} predictions, wanted predictions of numbers")
    groups = rows_by_size(variance, number)

    def errors(drawn: Array) -> FloatArray:
        squares = np.square(np.asarray(drawn, dtype=np.float64) - mean)
        return np.asarray(np.sqrt([squares[:, rows].mean(axis=1) for rows in groups]).T)

    predicted = np.sqrt([variance[rows].mean() for rows in groups])
    observed, low, high = observed_and_band(sample, errors, n_resamples, confidence_level, rng)
    ax, style = started(ax, "residual_spread", (4.5, 4.5), color, label)
    band = style.band(f"{100 * confidence_level:g} % range of all points if calibrated", 0.3)
    ax.vlines(predicted, np.maximum(low, 0.0), high, linewidth=5.0, **band)
    if style.first:
        ax.axline((0.0, 0.0), slope=1.0, color=DARK, linewidth=0.8, zorder=2)
    ax.plot(predicted, observed, marker=style.marker, markersize=5, linewidth=1.0, zorder=3, **style.line("errors"))
    most = 1.08 * float(max(predicted.max(), observed.max(), high.max()))
    most = max(most, 0.0 if style.first else ax.get_xlim()[1])
    ax.set(xlim=(0.0, most), ylim=(0.0, most), box_aspect=1.0)
    return ended(ax, "predicted standard deviation", "root mean squared error")


@own_errstate
def windows(
    predictions: ArrayLike,
    targets: ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    n_windows: int = 20,
    n_resamples: int = 999,
    confidence_level: float = 0.95,
    rng: Any = None,
    ax: "Axes | None" = None,
    label: str | None = None,
    color: str | None = None,
) -> "Axes":
    """What was predicted on average and what happened, in windows of rows in the order of time.

    Events of binary predictions, right top labels of several classes, and means of numbers. The band holds the points
    of all windows together with the level at least if predictions are calibrated, for every n; points outside are
    vermillion diamonds. When a change began is the question of ``SequentialCalibrationTest``.

    Parameters
    ----------
    predictions, targets, classes
        In the order of time: of two or more classes, or of numbers with a mean.
    n_windows
        Windows of about equal size, at most as many as rows.
    confidence_level
        Of the band.
    n_resamples, rng, ax, label, color
        As in ``reliability_diagram``.

    Raises
    ------
    TypeError
        For vectors, and predictions without a mean.
    ValueError
        For bad data, and an index of times of pandas that goes backwards.

    Notes
    -----
    Time O(n B).

    Examples
    --------
    >>> import caltest as ct
    >>> from matplotlib.figure import Figure
    >>> p, y = ct.generators.GaussianModel(calibrated=False).sample(100, rng=1)
    >>> ct.plots.windows(p, y, rng=1, ax=Figure().add_subplot()).get_ylabel()
    'mean outcome'
    """
    sample = as_sample(predictions, targets, classes)
    last_time(sample.order.index)
    law, finite = sample.predictions.law, sample.predictions.finite
    if finite is not None:
        events, happened = binary_of(sample)
        sample, mean = Sample(events, happened), events.probability
    else:
        mean = law.moments()[0]
    if mean.ndim != 1:
        raise TypeError(f"predictions: got {law.family} predictions, wanted classes or numbers; take their coordinates")
    starts = evenly_spaced(mean.size, whole_number("n_windows", n_windows, 1))
    sizes = np.diff(np.append(starts, mean.size))

    def means(drawn: Array) -> FloatArray:
        return np.asarray(np.add.reduceat(np.asarray(drawn, dtype=np.float64), starts, axis=1) / sizes)

    observed, low, high = observed_and_band(sample, means, n_resamples, confidence_level, rng)
    if finite is not None:  # The band is one of shares.
        low, high = np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
    ax, style = started(ax, "windows", (6.0, 3.6), color, label)
    middles, outside = starts + sizes / 2.0, (observed < low) | (observed > high)
    ax.fill_between(middles, low, high, **style.band(f"{100 * confidence_level:g} % range of all if calibrated", 0.3))
    predicted: dict[str, Any] = {"label": "predicted"} if style.first else {}
    ax.plot(middles, means(mean[None])[0], color=style.color, linewidth=0.8, linestyle="--", zorder=2, **predicted)
    ax.plot(middles, observed, marker=style.marker, markersize=5, linewidth=1.0, zorder=3, **style.line("observed"))
    ax.plot(middles[outside], observed[outside], "D", color=OUTSIDE, markersize=6, linestyle="none", zorder=4)
    several = finite is not None and finite.n_classes > 2
    return ended(ax, "observation", "mean outcome" if finite is None else "accuracy" if several else "share of events")
