"""Logistic regressions of binary outcomes: Platt scaling and beta calibration."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit

from caltest._basics.numerics import Array, FloatArray, IntArray
from caltest._loops.statistics.logistic import maximise
from caltest._validation import choice
from caltest.recalibration.base import ProbabilityCalibrator, ProbabilityMap
from caltest.recalibration.shared.storage import LARGEST, require

CLIP = 1e-12
"""Probabilities are taken as at least this, and at most 1 minus this, before logarithms."""

RANK = 1e-9
"""Columns of which less than this part is new count as combinations of the others."""


def log_odds(scores: FloatArray, scale: str) -> FloatArray:
    """Logits (n,) as they are, log-odds of probabilities (n,), at most those of 1 - 1e-12."""
    if scale == "logits":
        return scores
    p = np.clip(scores, CLIP, 1.0 - CLIP)
    return np.asarray(np.log(p) - np.log1p(-p))


def fit_labels(columns: FloatArray, labels: IntArray) -> tuple[FloatArray, float] | None:
    """Coefficients (q,) of the largest likelihood of labels (n,), and its logarithm; None for dependent columns.

    The coefficients of separated labels grow until the log-likelihood is within about 1e-11 of its supremum.
    """
    largest, basis, triangle = _orthonormal(columns)
    if triangle is None:
        return None
    coefficients = np.zeros(columns.shape[1])
    _, value = maximise(basis, np.ascontiguousarray(labels, dtype=np.intp), coefficients, coefficients.size)
    return np.asarray(np.linalg.solve(triangle, coefficients) / largest, dtype=np.float64), float(value)


def _orthonormal(columns: FloatArray) -> tuple[FloatArray, FloatArray, Array | None]:
    """Units of the columns, a basis with mean squares 1, and the triangle that takes coefficients of one to the other.

    Squares of numbers in units of the largest one neither overflow nor vanish.
    """
    root = np.sqrt(columns.shape[0])
    largest = np.abs(columns).max(axis=0)
    scaled = columns / np.where(largest > 0.0, largest, 1.0)
    basis, triangle = np.linalg.qr(scaled)
    lengths = np.sqrt(np.square(scaled).sum(axis=0))
    if columns.shape[0] < columns.shape[1] or (np.abs(np.diag(triangle)) <= RANK * lengths).any():
        return largest, basis, None
    return largest, np.ascontiguousarray(basis * root), triangle / root


ON = ("log-odds", "scores")


@dataclass(frozen=True, eq=False, repr=False)
class PlattMap(ProbabilityMap):
    """``sigmoid(slope s + intercept)``."""

    slope: float
    intercept: float
    on: str

    binary = True

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
    input
        ``"probabilities"`` (n,) or ``"logits"``: log-odds or other real scores (n,).

    Notes
    -----
    Time O(n) a Newton step, about 6 steps. Separated labels (or of one class only) have no largest likelihood: a and b
    grow until the log-likelihood is within 1e-11 of 0, so that probabilities are finite and nearly 0 or 1. Constant
    predictions have a = 0. The slope a may be negative, which reverses the order.
    Source: Platt 1999, without the smoothing of labels there.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["naive Bayes"]
    >>> confidence, right = ct.top_label(p, y)
    >>> fitted = ct.recalibration.Platt().fit(confidence, right)
    >>> print(f"{fitted.slope:.3f} {fitted.intercept:.3f}")
    0.102 -0.499
    """

    citations = ("platt1999",)
    on: str = "log-odds"

    binary = True
    _checks = {"on": choice(ON)}

    def _fit(self, scores: FloatArray, labels: IntArray) -> PlattMap:
        values = log_odds(scores, self.input) if self.on == "log-odds" else scores
        columns = np.stack([np.ones_like(values), values], axis=1)
        # The slope of constant predictions is 0.
        fitted = fit_labels(columns, labels) or fit_labels(columns[:, :1], labels)
        assert fitted is not None
        intercept, slope = np.append(fitted[0], 0.0)[:2]
        return PlattMap(self.input, 2, float(slope), float(intercept), self.on)


ACTIVE_SETS = ((0, 1, 2), (0, 1), (0, 2), (0,))
"""Columns 1, log p, -log(1 - p): which coefficients are free, the others are 0."""


@dataclass(frozen=True, eq=False, repr=False)
class BetaMap(ProbabilityMap):
    """``sigmoid(c + a log p - b log(1 - p))``."""

    a: float
    b: float
    c: float

    binary = True
    ranges = {"a": (0.0, LARGEST), "b": (0.0, LARGEST), "c": (-LARGEST, LARGEST)}

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

    citations = ("kull2017",)
    binary = True

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
