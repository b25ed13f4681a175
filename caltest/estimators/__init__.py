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
from caltest.estimators.classical import (
    ECCE,
    PIT,
    CalibrationBelt,
    CORPMiscalibration,
    CoxCalibration,
    CoxCalibrationResult,
    HosmerLemeshow,
    LogScoreZ,
    QuantileCalibration,
    Spiegelhalter,
    TCal,
    cox_calibration,
)
from caltest.estimators.cross import CrossSKCE, OutcomeTerms
from caltest.estimators.ece import ECE
from caltest.estimators.joint import JointEstimator
from caltest.estimators.likelihood_ratio import LogLikelihoodRatio
from caltest.estimators.low_rank import LowRankSKCE
from caltest.estimators.max_skce import MaxSKCE
from caltest.estimators.mmce import MMCE
from caltest.estimators.moments import Moments
from caltest.estimators.omnibus import Omnibus
from caltest.estimators.scores import ExcessBrierScore, ExcessLogScore, ResidualMean, ResidualSpread
from caltest.estimators.skce import SKCE, BlockSKCE
from caltest.estimators.textbook import HasTextbookLaw, TextbookTail
from caltest.estimators.ucme import UCME

__all__ = [
    "ECCE",
    "ECE",
    "MMCE",
    "PIT",
    "SKCE",
    "UCME",
    "Accumulator",
    "BlockSKCE",
    "BoundedEstimator",
    "CORPMiscalibration",
    "CalibrationBelt",
    "CoxCalibration",
    "CoxCalibrationResult",
    "CrossSKCE",
    "EstimateAccumulator",
    "Estimator",
    "ExcessBrierScore",
    "ExcessLogScore",
    "HasTextbookLaw",
    "HosmerLemeshow",
    "JointEstimator",
    "LogLikelihoodRatio",
    "LogScoreZ",
    "LowRankSKCE",
    "MaxSKCE",
    "MeanOfTerms",
    "Moments",
    "Omnibus",
    "OutcomeTerms",
    "QuantileCalibration",
    "ResidualMean",
    "ResidualSpread",
    "Spiegelhalter",
    "SummableEstimator",
    "TCal",
    "TextbookTail",
    "UStatistic",
    "VectorMean",
    "cox_calibration",
]
