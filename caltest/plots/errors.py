"""Pictures of errors: by predicted spread, and over time."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from caltest._basics.arrays import last_time
from caltest._basics.calls import own_errstate
from caltest._basics.numerics import Array, ArrayLike, FloatArray, evenly_spaced, rows_by_size
from caltest._validation import whole_number
from caltest.plots._axes import DARK, OUTSIDE, Axes, binary_of, ended, observed_and_band, started
from caltest.predictions import Predictions, Sample
from caltest.predictions.inputs.convert import as_sample


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
