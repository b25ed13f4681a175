"""Risks of error functions."""

from collections.abc import Sequence

import numpy as np

from caltest._basics.numerics import own_errstate
from caltest._validation import whole_number
from caltest.plots._axes import COLOURS, DARK, MARKERS, Axes, panels_of
from caltest.risk.error_estimate import CalibrationErrorEstimate, CandidateRisk, ErrorSelection


@own_errstate
def risk_curves(
    result: CalibrationErrorEstimate, *, problem: int = 0, axes: "Sequence[Axes] | None" = None
) -> "list[Axes]":
    """Risk of every error function over its setting, with standard errors.

    There is a panel for each kind of setting: bins, bandwidth, regularisation. Every function has a colour and a
    marker; its best setting is filled, and a black ring marks the selected one. The dotted line is that of h = 0.

    Parameters
    ----------
    result
        What ``ct.estimate_calibration_error`` returns.
    problem
        Which of its selections: the class, for class-wise errors.
    axes
        Where to draw, one for each panel; default: a new figure.

    Raises
    ------
    ValueError
        For a problem that the result does not have, or another number of axes than panels.

    Notes
    -----
    Bands reach one standard error to either side. The vertical axis is logarithmic where risks differ by more than a
    factor of 20. The standard errors are mostly those of the labels, which all candidates share: the table of the
    result has the differences of risks with their own.

    Examples
    --------
    >>> import caltest as ct
    >>> from matplotlib.figure import Figure
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> result = ct.estimate_calibration_error(p, y, "top_label", rng=1)
    >>> panels = ct.plots.risk_curves(result, axes=Figure().subplots(1, 3))
    >>> [ax.get_xlabel() for ax in panels]
    ['bins', 'bandwidth', 'regularisation']
    """
    if not isinstance(result, CalibrationErrorEstimate):
        raise TypeError(f"result: got {result!r}, wanted what ct.estimate_calibration_error returns")
    if not 0 <= whole_number("problem", problem, 0) < len(result.selections):
        raise ValueError(f"problem: got {problem}, wanted less than {len(result.selections)}, the number of problems")
    selection = result.selections[problem]
    level = selection.zero.risk
    parameters = list(dict.fromkeys(candidate.parameter for candidate in selection.candidates))
    n = len(parameters)
    panels = panels_of(axes, "risk_curves", n, (0.5 + 3.5 * n, 3.8), sharey=True)
    names = list(dict.fromkeys(candidate.estimator for candidate in selection.candidates))
    for ax, parameter in zip(panels, parameters, strict=True):
        for style, name in enumerate(names):
            curve = [one for one in selection.candidates if (one.estimator, one.parameter) == (name, parameter)]
            if curve:
                _draw_risks(ax, sorted(curve, key=lambda one: one.value), selection, style)
        ax.axhline(level, color=DARK, linewidth=0.8, linestyle=":")
        ax.set(xlabel=parameter, xscale="linear" if parameter == "bins" else "log")
        ax.legend(fontsize="small", frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    across = panels[0].get_yaxis_transform()
    panels[0].text(0.99, level, "h = 0", transform=across, ha="right", va="bottom", fontsize="small")
    panels[0].set_ylabel(f"risk, {selection.problem}")
    risks = [one.risk for one in selection.candidates]
    if 0.0 < 20.0 * min(risks) < max(risks):
        for ax in panels:
            ax.set_yscale("log")
    return panels


def _draw_risks(ax: "Axes", curve: list[CandidateRisk], selection: ErrorSelection, style: int) -> None:
    """A line in a band, the best setting filled and the selected one in a ring."""
    x = [one.value for one in curve]
    y = np.array([one.risk for one in curve])
    errors = np.array([one.standard_error for one in curve])
    colour, marker = COLOURS[style % len(COLOURS)], MARKERS[style % len(MARKERS)]
    ax.plot(x, y, color=colour, marker=marker, markersize=5, markerfacecolor="white", label=curve[0].estimator)
    ax.fill_between(x, y - errors, y + errors, color=colour, alpha=0.15, linewidth=0)
    for place, one in enumerate(curve):
        if one.squared_error is not None:
            ax.plot(x[place], y[place], color=colour, marker=marker, markersize=6, zorder=4)
        if one is selection.selected:
            ax.plot(x[place], y[place], "o", markersize=13, markerfacecolor="none", color="black", zorder=5)
