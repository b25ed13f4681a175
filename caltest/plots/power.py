"""Power curves."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from caltest._basics.numerics import own_errstate
from caltest._validation import fraction
from caltest.plots._axes import COLOURS, DARK, LINES, MARKERS, Axes, axes_of
from caltest.studies.power_curve import PowerCurve


@own_errstate
def power_curve(result: PowerCurve, *, alpha: float | None = None, ax: "Axes | None" = None) -> "Axes":
    """Rates of rejection with their binomial intervals, over n, or over the strength of deviations if n is fixed.

    Every test has a colour and a marker. Over n every generator has a kind of line. The dotted line is the level.

    Parameters
    ----------
    result
        What ``ct.power_curve`` returns.
    alpha
        Level of the tests; default: the first of the result.
    ax
        Where to draw; default: a new figure.

    Notes
    -----
    The bands are the exact intervals of the result, each for its own point.

    Examples
    --------
    >>> import caltest as ct
    >>> from matplotlib.figure import Figure
    >>> test = ct.MonteCarloTest(ct.ECE(ct.binning.UniformBinning(5)), n_resamples=19)
    >>> curve = ct.power_curve(test, ct.generators.class_model("M3", 3), [5, 10], n_simulations=20, rng=1)
    >>> ax = ct.plots.power_curve(curve, ax=Figure().add_subplot())
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('observations n', 'power')
    """
    if not isinstance(result, PowerCurve):
        raise TypeError(f"result: got {result!r}, wanted what ct.power_curve returns")
    level = result.alphas[0] if alpha is None else fraction("alpha", alpha)
    over_n = len(result.sizes) > 1 or len(result.generators) == 1
    ax = axes_of(ax, "power_curve", (6.0, 4.0))
    for label, x, y, low, high, style in _power_lines(result, level, over_n):
        ax.plot(x, y, label=label, markersize=5, **style)
        ax.fill_between(x, low, high, color=style["color"], alpha=0.15, linewidth=0)
    ax.axhline(level, color=DARK, linewidth=0.8, linestyle=":")
    quantities = sorted({cell.quantity for cell in result.cells.values()})
    ax.set(ylim=(-0.02, 1.02), ylabel=" and ".join(quantities), xlabel="observations n" if over_n else "strength")
    if over_n:
        ax.set(xscale="log", xticks=result.sizes, xticklabels=result.sizes)
        ax.minorticks_off()
    if len(ax.get_legend_handles_labels()[1]) > 1:
        ax.legend(fontsize="small", frameon=False)
    return ax


def _power_lines(result: PowerCurve, alpha: float, over_n: bool) -> Iterator[tuple[Any, ...]]:
    """Label, x, rates, their intervals and the style of each line."""
    tables = result.rates(alpha), result.lows(alpha), result.highs(alpha)
    for t, test in enumerate(result.tests):
        style = {"color": COLOURS[t % len(COLOURS)], "marker": MARKERS[t % len(MARKERS)]}
        if not over_n:
            strengths = [g if one is None else one for g, one in enumerate(result.strengths)]
            order = np.argsort(strengths)
            yield test, np.array(strengths)[order], *(table[t, order, 0] for table in tables), style
            continue
        for g, generator in enumerate(result.generators):
            parts = ([test] if len(result.tests) > 1 else []) + ([generator] if len(result.generators) > 1 else [])
            line = {**style, "linestyle": LINES[g % len(LINES)]}
            yield ", ".join(parts), result.sizes, *(table[t, g] for table in tables), line
