"""Proper scores of predictions of classes."""

from typing import Literal

import numpy as np

from caltest._basics.types import FloatArray

Score = Literal["brier", "log"]

SMALLEST = 5e-324
"""Probabilities of 0 count as this in the log scores of all outcomes."""


def outcome_scores(p: FloatArray, score: Score) -> FloatArray:
    """``|e_y - p|**2`` or ``-log p_y`` for each outcome y, (..., k) as p is."""
    if score == "brier":
        return np.asarray(1.0 - 2.0 * p + np.square(p).sum(axis=-1, keepdims=True))
    return np.asarray(-np.log(np.maximum(p, SMALLEST)))
