"""What faults of numbers and vectors see of targets: their standard scores."""

from dataclasses import dataclass
from functools import cached_property
from math import exp, sqrt

import numpy as np
import scipy

from caltest._basics.numerics import Array, BoolArray, FloatArray
from caltest.predictions.base import Predictions
from caltest.predictions.standard_scores import in_units, own_units, scores_of

CLIPPED = 6.0
"""Scores of targets are at most this large in rows, so that a few redraws know their spread."""

HALVINGS = 30
"""Of the range of a shift in the units of the targets."""

MOST_PAIRED = 32
"""Coordinates of vectors that are compared in pairs."""


@dataclass
class Scores:
    """Targets (B, n) or (B, n, d) on the scale of their standard scores, and residuals of the first of them.

    Residuals are the scores, which are standard normal if the predictions are calibrated. Those of ensembles of m
    members are differences to the mean of the members in units of the standard error of a forecast,
    ``s sqrt(1 + 1 / m)``, which have Student's t distribution of m - 1 degrees of freedom if outcome and members are
    normal draws.
    """

    law: Predictions
    targets: Array
    given_weights: FloatArray
    spread: BoolArray | None = None
    """Which predictions have a spread that is known not to be 0; None if all are."""
    corrected: FloatArray | None = None
    """Residuals of the first targets after a correction of the predictions."""

    @cached_property
    def weights(self) -> FloatArray:
        """Those of the observations, 0 for those that are certain and right, which have no residuals."""
        if self.spread is None:
            return self.given_weights
        return np.asarray(self.given_weights * (self.spread | (self.residuals != 0.0)))

    @cached_property
    def z(self) -> FloatArray:
        """The scores; those of vectors of one number are numbers."""
        scores = scores_of(self.law, self.targets)
        return scores[..., 0] if scores.ndim == 3 and scores.shape[2] == 1 else scores

    @cached_property
    def clipped(self) -> FloatArray:
        """Scores for the rows."""
        return np.clip(self.z, -CLIPPED, CLIPPED)

    @cached_property
    def products(self) -> FloatArray:
        """Those of each two of the first coordinates of vectors, (B, pairs, n)."""
        z = np.ascontiguousarray(self.clipped[:, :, :MOST_PAIRED].swapaxes(1, 2))
        return np.concatenate([z[:, [a]] * z[:, a + 1 :] for a in range(z.shape[1] - 1)], axis=1)

    @cached_property
    def centred_levels(self) -> FloatArray:
        """``2 F(y) - 1``."""
        return np.asarray(scipy.special.erf(self.clipped * sqrt(0.5)))

    @cached_property
    def residuals(self) -> FloatArray:
        """Those of the first targets, (n,) or (n, d)."""
        if self.corrected is not None:
            return self.corrected
        residuals = self.z[0] if self._m is None else self.law.pool_residuals(self.targets[0])
        return residuals.reshape(self.z[0].shape)

    def total(self, logs: FloatArray) -> float:
        """The log likelihood ratio of all observations from those (n,) of each."""
        return float(self.weights @ logs)

    @property
    def known_share(self) -> float:
        """Of the weight that is of residuals that are known, and not only to be in an interval."""
        return 1.0

    @cached_property
    def _units(self) -> tuple[FloatArray, FloatArray] | None:
        """None where standard scores are errors in these units, and where only scores are known."""
        return None if self.corrected is not None else own_units(self.law)

    @cached_property
    def errors(self) -> FloatArray:
        """Those of the first targets, (n,) or (n, d)."""
        if self._units is None:
            return self.residuals
        mean, deviation = self._units
        return in_units(self.targets[0].reshape(-1) - mean, deviation)

    def with_errors(self, errors: FloatArray) -> "FloatArray | Scores":
        """What is seen of first targets with other errors: residuals, or scores where targets are known for them."""
        if self._units is None:
            return errors
        mean, deviation = self._units
        return Scores(self.law, (mean + deviation * errors)[None], self.given_weights, self.spread)

    def after(self, correction: "FloatArray | Scores") -> "Scores":
        """The same with other residuals of the first targets, or other targets."""
        if isinstance(correction, Scores):
            return correction
        return Scores(self.law, self.targets, self.weights, corrected=correction)

    @cached_property
    def squares(self) -> FloatArray:
        """Their squares."""
        return np.square(self.residuals)

    def shifted_back(self, signs: FloatArray, location: FloatArray) -> FloatArray | None:
        """Residuals of numbers if outcomes were lower by one amount times some signs (n,), so that their mean is 0.

        Locations (n,) of the predictions say how large the amount can be.
        """
        if self._m is not None:
            share = self.law.spread_shares(np.square(self.z[:1])).reshape(-1)
            deviations = np.sqrt(self.law.moments()[1].reshape(-1) * share)
            units = signs * np.divide(1.0, deviations, out=np.zeros_like(deviations), where=deviations > 0.0)
            amount = float(self.weights * units @ self.residuals) / max(float(self.weights @ np.square(units)), 1e-300)
            return np.asarray(self.residuals - amount * units)
        y = self.targets[0].reshape(-1)
        far = 2.0 * float(np.abs(y - location).max())

        def residuals(amount: float) -> FloatArray:
            return np.asarray(scores_of(self.law, (y - amount * signs)[None])[0].reshape(-1))

        low, high = -far, far
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.weights * signs @ residuals(middle) > 0.0 else (low, middle)
        return residuals(low)

    @property
    def _m(self) -> int | None:
        return None if self.law.pool_size is None else self.law.pool_size - 1

    @property
    def unit(self) -> float:
        """A residual of 1 in predicted standard deviations."""
        return 1.0 if self._m is None else sqrt(1.0 + 1.0 / self._m)

    def ratio(self, log_scale: float) -> float:
        """The ratio of errors to those predicted, for a log scale of the residuals."""
        if self._m is None:
            return exp(log_scale)
        # The variance of the mean of the members is a part of that of the residuals.
        return sqrt(max(0.0, (1.0 + 1.0 / self._m) * exp(2.0 * log_scale) - 1.0 / self._m))

    def log_kernel(self, errors: FloatArray) -> FloatArray:
        """Logarithm of their density if calibrated, but for a constant."""
        if self._units is not None:
            mean, deviation = self._units
            return self.law.log_density(mean + deviation * errors)
        squares = np.square(errors)
        if self._m is None:
            return np.asarray(-0.5 * squares)
        return np.asarray(-0.5 * self._m * np.log1p(squares / (self._m - 1.0)))

    def share_of(self, some: BoolArray) -> float:
        """Share of the weight of some observations (n,)."""
        return float(self.weights @ some / self.weights.sum())
