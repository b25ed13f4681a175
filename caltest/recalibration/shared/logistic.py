"""Logistic regressions on a few columns, which also end where labels are separated."""

import warnings

import numpy as np
from scipy.special import logit

from caltest._basics.types import Array, FloatArray, IntArray
from caltest._loops.statistics.logistic import maximise

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


def fit_fractions(columns: FloatArray, fractions: FloatArray) -> FloatArray | None:
    """The same coefficients for numbers between 0 and 1 in the place of labels; the first column is 1."""
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM
    from statsmodels.tools.sm_exceptions import PerfectSeparationWarning

    largest, basis, triangle = _orthonormal(columns)
    if columns.shape[1] == 1 or np.ptp(fractions) == 0.0:
        return np.append(logit(fractions.mean()), np.zeros(columns.shape[1] - 1))
    if triangle is None:
        return None
    with warnings.catch_warnings():
        # The fit can be exact, and fractions separate nothing.
        warnings.simplefilter("ignore", PerfectSeparationWarning)
        fitted = GLM(fractions, basis, family=Binomial()).fit(tol=1e-13, maxiter=200)
    return np.asarray(np.linalg.solve(triangle, fitted.params) / largest)


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
