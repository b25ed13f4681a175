"""Calibration errors of any order by their variational form, which recalibration on held-out data bounds from below."""

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np
import scipy

from caltest._basics.calls import own_errstate
from caltest._basics.numerics import ArrayLike, FloatArray, IntArray, generator_of
from caltest._results.values import ConfidenceInterval, within
from caltest._validation import at_least, fraction, positive_number, whole_number
from caltest.predictions import Sample
from caltest.predictions.inputs.convert import as_predictions, as_sample
from caltest.risk.base import CalibrationData, points_of
from caltest.risk.functions import MAX_RANK
from caltest.risk.interval import FEWEST, Smoother, smoothers

TWICE = 2.0
"""Variance of sums over folds, beside that of independent terms. With ``d = S D`` of calibrated predictions, and S
symmetric and 0 within folds, ``D' S D`` has the variance ``2 sum S_ij**2 s_i s_j``; its terms add up to half of it."""


@own_errstate
def variational_error(
    predictions: ArrayLike,
    targets: ArrayLike,
    order: float = 1.0,
    *,
    classes: Sequence[Any] | None = None,
    calibrator: Any = None,
    n_folds: int = 5,
    confidence_level: float = 0.95,
    rng: Any = None,
) -> ConfidenceInterval:
    """Estimate and lower bound of ``E sum_k |p_k - P(Y = k | p)|**q``, all classes at once, for any order q.

    For q of 1 or more, points p and deviations ``D = p - e_Y``, and any function d of p that D did not make::

        E sum_k q |d_k|**(q - 1) sign(d_k) D_k - (q - 1) |d_k|**q  <=  E sum_k |E(D_k | p)|**q

    with equality for ``d = E(D | p)``; for q = 1 the right signs are enough. The estimate is the mean of the left side
    with ``d = p - g(p)`` of recalibration maps g, each fitted to the other folds.

    Parameters
    ----------
    predictions
        (n, k) probabilities or ``Categorical``; (n,) probabilities or ``Bernoulli``, as ``ct.top_label`` makes them,
        for ``E |p - P(Y = 1 | p)|**q``.
    targets, classes, rng
        As in ``calibration_test``; random numbers divide the data.
    order
        q: 1 for twice the total variation distance of the predictions from the true probabilities (without the factor
        for binary ones), 2 for the squared error.
    calibrator
        A method of ``ct.recalibration``, or what else has a ``fit(predictions, targets)`` that returns a map. Default:
        kernel ridge regression of D on p with the kernel and regularisation that predict D best.
    n_folds
        Number of folds, 2 to n.
    confidence_level
        Of the lower end, a normal limit; there is no upper end, as no map has to be the right one.

    Returns
    -------
    ConfidenceInterval
        From the lower end to infinity; both this and the ``estimate`` are cut at 0.

    Raises
    ------
    ValueError
        For bad data or settings, or fewer than 20 observations.
    TypeError
        For predictions that are not of classes, and calibrators without a ``fit``.

    Notes
    -----
    The mean of the estimate, before it is cut at 0, is never above the error, if outcomes are independent; how far it
    is below says how good the maps are: several may be tried, and the largest lower end taken at a level that is
    divided by their number. How far stands in ``docs/validity.md``, "Squared errors". Each outcome is in the fits of
    the other folds, so that terms depend on each other: the normal limit has twice the variance of independent ones,
    right for calibrated predictions and linear maps, and too large for maps that hardly depend on the outcomes. Cost:
    ``n_folds`` fits.

    Source: Berta, Braun, Holzmueller, Bach and Jordan 2026. Differs in that maps are those of this package.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> print(ct.risk.variational_error(p.take(slice(200)), y[:200], rng=1))
    [0.1426, inf] (95 %, variational, 5 folds, normal limit)
    """
    q, level = positive_number("order", order), fraction("confidence_level", confidence_level)
    if q < 1.0:
        raise ValueError(f"order: got {q:g}, wanted at least 1")
    if calibrator is not None and not callable(getattr(calibrator, "fit", None)):
        raise TypeError(f"calibrator: got {calibrator!r}, wanted a method such as ct.recalibration.VectorScaling()")
    sample = as_sample(predictions, targets, classes)
    data, n = CalibrationData.of(sample), len(sample)
    at_least(n, FEWEST, "a variational error")
    folds = whole_number("n_folds", n_folds, 2, n)
    terms = np.empty(n)
    for held in np.array_split(generator_of(rng).permutation(n), folds):
        rest = np.setdiff1d(np.arange(n), held)
        d = _by_ridge(data, rest, held) if calibrator is None else _by_map(calibrator, sample, data, rest, held)
        size = np.abs(d)
        slopes = q * size ** (q - 1.0) * np.sign(d)
        terms[held] = (slopes * data.deviations[held] - (q - 1.0) * size**q).sum(axis=1)
    estimate, error = float(terms.mean()), float(terms.std(ddof=1)) * np.sqrt(TWICE / n)
    low = estimate - float(scipy.special.ndtri(level)) * error
    method = f"variational, {folds} folds, normal limit"
    return within("lower", low, inf, inf, level, method, estimate)


def _by_ridge(data: CalibrationData, rest: IntArray, held: IntArray) -> FloatArray:
    """``E(D | p)`` at the points held out, by kernel ridge regression on the others."""
    fitted = data.take(rest)
    best = min(smoothers(fitted, MAX_RANK), key=Smoother.loss)
    roots = best.spectrum.roots
    factors = np.divide(best.shrunk, roots, out=np.zeros_like(roots), where=roots > 0.0)
    return np.asarray(best.spectrum.vectors(data.points[held]) @ (factors[:, None] * (best.left.T @ fitted.deviations)))


def _by_map(calibrator: Any, sample: Sample, data: CalibrationData, rest: IntArray, held: IntArray) -> FloatArray:
    """``p - g(p)`` at the points held out."""
    others = sample.take(rest)
    recalibrated = calibrator.fit(others.predictions, others.as_given)(sample.predictions.take(held))
    return data.points[held] - points_of(as_predictions(recalibrated))
