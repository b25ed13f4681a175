"""Estimators of calibration errors."""

from caltest.estimators.accumulator import Accumulator, EstimateAccumulator
from caltest.estimators.base import (
    BoundedEstimator,
    Estimator,
    MeanOfTerms,
    SummableEstimator,
    UStatistic,
    VectorMean,
)
from caltest.estimators.cross import CrossSKCE, OutcomeTerms
from caltest.estimators.ece import ECE
from caltest.estimators.low_rank import LowRankSKCE
from caltest.estimators.mmce import MMCE
from caltest.estimators.moments import Moments
from caltest.estimators.skce import SKCE, BlockSKCE
from caltest.estimators.ucme import UCME

__all__ = [
    "ECE",
    "MMCE",
    "SKCE",
    "UCME",
    "Accumulator",
    "BlockSKCE",
    "BoundedEstimator",
    "CrossSKCE",
    "EstimateAccumulator",
    "Estimator",
    "LowRankSKCE",
    "MeanOfTerms",
    "Moments",
    "OutcomeTerms",
    "SummableEstimator",
    "UStatistic",
    "VectorMean",
]
