"""Beta calibration of binary predictions."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, log_expit

from caltest._basics.types import FloatArray, IntArray
from caltest.recalibration.base import ProbabilityCalibrator, ProbabilityMap
from caltest.recalibration.shared.logistic import fit_labels, log_odds
from caltest.recalibration.shared.storage import LARGEST, require_range

ACTIVE_SETS = ((0, 1, 2), (0, 1), (0, 2), (0,))
"""Columns 1, log p, -log(1 - p): which coefficients are free, the others are 0."""


@dataclass(frozen=True, eq=False, repr=False)
class BetaMap(ProbabilityMap):
    """``sigmoid(c + a log p - b log(1 - p))``."""

    a: float
    b: float
    c: float

    binary: ClassVar[bool] = True

    def _check(self) -> None:
        super()._check()
        require_range("a", self.a, 0.0, LARGEST)
        require_range("b", self.b, 0.0, LARGEST)
        require_range("c", self.c, -LARGEST, LARGEST)

    def _apply(self, scores: FloatArray) -> FloatArray:
        return np.asarray(expit(_columns(scores, self.input) @ np.array([self.c, self.a, self.b])))


@dataclass(frozen=True)
class BetaCalibration(ProbabilityCalibrator):
    """Beta calibration of binary predictions: ``sigmoid(c + a log p - b log(1 - p))`` with a, b >= 0.

    Increasing functions, the identity (a = b = 1, c = 0) among them. The likelihood is concave, so the largest one with
    a, b >= 0 is the largest of those with a, b free, or one or both of them 0, that have no negative coefficient.

    Parameters
    ----------
    input
        ``"probabilities"`` (n,), clipped to [1e-12, 1 - 1e-12], or ``"logits"``: log-odds (n,).

    Notes
    -----
    Four logistic regressions: time O(n). Separated labels have no largest likelihood: the coefficients grow until the
    log-likelihood is within 1e-11 of 0. Constant predictions have a = b = 0. Source: Kull, Silva Filho and Flach 2017.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> confidence, right = ct.top_label(p, y)
    >>> fitted = ct.recalibration.BetaCalibration().fit(confidence, right)
    >>> print(f"{fitted.a:.3f} {fitted.b:.3f} {fitted.c:.3f}")
    0.885 0.099 -0.424
    """

    binary: ClassVar[bool] = True

    def _fit(self, scores: FloatArray, labels: IntArray) -> BetaMap:
        columns = _columns(scores, self.input)
        best, highest = np.zeros(3), -np.inf
        for free in ACTIVE_SETS:
            fitted = fit_labels(columns[:, free], labels)
            if fitted is None or (fitted[0][1:] < 0.0).any() or fitted[1] <= highest:
                continue
            best, highest = np.zeros(3), fitted[1]
            best[list(free)] = fitted[0]
        return BetaMap(self.input, 2, a=float(best[1]), b=float(best[2]), c=float(best[0]))


def _columns(scores: FloatArray, scale: str) -> FloatArray:
    odds = log_odds(scores, scale)
    return np.stack([np.ones_like(odds), log_expit(odds), -log_expit(-odds)], axis=1)
