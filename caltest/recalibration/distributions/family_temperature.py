"""Temperature scaling of distributions of numbers and vectors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from caltest._basics.types import Array, ArrayLike
from caltest.predictions import Predictions
from caltest.predictions.convert import as_sample
from caltest.recalibration.base import Calibrator, FamilyMap
from caltest.recalibration.shared.seen import digest, rows_of
from caltest.recalibration.shared.storage import require_range

SMALLEST, LARGEST = 1e-3, 1e3
"""Range of the temperature."""

ROUNDING = 1e-12
"""Of the exponentials of the ends of this range."""

WORST = 1e200
"""Loss of temperatures at which the family has no finite density."""


@dataclass(frozen=True, eq=False, repr=False)
class FamilyTemperatureMap(FamilyMap):
    """``predictions.at_temperature(temperature)``, for predictions of one family."""

    temperature: float

    def _check(self) -> None:
        require_range("temperature", self.temperature, SMALLEST * (1.0 - ROUNDING), LARGEST * (1.0 + ROUNDING))

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

    def fit(
        self, predictions: ArrayLike, targets: ArrayLike, *, classes: Sequence[Any] | None = None
    ) -> FamilyTemperatureMap:
        sample = as_sample(predictions, targets, classes)
        given = sample.predictions
        if given.finite is not None:
            raise TypeError(
                f"predictions: got {given.family} predictions, wanted distributions of numbers or vectors; for classes "
                "use TemperatureScaling()"
            )
        if not np.isfinite(given.log_density(sample.targets)).all():
            row = int(np.argmin(np.isfinite(given.log_density(sample.targets))))
            raise ValueError(
                f"targets: got one of density 0 or infinity at row {row}, wanted positive finite densities"
            )
        temperature = _best_temperature(given, sample.targets)
        return FamilyTemperatureMap(given.family, temperature, fitted_rows=digest(rows_of(given)))


def _best_temperature(predictions: Predictions, targets: Array) -> float:
    from scipy.optimize import minimize_scalar

    def loss(log_temperature: float) -> float:
        try:
            with np.errstate(all="ignore"):
                tempered = predictions.at_temperature(float(np.exp(log_temperature)))
                value = float(-tempered.log_density(targets).mean())
        except ValueError:
            # Powers of Student t densities that have no finite integral, parameters beyond double precision.
            return WORST
        return value if np.isfinite(value) else WORST

    ends = np.log(SMALLEST), np.log(LARGEST)
    found = minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-9, "maxiter": 500})
    best = min((float(found.x), *ends), key=loss)
    return float(np.exp(best))
