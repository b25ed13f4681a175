"""Comparisons of models, and of the classes of a model: two of them in pairs, or several in a table."""

from caltest.comparisons.classes import compare_classes
from caltest.comparisons.model_comparison import ComparedModel, ModelComparison
from caltest.comparisons.models import compare_models
from caltest.comparisons.paired import PairedSKCETest
from caltest.comparisons.pairs import ComparedPair, PairComparison, compare_pairs

__all__ = [
    "ComparedModel",
    "ComparedPair",
    "ModelComparison",
    "PairComparison",
    "PairedSKCETest",
    "compare_classes",
    "compare_models",
    "compare_pairs",
]
