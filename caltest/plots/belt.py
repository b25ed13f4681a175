"""Calibration belts."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from caltest._basics.numerics import ArrayLike, FloatArray, own_errstate
from caltest._results.report import pvalue_phrase
from caltest._validation import fraction
from caltest.estimators import CalibrationBelt
from caltest.estimators.classical.belt import Belt, belt
from caltest.named_tests import MonteCarloTest
from caltest.plots._axes import INSIDE, Axes, axes_of, binary_of, finish
from caltest.predictions import Sample
from caltest.predictions.convert import as_sample


@own_errstate
def calibration_belt(
    predictions: ArrayLike,
    targets: ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    confidence_levels: Sequence[float] = (0.8, 0.95),
    max_degree: int = 4,
    n_resamples: int = 999,
    rng: Any = None,
    ax: "Axes | None" = None,
    progress: bool = False,
) -> "Axes":
    """Outcomes as a smooth function of predictions, with confidence bands: where they leave the diagonal, p is off.

    The curve is the logistic regression of the outcomes on a polynomial of the log-odds, whose degree is selected
    forward (``ct.estimators.CalibrationBelt``); the title has its degree and the p-value of its exact Monte Carlo test.

    Parameters
    ----------
    predictions, targets, classes, rng, ax, progress
        As in ``reliability_diagram``.
    confidence_levels
        Of the bands, between 0 and 1.
    max_degree
        Highest degree of the polynomial, 1 to 4.
    n_resamples
        Number of redraws of the outcomes for the p-value and the widths of the bands.

    Raises
    ------
    ValueError
        For bad data or settings, or if the predictions separate the outcomes, so that no curve is best.
    TypeError
        If the predictions are not of classes, or for a setting of another kind.

    Notes
    -----
    Each band holds all polynomials b' of the selected degree with ``(b' - b)' I (b' - b) <= c``, where b is the best
    one, I its information matrix, and c the quantile of the redrawn likelihood ratios, so that a band at 95 % goes with
    the test at 5 %, with the selection of the degree accounted for. They hold for the whole curve at once. The p-value
    is exact, the bands are asymptotic.

    Predictions of 0 and 1 are left out. Time O(n B).

    Sources: Nattino, Finazzi and Bertolini 2014 for the test and the belt, whose bands come from likelihood ratios
    instead of the information matrix.

    Examples
    --------
    >>> import caltest as ct
    >>> from matplotlib.figure import Figure
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> ax = ct.plots.calibration_belt(p, y, n_resamples=99, rng=1, ax=Figure().add_subplot())
    >>> print(ax.get_title())
    p = 0.01 (degree 1)
    Bernoulli (top label), n = 899
    """
    probabilities, outcomes = binary_of(as_sample(predictions, targets, classes))
    levels = np.sort([fraction("confidence_levels", level) for level in confidence_levels])[::-1]
    estimator = CalibrationBelt(max_degree)
    result = MonteCarloTest(estimator, n_resamples).on(Sample(probabilities, outcomes), rng=rng, progress=progress)
    assert result.null_distribution is not None
    critical = np.quantile(result.null_distribution, levels, method="higher")
    curve = belt(estimator, probabilities.probability, outcomes, critical)
    ax = axes_of(ax, "calibration_belt", (4.5, 5.0))
    _draw_belt(ax, curve, levels)
    finish(ax, probabilities, f"{pvalue_phrase(result.pvalue)} (degree {curve.degree})\n{result.predictions}")
    return ax


def _draw_belt(ax: "Axes", curve: Belt, levels: FloatArray) -> None:
    for low, high, level, shade in zip(curve.low, curve.high, levels, np.linspace(0.2, 0.4, levels.size), strict=True):
        label = f"{100 * level:g} % confidence"
        ax.fill_between(curve.predictions, low, high, color=INSIDE, alpha=shade, linewidth=0, label=label, zorder=1)
    ax.plot(curve.predictions, curve.curve, color=INSIDE, linewidth=1.5, label="observed frequency, fitted", zorder=2)
    ax.legend(fontsize="small", frameon=False)
