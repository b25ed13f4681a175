"""An interval for a squared calibration error from a quadratic form without the bias of smoothing's first order."""

from collections.abc import Sequence
from math import exp, log, sqrt
from typing import Any, NamedTuple

import numpy as np
import scipy

from caltest._basics.calls import own_errstate
from caltest._basics.numerics import ArrayLike, FloatArray, check_finite, normalised
from caltest._results.values import ConfidenceInterval, within
from caltest._validation import at_least, fraction, whole_number
from caltest.estimators.binned_errors.ece import farthest
from caltest.predictions.inputs.convert import as_sample
from caltest.risk.base import CalibrationData, KernelSpectrum
from caltest.risk.functions import MAX_RANK

GAMMAS = 1.0, 4.0, 16.0
"""Of the kernels ``exp(-gamma |x - x'|**2)`` that are tried."""

REGULARISATIONS = tuple(10.0**-i for i in range(-1, 8))
"""That are tried, from 10 to 1e-7."""

LARGEST_POWER = 10.0
"""Of probabilities that are made sharper; its inverse of those that are made flatter."""

FEWEST = 20
"""Observations."""

MOST_FREEDOM = 0.5
"""Degrees of freedom of a smoother for each observation: with more it follows the noise, which then seems small."""


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
    and the squared error v_i of D_i as S predicts it from all others, for ``E |D_i - d_i|**2``::

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
        Cut at 0 and at the largest error of such predictions, as its ``estimate`` is. ``root()`` is that of the error.

    Raises
    ------
    ValueError
        For bad data or settings, or fewer than 20 observations.
    TypeError
        For predictions that are not of classes.

    Notes
    -----
    The kernel's width, of three, and the regularisation lambda, from 1e-7 to 10, are those that predict each D_i best
    from all others. The estimate takes a tenth of that lambda, since noise does not add up in it and bias does; the
    degrees of freedom ``tr S`` that this leaves can be at most n / 2. Given the predictions its variance is at most ``2
    sum_ij M_ij**2 tr(C_i**2) / n**2 + 4 v e / n`` for an error e, with the covariances C_i of outcomes and ``v = sum_i
    a_i' C_i a_i / sum_i |a_i|**2``, ``a = S D``; the squared difference between the estimates with lambda and with a
    tenth of it is added for bias. C_i is that of the recalibrated predictions or of the predictions, whichever is
    larger. The lower end takes e from the estimate, the upper end is the e that is as far above the estimate as its own
    variance says: the largest of those of all smoothers that predict as well up to a standard error. Where one with
    more degrees of freedom predicts best, errors vary faster than so few observations tell, and the upper end is the
    largest error of such predictions. No random numbers.

    Of three classes or more, predictions that are too flat or too sharp have errors that kernels miss where classes
    are many. The Brier score that ``p**b``, divided by its sum, gains with the best b is at most the error: the upper
    end is at least that of a normal interval for this gain. Where the lower end of that interval is above the estimate
    of the kernels, the gain and this end take their place.

    Outcomes have to be independent. How far estimates are off, and how often intervals cover, stands in
    ``docs/validity.md``, "Squared errors". What neither sees is not in the interval: errors that differ between
    predictions that are alike, and those of many classes that are each wrong in their own way.

    Time O(n r (k + r)) for each kernel of rank r of at most ``max_rank``, memory O(n (k + r)).

    Sources: Newey, Hsieh and Robins 2004 for twicing kernels; Berta et al. 2026 for errors as differences of proper
    scores.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> print(ct.risk.squared_error_interval(p, y))
    [0.04718, 0.09104] (95 %, debiased quadratic form, normal limit)
    """
    level, rank = fraction("confidence_level", confidence_level), whole_number("max_rank", max_rank, 1)
    data = CalibrationData.of(as_sample(predictions, targets, classes))
    at_least(len(data), FEWEST, "an interval for the squared error")
    z = float(scipy.special.ndtri((1.0 + level) / 2.0))
    tried = smoothers(data, rank)
    plain = [one for one in tried if one.lighter.sum() <= MOST_FREEDOM * len(data)]
    best = min(plain, key=Smoother.loss)
    seen, low, high = _ends(data, best, z)
    high = max([high, *(_ends(data, one, z)[2] for one in plain if one.is_as_good_as(best))])
    check_finite(low, high)
    largest = farthest(np.ones(len(data)), data.points)
    if best.loss() > min(map(Smoother.loss, tried)):
        high = largest
    if data.dimension > 1:
        gain, least, most = _by_temperature(data, z)
        high = max(high, most)
        seen, low = (gain, least) if least > seen else (seen, low)
    return within("two-sided", low, high, largest, level, "debiased quadratic form, normal limit", seen)


def _by_temperature(data: CalibrationData, z: float) -> tuple[float, float, float]:
    """What predictions ``p**b``, divided by their sums, gain in the Brier score at most, and the ends around it.

    The error is at least that, but for what the choice of one number gains.
    """

    def gains(log_power: float) -> FloatArray:
        change = data.points - normalised(data.points ** exp(log_power))
        return np.asarray((change * (2.0 * data.deviations - change)).sum(axis=1))

    ends = -log(LARGEST_POWER), log(LARGEST_POWER)
    found = scipy.optimize.minimize_scalar(lambda one: -gains(one).mean(), bounds=ends, method="bounded")
    terms = gains(float(found.x))
    gain, reach = float(terms.mean()), z * float(terms.std()) / sqrt(len(data))
    return gain, gain - reach, gain + reach


class Smoother(NamedTuple):
    """A kernel and a regularisation.

    ``S = U diag(shrunk) U'`` has the U (n, r) of ``left``; that with a tenth of the regularisation shrinks by
    ``lighter``. ``errors`` (n,) are squared, of each D_i as it is predicted from all others.
    """

    spectrum: KernelSpectrum
    left: FloatArray
    shrunk: FloatArray
    lighter: FloatArray
    errors: FloatArray

    def loss(self) -> float:
        """The mean squared error."""
        return float(self.errors.mean())

    def is_as_good_as(self, best: "Smoother") -> bool:
        """Whether it predicts as well up to a standard error of the difference."""
        more = self.errors - best.errors
        return bool(more.mean() <= more.std() / sqrt(more.size))


def smoothers(data: CalibrationData, rank: int) -> list[Smoother]:
    """All kernels with all regularisations, the largest first."""
    found = []
    for gamma in GAMMAS:
        spectrum, left = KernelSpectrum.of(data.points, gamma, rank)
        squares = spectrum.roots**2
        shrunk = [squares / (squares + one * len(data)) for one in REGULARISATIONS]
        for one, lighter in zip(shrunk, [*shrunk[1:], shrunk[-1]], strict=True):
            found.append(Smoother(spectrum, left, one, lighter, _errors(data.deviations, left, one)))
    return found


def _errors(deviations: FloatArray, left: FloatArray, shrunk: FloatArray) -> FloatArray:
    """Squared errors (n,) of the smoother ``S = U diag(shrunk) U'`` at each point, without that point."""
    errors = deviations - left @ (shrunk[:, None] * (left.T @ deviations))
    return np.asarray(np.einsum("id,id->i", errors, errors) / np.square(1.0 - np.square(left) @ shrunk))


