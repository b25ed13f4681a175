"""Reliability curves from isotonic regression, without bins."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from caltest._basics.numerics import own_errstate
from caltest._basics.threads import progress_bars
from caltest._basics.types import Array, ArrayLike, FloatArray
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._validation import one_of, switch
from caltest.decompositions.score_decomposition import score_decomposition
from caltest.estimators.classical.corp import IsotonicGroups
from caltest.plots._axes import (
    DARK,
    INSIDE,
    OUTSIDE,
    PALE,
    axes_of,
    binary_of,
    draw_histogram,
    label_axes,
    rank_of_ends,
    redrawn_ends,
    title_of,
)
from caltest.predictions import Bernoulli
from caltest.predictions.convert import as_sample

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Band = Literal["consistency", "confidence"]


@own_errstate
def reliability_curve(
    predictions: ArrayLike,
    targets: ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    band: Band = "consistency",
    n_resamples: int = 999,
    confidence_level: float = 0.95,
    result: CalibrationTestResult | None = None,
    rng: Any = None,
    ax: "Axes | None" = None,
    progress: bool = False,
) -> "Axes":
    """Recalibrated frequency against prediction, by isotonic regression: no bins have to be chosen (CORP).

    The curve is the increasing function of the predictions that fits the outcomes best. The Brier score of the
    predictions and its parts, miscalibration, discrimination and uncertainty, are written below it.

    Parameters
    ----------
    predictions, targets, classes, n_resamples, result, rng, ax, progress
        As in ``reliability_diagram``.
    band
        ``"consistency"``: around the diagonal, where curves of calibrated predictions are; parts of the curve outside
        are vermillion. ``"confidence"``: around the curve, where curves of outcomes drawn from it are.
    confidence_level
        Of the band at each prediction by itself.

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
    The ends of the consistency band are order statistics of exchangeable values, as those of ``reliability_diagram``:
    at each prediction the curve of calibrated predictions is outside with probability at most 1 - confidence_level, for
    every n. The confidence band repeats the fit on outcomes drawn from it, without this guarantee. Time O(n B).

    Source: Dimitriadis, Gneiting and Jordan 2021, who also draw both bands.

    Examples
    --------
    >>> import caltest as ct
    >>> from caltest.plots import reliability_curve
    >>> from matplotlib.figure import Figure
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> ax = reliability_curve(p, y, rng=1, ax=Figure().add_subplot())
    >>> print(ax.texts[0].get_text())
    Brier score 0.098 = 0.078 - 0.008 + 0.028
    """
    one_of("band", band, get_args(Band))
    probabilities, outcomes = binary_of(as_sample(predictions, targets, classes))
    rank = rank_of_ends(n_resamples, confidence_level)
    title = "" if result is None else title_of(result, len(probabilities))
    groups = IsotonicGroups.of(probabilities.probability)
    curve = groups.curves(outcomes[None])[0]
    law = probabilities if band == "consistency" else Bernoulli(curve[groups.numbers])
    with progress_bars(switch("progress", progress)):
        low, high = redrawn_ends(law, groups.curves, n_resamples, rank, rng)
    ax = axes_of(ax, "reliability_curve", (4.5, 5.0))
    label = f"{100 * confidence_level:g} % " + ("range if calibrated" if band == "consistency" else "confidence")
    ax.plot([0, 1], [0, 1], color=DARK, linewidth=0.8, zorder=2)
    ax.fill_between(groups.values, low, high, color=PALE, linewidth=0, label=label, zorder=1)
    _draw_curve(ax, groups.values, curve, (curve < low) | (curve > high))
    _write_parts(ax, probabilities, outcomes)
    draw_histogram(ax, probabilities.probability)
    label_axes(ax, probabilities, title)
    return ax


def _draw_curve(ax: "Axes", x: FloatArray, y: FloatArray, outside: Array) -> None:
    ax.plot(x, y, color=INSIDE, linewidth=1.5, label="observed frequency, isotonic", zorder=3)
    if outside.any():
        # Single predictions outside have no line of their own.
        ax.plot(x, np.where(outside, y, np.nan), color=OUTSIDE, linewidth=2.5, label="outside", zorder=4)
        ax.scatter(x[outside], y[outside], 8, c=OUTSIDE, linewidths=0, zorder=4)
    ax.legend(fontsize="small", framealpha=0.85, edgecolor="none")


def _write_parts(ax: "Axes", predictions: Bernoulli, outcomes: Array) -> None:
    parts = score_decomposition(predictions, outcomes)
    numbers = f"{parts.miscalibration:.3f} - {parts.discrimination:.3f} + {parts.uncertainty:.3f}"
    ax.text(0.98, 0.03, f"Brier score {parts.score:.3f} = {numbers}", ha="right", fontsize="small")
