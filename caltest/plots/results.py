"""Pictures of results: intervals, values under the null hypothesis, curves of fields, ranks of outcomes and draws."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from caltest._basics.calls import own_errstate
from caltest._results.report import pvalue_phrase
from caltest._results.tables import NUMBER, Bar, sharper
from caltest._validation import instance_of
from caltest.fields.clinical.decisions import DecisionCurve
from caltest.fields.clinical.validation_result import ClinicalValidation
from caltest.fields.weather.result import LeadResult, VerificationResult
from caltest.plots._axes import (
    DARK,
    INSIDE,
    LONGEST,
    OUTSIDE,
    PALE,
    Axes,
    ended,
    inches_of,
    panels_of,
    plain,
    started,
    style_of,
)

MOST = 40
"""Bars of a picture."""


@own_errstate
def forest(result: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Estimates of a result with their intervals, one below the other, beside what calibrated predictions give.

    Observed frequencies beside claimed ones for the default test; standardised errors of groups; models, slices; parts
    of scores, which are bars. What is rejected, or does not agree with its reference, is a vermillion diamond; where
    its interval holds the reference all the same, a line says why.

    Parameters
    ----------
    result
        A result with ``bars()``: of the default test, groups, slices, comparisons of models, decompositions; of more
        than 40 bars the first are drawn, and the picture says so. Sums of counts are not drawn beside frequencies.
    ax
        Where to draw; default: a new figure, as high as it takes.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> ax = ct.plots.forest(ct.calibration_test(p, y, n_resamples=99, rng=1))
    >>> [label.get_text() for label in ax.get_yticklabels()][:3]
    ['accuracy', 'claims of 35.3 %', 'claims of 50.6 %']
    """
    if not hasattr(result, "bars"):
        raise TypeError(f"result: got {type(result).__name__}, wanted a result with several estimates, such as groups")
    every: list[Bar] = result.bars()
    if not every:
        raise TypeError(f"result: got {result!r}, which has no estimates with intervals")
    # A sum of counts has no place on an axis of frequencies.
    every = [bar for bar in every if (bar.unit == NUMBER) == (every[0].unit == NUMBER)]
    bars = every[:MOST]
    ax, _ = started(ax, "forest", (6.0, 1.3 + 0.3 * len(bars)))
    places = np.arange(len(bars))
    for y, bar in zip(places, bars, strict=True):
        colour, marker = (OUTSIDE, "D") if bar.stands_out else (INSIDE, "o")
        if bar.part:
            ax.barh(y, bar.estimate, 0.5, color=colour, alpha=0.35, linewidth=0.0, zorder=1)
        if bar.usual is not None:
            ax.fill_betweenx([y - 0.32, y + 0.32], *bar.usual, color=PALE, linewidth=0.0, label=plain(bar.of_reference))
        elif bar.reference is not None:
            ax.plot([bar.reference] * 2, [y - 0.32, y + 0.32], color=DARK, linewidth=2.0, label=plain(bar.of_reference))
        if bar.interval is not None:
            ax.plot(list(bar.interval), [y, y], color=colour, linewidth=1.6, zorder=2, label="interval")
        ax.plot([bar.estimate], [y], marker, color=colour, markersize=6, linestyle="none", zorder=3)
    # Names as large as there is room for them.
    width, height = inches_of(ax)
    room = 72.0 * (height - 1.3) / len(bars)
    names = [plain(bar.name, max(14, min(LONGEST, int(6.7 * width)))) for bar in bars]
    if len(set(names)) < len({bar.name for bar in bars}):
        names = [plain(bar.name) for bar in bars]
    ax.set_yticks(places, names, fontsize=min(10.0, max(4.0, 0.75 * room)))
    ax.set_ylim(len(bars) - 0.4, -0.6)
    ax.grid(axis="y", color=PALE, linewidth=0.5)
    ax.set_axisbelow(True)
    first = [f"the first {MOST} of {len(every)}"] if len(every) > MOST else []
    return ended(
        ax, bars[0].unit, "", over="; ".join([*first, *sharper(bars)]), beside=0.3 + 0.07 * max(map(len, names))
    )


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
    >>> p, y = ct.datasets.load_digits_predictions()["neural network"]
    >>> result = ct.MonteCarloTest(ct.ECE(), n_resamples=99)(*ct.top_label(p, y), rng=1)
    >>> ct.plots.null_histogram(result).get_xlabel()
    'the estimate'
    """
    draws = getattr(result, "null_distribution", getattr(result, "draws", None))
    if draws is None:
        raise TypeError(f"result: got {result!r}, wanted one of a test that redraws, or a noise floor")
    ax, _ = started(ax, "null_histogram", (4.5, 3.4))
    ax.hist(draws, bins=min(30, max(5, draws.size // 10)), color=PALE, edgecolor="white", label="if calibrated")
    if hasattr(result, "statistic"):
        ax.axvline(result.statistic, color=OUTSIDE, linewidth=2.0, linestyle="--", label="observed")
    return ended(ax, getattr(result, "statistic_name", "estimate"), "redraws")


@own_errstate
def clinical_curve(
    result: ClinicalValidation, *, ax: "Axes | None" = None, label: str | None = None, color: str | None = None
) -> "Axes":
    """The frequency of the event as a smooth function of the predicted risk, and where calibrated models have it.

    Parameters
    ----------
    result
        What ``clinical.validate`` returns.
    ax, label, color
        As in ``reliability_diagram``.

    Raises
    ------
    TypeError
        For a result whose risks are all 0 or 1.

    Notes
    -----
    The curve of a calibrated model is in the band everywhere with the level of the result.

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> rng = np.random.default_rng(1)
    >>> risk = rng.beta(1, 6, 300)
    >>> result = ct.fields.clinical.validate(risk, rng.random(300) < risk, n_resamples=39, rng=1)
    >>> ct.plots.clinical_curve(result).get_xlabel()
    'predicted risk'
    """
    if not isinstance(result, ClinicalValidation) or not result.curve.risk:
        raise TypeError(f"result: got {result!r}, wanted what clinical.validate returns for risks other than 0 and 1")
    (ax, style), curve = started(ax, "clinical_curve", (4.5, 4.8), color, label), result.curve
    if style.first:
        ax.plot([0, 1], [0, 1], color=DARK, linewidth=0.8, zorder=1)
    band, p = f"{100 * result.confidence_level:g} % of calibrated models", pvalue_phrase(result.pvalue)
    look: dict[str, Any] = {"color": style.color, "alpha": 0.18, "label": band if style.first else None}
    ax.fill_between(curve.risk, *curve.band, linewidth=0, **look)
    what = f"observed frequency, {'splines' if curve.method == 'splines' else 'loess'}"
    ax.plot(curve.risk, curve.frequency, **style.line(what, p))
    title = f"{p}, {result.events} events in {result.n} cases" if style.alone else ""
    most = 1.05 * max(*curve.frequency, *curve.band[1], *curve.risk, 0.0 if style.first else ax.get_xlim()[1] / 1.05)
    ax.set(xlim=(0.0, min(1.0, most)), ylim=(0.0, min(1.0, most)))
    ax.set_aspect("equal")
    return ended(ax, "predicted risk", "observed frequency", title)


@own_errstate
def decision_curve(
    result: DecisionCurve, *, ax: "Axes | None" = None, label: str | None = None, color: str | None = None
) -> "Axes":
    """Net benefit over the threshold with intervals, beside treating everyone or nobody, and of recalibrated risks.

    Parameters
    ----------
    result
        What ``clinical.decision_curve`` returns.
    ax, label, color
        As in ``reliability_diagram``.

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> rng = np.random.default_rng(1)
    >>> risk = rng.beta(1, 6, 300)
    >>> result = ct.fields.clinical.decision_curve(risk, rng.random(300) < risk, n_resamples=39, rng=1)
    >>> ct.plots.decision_curve(result).get_ylabel()
    'net benefit per 1000 cases'
    """
    instance_of(DecisionCurve, "what clinical.decision_curve returns")("result", result)
    ax, style = started(ax, "decision_curve", (5.5, 4.0), color, label)
    x = [one.threshold for one in result.rows]
    if style.first:
        ax.plot(x, [1000 * one.treat_all for one in result.rows], color=PALE, linewidth=1.5, label="treat all")
        ax.axhline(0.0, color=DARK, linewidth=0.8, label="treat nobody")
    better, model = [1000 * one.recalibrated for one in result.rows], [1000 * one.model for one in result.rows]
    line, p = style.line("treat by predicted risk"), f"loss by miscalibration: {pvalue_phrase(result.pvalue)}"
    shade, name, title = OUTSIDE if color is None else style.color, "recalibrated", p
    if not style.alone:
        shade, name, title = style.color, f"{line['label']}, {name}", ""
        line["label"] += f", {p}"
    ax.plot(x, better, color=shade, linestyle=":", label=name)
    ax.plot(x, model, marker=style.marker, markersize=4, **line)
    ends = [[1000 * end for end in one.interval.ends] for one in result.rows]
    ax.vlines(x, *zip(*ends, strict=True), color=line["color"], linewidth=0.8)
    low = min(0.0, *model, *better)
    ax.set_ylim(low - 5.0, None)
    ax.locator_params(axis="x", nbins=6)
    return ended(ax, "threshold of the risk", "net benefit per 1000 cases", title)


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
        One for each lead time; default: those of a new figure.

    Raises
    ------
    ValueError
        For another number of axes.

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> rng = np.random.default_rng(1)
    >>> result = ct.fields.weather.rank_histogram(rng.normal(size=(50, 9)), rng.normal(size=50), n_resamples=99, rng=1)
    >>> ct.plots.verification(result)[0].get_xlabel()
    'rank of the outcome'
    """
    if not isinstance(result, VerificationResult):
        raise TypeError(f"result: got {type(result).__name__}, wanted that of a function of caltest.fields.weather")
    n = len(result.rows)
    panels = panels_of(axes, "verification", n, (0.6 + 3.2 * n, 3.2))
    for ax, row in zip(panels, result.rows, strict=True):
        _draw(ax, row, is_histogram=result.axis[0].startswith("rank"))
        ended(ax, result.axis[0], result.axis[1], row.name, named=ax is panels[0])
    return panels


