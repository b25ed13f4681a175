"""What pictures share: axes, colours, titles."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.pvalues import pvalue_phrase
from caltest._validation import fraction, whole_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Blue and vermillion of Okabe and Ito, which readers with any colour vision can tell apart.
INSIDE, OUTSIDE, DARK, PALE = "#0072B2", "#D55E00", "#444444", "#D4D4D4"
COLOURS = (INSIDE, OUTSIDE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
LINES, MARKERS = ("-", "--", ":", "-."), "oD^svPX*"


def axes_of(ax: "Axes | None", what: str, size: tuple[float, float]) -> "Axes":
    """The axes that are given, or those of a new figure; errors name what is drawn."""
    try:
        from matplotlib.axes import Axes
    except ImportError as error:
        raise ImportError(f"{what} needs matplotlib: pip install caltest[plots]") from error
    if ax is None:
        from matplotlib import pyplot as plt

        return plt.subplots(figsize=size, layout="constrained")[1]
    if not isinstance(ax, Axes):
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


def title_of(result: CalibrationTestResult, n: int) -> str:
    """The p-value of a test of the n observations that are drawn."""
    if not isinstance(result, CalibrationTestResult):
        raise TypeError(f"result: got {result!r}, wanted the result of a calibration test")
    if result.n != n:
        raise ValueError(f"result: got a test of {result.n} observations, wanted one of the {n} that are drawn")
    p = pvalue_phrase(result.pvalue, result.pvalue_kind == "bound", result.pvalue_otherwise)
    return f"{p.replace('<=', '≤')} ({result.test})\n{result.predictions}"


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
