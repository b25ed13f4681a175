"""An interval for a squared calibration error from a quadratic form without the bias of smoothing's first order."""

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np
import scipy

from caltest._basics.calls import own_errstate
from caltest._basics.numerics import ArrayLike, FloatArray, check_finite, normalised
from caltest._results.values import ConfidenceInterval
from caltest._validation import at_least, fraction, whole_number
from caltest.predictions.convert import as_sample
from caltest.risk.base import CalibrationData, KernelSpectrum
from caltest.risk.functions import MAX_RANK

GAMMAS = 1.0, 4.0, 16.0
"""Of the kernels ``exp(-gamma |x - x'|**2)`` that are tried."""

REGULARISATIONS = tuple(10.0**-i for i in range(-1, 8))
"""That are tried, from 10 to 1e-7."""

FEWEST = 20
"""Observations."""


@own_errstate
def squared_error_interval(
    predictions: ArrayLike,
    targets: ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    confidence_level: float = 0.95,
    max_rank: int = MAX_RANK,
) -> ConfidenceInterval:
    """Estimate and interval for the squared calibration error of these predictions, all classes at once.

    The error is ``mean_i |d_i|**2`` with ``d_i = E(D_i | x_i)``, of points x_i and deviations D_i as in
    ``ErrorFunction.fit_vectors``. With the matrix ``S = K (K + lambda n I)**-1`` of a kernel ridge regression of D on x
    and estimates v_i of ``E |D_i - d_i|**2``, which is ``1 - |P(Y | x_i)|**2`` for classes::

        estimate = (sum_ij M_ij D_i . D_j - sum_i M_ii v_i) / n,    M = 2 S - S S

    A plug-in estimate ``mean |S D|**2`` misses what the smoother S misses in the first order, and keeps noise; this one
    misses ``|(I - S) d|**2 / n`` only, the squared bias of S. It is the difference of the Brier scores of predictions
    and of recalibrated ones, without the part that is due to fitting.

    Parameters
    ----------
    predictions
        (n, k) probabilities or ``Categorical`` for the canonical error ``E |p - P(Y | p)|**2``; (n,) probabilities or
        ``Bernoulli``, as ``ct.top_label`` and ``ct.classwise`` make them, for ``E (p - P(Y = 1 | p))**2``.
    confidence_level
        Of the interval, asymptotic.
    max_rank
        Landmarks that stand for the kernel, at most, as for ``TwoStepRidgeErrorFunction``.
    targets, classes
        As in ``calibration_test``.

    Returns
    -------
    ConfidenceInterval
        Cut at 0, as its ``estimate`` is. ``root()`` is that of the error.

    Raises
    ------
    ValueError
        For bad data or settings, or fewer than 20 observations.
    TypeError
        For predictions that are not of classes.

    Notes
    -----
    The kernel's width, of three, and the regularisation lambda, from 1e-7 to 10, are those that predict each D_i best
    from all others; the estimate takes a tenth of that lambda, since noise does not add up in it and bias does. Given
    the predictions its variance is at most ``2 sum_ij M_ij**2 tr(C_i**2) / n**2 + 4 v e / n`` for an error e, with the
    covariances C_i of outcomes and ``v = sum_i a_i' C_i a_i / sum_i |a_i|**2``, ``a = S D``; the squared difference
    between the estimates with lambda and with a tenth of it is added for bias. C_i is that of the recalibrated
    predictions or of the predictions, whichever is larger. The lower end takes e from the estimate, the upper end is
    the e that is as far above the estimate as its own variance says. No random numbers.

    Outcomes have to be independent. How far estimates are off, and how often intervals cover, stands in
    ``docs/validity.md``, "Squared errors".

    Time O(n r (k + r)) for each kernel of rank r of at most ``max_rank``, memory O(n (k + r)).

    Sources: Newey, Hsieh and Robins 2004 for twicing kernels; Berta et al. 2026 for errors as differences of proper
    scores.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> print(ct.risk.squared_error_interval(p, y))
    [0.04875, 0.1063] (95 %, debiased quadratic form, normal limit)
    """
    level, rank = fraction("confidence_level", confidence_level), whole_number("max_rank", max_rank, 1)
    data = CalibrationData.of(as_sample(predictions, targets, classes))
    at_least(len(data), FEWEST, "an interval for the squared error")
    _, left, shrunk, place = best_smoother(data, rank)
    forms = [(left, one) for one in shrunk[place : place + 2]]
    (smooth, *_), (estimate, variance, slope) = (_estimate(data, *one) for one in (forms[0], forms[-1]))
    variance += (estimate - smooth) ** 2
    z, seen = float(scipy.special.ndtri((1.0 + level) / 2.0)), max(0.0, estimate)
    half = z * slope / 2.0
    low = max(0.0, estimate - z * sqrt(variance + slope * seen))
    high = max(0.0, estimate + z * (half + sqrt(variance + slope * seen + half**2)))
    check_finite(low, high)
    return ConfidenceInterval(low, high, level, "debiased quadratic form, normal limit", seen)


