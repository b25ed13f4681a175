"""Polynomials of log-odds, for logistic regressions of outcomes on predictions."""

from dataclasses import dataclass

import numpy as np
import scipy

from caltest._basics.numerics import Array, BoolArray, FloatArray, IntArray
from caltest._loops.statistics.logistic import maximise, selected_ratios

RANK = 1e-9
"""Columns of which less than this part is new count as combinations of those before."""

GAIN = "nats per observation gained by logistic recalibration, above the mean if calibrated"
"""The effect size of likelihood ratios."""


@dataclass(frozen=True)
class LogOdds:
    """Polynomials ``z(x)`` of the log-odds ``x = log(p / (1 - p))`` of the predictions that are not 0 or 1.

    The columns of the design are orthonormal with the weights p (1 - p), in which the information matrix of calibrated
    predictions is the identity; ``start`` has the coefficients for which ``z(x)' start = x``.
    """

    kept: BoolArray
    scale: float
    triangle: FloatArray
    design: FloatArray
    start: FloatArray

    @classmethod
    def of(cls, p: FloatArray, degree: int) -> "LogOdds":
        """Polynomials of at most a degree, of a lower one if there are not more than ``degree`` different values."""
        kept = (p > 0.0) & (p < 1.0)
        if not kept.any():
            return cls(kept, 1.0, np.eye(0), np.empty((0, 0)), np.empty(0))
        x = scipy.special.logit(p[kept])
        scale = max(float(np.abs(x).max()), 1e-300)
        powers = np.vander(x / scale, min(degree + 1, np.unique(x).size), increasing=True)
        weighted = np.sqrt(p[kept] * (1.0 - p[kept]))[:, None] * powers
        triangle = np.asarray(np.linalg.qr(weighted, mode="r"), dtype=np.float64)
        news = np.abs(np.diag(triangle)) > RANK * np.sqrt(np.square(weighted).sum(axis=0))
        rank = news.size if news.all() else int(np.argmin(news))
        triangle = triangle[:rank, :rank]
        design = np.linalg.solve(triangle.T, powers[:, :rank].T).T
        start = scale * triangle[:, 1] if rank > 1 else x[0] * triangle[:, 0]
        return cls(kept, scale, triangle, np.ascontiguousarray(design), np.ascontiguousarray(start))

    @property
    def rank(self) -> int:
        """Number of columns."""
        return int(self.start.size)

    def columns(self, p: FloatArray) -> FloatArray:
        """The design (m, q) of other predictions (m,)."""
        powers = np.vander(scipy.special.logit(p) / self.scale, self.rank, increasing=True)
        return np.asarray(np.linalg.solve(self.triangle.T, powers.T).T)

    def ratios(self, outcomes: Array, threshold: float) -> tuple[FloatArray, IntArray]:
        """Likelihood ratios of outcomes (B, n), (B,), and how many columns were selected for them."""
        if self.rank == 0:
            return np.zeros(len(outcomes)), np.zeros(len(outcomes), dtype=np.intp)
        inner = np.ascontiguousarray(outcomes if self.kept.all() else outcomes[:, self.kept])
        return selected_ratios(self.design, inner, self.start, min(2, self.rank), threshold)

    def fit(self, outcomes: Array, n_columns: int) -> FloatArray:
        """Coefficients (n_columns,) of the largest likelihood."""
        coefficients = self.start[:n_columns].copy()
        maximise(self.design, np.ascontiguousarray(outcomes[self.kept]), coefficients, n_columns)
        return coefficients
