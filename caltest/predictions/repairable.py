"""What recalibration makes of predictions, and the score by which it is chosen."""

from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from caltest._basics.numerics import Array, FloatArray
from caltest.predictions.standard_scores import own_units

if TYPE_CHECKING:
    from caltest.predictions.base import Predictions


class Repairable:
    """Predictions at another temperature, and moved and stretched ones, for families that know them."""

    if TYPE_CHECKING:
        family: ClassVar[str]

        @property
        def normal(self) -> tuple[FloatArray, FloatArray] | None: ...

        def log_density(self, targets: Array) -> FloatArray: ...

    def at_temperature(self, temperature: float) -> "Predictions":
        """Predictions with densities proportional to ``p**(1/T)`` (Widmann et al. 2021, Definition F.1).

        T above 1 makes them less certain, T below 1 more. ``TypeError`` for families that are not closed under it.
        """
        raise TypeError(
            f"temperature: got {self.family} predictions, whose powers are no {self.family} distributions; "
            "change their parameters instead"
        )

    loss_name: ClassVar[str] = "log loss"
    """Of ``losses``."""

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
            raise TypeError(
                f"predictions: got {self.family} predictions, with an end, jumps or several numbers, of which no shift "
                "and factor are known here; change their parameters instead"
            )
        mean, deviation = units
        return self.affine(mean + shift * deviation - factor * mean, factor)

    def best_move(self, targets: Array) -> tuple[float, float] | None:
        """The shift and the factor of these targets (n,); None for those of the smallest mean loss."""
        return None

    def affine(self, offset: FloatArray, factor: FloatArray | float) -> "Predictions":
        """Predictions of ``offset + factor Z``, for offsets (..., n); ``TypeError`` where these are not known."""
        raise TypeError(f"predictions: got {self.family} predictions, of which multiples are not known here")
