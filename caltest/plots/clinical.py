"""Pictures of clinical validations: flexible calibration curves, and decision curves."""

from caltest._basics.numerics import own_errstate
from caltest._results.report import pvalue_phrase
from caltest.fields.clinical.decisions import DecisionCurve
from caltest.fields.clinical.validation_result import ClinicalValidation
from caltest.plots._axes import DARK, OUTSIDE, PALE, Axes, axes_of, legend, set_title, style_of


@own_errstate
def clinical_curve(
    result: ClinicalValidation, *, ax: "Axes | None" = None, label: str | None = None, color: str | None = None
) -> "Axes":
    """The frequency of the event as a smooth function of the predicted risk, and where calibrated models have it.

    Parameters
    ----------
    result
        What ``clinical.validate`` returns.
    ax
        Where to draw, models on top of each other; default: a new figure.
    label, color
        Of the model.

    Raises
    ------
    TypeError
        For other results, or one whose risks are all 0 or 1.

    Notes
    -----
    The curve of a calibrated model is in the band everywhere with the level of the result.

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> from matplotlib.figure import Figure
    >>> rng = np.random.default_rng(1)
    >>> risk = rng.beta(1, 6, 300)
    >>> result = ct.fields.clinical.validate(risk, rng.random(300) < risk, n_resamples=39, rng=1)
    >>> ct.plots.clinical_curve(result, ax=Figure().add_subplot()).get_xlabel()
    'predicted risk'
    """
    if not isinstance(result, ClinicalValidation) or not result.curve.risk:
        raise TypeError(f"result: got {result!r}, wanted what clinical.validate returns for risks other than 0 and 1")
    ax, curve = axes_of(ax, "clinical_curve", (4.5, 4.8)), result.curve
    style = style_of(ax, color, label)
    band = f"{100 * result.confidence_level:g} % of calibrated models"
    if style.first:
        ax.plot([0, 1], [0, 1], color=DARK, linewidth=0.8, zorder=1)
    ax.fill_between(curve.risk, *curve.band, color=style.color, alpha=0.18, linewidth=0, label=band)
    line = style.line(f"observed frequency, {'splines' if curve.method == 'splines' else 'loess'}")
    ax.plot(curve.risk, curve.frequency, **line)
    most = 1.05 * max(*curve.frequency, *curve.band[1], *curve.risk, 0.0 if style.first else ax.get_xlim()[1] / 1.05)
    ax.set(xlim=(0.0, min(1.0, most)), ylim=(0.0, min(1.0, most)), xlabel="predicted risk", ylabel="observed frequency")
    ax.set_aspect("equal")
    set_title(ax, f"{pvalue_phrase(result.pvalue)}, {result.events} events in {result.n} cases" if style.first else "")
    legend(ax)
    return ax


@own_errstate
def decision_curve(
    result: DecisionCurve, *, ax: "Axes | None" = None, label: str | None = None, color: str | None = None
) -> "Axes":
    """Net benefit over the threshold, beside treating everyone or nobody, and that of recalibrated risks.

    Parameters
    ----------
    result
        What ``clinical.decision_curve`` returns.
    ax
        Where to draw, models on top of each other; default: a new figure.
    label, color
        Of the model.

    Raises
    ------
    TypeError
        For other results.

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> from matplotlib.figure import Figure
    >>> rng = np.random.default_rng(1)
    >>> risk = rng.beta(1, 6, 300)
    >>> result = ct.fields.clinical.decision_curve(risk, rng.random(300) < risk, n_resamples=39, rng=1)
    >>> ct.plots.decision_curve(result, ax=Figure().add_subplot()).get_ylabel()
    'net benefit per 1000 cases'
    """
    if not isinstance(result, DecisionCurve):
        raise TypeError(f"result: got {result!r}, wanted what clinical.decision_curve returns")
    ax = axes_of(ax, "decision_curve", (5.5, 4.0))
    style, x = style_of(ax, color, label), [one.threshold for one in result.rows]
    if style.first:
        ax.plot(x, [1000 * one.treat_all for one in result.rows], color=PALE, linewidth=1.5, label="treat all")
        ax.axhline(0.0, color=DARK, linewidth=0.8, label="treat nobody")
    better, model = [1000 * one.recalibrated for one in result.rows], [1000 * one.model for one in result.rows]
    shade = OUTSIDE if color is None and style.first else style.color
    ax.plot(x, better, color=shade, linestyle=":", label="recalibrated")
    ax.plot(x, model, marker=style.marker, markersize=4, **style.line("treat by predicted risk"))
    low = min(0.0, *model, *better)
    ax.set(xlabel="threshold of the risk", ylabel="net benefit per 1000 cases", ylim=(low - 5.0, None))
    ax.locator_params(axis="x", nbins=6)
    set_title(ax, f"loss by miscalibration: {pvalue_phrase(result.pvalue)}" if style.first else "")
    legend(ax)
    return ax