def _ends(data: CalibrationData, smoother: Smoother, z: float) -> tuple[float, float, float]:
    """The estimate of a smoother, and the ends around it."""
    smooth, estimate = (_estimate(data, smoother, one) for one in (smoother.shrunk, smoother.lighter))
    value, variance, slope = estimate
    variance += (value - smooth[0]) ** 2
    half, seen = z * slope / 2.0, max(0.0, value)
    low = value - z * sqrt(variance + slope * seen)
    return value, low, value + z * (half + sqrt(variance + slope * seen + half**2))


def _estimate(data: CalibrationData, smoother: Smoother, shrunk: FloatArray) -> tuple[float, float, float]:
    """The estimate with the smoother ``S = U diag(shrunk) U'``, and v and s of its variance ``v + s e`` for an error e.

    Few outcomes that agree have no variance to be seen: that of the predictions is taken where it is larger.
    """
    left = smoother.left
    n, squares, twice = len(data), np.square(left), shrunk * (2.0 - shrunk)
    projections = left.T @ data.deviations
    fitted = left @ (shrunk[:, None] * projections)
    observed, predicted = (_spread(law, fitted) for law in (np.clip(data.points - fitted, 0.0, 1.0), data.points))
    noise, square, spread = np.maximum(observed, predicted)
    estimate = float(twice @ np.square(projections).sum(axis=1) - smoother.errors @ (squares @ twice)) / n
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
