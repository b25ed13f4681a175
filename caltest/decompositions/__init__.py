"""Decompositions of scores, and what confidence misses."""

from caltest.decompositions.confidence_errors import ConfidenceErrors, confidence_errors
from caltest.decompositions.score_decomposition import ScoreDecomposition, score_decomposition
from caltest.decompositions.scores import brier_scores, log_scores

__all__ = [
    "ConfidenceErrors",
    "ScoreDecomposition",
    "brier_scores",
    "confidence_errors",
    "log_scores",
    "score_decomposition",
]
