"""Pictures of results: intervals side by side, and a statistic among its values under the null hypothesis."""

from typing import Any

import numpy as np

from caltest._basics.numerics import own_errstate
from caltest._results.tables import Bar
from caltest.plots._axes import DARK, INSIDE, LONGEST, OUTSIDE, PALE, Axes, ended, inches_of, plain, started


@own_errstate
def forest(result: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Estimates of a result with their intervals, one below the other, beside what calibrated predictions give.

    Observed frequencies beside claimed ones for the default test; standardised errors of groups; models, slices, parts
    of scores. What is rejected, or does not agree with its reference, is a vermillion diamond.

    Parameters
    ----------
    result
        A result with ``bars()``: of the default test, groups, slices, comparisons of models, decompositions; of more
        than 40 bars the first are drawn.
    ax
        Where to draw; default: a new figure, as high as it takes.

    Examples
    --------
    >>> import caltest as ct
    >>> from matplotlib.figure import Figure
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> ax = ct.plots.forest(ct.calibration_test(p, y, n_resamples=99, rng=1), ax=Figure().add_subplot())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['accuracy']
    """
    if not hasattr(result, "bars"):
        raise TypeError(f"result: got {type(result).__name__}, wanted a result with several estimates, such as groups")
    bars: list[Bar] = result.bars()[:40]
    if not bars:
        raise TypeError(f"result: got {result!r}, which has no estimates with intervals")
    ax, _ = started(ax, "forest", (6.0, 1.3 + 0.3 * len(bars)))
    places = np.arange(len(bars))
    for y, bar in zip(places, bars, strict=True):
        colour, marker = (OUTSIDE, "D") if bar.stands_out else (INSIDE, "o")
        if bar.reference is not None:
            ax.plot([bar.reference] * 2, [y - 0.32, y + 0.32], color=DARK, linewidth=2.0, label=plain(bar.of_reference))
        if bar.interval is not None:
            ax.plot(list(bar.interval), [y, y], color=colour, linewidth=1.6, zorder=2, label="interval")
        ax.plot([bar.estimate], [y], marker, color=colour, markersize=6, linestyle="none", zorder=3)
    # Names as large as there is room for them.
    width, height = inches_of(ax)
    room = 72.0 * (height - 1.3) / len(bars)
    names = [plain(bar.name, max(14, min(LONGEST, int(6.7 * width)))) for bar in bars]
    ax.set_yticks(places, names, fontsize=min(10.0, max(4.0, 0.75 * room)))
    ax.set_ylim(len(bars) - 0.4, -0.6)
    ax.grid(axis="y", color=PALE, linewidth=0.5)
    ax.set_axisbelow(True)
    return ended(ax, bars[0].unit, "", beside=0.3 + 0.07 * max(map(len, names)))


@own_errstate
def null_histogram(result: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Values of a statistic for redrawn outcomes, with the observed one if there is one.

    Parameters
    ----------
    result
        Of a test with a ``null_distribution``, or a ``NoiseFloor``.

    Raises
    ------
    TypeError
        For results without redraws.

    Examples
    --------
    >>> import caltest as ct
    >>> from matplotlib.figure import Figure
    >>> p, y = ct.datasets.load_digits_predictions()["neural network"]
    >>> result = ct.MonteCarloTest(ct.ECE(), n_resamples=99)(*ct.top_label(p, y), rng=1)
    >>> ct.plots.null_histogram(result, ax=Figure().add_subplot()).get_xlabel()
    'the estimate'
    """
    draws = getattr(result, "null_distribution", getattr(result, "draws", None))
    if draws is None:
        raise TypeError(f"result: got {result!r}, wanted one of a test that redraws, or a noise floor")
    ax, _ = started(ax, "null_histogram", (4.5, 3.4))
    ax.hist(draws, bins=min(30, max(5, draws.size // 10)), color=PALE, edgecolor="white", label="if calibrated")
    if hasattr(result, "statistic"):
        ax.axvline(result.statistic, color=OUTSIDE, linewidth=2.0, linestyle="--", label="observed")
    ended(ax, getattr(result, "statistic_name", "estimate"), "redraws")
    ax.locator_params(axis="x", nbins=6)
    return ax
