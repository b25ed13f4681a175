"""Estimators of calibration errors."""

from caltest.estimators.accumulator import Accumulator, EstimateAccumulator, Moments
from caltest.estimators.base import (
    BoundedEstimator,
    Estimator,
    HasTextbookLaw,
    MeanOfTerms,
    SummableEstimator,
    TextbookTail,
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
    QuantileCalibration,
    TCal,
    cox_calibration,
)
from caltest.estimators.classwise_ece import ClasswiseECE
from caltest.estimators.cluster_likelihood_ratio import ClusterLikelihoodRatio
from caltest.estimators.cluster_skce import ClusterSKCE
from caltest.estimators.cross import CrossSKCE, OutcomeTerms
from caltest.estimators.debiased_ece import DebiasedSquaredECE
from caltest.estimators.ece import ECE, MCE
from caltest.estimators.excess_scores import ExcessBrierScore, ExcessLogScore
from caltest.estimators.groups import GroupMaximum, GroupSKCE
from caltest.estimators.joint import JointEstimator
from caltest.estimators.likelihood_ratio import LogLikelihoodRatio
from caltest.estimators.low_rank import LowRankSKCE
from caltest.estimators.max_skce import MaxSKCE
from caltest.estimators.mmce import MMCE
from caltest.estimators.omnibus import Omnibus
from caltest.estimators.one_per_cluster import one_per_cluster
from caltest.estimators.residual_moments import ResidualMean, ResidualSpread
from caltest.estimators.skce import SKCE, BlockSKCE
from caltest.estimators.ucme import UCME
from caltest.estimators.weighted import WeightedSKCE

__all__ = [
    "ECCE",
    "ECE",
    "MCE",
    "MMCE",
    "PIT",
    "SKCE",
    "UCME",
    "Accumulator",
    "BlockSKCE",
    "BoundedEstimator",
    "CORPMiscalibration",
    "CalibrationBelt",
    "ClasswiseECE",
    "ClusterLikelihoodRatio",
    "ClusterSKCE",
    "CoxCalibration",
    "CoxCalibrationResult",
    "CrossSKCE",
    "DebiasedSquaredECE",
    "EstimateAccumulator",
    "Estimator",
    "ExcessBrierScore",
    "ExcessLogScore",
    "GroupMaximum",
    "GroupSKCE",
    "HasTextbookLaw",
    "HosmerLemeshow",
    "JointEstimator",
    "LogLikelihoodRatio",
    "LowRankSKCE",
    "MaxSKCE",
    "MeanOfTerms",
    "Moments",
    "Omnibus",
    "OutcomeTerms",
    "QuantileCalibration",
    "ResidualMean",
    "ResidualSpread",
    "SummableEstimator",
    "TCal",
    "TextbookTail",
    "UStatistic",
    "VectorMean",
    "WeightedSKCE",
    "cox_calibration",
    "one_per_cluster",
]
