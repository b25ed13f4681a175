"""Decompositions of scores, and what confidence misses."""

from caltest.decompositions.confidence_errors import ConfidenceErrors, confidence_errors
from caltest.decompositions.score_decomposition import ScoreDecomposition, score_decomposition

__all__ = [
    "ConfidenceErrors",
    "ScoreDecomposition",
    "confidence_errors",
    "score_decomposition",
]
