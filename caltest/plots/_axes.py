"""What pictures share: axes, colours, titles."""

from collections.abc import Callable, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from caltest._basics.jobs import streams
from caltest._basics.numerics import Array, FloatArray, seed_of
from caltest._basics.threads import threaded
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.report import pvalue_phrase
from caltest._validation import fraction, whole_number
from caltest.predictions import Bernoulli, Sample
from caltest.predictions.reductions import reduce_to_binary

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
else:
    Axes = Any

# Blue and vermillion of Okabe and Ito, which readers with any colour vision can tell apart.
INSIDE, OUTSIDE, DARK, PALE = "#0072B2", "#D55E00", "#444444", "#D4D4D4"
COLOURS = (INSIDE, OUTSIDE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
LETTERS = 52
"""In a line of a title."""
LINES, MARKERS = ("-", "--", ":", "-."), "oD^svPX*"


def axes_of(ax: "Axes | None", what: str, size: tuple[float, float]) -> "Axes":
    """The axes that are given, or those of a new figure; errors name what is drawn."""
    try:
        from matplotlib.axes import Axes as Kind
    except ImportError as error:
        raise ImportError(f"{what} needs matplotlib: pip install caltest[plots]") from error
    if ax is None:
        from matplotlib import pyplot as plt

        return plt.subplots(figsize=size, layout="constrained")[1]
    if not isinstance(ax, Kind):
        raise TypeError(f"ax: got {type(ax).__name__}, wanted matplotlib Axes, such as those of plt.subplots()")
    return ax


def panels_of(
    axes: "Sequence[Axes] | None", what: str, n: int, size: tuple[float, float], *, sharey: bool = False
) -> "list[Axes]":
    """So many axes side by side: those that are given, or those of a new figure; errors name what is drawn."""
    if axes is None:
        first = axes_of(None, what, size)
        figure = first.figure
        first.remove()
        return list(figure.subplots(1, n, sharey=sharey, squeeze=False)[0])
    several = list(np.ravel(np.asarray(axes, dtype=object)))
    if len(several) != n:
        raise ValueError(f"axes: got {len(several)}, wanted {n}, such as those of plt.subplots(1, {n})")
    return [axes_of(ax, what, size) for ax in several]


def title_of(result: CalibrationTestResult | None, n: int) -> str:
    """The p-value of a test of the n observations that are drawn, if there is one, and what it found."""
    if result is None:
        return ""
    if not isinstance(result, CalibrationTestResult):
        raise TypeError(f"result: got {result!r}, wanted the result of a calibration test")
    if result.n != n:
        raise ValueError(f"result: got a test of {result.n} observations, wanted one of the {n} that are drawn")
    p = pvalue_phrase(result.pvalue, result.pvalue_kind == "bound", result.pvalue_otherwise)
    found = [] if result.finding is None else wrap(result.finding.words, LETTERS, max_lines=3, placeholder=" ...")
    return "\n".join([f"{p.replace('<=', '≤')} ({result.test})", result.predictions, *found])


def rank_of_ends(n_resamples: int, confidence_level: float) -> int:
    """How many redrawn frequencies, from either side, the ends of the bars are."""
    # The margin makes up for rounding: 1 - 0.9 is slightly less than 0.1.
    tail = (1.0 - fraction("confidence_level", confidence_level)) / 2.0 * (1.0 + 1e-12)
    whole_number("n_resamples", n_resamples, 1)
    rank = int(tail * (n_resamples + 1))
    if rank < 1:
        raise ValueError(
            f"n_resamples: got {n_resamples}, wanted at least {int(np.ceil((1.0 - 1e-9) / tail)) - 1} for bars with "
            f"confidence level {confidence_level:g}"
        )
    return rank


HISTOGRAM_BINS = 30


def binary_of(sample: Sample) -> tuple[Bernoulli, Array]:
    """Binary predictions and outcomes: of top labels, if there are classes; ``TypeError`` for other families."""
    confidence, chosen = reduce_to_binary(sample.predictions)
    return confidence, (chosen == sample.targets).astype(np.intp)


def redrawn_ends(
    law: Bernoulli, function: Callable[[Array], FloatArray], n_resamples: int, rank: int, rng: Any
) -> tuple[FloatArray, FloatArray]:
    """The rank-th smallest and largest of the values (B, m) of a function of redrawn outcomes (B, n)."""
    parts = streams(np.random.default_rng(seed_of(rng)), n_resamples)
    values = threaded(lambda part: function(law.with_redraws(None, [part])), parts, len(parts), "redraws")
    redrawn = np.sort(np.concatenate(list(values)), axis=0)
    return redrawn[rank - 1], redrawn[-rank]


def finish(ax: "Axes", predictions: Bernoulli, title: str) -> None:
    """The diagonal, where the predictions are above the axes, limits, labels and title."""
    ax.plot([0, 1], [0, 1], color=DARK, linewidth=0.8, zorder=2)
    above = ax.inset_axes((0.0, 1.04, 1.0, 0.14))
    counts = above.hist(predictions.probability, bins=HISTOGRAM_BINS, range=(0.0, 1.0), color=PALE)[0]
    above.set(xlim=(0.0, 1.0), xticks=[], yticks=[np.max(counts)])
    above.tick_params(labelsize="small")
    above.spines[["top", "right"]].set_visible(False)
    x_label, y_label = f"predicted probability, {predictions.notion}", "observed frequency"
    if predictions.notion == "top label":
        x_label, y_label = "confidence of the top label", "accuracy"
    elif predictions.notion == "binary":
        outcome = f"class {1 if predictions.classes is None else predictions.classes[1]}"
        x_label, y_label = f"predicted probability of {outcome}", f"observed frequency of {outcome}"
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), box_aspect=1.0, xlabel=x_label, ylabel=y_label)
    if title:
        ax.set_title(title, fontsize="medium")
