"""Estimators of calibration errors."""

from caltest.estimators.base import BoundedEstimator, Estimator, MeanOfTerms, UStatistic, VectorMean
from caltest.estimators.ece import ECE
from caltest.estimators.low_rank import LowRankSKCE
from caltest.estimators.mmce import MMCE
from caltest.estimators.skce import SKCE, BlockSKCE
from caltest.estimators.ucme import UCME

__all__ = [
    "ECE",
    "MMCE",
    "SKCE",
    "UCME",
    "BlockSKCE",
    "BoundedEstimator",
    "Estimator",
    "LowRankSKCE",
    "MeanOfTerms",
    "UStatistic",
    "VectorMean",
]