def best_smoother(data: CalibrationData, rank: int) -> tuple[KernelSpectrum, FloatArray, FloatArray, int]:
    """Of the kernels and regularisations (q) the one that predicts each D_i best from all others.

    Spectrum, U (n, r), factors (q, r) of ``S = U diag(.) U'`` for all regularisations, and the place of the best one.
    """
    best, found = np.inf, None
    for gamma in GAMMAS:
        spectrum, left = KernelSpectrum.of(data.points, gamma, rank)
        squares = spectrum.roots**2
        shrunk = np.array([squares / (squares + one * len(data)) for one in REGULARISATIONS])
        losses = _losses(data.deviations, left, shrunk)
        if found is None or losses.min() < best:
            best, found = losses.min(), (spectrum, left, shrunk, int(losses.argmin()))
    assert found is not None
    return found


def _losses(deviations: FloatArray, left: FloatArray, shrunk: FloatArray) -> FloatArray:
    """Mean squared errors (q,) of smoothers ``S = U diag(shrunk) U'`` at each point, without that point."""
    own, projections = np.square(left) @ shrunk.T, left.T @ deviations
    errors = (deviations - left @ (one[:, None] * projections) for one in shrunk)
    squares = [np.einsum("id,id->i", one, one) for one in errors]
    return np.asarray((np.array(squares) / np.square(1.0 - own.T)).mean(axis=1))


def _estimate(data: CalibrationData, left: FloatArray, shrunk: FloatArray) -> tuple[float, float, float]:
    """The estimate with the smoother ``S = U diag(shrunk) U'``, and v and s of its variance ``v + s e`` for an error e.

    Few outcomes that agree have no variance to be seen: that of the predictions is taken where it is larger.
    """
    n, squares, twice = len(data), np.square(left), shrunk * (2.0 - shrunk)
    projections = left.T @ data.deviations
    fitted = left @ (shrunk[:, None] * projections)
    observed, predicted = (_spread(law, fitted) for law in (np.clip(data.points - fitted, 0.0, 1.0), data.points))
    noise, square, spread = np.maximum(observed, predicted)
    estimate = float(twice @ np.square(projections).sum(axis=1) - observed[0] @ (squares @ twice)) / n
    length = float(np.square(fitted).sum())
    slope = 4.0 * float(spread.sum() / length if length > 0.0 else noise.mean()) / n
    return estimate, float(2.0 * (square @ (squares @ twice**2))) / n**2, slope


def _spread(law: FloatArray, fitted: FloatArray) -> FloatArray:
    """``tr C``, ``tr C**2`` and ``a' C a`` for the covariances C of outcomes of a law (n, d), and rows a: (3, n)."""
    if law.shape[1] == 1:
        noise = law[:, 0] * (1.0 - law[:, 0])
        return np.stack([noise, noise**2, noise * fitted[:, 0] ** 2])
    law = normalised(law)
    total = np.square(law).sum(axis=1)
    spread = (law * fitted**2).sum(axis=1) - (law * fitted).sum(axis=1) ** 2
    return np.stack([1.0 - total, total - 2.0 * (law**3).sum(axis=1) + total**2, np.maximum(spread, 0.0)])