def _draw(ax: "Axes", row: LeadResult, is_histogram: bool) -> None:
    x, observed = np.array(row.places), np.array(row.observed)
    band = np.array([row.lowest, row.highest]) if row.lowest else np.tile(observed, (2, 1))
    outside = (observed < band[0]) | (observed > band[1])
    colours = np.where(outside, OUTSIDE, INSIDE).tolist()
    expected = np.array(row.expected)
    if is_histogram:
        hatches = np.where(outside, "//", "").tolist()
        ax.bar(x, observed, 0.8, color=colours, hatch=hatches, edgecolor="white", alpha=0.75, zorder=2)
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


@own_errstate
def rank_ecdf(result: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Distribution functions of ranks less those of uniform ones, for each parameter, with the band of all of them.

    Draws that are too low have curves below 0, too high above; too narrow posteriors are above 0 on the left and
    below on the right, too wide ones the other way round. Rejected parameters are thick; those with the 8 smallest
    p-values are shown.

    Parameters
    ----------
    result
        Of ``simulation_based_calibration``.

    Notes
    -----
    A parameter is outside of the band somewhere if its p-value, adjusted by the maximum over parameters, is at most one
    minus its level. Source: Sailynoja, Buerkner and Vehtari 2022.

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> rng = np.random.default_rng(1)
    >>> draws, truths = rng.normal(size=(50, 20)), rng.normal(size=50)
    >>> result = ct.fields.bayesian.simulation_based_calibration(draws, truths, rng=1)
    >>> ct.plots.rank_ecdf(result).get_xlabel()
    'rank of the truth as a share'
    """
    if not hasattr(result, "ranks_pvalue"):
        raise TypeError(f"result: got {type(result).__name__}, wanted one of simulation_based_calibration")
    ax, _ = started(ax, "rank_ecdf", (4.5, 3.6))
    x = np.asarray(result.points)
    name = f"{100 * result.confidence_level:g} % range of all curves if right"
    ax.fill_between(x, result.lowest - x, result.highest - x, color=PALE, linewidth=0.0, label=name, step="mid")
    ax.axhline(0.0, color=DARK, linewidth=0.8)
    for row in sorted(result.rows, key=lambda row: row.adjusted)[:8]:
        width = 2.2 if row.adjusted <= 1.0 - result.confidence_level else 1.0
        ax.plot(x, row.shares - x, linewidth=width, **style_of(ax, None, row.name).line(row.name))
    ax.set_xlim(0.0, 1.0)
    return ended(ax, "rank of the truth as a share", "share below, less expected")
