"""Platt scaling: a logistic regression of outcomes on log-odds or scores."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from caltest._basics.types import FloatArray, IntArray
from caltest._validation import one_of, switch
from caltest.recalibration.base import ProbabilityCalibrator, ProbabilityMap
from caltest.recalibration.shared.logistic import fit_fractions, fit_labels, log_odds
from caltest.recalibration.shared.storage import require

ON = ("log-odds", "scores")


@dataclass(frozen=True, eq=False, repr=False)
class PlattMap(ProbabilityMap):
    """``sigmoid(slope s + intercept)``."""

    slope: float
    intercept: float
    on: str

    binary: ClassVar[bool] = True

    def _check(self) -> None:
        super()._check()
        require(self.on in ON, "on", self.on, "'log-odds' or 'scores'")

    def _apply(self, scores: FloatArray) -> FloatArray:
        values = log_odds(scores, self.input) if self.on == "log-odds" else scores
        return np.asarray(expit(self.slope * values + self.intercept))


@dataclass(frozen=True)
class Platt(ProbabilityCalibrator):
    """Platt scaling of binary predictions: ``sigmoid(a s + b)`` with a, b of the largest likelihood.

    Parameters
    ----------
    on
        ``"log-odds"``: s = log(p / (1 - p)), so that a = 1, b = 0 leave predictions as they are, with p clipped to
        [1e-12, 1 - 1e-12]; ``"scores"``: the numbers themselves, the probabilities p in Wenger et al. 2020.
        Logits are log-odds already: both are the same then.
    smooth
        Replace the labels 1 and 0 by Platt's targets ``(n_1 + 1) / (n_1 + 2)`` and ``1 / (n_0 + 2)`` for n_1 and n_0
        labels of each kind, which keeps the probabilities of separated labels away from 0 and 1.
    input
        ``"probabilities"`` (n,) or ``"logits"``: log-odds or other real scores (n,).

    Notes
    -----
    Time O(n) a Newton step, about 6 steps. Separated labels (or of one class only) have no largest likelihood: without
    ``smooth`` a and b grow until the log-likelihood is within 1e-11 of 0, so that probabilities are finite and nearly 0
    or 1. Constant predictions have a = 0. The slope a may be negative, which reverses the order.
    Source: Platt 1999; targets as in Lin, Lin and Weng 2007.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> confidence, right = ct.top_label(p, y)
    >>> fitted = ct.recalibration.Platt().fit(confidence, right)
    >>> print(f"{fitted.slope:.3f} {fitted.intercept:.3f}")
    0.102 -0.499
    """

    on: str = "log-odds"
    smooth: bool = False

    binary: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("on", self.on, ON)
        object.__setattr__(self, "smooth", switch("smooth", self.smooth))

    def _fit(self, scores: FloatArray, labels: IntArray) -> PlattMap:
        values = log_odds(scores, self.input) if self.on == "log-odds" else scores
        slope, intercept = self._coefficients(np.stack([np.ones_like(values), values], axis=1), labels)
        return PlattMap(self.input, 2, slope, intercept, self.on)

    def _coefficients(self, columns: FloatArray, labels: IntArray) -> tuple[float, float]:
        """Slope and intercept; the slope of constant predictions is 0."""
        fitted = self._regression(columns, labels)
        if fitted is not None:
            return float(fitted[1]), float(fitted[0])
        constant = self._regression(columns[:, :1], labels)
        assert constant is not None
        return 0.0, float(constant[0])

    def _regression(self, columns: FloatArray, labels: IntArray) -> FloatArray | None:
        if self.smooth:
            n1 = int(labels.sum())
            n0 = labels.size - n1
            return fit_fractions(columns, np.where(labels == 1, (n1 + 1) / (n1 + 2), 1 / (n0 + 2)))
        fitted = fit_labels(columns, labels)
        return None if fitted is None else fitted[0]
