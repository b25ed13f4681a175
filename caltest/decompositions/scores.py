"""Scores of predictions of classes."""

from typing import Literal

import numpy as np

from caltest._types import Array, FloatArray

Score = Literal["brier", "log"]

SMALLEST = 5e-324
"""Probabilities of 0 count as this in scores of all outcomes."""


def brier_scores(p: FloatArray, labels: Array) -> FloatArray:
    """``|e_y - p|**2``, (n,)."""
    return np.asarray(1.0 - 2.0 * p[np.arange(len(p)), labels] + np.square(p).sum(axis=1))


def log_scores(p: FloatArray, labels: Array) -> FloatArray:
    """``-log p_y``, (n,)."""
    return np.asarray(-np.log(p[np.arange(len(p)), labels]))


def scores_of(p: FloatArray, score: Score) -> FloatArray:
    """``|e_y - p|**2`` or ``-log p_y`` for each outcome y, (..., k) as p is."""
    if score == "brier":
        return np.asarray(1.0 - 2.0 * p + np.square(p).sum(axis=-1, keepdims=True))
    return np.asarray(-np.log(np.maximum(p, SMALLEST)))
