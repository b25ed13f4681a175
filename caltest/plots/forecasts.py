"""Pictures of tests of forecasts: rank histograms and frequencies of events, with bands."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from caltest._basics.numerics import own_errstate
from caltest.fields.weather.result import LeadResult, VerificationResult
from caltest.plots._axes import DARK, INSIDE, OUTSIDE, PALE, Axes, legend, panels_of, set_title


@own_errstate
def verification(result: VerificationResult, *, axes: "Sequence[Axes] | None" = None) -> "list[Axes]":
    """What was observed at each lead time beside what is expected, with the band that holds all of it if calibrated.

    A U shape of a rank histogram means members too close to each other, a hump members too far from each other, a slope
    a bias. What is outside of the band is vermillion. Where dates depend on each other there is no band.

    Parameters
    ----------
    result
        Of ``caltest.fields.weather.rank_histogram`` or ``exceedances``.
    axes
        Where to draw each lead time; default: side by side in a new figure.

    Raises
    ------
    ValueError
        For another number of axes.
    TypeError
        For another result.

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> from matplotlib.figure import Figure
    >>> rng = np.random.default_rng(1)
    >>> result = ct.fields.weather.rank_histogram(rng.normal(size=(50, 9)), rng.normal(size=50), n_resamples=99, rng=1)
    >>> ct.plots.verification(result, axes=[Figure().add_subplot()])[0].get_xlabel()
    'rank of the outcome'
    """
    if not isinstance(result, VerificationResult):
        raise TypeError(f"result: got {type(result).__name__}, wanted that of a function of caltest.fields.weather")
    n = len(result.rows)
    panels = panels_of(axes, "verification", n, (0.6 + 3.2 * n, 3.2))
    for ax, row in zip(panels, result.rows, strict=True):
        _draw(ax, row, is_histogram=result.axis[0].startswith("rank"))
        ax.set(xlabel=result.axis[0], ylabel=result.axis[1])
        if row.name:
            set_title(ax, row.name)
    legend(panels[0])
    return panels


def _draw(ax: "Axes", row: LeadResult, is_histogram: bool) -> None:
    x, observed = np.array(row.places), np.array(row.observed)
    band = np.array([row.lowest, row.highest]) if row.lowest else np.tile(observed, (2, 1))
    colours = np.where((observed < band[0]) | (observed > band[1]), OUTSIDE, INSIDE).tolist()
    expected = np.array(row.expected)
    if is_histogram:
        ax.bar(x, observed, 0.8, color=colours, alpha=0.75, zorder=2)
        ax.locator_params(axis="x", integer=True)
        # Bands and lines are as wide as the bars.
        twice = np.append(np.arange(x.size), x.size - 1)
        x, band, expected = np.append(x - 0.5, x[-1] + 0.5), band[:, twice], expected[twice]
    else:
        ax.scatter(x, observed, c=colours, zorder=3)
    if row.lowest:
        look: dict[str, Any] = {"color": PALE, "linewidth": 0.0, "step": "post" if is_histogram else None, "zorder": 1}
        ax.fill_between(x, band[0], band[1], label="95 % range of all if calibrated", **look)
    ax.plot(x, expected, color=DARK, linewidth=0.8, label="expected")
    ax.set_ylim(bottom=0.0)
