"""What recalibration makes of predictions, and the score by which it is chosen."""

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from caltest._basics.numerics import Array, FloatArray
from caltest.predictions.reductions.standard_scores import own_units

if TYPE_CHECKING:
    from caltest.predictions.base import Predictions

NO_EFFECT = 1e-8
"""Less than this a factor lowers no mean loss that it has an effect on."""

FACTORS = 2e-9, 5e8
"""The smallest and the largest factor of a spread."""

STEP = 0.1
"""First changes of shift and factor, as shares of the latter."""

WORST = 1e200
"""Mean loss of predictions that are none."""


def mean_loss(changed: Callable[[], "Predictions"], targets: Array) -> float:
    """Of predictions that can be none: powers of Student t densities without integral, parameters beyond doubles."""
    try:
        with np.errstate(all="ignore"):
            value = float(changed().losses(targets).mean())
    except ValueError:
        return WORST
    return value if np.isfinite(value) else WORST


class Repairable:
    """Predictions at another temperature, and moved and stretched ones, for families that know them."""

    if TYPE_CHECKING:
        family: ClassVar[str]

        @property
        def normal(self) -> tuple[FloatArray, FloatArray] | None: ...

        def log_density(self, targets: Array) -> FloatArray: ...

        @property
        def is_continuous(self) -> bool: ...

        @property
        def nearest_normal(self) -> "Predictions | None": ...

    def at_temperature(self, temperature: float) -> "Predictions":
        """Predictions with densities proportional to ``p**(1/T)`` (Widmann et al. 2021, Definition F.1).

        T above 1 makes them less certain, T below 1 more. ``TypeError`` for families that are not closed under it.
        """
        raise TypeError(
            f"temperature: got {self.family} predictions, whose powers are no {self.family} distributions; "
            "change their parameters instead"
        )

    largest_shift: ClassVar[float] = inf
    """Beyond which none is looked for, where it is a logarithm."""

    @property
    def loss_name(self) -> str:
        """Of ``losses``."""
        return "log loss"

    def losses(self, targets: Array) -> FloatArray:
        """Values (n,) of a proper score, of which less is better, of targets (n,) or (n, d): ``-log p(y)``."""
        return np.asarray(-self.log_density(targets))

    def moved(self, shift: FloatArray | float, factor: FloatArray | float) -> "Predictions":
        """Predictions of ``m + s shift + factor (Z - m)``, for means m and standard deviations s of Z.

        Where Z has an end families say what takes its place, with the same predictions for a shift of 0 and a factor
        of 1. Vectors take numbers for each coordinate. ``TypeError`` for families of which it is not known.
        """
        units = self.normal or own_units(cast("Predictions", self))
        if units is None:
            levels = "recalibration.QuantileRecalibration corrects levels of quantiles, or change their parameters"
            raise TypeError(
                f"predictions: got {self.family} predictions, with an end, jumps or several numbers, of which no shift "
                f"and factor are known here; {levels if self.is_continuous else 'change their parameters instead'}"
            )
        mean, deviation = units
        return self.affine(mean + shift * deviation - factor * mean, factor)

    def best_move(self, targets: Array) -> tuple[float, float]:
        """The shift and the factor of the smallest mean loss of these targets (n,); a factor without effect is 1."""
        from scipy.optimize import minimize

        def loss(values: FloatArray) -> float:
            shift, log_factor = np.clip(values, -limits, limits)
            return mean_loss(lambda: self.moved(shift, np.exp(log_factor)), targets)

        limits = np.array([self.largest_shift, np.log(FACTORS[1])])
        z = (self.nearest_normal or cast("Predictions", self)).standard_scores(targets[None])[0]
        with np.errstate(divide="ignore"):
            starts = np.zeros(2), np.array([z.mean(), max(np.log(z.std()), -limits[1])])
        start = min(starts, key=loss)
        steps = start + STEP * np.array([[0.0, 0.0], [np.exp(start[1]), 0.0], [0.0, 1.0]])
        options = {"initial_simplex": steps, "xatol": 1e-9, "fatol": 1e-13, "maxiter": 1000}
        found = np.clip(minimize(loss, start, method="Nelder-Mead", options=options).x, -limits, limits)
        shift = float(found[0])
        return shift, 1.0 if loss(np.array([shift, 0.0])) <= loss(found) + NO_EFFECT else float(np.exp(found[1]))

    def affine(self, offset: FloatArray, factor: FloatArray | float) -> "Predictions":
        """Predictions of ``offset + factor Z``, for offsets (..., n); ``TypeError`` where these are not known."""
        raise TypeError(
            f"predictions: got {self.family} predictions, of which no shift and factor are known here; a class of your "
            "own has them from a method affine(offset, factor), and recalibration.QuantileRecalibration needs none"
        )
