"""Recalibration of the quantiles of continuous distributions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from caltest._basics.types import ArrayLike, FloatArray
from caltest._validation import levels
from caltest.predictions import Predictions, QuantileForecast
from caltest.predictions.convert import as_sample
from caltest.recalibration.base import Calibrator, FamilyMap
from caltest.recalibration.shared.seen import digest, rows_of
from caltest.recalibration.shared.storage import require, require_increasing

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

    levels: Sequence[float] = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)

    def __post_init__(self) -> None:
        values = levels("levels", self.levels)
        if values.ndim != 1 or values.size == 0 or (np.diff(values) <= 0.0).any():
            raise ValueError(f"levels: got {self.levels!r}, wanted increasing numbers between 0 and 1")
        object.__setattr__(self, "levels", tuple(values.tolist()))

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
        return QuantileMap(given.family, wanted, corrected, fitted_rows=digest(rows_of(given)))
