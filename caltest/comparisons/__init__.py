"""Comparisons of models, and of the classes of a model: two of them in pairs, or several in a table."""

from caltest.comparisons.classes import compare_classes
from caltest.comparisons.models import compare_models
from caltest.comparisons.paired import PairedSKCETest
from caltest.comparisons.result import ComparedModel, ModelComparison

__all__ = ["ComparedModel", "ModelComparison", "PairedSKCETest", "compare_classes", "compare_models"]
