"""Maps of predicted distributions of numbers and vectors: by temperature, and of quantiles."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from caltest._basics.numerics import ArrayLike, FloatArray
from caltest._validation import at_least, increasing_levels
from caltest.predictions import Predictions, QuantileForecast
from caltest.predictions.inputs.convert import Sample, as_sample
from caltest.predictions.questions.coordinates import coordinates_of
from caltest.predictions.repairable import FACTORS, mean_loss
from caltest.recalibration.base import Calibrator, FamilyMap
from caltest.recalibration.classes.temperature import LARGEST, SMALLEST
from caltest.recalibration.shared.seen import digest, moment_rows
from caltest.recalibration.shared.storage import require, require_increasing

ROUNDING = 1e-12
"""Of the exponentials of the ends of the range of temperatures."""


@dataclass(frozen=True, eq=False, repr=False)
class FamilyTemperatureMap(FamilyMap):
    """``predictions.at_temperature(temperature)``, for predictions of one family."""

    temperature: float

    ranges = {"temperature": (SMALLEST * (1.0 - ROUNDING), LARGEST * (1.0 + ROUNDING))}

    def _apply(self, predictions: Predictions) -> Predictions:
        return predictions.at_temperature(self.temperature)


@dataclass(frozen=True)
class FamilyTemperatureScaling(Calibrator):
    """Temperature scaling of distributions: densities proportional to ``p**(1/T)``, T of the largest likelihood.

    With respect to the reference measure of each family (``at_temperature``): the covariances of normal predictions are
    multiplied by T, the scales of Laplace predictions too; gamma and beta predictions keep their means. T is in
    [0.001, 1000].

    Raises
    ------
    TypeError
        When fitting, for predictions of classes (``TemperatureScaling``) and families that have no powers.
    ValueError
        When fitting, for bad data, predictions without spread, targets of density 0.

    Notes
    -----
    Time O(n) for each of about 40 temperatures. If all outcomes are what was predicted exactly, T is 0.001.
    Source: Widmann et al. 2021, appendix F.

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> fitted = ct.recalibration.FamilyTemperatureScaling().fit(ct.Normal([0.0, 1.0], 1.0), [2.0, -1.0])
    >>> round(fitted.temperature, 6), fitted(ct.Normal([0.0], 1.0)).scale.round(6).tolist()
    (4.0, [2.0])
    """

    citations = ("widmann2021",)

    def fit(
        self, predictions: ArrayLike, targets: ArrayLike, *, classes: Sequence[Any] | None = None
    ) -> FamilyTemperatureMap:
        sample = as_sample(predictions, targets, classes)
        given = sample.predictions
        _check_losses(sample, "TemperatureScaling()")
        from scipy.optimize import minimize_scalar

        def loss(log_temperature: float) -> float:
            return mean_loss(lambda: given.at_temperature(float(np.exp(log_temperature))), sample.targets)

        ends = np.log(SMALLEST), np.log(LARGEST)
        found = minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-9, "maxiter": 500})
        best = min((float(found.x), *ends), key=loss)
        temperature = float(np.exp(best))
        return FamilyTemperatureMap(given.family, temperature, fitted_rows=digest(moment_rows(given)))


@dataclass(frozen=True, eq=False, repr=False)
class ShiftAndScaleMap(FamilyMap):
    """``predictions.moved(shift, factor)``, for predictions of one family; for vectors a number for each coordinate."""

    shift: FloatArray
    factor: FloatArray

    ranges = {"factor": FACTORS}

    def _check(self) -> None:
        same = self.shift.ndim == 1 and self.shift.size > 0 and self.shift.shape == self.factor.shape
        require(same, "shift", self.shift.shape, f"one for each of at least one of factor, {self.factor.shape}")

    def _apply(self, predictions: Predictions) -> Predictions:
        d = getattr(predictions, "dimension", 1)
        if d != self.shift.size:
            raise ValueError(f"predictions: got targets of dimension {d}, wanted {self.shift.size} as in the fit")
        return predictions.moved(self.shift, self.factor)


@dataclass(frozen=True)
class ShiftAndScale(Calibrator):
    """Distributions moved by a number of their standard deviations, with these multiplied by a factor.

    With the mean m and the standard deviation s of each prediction Z the map makes ``m + s shift + factor (Z - m)``,
    for each coordinate of vectors, whose correlations stay. Shift and factor have the smallest mean log loss. Where Z
    has an end or is a count, they are on another scale, so that they keep the family:

    ==================== =========================================== =================================
    predictions          shift                                       factor
    ==================== =========================================== =================================
    LogNormal            of the logarithms                           of their standard deviations
    Gamma                the mean times ``exp(shift)``               of the coefficient of variation
    Beta                 the odds of the mean times ``exp(shift)``   a + b divided by ``factor**2``
    NegativeBinomial     the mean times ``exp(shift)``               dispersion times ``factor**2``
    Poisson              the mean times ``exp(shift)``               dispersion ``factor**2 - 1``, if positive
    Continuous           the distance from a lower end times         none: it is 1
                         ``exp(shift)``, where all have only this
    ==================== =========================================== =================================

    Members of ensembles are moved so about the mean of their case, in units of their standard deviation (divisor m -
    1), by sums over all cases: ``shift = sum (y - m) / sum s``, and for M members
    ``factor**2 = sum (y - m - shift s)**2 / ((1 + 1 / M) sum s**2)``. Quantile forecasts are moved about the middle
    quantile, in units of the standard deviation of the normal law that has the outermost ones, by what has the smallest
    mean quantile loss.

    Raises
    ------
    TypeError
        When fitting, for predictions of classes (``VectorScaling`` is their map), and of ``Continuous`` laws with an
        upper end, of which ``QuantileRecalibration`` corrects the levels.
    ValueError
        When fitting, for bad data, predictions without spread, targets of density 0.

    Notes
    -----
    Assumes that errors have the same shift and factor everywhere, in units of what is predicted; ``calibration_test``
    of other rows says whether that is enough. Poisson predictions become negative binomial ones. Spreads of five
    members or fewer are so noisy that an error can be left, which ``calibration_test`` sees.
    Time O(n) for each of about 150 pairs of numbers. Source: normal predictions as in Gneiting, Raftery, Westveld and
    Goldman 2005, with a coefficient of 1 for the mean.

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> y = 1.0 + 2.0 * np.random.default_rng(1).normal(size=2000)
    >>> fitted = ct.recalibration.ShiftAndScale().fit(ct.Normal(np.zeros(2000), 1.0), y)
    >>> fitted.shift.round(2), fitted.factor.round(2), fitted(ct.Normal([0.0], 10.0)).mean.round(1)
    (array([0.97]), array([2.01]), array([9.7]))
    """

    citations = ("gneiting2005",)

    def fit(
        self, predictions: ArrayLike, targets: ArrayLike, *, classes: Sequence[Any] | None = None
    ) -> ShiftAndScaleMap:
        sample = as_sample(predictions, targets, classes, pooled=False)
        law, y = sample.predictions, sample.as_given
        at_least(len(sample), 2, "a shift and a factor")
        _check_losses(sample, "VectorScaling()")
        law.moved(0.0, 1.0)
        laws = [law] if y.ndim == 1 else coordinates_of(law, y.shape[1])
        found = [one.best_move(y.T[t] if y.ndim > 1 else y) for t, one in enumerate(laws)]
        shift, factor = np.array(found).T
        return ShiftAndScaleMap(law.family, shift, np.clip(factor, *FACTORS), fitted_rows=digest(moment_rows(law)))


def _check_losses(sample: Sample, others: str) -> None:
    """Raise an error for predictions of classes, and for targets of density 0 or infinity."""
    law = sample.predictions
    if law.of_classes is not None:
        raise TypeError(
            f"predictions: got {law.family} predictions, wanted distributions of numbers or vectors; for classes use "
            f"{others}"
        )
    are_finite = np.isfinite(sample.losses)
    if not are_finite.all():
        row = int(np.argmin(are_finite))
        raise ValueError(f"targets: got one of density 0 or infinity at row {row}, wanted positive finite densities")


NEAREST = 1e-15
"""Corrected levels stay this far away from 0 and 1, where quantiles are infinite."""


@dataclass(frozen=True, eq=False, repr=False)
class QuantileMap(FamilyMap):
    """Quantiles at corrected levels, which are forecasts for the levels."""

    levels: FloatArray
    corrected: FloatArray

    def _check(self) -> None:
        for name in ("levels", "corrected"):
            require_increasing(name, getattr(self, name), NEAREST, 1.0 - NEAREST)
        same = 0 < self.levels.size == self.corrected.size
        require(same, "corrected", self.corrected.shape, f"one for each of at least one of levels, {self.levels.shape}")

    def _apply(self, predictions: Predictions) -> QuantileForecast:
        return QuantileForecast(self.levels, predictions.quantile(self.corrected[:, None]).T)


@dataclass(frozen=True)
class QuantileRecalibration(Calibrator):
    """Quantiles of continuous distributions, at levels corrected by the distribution of the PIT values.

    With U = F(Y), the probability integral transforms of the fit, and G their distribution function, the forecast for
    level l is ``F^-1(G^-1(l))``. G is the isotonic regression of the ranks of the U divided by n + 1, linear between
    them, so that ``G^-1(l)`` is their quantile at position (n + 1) l.

    Parameters
    ----------
    levels
        Increasing numbers between 0 and 1.

    Raises
    ------
    ValueError
        For other levels; when fitting, for levels below 1 / (n + 1) or above n / (n + 1), for predictions without
        spread, and where PIT values are equal at several levels.
    TypeError
        When fitting, for predictions of vectors, classes or counts.

    Notes
    -----
    The map makes ``QuantileForecast`` predictions, since quantiles at a few levels are what it knows. Of observations
    that are exchangeable with those of the fit, a share r / (n + 1) is below the quantile for l = r / (n + 1) on
    average, whatever the predictions. That is calibration on average, not for each prediction. Time O(n log n).
    Source: Kuleshov, Fenner and Ermon 2018, with ranks in the place of their regression.

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> y = 2.0 * np.random.default_rng(1).normal(size=2000)
    >>> fitted = ct.recalibration.QuantileRecalibration([0.1, 0.9]).fit(ct.Normal(np.zeros(2000), 1.0), y)
    >>> fitted(ct.Normal([0.0], 1.0)).values.round(1).tolist()
    [[-2.6, 2.6]]
    """

    citations = ("kuleshov2018",)
    levels: Sequence[float] = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
    _checks = {"levels": increasing_levels}

    def fit(self, predictions: ArrayLike, targets: ArrayLike, *, classes: Sequence[Any] | None = None) -> QuantileMap:
        sample = as_sample(predictions, targets, classes)
        given: Predictions = sample.predictions
        given.check_continuous()
        wanted, n = np.array(self.levels), len(sample)
        if wanted[0] * (n + 1) < 1.0 - 1e-9 or wanted[-1] * (n + 1) > n + 1e-9:
            raise ValueError(
                f"predictions: got {n} observations, wanted enough for levels between 1 / (n + 1) and n / (n + 1)"
            )
        ranks = np.quantile(given.cdf(sample.targets), wanted, method="weibull")
        corrected = np.clip(ranks, NEAREST, 1.0 - NEAREST)
        if (np.diff(corrected) <= 0.0).any():
            raise ValueError(
                "targets: got equal PIT values F(Y) at several levels, wanted fewer levels or more targets"
            )
        return QuantileMap(given.family, wanted, corrected, fitted_rows=digest(moment_rows(given)))
