"""Pictures of numbers: probability integral transforms and coverage of central intervals."""

from math import log, sqrt
from typing import Any

import numpy as np

from caltest._basics.calls import own_errstate
from caltest._basics.numerics import Array, ArrayLike, FloatArray
from caltest._validation import fraction, whole_number
from caltest.plots._axes import DARK, MODEL, OUTSIDE, PALE, Axes, Style, ended, observed_and_band, started
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
