"""Calibration belts."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from caltest._basics.calls import own_errstate
from caltest._basics.numerics import ArrayLike
from caltest._results.report import pvalue_phrase
from caltest._validation import fraction
from caltest.estimators import CalibrationBelt
from caltest.estimators.classical.belt import belt
from caltest.named_tests import MonteCarloTest
from caltest.plots._axes import Axes, beside_most, binary_of, finish, started
from caltest.predictions import Sample
from caltest.predictions.inputs.convert import as_sample


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
    label: str | None = None,
    color: str | None = None,
    progress: bool = False,
) -> "Axes":
    """Outcomes as a smooth function of predictions, with confidence bands: where they leave the diagonal, p is off.

    The curve is the logistic regression of the outcomes on a polynomial of the log-odds, whose degree is selected
    forward (``ct.estimators.CalibrationBelt``); the title has its degree and the p-value of its exact Monte Carlo test.

    Parameters
    ----------
    predictions, targets, classes, rng, ax, label, color, progress
        As in ``reliability_diagram``.
    confidence_levels
        Of the bands, between 0 and 1.
    max_degree
        Highest degree of the polynomial, 1 to 4.
    n_resamples
        Number of redraws of the outcomes for the p-value and the widths of the bands.

    Raises
    ------
    ValueError, TypeError
        As ``reliability_diagram`` does; also if the predictions separate outcomes of both kinds, so that no curve is
        best, or if there is only one prediction beside 0 and 1.

    Notes
    -----
    Each band holds all polynomials b' of the selected degree with ``(b' - b)' I (b' - b) <= c``, where b is the best
    one, I its information matrix, and c the quantile of the redrawn likelihood ratios, so that a band at 95 % goes with
    the test at 5 %, with the selection of the degree accounted for. They hold for the whole curve at once. The p-value
    is exact, the bands are asymptotic.

    If all outcomes are the same, the curve is 0 or 1, and bands hold all lines of log-odds in log-odds (rounded to two
    digits) whose twofold log-likelihood is at least -c, so that the diagonal is in them unless the test rejects.

    Predictions of 0 and 1 are left out. Time O(n B); the redraws of 100,000 predictions take a few seconds, as their
    log-likelihoods are summed over about 1000 places (``ct.estimators.CalibrationBelt``).

    Sources: Nattino, Finazzi and Bertolini 2014 for the test and the belt, whose bands come from likelihood ratios
    instead of the information matrix.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> ax = ct.plots.calibration_belt(p, y, n_resamples=99, rng=1)
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
    ax, style = started(ax, "calibration_belt", (4.5, 5.0), color, label)
    for low, high, level, shade in zip(curve.low, curve.high, levels, np.linspace(0.2, 0.4, levels.size), strict=True):
        name = f"{100 * level:g} % confidence" if style.first else None
        ax.fill_between(curve.predictions, low, high, color=style.color, alpha=shade, linewidth=0, label=name, zorder=1)
    p = pvalue_phrase(result.pvalue)
    ax.plot(curve.predictions, curve.curve, linewidth=1.5, zorder=2, **style.line("observed frequency, fitted", p))
    title = f"{p} (degree {curve.degree})\n{result.predictions}" if label is None else ""
    shown = beside_most(curve.predictions, probabilities, curve.curve, *curve.low, *curve.high)
    return finish(ax, probabilities, title, style, shown)
