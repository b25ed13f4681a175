"""Reliability before and after recalibration."""

from typing import Any

import numpy as np

from caltest._basics.numerics import own_errstate, seed_of
from caltest._results.report import pvalue_phrase
from caltest.plots._axes import Axes, panels_of
from caltest.plots.reliability import reliability_diagram
from caltest.recalibration import RecalibrationReport
from caltest.recalibration.report import targets_as_given


@own_errstate
def recalibration_report(
    report: RecalibrationReport, *, n_resamples: int = 999, rng: Any = None, axes: "tuple[Axes, Axes] | None" = None
) -> "tuple[Axes, Axes]":
    """Reliability diagrams of the held-out data before and after recalibration, side by side.

    Parameters
    ----------
    report
        What ``ct.recalibration.report`` returns for probabilities of classes.
    n_resamples
        Redraws of the outcomes for the consistency bars.
    rng
        Seed or ``numpy.random.Generator`` of the redraws.
    axes
        Where to draw; default: a new figure.

    Returns
    -------
    tuple
        The axes of the diagrams; titles have log score and p-value.

    Raises
    ------
    ValueError
        For a number of axes other than two, or a report that ``from_dict`` read, which has no data.

    Notes
    -----
    Points and bars are those of ``reliability_diagram``. Time O(n B) for B redraws.

    Examples
    --------
    >>> import caltest as ct
    >>> from matplotlib.figure import Figure
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> report = ct.recalibration.report(p, y, ct.recalibration.TemperatureScaling(), n_resamples=99, rng=1)
    >>> axes = ct.plots.recalibration_report(report, rng=1, axes=Figure().subplots(1, 2))
    >>> axes[0].get_title()
    'before: log score 0.38, p = 0.01'
    """
    if not isinstance(report, RecalibrationReport):
        raise TypeError(f"report: got {report!r}, wanted what ct.recalibration.report returns")
    if report.samples is None:
        raise ValueError(
            "report: got one that was read back, without data, wanted what ct.recalibration.report returns"
        )
    left, right = panels_of(axes, "recalibration_report", 2, (9.0, 4.5))
    streams = np.random.default_rng(seed_of(rng)).spawn(2)
    for ax, row, sample, stream in zip((left, right), report.rows, report.samples, streams, strict=True):
        reliability_diagram(sample.predictions, targets_as_given(sample), n_resamples=n_resamples, rng=stream, ax=ax)
        p = pvalue_phrase(row.pvalue, otherwise=row.pvalue_otherwise)
        ax.set_title(f"{row.name}: log score {row.log_score:.3g}, {p}", fontsize="small")
    return left, right
