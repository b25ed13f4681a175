"""Pictures of the ranks of true parameters among posterior draws."""

from typing import Any

import numpy as np

from caltest._basics.numerics import own_errstate
from caltest.plots._axes import DARK, PALE, Axes, axes_of, legend, style_of

SHOWN = 8
"""Curves of a picture; of more parameters those with the smallest p-values."""


@own_errstate
def rank_ecdf(result: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Distribution functions of ranks less those of uniform ones, for each parameter, with the band of all of them.

    Draws that are too low have curves below 0, too high above; too narrow posteriors are above 0 on the left and
    below on the right, too wide ones the other way round. Rejected parameters are thick; 8 are shown at most.

    Parameters
    ----------
    result
        Of ``simulation_based_calibration``.
    ax
        Where to draw; default: a new figure.

    Raises
    ------
    TypeError
        For other results.

    Notes
    -----
    A parameter is outside of the band somewhere if its p-value, adjusted by the maximum over parameters, is at most one
    minus its level. Source: Sailynoja, Buerkner and Vehtari 2022.

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> from matplotlib.figure import Figure
    >>> rng = np.random.default_rng(1)
    >>> draws, truths = rng.normal(size=(50, 20)), rng.normal(size=50)
    >>> result = ct.fields.bayesian.simulation_based_calibration(draws, truths, rng=1)
    >>> ct.plots.rank_ecdf(result, ax=Figure().add_subplot()).get_xlabel()
    'rank of the truth as a share'
    """
    if not hasattr(result, "ranks_pvalue"):
        raise TypeError(f"result: got {type(result).__name__}, wanted one of simulation_based_calibration")
    ax = axes_of(ax, "rank_ecdf", (4.5, 3.6))
    x = np.asarray(result.points)
    name = f"{100 * result.confidence_level:g} % range of all curves if right"
    ax.fill_between(x, result.lowest - x, result.highest - x, color=PALE, linewidth=0.0, label=name, step="mid")
    ax.axhline(0.0, color=DARK, linewidth=0.8)
    for row in sorted(result.rows, key=lambda row: row.adjusted)[:SHOWN]:
        width = 2.2 if row.adjusted <= 1.0 - result.confidence_level else 1.0
        ax.plot(x, row.shares - x, linewidth=width, **style_of(ax, None, row.name).line(row.name))
    ax.set(xlim=(0.0, 1.0), xlabel="rank of the truth as a share", ylabel="share below, less expected")
    legend(ax)
    return ax
